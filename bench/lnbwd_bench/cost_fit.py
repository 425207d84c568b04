# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fit of the cost model's parameters to sweeps: bench/fit_costs.py and `lnbwd-tune fit`."""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lnbwd._files import write_whole

from . import costs
from .regrets import HEADING, line
from .scatter import Series, scatter

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE / "docs" / "results"
FILES = ("h200-schedules*.json.xz", "h200-unseen-*.json.xz", "h200-later-*.json.xz",
         "h200-beyond-2245.json.xz")
TABLE = SOURCE / "lib" / "Analysis" / "CostParameters.json"
_DIGITS = 5
_DOTS = 5000


def show(problems: Sequence[Mapping[str, Any]], regret: Any, title: str) -> None:
    """A table of regrets: of all problems, by kind and by file."""
    print(f"{title}\n{HEADING}")
    print(line("all", regret))
    for key in ("kind", "file"):
        for name in sorted({problem[key] for problem in problems}):
            chosen = np.array([problem[key] == name for problem in problems])
            if not np.isnan(regret[chosen]).all():
                print(line(name.removeprefix("h200-schedules").removesuffix(".json.xz")
                           if key == "file" else name, regret[chosen]))


def show_worst(problems: Sequence[Mapping[str, Any]], schedules: costs.Schedules, predicted: Any,
               count: int) -> None:
    """The problems where the choice loses most, with the choice and what is best."""
    for index, chosen, best in costs.worst(schedules, predicted, count):
        problem = problems[index]
        print(f"{problem['kind']} {problem['dtype']} {problem['m']}x{problem['n']}: "
              f"{schedules.us[chosen] / schedules.us[best]:.3f}")
        for title, one in (("chosen", chosen), ("best", best)):
            print(f"  {title:6} {schedules.us[one]:7.1f} us, predicted {predicted[one]:7.1f}: "
                  f"{schedules.describe(one)}")


def plot(measured: Any, predicted: Any) -> str:
    """An SVG of predicted over measured microseconds, of some of the points."""
    chosen = np.arange(0, len(measured), max(1, len(measured) // _DOTS))
    return scatter([Series(measured[chosen], predicted[chosen])], 1, 1000,
                   (1, 3, 10, 30, 100, 300, 1000))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command and `lnbwd-tune fit` both take."""
    parser.add_argument("data", nargs="*", type=pathlib.Path,
                        default=[path for files in FILES for path in sorted(DATA.glob(files))],
                        help="files of sweep.py (default: those in docs/results)")
    parser.add_argument("--table", type=pathlib.Path, default=TABLE, help="the parameters")
    parser.add_argument("--chip", help="a chip of the table (default: its first)")
    parser.add_argument("--folds", type=int, default=0,
                        help="cross-validate over so many parts of the problems")
    parser.add_argument("--worst", type=int, default=0,
                        help="show so many problems where the choice loses most")
    parser.add_argument("--write", action="store_true", help="write the parameters to the table")
    parser.add_argument("--plot", type=pathlib.Path, help="write the plot to this .svg")


def run(options: argparse.Namespace, fits: bool) -> None:
    """Reads, fits if that is asked for, shows, writes.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: it is not what it has to be, or the chip has no parameters.
    """
    table = json.loads(options.table.read_text())
    if not isinstance(table, dict) or not isinstance(table.get("chips"), dict):
        raise ValueError(f"--table: expected parameters of chips in {options.table}, as "
                         f"{TABLE.relative_to(SOURCE)} has them")
    chip = options.chip or next(iter(table["chips"]))
    if chip not in table["chips"]:
        raise ValueError(f"--chip: expected one of {', '.join(table['chips'])}, got {chip}")
    parameters = table["chips"][chip]
    problems = costs.read(options.data)
    schedules = costs.Schedules(problems, parameters)
    if options.folds:
        predicted = costs.cross_predicted(schedules, parameters, options.folds)
        show(problems, costs.regrets(schedules, predicted),
             f"cross-validated, {options.folds} parts")
        show_worst(problems, schedules, predicted, options.worst)
    if fits:
        parameters = costs.fit(schedules, parameters, say=print)
    parameters = {name: float(f"{value:.{_DIGITS}g}") for name, value in parameters.items()}
    predicted = costs.predict(schedules, parameters)
    show(problems, costs.regrets(schedules, predicted),
         "the parameters, on what they were fitted to")
    if not options.folds:
        show_worst(problems, schedules, predicted, options.worst)
    off = np.abs(np.log(predicted / schedules.us))
    print(f"residuals: median {np.median(off):.3f}, 90 % {np.quantile(off, 0.9):.3f} "
          f"of {len(off)} schedules")
    if options.write:
        table["chips"][chip] = parameters
        write_whole(options.table, (json.dumps(table, indent=2) + "\n").encode())
    if options.plot:
        write_whole(options.plot, plot(schedules.us, predicted).encode())
