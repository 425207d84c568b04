#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the functions of lnbwd.functional beside PyTorch's, eager and by torch.compile.

Of each function the forward pass, and the forward pass with the gradient, on rotating buffers in
graphs, interleaved in one process. Results and gradients are compared with float64.

  functions.py [--functions softmax ...] [--shapes 8192x4096 ...] [--types bf16 f32] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import pathlib
import sys
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor  # noqa: E402

from lnbwd import functional, simulate  # noqa: E402
from lnbwd_bench.machine import DTYPES, DryMachine, GpuMachine  # noqa: E402
from lnbwd_bench.results import write_json  # noqa: E402
from lnbwd_bench.shapes import parse_shape  # noqa: E402
from lnbwd_bench.timing import Candidate, SlotCounter, summary, time_interleaved  # noqa: E402

Function = Callable[..., Tensor]

# PyTorch's function and ours, their operands (rows "r", images "i", classes "t"), and the shapes.
WIDE = ("8192x4096", "16384x11008")
FUNCTIONS: dict[str, tuple[Function, Function, str, tuple[str, ...]]] = {
    "softmax": (functools.partial(torch.softmax, dim=-1),
                functools.partial(functional.softmax, dim=-1), "r", ("8192x4096", "98304x1024")),
    "log_softmax": (functools.partial(torch.log_softmax, dim=-1),
                    functools.partial(functional.log_softmax, dim=-1), "r", ("8192x4096",)),
    "cross_entropy": (F.cross_entropy, functional.cross_entropy, "rt",
                      ("8192x32000", "8192x50257", "4096x128256")),
    "instance_norm": (F.instance_norm, functional.instance_norm, "i", ("8192x4096", "8192x1024")),
    "swiglu": (lambda a, b: F.silu(a) * b, functional.swiglu, "rr", WIDE),
    "geglu": (lambda a, b: F.gelu(a) * b, functional.geglu, "rr", WIDE),
    "geglu_tanh": (lambda a, b: F.gelu(a, approximate="tanh") * b,
                   functools.partial(functional.geglu, approximate="tanh"), "rr", WIDE)}


def make(kinds: str, m: int, n: int, dtype: torch.dtype, device: Any) -> list[Tensor]:
    """Random operands; the rows want a gradient."""
    return [torch.randint(n, (m,), device=device) if kind == "t" else
            torch.randn((1, m, n) if kind == "i" else (m, n), device=device).to(
                dtype).requires_grad_() for kind in kinds]


def forward(function: Function, inputs: list[Tensor], dy: Tensor | None) -> list[Tensor]:
    """The result."""
    with torch.no_grad():
        return [function(*inputs)]


def step(function: Function, inputs: list[Tensor], dy: Tensor) -> list[Tensor]:
    """The result, and the gradients of what wants one."""
    y = function(*inputs)
    return [y.detach(), *torch.autograd.grad(y, [t for t in inputs if t.requires_grad], dy)]


def error(got: list[Tensor], want: list[Tensor]) -> float:
    """The worst of the errors, each relative to its tensor's norm."""
    return max(float((g.double() - w).norm() / w.norm()) for g, w in zip(got, want, strict=True))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--functions", nargs="+", choices=sorted(FUNCTIONS), default=FUNCTIONS)
    parser.add_argument("--shapes", nargs="+", help="M x N, in the place of each function's own")
    parser.add_argument("--types", nargs="+", choices=sorted(DTYPES), default=["bf16"])
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    parser.add_argument("--dry-run", action="store_true",
                        help="on the host and the simulator, without torch.compile; tiny shapes")
    options = parser.parse_args()
    machine: Any = DryMachine() if options.dry_run else GpuMachine()
    machine.calibrate()
    results = []
    cases = [(name, parse_shape(text), dtype) for name in options.functions
             for text in options.shapes or FUNCTIONS[name][3] for dtype in options.types]
    for name, shape, dtype in cases:
        theirs, ours, kinds, _ = FUNCTIONS[name]
        ways = {"torch": theirs, "compile": torch.compile(theirs, dynamic=False), "lnbwd": ours}
        if options.dry_run:
            del ways["compile"]
        operands = functools.partial(make, kinds, shape.m, shape.n, DTYPES[dtype], machine.device)
        for part in (forward, step):
            torch._dynamo.reset()
            first = operands()
            dy = torch.randn_like(theirs(*first))
            wide = [t.detach().double().requires_grad_() if t.is_floating_point() else t
                    for t in first]
            want = part(theirs, wide, dy.double())
            errors = {way: error(part(function, first, dy), want)
                      for way, function in ways.items()}
            moved = sum(t.nbytes for t in first)
            del wide, want
            count = max(2, -(-5 * machine.l2_bytes // moved) + 1)
            sets = [first, *(operands() for _ in range(count - 1))]

            def call(function: Function, slot: int, part: Any = part, sets: Any = sets,
                     dy: Tensor = dy) -> list[Tensor]:
                result: list[Tensor] = part(function, sets[slot], dy)
                return result

            candidates = [Candidate(way, functools.partial(call, function))
                          for way, function in ways.items()]
            time_interleaved(machine, candidates, SlotCounter(count), ("events", "graph"),
                             options.repetitions)
            times = {c.name: {method: summary(taken) for method, taken in c.times.items()}
                     for c in candidates}
            results.append({"function": name, "part": part.__name__, "m": shape.m, "n": shape.n,
                            "dtype": dtype, "times": times, "errors": errors})
            print(f"{name:14} {part.__name__:8} {shape.m}x{shape.n}:{dtype:5}", *(
                f"{way} {times[way].get('graph', times[way]['events'])['median_us']:9.1f} us "
                f"(error {errors[way]:.1e})" for way in ways), sep="  ", flush=True)
            del first, sets, candidates, call
            machine.release_memory()
    if options.out:
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        write_json({"date": now, "machine": machine.describe(), "results": results,
                    "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]}, options.out)
    return 0


if __name__ == "__main__":
    with simulate() if "--dry-run" in sys.argv else contextlib.nullcontext():
        sys.exit(main())
