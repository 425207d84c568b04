#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the cost model's parameters to the sweeps in docs/results.

  fit_costs.py                  # what the stored parameters are worth
  fit_costs.py --fit --write    # fits from the stored ones, and stores the result
  fit_costs.py --plot FILE.svg  # predicted over measured

`lnbwd-tune fit` is the same with --fit. Needs NumPy and PyTorch; some seconds, and a minute for the
cross-validation. docs/cost-model.md shows the results.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

from lnbwd_bench import cost_fit  # noqa: E402


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cost_fit.add_arguments(parser)
    parser.add_argument("--fit", action="store_true", help="fit, from those of the table")
    options = parser.parse_args()
    try:
        cost_fit.run(options, options.fit)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
