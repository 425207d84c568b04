#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Validates the operations with a linear layer over a grid of sizes, on the simulator.

  scripts/linear-grid.py [--most PRODUCTS] [--chips CHIP...] [--ops OP...] [--types TYPE...]

Every case is a run of lnbwd-run --verify: each output beside float64, and two runs bit for bit. A
line for each size, and at the end a table of the largest error of each output as a part of what is
allowed. Sizes of more than --most multiplications (a row count times N times O) are left out, and
their number is said. lnbwd-run is that of the build folder LNBWD_BUILD_DIR, build/ otherwise. Exits
with 1 if a number is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "test" / "EndToEnd"), str(SOURCE / "python")]

import chips  # noqa: E402

from lnbwd import operations  # noqa: E402

ROWS, LENGTHS, OUTPUTS = (1, 7, 64, 513), (8, 96, 768, 1024), (8, 16, 100, 2304)
TYPES = ("f32", "bf16", "f16")
OPS = tuple(name for name, op in operations.OPERATIONS.items() if op.has_product)
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build"))


def run(op: str, chip: str, dtype: str, m: int, n: int, o: int) -> tuple[bool, dict[str, float]]:
    """Whether all is right, and each output's largest error as a part of the allowed one."""
    command = [BUILD / "bin" / "lnbwd-run", "--op", op, "--chip", chip, "--dtype", dtype,
               "--m", m, "--n", n, "--o", o, "--verify", "--json"]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            check=False)
    if not result.stdout:
        print(result.stderr.strip())
        return False, {}
    outputs = json.loads(result.stdout)["outputs"]
    return result.returncode == 0, {
        output["name"]: (output["max_abs_error"] or 0.0) / output["allowed_abs_error"]
        for output in outputs}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=float, default=20e6)
    parser.add_argument("--chips", nargs="+", default=chips.MANY)
    parser.add_argument("--ops", nargs="+", default=OPS, choices=OPS)
    parser.add_argument("--types", nargs="+", default=TYPES, choices=TYPES)
    options = parser.parse_args()
    worst: dict[tuple[str, str, str], tuple[float, str]] = {}
    wrong = count = left_out = 0
    start = time.monotonic()
    for m, n, o in sorted(itertools.product(ROWS, LENGTHS, OUTPUTS),
                          key=lambda sizes: sizes[0] * sizes[1] * sizes[2]):
        before, wrong_before = count, wrong
        for op, chip, dtype in itertools.product(options.ops, options.chips, options.types):
            if m * n * o > options.most:
                left_out += 1
                continue
            right, parts = run(op, chip, dtype, m, n, o)
            count += 1
            wrong += not right
            where = f"{chip} {m} x {n} -> {o}"
            if not right:
                print(f"WRONG: {op} {dtype} {where}: {parts}", flush=True)
            for name, part in parts.items():
                key = (op, dtype, name)
                worst[key] = max(worst.get(key, (-1.0, "")), (part, where))
        print(f"{m} x {n} -> {o}: {count - before - (wrong - wrong_before)} of {count - before} "
              f"right, {time.monotonic() - start:.0f} s", flush=True)
    print("| operation | type | output | largest error of the allowed one | where |")
    print("|---|---|---|---|---|")
    for (op, dtype, name), (part, where) in sorted(worst.items()):
        print(f"| {op} | {dtype} | {name} | {part:.2f} | {where} |")
    print(f"{count - wrong} of {count} right, {left_out} left out as too large, "
          f"{time.monotonic() - start:.0f} s")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
