#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the row-wise regions of training steps: torch.compile's kernels beside one row program.

Each region is a Python function on tensors, compiled twice: by Inductor, and by the backend
"lnbwd". Both run on the same rotating buffers in CUDA graphs, interleaved in one process, and both
are compared with the function in float64.

  regions.py [--shapes 16448x1024 ...] [--regions norm_backward ...] [--out FILE]
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from lnbwd_bench.shapes import parse_shape  # noqa: E402

B, F = torch.bfloat16, torch.float32


def norm_backward(dy: Tensor, x: Tensor, h: Tensor, upstream: Tensor, gamma: Tensor, mean: Tensor,
                  rstd: Tensor) -> tuple[Tensor, ...]:
    """Around a LayerNorm's gradient: the residual addition again, the gradient along the stream
    added, dx in two types, and three column sums."""
    n = x.shape[-1]
    dy = dy.to(F if x.dtype == B else x.dtype)
    stream = x + h.to(x.dtype)
    xhat = (stream - mean) * rstd
    wdy = dy * gamma
    dx = rstd / n * (wdy * n - wdy.sum(-1, True) - xhat * (wdy * xhat).sum(-1, True))
    total = upstream + dx
    narrow = total.to(B) if x.dtype == F else total
    return total, narrow, (dy * xhat).sum(0), dy.sum(0), narrow.sum(0, dtype=total.dtype)


