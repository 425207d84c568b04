# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses of a linear layer's output, which never stands in memory whole.

The rows are taken in chunks. PyTorch's product makes a chunk of logits; a row program computes the
losses and writes the gradient in the logits' place; two products add it to the gradients of the
input and of the layer. So the gradients are known after the forward pass, but for the factor that
the backward pass brings, and the logits of one chunk are all that is kept.

With losses that are not reduced that factor differs from row to row and the forward pass does not
know it: the backward pass computes the chunks again.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import TYPES, check_classes, check_dense, check_parameter
from ..ops.choices import choices
from ..ops.regions import is_plain
from ..ops.registration import gradients_like, refuse_forward_mode
from ..ops.row_functions import Rows, Scalars, rowwise

OfLogits = Callable[[slice, Tensor, Tensor, "Tensor | None"], object]
"""A function ``(rows, logits, losses, bias_gradient)`` that computes one chunk.

``rows`` is the slice of the input's rows in this chunk, ``logits`` their logits ``[R, V]``. The
function writes the scaled loss of each row into ``losses``, float32 ``[R]``. If a gradient is
wanted, it overwrites ``logits`` with their gradient. If ``bias_gradient``, float32 ``[V]``, is not
None, it receives the sum of this gradient over the chunk's rows."""

Compute = Callable[..., Sequence[Tensor]]
"""A function ``(input, linear_weight, target, scale, linear_bias, weight, ..., wanted)``.

It returns the scaled losses, and the gradients of their sum for input, linear_weight and
linear_bias. ``scale`` is from :func:`scales_of`. ``wanted`` has a boolean for each gradient; one
that is not wanted is a tensor without elements."""


@rowwise
def _scaled(x: Rows, factor: Scalars) -> Any:
    return ((x.float() * factor).to(x.dtype),)


def _scale(tensor: Tensor, factor: Tensor) -> Tensor:
    """Multiplies a tensor in place by a number on its device. (PyTorch's own product with a number
    in float32 takes five times as long for a large tensor of 16 bits.)"""
    if not is_plain((tensor, factor)):  # A graph is traced.
        return tensor.mul_(factor)
    rows = tensor.view(-1, tensor.shape[-1])
    _scaled.write([rows], rows, factor.expand(rows.shape[0], 1).contiguous())
    return tensor


def in_chunks(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None,
              wanted: Sequence[bool], of_logits: OfLogits) -> tuple[Tensor, ...]:
    """The scaled losses, and the gradients that are wanted of their sum with respect to input, the
    layer's weight and its bias; of others tensors without elements."""
    rows, classes = input.shape[0], linear_weight.shape[0]
    losses, *gradients = results_like(input, linear_weight, linear_bias, wanted)
    # A bias's gradient is the sum of few numbers that are rounded; it costs nothing to add them up
    # in float32.
    of_bias = input.new_zeros(classes if wanted[2] else 0, dtype=torch.float32)
    has_sums = any(wanted) and linear_bias is not None
    sums = input.new_empty(classes, dtype=torch.float32) if has_sums else None
    count = choices.rows_of_chunk(rows, linear_weight)
    memory = input.new_empty(count, classes)
    for first in range(0, rows, count):
        part = slice(first, min(first + count, rows))
        x, logits = input[part], memory[:part.stop - first]
        torch.mm(x, linear_weight.t(), out=logits)
        of_logits(part, logits, losses[part], sums)
        if wanted[0]:
            torch.mm(logits, linear_weight, out=gradients[0][part])
        if wanted[1]:
            torch.addmm(gradients[1], logits.t(), x, beta=float(first > 0), out=gradients[1])
        if wanted[2] and sums is not None:
            of_bias += sums
    if wanted[2]:
        gradients[2].copy_(of_bias)
    return losses, *gradients


def results_like(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None,
                 wanted: Sequence[bool]) -> tuple[Tensor, ...]:
    """New tensors for what :func:`in_chunks` gives."""
    return (input.new_empty(input.shape[0], dtype=torch.float32),
            *gradients_like(input, (input, linear_weight, linear_bias), wanted))


