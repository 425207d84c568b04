# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Group, instance and batch norm, whose inputs are ``[B, C, ...]`` with a weight for each channel.

A group norm is a norm of rows, the groups. A batch norm, and one of long groups, takes the
statistics of each channel of a sample, combines them, and normalises. Its gradient has two passes
over the rows of channels: the sums that weight and bias need are what that of the input needs, too.
A batch norm of channels that a workgroup or cluster holds, in all samples, is one kernel each way.
What is not contiguous, and what has few elements in a channel, is PyTorch's or derived.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.compile.spec import ROWS_HINTS
from ..ops.arguments import check_dense, check_eps, check_number, check_parameter, check_whole
from ..ops.choices import choices
from ..ops.launching import has_clusters, is_capturing, is_pytorchs
from ..ops.regions import Registered, call_of, is_plain, raw_region, register_draft
from ..ops.registration import eager, gradients_by_torch, group_norm_by_torch
from ..ops.row_functions import Parts, Rows, Scalars, rowwise
from ..program.builder import Draft, Value
from ..program.operands import ELEMENT_NAMES, Input
from ..program.torch_internals.eager import is_batched, reshaped

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
def _normalise(input: Rows, mean: Parts, variance: Parts, weight: Parts | None, bias: Parts | None,
               eps: float) -> Tensor:
    return _scaled((input - mean) * torch.rsqrt(variance + eps), weight, bias, input.dtype)


@rowwise
def _sums(dy: Rows, x: Rows, mean: Parts, variance: Parts, eps: float) -> tuple[Tensor, Tensor]:
    dy = dy.float()
    xhat = (x - mean) * torch.rsqrt(variance + eps)
    return (dy * xhat).sum(-1, keepdim=True), dy.sum(-1, keepdim=True)


@rowwise
def _gradient_of_groups(dy: Rows, x: Rows, mean: Scalars, variance: Scalars, weight: Parts | None,
                        eps: float) -> Tensor:
    rstd = torch.rsqrt(variance + eps)
    xhat = (x - mean) * rstd
    wdy = _scaled(dy.float(), weight, None, torch.float32)
    shared = wdy.mean(-1, keepdim=True) + xhat * (wdy * xhat).mean(-1, keepdim=True)
    return ((wdy - shared) * rstd).to(x.dtype)


@rowwise
def _group_sums(dweights: Rows, dbiases: Rows, weight: Parts | None) -> tuple[Tensor, ...]:
    """The terms of a group's input gradient from the sums of its channels."""
    return tuple(_scaled(t, weight, None, t.dtype).sum(-1, keepdim=True)
                 for t in (dweights, dbiases))


@rowwise
def _input_gradient(dy: Rows, x: Rows, mean: Parts, variance: Parts, weight: Parts | None,
                    along: Parts, total: Parts, count: int, are_weighted: bool,
                    eps: float) -> Tensor:
    """The input's gradient from the sums of dy times the normalised x and of dy."""
    rstd = torch.rsqrt(variance + eps)
    shared = total * (1 / count) + (x - mean) * (rstd * along * (1 / count))
    dx = (_scaled(dy, weight, None, torch.float32) - shared if are_weighted
          else _scaled(dy - shared, weight, None, torch.float32))
    return (dx * rstd).to(x.dtype)