def norm_forward(x: Tensor, h: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """The residual addition, LayerNorm, and the cast for the next product."""
    stream = x + h.to(x.dtype)
    var, mean = torch.var_mean(stream, -1, correction=0, keepdim=True)
    rstd = torch.rsqrt(var + 1e-5)
    y = (stream - mean) * rstd * gamma + beta
    return (y.to(B) if x.dtype == F else y), mean, rstd


def gelu_backward(dy: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    """GELU's gradient, and the bias gradient of the linear layer before."""
    wide = h.to(F) if h.dtype == B else h
    cdf = 0.5 * (1 + torch.erf(wide * 0.7071067811865476))
    slope = cdf + wide * torch.exp(wide * wide * -0.5) * 0.3989422804014327
    dh = dy.to(wide.dtype) * slope
    narrow = dh.to(B) if h.dtype == B else dh
    return narrow, narrow.sum(0, dtype=wide.dtype)


def gelu_tanh_backward(dy: Tensor, h: Tensor) -> tuple[Tensor, ...]:
    """The gradient of GELU's approximation by tanh, and the bias gradient of the layer before."""
    wide = h.to(F) if h.dtype == B else h
    inner = 0.7978845608028654 * (wide + 0.044715 * wide * wide * wide)
    t = torch.tanh(inner)
    slope = 0.5 * (1 + t) + 0.5 * wide * (1 - t * t) * (
        0.7978845608028654 * (1 + 0.134145 * wide * wide))
    dh = dy.to(wide.dtype) * slope
    narrow = dh.to(B) if h.dtype == B else dh
    return narrow, narrow.sum(0, dtype=wide.dtype)


def rms_forward(x: Tensor, h: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    """The residual addition and RMSNorm as Hugging Face writes it."""
    stream = x + h
    wide = stream.to(F) if x.dtype == B else stream
    rstd = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
    return stream, weight * (wide * rstd).to(x.dtype), rstd


def rms_backward(dy: Tensor, x: Tensor, upstream: Tensor, weight: Tensor,
                 rstd: Tensor) -> tuple[Tensor, ...]:
    """Its gradient, with the one along the stream added."""
    def wide(tensor: Tensor) -> Tensor:
        return tensor.to(F) if x.dtype == B else tensor

    xhat = wide(x) * rstd
    wdy = wide(dy * weight)
    dx = rstd * (wdy - xhat * (wdy * xhat).mean(-1, keepdim=True))
    return upstream + dx.to(x.dtype), (wide(dy) * xhat).sum(0).to(weight.dtype)


# The operands of each region: rows "r", columns "c", row scalars "s", with their types.
REGIONS: dict[str, tuple[Callable[..., tuple[Tensor, ...]], list[tuple[str, torch.dtype]]]] = {
    "norm_backward": (norm_backward, [("r", B), ("r", F), ("r", B), ("r", F), ("c", F), ("s", F),
                                      ("s", F)]),
    "norm_forward": (norm_forward, [("r", F), ("r", B), ("c", F), ("c", F)]),
    "gelu_backward": (gelu_backward, [("r", B), ("r", B)]),
    "gelu_tanh_backward": (gelu_tanh_backward, [("r", B), ("r", B)]),
    "rms_forward": (rms_forward, [("r", B), ("r", B), ("c", B)]),
    "rms_backward": (rms_backward, [("r", B), ("r", B), ("r", B), ("c", B), ("s", F)]),
}

DEFAULT = {
    "norm_backward": ("16448x1024", "8192x1024", "8192x768", "8192x2048"),
    "norm_forward": ("16448x1024", "8192x1024", "8192x768", "8192x2048"),
    "gelu_backward": ("8192x4096", "16448x4096", "8192x3072"),
    "gelu_tanh_backward": ("8192x4096", "8192x3072"),
    "rms_forward": ("8192x2048", "8192x4096"),
    "rms_backward": ("8192x2048", "8192x4096"),
}


def make(operands: list[tuple[str, torch.dtype]], m: int, n: int, device: Any,
         seed: int) -> list[Tensor]:
    """Random operands, reciprocal deviations positive."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shapes = {"r": (m, n), "c": (n,), "s": (m, 1)}
    result = []
    for kind, dtype in operands:
        value = torch.randn(shapes[kind], device=device, generator=generator)
        result.append((value.abs() + 0.5 if kind == "s" else value).to(dtype))
    return result


def call_on(call: Callable[..., Any], sets: list[list[Tensor]], slot: int) -> Any:
    """What a function makes of one of the sets of operands."""
    return call(*sets[slot])


def error(got: tuple[Tensor, ...], want: tuple[Tensor, ...]) -> float:
    """The worst of the outputs' errors, each relative to the output's norm."""
    return max(float(((g.double() - w).norm() / w.norm()).item())
               for g, w in zip(got, want, strict=True))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--regions", nargs="+", choices=sorted(REGIONS), default=list(REGIONS))
    parser.add_argument("--shapes", nargs="+", help="M x N, in the place of each region's own")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--out", type=pathlib.Path, help="file for the numbers, JSON")
    options = parser.parse_args()

    import lnbwd.inductor
    from lnbwd_bench.machine import GpuMachine
    from lnbwd_bench.timing import Candidate, SlotCounter, summary, time_events, time_graph

    machine = GpuMachine()
    machine.calibrate()
    results = []
    print(f"{'region':20} {'shape':>14} {'bytes':>10}  {'torch':>8} {'lnbwd':>8} us (graph)   "
          "ratio  share of stream   errors")
    for name in options.regions:
        function, operands = REGIONS[name]
        for text in options.shapes or DEFAULT[name]:
            shape = parse_shape(text)
            torch._dynamo.reset()
            lnbwd.inductor.decisions(clear=True)
            compiled = {"torch": torch.compile(function, dynamic=False),
                        "lnbwd": torch.compile(function, dynamic=False,
                                               backend=lnbwd.inductor.backend)}
            first = make(operands, shape.m, shape.n, machine.device, 0)
            got = {key: call(*first) for key, call in compiled.items()}
            want = function(*(t.double() for t in first))
            errors = {key: error(value, want) for key, value in got.items()}
            moved = sum(t.nbytes for t in first) + sum(t.nbytes for t in got["torch"])
            count = max(2, -(-5 * machine.l2_bytes // moved) + 1)
            sets = [make(operands, shape.m, shape.n, machine.device, i) for i in range(count)]
            del got, want, first
            candidates = [Candidate(key, functools.partial(call_on, call, sets))
                          for key, call in compiled.items()]
            slots = SlotCounter(count)
            time_events(machine, candidates, slots, 10)
            estimates = [summary(c.times["events"])["median_us"] for c in candidates]
            time_graph(machine, candidates, slots, options.repetitions, estimates)
            times = {c.name: summary(c.times["graph"]) for c in candidates}
            taken = [d.taken for d in lnbwd.inductor.decisions()]
            row = {"region": name, "m": shape.m, "n": shape.n, "bytes": moved, "times": times,
                   "errors": errors, "taken": taken,
                   "reasons": [d.reason for d in lnbwd.inductor.decisions()]}
            results.append(row)
            ours, theirs = times["lnbwd"]["median_us"], times["torch"]["median_us"]
            print(f"{name:20} {text:>14} {moved / 1e6:8.1f}MB  {theirs:8.1f} {ours:8.1f}"
                  f"              {theirs / ours:5.2f}  {moved / ours / 1e3:6.0f} GB/s        "
                  f"{errors['torch']:.1e} {errors['lnbwd']:.1e}"
                  f"{'' if all(taken) and taken else '  NOT TAKEN'}", flush=True)
            del sets, candidates
            machine.release_memory()
    if options.out:
        options.out.write_text(json.dumps(
            {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
             "command": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
             "machine": machine.describe(), "repetitions": options.repetitions,
             "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
