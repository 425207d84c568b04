#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares predicted with measured times, by benchmark.

  compare.py DATA predictions.csv [--plot FILE.svg]

DATA is a folder with mi300x.csv and mi300a.csv. The error of a row is |predicted - measured| over
measured; its weight is the share of the measured time beyond what the events alone read, so that
rows that show nothing but the events count nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE / "simulator" / "bench")]

from timing_model import prediction  # noqa: E402
from timing_model.benchmark import KINDS  # noqa: E402
from timing_model.benchmarks import table  # noqa: E402
from timing_model.scatter import Series, scatter  # noqa: E402

#: What two events around a launch read at least on each device, in microseconds, and what the host
#: needs for a launch and a synchronisation.
EVENT_FLOORS = {"MI300X": 5.7, "MI300A": 4.15}
HOST_FLOOR = 8.66
#: A miss is off by more than this factor, in a row with at least this weight.
MISS_FACTOR, MISS_WEIGHT = 1.5, 0.2
COLOURS = ("#1f5fa8", "#c04a2b", "#2b8a3e", "#8a4fbf", "#b8860b", "#0e8a8a", "#c2377d", "#555555",
           "#7a5230", "#9aa000")


@dataclasses.dataclass(frozen=True)
class Compared:
    """A row with both times, in milliseconds."""

    device: str
    benchmark: str
    value: str
    kind: str
    measured: float
    predicted: float
    weight: float
    doubt: str

    @property
    def error(self) -> float:
        """Relative to the measured time."""
        return abs(self.predicted - self.measured) / self.measured

    @property
    def factor(self) -> float:
        """How far off, 1 or more."""
        return math.exp(abs(math.log(self.predicted / self.measured)))

    @property
    def missed(self) -> bool:
        """Whether the prediction is far off, of a row that counts."""
        return self.factor > MISS_FACTOR and self.weight >= MISS_WEIGHT


def compare(measurements: Sequence[prediction.Measurement],
            predictions: Mapping[tuple[str, str, str], float]) -> list[Compared]:
    """The rows that have both a measured and a predicted time."""
    benchmarks = table()
    rows = []
    for row in measurements:
        entry = benchmarks.get((row.device, row.benchmark))
        if entry is None or row.measured_ms is None or row.key not in predictions:
            continue
        run = entry.run(row.value)
        floor = (HOST_FLOOR if run.host else len(run.pairs) * EVENT_FLOORS[row.device]) / 1e3
        rows.append(Compared(*row.key, entry.kind, row.measured_ms, predictions[row.key],
                             max(0.0, 1 - floor / row.measured_ms), entry.doubt_of(row.value)))
    return rows


def weighted_error(rows: Sequence[Compared]) -> float:
    """The weighted mean absolute error; not a number where all weights are 0."""
    weight = sum(row.weight for row in rows)
    return sum(row.weight * row.error for row in rows) / weight if weight else math.nan


def bias(rows: Sequence[Compared]) -> float:
    """The weighted geometric mean of predicted over measured."""
    weight = sum(row.weight for row in rows)
    if not weight:
        return math.nan
    return math.exp(sum(row.weight * math.log(row.predicted / row.measured)
                        for row in rows) / weight)


def line(title: str, rows: Sequence[Compared]) -> str:
    """A line of a Markdown table."""
    worst = max((row for row in rows if row.weight >= MISS_WEIGHT), default=None,
                key=lambda row: row.factor)
    return (f"| {title} | {len(rows)} | {sum(row.weight for row in rows):.1f} "
            f"| {100 * weighted_error(rows):.1f} % | {bias(rows):.2f} | "
            + (f"{worst.factor:.2f} ({worst.value})" if worst else "") + " |")


def report(rows: Sequence[Compared]) -> str:
    """Tables in Markdown: by benchmark, by kind, and the misses."""
    certain = [row for row in rows if not row.doubt]

    def group(key: Callable[[Compared], str], chosen: Sequence[Compared]) -> list[str]:
        return [line(name, [row for row in chosen if key(row) == name])
                for name in dict.fromkeys(key(row) for row in chosen)]

    head = ["| | rows | weight | error | predicted / measured | most |",
            "|---|---|---|---|---|---|"]
    parts = [*head, *group(lambda row: f"{row.device} {row.benchmark}", certain), "", *head,
             *(text for kind in KINDS for text in group(lambda row: row.kind, [
                 row for row in certain if row.kind == kind])), line("all", certain)]
    doubtful = [row for row in rows if row.doubt]
    if doubtful:
        parts += ["", "Not counted, for the reasons given:", "", *head, *group(
            lambda row: f"{row.device} {row.benchmark}: {row.doubt}", doubtful)]
    misses = [row for row in certain if row.missed]
    parts += ["", f"Misses: off by more than a factor of {MISS_FACTOR:g} where at least "
              f"{100 * MISS_WEIGHT:.0f} % of the time is beyond the events' ({len(misses)}).", ""]
    if misses:
        parts += ["| device | benchmark | value | measured, ms | predicted, ms | factor |",
                  "|---|---|---|---|---|---|"]
        parts += [f"| {row.device} | {row.benchmark} | {row.value} "
                  f"| {row.measured:.4g} | {row.predicted:.4g} | {row.factor:.2f} |"
                  for row in misses]
    return "\n".join(parts) + "\n"


def plot(rows: Sequence[Compared]) -> str:
    """An SVG of all rows that count, a colour for each kind."""
    certain = [row for row in rows if not row.doubt]
    series = []
    for kind, colour in zip(KINDS, COLOURS, strict=True):
        chosen = [row for row in certain if row.kind == kind]
        if chosen:
            series.append(Series([row.measured for row in chosen],
                                 [row.predicted for row in chosen], colour, 0.6, 2, kind))
    return scatter(series, 3e-3, 1e4, (0.01, 0.1, 1, 10, 100, 1000), "ms")


def main() -> int:
    """The command line; see above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=pathlib.Path, help="the folder of the measurements")
    parser.add_argument("predictions", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path, help="write the plot to this .svg")
    options = parser.parse_args()
    try:
        rows = compare(prediction.read_measurements(options.data),
                       prediction.read_predictions(options.predictions))
    except (OSError, KeyError, ValueError) as error:
        parser.error(str(error))
    if not rows:
        parser.error(f"{options.predictions} has no row whose time is in {options.data}")
    print(report(rows), end="")
    if options.plot:
        options.plot.write_text(plot(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
