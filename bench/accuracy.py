#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of LayerNorm's gradients and statistics against float64 on a GPU, ours beside others.

All take the same float32 inputs, and in the backward pass the same statistics: the exact ones,
rounded. Two errors of each output, over several seeds: the largest over the largest true value,
which depends much on the seed, and the root mean square over that of the true values, which
does not. The figures that scripts/accuracy.py shows are recorded with ``--record``.

  accuracy.py [--shape 65536x768] [--seeds 8] [--record bench/recorded_accuracy.json]
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import statistics
import sys
from collections.abc import Callable
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "python"), str(pathlib.Path(__file__).resolve().parent)]

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

import lnbwd.ops  # noqa: E402, F401  (defines the operators)
from lnbwd.operations import LAYER_NORM_BWD  # noqa: E402
from lnbwd_bench import PEERS  # noqa: E402
from lnbwd_bench.checking import OUTPUTS, reference  # noqa: E402
from lnbwd_bench.machine import GpuMachine  # noqa: E402
from lnbwd_bench.peers import Unavailable, make_peer  # noqa: E402
from lnbwd_bench.shapes import Shape, shape_argument  # noqa: E402

EPSILON = 1e-5
FORWARD = ("y", "mean", "rstd")
Outputs = dict[str, Tensor]
Function = Callable[[dict[str, Tensor]], Outputs]


def backward_ways(machine: GpuMachine, shape: Shape) -> dict[str, Function]:
    """The backward pass by whoever is installed; the names are those of the benchmark."""

    def way(function: Callable[[dict[str, Tensor]], Any]) -> Function:
        return lambda given: dict(zip(OUTPUTS, function(given), strict=False))

    ways: dict[str, Function] = {"ours": way(lambda given: torch.ops.lnbwd.layer_norm_bwd(
        *(given[name] for name in ("dy", "x", "mean", "rstd", "gamma", "beta")), [shape.n],
        [True] * 3))}
    for name in PEERS:
        try:
            ways[name] = way(make_peer(name, machine).function(LAYER_NORM_BWD, shape))
        except Unavailable as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return ways


def forward_ways(shape: Shape) -> dict[str, Function]:
    """The forward pass: ours, and PyTorch's operator, eager and compiled."""

    def way(operator: Callable[..., Any]) -> Function:
        return lambda given: {name: value.reshape(shape.m, -1) for name, value in zip(
            FORWARD, operator(given["x"], [shape.n], given["gamma"], given["beta"], EPSILON),
            strict=True)}

    eager = torch.ops.aten.native_layer_norm
    return {"ours": way(torch.ops.lnbwd.layer_norm), "eager": way(eager),
            "compile": way(torch.compile(eager, dynamic=False, fullgraph=True))}


def make_inputs(shape: Shape, seed: int) -> dict[str, Tensor]:
    """Standard normal float32 inputs; gamma around 1."""
    generator = torch.Generator(device="cuda").manual_seed(seed)

    def normal(*size: int) -> Tensor:
        return torch.randn(size, generator=generator, device="cuda")

    x = normal(shape.m, shape.n)
    wide = x.double()
    return {"dy": normal(shape.m, shape.n), "x": x, "gamma": 1 + 0.25 * normal(shape.n),
            "beta": normal(shape.n), "mean": wide.mean(1).float(),
            "rstd": (wide.var(1, unbiased=False) + EPSILON).rsqrt().float()}


def exact_forward(given: dict[str, Tensor]) -> Outputs:
    """The forward pass in float64."""
    x = given["x"].double()
    mean = x.mean(1, keepdim=True)
    rstd = (x.var(1, unbiased=False, keepdim=True) + EPSILON).rsqrt()
    return {"y": (x - mean) * rstd * given["gamma"].double() + given["beta"].double(),
            "mean": mean, "rstd": rstd}


def errors(got: Tensor, true: Tensor) -> tuple[float, float]:
    """The largest error over the largest value, and root mean square over root mean square."""
    difference = got.double() - true
    return (float(difference.abs().max() / true.abs().max()),
            float(difference.square().mean().sqrt() / true.square().mean().sqrt()))


def main() -> int:
    """Measures, prints a table, and records it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=shape_argument, default=Shape(65536, 768, "f32"))
    parser.add_argument("--seeds", type=int, default=8, help="how many seeds (default 8)")
    parser.add_argument("--record", type=pathlib.Path, help="file for the figures, JSON")
    arguments = parser.parse_args()
    if arguments.seeds < 1:
        parser.error(f"--seeds: expected 1 or more, got {arguments.seeds}")
    if not torch.cuda.is_available():
        parser.error("expected an NVIDIA GPU, found none")
    shape = Shape(arguments.shape.m, arguments.shape.n, "f32")
    machine = GpuMachine()
    backward, forward = backward_ways(machine, shape), forward_ways(shape)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(arguments.seeds):
        given = make_inputs(shape, seed)
        for ways, true in ((backward, reference(given, "f32").outputs),
                           (forward, exact_forward(given))):
            for name, function in ways.items():
                for output, value in function(given).items():
                    found.setdefault((output, name), []).append(errors(value, true[output]))
    figures = [{"output": output, "who": who,
                "largest": max(value[0] for value in values),
                "largest_median": statistics.median(value[0] for value in values),
                "rms": max(value[1] for value in values)}
               for (output, who), values in found.items()]
    print(f"{shape.m} x {shape.n} f32, {arguments.seeds} seeds, {machine.name}, "
          f"torch {torch.__version__}")
    print(f"{'output':8} {'who':8} {'largest: worst':>14} {'median':>9} {'rms: worst':>11}")
    for row in figures:
        print(f"{row['output']:8} {row['who']:8} {row['largest']:14.2e} "
              f"{row['largest_median']:9.2e} {row['rms']:11.2e}")
    if arguments.record is not None:
        arguments.record.write_text(json.dumps({
            "what": "Errors against float64, written by bench/accuracy.py.",
            "date": str(datetime.date.today()), "machine": machine.name,
            "torch": torch.__version__, "shape": f"{shape.m}x{shape.n}",
            "seeds": arguments.seeds, "figures": figures}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
