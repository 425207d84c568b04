#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a normalisation costs the host: torch beside ours, forward and backward.

    python bench/host_cost.py                       # on the GPU that PyTorch has
    python bench/host_cost.py --device cpu          # with kernels that do nothing

Of a chain of modules, as in a model. "overridden" is the chain of torch's own modules with
lnbwd.override_aten(), "patched" that of torch's modules after lnbwd.patch, which calls it, too, on
a GPU; "ours" has our modules alone. A time is that of the host, from the call to its return, per
norm: the device is waited for before, not within, so that rows are to be few enough for the device
to keep up. They take turns in one run; the table has medians, ratios and differences.

On the CPU ours launches a kernel that does nothing, and torch computes one short row: what is left
is what surrounds a launch. The launch itself, some 3 microseconds on a GPU, is missing on both
sides, so that ratios there are larger than on a GPU. bench/dashboard.py reads the files of --json.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import sys
import time
import types
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]
if not os.environ.get("LNBWD_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd.core.compile.spec import ROWS_HINTS  # noqa: E402
from lnbwd.ops import launching, native, norms, regions  # noqa: E402
from lnbwd.ops.norms import NORMS  # noqa: E402
from lnbwd_bench import results, timing  # noqa: E402

SHAPES = {"cuda": (512, 768), "cpu": (1, 64)}  # M and N, of float32.
EPSILON = 1e-5
FULL = (True, True, True)


class NullKernel:
    """Stands in for a loaded kernel of a program and launches nothing."""

    def __init__(self, program: regions.RegionProgram) -> None:
        argument = types.SimpleNamespace(alignment=launching.ALIGNMENT)
        self.program = types.SimpleNamespace(
            arguments=[argument] * len((*program.inputs, *program.outputs)))

    def workspace_size(self, rows: int) -> int:
        """They need none."""
        return 0

    def launch(self, addresses: list[int], rows: int, workspace: int, size: int,
               stream: int) -> None:
        """Does nothing."""


def use_null_kernels(n: int) -> None:
    """Puts kernels that do nothing into the tables, for CPU tensors from here on."""
    chip = launching.DEFAULT_CHIP
    os.environ["LNBWD_SIMULATE"] = chip
    launching.launch_on_host_memory = (
        lambda kernel, rows, addresses, groups: kernel.launch(addresses, rows, 0, 0, 0))
    for norm in NORMS.values():
        dtypes = (torch.float32,) * (1 + norm.count)
        for op, what in ((norm.name, EPSILON), (norm.gradient, FULL[:1 + norm.count])):
            for rows in ROWS_HINTS:
                text = norms.name_of(op, n, dtypes, what, rows)
                key = launching.kernel_key(text, chip)
                program = regions.find_program(text)
                regions._kernels[key] = NullKernel(program)  # type: ignore[assignment]
                native.add_program(program, chip, None)


def forward_and_backward(function: Callable[[], torch.Tensor], count: int, dy: torch.Tensor,
                         leaves: list[torch.Tensor],
                         wait: Callable[[], None]) -> Callable[[], list[float]]:
    """Runs it, and backward from its result; microseconds of each by ``count``."""
    def run() -> list[float]:
        for leaf in leaves:
            leaf.grad = None
        start = time.perf_counter()
        y = function()
        middle = time.perf_counter()
        wait()
        second = time.perf_counter()
        y.backward(dy)
        return [(middle - start) / count * 1e6, (time.perf_counter() - second) / count * 1e6]

    return run


def overridden(function: Callable[[], list[float]], device: torch.device) -> Callable[
        [], list[float]]:
    """Runs it while PyTorch's norms have our kernels."""
    def run() -> list[float]:
        with lnbwd.override_aten(device.type):
            return function()

    return run


def measure(options: argparse.Namespace, device: torch.device) -> list[dict[str, object]]:
    """All rows of the table: op, case, pass, and microseconds by name."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    (m, n), length = SHAPES[device.type], options.norms
    rows: list[dict[str, object]] = []

    for op, norm in NORMS.items():
        x, dy = (torch.randn(m, n, device=device, requires_grad=leaf) for leaf in (True, False))
        kind = lnbwd.nn.norms.NORMS[op].__name__
        chains = {}
        for who, module in (("torch", torch.nn), ("ours", lnbwd.nn), ("patched", torch.nn)):
            model = torch.nn.Sequential(*(getattr(module, kind)(n, eps=EPSILON)
                                          for _ in range(length))).to(device)
            if who == "patched":  # Without what would concern the other chains.
                lnbwd.patch(model, override=False)
            chains[who] = forward_and_backward(lambda m=model, x=x: m(x), length, dy,
                                               [x, *model.parameters()], wait)
        # F.rms_norm takes itself apart on the CPU.
        if native.load() and (x.is_cuda or norm.count > 1):
            chains["overridden"] = overridden(chains["torch"], device)
            chains["patched"] = overridden(chains["patched"], device)
        else:
            del chains["patched"]
        got = timing.time_host(chains, options.repetitions, wait)
        for index, name in enumerate(("forward", "backward")):
            rows.append({"op": op, "case": f"chain of {length}", "pass": name,
                         **{who: times[index] for who, times in got.items()}})
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """The rows for people: microseconds a norm."""
    return "\n".join(f"{row['op']}, {row['case']}, {row['pass']}: ".ljust(40) + ", ".join(
        f"{who} {taken:.1f}" for who, taken in row.items() if isinstance(taken, float))
        for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit code is 0, or 2 for wrong arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda", help="cuda, or cpu with kernels that do "
                        "nothing (default: cuda)")
    parser.add_argument("--norms", type=int, default=24, help="modules of the chain")
    parser.add_argument("--repetitions", type=int, default=100, help="times of each case")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    if options.device not in ("cuda", "cpu"):
        parser.error(f"--device: expected cuda or cpu, got '{options.device}'")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: PyTorch has no GPU here; use --device cpu")
    for name in ("norms", "repetitions"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: expected 1 or more, got {getattr(options, name)}")
    torch.set_num_threads(1)
    if options.device == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
        machine = torch.cuda.get_device_name(device)
    else:
        device, machine = torch.device("cpu"), "null kernels on the CPU"
        use_null_kernels(SHAPES["cpu"][1])
    rows = measure(options, device)
    head = (f"{machine}, {platform.processor() or platform.machine()}, "
            f"torch {torch.__version__}, Python {platform.python_version()}, operators in "
            f"{'C++' if native.load() else 'Python'}, {SHAPES[options.device]} f32")
    print(head)
    print("microseconds of the host a norm, medians of", options.repetitions)
    print(table(rows))
    results.write(options.json, rows, {"name": head})
    return 0


if __name__ == "__main__":
    sys.exit(main())
