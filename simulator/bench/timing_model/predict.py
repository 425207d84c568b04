#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicts what the calibration benchmarks would measure, by the simulator's clock.

  predict.py DATA -o predictions.csv                 # every size of the benchmarks kept back
  predict.py DATA --all -o all.csv                   # every size of all benchmarks
  predict.py DATA --all --only shoc_triad,relu       # some of them, to standard output
  predict.py DATA --all --set ldsClocks=60 -o x.csv  # with other parameters of the model

DATA is a folder with mi300x.csv and mi300a.csv, which say what sizes there are; times in them are
not looked at. Needs clang, NumPy and the simulator.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE / "simulator" / "bench")]

from timing_model import launches, prediction  # noqa: E402
from timing_model.benchmark import Benchmark  # noqa: E402
from timing_model.benchmarks import table  # noqa: E402
from timing_model.simulation import SimulationError, Simulator  # noqa: E402


def chosen_rows(folder: pathlib.Path, everything: bool, only: set[str]
                ) -> list[tuple[prediction.Measurement, Benchmark]]:
    """The rows to predict, with their benchmarks, in the order of the data."""
    benchmarks = table()
    rows = []
    for row in prediction.read_measurements(folder):
        entry = benchmarks.get((row.device, row.benchmark))
        if entry is not None and (everything or entry.judged) and (
                not only or row.benchmark in only):
            rows.append((row, entry))
    return rows


def main() -> int:
    """The command line; see above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=pathlib.Path, help="the folder of the measurements")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="default: standard output")
    parser.add_argument("--all", action="store_true", help="not those kept back alone")
    parser.add_argument("--only", default="", help="names of benchmarks, separated by commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER",
                        help="another value of a parameter of the model")
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build",
                        help="the build folder (default: build/ of this checkout)")
    options = parser.parse_args()
    only = {name for name in options.only.split(",") if name}
    unknown = only - {name for _, name in table()}
    if unknown:
        parser.error(f"--only: expected names of the table, got {', '.join(sorted(unknown))}")
    library = options.build / "lib" / "liblnbwd-hip-sim.so"
    if not library.exists():
        parser.error(f"{library} was not found; build lnbwd-hip-sim, or name the build by --build")
    try:
        rows = chosen_rows(options.data, options.all, only)
    except (OSError, KeyError) as error:
        parser.error(f"cannot read the measurements: {error}")

    results: list[tuple[str, str, str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(library, launches.compile_kernels(pathlib.Path(folder)))
        durations = {}
        for device in sorted({row.device for row, _ in rows}):
            text = ";".join([f"product={device}", "caches=warm", *options.set])
            durations[device] = prediction.Durations(
                lambda launch, text=text: simulator.time(launch, text))  # type: ignore[misc]
        for row, entry in rows:
            began = time.monotonic()
            try:
                microseconds = prediction.compose(entry.run(row.value), durations[row.device],
                                                  prediction.host_costs(row.device))
            except (SimulationError, MemoryError) as error:
                print(f"{' '.join(row.key)}: {error}", file=sys.stderr)
                continue
            results.append((*row.key, microseconds / 1e3))
            print(f"{' '.join(row.key)}: {microseconds:.4g} us predicted, in "
                  f"{time.monotonic() - began:.1f} s", file=sys.stderr)
            if options.output:
                options.output.write_text(prediction.write_predictions(results))
    if not options.output:
        print(prediction.write_predictions(results), end="")
    return 0 if len(results) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
