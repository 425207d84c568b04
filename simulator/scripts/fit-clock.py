#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits parameters of the simulator's timing model to measured kernel times, by benchmark.

  fit-clock.py DATA                          # the error as the parameters are
  fit-clock.py DATA --fit                    # better values of the free parameters
  fit-clock.py DATA --fit --write            # the same, written to Clocks.json
  fit-clock.py DATA --cross-validate 5       # the error on benchmarks that a fit has not seen

DATA is a folder with mi300x.csv and mi300a.csv. Of the benchmarks of bench/timing_model whose times
are given and certain, some sizes are used, spread over the sweep. Their errors count as compare.py
has them; each benchmark weighs the same. Nothing else is fitted to, and benchmarks that were kept
back are never looked at.

A fit predicts all rows with each free parameter a step down, as it is, and a step up. What the
parameters do together is taken to be the product of what each does; the best point of that is
the next centre, with half the step. For cross-validation the benchmarks are dealt to parts; each
part is predicted, by the simulator itself, with parameters that were fitted to the others.

Needs clang, NumPy and the simulator (ninja lnbwd-hip-sim).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import math
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "simulator" / "bench")]

from timing_model import launches, prediction  # noqa: E402
from timing_model.benchmarks import table  # noqa: E402
from timing_model.compare import Compared, compare, weighted_error  # noqa: E402
from timing_model.simulation import Simulator  # noqa: E402

CLOCKS = SOURCE / "simulator" / "lib" / "Timing" / "Clocks.json"
#: The parameters that are free, by device. Others follow from one row each, data sheets or the
#: ISA document; MI300A has the same dies, and only what surrounds them is its own.
FREE = {
    "MI300X": ("farGigabytes", "memoryGigabytes", "rewriteFactor", "replaceClocks", "storeClocks",
               "vectorExtraClocks", "ldsStoreClocks", "baseMicroseconds"),
    "MI300A": ("farGigabytes", "memoryGigabytes", "baseMicroseconds", "gapMicroseconds"),
}
#: These are no parameters of a launch's duration but of what two events read.
EVENTS = {"baseMicroseconds": "base", "gapMicroseconds": "gap", "floorMicroseconds": "floor"}
#: Rows below this weight show the events' cost and nothing else.
LEAST_WEIGHT = 0.1
FIRST_STEP, ROUNDS = 1.3, 2
#: The host takes long to allocate what larger runs touch.
MOST_BYTES = 2.2e9

Parameters = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Row:
    """A measured row of a benchmark, with its weight."""

    measurement: prediction.Measurement
    weight: float

    @property
    def benchmark(self) -> str:
        """The one that the row is of."""
        return self.measurement.benchmark


class Predictor:
    """Predictions of one device's rows, by the simulator, in this process."""

    def __init__(self, device: str, library: pathlib.Path, objects: Mapping[str, pathlib.Path]):
        self.device = device
        self._simulator = Simulator(library, objects)
        self._known: dict[str, prediction.Durations] = {}

    def milliseconds(self, row: Row, values: Mapping[str, float]) -> float:
        """The predicted time of a row with these values of parameters."""
        text = ";".join([f"product={self.device}", "caches=warm",
                         *(f"{key}={value!r}" for key, value in sorted(values.items())
                           if key not in EVENTS)])
        if text not in self._known:
            self._known[text] = prediction.Durations(
                lambda launch: self._simulator.time(launch, text))
        host = dataclasses.replace(prediction.host_costs(self.device), **{
            EVENTS[key]: value for key, value in values.items() if key in EVENTS})
        entry = table()[self.device, row.benchmark]
        return prediction.compose(entry.run(row.measurement.value), self._known[text], host) / 1e3


_predictor: Predictor | None = None


def _start(device: str, library: pathlib.Path, objects: Mapping[str, pathlib.Path]) -> None:
    global _predictor  # one for each process of the pool
    _predictor = Predictor(device, library, objects)


def _predict(work: tuple[Row, Sequence[Parameters]]) -> list[float]:
    row, points = work
    assert _predictor is not None
    return [_predictor.milliseconds(row, values) for values in points]


