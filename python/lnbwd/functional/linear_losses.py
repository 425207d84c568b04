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

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import check_classes, check_dense, check_loss, check_number, check_parameter
from ..ops.choices import choices
from ..ops.launching import falls_back
from ..ops.regions import is_plain
from ..ops.registration import define, define_kernel, gradients_like, refuse_forward_mode
from ..ops.row_functions import Columns, Rows, Scalars, rowwise
from ..program.torch_internals.eager import is_traced, transforms_are_active

_NAME = "lnbwd.functional.linear_cross_entropy"

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


def _refuse_second_derivative() -> None:
    """Raises RuntimeError in a backward pass whose results are to be differentiated."""
    if torch.is_grad_enabled():
        raise RuntimeError("lnbwd.functional.linear_cross_entropy: create_graph=True: expected a "
                           "function with second derivatives; call "
                           "torch.nn.functional.cross_entropy of the logits")


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
        _refuse_second_derivative()
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError("lnbwd.functional.linear_cross_entropy: expected one backward pass, "
                               "got a second one: the first has used up the gradients; call the "
                               "function again")
        # In their place: the layer's may be the largest tensor of all.
        return (None, *(one if one is None else _scale(one, grads[0]) for one in gradients),
                *[None] * 7)

    jvp = staticmethod(refuse_forward_mode(_NAME))


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
        _refuse_second_derivative()
        input, linear_weight, linear_bias, target, scale, weight = ctx.saved_tensors
        wanted = list(ctx.needs_input_grad[1:4])
        _, *gradients = ctx.compute(input, linear_weight, target, scale * grads[0], linear_bias,
                                    weight, *ctx.others, wanted)
        return (None, *(one if is_wanted else None for one, is_wanted in zip(
            gradients, wanted, strict=True)), *[None] * 7)

    jvp = staticmethod(refuse_forward_mode(_NAME))


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
    """Raises TypeError or ValueError for operands that do not fit; ``classes``: of all ranks."""
    check_dense("linear_weight", linear_weight)
    size = input.shape[-1]
    if linear_weight.dim() != 2 or linear_weight.shape[1] != size or not linear_weight.shape[0]:
        raise ValueError(f"linear_weight: expected [V, {size}] for an input of "
                         f"{list(input.shape)}, got {list(linear_weight.shape)}")
    own = linear_weight.shape[0]
    check_parameter("linear_weight", linear_weight, [own, size], "input", input,
                    types=[input.dtype])
    check_parameter("linear_bias", linear_bias, [own], "input", input, types=[input.dtype])
    check_parameter("weight", weight, [classes], "input", input, types=[torch.float32, input.dtype])
    check_classes(target, input)
    if target.shape != input.shape[:-1]:
        raise ValueError(f"target: expected the shape {list(input.shape[:-1])} for an input of "
                         f"{list(input.shape)}, got {list(target.shape)}")


def scales_of(target: Tensor, classes: int, weight: Tensor | None, is_mean: bool,
              ignore_index: int) -> tuple[Tensor, Tensor | None]:
    """The factor of each row's loss, float32: 0 where the target is ``ignore_index``, NaN where it
    is no class, else 1. For a mean these are divided by the sum of the weights of the rows that
    count, the second result; ``weight`` has a number for each class, and None stands for ones. The
    weights themselves are no part of the factor."""
    is_ignored = target == ignore_index
    is_right = is_ignored | ((target >= 0) & (target < classes))
    scale = (~is_ignored).float().masked_fill(~is_right, math.nan)
    if not is_mean:
        return scale, None
    counted = scale if weight is None else scale * weight[target.clamp(0, classes - 1)].float()
    count = counted.sum()
    return (scale / count).masked_fill(is_ignored, 0), count


def _logits_of(logits: Any, bias: Any, softcap: float) -> tuple[Any, Any]:
    """The logits in float32, and their hyperbolic tangents."""
    x = logits.float()
    if bias is not None:
        x = x + bias
    inner = torch.tanh(x / softcap) if softcap else x
    return (softcap * inner if softcap else x), inner


def _is_target(logits: Any, target: Any) -> Any:
    classes = torch.arange(logits.shape[-1], dtype=torch.float32, device=logits.device)
    return classes == target.float()


def _of_logits_alone(gradient: Any, scale: Any, inner: Any, softcap: float, logits: Any,
                     bias: Any) -> tuple[Any, ...]:
    """The gradient with respect to the logits before the softcap, and to a bias."""
    if softcap:
        gradient = gradient * (1 - inner * inner)
    # (A row that does not count may hold any number.)
    gradient = torch.where(scale == 0, 0.0, gradient)
    of_logits = gradient.to(logits.dtype)
    return (of_logits,) if bias is None else (of_logits, gradient.sum(0))


