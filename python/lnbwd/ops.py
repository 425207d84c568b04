# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations as PyTorch knows them: ``torch.ops.lnbwd``.

    lnbwd::layer_norm(x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
    lnbwd::layer_norm_bwd(dy, x, mean, rstd, weight?, bias?, normalized_shape, mask)
        -> (dx, dweight, dbias)
    lnbwd::rms_norm(x, normalized_shape, weight?, eps) -> (y, rstd)
    lnbwd::rms_norm_bwd(dy, x, rstd, weight?, normalized_shape, mask) -> (dx, dweight)

The statistics are float32, of x's shape without the normalised dimensions. A gradient that
``mask`` leaves out is an empty tensor. Each is an autograd.Function around an operator of the same
name with an underscore before it, which launches a kernel and has no derivative: that is what
graphs of torch.compile contain. The kernels of these are C++ where the package has
liblnbwd-torch.so (lib/Torch, :mod:`lnbwd.native`), and else the functions of this file. What no
kernel computes (float64, rows without elements) is done by the operators whose names end in
_by_torch, with PyTorch's own operations.

:mod:`lnbwd.functional` has the functions for users, which check their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import native
from .errors import LnbwdError
from .launching import check_device, dense, launch
from .operations import LAYER_NORM, LAYER_NORM_BWD, OPERATIONS, RMS_NORM, RMS_NORM_BWD

__all__ = ["Refused", "convert_parameter", "differentiable_layer_norm", "differentiable_rms_norm",
           "eager_layer_norm", "eager_rms_norm", "raw_layer_norm", "raw_layer_norm_bwd",
           "raw_rms_norm", "raw_rms_norm_bwd"]

_LAYER_NORM = ("(Tensor x, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
               " -> (Tensor, Tensor, Tensor)")
_LAYER_NORM_BWD = ("(Tensor dy, Tensor x, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias,"
                   " int[] normalized_shape, bool[] mask) -> (Tensor, Tensor, Tensor)")
_RMS_NORM = "(Tensor x, int[] normalized_shape, Tensor? weight, float eps) -> (Tensor, Tensor)"
_RMS_NORM_BWD = ("(Tensor dy, Tensor x, Tensor rstd, Tensor? weight, int[] normalized_shape,"
                 " bool[] mask) -> (Tensor, Tensor)")

_library = torch.library.Library("lnbwd", "FRAGMENT")
for _name, _schema in ((LAYER_NORM, _LAYER_NORM), (LAYER_NORM_BWD, _LAYER_NORM_BWD),
                       (RMS_NORM, _RMS_NORM), (RMS_NORM_BWD, _RMS_NORM_BWD)):
    for _full in (_name, f"_{_name}", f"_{_name}_by_torch"):
        _library.define(_full + _schema, tags=(torch.Tag.pt2_compliant_tag,))


def _statistics_dtype(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _empty_like(tensor: Tensor) -> Tensor:
    """A new dense tensor of the same shape. Saying the format costs half a microsecond more."""
    if tensor.is_contiguous():
        return torch.empty_like(tensor)
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _empty(like: Tensor) -> Tensor:
    return like.new_empty(0)


def _verify(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
            bias: Tensor | None = None) -> None:
    """Refuses what kernels would read wrongly, as lib/Torch does; lnbwd.functional has the words
    for users."""
    shape = list(normalized_shape)
    if not shape or list(x.shape[-len(shape):]) != shape:
        raise ValueError(f"lnbwd: x: expected a shape that ends in {shape}, got {list(x.shape)}")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is None:
            continue
        if list(parameter.shape) != shape or parameter.device != x.device:
            raise ValueError(f"lnbwd: {name}: expected the shape {shape} on the device of x")
        if parameter.dtype not in (x.dtype, _statistics_dtype(x)):
            raise TypeError(f"lnbwd: {name}: expected x's type or float32, got {parameter.dtype}")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"lnbwd: x: expected a floating-point type, got {x.dtype}")


def _verify_gradient(dy: Tensor, x: Tensor, normalized_shape: Sequence[int],
                     *statistics: Tensor) -> None:
    """Raises where dy or the statistics do not go with x."""
    if dy.dtype != x.dtype or dy.numel() != x.numel() or dy.device != x.device:
        raise ValueError("lnbwd: dy: expected x's type, size and device")
    rows = math.prod(x.shape[:x.dim() - len(normalized_shape)])
    for tensor in statistics:
        if (tensor.dtype != _statistics_dtype(x) or tensor.numel() != rows
                or tensor.device != x.device):
            raise ValueError(f"lnbwd: mean, rstd: expected {rows} elements of "
                             f"{_statistics_dtype(x)} on the device of x")


def _is_computed_by_kernels(x: Tensor, normalized_shape: Sequence[int]) -> bool:
    return x.dtype != torch.float64 and math.prod(normalized_shape) > 0


# --------------------------------------------------------------------------------------------------
# By kernels
# --------------------------------------------------------------------------------------------------


def _forward_kernel(op: str, x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                    bias: Tensor | None, eps: float) -> tuple[Tensor, ...]:
    """y and the statistics by a kernel of ours."""
    n = math.prod(normalized_shape)
    rows = x.numel() // n
    outputs = [torch.empty_like(x, memory_format=torch.contiguous_format)]
    outputs += [x.new_empty(x.shape[:x.dim() - len(normalized_shape)], dtype=torch.float32)
                for _ in range(2 if op == LAYER_NORM else 1)]
    inputs = [dense(t) for t in (x, weight, bias) if t is not None]
    launch(op, n, rows, x.dtype, None if weight is None else weight.dtype,
           None if bias is None else bias.dtype, (False, False, False), [*inputs, *outputs], eps)
    return tuple(outputs)


def _forward(name: str) -> Callable[..., Any]:
    """The operator of a forward pass."""
    def forward(x: Tensor, normalized_shape: Sequence[int], *others: Any) -> Any:
        *parameters, eps = others
        _verify(x, normalized_shape, *parameters)
        check_device(x)
        if _is_computed_by_kernels(x, normalized_shape):
            weight, bias, *_ = (*parameters, None)
            return _forward_kernel(name, x, normalized_shape, weight, bias, eps)
        return _BY_TORCH[name](x, normalized_shape, *others)

    return forward


def _backward(name: str) -> Callable[..., Any]:
    """The operator of a gradient. There are as many statistics as parameters."""
    count = 2 if name == LAYER_NORM_BWD else 1

    def backward(dy: Tensor, x: Tensor, *others: Any) -> Any:
        statistics, parameters = others[:count], others[count:2 * count]
        normalized_shape, mask = others[2 * count:]
        _verify(x, normalized_shape, *parameters)
        _verify_gradient(dy, x, normalized_shape, *statistics)
        check_device(x, "x")
        if not _is_computed_by_kernels(x, normalized_shape):
            return _BY_TORCH[name](dy, x, *others)
        wanted = [like if want else None
                  for like, want in zip((x, *parameters), mask, strict=True)]
        gradients = [_empty(x) if like is None else _empty_like(like) for like in wanted]
        outputs = [gradient for gradient, like in zip(gradients, wanted, strict=True)
                   if like is not None]
        if outputs:
            wants = [like is not None for like in wanted]
            dtypes = [None if p is None else p.dtype for p in parameters]
            launch(name, math.prod(normalized_shape), statistics[0].numel(), x.dtype,
                   dtypes[0], dtypes[1] if count == 2 else None,
                   (wants[0], wants[1], count == 2 and wants[2]),
                   [*(dense(t) for t in (dy, x, parameters[0], *statistics) if t is not None),
                    *outputs])
        return tuple(gradients)

    return backward


# --------------------------------------------------------------------------------------------------
# By PyTorch
# --------------------------------------------------------------------------------------------------


@torch.no_grad()
def _layer_norm_by_torch(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                         bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    shape = list(normalized_shape)
    wide = _statistics_dtype(x)
    mixed = any(p is not None and p.dtype != x.dtype for p in (weight, bias))
    if x.device.type == "cpu" or mixed:
        # PyTorch's kernels take one type, and on the CPU they round the statistics to it.
        y, mean, rstd = torch.native_layer_norm(
            x.to(wide), shape, None if weight is None else weight.to(wide),
            None if bias is None else bias.to(wide), eps)
        y = y.to(x.dtype)
    else:
        y, mean, rstd = torch.native_layer_norm(x, shape, weight, bias, eps)
    leading = x.shape[:x.dim() - len(shape)]
    return y.contiguous(), mean.reshape(leading).to(wide), rstd.reshape(leading).to(wide)


@torch.no_grad()
def _layer_norm_bwd_by_torch(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor,
                             weight: Tensor | None, bias: Tensor | None,
                             normalized_shape: Sequence[int],
                             mask: Sequence[bool]) -> tuple[Tensor, Tensor, Tensor]:
    wants = [mask[0], mask[1] and weight is not None, mask[2] and bias is not None]
    if x.numel() == 0:  # Rows without elements: so are all gradients.
        like = (x, weight, bias)
        first, second, third = (_empty_like(t) if want and t is not None else _empty(x)
                                for t, want in zip(like, wants, strict=True))
        return first, second, third
    leading = [*x.shape[:x.dim() - len(normalized_shape)], *[1] * len(normalized_shape)]
    grads = torch.ops.aten.native_layer_norm_backward(
        dy, x, list(normalized_shape), mean.view(leading), rstd.view(leading), weight, bias, wants)
    # None stands for a gradient that was not asked for, and PyTorch may return views.
    first, second, third = (g.clone() if g is not None else _empty(x) for g in grads)
    return first, second, third


# One kernel for the forward pass, in PyTorch since 2.9.
_FUSED_RMS_NORM = getattr(torch.ops.aten, "_fused_rms_norm", None)


@torch.no_grad()
def _rms_norm_by_torch(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                       eps: float) -> tuple[Tensor, Tensor]:
    wide = _statistics_dtype(x)
    leading = x.shape[:x.dim() - len(normalized_shape)]
    if x.device.type == "cuda" and (weight is None or weight.dtype == x.dtype) and _FUSED_RMS_NORM:
        y, rstd = _FUSED_RMS_NORM(x, list(normalized_shape), weight, eps)
        return y.contiguous(), rstd.reshape(leading).to(wide)
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    values = x.to(wide)
    rstd = torch.rsqrt(values.square().mean(dims, keepdim=True) + eps)
    y = values * rstd
    if weight is not None:
        y = y * weight
    return y.to(x.dtype).contiguous(), rstd.reshape(leading)


@torch.no_grad()
def _rms_norm_bwd_by_torch(dy: Tensor, x: Tensor, rstd: Tensor, weight: Tensor | None,
                           normalized_shape: Sequence[int],
                           mask: Sequence[bool]) -> tuple[Tensor, Tensor]:
    dx, dweight = _rms_norm_formula(dy, x, rstd, weight, normalized_shape)
    return (dx.clone() if mask[0] else _empty(x),
            dweight.clone() if mask[1] and dweight is not None else _empty(x))


# --------------------------------------------------------------------------------------------------
# Shapes and types, for tracing
# --------------------------------------------------------------------------------------------------


def _fake_like(tensor: Tensor | None, want: bool, x: Tensor) -> Tensor:
    if tensor is None or not want:
        return x.new_empty(0)
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _verify_devices(x: Tensor, *others: Tensor | None) -> None:
    """A tensor on 'meta' among others would have the whole call computed there, to nothing."""
    for other in others:
        if other is not None and other.device != x.device:
            raise ValueError(f"lnbwd: expected tensors on {x.device} like x, got one on "
                             f"{other.device}")


def _fake_statistics(x: Tensor, normalized_shape: Sequence[int]) -> Tensor:
    return x.new_empty(x.shape[:x.dim() - len(normalized_shape)], dtype=_statistics_dtype(x))


def _fake_forward(x: Tensor, normalized_shape: Sequence[int], *others: Any) -> tuple[Tensor, ...]:
    *parameters, _ = others
    _verify_devices(x, *parameters)
    return (_fake_like(x, True, x),
            *(_fake_statistics(x, normalized_shape) for _ in parameters))


def _fake_backward(dy: Tensor, x: Tensor, *others: Any) -> tuple[Tensor, ...]:
    *tensors, _, mask = others
    parameters = tensors[len(tensors) // 2:]
    return tuple(_fake_like(tensor, want, x)
                 for tensor, want in zip((x, *parameters), mask, strict=True))


_BY_TORCH: dict[str, Callable[..., Any]] = {
    LAYER_NORM: _layer_norm_by_torch, LAYER_NORM_BWD: _layer_norm_bwd_by_torch,
    RMS_NORM: _rms_norm_by_torch, RMS_NORM_BWD: _rms_norm_bwd_by_torch}
for _name, _by_torch in _BY_TORCH.items():
    _is_forward = OPERATIONS[_name].is_forward
    _library.impl(f"_{_name}_by_torch", _by_torch, "CompositeExplicitAutograd")
    torch.library.register_fake(f"lnbwd::_{_name}",
                                _fake_forward if _is_forward else _fake_backward, lib=_library)
    # They are called below autograd, by the functions below.
    _library.impl(f"_{_name}", torch.library.fallthrough_kernel, "Autograd")
    if not native.load():
        for _key in ("CPU", "CUDA"):
            _library.impl(f"_{_name}", (_forward if _is_forward else _backward)(_name), _key)

_RAW = {name: getattr(torch.ops.lnbwd, f"_{name}").default for name in _BY_TORCH}
# Without a frame of Python in between.
raw_layer_norm, raw_layer_norm_bwd, raw_rms_norm, raw_rms_norm_bwd = (
    getattr(raw, "_op", raw) for raw in _RAW.values())


# --------------------------------------------------------------------------------------------------
# Derivatives
# --------------------------------------------------------------------------------------------------

_transforms_are_active = torch._C._are_functorch_transforms_active


def _refuse_forward_mode(ctx: Any, *tangents: Any) -> None:
    raise LnbwdError("forward-mode differentiation (torch.autograd.forward_ad, torch.func.jvp, "
                     "jacfwd) of lnbwd's operations: there is none; use reverse mode "
                     "(torch.func.vjp, grad, jacrev), or torch.nn.functional's function for the "
                     "forward mode")


def _layer_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, normalized_shape, weight, bias, _ = inputs
    _, mean, rstd = output
    ctx.save_for_backward(x, mean, rstd, weight, bias)
    ctx.normalized_shape = normalized_shape
    ctx.mark_non_differentiable(mean, rstd)
    ctx.set_materialize_grads(False)


def _layer_norm_backward(ctx: Any, dy: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if dy is None:
        return None, None, None, None, None
    x, mean, rstd, weight, bias = ctx.saved_tensors
    needs_x, _shape, needs_weight, needs_bias, _eps = ctx.needs_input_grad
    mask = [needs_x, needs_weight and weight is not None, needs_bias and bias is not None]
    if dy.dtype != x.dtype:
        dy = dy.to(x.dtype)
    if torch.is_grad_enabled() or _transforms_are_active():
        dx, dweight, dbias = _FUNCTIONS[LAYER_NORM_BWD].apply(
            dy, x, mean, rstd, weight, bias, ctx.normalized_shape, mask)
    else:
        try:
            dx, dweight, dbias = raw_layer_norm_bwd(dy, x, mean, rstd, weight, bias,
                                                     ctx.normalized_shape, mask)
        except RuntimeError as error:
            raise native.original(error) from None
    return (dx if mask[0] else None, None, dweight if mask[1] else None,
            dbias if mask[2] else None, None)


def _rms_norm_setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, normalized_shape, weight, _ = inputs
    ctx.save_for_backward(x, output[1], weight)
    ctx.normalized_shape = normalized_shape
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _rms_norm_backward(ctx: Any, dy: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if dy is None:
        return None, None, None, None
    x, rstd, weight = ctx.saved_tensors
    needs_x, _shape, needs_weight, _eps = ctx.needs_input_grad
    mask = [needs_x, needs_weight and weight is not None]
    if dy.dtype != x.dtype:
        dy = dy.to(x.dtype)
    if torch.is_grad_enabled() or _transforms_are_active():
        dx, dweight = _FUNCTIONS[RMS_NORM_BWD].apply(dy, x, rstd, weight, ctx.normalized_shape,
                                                       mask)
    else:
        try:
            dx, dweight = raw_rms_norm_bwd(dy, x, rstd, weight, ctx.normalized_shape, mask)
        except RuntimeError as error:
            raise native.original(error) from None
    return dx if mask[0] else None, None, dweight if mask[1] else None, None


# --------------------------------------------------------------------------------------------------
# The gradients' gradients: the same formulas in PyTorch's operations, which differentiate
# themselves. The saved statistics are functions of x there, as they are in the forward pass.
# --------------------------------------------------------------------------------------------------


def _sum_rows(value: Tensor, leading: int) -> Tensor:
    return value.sum(list(range(leading))) if leading else value


def _rms_norm_formula(dy: Tensor, x: Tensor, rstd: Tensor, weight: Tensor | None,
                      normalized_shape: Sequence[int]) -> tuple[Tensor, Tensor | None]:
    leading = x.dim() - len(normalized_shape)
    dims = list(range(leading, x.dim()))
    r = rstd.view([*x.shape[:leading], *[1] * len(dims)])
    xhat = x * r
    wdy = dy if weight is None else dy * weight
    dx = r * (wdy - xhat * (wdy * xhat).mean(dims, keepdim=True))
    return dx, None if weight is None else _sum_rows(dy * xhat, leading)


def _double_backward(ctx: Any, grads: Sequence[Tensor | None],
                     formula: Callable[..., tuple[Tensor | None, ...]],
                     tensors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Gradients of ``sum(grad * output)`` of a formula with respect to ``tensors``."""
    wide = _statistics_dtype(next(t for t in tensors if t is not None))
    with torch.enable_grad():
        leaves = [None if t is None else t.detach().to(wide).requires_grad_() for t in tensors]
        outputs = formula(*leaves)
        pairs = [(o, g.to(wide)) for o, g in zip(outputs, grads, strict=True)
                 if o is not None and g is not None and g.numel() == o.numel()]
        wanted = [leaf for leaf in leaves if leaf is not None]
        if not pairs:
            return [None] * len(tensors)
        found = iter(torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs],
                                         allow_unused=True))
    result: list[Tensor | None] = []
    for tensor in tensors:
        grad = next(found) if tensor is not None else None
        result.append(None if grad is None or tensor is None else grad.to(tensor.dtype))
    return result


def _layer_norm_bwd_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    dy, x, _, rstd, weight, _, normalized_shape, _ = inputs
    ctx.save_for_backward(dy, x, rstd, weight)
    ctx.normalized_shape = normalized_shape
    ctx.set_materialize_grads(False)


def _layer_norm_bwd_backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    dy, x, rstd, weight = ctx.saved_tensors
    leading = x.dim() - len(ctx.normalized_shape)
    dims = list(range(leading, x.dim()))

    def formula(dy: Tensor, x: Tensor, weight: Tensor | None) -> tuple[Tensor | None, ...]:
        r = rstd.detach().view([*x.shape[:leading], *[1] * len(dims)])
        centred = x - x.mean(dims, keepdim=True)
        variance = centred.square().mean(dims, keepdim=True)
        eps = r.to(x.dtype).pow(-2) - variance.detach()
        r = torch.rsqrt(variance + eps)
        xhat = centred * r
        wdy = dy if weight is None else dy * weight
        dx = r * (wdy - xhat * (wdy * xhat).mean(dims, keepdim=True)
                  - wdy.mean(dims, keepdim=True))
        return dx, _sum_rows(dy * xhat, leading), _sum_rows(dy, leading)

    ddy, dx, dweight = _double_backward(ctx, grads, formula, (dy, x, weight))
    return ddy, dx, None, None, dweight, None, None, None


def _rms_norm_bwd_setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    dy, x, rstd, weight, normalized_shape, _ = inputs
    ctx.save_for_backward(dy, x, rstd, weight)
    ctx.normalized_shape = normalized_shape
    ctx.set_materialize_grads(False)


def _rms_norm_bwd_backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
    dy, x, rstd, weight = ctx.saved_tensors
    dims = list(range(x.dim() - len(ctx.normalized_shape), x.dim()))

    def formula(dy: Tensor, x: Tensor, weight: Tensor | None) -> tuple[Tensor | None, ...]:
        square = x.square().mean(dims, keepdim=True)
        saved = rstd.detach().view(square.shape).to(x.dtype)
        r = torch.rsqrt(square + (saved.pow(-2) - square.detach()))
        return _rms_norm_formula(dy, x, r, weight, ctx.normalized_shape)

    ddy, dx, dweight = _double_backward(ctx, grads, formula, (dy, x, weight))
    return ddy, dx, None, dweight, None, None


# --------------------------------------------------------------------------------------------------
# vmap: a batch of rows is more rows. Where a parameter or its gradient has the batch dimension, it
# is one call for each of the batch.
# --------------------------------------------------------------------------------------------------


def _front(tensor: Tensor | None, dim: int | None, size: int) -> Tensor | None:
    """The tensor with its batch dimension first; expanded if it has none."""
    if tensor is None:
        return None
    return tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _loop(call: Callable[..., tuple[Tensor, ...]], size: int, in_dims: Sequence[int | None],
          arguments: Sequence[Any]) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    rows = [call(*(a if d is None else a.select(d, i)
                   for a, d in zip(arguments, in_dims, strict=True))) for i in range(size)]
    outputs = tuple(torch.stack(parts) for parts in zip(*rows, strict=True))
    return outputs, (0,) * len(outputs)


def _forward_vmap(name: str) -> Callable[..., Any]:
    op = _RAW[name]

    def rule(info: Any, in_dims: tuple[Any, ...], x: Tensor,
             *others: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        if any(dim is not None for dim in in_dims[2:-1]):
            return _loop(op, info.batch_size, (in_dims[0], None, *in_dims[2:-1], None),
                         (x, *others))
        outputs = op(x.movedim(in_dims[0], 0), *others)
        return outputs, (0,) * len(outputs)

    return rule


def _backward_vmap(name: str) -> Callable[..., Any]:
    op = _RAW[name]
    # dy, x and the statistics, which the weight follows.
    read = 4 if name == LAYER_NORM_BWD else 3

    def rule(info: Any, in_dims: tuple[Any, ...],
             *arguments: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        size = info.batch_size
        if in_dims[read] is not None or any(arguments[-1][1:]):
            return _loop(op, size, (*in_dims[:-2], None, None), arguments)
        rows = (_front(t, d, size) for t, d in zip(arguments[:read], in_dims[:read], strict=True))
        dx, *others = op(*rows, *arguments[read:])
        return ((dx, *(other.expand(size, 0) for other in others)),
                (0,) * (1 + len(others)))

    return rule


for _name in _RAW:
    _rule = (_forward_vmap if OPERATIONS[_name].is_forward else _backward_vmap)(_name)
    torch.library.register_vmap(f"lnbwd::_{_name}", _rule, lib=_library)

# --------------------------------------------------------------------------------------------------
# The autograd functions. Those with a setup_context know torch.func's transforms, and their
# statistics are outputs; finding out their arguments takes PyTorch 15 microseconds. Those for eager
# mode have neither.
# --------------------------------------------------------------------------------------------------


def _function(name: str, setup: Callable[..., None], backward: Callable[..., Any]) -> Any:
    """The autograd.Function of an operator."""
    raw = _RAW[name]
    return type(name, (torch.autograd.Function,), {
        "generate_vmap_rule": True,
        "forward": staticmethod(lambda *arguments: raw(*arguments)),
        "setup_context": staticmethod(setup), "backward": staticmethod(backward),
        "jvp": staticmethod(_refuse_forward_mode)})


_FUNCTIONS = {
    LAYER_NORM: _function(LAYER_NORM, _layer_norm_setup, _layer_norm_backward),
    LAYER_NORM_BWD: _function(LAYER_NORM_BWD, _layer_norm_bwd_setup, _layer_norm_bwd_backward),
    RMS_NORM: _function(RMS_NORM, _rms_norm_setup, _rms_norm_backward),
    RMS_NORM_BWD: _function(RMS_NORM_BWD, _rms_norm_bwd_setup, _rms_norm_bwd_backward),
}


class Refused(Exception):
    """The operator did not take its arguments, or could not run; its cause says why."""


class _EagerLayerNorm(torch.autograd.Function):
    """y of a LayerNorm."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                bias: Tensor | None, eps: float) -> Tensor:
        y: Tensor
        try:
            y, mean, rstd = raw_layer_norm(x, normalized_shape, weight, bias, eps)
        except Exception as error:
            raise Refused from error
        ctx.save_for_backward(x, mean, rstd, weight, bias)
        ctx.normalized_shape = normalized_shape
        return y

    backward = staticmethod(_layer_norm_backward)
    jvp = staticmethod(_refuse_forward_mode)


class _EagerRMSNorm(torch.autograd.Function):
    """y of an RMSNorm."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                eps: float) -> Tensor:
        y: Tensor
        try:
            y, rstd = raw_rms_norm(x, normalized_shape, weight, eps)
        except Exception as error:
            raise Refused from error
        ctx.save_for_backward(x, rstd, weight)
        ctx.normalized_shape = normalized_shape
        return y

    backward = staticmethod(_rms_norm_backward)
    jvp = staticmethod(_refuse_forward_mode)


# torch.autograd.Function.apply without its Python half, 3 microseconds that are for torch.func.
eager_layer_norm: Callable[..., Tensor] = super(torch.autograd.Function, _EagerLayerNorm).apply
eager_rms_norm: Callable[..., Tensor] = super(torch.autograd.Function, _EagerRMSNorm).apply
def convert_parameter(parameter: Tensor | None, x: Tensor) -> Tensor | None:
    """The parameter in a type that kernels take: x's or float32. PyTorch converts the gradient."""
    if parameter is None or parameter.dtype == x.dtype:
        return parameter
    wide = _statistics_dtype(x)
    return parameter if parameter.dtype == wide else parameter.to(wide)


def differentiable_layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                              bias: Tensor | None, eps: float) -> Any:
    """lnbwd::layer_norm with its derivative, inside of torch.func's transforms too."""
    return _FUNCTIONS[LAYER_NORM].apply(x, normalized_shape, convert_parameter(weight, x),
                                          convert_parameter(bias, x), eps)


def differentiable_rms_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                            eps: float) -> Any:
    """lnbwd::rms_norm with its derivative, inside of torch.func's transforms too."""
    return _FUNCTIONS[RMS_NORM].apply(x, normalized_shape, convert_parameter(weight, x), eps)


for _name, _differentiable in (
        (LAYER_NORM, differentiable_layer_norm), (RMS_NORM, differentiable_rms_norm),
        (LAYER_NORM_BWD, _FUNCTIONS[LAYER_NORM_BWD].apply),
        (RMS_NORM_BWD, _FUNCTIONS[RMS_NORM_BWD].apply)):
    # The second key is torch.func's: its transforms are to see the autograd.Function.
    for _key in ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"):
        _library.impl(_name, _differentiable, _key)
# Under autocast on a GPU PyTorch's layer_norm computes and returns float32; so does this one.
torch.library.register_autocast(f"lnbwd::{LAYER_NORM}", "cuda", torch.float32, lib=_library)