def chosen_rows(data: pathlib.Path, device: str, most: int) -> list[Row]:
    """At most so many rows of each benchmark, spread over its sweep."""
    benchmarks = table()
    found: dict[str, list[Row]] = {}
    certain = [row for row in prediction.read_measurements(data)
               if row.device == device and row.measured_ms is not None
               and (device, row.benchmark) in benchmarks
               and not benchmarks[device, row.benchmark].judged]
    for row in compare(certain, {row.key: row.measured_ms or 0.0 for row in certain}):
        if (not row.doubt and row.weight > LEAST_WEIGHT and
                benchmarks[device, row.benchmark].run(row.value).bytes() < MOST_BYTES):
            measured = prediction.Measurement(row.device, row.benchmark, row.value, row.measured)
            found.setdefault(row.benchmark, []).append(Row(measured, row.weight))
    rows = []
    for sweep in found.values():
        count = min(most, len(sweep))
        rows += [sweep[round(k * (len(sweep) - 1) / max(count - 1, 1))] for k in range(count)]
    return rows


def error(rows: Sequence[Row], predicted: Sequence[float]) -> float:
    """The mean over benchmarks of their weighted mean absolute errors."""
    errors = by_benchmark(rows, predicted)
    return sum(errors.values()) / len(errors)


def by_benchmark(rows: Sequence[Row], predicted: Sequence[float]) -> dict[str, float]:
    """The weighted mean absolute error of each benchmark."""
    compared: dict[str, list[Compared]] = {}
    for row, time in zip(rows, predicted, strict=True):
        m = row.measurement
        compared.setdefault(row.benchmark, []).append(Compared(
            *m.key, "", m.measured_ms or 0.0, time, row.weight, ""))
    return {name: weighted_error(group) for name, group in compared.items()}


@dataclasses.dataclass(frozen=True)
class Effects:
    """Logarithms of predicted times around a centre: as it is, and for steps of each parameter."""

    centre: Parameters
    step: float
    middle: list[float]
    down: dict[str, list[float]]
    up: dict[str, list[float]]

    def predicted(self, moves: Mapping[str, float], chosen: Sequence[int]) -> list[float]:
        """Times of some rows; a move of 1 is a step up."""
        times = []
        for k in chosen:
            total = self.middle[k]
            for name, move in moves.items():
                side = self.up if move > 0 else self.down
                total += abs(move) * (side[name][k] - self.middle[k])
            times.append(math.exp(total))
        return times

    def best(self, rows: Sequence[Row], chosen: Sequence[int]) -> Parameters:
        """The parameters whose product of effects has the least error on the chosen rows."""
        some = [rows[k] for k in chosen]
        moves = dict.fromkeys(self.centre, 0.0)
        least = error(some, self.predicted(moves, chosen))
        for _ in range(6):
            before = least
            for name in moves:
                for tenth in range(-10, 11):
                    trial = moves | {name: tenth / 10}
                    found = error(some, self.predicted(trial, chosen))
                    if found < least - 1e-6:
                        least, moves = found, trial
            if least == before:
                break
        return {name: value * self.step ** moves[name] for name, value in self.centre.items()}


class Fit:
    """Fits one device's free parameters."""

    def __init__(self, rows: Sequence[Row], pool: concurrent.futures.Executor):
        self.rows, self._pool = list(rows), pool

    def predict(self, points: Sequence[Parameters], chosen: Sequence[int]) -> list[list[float]]:
        """Times of the chosen rows at each point."""
        work = [(self.rows[k], points) for k in chosen]
        found = list(self._pool.map(_predict, work))
        return [[times[p] for times in found] for p in range(len(points))]

    def effects(self, centre: Parameters, step: float) -> Effects:
        """What becomes of the times if each parameter is divided or multiplied by `step`."""
        points = [centre]
        for name in centre:
            points += [centre | {name: centre[name] / step}, centre | {name: centre[name] * step}]
        logs = [[math.log(time) for time in times]
                for times in self.predict(points, range(len(self.rows)))]
        names = list(centre)
        return Effects(centre, step, logs[0], dict(zip(names, logs[1::2], strict=True)),
                       dict(zip(names, logs[2::2], strict=True)))

    def run(self, start: Parameters) -> Parameters:
        """The best parameters after some rounds; progress goes to standard error."""
        everything = range(len(self.rows))
        best, least = start, error(self.rows, self.predict([start], everything)[0])
        print(f"start: {100 * least:.1f} %", file=sys.stderr)
        step = FIRST_STEP
        for number in range(ROUNDS):
            found = self.effects(best, step).best(self.rows, everything)
            now = error(self.rows, self.predict([found], everything)[0])
            print(f"round {number + 1}: {100 * now:.1f} %", file=sys.stderr)
            if now < least:
                best, least = found, now
            step = math.sqrt(step)
        return best

    def cross_validate(self, start: Parameters, parts: int) -> list[float]:
        """Times of all rows, each by parameters that were fitted without its benchmark."""
        effects = self.effects(start, FIRST_STEP)
        names = list(dict.fromkeys(row.benchmark for row in self.rows))
        times = [0.0] * len(self.rows)
        for part in range(parts):
            held = set(names[part::parts])
            out = [k for k, row in enumerate(self.rows) if row.benchmark in held]
            others = [k for k, row in enumerate(self.rows) if row.benchmark not in held]
            values = effects.best(self.rows, others)
            for k, time in zip(out, self.predict([values], out)[0], strict=True):
                times[k] = time
        return times


