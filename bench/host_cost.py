#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a normalisation costs the host: torch beside ours, forward and backward.

Of a chain of modules, as in a model. "overridden" is the chain of torch's own modules with
lnbwd.override_aten(), "patched" that of torch's modules after lnbwd.patch, which calls it, too;
"ours" has our modules alone. A time is that of the host, from the call to its return, per norm: the
device is waited for before, not within, so that rows are to be few enough for the device to keep
up. They take turns in one run; figures are medians. bench/dashboard.py reads the files of --json.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import platform
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]
if not os.environ.get("LNBWD_TEST_INSTALLED"):
    sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd.ops import native  # noqa: E402
from lnbwd.ops.norms import NORMS  # noqa: E402
from lnbwd_bench import results, timing  # noqa: E402

SHAPES = {"cuda": (512, 768), "cpu": (1, 64)}  # M and N, of float32.
EPSILON = 1e-5

Timed = Callable[[], list[float]]


def forward_and_backward(function: Callable[[], torch.Tensor], count: int, dy: torch.Tensor,
                         leaves: list[torch.Tensor], wait: Callable[[], None]) -> Timed:
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


def overridden(function: Timed, device: str) -> Timed:
    """Runs it while PyTorch's norms have our kernels."""
    def run() -> list[float]:
        with lnbwd.override_aten(device):
            return function()

    return run


def measure(length: int, repetitions: int, device: str) -> list[dict[str, object]]:
    """All rows of the table: op, case, pass, and microseconds by name."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    m, n = SHAPES[device]
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
        got = timing.time_host(chains, repetitions, wait)
        for index, name in enumerate(("forward", "backward")):
            rows.append({"op": op, "case": f"chain of {length}", "pass": name,
                         **{who: times[index] for who, times in got.items()}})
            print(f"{op}, chain of {length}, {name}: " + ", ".join(
                f"{who} {times[index]:.1f} us" for who, times in got.items()), flush=True)
    return rows


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--norms", type=int, default=24, help="modules of the chain")
    parser.add_argument("--repetitions", type=int, default=100, help="times of each case")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    parser.add_argument("--dry-run", action="store_true",
                        help="on the host and the simulator; times mean nothing")
    options = parser.parse_args()
    if not options.dry_run and not torch.cuda.is_available():
        parser.error("expected a GPU, got none; --dry-run needs none")
    torch.set_num_threads(1)
    device = "cpu" if options.dry_run else "cuda"
    name = "the simulator" if options.dry_run else torch.cuda.get_device_name()
    head = (f"{name}, {platform.processor() or platform.machine()}, torch {torch.__version__}, "
            f"Python {platform.python_version()}, operators in "
            f"{'C++' if native.load() else 'Python'}, {SHAPES[device]} f32")
    print(head)
    with lnbwd.simulate() if options.dry_run else contextlib.nullcontext():
        rows = measure(options.norms, options.repetitions, device)
    results.write(options.json, rows, {"name": head})
    return 0


if __name__ == "__main__":
    sys.exit(main())
