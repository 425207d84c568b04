# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models, each compiled and trained for a step twice, on the road that the environment picks.

Run as a program, it prints a line of JSON for each case: the largest relative error of results and
gradients against float64, a digest of their bits in each step, how many nodes were taken, and
what Inductor's caches did. test_torch_roads.py runs it once for each road and compares.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from compiled import as_list
from test_torch_layouts import TABLE
from torch import Tensor, nn

import lnbwd.inductor

LAST = torch.channels_last
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Case(NamedTuple):
    """A module or a function, and its inputs; the inputs of floats get gradients."""

    make: Callable[[], Callable[..., Tensor]]
    inputs: Callable[[], Sequence[Tensor]]
    tolerance: float = 2e-5
    # Without float64's reference: random numbers are drawn in another way there.
    is_random: bool = False
    # A dimension that is marked as dynamic.
    dynamic: int | None = None
    # A function of what may be no floats, with one result or several.
    has_gradients: bool = True


class LayerNorm2d(nn.LayerNorm):
    """A norm of channels, as image models write it."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    """The block of ConvNeXt, whose scale is per channel."""

    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide, self.narrow = nn.Linear(channels, 32), nn.Linear(32, channels)
        self.gamma = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.gamma * self.narrow(F.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


class Attention(nn.Module):
    """Decomposed attention with norms of transposed heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)
        self.q_norm, self.k_norm = (nn.RMSNorm(width // heads, 1e-6) for _ in range(2))

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = self.q_norm(q) @ self.k_norm(k).transpose(-1, -2)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Residual(nn.Module):
    """A residual stream with a norm and a gated unit, as language models have it."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.RMSNorm(width, 1e-6)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x):
        gate, value = self.up(self.norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)


class Autocast(nn.Module):
    """A module under bfloat16 autocast."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        with torch.autocast(DEVICE, torch.bfloat16):
            return self.module(*inputs).float()


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Random numbers, the same in each process."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def images() -> list[Tensor]:
    """Channels last."""
    return [normal(3, 16, 4, 6).to(memory_format=LAST)]


def shifted(tensor: Tensor) -> Tensor:
    """The tensor in the same order of memory, one element behind a multiple of 16 bytes."""
    memory = torch.empty(tensor.numel() + 1, device=DEVICE)[1:]
    return memory.as_strided(tensor.shape, tensor.stride()).copy_(tensor)


def looked_up(table):
    """Rows of a table of 16 bits, whose gradient adds rows to places."""
    tokens = torch.arange(48, device=DEVICE) * 7 % 20
    return F.layer_norm(F.embedding(tokens, table.bfloat16()).float(), table.shape[1:])


def scaled(x, scale):
    """A norm of channels with a scale for each sample, and sums of the scaled rows."""
    y = F.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2]) * scale[:, None, None]
    return y * y.mean((1, 2), keepdim=True)


def alike(x, column):
    """A product with rows that are all alike: their kernel has no input that says how many."""
    return (column.sin() * x.new_ones(x.shape[0], 1)) @ x.t()


MODELS = {
    "batch norm, ReLU": Case(
        lambda: nn.Sequential(nn.BatchNorm2d(16), nn.ReLU()).to(memory_format=LAST), images),
    "convolution, batch norm": Case(lambda: nn.Sequential(
        nn.Conv2d(16, 24, 3, padding=1), nn.BatchNorm2d(24)).to(memory_format=LAST), images),
    "group norm": Case(lambda: nn.GroupNorm(4, 16), images),
    "group norm, SiLU, contiguous": Case(
        lambda: nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU()), lambda: [normal(3, 16, 4, 6)]),
    "instance norm": Case(lambda: nn.InstanceNorm2d(16, affine=True), images),
    "norm of channels": Case(lambda: LayerNorm2d(16), images),
    "ConvNeXt block": Case(lambda: ConvNeXtBlock(16).to(memory_format=LAST), images),
    "scale of samples": Case(lambda: scaled, lambda: [*images(), normal(3, 16, seed=1)]),
    "layer norm, transposed": Case(lambda: nn.LayerNorm(64), lambda: [
        normal(4, 5, 64).transpose(0, 1)]),
    "layer norm, shifted": Case(lambda: nn.LayerNorm(64), lambda: [
        shifted(normal(4, 5, 64).transpose(0, 1))]),
    "softmax of transposed scores": Case(lambda: lambda x: (x * 0.5).softmax(-1), lambda: [
        normal(4, 5, 3, 16).transpose(1, 2)]),
    "layer norm, dynamic": Case(lambda: nn.LayerNorm(64), lambda: [
        normal(4, 5, 64).transpose(0, 1)], dynamic=0),
    "rows alike, dynamic": Case(lambda: alike, lambda: [
        normal(6, 64), normal(64, seed=1)], dynamic=0),
    "encoder layer": Case(lambda: nn.TransformerEncoderLayer(32, 2, 48, dropout=0), lambda: [
        normal(5, 3, 32)]),
    "attention": Case(lambda: Attention(32, 2), lambda: [normal(2, 5, 32)]),
    "gated residual": Case(lambda: Residual(32), lambda: [normal(2, 5, 32)]),
    "gated residual, bfloat16": Case(lambda: Autocast(Residual(32)), lambda: [normal(2, 5, 32)],
                                     tolerance=4e-2),
    "embedding, layer norm": Case(lambda: looked_up, lambda: [normal(20, 32)], tolerance=4e-2),
    "dropout, layer norm": Case(lambda: nn.Sequential(nn.Dropout(0.3), nn.LayerNorm(32)), lambda: [
        normal(2, 5, 32).transpose(0, 1)], is_random=True),
    "cross entropy": Case(lambda: lambda x: F.cross_entropy(x.transpose(1, 2), torch.arange(
        10, device=DEVICE).reshape(2, 5), reduction="none"), lambda: [
            normal(5, 2, 40).transpose(0, 1)]),
}
LAYOUTS = "tensors as they lie"
"""The case of all functions of test_torch_layouts.py, in one graph."""


