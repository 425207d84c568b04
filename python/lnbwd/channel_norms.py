# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Group, instance and batch norm, whose inputs are ``[B, C, ...]`` with a weight for each channel.

A group norm is a norm of rows, the groups. A batch norm, and one of long groups, takes the
statistics of each channel of a sample, combines them, and normalises. The gradient has two passes
over the rows of channels: the sums that weight and bias need are what that of the input needs, too.
What is not contiguous, and what has few elements in a channel, is PyTorch's or derived.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ._arguments import TYPES, check_dense, check_eps, check_parameter
from .launching import falls_back
from .operators import eager, reshaped, transforms_are_active
from .row_functions import Parts, Rows, rowwise

__all__ = ["batch_norm", "group_norm", "instance_norm"]

_LEAST_ROW = 64
"""Rows of fewer elements are not summed by themselves."""

_MOST_ROW = 1 << 16
"""Longer groups take a second pass instead: one workgroup or cluster has a whole row."""


def _scaled(y: Tensor, weight: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias).to(dtype)


@rowwise
def _group_norm(input: Rows, weight: Parts | None, bias: Parts | None,
                eps: float) -> tuple[Tensor, Tensor, Tensor]:
    x = input.float()
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    y = _scaled((x - mean) * torch.rsqrt(variance + eps), weight, bias, input.dtype)
    return y, mean, variance


@rowwise
def _moments(input: Rows) -> tuple[Tensor, Tensor]:
    x = input.float()
    mean = x.mean(-1, keepdim=True)
    return mean, (x - mean).square().mean(-1, keepdim=True)


@rowwise
def _combine(means: Rows, variances: Rows, correction: float) -> tuple[Tensor, Tensor, Tensor]:
    mean = means.mean(-1, keepdim=True)
    variance = (variances + (means - mean).square()).mean(-1, keepdim=True)
    return mean, variance, variance * correction


@rowwise
def _normalise(input: Rows, mean: Parts, variance: Parts, weight: Parts | None, bias: Parts | None,
               eps: float) -> Tensor:
    return _scaled((input - mean) * torch.rsqrt(variance + eps), weight, bias, input.dtype)


@rowwise
def _sums(dy: Rows, x: Rows, mean: Parts, variance: Parts, eps: float) -> tuple[Tensor, Tensor]:
    dy = dy.float()
    xhat = (x - mean) * torch.rsqrt(variance + eps)
    return (dy * xhat).sum(-1, keepdim=True), dy.sum(-1, keepdim=True)


@rowwise
def _group_means(dweights: Rows, dbiases: Rows, weight: Parts | None,
                 count: int) -> tuple[Tensor, ...]:
    """What the sums of the channels give the input's gradient, for each channel of a group."""
    return tuple(torch.zeros_like(t) + _scaled(t, weight, None, t.dtype).sum(
        -1, keepdim=True) * (1 / count) for t in (dweights, dbiases))


@rowwise
def _input_gradient(dy: Rows, x: Rows, mean: Parts, variance: Parts, weight: Parts | None,
                    along: Parts, total: Parts, eps: float) -> Tensor:
    rstd = torch.rsqrt(variance + eps)
    dy = _scaled(dy, weight, None, torch.float32)
    return ((dy - (total + (x - mean) * rstd * along)) * rstd).to(x.dtype)


