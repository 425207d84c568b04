# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, its logarithm, and cross entropy."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..ops.arguments import (
    HALVES,
    TYPES,
    check_classes,
    check_dense,
    check_loss,
    check_parameter,
    check_whole,
)
from ..ops.launching import falls_back
from ..ops.row_functions import Columns, Rows, Scalars, rowwise
from ..program.torch_internals.eager import is_traced, transforms_are_active


def _widened(input: Tensor) -> torch.dtype:
    """The type of a result that PyTorch computes in float32 under autocast."""
    is_widened = input.dtype in HALVES and input.is_cuda and torch.is_autocast_enabled("cuda")
    return torch.float32 if is_widened else input.dtype


@rowwise
def _softmax_of_rows(input: Rows, dtype: str | None, is_log: bool) -> Tensor:
    function = torch.log_softmax if is_log else torch.softmax
    return function(input, -1, dtype=getattr(torch, dtype or "", None))


def _softmax(is_log: bool, input: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    check_dense("input", input)
    rank = input.dim()
    if not rank:
        raise ValueError("input: expected one dimension or more, got none; pass input[None]")
    dim = check_whole("dim", dim, f"a whole number from {-rank} to {rank - 1} for an input of the "
                      f"shape {list(input.shape)}", -rank, rank - 1)
    if dtype not in (None, *TYPES):
        raise TypeError(f"dtype: expected a floating-point type or None, got {dtype}")
    dtype = dtype or _widened(input)
    rows = input.movedim(dim, -1) if dim not in (-1, rank - 1) else input
    is_wide = dtype == torch.float64
    result = _softmax_of_rows(rows.double() if is_wide else rows,
                              None if is_wide else str(dtype).removeprefix("torch."), is_log)
    return result if rows is input else result.movedim(-1, dim)


def softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Softmax, as torch.softmax, by kernels for the result and its gradient.

    Args:
        input: of 1 to 6 dimensions, float16, bfloat16 or float32 (float64: computed by PyTorch).
        dim: the dimension whose sums are 1. Any other than the last is copied to be the last,
            unless it is dense there by its strides (channels_last).
        dtype: the result's type; None: input's, or float32 under autocast on a GPU. input is not
            rounded to it first.

    Returns:
        A tensor of input's shape, whose last dimension in memory is ``dim``. A row with a NaN or
        inf, or of -inf alone, gives NaN.

    Raises:
        TypeError, ValueError: an argument has a wrong type or shape; the message names it.
        LnbwdError: the compiler refuses the row length on this device.

    CPU tensors outside of :func:`lnbwd.simulate` are computed by PyTorch, after one warning. Under
    torch.compile PyTorch's operations are traced. This holds for all functions below.
    """
    return _softmax(False, input, dim, dtype)


def log_softmax(input: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """The logarithm of :func:`softmax`, as torch.log_softmax; arguments, result and errors are as
    there. An element of -inf gives -inf."""
    return _softmax(True, input, dim, dtype)


@rowwise(saved=("largest", "total"))
def _cross_entropy(input: Rows, target: Scalars, weight: Columns | None, ignore_index: int,
                   label_smoothing: float, is_summed: bool) -> Any:
    """The losses; or their sum, and the sum of the weights of those that count."""
    logits, target = input.float(), target.float()
    largest = logits.amax(-1, keepdim=True).detach()
    shifted = logits - largest
    total = shifted.exp().sum(-1, keepdim=True)
    classes = torch.arange(input.shape[-1], dtype=torch.float32, device=input.device)
    logarithm, is_target = total.log(), classes == target
    own: Any = 1.0
    picked = torch.where(is_target, shifted, 0).sum(-1, keepdim=True)
    if weight is None:
        loss = logarithm - (1 - label_smoothing) * picked
        if label_smoothing:
            loss = loss - label_smoothing * shifted.mean(-1, keepdim=True)
    else:
        own = torch.where(is_target, weight, 0).sum(-1, keepdim=True)
        loss = (1 - label_smoothing) * own * (logarithm - picked)
        if label_smoothing:
            loss = loss + label_smoothing * (weight * (logarithm - shifted)).mean(-1, keepdim=True)
    is_ignored = target == ignore_index
    is_right = is_ignored | ((target >= 0) & (target < input.shape[-1]))
    losses = torch.where(is_ignored, 0, loss * torch.where(is_right, 1.0, math.nan))
    return (losses.sum(), torch.where(is_ignored, 0.0, own).sum()) if is_summed else losses


def _classes_last(input: Tensor, target: Tensor) -> Tensor:
    """Logits with their classes in the last dimension, in either of the forms that fit."""
    is_last = input.dim() > 0 and target.shape == input.shape[:-1]
    is_second = input.dim() > 2 and target.shape == (input.shape[0], *input.shape[2:])
    if (is_last and is_second) or not (is_last or is_second):  # (Of symbols no comparison.)
        remedy = "; it is both. Pass input.flatten(0, -2) and target.flatten()" if is_last else ""
        size = list(input.shape)
        second = f", or as PyTorch has it {[*size[:1], *size[2:]]}" if len(size) > 2 else ""
        raise ValueError(f"target: expected the shape of classes {size[:-1]}{second} for an input "
                         f"of {size}, got {list(target.shape)}{remedy}")
    return input.movedim(1, -1) if is_second else input


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None,
                  size_average: None = None, ignore_index: int = -100, reduce: None = None,
                  reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Cross entropy, as torch.nn.functional.cross_entropy, by kernels for the result and its
    gradient. Losses are computed and summed in float32.

    Args:
        input: logits ``[..., V]``, one row for each target; float16, bfloat16 or float32 (float64:
            computed by PyTorch). V is from 1 to 2^24. PyTorch's form ``[B, V, ...]`` of more than
            two dimensions is copied unless it is channels_last, and refused if a target fits both.
        target: classes ``[...]``, int64, from 0 to V - 1 or ``ignore_index``; others give NaN.
            A kernel takes them as float32, which is exact for these numbers.
        weight: of the classes, ``[V]``, float32 or input's type, which gets no gradient. It
            multiplies the losses, and a mean is divided by the weights of the targets.
        size_average, reduce: None; PyTorch has reduction in their place.
        ignore_index: the target whose rows have the loss 0 and do not count in the mean.
        reduction: "mean", "sum" or "none".
        label_smoothing: from 0 to 1: the part of each target that is spread over all classes.

    Returns:
        A number, or with "none" the losses ``[...]``; of input's type, under autocast on a GPU
        float32.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    check_dense("input", input)
    check_classes(target, input)
    if size_average is not None or reduce is not None:
        raise ValueError("size_average, reduce: expected None; pass reduction='mean', 'sum' or "
                         "'none'")
    input = _classes_last(input, target)
    if not input.shape[-1]:
        raise ValueError(f"input: expected one class or more, got {list(input.shape)}")
    check_parameter("weight", weight, input.shape[-1:], "input", input,
                    types=[torch.float32, *{*TYPES} & {input.dtype}])
    label_smoothing, ignore_index = check_loss(reduction, label_smoothing, ignore_index)
    classes = target.reshape(-1)
    rows = input.reshape(classes.numel(), input.shape[-1])
    weight = None if weight is None else weight.detach()
    if (torch.compiler.is_compiling() or is_traced() or input.dtype == torch.float64
            or (input.is_cpu and falls_back("lnbwd.functional.cross_entropy"))):
        losses = torch.nn.functional.cross_entropy(
            rows, classes, None if weight is None else weight.to(rows.dtype),
            ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)
        return losses.view(target.shape) if reduction == "none" else losses
    arguments = rows, classes.unsqueeze(1), weight, ignore_index, label_smoothing
    if reduction == "none" or transforms_are_active():
        each: Tensor = _cross_entropy(*arguments, False)
        if reduction == "none":
            return each.view(target.shape).to(_widened(input))
        counts = classes != ignore_index
        if weight is not None:
            counts = counts * weight.float()[classes.clamp(0, len(weight) - 1)]
        total, count = each.sum(), counts.sum()
    else:
        total, count = _cross_entropy(*arguments, True)
    loss: Tensor = total / count.detach() if reduction == "mean" else total
    return loss.to(_widened(input))
