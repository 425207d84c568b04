# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy of a linear layer's output, which never stands in memory whole.

The rows are taken in chunks. PyTorch's product makes a chunk of logits; a row program computes the
losses and writes the gradient in the logits' place; two products add it to the gradients of the
input and of the layer. So the gradients are known after the forward pass, but for the factor that
the backward pass brings, and the logits of one chunk are all that is kept.

With losses that are not reduced that factor differs from row to row and the forward pass does not
know it: the backward pass computes the chunks again.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import (
    TYPES,
    check_classes,
    check_dense,
    check_loss,
    check_number,
    check_parameter,
)
from ..ops.choices import choices
from ..ops.launching import falls_back
from ..ops.regions import is_plain
from ..ops.registration import define, define_kernel, refuse_forward_mode
from ..ops.row_functions import Columns, Rows, Scalars, rowwise
from ..program.torch_internals import transforms_are_active


@rowwise
def _of_logits(logits: Rows, target: Scalars, scale: Scalars, bias: Columns | None,
               weight: Columns | None, own: Scalars | None, total: Scalars | None,
               label_smoothing: float, z_loss: float, softcap: float, is_trained: bool) -> Any:
    """The scaled losses; in training also their gradient with respect to the logits, and with a
    bias its sum over the rows. ``own`` is the weight of the target's class, ``total`` the sum of
    all classes' weights."""
    x = logits.float()
    if bias is not None:
        x = x + bias
    inner = torch.tanh(x / softcap) if softcap else x
    x = softcap * inner if softcap else x
    largest = x.amax(-1, keepdim=True)
    shifted = x - largest
    exponents = shifted.exp()
    every = exponents.sum(-1, keepdim=True)
    logarithm = every.log()
    classes = torch.arange(logits.shape[-1], dtype=torch.float32, device=logits.device)
    is_target = classes == target.float()
    picked = 1.0 - label_smoothing if own is None else (1.0 - label_smoothing) * own
    loss = picked * (logarithm - torch.where(is_target, shifted, 0).sum(-1, keepdim=True))
    spread = label_smoothing / logits.shape[-1]
    factor = picked
    pulled = torch.where(is_target, picked, 0.0)
    if spread and weight is None:
        loss = loss + spread * (logits.shape[-1] * logarithm - shifted.sum(-1, keepdim=True))
        factor, pulled = factor + label_smoothing, pulled + spread
    elif weight is not None and total is not None and spread:
        loss = loss + spread * (total * logarithm - (weight * shifted).sum(-1, keepdim=True))
        factor, pulled = factor + spread * total, pulled + spread * weight
    if z_loss:
        whole = largest + logarithm
        loss = loss + z_loss * whole * whole
        factor = factor + 2 * z_loss * whole
    # (A row that does not count may hold any number.)
    losses = torch.where(scale == 0, 0.0, loss * scale)
    if not is_trained:
        return losses
    gradient = (exponents * (factor / every) - pulled) * scale
    if softcap:
        gradient = gradient * (1 - inner * inner)
    gradient = torch.where(scale == 0, 0.0, gradient)
    of_logits = gradient.to(logits.dtype)
    return (losses, of_logits) if bias is None else (losses, of_logits, gradient.sum(0))


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


def _kernel(input: Tensor, linear_weight: Tensor, target: Tensor, scale: Tensor,
            linear_bias: Tensor | None, weight: Tensor | None, label_smoothing: float,
            z_loss: float, softcap: float, wanted: list[bool]) -> tuple[Tensor, ...]:
    """The scaled losses, and the gradients that are wanted of their sum with respect to input, the
    layer's weight and its bias; of others tensors without elements."""
    rows, classes = input.shape[0], linear_weight.shape[0]
    losses = input.new_empty(rows, dtype=torch.float32)
    gradients = [torch.empty_like(tensor, memory_format=torch.contiguous_format)
                 if is_wanted and tensor is not None else input.new_empty(0)
                 for tensor, is_wanted in zip((input, linear_weight, linear_bias), wanted,
                                              strict=True)]
    # A bias's gradient is the sum of few numbers that are rounded; it costs nothing to add them up
    # in float32.
    of_bias = input.new_zeros(classes if wanted[2] else 0, dtype=torch.float32)
    count = choices.rows_of_chunk(rows, linear_weight)
    memory = input.new_empty(count, classes)
    for first in range(0, rows, count):
        part = slice(first, min(first + count, rows))
        x, logits = input[part], memory[:part.stop - first]
        torch.mm(x, linear_weight.t(), out=logits)
        own = total = None
        if weight is not None:
            own = weight[target[part].clamp(0, classes - 1)][:, None]
            total = weight.sum().expand(own.shape).contiguous()
        arguments = (logits, target[part][:, None], scale[part][:, None], linear_bias, weight, own,
                     total, label_smoothing, z_loss, softcap)
        if not any(wanted):
            losses[part] = _of_logits(*arguments, False).view(-1)
            continue
        results = [losses[part], logits]
        if linear_bias is not None:
            results.append(input.new_empty(classes, dtype=torch.float32))
        _of_logits.write(results, *arguments, True)
        if wanted[0]:
            torch.mm(logits, linear_weight, out=gradients[0][part])
        if wanted[1]:
            torch.addmm(gradients[1], logits.t(), x, beta=float(first > 0), out=gradients[1])
        if wanted[2]:
            of_bias += results[2]
    if wanted[2]:
        gradients[2].copy_(of_bias)
    return losses, *gradients