def write_values(text: str, device: str, values: Mapping[str, float]) -> str:
    """Clocks.json with other values in the set of a device, its form kept."""
    begin = text.index(f'"{device}": {{', text.index('"sets": {'))
    end = text.index("}", begin)
    block = text[begin:end]
    for name, value in values.items():
        block, count = re.subn(rf'("{name}":\s+)[0-9.]+', rf"\g<1>{value:.4g}", block)
        if count != 1:
            raise ValueError(f"{CLOCKS}: expected '{name}' once in the set of {device}, "
                             f"got it {count} times")
    return text[:begin] + block + text[end:]


def report(title: str, rows: Sequence[Row], predicted: Sequence[float]) -> None:
    """A table by benchmark, and all rows together as compare.py weighs them."""
    print(f"{title}: {100 * error(rows, predicted):.1f} %, the mean of benchmarks")
    for name, value in by_benchmark(rows, predicted).items():
        shown = " ".join(f"{row.measurement.value}:{time / (row.measurement.measured_ms or 1):.2f}"
                         for row, time in zip(rows, predicted, strict=True)
                         if row.benchmark == name)
        print(f"  {name:22} {100 * value:5.1f} %  predicted/measured {shown}")


def main() -> int:
    """The command line; see above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=pathlib.Path, help="the folder of the measurements")
    parser.add_argument("--device", default="MI300X", choices=sorted(FREE))
    parser.add_argument("--fit", action="store_true", help="find better values")
    parser.add_argument("--write", action="store_true", help="write them to Clocks.json")
    parser.add_argument("--cross-validate", type=int, default=0, metavar="PARTS")
    parser.add_argument("--rows", type=int, default=4, help="of a benchmark, at most (4)")
    parser.add_argument("--without", default="", help="benchmarks to leave out, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build")
    options = parser.parse_args()
    library = options.build / "lib" / "liblnbwd-hip-sim.so"
    if not library.exists():
        parser.error(f"{library} was not found; build lnbwd-hip-sim, or name the build by --build")
    try:
        rows = chosen_rows(options.data, options.device, options.rows)
    except (OSError, KeyError) as problem:
        parser.error(f"cannot read the measurements: {problem}")
    left_out = {name for name in options.without.split(",") if name}
    rows = [row for row in rows if row.benchmark not in left_out]
    current = prediction.clock_parameters(options.device)
    start = {name: current[name] for name in FREE[options.device]}
    # One thread a launch: the processes are what runs side by side.
    os.environ["LNBWD_SIM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        objects = launches.compile_kernels(pathlib.Path(folder))
        with concurrent.futures.ProcessPoolExecutor(
                options.jobs, initializer=_start,
                initargs=(options.device, library, objects)) as pool:
            fit = Fit(rows, pool)
            if options.fit:
                start = fit.run(start)
            report("in the sample", rows, fit.predict([start], range(len(rows)))[0])
            if options.cross_validate:
                report("held out", rows, fit.cross_validate(start, options.cross_validate))
    for name, value in start.items():
        print(f"{name} = {value:.4g}")
    if options.write:
        CLOCKS.write_text(write_values(CLOCKS.read_text(), options.device, start))
    return 0


if __name__ == "__main__":
    sys.exit(main())