@rowwise
def _of_logits(logits: Rows, target: Scalars, scale: Scalars, bias: Columns | None,
               weight: Columns | None, own: Scalars | None, total: Scalars | None,
               label_smoothing: float, z_loss: float, softcap: float, is_trained: bool) -> Any:
    """The scaled losses; in training also their gradient with respect to the logits, and with a
    bias its sum over the rows. ``own``: the weight of the target's class, ``total``: of all."""
    x, inner = _logits_of(logits, bias, softcap)
    largest = x.amax(-1, keepdim=True)
    shifted = x - largest
    exponents = shifted.exp()
    every = exponents.sum(-1, keepdim=True)
    logarithm = every.log()
    is_target = _is_target(logits, target)
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
    return losses, *_of_logits_alone(gradient, scale, inner, softcap, logits, bias)


@rowwise
def _statistics(logits: Rows, target: Scalars, bias: Columns | None, weight: Columns | None,
                softcap: float) -> Any:
    """The largest logit of a rank's classes, the sum of exponentials beside it, the target's logit
    or 0, and the sum of logits, which class weights weigh."""
    x, _ = _logits_of(logits, bias, softcap)
    largest = x.amax(-1, keepdim=True)
    every = (x - largest).exp().sum(-1, keepdim=True)
    picked = torch.where(_is_target(logits, target), x, 0).sum(-1, keepdim=True)
    return largest, every, picked, (x if weight is None else weight * x).sum(-1, keepdim=True)


@rowwise
def _gradient(logits: Rows, target: Scalars, whole: Scalars, factor: Scalars, picked: Scalars,
              scale: Scalars, bias: Columns | None, weight: Columns | None, spread: float,
              softcap: float) -> Any:
    """The gradient with respect to a rank's logits, and with a bias its sum over the rows:
    ``whole`` is logsumexp of all logits, ``factor`` what the softmax is multiplied by, ``picked``
    what is subtracted at the target."""
    x, inner = _logits_of(logits, bias, softcap)
    pulled = torch.where(_is_target(logits, target), picked, 0.0)
    if spread:
        pulled = pulled + (spread if weight is None else spread * weight)
    gradient = ((x - whole).exp() * factor - pulled) * scale
    return _of_logits_alone(gradient, scale, inner, softcap, logits, bias)


def _kernel(input: Tensor, linear_weight: Tensor, target: Tensor, scale: Tensor,
            linear_bias: Tensor | None, weight: Tensor | None, label_smoothing: float,
            z_loss: float, softcap: float, wanted: list[bool]) -> tuple[Tensor, ...]:
    def of_logits(part: slice, logits: Tensor, losses: Tensor, sums: Tensor | None) -> None:
        own = total = None
        if weight is not None:
            own = weight[target[part].clamp(0, len(weight) - 1)][:, None]
            total = weight.sum().expand(own.shape).contiguous()
        arguments = (logits, target[part][:, None], scale[part][:, None], linear_bias, weight, own,
                     total, label_smoothing, z_loss, softcap)
        if any(wanted):
            results = [losses, logits, *([] if sums is None else [sums])]
            _of_logits.write(results, *arguments, True)
        else:
            losses.copy_(_of_logits(*arguments, False).view(-1))

    return in_chunks(input, linear_weight, linear_bias, wanted, of_logits)


def _fake(input: Tensor, linear_weight: Tensor, *others: Any) -> tuple[Tensor, ...]:
    return results_like(input, linear_weight, others[2], others[-1])


_operator, _ = define_kernel(
    "linear_cross_entropy",
    "(Tensor input, Tensor linear_weight, Tensor target, Tensor scale, Tensor? linear_bias, "
    "Tensor? weight, float label_smoothing, float z_loss, float softcap, bool[] wanted) -> "
    "(Tensor, Tensor, Tensor, Tensor)", _kernel, _fake)


define("linear_cross_entropy",
       "(bool is_reduced, Tensor input, Tensor linear_weight, Tensor? linear_bias, Tensor target, "
       "Tensor scale, Tensor? weight, float label_smoothing, float z_loss, float softcap) -> "
       "Tensor", functools.partial(losses_of, _operator))


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


def _autocast(input: Tensor, *others: Any) -> tuple[Any, ...]:
    """The tensors in autocast's type, if it is on for a GPU's input."""
    if not input.is_cuda or not torch.is_autocast_enabled("cuda"):
        return input, *others
    kind = torch.get_autocast_dtype("cuda")
    return tuple(None if t is None else t.to(kind) for t in (input, *others))


