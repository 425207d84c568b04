#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times linear layers with a norm before them, or with cross entropy after them, beside peers.

  linear.py layers [--out FILE]                  LayerNorm and a linear layer
  linear.py losses [--sizes ROWSxHxV ...] [--out FILE]  cross entropy of a linear layer's output

Peers are eager PyTorch and torch.compile; of losses also Liger, and "products": the three products
of matrices of the whole alone, by PyTorch. The errors of results and gradients relative to float64
are compared with eager's. Calls take turns, and times are medians. Of layers they are those of CUDA
graphs and of the host in eager mode; of losses those of events around a call, forward and backward,
and memory is the peak beside the operands. bench/dashboard.py reads the files.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import Tensor  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd_bench import peers, results, timing  # noqa: E402
from lnbwd_bench.machine import GpuMachine, described_gpu  # noqa: E402

LAYERS = ("16x8x16", "16x16x16", "40x16x24", "512x768x2304", "2048x1024x3072", "8192x1024x4096",
          "8192x4096x12288", "1000x640x1920", "4096x2048x512", "4096x1024x4096", "64x768x2304",
          "333x1536x1536", "777x896x2688", "3000x1280x1280", "200x512x50")
LOSSES = [f"{rows}x4096x{classes}" for classes in (32000, 128256, 151936)
          for rows in (4096, 8192, 16384, 32768)]
HOST_CALLS, ROUNDS = 30, 15
_WAIT_US = 20_000.0
"""What the host takes at most to enqueue a call of a loss."""

Function = Callable[..., Tensor]


def operand(*shape: int, scale: float = 1) -> Tensor:
    """A leaf in bfloat16."""
    return (torch.randn(shape, device="cuda") * scale).bfloat16().requires_grad_()


def gradients(function: Function, operands: Sequence[Tensor],
              dy: Tensor | None = None) -> tuple[Tensor, ...]:
    """The result of a call, and the gradients of the operands that have one."""
    y = function(*operands)
    return (y.detach(), *torch.autograd.grad(y, [t for t in operands if t.requires_grad], dy))


def errors(function: Function, operands: Sequence[Tensor], exact: Sequence[Tensor],
           dy: Tensor | None = None) -> list[float]:
    """The norms of the errors of a call's result and gradients, over those of the values."""
    return [float((one.double() - want).norm() / want.norm()) for one, want in zip(
        gradients(function, operands, dy), exact, strict=True)]


def in_float64(operands: Sequence[Tensor]) -> list[Tensor]:
    """The operands in float64, but for integers."""
    return [t.detach().double().requires_grad_() if t.requires_grad else t for t in operands]


def complaints(found: dict[str, list[float]]) -> list[str]:
    """Where ours has larger errors than eager."""
    return [f"WRONG: error {mine:.2e}, eager {theirs:.2e}" for mine, theirs in zip(
        found["ours"], found["eager"], strict=True) if not mine <= theirs * 1.05]


