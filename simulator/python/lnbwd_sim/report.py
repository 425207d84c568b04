# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd_sim report``: saved errors, with suppressions, as text, SARIF or annotations.

``lnbwd-sim --save-errors`` and ``pytest --amdgpu-save-errors`` write them, a line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Iterable, Sequence

from .errors import (
    STOPPED,
    CheckError,
    Sarif,
    Suppression,
    SuppressionError,
    annotation,
    parse,
    read_suppressions,
    sarif,
    suppress,
    write_log,
)


class ReportError(ValueError):
    """A file of saved errors is not as it should be."""


def read_errors(path: pathlib.Path) -> list[CheckError]:
    """The errors of a file; equal ones are one, with their counts added."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise ReportError(f"{path}: expected a file of --save-errors, got: "
                          f"{problem.strerror}") from problem
    found: dict[str, CheckError] = {}
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            error = parse(entry, tuple(entry.get("grid", ())), entry.get("test", ""))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise ReportError(f"{path}:{number}: expected an error of --save-errors as a JSON "
                              f"object, got: {line[:60]}") from wrong
        key = f"{error.chip}\0{error.test}\0{error.message}"
        if key in found:
            error = CheckError(**{**vars(error), "count": error.count + found[key].count})
        found[key] = error
    return list(found.values())


def summary(errors: Iterable[CheckError], suppressions: Iterable[Suppression]) -> list[str]:
    """A line for each suppressed error and for each suppression that is not needed."""
    errors = list(errors)
    lines = [f"suppressed: {error.check}: kernel {error.kernel}: {error.suppressed}"
             for error in errors if error.suppressed is not None]
    return lines + [f"suppression without an error: {entry}" for entry in suppressions
                    if not any(entry.matches(error) for error in errors)]


def total(errors: Iterable[CheckError]) -> str:
    """How many errors count, and how many do not."""
    counts = [error.suppressed is None for error in errors]
    return f"{sum(counts)} errors, {len(counts) - sum(counts)} suppressed"


def main(arguments: Sequence[str]) -> int:
    """The command. 0: no error counts; 1: some do; 2: bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m lnbwd_sim report",
        description="Shows errors that lnbwd-sim --save-errors has saved. Exit code 0: none "
                    "counts, 1: some do, 2: bad input.")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE",
                        help="saved errors")
    parser.add_argument("--suppressions", type=pathlib.Path, metavar="FILE",
                        help="a TOML file with [[suppress]] tables: errors that do not count, "
                             "and why")
    parser.add_argument("--sarif", type=pathlib.Path, metavar="FILE",
                        help="write the errors as SARIF, a run for each chip")
    parser.add_argument("--annotations", action="store_true",
                        help="print ::error lines for GitHub")
    options = parser.parse_args(arguments)
    try:
        suppressions = read_suppressions(options.suppressions) if options.suppressions else []
        errors = [suppress(error, suppressions)
                  for file in options.files for error in read_errors(file)]
    except (ReportError, SuppressionError) as problem:
        print(f"error: {problem}")
        return 2
    counted = [error for error in errors if error.suppressed is None]
    stopped = [error for error in errors if error.suppressed is not None and error.stops]
    for error in counted:
        print(error.describe())
    for error in stopped:
        print(f"{STOPPED}:\n{error.describe()}")
    for line in [*summary(errors, suppressions), total(errors)]:
        print(line)
    if options.annotations:
        for error in counted:
            print(annotation(error))
    if options.sarif:
        chips = dict.fromkeys(error.chip for error in errors)
        write_log(options.sarif, sarif([
            Sarif(chip, [error for error in errors if error.chip == chip]) for chip in chips]))
    return 1 if counted or stopped else 0