class _Reduced(torch.autograd.Function):
    """The sum of the scaled losses."""

    @staticmethod
    def forward(ctx: Any, compute: Compute, input: Tensor, linear_weight: Tensor,
                linear_bias: Tensor | None, *others: Any) -> Tensor:
        wanted = list(ctx.needs_input_grad[1:4])
        losses, *gradients = compute(input, linear_weight, *others[:2], linear_bias, *others[2:],
                                     wanted)
        ctx.gradients = [one if is_wanted else None for one, is_wanted in zip(
            gradients, wanted, strict=True)]
        result: Tensor = losses.sum()
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError("lnbwd.functional.linear_cross_entropy: expected one backward pass, "
                               "got a second one: the first has used up the gradients; call the "
                               "function again")
        # In their place: the layer's may be the largest tensor of all.
        return (None, *(one if one is None else _scale(one, grads[0]) for one in gradients),
                *[None] * 7)

    jvp = staticmethod(refuse_forward_mode("lnbwd.functional.linear_cross_entropy"))


class _Each(torch.autograd.Function):
    """The losses of all rows, of which the gradient computes the logits again."""

    @staticmethod
    def forward(ctx: Any, compute: Compute, *arguments: Any) -> Tensor:
        input, linear_weight, linear_bias, target, scale, *others = arguments
        ctx.compute, ctx.others = compute, others[1:]
        ctx.save_for_backward(input, linear_weight, linear_bias, target, scale, others[0])
        losses: Tensor = compute(input, linear_weight, target, scale, linear_bias, *others,
                                 [False] * 3)[0]
        return losses

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        input, linear_weight, linear_bias, target, scale, weight = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[1:4])
        _, *gradients = ctx.compute(input, linear_weight, target, scale * grads[0], linear_bias,
                                    weight, *ctx.others, wanted)
        return (None, *(one if is_wanted else None for one, is_wanted in zip(
            gradients, wanted, strict=True)), *[None] * 7)

    jvp = staticmethod(refuse_forward_mode("lnbwd.functional.linear_cross_entropy"))


def is_distributed(tensor: object) -> bool:
    """Whether it is a DTensor. (PyTorch's module for them takes long to import.)"""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def losses_of(compute: Compute, is_reduced: bool, *arguments: Any) -> Tensor:
    """The losses, or their sum, as a function that has a gradient."""
    function: Any = _Reduced if is_reduced else _Each
    return function.apply(compute, *arguments)  # type: ignore[no-any-return]


def check_operands(input: Tensor, linear_weight: Tensor, target: Tensor,
                   linear_bias: Tensor | None, weight: Tensor | None, classes: int) -> None:
    """Raises TypeError or ValueError for operands that do not fit each other; ``classes`` are all,
    of which the layer may have some."""
    check_dense("linear_weight", linear_weight)
    size = input.shape[-1]
    if linear_weight.dim() != 2 or linear_weight.shape[1] != size or not linear_weight.shape[0]:
        raise ValueError(f"linear_weight: expected [V, {size}] for an input of "
                         f"{list(input.shape)}, got {list(linear_weight.shape)}")
    own = linear_weight.shape[0]
    check_parameter("linear_weight", linear_weight, [own, size], "input", input, [input.dtype])
    check_parameter("linear_bias", linear_bias, [own], "input", input, [input.dtype])
    check_parameter("weight", weight, [classes], "input", input,
                    [torch.float32, *{*TYPES} & {input.dtype}])
    check_classes(target, input)
    if target.shape != input.shape[:-1]:
        raise ValueError(f"target: expected the shape {list(input.shape[:-1])} for an input of "
                         f"{list(input.shape)}, got {list(target.shape)}")


def scales_of(target: Tensor, classes: int, weight: Tensor | None, is_mean: bool,
              ignore_index: int) -> Tensor:
    """The factor of each row's loss, float32: 0 where the target is ``ignore_index``, NaN where it
    is no class, else 1. For a mean these are divided by the sum of the weights of the rows that
    count; ``weight`` has a number for each class, and None stands for ones. The weights themselves
    are no part of the factor."""
    is_ignored = target == ignore_index
    is_right = is_ignored | ((target >= 0) & (target < classes))
    scale = (~is_ignored).float().masked_fill(~is_right, math.nan)
    if not is_mean:
        return scale
    counted = scale if weight is None else scale * weight[target.clamp(0, classes - 1)].float()
    return scale / counted.sum()
