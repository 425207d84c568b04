# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Group, instance and batch norm, whose inputs are ``[B, C, ...]`` with a weight for each channel.

The input of a group norm is rows of a group. The gradients of weight and bias are sums over the
rows of channels, which read what a derived gradient would write first. A batch norm takes the
statistics of each channel of a sample, combines those of the samples, and normalises; its gradient
has two passes as well.

What is not contiguous, and what has few elements in a channel of a batch norm, is PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ._arguments import TYPES, check_dense, check_eps, check_parameter
from .launching import falls_back
from .operators import eager, reshaped, transforms_are_active
from .row_functions import Parts, Rows, Scalars, rowwise

__all__ = ["batch_norm", "group_norm", "instance_norm"]

_LEAST_ROW = 64
"""Rows of fewer elements are not summed by themselves."""


def _scaled(y: Tensor, weight: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias).to(dtype)


@rowwise
def _group_norm(input: Rows, weight: Parts | None, bias: Parts | None,
                eps: float) -> tuple[Tensor, Tensor, Tensor]:
    x = input.float()
    mean = x.mean(-1, keepdim=True)
    rstd = torch.rsqrt((x - mean).square().mean(-1, keepdim=True) + eps)
    return _scaled((x - mean) * rstd, weight, bias, input.dtype), mean, rstd


@rowwise
def _group_gradient(dy: Rows, x: Rows, mean: Scalars, rstd: Scalars,
                    weight: Parts | None) -> Tensor:
    dy = _scaled(dy, weight, None, torch.float32)
    xhat = (x - mean) * rstd
    along = (dy * xhat).mean(-1, keepdim=True)
    return ((dy - dy.mean(-1, keepdim=True) - xhat * along) * rstd).to(x.dtype)


@rowwise
def _group_sums(dy: Rows, x: Rows, mean: Scalars, rstd: Scalars) -> tuple[Tensor, Tensor]:
    dy = dy.float()
    return (dy * ((x - mean) * rstd)).sum(-1, keepdim=True), dy.sum(-1, keepdim=True)


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
def _batch_sums(dy: Rows, x: Rows, mean: Parts, variance: Parts,
                eps: float) -> tuple[Tensor, Tensor]:
    dy = dy.float()
    xhat = (x - mean) * torch.rsqrt(variance + eps)
    return (dy * xhat).sum(-1, keepdim=True), dy.sum(-1, keepdim=True)


@rowwise
def _input_gradient(dy: Rows, x: Rows, mean: Parts, variance: Parts, weight: Parts | None,
                    dweight: Parts, dbias: Parts, eps: float, count: int) -> Tensor:
    rstd = torch.rsqrt(variance + eps)
    dx = (dy - (dbias + (x - mean) * rstd * dweight) * (1 / count)) * rstd
    return _scaled(dx, weight, None, x.dtype)


def _like(total: Tensor, parameter: Tensor | None) -> Tensor | None:
    """The gradient of a parameter from those of the samples, ``[B, C, 1]``."""
    return None if parameter is None else total.sum((0, 2)).to(parameter.dtype)


def _differentiably(ctx: Any, norm: Callable[..., Tensor], dy: Tensor,
                    *given: Tensor | None) -> tuple[Tensor | None, ...]:
    """The gradients with respect to input, weight and bias of a norm of PyTorch's, which have
    gradients themselves."""
    needed = [t for t, is_needed in zip(given, ctx.needs_input_grad, strict=False) if is_needed]
    found = iter(torch.autograd.grad(norm(*given), needed,  # type: ignore[arg-type]
                                     dy, create_graph=True))
    return tuple(next(found) if is_needed else None for is_needed in ctx.needs_input_grad[:3])


class _GroupNorm(torch.autograd.Function):
    """Group norm of ``[B, C, S]``."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int,
                eps: float) -> Tensor:
        y, mean, rstd = _group_norm(x.view(x.shape[0], groups, -1), weight, bias, eps)
        ctx.save_for_backward(x, weight, bias, mean, rstd)
        ctx.eps = eps
        return reshaped(y, x.shape)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, rstd = ctx.saved_tensors
        groups = mean.shape[1]
        if torch.is_grad_enabled():
            return (*_differentiably(ctx, lambda x, weight, bias: F.group_norm(
                x, groups, weight, bias, ctx.eps), dy, x, weight, bias), None, None)
        dx = dweight = dbias = None
        if ctx.needs_input_grad[0]:
            rows = (x.shape[0], groups, -1)
            dx = _group_gradient(dy.reshape(rows), x.view(rows), mean, rstd, weight).view(x.shape)
        if any(ctx.needs_input_grad[1:3]):
            count = x.shape[1] // groups
            scalars = (t if count == 1 else t.repeat_interleave(count, 1) for t in (mean, rstd))
            dweights, dbiases = _group_sums(dy.contiguous(), x, *scalars)
            dweight, dbias = _like(dweights, weight), _like(dbiases, bias)
        return dx, dweight, dbias, None, None


class _BatchNorm(torch.autograd.Function):
    """Batch norm of ``[B, C, S]`` in training, and its mean and unbiased variance."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None,
                eps: float) -> tuple[Tensor, Tensor, Tensor]:
        count = x.numel() // x.shape[1]
        means, variances = (t[..., 0].t() for t in _moments(x))
        mean, variance, unbiased = (t[:, 0] for t in _combine(
            means, variances, count / max(count - 1, 1)))
        ctx.save_for_backward(x, weight, bias, mean, variance)
        ctx.eps, ctx.count = eps, count
        ctx.mark_non_differentiable(mean, unbiased)
        ctx.set_materialize_grads(False)
        return _normalise(x, mean, variance, weight, bias, eps), mean, unbiased

    @staticmethod
    def backward(ctx: Any, dy: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, variance = ctx.saved_tensors
        if dy is None:
            return (None,) * 4
        if torch.is_grad_enabled():  # Second derivatives are PyTorch's.
            return (*_differentiably(ctx, lambda x, weight, bias: F.batch_norm(
                x, None, None, weight, bias, True, 0.0, ctx.eps), dy, x, weight, bias), None)
        dweights, dbiases = _batch_sums(dy, x, mean, variance, ctx.eps)
        dweight, dbias = dweights.sum((0, 2)), dbiases.sum((0, 2))
        dx = _input_gradient(dy, x, mean, variance, weight, dweight, dbias, ctx.eps,
                             ctx.count) if ctx.needs_input_grad[0] else None
        return (dx, None if weight is None else dweight.to(weight.dtype),
                None if bias is None else dbias.to(bias.dtype), None)


_apply_group_norm = eager(_GroupNorm)
_apply_batch_norm = eager(_BatchNorm)


def _check(input: Tensor, least: int, **parameters: Tensor | None) -> None:
    check_dense("input", input)
    if input.dim() < least:
        words = {2: "[B, C, ...] of two", 3: "[B, C, ...] of three"}[least]
        raise ValueError(f"input: expected the shape {words} dimensions or more, got "
                         f"{list(input.shape)}; input[None] adds B")
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
    if _is_pytorchs("group_norm", input, weight, bias):
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
        y = _apply_group_norm(rows, weight, bias, num_groups, check_eps(eps))
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
    y, mean, unbiased = _apply_batch_norm(rows, weight, bias, eps)
    _follow(running_mean, mean, momentum)
    _follow(running_var, unbiased, momentum)
    result: Tensor = y.view(input.shape)
    return result


def _follow(running: Tensor | None, value: Tensor, momentum: float) -> None:
    if running is not None:
        running.lerp_(value.to(running.dtype), momentum)


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