def norm_and_linear(x: Tensor, gamma: Tensor, beta: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """PyTorch's two functions."""
    return F.linear(F.layer_norm(x, gamma.shape, gamma, beta), weight, bias)


def time_host(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Microseconds of the host for a call of each, of loops that begin on an idle device."""
    def loop(call: Callable[[], object]) -> list[float]:
        start = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        return [(time.perf_counter() - start) * 1e6 / HOST_CALLS]

    found = timing.time_host({name: functools.partial(loop, call) for name, call in calls.items()},
                             ROUNDS, torch.cuda.synchronize)
    return {name: taken for name, [taken] in found.items()}


def measure_layer(size: str, machine: GpuMachine) -> Iterator[dict[str, Any]]:
    """The rows of the device's and of the host's times."""
    m, k, n = sizes = [*map(int, size.split("x"))]
    operands = [operand(m, k), operand(k), operand(k), operand(n, k, scale=k ** -0.5), operand(n)]
    dy = operand(m, n).detach()
    ways: dict[str, Function] = {
        "ours": lambda x, gamma, beta, weight, bias: lnbwd.layer_norm_linear(
            x, (k,), gamma, beta, weight, bias),
        "eager": norm_and_linear, "compile": torch.compile(norm_and_linear, dynamic=False)}
    exact = gradients(norm_and_linear, in_float64(operands), dy.double())
    wrong = complaints({who: errors(ways[who], operands, exact, dy) for who in ("ours", "eager")})
    if not all(map(torch.equal, *(gradients(ways["ours"], operands, dy) for _ in range(2)))):
        wrong.append("WRONG: two runs differ")
    print(size, *wrong, flush=True)
    del exact

    def inferred(function: Function) -> Tensor:
        with torch.no_grad():
            return function(*operands)

    passes: dict[str, Callable[[Function], object]] = {
        "forward without gradients": inferred,
        "forward with gradients": lambda function: function(*operands),
        "forward and backward": lambda function: gradients(function, operands, dy)}
    for what, key in (("forward", "forward without gradients"), ("both", "forward and backward")):
        us = timing.time_in_graphs(machine, {
            who: lambda _, way=way, key=key: passes[key](way)  # type: ignore[misc]
            for who, way in ways.items()}, 1, ROUNDS, 2 * (m * k + k * n + m * n))
        yield {"block": "linear", "sizes": sizes, "dtype": "bf16", "pass": what, "us": us,
               "wrong": wrong}
    for what, run in passes.items():
        yield {"block": "linear_host", "sizes": sizes, "pass": what, "us": time_host(
            {who: functools.partial(run, way) for who, way in ways.items()}), "wrong": wrong}


def linear_and_loss(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """All logits, in bfloat16; the loss in float32."""
    logits = F.linear(x, weight)
    return F.cross_entropy(logits if logits.dtype == torch.float64 else logits.float(), target)


def liger_loss(x: Tensor, weight: Tensor, target: Tensor) -> Tensor:
    """Liger's, in chunks."""
    function = peers.import_liger("fused_linear_cross_entropy")
    found: Any = function.LigerFusedLinearCrossEntropyFunction.apply(x, weight, target)
    return found[0]  # type: ignore[no-any-return]


def products(x: Tensor, weight: Tensor, _: Tensor) -> object:
    """What any way has to multiply."""
    with torch.no_grad():
        logits = x @ weight.t()
        return logits @ weight, logits.t() @ x


def measure_loss(size: str, machine: GpuMachine) -> Iterator[dict[str, Any]]:
    """The row of a size."""
    rows, width, classes = map(int, size.split("x"))
    operands = (operand(rows, width), operand(classes, width, scale=0.02),
                torch.randint(classes, (rows,), device="cuda"))
    ways: dict[str, Function] = {
        "ours": lnbwd.functional.linear_cross_entropy, "eager": linear_and_loss,
        "compile": torch.compile(linear_and_loss, dynamic=False), "liger": liger_loss}
    steps: dict[str, Callable[[], object]] = {
        **{who: functools.partial(gradients, way, operands) for who, way in ways.items()},
        "products": functools.partial(products, *operands)}
    memory: dict[str, int] = {}
    for name, step in [*steps.items()]:
        try:
            step()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            step()
            torch.cuda.synchronize()
            memory[name] = torch.cuda.max_memory_allocated() - before
        except (torch.OutOfMemoryError, peers.Unavailable) as error:
            print(f"{size} {name}: {type(error).__name__}: {error!s:.120}", flush=True)
            del steps[name]
    found: dict[str, list[float]] = {}
    if size == LOSSES[0]:
        exact = gradients(linear_and_loss, in_float64(operands))
        found = {who: errors(ways[who], operands, exact) for who in ways if who in steps}
        del exact
    times = timing.measure_interleaved(machine, [*steps.values()], 7, wait_us=_WAIT_US)
    ms = {name: timing.median(us) / 1e3 for name, us in zip(steps, times, strict=True)}
    wrong = complaints(found) if found else []
    print(size, *(f"{name} {taken:.2f} ms" for name, taken in ms.items()), *wrong, flush=True)
    yield {"block": "linear_losses", "size": size, "ms": ms, "memory": memory, "errors": found,
           "wrong": wrong}


def main() -> int:
    """The command; the exit code is 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("layers", "losses"))
    parser.add_argument("--sizes", nargs="+", help="M x K x N of layers, rows x H x V of losses")
    parser.add_argument("--out", type=pathlib.Path, help="write all figures to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected a GPU, got none")
    measure, usual = {"layers": (measure_layer, LAYERS),
                      "losses": (measure_loss, LOSSES)}[options.what]
    sizes: Iterable[str] = options.sizes or usual
    rows: list[dict[str, Any]] = []
    for place, size in enumerate(sizes):
        torch.manual_seed(place)
        torch.compiler.reset()  # Beyond a number of shapes torch.compile would give up.
        rows += measure(size, GpuMachine())
        results.write(options.out, rows, described_gpu())
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
