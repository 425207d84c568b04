#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of the published failures needs the size of a GPU, and compute-sanitizer's four tools.

  on_gpu.py prepare --build BUILD --out FOLDER [--chip sm_90]   where the compiler is
  FOLDER/on_gpu.py run [--only large|sanitizer] [--device hip] [--jobs J] [--budget SECONDS]
                                                                where the GPU is

The folder has everything that the second half needs: the runner, its libraries and the kernels.
Large: M = 1M x N = 128 (pytorch#69963, pytorch#148605), more than 2^32 elements (pytorch#181555,
pytorch#184826, Liger-Kernel#1483, flashinfer#3391).
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

# In a checkout grid.py is among the end-to-end tests, in what `prepare` leaves it is beside this
# file.
HERE = pathlib.Path(__file__).resolve().parent
# Of a checkout; in what `prepare` leaves there is none.
ROOT = HERE.parents[2] if len(HERE.parents) > 2 else HERE
sys.path.append(str(HERE.parent.parent / "EndToEnd"))

import chips  # noqa: E402
import grid  # noqa: E402

# Name, N, type, M.
LARGE = (
    ("tall", 128, "bf16", 1 << 20),
    ("tall-f32", 128, "f32", 1 << 20),
    ("beyond-2^32", 4096, "bf16", 1100000),
)
# The row lengths of the end-to-end grid, and two that clusters and two passes are for.
LENGTHS = (*grid.LENGTHS, 16384, 100000)
SANITIZED = tuple((n, dtype) for n in LENGTHS for dtype in grid.DTYPES)
# Rows: some, and for rows that are staged so many that stages are filled again.
FEW_ROWS, MORE_ROWS = 67, 1100
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def prepare(options) -> int:
    out, build = pathlib.Path(options.out), pathlib.Path(options.build)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(build / "bin" / "lnbwd-run", out)
    for line in subprocess.run(["ldd", build / "bin" / "lnbwd-run"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        words = line.split()
        if "lnbwd" in words[0] and "=>" in words:
            shutil.copy(words[2], out)
    shutil.copy(__file__, out / "on_gpu.py")
    for module in (chips, grid, grid.compiling, grid.samples):
        shutil.copy(module.__file__, out)
    for name in ("Chips.json", "generate_chips.py"):
        shutil.copy(ROOT / "lib" / "Chips" / name, out)
    is_amd = options.chip.startswith("gfx")
    # compute-sanitizer is NVIDIA's.
    wanted = {(n, dtype) for _, n, dtype, _ in LARGE} | (set() if is_amd else set(SANITIZED))
    for n, dtype in sorted(wanted):
        file = grid.compile_kernel(build, grid.Kernel(options.chip, dtype, n), out)
        file.rename(out / f"{n}-{dtype}.kernel")
    print(f"{out}: ready")
    return 0


def run(options) -> int:
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = f"{HERE}:{environment.get('LD_LIBRARY_PATH', '')}"
    (HERE / "lnbwd-run").chmod(0o755)
    end = time.monotonic() + options.budget
    failed: list[str] = []

    def step(name: str, command: list[str]) -> None:
        left = end - time.monotonic()
        if left < 5:
            failed.append(name)
            print(f"{name}: not run, the budget of {options.budget} s is spent", flush=True)
            return
        start = time.monotonic()
        try:
            result = subprocess.run(command, env=environment, capture_output=True, text=True,
                                    check=False, timeout=left)
            code, text = result.returncode, result.stdout + result.stderr
        except subprocess.TimeoutExpired:
            code, text = -1, "timed out"
        if code != 0:
            failed.append(name)
        said = [line for line in text.splitlines() if "ERROR SUMMARY" in line or "RACECHECK SUMMARY"
                in line or line.startswith("verdict")]
        print(f"{name}: exit code {code}, {time.monotonic() - start:.1f} s: {'; '.join(said)}",
              flush=True)
        if code != 0:
            print(text[-3000:], flush=True)

    runner = str(HERE / "lnbwd-run")
    if options.only in ("", "large"):
        for name, n, dtype, rows in LARGE:
            m = min(rows, options.most_rows)
            # A part of the rows is only to try this: one of them is timed.
            is_timed = m == rows or name == LARGE[0][0]
            step(f"{name} {m} x {n} {dtype}",
                 [runner, str(HERE / f"{n}-{dtype}.kernel"), "--m", str(m),
                  "--device", options.device, "--verify", *(["--time"] if is_timed else [])])
    if options.only in ("", "sanitizer"):
        sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for n, dtype in SANITIZED:
                rows = MORE_ROWS if 768 <= n <= 16384 else FEW_ROWS
                for tool in TOOLS:
                    pool.submit(step, f"{tool} {n} {dtype}",
                                [sanitizer, "--tool", tool, "--error-exitcode", "9", runner,
                                 str(HERE / f"{n}-{dtype}.kernel"), "--m", str(rows),
                                 "--device", options.device, "--verify"])
        print(f"{len(SANITIZED)} kernels under {len(TOOLS)} tools")
    print(f"{len(failed)} failed" if failed else "all clean")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("--build", required=True)
    first.add_argument("--out", required=True)
    first.add_argument("--chip", default="sm_90")
    second = commands.add_parser("run")
    second.add_argument("--only", choices=("", "large", "sanitizer"), default="")
    second.add_argument("--budget", type=float, default=580)
    second.add_argument("--device", default="cuda")
    second.add_argument("--most-rows", type=int, default=1 << 30, metavar="M",
                        help="take no more rows: to try this where they would take for ever")
    second.add_argument("--jobs", type=int, default=4, help="runs under a tool at once")
    options = parser.parse_args()
    return prepare(options) if options.command == "prepare" else run(options)


if __name__ == "__main__":
    sys.exit(main())
