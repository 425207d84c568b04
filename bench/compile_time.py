#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times lnbwd-opt from the operation to a code object.

    python bench/compile_time.py --chip gfx942

compiles each benchmark shape several times on one core, after one compilation that warms the file
cache, and prints the median of each shape and the median over the shapes. The time is that of the
whole process, start included. bench/dashboard.py reads the files of --json.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from lnbwd.core.base import chip_table  # noqa: E402
from lnbwd_bench import our_kernels, results  # noqa: E402
from lnbwd_bench.shapes import default_shapes, shape_argument  # noqa: E402


def command(opt: pathlib.Path, source: pathlib.Path, chip: str, output: pathlib.Path
            ) -> list[str]:
    """The compilation of one source."""
    return [str(opt), str(source), f"--lnbwd-pipeline=chip={chip}",
            f"--emit={chip_table.code_format(chip)}", "-o", str(output)]


def measure(arguments: list[str], repetitions: int) -> list[float]:
    """Seconds of each of several runs."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        if subprocess.run(arguments, check=False).returncode:
            raise our_kernels.KernelError(f"'{' '.join(arguments)}' failed")
        times.append(time.perf_counter() - start)
    return times


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", default=chip_table.SIMULATED,
                        help="chip to compile for (default: %(default)s)")
    parser.add_argument("--shapes", type=shape_argument, nargs="+", default=default_shapes(),
                        help="shapes to compile (default: those of the benchmark)")
    parser.add_argument("--repetitions", type=int, default=5, metavar="NUMBER",
                        help="measured compilations of each shape (default: 5)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures")
    options = parser.parse_args()
    # One core: this process and, by inheritance, the compiler.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    medians: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder) / "op.mlir", pathlib.Path(folder) / "kernel"
        for shape in options.shapes:
            source.write_text(our_kernels.operation(shape))
            arguments = command(our_kernels.find_compiler(), source, options.chip, output)
            measure(arguments, 1)
            medians[str(shape)] = 1e3 * statistics.median(measure(arguments, options.repetitions))
            print(f"{shape!s:>16}  {medians[str(shape)]:7.1f} ms", flush=True)
    row = {"chip": options.chip, "median_ms": statistics.median(medians.values()),
           "worst_ms": max(medians.values()), "shapes_ms": medians}
    print(f"\nmedian over {len(medians)} shapes, {options.chip}: {row['median_ms']:.1f} ms\n")
    results.write(options.json, [row])
    return 0


if __name__ == "__main__":
    sys.exit(main())