@rowwise
def _channel_gradients(dy: Rows, x: Rows, mean: Parts, variance: Parts, weight: Parts | None,
                       eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Of groups of one channel: the input's gradient, the sums for weight and bias."""
    along, total = _sums(dy, x, mean, variance, eps)
    dx = _input_gradient(dy, x, mean, variance, weight, along, total, x.shape[-1], False, eps)
    return dx, along, total


class _ChannelNorm(torch.autograd.Function):
    """The norm of ``[B, C, S]`` in groups or the batch, which changes running statistics."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int,
                eps: float, running: dict[str, Tensor]) -> Tensor:
        samples, channels, size = x.shape
        ctx.groups, ctx.eps = groups, eps
        ctx.count = count = size * (channels // groups if groups else samples)
        ctx.programs = None
        length = channels // groups if groups else samples
        mean, variance = (x.new_empty(samples * channels // length, dtype=torch.float32)
                          for _ in range(2))
        kinds = tuple((name, ELEMENT_NAMES[t.dtype]) for name, t in running.items())
        is_held = choices.is_held(x, count, not groups, has_clusters)
        if is_held and not groups:
            ctx.programs = batch_programs(x.shape, x.dtype, *(
                None if t is None else t.dtype for t in (weight, bias)), eps, kinds)
            y = torch.empty_like(x)
            run(ctx.programs[0], {"x": x, "weight": weight, "bias": bias, **running},
                [y, mean, variance], running)
        elif is_held:
            y, mean, variance = _group_norm(x.view(samples, groups, -1), weight, bias, eps)
            y = reshaped(y, x.shape)
        else:
            means, variances = _moments(x)
            run(combination(length, 0 if groups else channels, count, kinds),
                {"means": means, "variances": variances, **running}, [mean, variance], running)
            rows, a, b, c, d = _grouped(groups, x, mean, variance, weight, bias)
            y = reshaped(_normalise(rows, a, b, c, d, eps), x.shape)
        ctx.save_for_backward(x, weight, bias, mean, variance)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, variance = ctx.saved_tensors
        groups, eps, needs = ctx.groups, ctx.eps, ctx.needs_input_grad[:3]
        dx: Tensor | None = None
        dweight: Tensor | None = None
        dbias: Tensor | None = None
        if torch.is_grad_enabled() or is_batched(dy):  # Second derivatives are PyTorch's.
            return (*gradients_by_torch(
                lambda x, weight, bias:
                group_norm_by_torch(x, groups, weight, bias, eps) if groups else
                F.batch_norm(x, None, None, weight, bias, True, 0.0, eps),
                (x, weight, bias), needs, dy), None, None, None)
        if ctx.programs is not None:
            dx, dweight, dbias = ctx.programs[1](x.shape[1], {
                "mean": mean, "rstd": variance, "weight": weight, "dy": dy, "x": x}).values()
            return (dx.view(x.shape), dweight if needs[1] else None, dbias if needs[2] else None,
                    None, None, None)
        samples, channels, _ = x.shape
        rows, means, variances, weights, _ = _grouped(groups, x, mean, variance, weight, bias)
        dy = reshaped(dy.contiguous(), rows.shape)
        has_sums = any(needs[1:])
        way = choices.input_gradient(x, ctx.count, groups, has_sums,
                                     has_clusters) if needs[0] else None
        if way == "channels":
            dx, along, total = _channel_gradients(dy, rows, means, variances, weights, eps)
        elif has_sums or way == "sums":
            along, total = _sums(dy, rows, means, variances, eps)
        if has_sums or not groups:
            # What follows from the sums of a batch takes them as they are.
            dtypes = tuple(torch.float32 if t is None or not groups else t.dtype
                           for t in (weight, bias))
            sums = ((along.view(-1), total.view(-1))
                    if samples == 1 and set(dtypes) == {torch.float32} else
                    sum_of_samples(channels, *dtypes)(
                        samples, {"along": along, "total": total}).values())
            dweight, dbias = (t if p is None else t.to(p.dtype)
                              for t, p in zip(sums, (weight, bias), strict=True))
        if way == "groups":
            dy, groups_of_x, mean, variance = (t.view(samples, groups, -1)
                                               for t in (dy, x, mean, variance))
            dx = _gradient_of_groups(dy, groups_of_x, mean, variance, weight, eps)
        elif way == "sums":
            are_weighted = groups not in (0, channels)
            if not groups:
                along, total = (t.view(channels, 1) for t in sums)
            elif are_weighted:
                along, total = (t.view(means.shape) for t in _group_sums(
                    along.flatten(2), total.flatten(2),
                    None if weights is None else weights.flatten(1)))
            dx = _input_gradient(dy, rows, means, variances, weights, along, total, ctx.count,
                                 are_weighted, eps)
        dx = None if dx is None else reshaped(dx, x.shape)
        return (dx, dweight if needs[1] else None, dbias if needs[2] else None, None, None, None)


def _grouped(groups: int, x: Tensor, mean: Tensor, variance: Tensor,
             *parameters: Tensor | None) -> tuple[Any, ...]:
    """Tensors as rows of channels, ``[B, G, C / G, S]`` or ``[B, C, S]``, or broadcasting to it."""
    samples, channels, size = x.shape
    if not groups:
        return (x, mean.view(-1, 1), variance.view(-1, 1),
                *(None if t is None else t.view(-1, 1) for t in parameters))
    own = channels // groups
    return (x.view(samples, groups, own, size), mean.view(samples, groups, 1, 1),
            variance.view(samples, groups, 1, 1),
            *(None if t is None else t.view(groups, own, 1) for t in parameters))


_numbers: dict[tuple[float, torch.device], Tensor] = {}
_MANY_NUMBERS = 64


def _number(value: float, device: torch.device) -> Tensor:
    """A number on a device. It is never freed, because a graph may read it."""
    if (value, device) not in _numbers:
        # (A copy from the host would end a capture, and is waited for.)
        if is_capturing(device) or len(_numbers) >= _MANY_NUMBERS:
            return torch.full((1,), value, dtype=torch.float32, device=device)
        _numbers[value, device] = torch.tensor([value], dtype=torch.float32, device=device)
    return _numbers[value, device]


_apply: Callable[..., Tensor] = eager(_ChannelNorm)


def _check(input: Tensor, least: int, **parameters: Tensor | None) -> None:
    check_dense("input", input)
    if input.dim() < least:
        raise ValueError(f"input: expected the shape [B, C, ...] of {least} dimensions or more, "
                         f"got {list(input.shape)}; input[None] adds B")
    for name, parameter in parameters.items():
        check_parameter(name, parameter, [input.shape[1]], "input", input, " (channels)")


def _is_pytorchs(name: str, input: Tensor, *others: Tensor | None) -> bool:
    """Whether PyTorch computes a call."""
    return not input.is_contiguous() or is_pytorchs(f"lnbwd.functional.{name}", input, *others)


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
    wanted = f"a number that divides the {channels} channels of input"
    num_groups = check_whole("num_groups", num_groups, wanted, 1)
    if channels % num_groups:
        raise ValueError(f"num_groups: expected {wanted}, got {num_groups}")
    is_one = math.prod(input.shape[2:]) * channels == num_groups
    if is_one or _is_pytorchs("group_norm", input, weight, bias):
        return group_norm_by_torch(input, num_groups, weight, bias, check_eps(eps))
    if input.is_cuda and torch.is_autocast_enabled("cuda"):
        input = input.float()
    size = math.prod(input.shape[2:])
    y: Tensor
    # (Of one number for all rows no gradient is derived.)
    if size < choices.least_channel and channels > 1:
        groups = input.view(input.shape[0], num_groups, -1)
        y = _group_norm(groups, weight, bias, check_eps(eps))[0]
    else:
        rows = input.view(*input.shape[:2], size)
        y = _apply(rows, weight, bias, num_groups, check_eps(eps), {})
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
    eps, momentum = check_eps(eps), check_number("momentum", momentum, "a finite number")
    # (Of one number for all rows no gradient is derived.)
    if size < choices.least_channel or (input.shape[1] == 1 and not training) or _is_pytorchs(
            "batch_norm", input, running_mean, running_var, weight, bias):
        return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    rows = input.view(*input.shape[:2], size)
    if not training and running_mean is not None and running_var is not None:
        return _normalise(rows, running_mean, running_var, weight, bias, eps).view(input.shape)
    running = {name: tensor for name, tensor in (
        ("running_mean", running_mean), ("running_var", running_var)) if tensor is not None}
    if running:
        running["momentum"] = _number(momentum, input.device)
    return _apply(rows, weight, bias, 0, eps, running).view(input.shape)


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
    if math.prod(input.shape[2:]) == 1:
        raise ValueError("input: expected two elements or more in a channel, got "
                         f"{list(input.shape)}; one has no statistics of its own (use_input_stats)")
    if (running_mean is not None or running_var is not None or input.is_meta or not input.shape[1]
            or torch.compiler.is_compiling()):
        return F.instance_norm(input, running_mean, running_var, weight, bias, True, momentum,
                               check_eps(eps))
    with torch.autocast(input.device.type, enabled=False):
        return group_norm(input, input.shape[1], weight, bias, eps)
