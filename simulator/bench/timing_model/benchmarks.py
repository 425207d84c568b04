#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of the calibration benchmarks: what "benchmark B at value V on device D" launches.

  benchmarks.py                             # all benchmarks, with their devices and kinds
  benchmarks.py MI300X shoc_triad 1048576   # the launches of one run, as lnbwd-sim's arguments

Benchmarks and values are spelled as the measurements spell them. The kernels are our own, written
after descriptions of what each benchmark does; simulator/docs/simulator.md says what they
assume.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]

from timing_model import mi300a, mi300x  # noqa: E402
from timing_model.benchmark import Benchmark  # noqa: E402
from timing_model.launches import Buffer  # noqa: E402


def table() -> dict[tuple[str, str], Benchmark]:
    """All benchmarks, by device and name."""
    return {(entry.device, entry.name): entry
            for entry in (*mi300x.BENCHMARKS, *mi300a.BENCHMARKS)}


def find(device: str, name: str) -> Benchmark:
    """The benchmark of this name.

    Raises:
        KeyError: there is none; the message has the names of the device.
    """
    benchmarks = table()
    if (device, name) not in benchmarks:
        names = ", ".join(sorted(known for owner, known in benchmarks if owner == device))
        raise KeyError(f"expected a benchmark of {device} ({names or 'none'}), got {name!r}")
    return benchmarks[device, name]


def main() -> int:
    """The command line; see above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("device", nargs="?", help="MI300X or MI300A")
    parser.add_argument("benchmark", nargs="?")
    parser.add_argument("value", nargs="?")
    options = parser.parse_args()
    if options.value is None:
        for entry in table().values():
            note = "judged" if entry.judged else entry.doubt and f"not fitted: {entry.doubt}"
            print(f"{entry.device} {entry.name:22} {entry.kind:10} {note}")
        return 0
    try:
        run = find(options.device, options.benchmark).run(options.value)
    except KeyError as error:
        parser.error(str(error.args[0]))
    for number, pair in enumerate(run.pairs):
        for launch in pair:
            code = pathlib.Path(f"{launch.source}.hsaco")
            shown = dataclasses.replace(launch, arguments=tuple(
                dataclasses.replace(argument, contents=None)
                if isinstance(argument, Buffer) else argument for argument in launch.arguments))
            words = " ".join(shown.command(code, pathlib.Path()))
            print(f"pair {number}, {launch.repeat} times: lnbwd-sim {words}")
    for size in run.uploads:
        print(f"upload of {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