def _fake(input: Tensor, linear_weight: Tensor, target: Tensor, scale: Tensor,
          linear_bias: Tensor | None, weight: Tensor | None, label_smoothing: float,
          z_loss: float, softcap: float, wanted: list[bool]) -> tuple[Tensor, ...]:
    return (input.new_empty(input.shape[0], dtype=torch.float32),
            *(torch.empty_like(tensor, memory_format=torch.contiguous_format)
              if is_wanted and tensor is not None else input.new_empty(0)
              for tensor, is_wanted in zip((input, linear_weight, linear_bias), wanted,
                                           strict=True)))


_operator, _ = define_kernel(
    "linear_cross_entropy",
    "(Tensor input, Tensor linear_weight, Tensor target, Tensor scale, Tensor? linear_bias, "
    "Tensor? weight, float label_smoothing, float z_loss, float softcap, bool[] wanted) -> "
    "(Tensor, Tensor, Tensor, Tensor)", _kernel, _fake)


class _Reduced(torch.autograd.Function):
    """The sum of the scaled losses."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None,
                *others: Any) -> Tensor:
        wanted = list(ctx.needs_input_grad[:3])
        losses, *gradients = _operator(input, linear_weight, *others[:2], linear_bias, *others[2:],
                                       wanted)
        gradients = [one if is_wanted else None for one, is_wanted in zip(
            gradients, wanted, strict=True)]
        ctx.gradients = gradients
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
        return (*(one if one is None else _scale(one, grads[0]) for one in gradients), *[None] * 7)

    jvp = staticmethod(refuse_forward_mode("lnbwd.functional.linear_cross_entropy"))


class _Each(torch.autograd.Function):
    """The losses of all rows. The gradient computes the logits again."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        input, linear_weight, linear_bias, target, scale, *others = arguments
        ctx.others = others[1:]
        ctx.save_for_backward(input, linear_weight, linear_bias, target, scale, others[0])
        losses: Tensor = _operator(input, linear_weight, target, scale, linear_bias, *others,
                                   [False] * 3)[0]
        return losses

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        input, linear_weight, linear_bias, target, scale, weight = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[:3])
        _, *gradients = _operator(input, linear_weight, target, scale * grads[0], linear_bias,
                                  weight, *ctx.others, wanted)
        return (*(one if is_wanted else None for one, is_wanted in zip(
            gradients, wanted, strict=True)), *[None] * 7)

    jvp = staticmethod(refuse_forward_mode("lnbwd.functional.linear_cross_entropy"))


def _apply(is_reduced: bool, *arguments: Any) -> Tensor:
    function: Any = _Reduced if is_reduced else _Each
    return function.apply(*arguments)  # type: ignore[no-any-return]


define("linear_cross_entropy",
       "(bool is_reduced, Tensor input, Tensor linear_weight, Tensor? linear_bias, Tensor target, "
       "Tensor scale, Tensor? weight, float label_smoothing, float z_loss, float softcap) -> "
       "Tensor", _apply)


def _by_torch(input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None,
              weight: Tensor | None, reduction: str, ignore_index: int, label_smoothing: float,
              z_loss: float, softcap: float) -> Tensor:
    """The same by PyTorch's operations, with all logits."""
    logits = torch.nn.functional.linear(input, linear_weight, linear_bias)
    if logits.dtype != torch.float64:
        logits = logits.float()
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    weight = None if weight is None else weight.to(logits.dtype)
    options: dict[str, Any] = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}
    loss = torch.nn.functional.cross_entropy(logits, target, weight, reduction=reduction, **options)
    if z_loss:
        counts = target != ignore_index
        extra = z_loss * torch.where(counts, logits.logsumexp(-1).square(), 0)
        if weight is not None:
            counts = counts * weight[target.clamp(0, weight.numel() - 1)]
        loss = loss + (extra if reduction == "none" else extra.sum() / (
            counts.sum() if reduction == "mean" else 1))
    return loss


