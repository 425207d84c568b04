#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a LayerNorm with a linear layer on a GPU: ours by each way, eager, and torch.compile.

    python bench/layer_norm_linear.py [--out FILE]

Each shape is checked first: output and five gradients against float64 beside eager's errors, and
two runs bit for bit. Forward and backward are times of CUDA graphs of a few calls, interleaved
within a repetition, medians: the device's time alone. "host" is what a call takes the host in
eager mode: the forward pass without gradients, with them, and both passes.
bench/dashboard.py reads the files.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402

import lnbwd  # noqa: E402
from lnbwd.functional import linear  # noqa: E402
from lnbwd_bench import results, timing  # noqa: E402
from lnbwd_bench.machine import GpuMachine, described_gpu  # noqa: E402

SHAPES = ("16x8x16", "512x768x2304", "2048x1024x3072", "8192x1024x4096", "8192x4096x12288",
          "1000x640x1920")
EPSILON = 1e-5
HOST_CALLS, ROUNDS = 30, 15


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


class Case:
    """A layer's tensors, and its computation by each contender."""

    NAMES = ("x", "ln_weight", "ln_bias", "weight", "bias")

    def __init__(self, m: int, k: int, n: int) -> None:
        generator = torch.Generator("cuda").manual_seed(m + k + n)

        def make(*shape: int, scale: float = 1) -> torch.Tensor:
            values = torch.randn(shape, generator=generator, device="cuda") * scale
            return values.bfloat16().requires_grad_()

        self.leaves = [make(m, k), make(k), make(k), make(n, k, scale=k ** -0.5), make(n)]
        self.dy = make(m, n).detach()
        self.k = k
        # Compiled for each shape anew: beyond a number of them torch.compile would give up.
        torch.compiler.reset()
        self.compiled = torch.compile(self.formula, dynamic=False)

    def formula(self, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        """PyTorch's two functions."""
        gamma, beta, weight, bias = others
        z = torch.nn.functional.layer_norm(x, (self.k,), gamma, beta, EPSILON)
        return torch.nn.functional.linear(z, weight, bias)

    def ours(self, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        """Both in one function of ours."""
        gamma, beta, weight, bias = others
        return lnbwd.layer_norm_linear(x, (self.k,), gamma, beta, weight, bias, EPSILON)

    def forward(self, who: str) -> torch.Tensor:
        """The output by "eager", "compile" or a way of ours."""
        function = {"eager": self.formula, "compile": self.compiled}.get(who, self.ours)
        with linear.forced(who if function == self.ours else "auto"):
            return function(*self.leaves)

    def infer(self, who: str) -> torch.Tensor:
        """The output where no gradient is asked for."""
        with torch.no_grad():
            return self.forward(who)

    def run(self, who: str) -> tuple[torch.Tensor, ...]:
        """Output and gradients."""
        with linear.forced(who if who in WAYS else "auto"):
            y = self.forward(who)
            return (y.detach(), *torch.autograd.grad(y, self.leaves, self.dy))

    def exact(self) -> list[torch.Tensor]:
        """Output and gradients in float64."""
        leaves = [leaf.detach().double().requires_grad_() for leaf in self.leaves]
        y = self.formula(*leaves)
        return [y.detach(), *torch.autograd.grad(y, leaves, self.dy.double())]

    def errors(self, who: str, exact: list[torch.Tensor]) -> dict[str, float]:
        """Root mean squares of the errors over those of the values."""
        return {name: float((a.double() - e).square().mean().sqrt() / e.square().mean().sqrt())
                for name, a, e in zip(("y", *self.NAMES), self.run(who), exact, strict=True)}


WAYS = (linear.KERNEL, linear.TORCH, "auto")


def measure_layer(shape: str, machine: GpuMachine) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the device's and of the host's times, and what is wrong with the results."""
    m, k, n = sizes = [*map(int, shape.split("x"))]
    case = Case(*sizes)
    exact = case.exact()
    theirs, failures = case.errors("eager", exact), []
    for way in WAYS:
        failures += [f"{way}: {name} {error:.2e}, eager {theirs[name]:.2e}"
                     for name, error in case.errors(way, exact).items()
                     if not error <= theirs[name] * 1.05]
        if not all(map(torch.equal, case.run(way), case.run(way))):
            failures.append(f"{way}: two runs differ")
    del exact
    moved, few = 2 * (m * k + k * n + m * n), ("auto", "eager", "compile")

    def time_device(run: Callable[[str], object], who: Iterable[str]) -> dict[str, float]:
        return timing.time_in_graphs(machine, {
            one: lambda _, one=one: run(one) for one in who}, 1, ROUNDS, moved)  # type: ignore

    rows: list[dict[str, Any]] = [
        {"block": "linear", "sizes": sizes, "dtype": "bf16", "pass": what, "us": us}
        for what, us in (("forward", time_device(case.infer, few)),
                         ("both", time_device(case.run, (*WAYS, *few[1:]))))]
    for what, run in (("forward without gradients", case.infer),
                      ("forward with gradients", case.forward),
                      ("forward and backward", case.run)):
        us = time_host({who: functools.partial(run, who) for who in (*WAYS, *few[1:])})
        rows.append({"block": "linear_host", "sizes": sizes, "pass": what,
                     "us": {"ours": us["auto"], **us}})
    return rows, failures


def main() -> int:
    """The command; the exit code is 1 if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, help="write all figures to this file")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("expected a GPU, got none")
    machine, found, is_wrong = GpuMachine(), list[dict[str, Any]](), False
    for shape in SHAPES:
        rows, failures = measure_layer(shape, machine)
        found += rows
        is_wrong |= bool(failures)
        print(shape, rows[1]["us"], *failures, flush=True)
        results.write(options.out, found, described_gpu())
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