class _ChannelNorm(torch.autograd.Function):
    """The norm of ``[B, C, S]`` in groups, or of the batch where there are none, and the mean and
    unbiased variance of a batch."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int,
                eps: float) -> tuple[Tensor, ...]:
        samples, channels, size = x.shape
        ctx.groups, ctx.eps = groups, eps
        ctx.count = count = size * (channels // groups if groups else samples)
        unbiased = x.new_empty(0)
        if groups and count <= _MOST_ROW:
            y, mean, variance = _group_norm(x.view(samples, groups, -1), weight, bias, eps)
            y = reshaped(y, x.shape)
        else:
            shape = (samples * groups, -1) if groups else (samples, channels)
            means, variances = (t.view(shape) if groups else t.view(shape).t()
                                for t in _moments(x))
            mean, variance, unbiased = _combine(means, variances, count / max(count - 1, 1))
            a, b = _for_channels(x, groups, mean, variance)
            y = _normalise(x, a, b, weight, bias, eps)
        ctx.save_for_backward(x, weight, bias, mean, variance)
        ctx.mark_non_differentiable(mean, unbiased)
        ctx.set_materialize_grads(False)
        return y, mean, unbiased

    @staticmethod
    def backward(ctx: Any, dy: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, variance = ctx.saved_tensors
        groups, eps, needs = ctx.groups, ctx.eps, ctx.needs_input_grad[:3]
        if dy is None:
            return (None,) * 5
        if torch.is_grad_enabled():  # Second derivatives are PyTorch's.
            y = (F.group_norm(x, groups, weight, bias, eps) if groups else
                 F.batch_norm(x, None, None, weight, bias, True, 0.0, eps))
            found = iter(torch.autograd.grad(y, [t for t, need in zip(
                (x, weight, bias), needs, strict=True) if need], dy, create_graph=True))
            return (*(next(found) if need else None for need in needs), None, None)
        mean, variance = _for_channels(x, groups, mean, variance)
        sums = _sums(dy, x, mean, variance, eps)
        dweight, dbias = (t.sum((0, 2)) if need or not groups else t
                          for t, need in zip(sums, needs[1:], strict=True))
        dx = None
        if needs[0]:
            if groups not in (0, x.shape[1]):
                dweights, dbiases = (t.view(x.shape[0], groups, -1) for t in sums)
                along, total = (t.view(*x.shape[:2], 1) for t in _group_means(
                    dweights, dbiases, weight, ctx.count))
            else:
                scale = weight[:, None] if groups and weight is not None else weight
                along, total = ((t if scale is None else t * scale) * (1 / ctx.count)
                                for t in (sums if groups else (dweight, dbias)))
            dx = _input_gradient(dy, x, mean, variance, weight, along, total, eps)
        return (dx, dweight.to(weight.dtype) if needs[1] else None,
                dbias.to(bias.dtype) if needs[2] else None, None, None)


def _for_channels(x: Tensor, groups: int, *statistics: Tensor) -> tuple[Tensor, ...]:
    """Statistics as those of channels."""
    count = x.shape[1] // max(groups, 1)
    return tuple(t.view(-1) if not groups else t.view(x.shape[0], groups, 1).repeat_interleave(
        count, 1) for t in statistics)


_apply = eager(_ChannelNorm)


def _check(input: Tensor, least: int, **parameters: Tensor | None) -> None:
    check_dense("input", input)
    if input.dim() < least:
        raise ValueError(f"input: expected the shape [B, C, ...] of {least} dimensions or more, "
                         f"got {list(input.shape)}; input[None] adds B")
    for name, parameter in parameters.items():
        check_parameter(name, parameter, [input.shape[1]], "input", input, TYPES, " (channels)")


def _is_pytorchs(name: str, input: Tensor, *others: Tensor | None) -> bool:
    """Whether PyTorch computes a call."""
    return (torch.compiler.is_compiling() or transforms_are_active() or input.numel() == 0
            or torch.float64 in [t.dtype for t in (input, *others) if t is not None]
            or not input.is_contiguous()
            or (input.is_cpu and falls_back(f"lnbwd.functional.{name}")))


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Group norm, as torch.nn.functional.group_norm, by kernels for the result and its gradient.
    Each length of a group compiles a kernel.

    Args:
        input: ``[B, C, ...]``, float16, bfloat16 or float32 (float64, and what is not contiguous:
            computed by PyTorch).
        num_groups: of channels; C is a multiple of it.
        weight, bias: the scale and the shift of each channel, ``[C]``; None: 1 and 0.
        eps: added to the variance, 0 or more.

    Returns:
        A dense tensor of input's shape and type (under autocast on a GPU float32).

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`lnbwd.functional.softmax`.
    """
    _check(input, 2, weight=weight, bias=bias)
    channels = input.shape[1]
    if not isinstance(num_groups, int) or num_groups < 1 or channels % num_groups:
        raise ValueError(f"num_groups: expected a number that divides the {channels} channels of "
                         f"input, got {num_groups!r}")
    is_one = math.prod(input.shape[2:]) * channels == num_groups
    if is_one or _is_pytorchs("group_norm", input, weight, bias):
        return F.group_norm(input, num_groups, weight, bias, check_eps(eps))
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        input = input.float()
    size = math.prod(input.shape[2:])
    y: Tensor
    if size < _LEAST_ROW:
        groups = input.view(input.shape[0], num_groups, -1)
        y = _group_norm(groups, weight, bias, check_eps(eps))[0]
    else:
        rows = input.view(*input.shape[:2], size)
        y = _apply(rows, weight, bias, num_groups, check_eps(eps))[0]
    return y.view(input.shape)


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
               weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
               momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Batch norm, as torch.nn.functional.batch_norm, by kernels for the result and its gradient.

    Args:
        input: ``[B, C, ...]``, float16, bfloat16 or float32 (float64, what is not contiguous, and
            channels of less than 64 elements a sample: computed by PyTorch).
        running_mean, running_var: ``[C]``: the statistics that are used, or with ``training``
            changed, the variance as that of a sample; None: there are none.
        weight, bias: the scale and the shift of each channel, ``[C]``; None: 1 and 0.
        training: whether the statistics are those of the batch.
        momentum: the share of this batch in running statistics.
        eps: added to the variance, 0 or more.

    Returns:
        A dense tensor of input's shape and type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`lnbwd.functional.softmax`.
    """
    _check(input, 2, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training and (running_mean is None or running_var is None):
        raise ValueError("running_mean, running_var: expected tensors where training is False, got "
                         "None")
    size = math.prod(input.shape[2:])
    eps = check_eps(eps)
    if size < _LEAST_ROW or input.numel() == input.shape[1] or _is_pytorchs(
            "batch_norm", input, running_mean, running_var, weight, bias):
        return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    rows = input.view(*input.shape[:2], size)
    if not training and running_mean is not None and running_var is not None:
        return _normalise(rows, running_mean, running_var, weight, bias, eps).view(input.shape)
    y, mean, unbiased = _apply(rows, weight, bias, 0, eps)
    for running, value in ((running_mean, mean), (running_var, unbiased)):
        if running is not None:
            running.lerp_(value.view(-1).to(running.dtype), momentum)
    result: Tensor = y.view(input.shape)
    return result


def instance_norm(input: Tensor, running_mean: Tensor | None = None,
                  running_var: Tensor | None = None, weight: Tensor | None = None,
                  bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-5) -> Tensor:
    """Instance norm, as torch.nn.functional.instance_norm, by kernels for the result and its
    gradient; a group norm of as many groups as channels, or without ``use_input_stats`` a batch
    norm that is not trained. Arguments, result and errors are as there, and input has three
    dimensions or more. Running statistics that are changed are PyTorch's.
    """
    _check(input, 3, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    if running_mean is not None or running_var is not None or torch.compiler.is_compiling():
        return F.instance_norm(input, running_mean, running_var, weight, bias, True, momentum,
                               check_eps(eps))
    with torch.autocast(input.device.type, enabled=False):
        return group_norm(input, input.shape[1], weight, bias, eps)