def _local(operands: Sequence[Any], is_whole: bool) -> tuple[Sequence[Any], int, Any]:
    """The operands of this rank, the number of all ranks' classes, and what computes the losses."""
    if is_distributed(operands[1]):
        from . import sharded_losses

        *operands, part = sharded_losses.local_operands(*(*operands, is_whole))
        if part is not None:
            # (torch.compile would trace reductions over the ranks into its graph.)
            return operands, part.total, functools.partial(
                torch.compiler.disable(losses_of), functools.partial(
                    sharded_losses.compute, part, (in_chunks, _statistics, _gradient)))
    return operands, operands[1].shape[0], torch.ops.lnbwd.linear_cross_entropy


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *,
                         linear_bias: Tensor | None = None, weight: Tensor | None = None,
                         reduction: str = "mean", ignore_index: int = -100,
                         label_smoothing: float = 0.0, z_loss: float = 0.0,
                         softcap: float = 0.0) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, ...)``, as
    torch.nn.functional.linear_cross_entropy, without the logits of all rows in memory.

    Args:
        input: ``[..., H]``, float16, bfloat16 or float32 (float64: computed by PyTorch).
        linear_weight: ``[V, H]``, of input's type; V is from 1 to 2^24. A DTensor may be sharded
            by V over a mesh of one dimension: each rank computes with its classes, and input is
            a DTensor on the same mesh.
        target: classes ``[...]``, int64, from 0 to V - 1 or ``ignore_index``; others give NaN.
        linear_bias: ``[V]``, of input's type; sharded as linear_weight is.
        weight: of the classes, ``[V]``, float32 or input's type.
        reduction: "mean", over the weights of rows that are not ignored, "sum" or "none".
        ignore_index: the target whose rows have the loss 0 and do not count in the mean.
        label_smoothing: from 0 to 1: the part of each target that is spread over all classes.
        z_loss: the factor of the square of logsumexp(logits), which is added to each loss (PaLM,
            arXiv:2204.02311, section 5), whatever the class's weight.
        softcap: c: the logits are c tanh(logits / c) (Gemma 2, arXiv:2408.00118); 0: as they are.

    Returns:
        A float32 number, or with "none" the losses ``[...]``. Autocast chooses the products' type.

    The forward pass computes the gradients, except for their factor; so a call has one backward
    pass. A layer's gradient accumulates over chunks of rows in the layer's type. With "none" the
    backward pass computes the logits again. There is no second derivative. With sharded classes
    all ranks have the same target and result, and the input is gathered; torch.compile leaves the
    call out of its graphs.

    Raises:
        TypeError, ValueError: an argument has a wrong type or shape; the message names it.
        RuntimeError: a second backward pass.
        LnbwdError: the compiler refuses the number of classes on this device.
    """
    check_dense("input", input)
    if input.dim() < 1:
        raise ValueError("input: expected one dimension or more, got none; pass input[None]")
    input, linear_weight, linear_bias = _autocast(input, linear_weight, linear_bias)
    is_pytorchs = (transforms_are_active() or is_traced() or input.dtype == torch.float64
                   or not input.numel() or (input.is_cpu and falls_back(_NAME)))
    (input, linear_weight, target, linear_bias, weight), classes, compute = _local(
        (input, linear_weight, target, linear_bias, weight), is_pytorchs)
    check_operands(input, linear_weight, target, linear_bias, weight, classes)
    label_smoothing, ignore_index = check_loss(reduction, label_smoothing, ignore_index)
    z_loss = check_number("z_loss", z_loss, "a number of 0 or more", 0, math.inf)
    softcap = check_number("softcap", softcap, "a number of 0 or more", 0, math.inf)
    rows, places = input.reshape(target.numel(), input.shape[-1]), target.reshape(-1)
    if is_pytorchs:
        loss = _by_torch(rows, linear_weight, places, linear_bias, weight, reduction, ignore_index,
                         label_smoothing, z_loss, softcap)
    else:
        scale, count = scales_of(places, classes, weight, reduction == "mean", ignore_index)
        loss = compute(reduction != "none", rows, linear_weight, linear_bias, places, scale,
                       None if weight is None else weight.float(), label_smoothing, z_loss, softcap)
        # As in PyTorch, a mean of no rows is NaN, and its gradient 0.
        loss = loss if count is None else loss + 0 / count
    return loss.view(target.shape) if reduction == "none" else loss
