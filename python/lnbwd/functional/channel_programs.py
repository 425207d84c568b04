# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row programs that batch norms are made of, node by node."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from ..core.compile.spec import ROWS_HINTS
from ..ops.regions import Registered, call_of, is_plain, raw_region, register_draft
from ..program.builder import Draft, Value
from ..program.operands import ELEMENT_NAMES, Input

Kinds = tuple[tuple[str, str], ...]
"""The element types of running statistics, and of the momentum, by name."""


def _drafted(length: int, inputs: dict[str, Input], kinds: Kinds) -> Draft:
    """A draft with running statistics among its inputs."""
    return Draft(length, inputs | {name: Input("number" if name == "momentum" else "scalar", kind)
                                   for name, kind in kinds})


def _finished(p: Draft, mean: Value, variance: Value, count: int, kinds: Kinds,
              rows: int | None) -> Registered:
    """A draft that writes moments of ``count`` elements, and changes running statistics."""
    p.write("mean", "scalar", "f32", mean)
    p.write("variance", "scalar", "f32", variance)
    new = {"running_mean": mean, "running_var": variance * (count / max(count - 1, 1))}
    for name, kind in kinds:
        if name in new:
            old = p.values[name]
            p.write(name, "scalar", kind, old + (new[name] - old) * p.values["momentum"])
    return register_draft(p, rows)


def run(program: Registered, tensors: dict[str, Tensor | None], results: list[Tensor],
        running: dict[str, Tensor]) -> None:
    """Runs a program, whose last outputs take the place of running statistics."""
    inputs = [t.contiguous() for name in program.inputs if (t := tensors[name]) is not None]
    outputs = [*results, *(t for name, t in running.items() if name != "momentum")]
    if is_plain(inputs) and all(t.is_contiguous() and not t.data_ptr() & 15 for t in outputs):
        rows = program.rows or results[-1].numel()
        call_of(program.text, inputs[0].device)(rows, *inputs, *outputs)
        return
    for tensor, value in zip(outputs, raw_region(inputs, program.text), strict=True):
        tensor.copy_(value.view(tensor.shape))


@functools.lru_cache(256)
def combination(length: int, channels: int, count: int, kinds: Kinds) -> Registered:
    """The program that combines the moments of ``length`` rows: those of a group, side by side, or
    those of each of ``channels`` in a batch, whose samples are apart."""
    parts = ((length, channels, 1), (1, length, channels)) if channels and length > 1 else ()
    moments = Input("part" if parts else "row", "f32", parts)
    p = _drafted(length, {"means": moments, "variances": moments}, kinds)
    mean = p.values["means"].mean()
    centred = p.values["means"] - mean
    variance = (p.values["variances"] + centred * centred).mean()
    return _finished(p, mean, variance, count, kinds, channels or None)


@functools.lru_cache(256)
def sum_of_samples(channels: int, *dtypes: torch.dtype) -> Registered:
    """The program that adds the samples' two sums for each channel."""
    names = ("along", "total")
    p = Draft(channels, dict.fromkeys(names, Input("row", "f32")))
    for name, dtype in zip(names, dtypes, strict=True):
        p.write(name, "column_sum", ELEMENT_NAMES[dtype], p.values[name])
    return register_draft(p, None, ROWS_HINTS[0])


@functools.lru_cache(256)
def batch_programs(shape: torch.Size, dtype: torch.dtype, weight: torch.dtype | None,
                   bias: torch.dtype | None, eps: float, kinds: Kinds
                   ) -> tuple[Registered, Registered]:
    """The forward program and the gradient's, for a batch whose channels are rows."""
    samples, channels, size = shape
    length = samples * size
    # Where the elements of a row lie: those of a sample side by side, samples apart.
    parts = () if samples == 1 else (
        (length, channels, size), (size, samples, channels * size), (1, size, 1))
    element, x = ELEMENT_NAMES[dtype], Input(
        "part" if parts else "row", ELEMENT_NAMES[dtype], parts)
    parameters = {name: Input("scalar", ELEMENT_NAMES[kind]) for name, kind in (
        ("weight", weight), ("bias", bias)) if kind is not None}

    p = _drafted(length, {**parameters, "x": x}, kinds)
    mean = p.values["x"].mean()
    centred = p.values["x"] - mean
    variance = (centred * centred).mean()
    y = p.scaled(centred * (variance + eps).rsqrt())
    p.write("y", "row", element, y, parts=parts)
    forward = _finished(p, mean, variance, length, kinds, channels)

    statistic = Input("scalar", "f32")
    parameters.pop("bias", None)
    p = Draft(length, {"mean": statistic, "rstd": statistic, **parameters, "dy": x, "x": x})
    dy = p.values["dy"]
    p.values["rstd"] = (p.values["rstd"] + eps).rsqrt()  # It is the variance that is kept.
    dx, xhat = p.norm_gradient(dy, p.values["x"], weight="")
    # The weight is the same along a row: behind its sums, which so are those for the parameters.
    p.write("dx", "row", element, p.scaled(dx), parts=parts)
    for name, kind, value in (("weight", weight, dy * xhat), ("bias", bias, dy)):
        p.write(name, "scalar", ELEMENT_NAMES[kind or torch.float32], value.row_sum())
    return forward, register_draft(p, channels)


numbers: dict[tuple[float, torch.device], Tensor] = {}
MANY_NUMBERS = 64
