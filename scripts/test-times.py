#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what the Python tests take of the processor, which a machine's load hardly changes.

  LNBWD_TEST_TIMES=times.jsonl scripts/test.sh
  scripts/test-times.py times.jsonl [TESTS]

A line for each file, the largest first, and for the TESTS (10) largest tests: seconds in the
process of the tests, and in those that it started. What a file is the first of its process to load
(PyTorch) counts for it.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("times", type=pathlib.Path, metavar="times.jsonl",
                        help="what a run with LNBWD_TEST_TIMES wrote")
    parser.add_argument("tests", type=int, nargs="?", default=10,
                        help="how many of the largest tests are named (10)")
    options = parser.parse_args()
    try:
        rows = [json.loads(line) for line in options.times.read_text().splitlines()]
    except (OSError, ValueError) as error:
        print(f"error: expected a file that LNBWD_TEST_TIMES named in a run of the tests, got "
              f"{options.times}: {error}", file=sys.stderr)
        return 1
    files = collections.defaultdict(lambda: [0.0, 0.0, 0])
    for name, own, children in rows:
        for i, value in enumerate((own, children, 1)):
            files[name.partition("::")[0]][i] += value
    print("| seconds | own | started | tests | file |\n|---|---|---|---|---|")
    for name, (own, children, tests) in sorted(files.items(), key=lambda f: -f[1][0] - f[1][1]):
        print(f"| {own + children:.1f} | {own:.1f} | {children:.1f} | {tests} | {name} |")
    print(f"\n{sum(own + children for _, own, children in rows):.0f} seconds, {len(rows)} tests\n")
    for name, own, children in sorted(rows, key=lambda row: -row[1] - row[2])[:options.tests]:
        print(f"{own + children:8.1f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
