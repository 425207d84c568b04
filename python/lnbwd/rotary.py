# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The RMSNorm of heads with rotary positions, one row program each way.

A kernel reads a head twice, the second time with its halves swapped, which a row function cannot
say. The gradient reads that of the result so.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch import Tensor

from .native import ELEMENT_NAMES
from .operators import eager, refuse_forward_mode, reshaped
from .regions_op import register_row_program, run_rows
from .rowprogram import Draft, Input, Value

_Tables = tuple[tuple[torch.Size, torch.dtype], ...]


def by_torch(input: Tensor, cos: Tensor, sin: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """The function by PyTorch's operations, in float32 or wider."""
    x = input if input.dtype == torch.float64 else input.float()
    h = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    h = h if weight is None else h * weight
    first, second = h.chunk(2, -1)
    return (h * cos + torch.cat((-second, first), -1) * sin).to(input.dtype)


def _input(shape: torch.Size, rows: torch.Size, dtype: torch.dtype, is_swapped: bool) -> Input:
    """A tensor that broadcasts to rows, of whose last dimension it has all, with the halves of this
    swapped or not."""
    length = stride = distance = rows[-1]
    parts: list[tuple[int, ...]] = []
    for size, own in zip(rows[-2::-1], [*shape[-2::-1], *[1] * len(rows)], strict=False):
        if own > 1:
            parts.insert(0, (distance, own, stride))
        stride, distance = stride * own, distance * size
    inner = (1, length, 1, *((length // 2, length) if is_swapped else ()))
    return Input("part", ELEMENT_NAMES[dtype], (*parts, inner))


@functools.lru_cache(256)
def _programs(shape: torch.Size, dtype: torch.dtype, tables: _Tables, weight: torch.dtype | None,
              eps: float) -> tuple[str, str]:
    """The forward program and that of the gradient."""
    length, element = shape[-1], ELEMENT_NAMES[dtype]
    names = {"weight": weight} if weight is not None else {}

    def draft(kinds: dict[str, Input], x: str, sin_is_swapped: bool) -> Draft:
        others = {name: _input(size, shape, kind, name == "sin" and sin_is_swapped)
                  for name, (size, kind) in zip(("cos", "sin"), tables, strict=True)}
        swapped = {f"{x}'": _input(shape, shape, dtype, True)}
        return Draft(length, {**kinds, **others, **swapped})

    def signed(p: Draft, value: Value) -> Value:
        """With its first half negated."""
        index = Value(p.builder, p.builder.add("index"))
        return (index < length / 2).select(value * -1.0, value)

    row, column = Input("row", element), {name: Input("column", ELEMENT_NAMES[kind])
                                          for name, kind in names.items()}
    p = draft({"x": row, **column}, "x", False)
    x, other = p.values["x"], p.values["x'"]
    rstd = ((x * x).mean() + eps).rsqrt()
    h, turned = x * rstd, other * rstd
    if names:
        p.inputs.append(Input("part", ELEMENT_NAMES[names["weight"]],
                              ((1, length, 1, length // 2, length),)))
        turned = turned * Value(p.builder, p.builder.add("input", len(p.inputs) - 1))
        h = h * p.values["weight"]
    p.write("y", "row", element, h * p.values["cos"] + signed(p, turned * p.values["sin"]))
    p.write("rstd", "scalar", "f32", rstd)
    forward, _ = p.finish(math.prod(shape[:-1]))

    p = draft({"dy": row, "x": row, **column, "rstd": Input("scalar", "f32")}, "dy", True)
    dh = p.values["dy"] * p.values["cos"] - signed(p, p.values["dy'"] * p.values["sin"])
    dx, xhat = p.norm_gradient(dh, p.values["x"])
    p.write("dx", "row", element, dx)
    for name, kind in names.items():
        p.write(name, "column_sum", ELEMENT_NAMES[kind], dh * xhat)
    backward, _ = p.finish(math.prod(shape[:-1]))
    return register_row_program(forward).text, register_row_program(backward).text


class _Rotary(torch.autograd.Function):
    """The function of a dense input and tables that have its last dimension."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, weight: Tensor | None,
                eps: float) -> Tensor:
        ctx.eps = eps
        ctx.programs = _programs(x.shape, x.dtype, ((cos.shape, cos.dtype), (sin.shape, sin.dtype)),
                                 None if weight is None else weight.dtype, eps)
        own = [] if weight is None else [weight]
        y, rstd = run_rows(ctx.programs[0], x.numel() // x.shape[-1],
                           [x, *own, cos, sin, x, *own])
        ctx.save_for_backward(x, cos, sin, weight, rstd)
        return reshaped(y, x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, cos, sin, weight, rstd = ctx.saved_tensors
        if torch.is_grad_enabled():  # Second derivatives are PyTorch's.
            leaves = [t for t, need in ((x, ctx.needs_input_grad[0]),
                                        (weight, ctx.needs_input_grad[3])) if need]
            found = list(torch.autograd.grad(by_torch(x, cos, sin, weight, ctx.eps), leaves, dy,
                                             create_graph=True))
            dx, dweight = (found.pop(0) if ctx.needs_input_grad[place] else None
                           for place in (0, 3))
        else:
            own = [] if weight is None else [weight]
            dx, dweight = (*run_rows(ctx.programs[1], x.numel() // x.shape[-1], [
                dy, x, *own, rstd, cos, sin, dy]), None)[:2]
            dx = reshaped(dx, x.shape)
        return dx, None, None, dweight, None

    jvp = staticmethod(refuse_forward_mode("a norm with rotary positions"))


apply = eager(_Rotary)