def layouts(*operands):
    """All results of those functions."""
    given = iter(operands)
    return [y for case in TABLE.cases.values()
            for y in as_list(case.function(*(next(given) for _ in case.operands)))]


def step(function: Callable[..., Tensor], parameters: Sequence[nn.Parameter],
         inputs: Sequence[Tensor], case: Case) -> list[Tensor]:
    """The results and all gradients of a step."""
    torch.manual_seed(7)
    if not case.has_gradients:
        with torch.no_grad():
            y = function(*inputs)
        return [y] if isinstance(y, Tensor) else [*y]
    leaves = [t.detach().requires_grad_() for t in inputs]
    if case.dynamic is not None:
        torch._dynamo.mark_dynamic(leaves[0], case.dynamic)
    for parameter in parameters:
        parameter.grad = None
    y = function(*leaves)
    y.backward(normal(*y.shape, seed=9).to(y.dtype))
    return [y.detach(), *(t.grad.clone() for t in (*leaves, *parameters))]


def distance(got: Tensor, want: Tensor) -> float:
    """The relative error; of a gradient that is 0, in units of the numbers that it sums."""
    return float((got.double() - want).norm() / (want.norm() + want.numel()**0.5))


def run(case: Case) -> dict[str, object]:
    """Runs a case, and says what came of it."""
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    counters.clear()
    lnbwd.inductor.decisions(clear=True)
    torch.manual_seed(5)
    module = case.make()
    if isinstance(module, nn.Module):
        module.to(DEVICE)
    parameters = [*module.parameters()] if isinstance(module, nn.Module) else []
    inputs = [t.to(DEVICE) for t in case.inputs()]
    compiled = torch.compile(module, backend="lnbwd")
    steps = [step(compiled, parameters, inputs, case) for _ in range(2)]
    error = 0.0
    if not case.is_random:
        if isinstance(module, nn.Module):
            module.double()
        want = step(module, parameters, [t.double() if t.is_floating_point() else t
                                         for t in inputs], case)
        error = max(distance(g, w) for got in steps for g, w in zip(got, want, strict=True))
    caches = [counters[name] for name in ("aot_autograd", "inductor")]
    return {"error": error, "tolerance": case.tolerance,
            "digests": [hashlib.sha256(b"".join(
                t.contiguous().view(torch.uint8).cpu().numpy().tobytes() for t in one)).hexdigest()
                for one in steps],
            "taken": sum(d.taken for d in lnbwd.inductor.decisions()),
            "misses": max(c[name] for c in caches for name in (
                "autograd_cache_miss", "fxgraph_cache_miss"))}


def main() -> None:
    """Runs all cases; with the argument "models" those alone."""
    cases = MODELS if sys.argv[1:] == ["models"] else MODELS | {LAYOUTS: Case(
        lambda: layouts, lambda: [t.detach() for case in TABLE.cases.values()
                                  for t in case.operands],
        tolerance=4e-3, has_gradients=False)}
    torch._inductor.config.compile_threads = 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, case in cases.items():
            print(json.dumps({"case": name, **run(case)}), flush=True)
    print(json.dumps([str(w.message) for w in caught if "lnbwd" in str(w.message)
                      or "regions" in str(w.message)]))


if __name__ == "__main__":
    main()