def _check(input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None,
           weight: Tensor | None) -> None:
    check_dense("linear_weight", linear_weight)
    size = input.shape[-1]
    if linear_weight.dim() != 2 or linear_weight.shape[1] != size or not linear_weight.shape[0]:
        raise ValueError(f"linear_weight: expected [V, {size}] for an input of "
                         f"{list(input.shape)}, got {list(linear_weight.shape)}")
    classes = linear_weight.shape[0]
    check_parameter("linear_weight", linear_weight, [classes, size], "input", input, [input.dtype])
    check_parameter("linear_bias", linear_bias, [classes], "input", input, [input.dtype])
    check_parameter("weight", weight, [classes], "input", input,
                    [torch.float32, *{*TYPES} & {input.dtype}])
    check_classes(target, input)
    if target.shape != input.shape[:-1]:
        raise ValueError(f"target: expected the shape {list(input.shape[:-1])} for an input of "
                         f"{list(input.shape)}, got {list(target.shape)}")


def _scales(target: Tensor, classes: int, weight: Tensor | None, is_mean: bool,
            ignore_index: int) -> Tensor:
    """The weight of each row's loss; NaN if the target is no class."""
    is_ignored = target == ignore_index
    is_right = is_ignored | ((target >= 0) & (target < classes))
    scale = (~is_ignored).float().masked_fill(~is_right, math.nan)
    if not is_mean:
        return scale
    counted = scale if weight is None else scale * weight[target.clamp(0, classes - 1)].float()
    return scale / counted.sum()


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *,
                         linear_bias: Tensor | None = None, weight: Tensor | None = None,
                         reduction: str = "mean", ignore_index: int = -100,
                         label_smoothing: float = 0.0, z_loss: float = 0.0,
                         softcap: float = 0.0) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, ...)``, as
    torch.nn.functional.linear_cross_entropy, without the logits of all rows in memory.

    Args:
        input: ``[..., H]``, float16, bfloat16 or float32 (float64: computed by PyTorch).
        linear_weight: ``[V, H]``, of input's type; V is from 1 to 2^24.
        target: classes ``[...]``, int64, from 0 to V - 1 or ``ignore_index``; others give NaN.
        linear_bias: ``[V]``, of input's type.
        weight: of the classes, ``[V]``, float32 or input's type.
        reduction: "mean", over the weights of rows that are not ignored, "sum" or "none".
        ignore_index: the target whose rows have the loss 0 and do not count in the mean.
        label_smoothing: from 0 to 1: the part of each target that is spread over all classes.
        z_loss: the factor of the square of logsumexp(logits), which is added to each loss (PaLM,
            arXiv:2204.02311, section 5), whatever the class's weight.
        softcap: c: the logits are c tanh(logits / c) (Gemma 2, arXiv:2408.00118); 0: as they are.

    Returns:
        A float32 number, or with "none" the losses ``[...]``. Under autocast the products have its
        type.

    The forward pass computes the gradients, except for their factor; so a call has one backward
    pass. A layer's gradient accumulates over chunks of rows in the layer's type. With "none" the
    backward pass computes the logits again. There is no second derivative.

    Raises:
        TypeError, ValueError: an argument has a wrong type or shape; the message names it.
        RuntimeError: a second backward pass.
        LnbwdError: the compiler refuses the number of classes on this device.
    """
    check_dense("input", input)
    if input.dim() < 1:
        raise ValueError("input: expected one dimension or more, got none; pass input[None]")
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        kind = torch.get_autocast_dtype("cuda")
        input, linear_weight = input.to(kind), linear_weight.to(kind)
        linear_bias = None if linear_bias is None else linear_bias.to(kind)
    _check(input, linear_weight, target, linear_bias, weight)
    label_smoothing, ignore_index = check_loss(reduction, label_smoothing, ignore_index)
    z_loss = check_number("z_loss", z_loss, "a number of 0 or more", 0, math.inf)
    softcap = check_number("softcap", softcap, "a number of 0 or more", 0, math.inf)
    classes, size = linear_weight.shape
    rows, places = input.reshape(-1, size), target.reshape(-1)
    if (input.dtype == torch.float64 or transforms_are_active() or not rows.numel()
            or (input.is_cpu and falls_back("lnbwd.functional.linear_cross_entropy"))):
        loss = _by_torch(rows, linear_weight, places, linear_bias, weight, reduction, ignore_index,
                         label_smoothing, z_loss, softcap)
        return loss.view(target.shape) if reduction == "none" else loss
    result: Tensor = torch.ops.lnbwd.linear_cross_entropy(
        reduction != "none", rows, linear_weight, linear_bias, places,
        _scales(places, classes, weight, reduction == "mean", ignore_index),
        None if weight is None else weight.float(), label_smoothing, z_loss, softcap)
    return result.view(target.shape) if reduction == "none" else result
