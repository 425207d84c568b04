# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross entropy of a linear layer's output, in chunks of rows (:mod:`.loss_chunks`)."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import (
    check_dense,
    check_loss,
    check_number,
)
from ..ops.launching import falls_back
from ..ops.registration import define, define_kernel
from ..ops.row_functions import Columns, Rows, Scalars, rowwise
from ..program.torch_internals import transforms_are_active
from .loss_chunks import (
    check_operands,
    in_chunks,
    is_distributed,
    losses_of,
    results_like,
    scales_of,
)


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


def _fake(input: Tensor, linear_weight: Tensor, target: Tensor, scale: Tensor,
          linear_bias: Tensor | None, weight: Tensor | None, label_smoothing: float,
          z_loss: float, softcap: float, wanted: list[bool]) -> tuple[Tensor, ...]:
    return results_like(input, linear_weight, linear_bias, wanted)


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
        A float32 number, or with "none" the losses ``[...]``. Under autocast the products have its
        type.

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
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        kind = torch.get_autocast_dtype("cuda")
        input, linear_weight = input.to(kind), linear_weight.to(kind)
        linear_bias = None if linear_bias is None else linear_bias.to(kind)
    is_pytorchs = (input.dtype == torch.float64 or transforms_are_active() or not input.numel() or (
        input.is_cpu and falls_back("lnbwd.functional.linear_cross_entropy")))
    compute: Any = torch.ops.lnbwd.linear_cross_entropy
    classes = None
    if is_distributed(linear_weight):
        from . import sharded_losses

        input, linear_weight, target, linear_bias, weight, part = sharded_losses.local_operands(
            input, linear_weight, target, linear_bias, weight, is_pytorchs)
        if part is not None:
            classes = part.total
            # (torch.compile would trace reductions over the ranks into its graph.)
            compute = functools.partial(
                torch.compiler.disable(losses_of), functools.partial(
                    sharded_losses.compute, part, in_chunks))
    classes = classes or linear_weight.shape[0]
    check_operands(input, linear_weight, target, linear_bias, weight, classes)
    label_smoothing, ignore_index = check_loss(reduction, label_smoothing, ignore_index)
    z_loss = check_number("z_loss", z_loss, "a number of 0 or more", 0, math.inf)
    softcap = check_number("softcap", softcap, "a number of 0 or more", 0, math.inf)
    rows, places = input.reshape(-1, input.shape[-1]), target.reshape(-1)
    if is_pytorchs:
        loss = _by_torch(rows, linear_weight, places, linear_bias, weight, reduction, ignore_index,
                         label_smoothing, z_loss, softcap)
        return loss.view(target.shape) if reduction == "none" else loss
    result: Tensor = compute(
        reduction != "none", rows, linear_weight, linear_bias, places,
        scales_of(places, classes, weight, reduction == "mean", ignore_index),
        None if weight is None else weight.float(), label_smoothing, z_loss, softcap)
    return result.view(target.shape) if reduction == "none" else result
