#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Validates the operations with a linear layer over a grid of sizes, on the simulator.

  scripts/linear-grid.py [--most PRODUCTS] [--chips CHIP...] [--ops OP...] [--types TYPE...]
                         [--jobs N] [--seconds S] [--kernels FOLDER [--compile-only]]
                         [--results FILE]

Every case is a run of lnbwd-run --verify: each output beside float64, and two runs bit for bit. A
line for each size, and at the end a table of the largest error of each output as a part of what is
allowed. Sizes of more than --most multiplications (a row count times N times O) are left out, and
their number is said. lnbwd-run is that of the build folder LNBWD_BUILD_DIR, build/ otherwise. Exits
with 1 if a number is wrong.

A kernel is for any number of rows. With --kernels each is compiled once, into that folder, unless
it is there already; so that --compile-only on one machine, and the folder and this program on a
faster one without a compiler, have the same result. --jobs runs as many cases at once, each on one
thread of the simulator. Behind --seconds no case is started any more, and how many were not is
said. --results writes every case with its result and its seconds, as JSON.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import NamedTuple

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "test" / "EndToEnd"), str(SOURCE / "python")]

import chips  # noqa: E402
from lnbwd import operations  # noqa: E402

ROWS, LENGTHS, OUTPUTS = (1, 7, 64, 513), (8, 96, 768, 1024), (8, 16, 100, 2304)
TYPES = ("f32", "bf16", "f16")
OPS = tuple(name for name, op in operations.OPERATIONS.items() if op.has_product)
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))


class Kernel(NamedTuple):
    """What one compilation is for."""

    op: str
    chip: str
    dtype: str
    n: int
    o: int

    def file(self, folder: pathlib.Path) -> pathlib.Path:
        """Where it is kept."""
        return folder / f"{self.op}-{self.chip}-{self.dtype}-{self.n}-{self.o}.hsaco"

    def options(self) -> list[str]:
        """lnbwd-run's, to compile it."""
        return ["--op", self.op, "--chip", self.chip, "--dtype", self.dtype,
                "--n", str(self.n), "--o", str(self.o)]


class Result(NamedTuple):
    """Of one case. parts: each output's largest error as a part of the allowed one."""

    right: bool
    parts: dict[str, float]
    seconds: float


def runner(jobs: int, *options: object) -> subprocess.CompletedProcess[str]:
    """A run of lnbwd-run."""
    environment = dict(os.environ)
    if jobs > 1:
        environment["LNBWD_SIM_THREADS"] = "1"
    return subprocess.run([str(BUILD / "bin" / "lnbwd-run"), *map(str, options)],
                          capture_output=True, text=True, check=False, env=environment)


def compile_kernels(kernels: list[Kernel], folder: pathlib.Path, jobs: int) -> bool:
    """Compiles what is not in the folder; whether all could be."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [kernel for kernel in kernels if not kernel.file(folder).exists()]

    def compile_one(kernel: Kernel) -> bool:
        result = runner(jobs, *kernel.options(), "--m", 0, "--keep", kernel.file(folder))
        if result.returncode:
            print(f"{kernel}: {result.stderr.strip()}", flush=True)
        return result.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(compile_one, missing)))


def run(kernel: Kernel, m: int, options: argparse.Namespace) -> Result:
    """Runs one case."""
    what = [kernel.file(options.kernels)] if options.kernels else kernel.options()
    start = time.monotonic()
    result = runner(options.jobs, *what, "--m", m, "--verify", "--json")
    seconds = time.monotonic() - start
    if not result.stdout:
        print(result.stderr.strip())
        return Result(False, {}, seconds)
    outputs = json.loads(result.stdout)["outputs"]
    return Result(result.returncode == 0, {
        output["name"]: (output["max_abs_error"] or 0.0) / output["allowed_abs_error"]
        for output in outputs}, seconds)


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=float, default=20e6)
    parser.add_argument("--chips", nargs="+", default=chips.MANY)
    parser.add_argument("--ops", nargs="+", default=OPS, choices=OPS)
    parser.add_argument("--types", nargs="+", default=TYPES, choices=TYPES)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--kernels", type=pathlib.Path)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_args()
    if options.compile_only and not options.kernels:
        parser.error("--compile-only: expected --kernels, the folder for them, too")
    return options


def main() -> int:
    """The command."""
    options = parse()
    start = time.monotonic()
    grid = sorted(itertools.product(ROWS, LENGTHS, OUTPUTS),
                  key=lambda sizes: sizes[0] * sizes[1] * sizes[2])
    sizes = [size for size in grid if size[0] * size[1] * size[2] <= options.most]
    ways = list(itertools.product(options.ops, options.chips, options.types))
    left_out = (len(grid) - len(sizes)) * len(ways)
    if options.kernels:
        kernels = sorted({Kernel(*way, n, o) for way in ways for _, n, o in sizes})
        if not compile_kernels(kernels, options.kernels, options.jobs):
            return 1
        if options.compile_only:
            print(f"{len(kernels)} kernels in {options.kernels}")
            return 0

    def case(kernel: Kernel, m: int) -> Result | None:
        if time.monotonic() - start > options.seconds:
            return None
        return run(kernel, m, options)

    worst: dict[tuple[str, str, str], tuple[float, str]] = {}
    record: list[dict[str, object]] = []
    wrong = count = not_started = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [[(kernel, pool.submit(case, kernel, m))
                    for kernel in (Kernel(*way, n, o) for way in ways)] for m, n, o in sizes]
        for (m, n, o), of_size in zip(sizes, futures, strict=True):
            before, wrong_before = count, wrong
            for kernel, future in of_size:
                result = future.result()
                if result is None:
                    not_started += 1
                    continue
                count += 1
                wrong += not result.right
                record.append({**kernel._asdict(), "m": m, **result._asdict()})
                where = f"{kernel.chip} {m} x {n} -> {o}"
                if not result.right:
                    print(f"WRONG: {kernel.op} {kernel.dtype} {where}: {result.parts}", flush=True)
                for name, part in result.parts.items():
                    key = (kernel.op, kernel.dtype, name)
                    worst[key] = max(worst.get(key, (-1.0, "")), (part, where))
            print(f"{m} x {n} -> {o}: {count - before - (wrong - wrong_before)} of "
                  f"{count - before} right, {time.monotonic() - start:.0f} s", flush=True)
    if options.results:
        options.results.write_text(
            "[\n" + ",\n".join(json.dumps(entry) for entry in record) + "\n]\n")
    print("| operation | type | output | largest error of the allowed one | where |")
    print("|---|---|---|---|---|")
    for (op, dtype, name), (part, where) in sorted(worst.items()):
        print(f"| {op} | {dtype} | {name} | {part:.2f} | {where} |")
    print(f"{count - wrong} of {count} right, {left_out} left out as too large, "
          f"{not_started} not started, {time.monotonic() - start:.0f} s")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
