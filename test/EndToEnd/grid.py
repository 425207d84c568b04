# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end-to-end grid: compiles kernels, runs them, and validates the numbers.

A case is (chip, element type, N, M). Kernels are compiled once for each (chip,
type, N) and run for every M with `lnbwd-run --verify`, which compares with a
float64 reference, checks guard bands and poisoned outputs, and runs twice to
compare bit by bit.

As a program it has two halves, so that kernels can be compiled on one machine
and run on another that has a GPU and no compiler:

  grid.py compile --build BUILD --chips sm_90 --out KERNELS [--sample|--few]
  grid.py run --build BUILD --kernels KERNELS --device cuda [--budget SECONDS]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys
import time

import chips as chips_of_tests
import compiling
import samples

DTYPES = ("f16", "bf16", "f32")
LENGTHS = (1, 2, 7, 64, 96, 255, 256, 511, 512, 768, 769, 1024, 1032, 2048, 3000, 4096, 8192)
ROWS = (0, 1, 3, 64, 257)
# The sizes (M, N) that Composable Kernel's LayerNorm tests use.
COMPOSABLE_KERNEL = ((4, 256), (8, 511), (9, 1032), (4, 2048), (1, 8192), (4000, 2000))


# For lnbwd-run where it only counts, which no value changes: the logarithm and the cosine of a
# normal number are slower than what a kernel does with it.
QUICKLY_FILLED = ("--init", "integers")


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What one compilation is for."""

    chip: str
    dtype: str
    n: int

    @property
    def name(self) -> str:
        return f"{self.chip}-{self.dtype}-{self.n}"

    @property
    def suffix(self) -> str:
        return "hsaco" if self.chip.startswith("gfx") else "ptx"


def all_cases(chips=chips_of_tests.SIMULATED):
    """Every (kernel, M) of the grid."""
    for chip in chips:
        for dtype in DTYPES:
            for n in LENGTHS:
                for m in ROWS:
                    yield Kernel(chip, dtype, n), m
            for m, n in COMPOSABLE_KERNEL:
                yield Kernel(chip, dtype, n), m


def sampled_cases(chips=chips_of_tests.MANY):
    """Cases in which each type meets each chip, and each length, row count and size of Composable
    Kernel's each family of chips; without the size that takes the simulator minutes."""
    def taken_for(case):
        kernel, m = case
        size = (m, kernel.n)
        values = [size] if size in COMPOSABLE_KERNEL else [kernel.n, m]
        return samples.beside_family(kernel.chip, values) | {(kernel.chip, kernel.dtype)}

    cases = [case for case in all_cases(chips) if (case[1], case[0].n) != COMPOSABLE_KERNEL[-1]]
    return samples.cover(cases, taken_for, cost=lambda case: 1 + case[0].n * case[1] / 1e5)


def few_cases(chips=chips_of_tests.FEW):
    """For chips whose instructions another one has too: rows of a part of a wave, of a wave, of
    several, and of more than a workgroup's registers hold; two of them on each."""
    sizes = (("f32", 7, 64), ("bf16", 256, 3), ("f16", 769, 64), ("f32", 4096, 3),
             ("bf16", 3000, 64))
    for k, chip in enumerate(chips):
        for dtype, n, m in (sizes[2 * k % 5], sizes[(2 * k + 1) % 5]):
            yield Kernel(chip, dtype, n), m


def op_source(kernel: Kernel) -> str:
    """The operation as MLIR."""
    compiling.load_lnbwd()
    from lnbwd.core.base.operations import LAYER_NORM_BWD
    from lnbwd.core.compile.spec import norm_source

    return norm_source(LAYER_NORM_BWD, n=kernel.n, dtype=kernel.dtype).mlir


def compile_kernel(build: pathlib.Path, kernel: Kernel, folder: pathlib.Path,
                   pipeline: str = "") -> pathlib.Path:
    """Compiles `kernel` into `folder` and returns the file."""
    output = folder / f"{kernel.name}.{kernel.suffix}"
    compiling.compile_to(output, build, op_source(kernel), kernel.chip, pipeline)
    return output


def run_kernel(build: pathlib.Path, file: pathlib.Path, m: int, device: str,
               timeout: float = 600) -> subprocess.CompletedProcess:
    """Runs one case; the result's standard output is the runner's JSON.

    On the simulator all its checks are on, and the run is repeated with waves
    and workgroups in another order.
    """
    command = [build / "bin" / "lnbwd-run", file, "--m", str(m), "--device", device,
               "--verify", "--json"]
    if device.startswith("sim"):
        command += ["--check"]
        if m <= 64:
            command += ["--shuffle-waves", str(m + 1)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False)


def compile_main(options) -> int:
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    cases = (few_cases if options.few else sampled_cases if options.sample
             else all_cases)(options.chips)
    kernels = sorted({kernel for kernel, _ in cases}, key=lambda kernel: kernel.name)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda kernel: compile_kernel(options.build, kernel, folder), kernels))
    print(f"{len(kernels)} kernels in {folder}")
    return 0


def run_main(options) -> int:
    start = time.monotonic()
    passed, failures, skipped = 0, [], 0
    worst: dict[tuple[str, str], float] = {}
    for file in sorted(pathlib.Path(options.kernels).iterdir()):
        if file.suffix not in (".hsaco", ".ptx", ".cubin"):
            continue
        chip, dtype, n = file.stem.rsplit("-", 2)
        rows = sorted({m for kernel, m in all_cases([chip])
                       if (kernel.dtype, kernel.n) == (dtype, int(n))})
        for m in rows:
            if time.monotonic() - start > options.budget:
                skipped += 1
                continue
            result = run_kernel(options.build, file, m, options.device)
            if result.returncode == 3:  # There is no such device: every kernel would say so.
                print(f"{result.stderr.strip()}\n{passed} passed, 1 failed, the others not run")
                return 1
            if result.returncode == 0:
                passed += 1
                for output in json.loads(result.stdout)["outputs"]:
                    key = (dtype, output["name"])
                    # Without rows there is nothing to be relative to.
                    worst[key] = max(worst.get(key, 0.0), output["max_rel_error"] or 0.0)
            else:
                failures.append(f"{file.stem} m={m}: exit {result.returncode} "
                                f"{result.stdout[-400:]} {result.stderr[-400:]}")
    for failure in failures[:20]:
        print(failure)
    for (dtype, name), error in sorted(worst.items()):
        print(f"worst relative error {dtype:5} {name:7} {error:.3e}")
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped, "
          f"{time.monotonic() - start:.0f} s")
    return 1 if failures or not passed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("compile", "run"):
        command = commands.add_parser(name)
        command.add_argument("--build", type=pathlib.Path, required=True,
                             help="folder that has lib/liblnbwd-compiler.so or bin/lnbwd-run")
    compiler = commands.choices["compile"]
    compiler.add_argument("--chips", nargs="+", required=True)
    compiler.add_argument("--out", required=True)
    compiler.add_argument("--sample", action="store_true")
    compiler.add_argument("--few", action="store_true")
    runner = commands.choices["run"]
    runner.add_argument("--kernels", required=True)
    runner.add_argument("--device", required=True)
    runner.add_argument("--budget", type=float, default=600, help="seconds")
    options = parser.parse_args()
    return compile_main(options) if options.command == "compile" else run_main(options)


if __name__ == "__main__":
    sys.exit(main())
