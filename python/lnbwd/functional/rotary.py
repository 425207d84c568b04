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
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import check_dense, check_parameter, check_rms_eps
from ..ops.launching import is_pytorchs
from ..ops.regions import Registered, register_draft
from ..ops.registration import eager, gradients_by_torch, refuse_forward_mode
from ..program.builder import Draft, Value
from ..program.operands import ELEMENT_NAMES, Input
from ..program.torch_internals.eager import is_batched, reshaped

_Tables = tuple[tuple[torch.Size, torch.dtype], ...]


def _by_torch(input: Tensor, cos: Tensor, sin: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """The function by PyTorch's operations, in float32 or wider."""
    x = input if input.dtype == torch.float64 else input.float()
    h = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    h = h if weight is None else h * weight
    first, second = h.chunk(2, -1)
    return (h * cos + torch.cat((-second, first), -1) * sin).to(input.dtype)


def _input(shape: torch.Size, rows: torch.Size, dtype: torch.dtype, is_swapped: bool) -> Input:
    """A tensor that broadcasts to rows, whole in the last dimension, its halves swapped or not."""
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
              eps: float) -> tuple[Registered, Registered]:
    """The forward program and the gradient's; x' is x with its halves swapped."""
    length, element = shape[-1], ELEMENT_NAMES[dtype]

    def draft(kinds: dict[str, Input], x: str, sin_is_swapped: bool) -> Draft:
        others = {name: _input(size, shape, kind, name == "sin" and sin_is_swapped)
                  for name, (size, kind) in zip(("cos", "sin"), tables, strict=True)}
        swapped = {f"{x}'": _input(shape, shape, dtype, True)}
        return Draft(length, {**others, **swapped, **kinds})

    def signed(p: Draft, value: Value) -> Value:
        """With its first half negated."""
        index = Value(p.builder, p.builder.add("index"))
        return (index < length / 2).select(value * -1.0, value)

    row, rows = Input("row", element), math.prod(shape[:-1])
    column = {} if weight is None else {"weight": Input("column", ELEMENT_NAMES[weight])}
    turned_column = {} if weight is None else {"weight'": _input(shape[-1:], shape, weight, True)}
    p = draft({"x": row, **column, **turned_column}, "x", False)
    x = p.values["x"]
    rstd = ((x * x).mean() + eps).rsqrt()
    h, turned = p.scaled(x * rstd), p.scaled(p.values["x'"] * rstd, "weight'")
    p.write("y", "row", element, h * p.values["cos"] + signed(p, turned * p.values["sin"]))
    p.write("rstd", "scalar", "f32", rstd)
    forward = register_draft(p, rows)

    p = draft({"dy": row, "x": row, **column, "rstd": Input("scalar", "f32")}, "dy", True)
    dh = p.values["dy"] * p.values["cos"] - signed(p, p.values["dy'"] * p.values["sin"])
    dx, xhat = p.norm_gradient(dh, p.values["x"])
    p.write("dx", "row", element, dx)
    for name, given in column.items():
        p.write(name, "column_sum", given.dtype, dh * xhat)
    return forward, register_draft(p, rows)


class _Rotary(torch.autograd.Function):
    """The function of a dense input and tables that have its last dimension."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, weight: Tensor | None,
                eps: float) -> Tensor:
        ctx.eps = eps
        ctx.programs = _programs(x.shape, x.dtype, ((cos.shape, cos.dtype), (sin.shape, sin.dtype)),
                                 None if weight is None else weight.dtype, eps)
        found = ctx.programs[0](x.numel() // x.shape[-1], {
            "x": x, "x'": x, "cos": cos, "sin": sin, "weight": weight, "weight'": weight})
        ctx.save_for_backward(x, cos, sin, weight, found["rstd"])
        return reshaped(found["y"], x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, cos, sin, weight, rstd = ctx.saved_tensors
        if torch.is_grad_enabled() or is_batched(dy):  # Second derivatives are PyTorch's.
            dx, dweight = gradients_by_torch(
                lambda x, weight: _by_torch(x, cos, sin, weight, ctx.eps), (x, weight),
                ctx.needs_input_grad[:4:3], dy)
        else:
            gradients = ctx.programs[1](x.numel() // x.shape[-1], {
                "dy": dy, "dy'": dy, "x": x, "cos": cos, "sin": sin, "weight": weight,
                "rstd": rstd})
            dx, dweight = reshaped(gradients["dx"], x.shape), gradients.get("weight")
        return dx, None, None, dweight, None

    jvp = staticmethod(refuse_forward_mode("a norm with rotary positions"))


_apply: Callable[..., Tensor] = eager(_Rotary)


def rms_norm_rope(input: Tensor, cos: Tensor, sin: Tensor, weight: Tensor | None = None,
                  eps: float | None = None) -> Tensor:
    """The RMSNorm of heads with rotary positions: ``h * cos + rotate_half(h) * sin`` of
    ``h = rms_norm(input, weight)``, where rotate_half swaps the halves of a head and negates the
    first, as Hugging Face's models have it.

    Args:
        input: ``[..., D]``, D even, for example ``[B, T, H, D]``; float16, bfloat16 or float32
            (float64: computed by PyTorch). Each shape compiles a kernel.
        cos, sin: tables without a gradient that broadcast to input, of two dimensions or more, for
            example ``[T, 1, D]``.
        weight: the scale of the norm, ``[D]``; None: 1.
        eps: as of :func:`rms_norm`.

    Returns:
        A dense tensor of input's shape and type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    check_dense("input", input)
    if input.dim() < 2 or input.shape[-1] % 2:
        raise ValueError("input: expected two dimensions or more, the last of an even number of "
                         f"elements, got {list(input.shape)}")
    for name, table in (("cos", cos), ("sin", sin)):
        check_dense(name, table)
        if not 2 <= table.dim() <= input.dim() or any(
                own not in (1, size) for own, size in zip(
                    reversed(table.shape), reversed(input.shape), strict=False)):
            raise ValueError(f"{name}: expected two dimensions or more that broadcast to those of "
                             f"input, {list(input.shape)}, got {list(table.shape)}")
        check_parameter(name, table, table.shape, "input", input)
        if table.requires_grad:
            raise ValueError(f"{name}: expected a tensor that needs no gradient; pass "
                             f"{name}.detach()")
    check_parameter("weight", weight, input.shape[-1:], "input", input)
    eps = check_rms_eps(eps, input.dtype)
    cos, sin = (table.expand(*table.shape[:-1], input.shape[-1]) for table in (cos, sin))
    if is_pytorchs("a norm with rotary positions", input, cos, sin, weight):
        return _by_torch(input, cos, sin, weight, eps)
    return _apply(input.contiguous(), cos, sin, weight, eps)
