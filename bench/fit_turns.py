#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the model of turns to the predicted times of schedules in docs/results.

  fit_turns.py                  # what the stored parameters are worth
  fit_turns.py --fit --write    # fits from the stored ones, and stores the result
  fit_turns.py --folds 5        # cross-validates over problems

Needs NumPy; some seconds. docs/cost-model.md shows the results. The times are no measurements.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402

from lnbwd._files import write_whole  # noqa: E402
from lnbwd_bench import turns  # noqa: E402

DATA = SOURCE / "docs" / "results" / "mi300x-predicted-schedules.json.xz"
TABLE = SOURCE / "lib" / "Analysis" / "CostParameters.json"
# The one chip whose schedules are chosen by turns.
CHIP, = json.loads(TABLE.read_text())["turns"]
_DIGITS, _CLOSE = 5, 1.03


def line(title: str, s: turns.Schedules, predicted: Any) -> str:
    """What picks lose, and how far times are off."""
    lost = turns.regrets(s, predicted)
    off = np.abs(np.log(predicted / s.us))
    return (f"{title}: picks take {lost.mean():.3f} of the best (median {np.median(lost):.3f}, "
            f"most {lost.max():.3f}), {(lost <= _CLOSE).sum()} of {s.count} within 3 %; times are "
            f"off by {100 * np.median(off):.1f} % in the median")


def main() -> int:
    """Reads, fits, shows, writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*", type=pathlib.Path, default=[DATA])
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, help="the parameters")
    parser.add_argument("--fit", action="store_true", help="fit, from those of the table")
    parser.add_argument("--folds", type=int, default=0, help="cross-validate over so many parts")
    parser.add_argument("--write", action="store_true", help="write the parameters to the table")
    options = parser.parse_args()
    table = json.loads(options.table.read_text())
    parameters = table["turns"][CHIP]
    schedules = turns.Schedules(turns.read(options.data))
    if options.folds:
        print(line(f"cross-validated, {options.folds} parts", schedules,
                   turns.cross_predicted(schedules, parameters, options.folds)))
    if options.fit:
        parameters = turns.fit(schedules, parameters, say=print)
    parameters = {name: float(f"{value:.{_DIGITS}g}") for name, value in parameters.items()}
    print(line("the parameters, on what they were fitted to", schedules,
               turns.predict(schedules, parameters)))
    if options.write:
        table["turns"][CHIP] = parameters
        write_whole(options.table, (json.dumps(table, indent=2) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
