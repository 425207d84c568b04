# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations as PyTorch knows them: ``torch.ops.lnbwd``.

Each is a custom operator with a fake kernel, so that torch.compile traces through it, an autograd
formula, and a rule for vmap:

    lnbwd::layer_norm(x, normalized_shape, weight?, bias?, eps) -> (y, mean, rstd)
    lnbwd::layer_norm_bwd(dy, x, mean, rstd, weight?, bias?, normalized_shape, mask)
        -> (dx, dweight, dbias)
    lnbwd::rms_norm(x, normalized_shape, weight?, eps) -> (y, rstd)
    lnbwd::rms_norm_bwd(dy, x, rstd, weight?, normalized_shape, mask) -> (dx, dweight)

The statistics are float32 vectors of one element a row. A gradient that ``mask`` leaves out is an
empty tensor. float64 tensors are computed by PyTorch's own operations: kernels have no float64.
:mod:`lnbwd.functional` has the functions for users, which check their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .launching import check_device, dense, launch, uses_forward_kernels

__all__ = ["call_layer_norm", "call_rms_norm"]


_NOTHING = (False, False, False)


def _statistics_dtype(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _empty_like(tensor: Tensor) -> Tensor:
    """A new dense tensor of the same shape. Saying the format costs half a microsecond more."""
    if tensor.is_contiguous():
        return torch.empty_like(tensor)
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _empty(like: Tensor) -> Tensor:
    return like.new_empty(0)


# --------------------------------------------------------------------------------------------------
# LayerNorm
# --------------------------------------------------------------------------------------------------


def _forward_kernel(op: str, x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                    bias: Tensor | None, eps: float) -> tuple[Tensor, ...]:
    """y and the statistics by a kernel of ours."""
    n = math.prod(normalized_shape)
    rows = x.numel() // n
    outputs = [torch.empty_like(x, memory_format=torch.contiguous_format)]
    outputs += [x.new_empty(rows, dtype=torch.float32)
                for _ in range(2 if op == "layer_norm" else 1)]
    inputs = [dense(t) for t in (x, weight, bias) if t is not None]
    launch(op, n, rows, x.dtype, None if weight is None else weight.dtype,
           None if bias is None else bias.dtype, (False, False, False), [*inputs, *outputs], eps)
    return tuple(outputs)


@torch.library.custom_op("lnbwd::layer_norm", mutates_args=())
def _layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
                bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    check_device(x)
    shape = list(normalized_shape)
    wide = _statistics_dtype(x)
    if uses_forward_kernels() and wide == torch.float32 and math.prod(shape) > 0:
        y, mean, rstd = _forward_kernel("layer_norm", x, shape, weight, bias, eps)
        return y, mean, rstd
    mixed = any(p is not None and p.dtype != x.dtype for p in (weight, bias))
    if x.device.type == "cpu" or mixed:
        # PyTorch's kernels take one type, and on the CPU they round the statistics to it.
        y, mean, rstd = torch.native_layer_norm(
            x.to(wide), shape, None if weight is None else weight.to(wide),
            None if bias is None else bias.to(wide), eps)
        y = y.to(x.dtype)
    else:
        y, mean, rstd = torch.native_layer_norm(x, shape, weight, bias, eps)
    return y.contiguous(), mean.reshape(-1).to(wide), rstd.reshape(-1).to(wide)


@_layer_norm.register_fake
def _(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None,
      eps: float) -> tuple[Tensor, Tensor, Tensor]:
    rows = math.prod(x.shape[:x.dim() - len(normalized_shape)])
    statistics = _statistics_dtype(x)
    return (torch.empty_like(x, memory_format=torch.contiguous_format),
            x.new_empty(rows, dtype=statistics), x.new_empty(rows, dtype=statistics))


@torch.library.custom_op("lnbwd::layer_norm_bwd", mutates_args=())
def _layer_norm_bwd(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None,
                    bias: Tensor | None, normalized_shape: Sequence[int],
                    mask: Sequence[bool]) -> tuple[Tensor, Tensor, Tensor]:
    # The host's time for this function is what a training step of small layers waits for.
    dtype = x.dtype
    if not x.is_cuda:
        check_device(x, "x")
    wants = (mask[0], mask[1] and weight is not None, mask[2] and bias is not None)
    if dtype == torch.float64:
        leading = [*x.shape[:x.dim() - len(normalized_shape)], *[1] * len(normalized_shape)]
        grads = torch.ops.aten.native_layer_norm_backward(
            dy, x, list(normalized_shape), mean.view(leading), rstd.view(leading), weight, bias,
            list(wants))
        # None stands for a gradient that was not asked for, and PyTorch may return views.
        first, second, third = (g.clone() if g is not None else _empty(x) for g in grads)
        return first, second, third
    dx = _empty_like(x) if wants[0] else _empty(x)
    dweight = _empty_like(weight) if wants[1] and weight is not None else _empty(x)
    dbias = _empty_like(bias) if wants[2] and bias is not None else _empty(x)
    n = math.prod(normalized_shape)
    if n == 0 or wants == _NOTHING:
        return dx, dweight, dbias
    if weight is None:
        tensors = [dense(dy), dense(x), dense(mean), dense(rstd)]
    else:
        tensors = [dense(dy), dense(x), dense(weight), dense(mean), dense(rstd)]
    if wants[0]:
        tensors.append(dx)
    if wants[1]:
        tensors.append(dweight)
    if wants[2]:
        tensors.append(dbias)
    launch("layer_norm_bwd", n, mean.numel(), dtype, None if weight is None else weight.dtype,
           None if bias is None else bias.dtype, wants, tensors)
    return dx, dweight, dbias


@_layer_norm_bwd.register_fake
def _(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None,
      bias: Tensor | None, normalized_shape: Sequence[int],
      mask: Sequence[bool]) -> tuple[Tensor, Tensor, Tensor]:
    def like(tensor: Tensor | None, want: bool) -> Tensor:
        if tensor is None or not want:
            return x.new_empty(0)
        return torch.empty_like(tensor, memory_format=torch.contiguous_format)

    return like(x, mask[0]), like(weight, mask[1]), like(bias, mask[2])


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
    needs = ctx.needs_input_grad
    mask = [needs[0], weight is not None and needs[2], bias is not None and needs[3]]
    dx, dweight, dbias = _call("layer_norm_bwd")(
        dy.to(x.dtype), x, mean, rstd, weight, bias, ctx.normalized_shape, mask)
    return (dx if mask[0] else None, None, dweight if mask[1] else None,
            dbias if mask[2] else None, None)


_layer_norm.register_autograd(_layer_norm_backward, setup_context=_layer_norm_setup)


# --------------------------------------------------------------------------------------------------
# RMSNorm
# --------------------------------------------------------------------------------------------------


# One kernel for the forward pass, in PyTorch since 2.9.
_FUSED_RMS_NORM = getattr(torch.ops.aten, "_fused_rms_norm", None)


@torch.library.custom_op("lnbwd::rms_norm", mutates_args=())
def _rms_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
              eps: float) -> tuple[Tensor, Tensor]:
    check_device(x)
    wide = _statistics_dtype(x)
    if uses_forward_kernels() and wide == torch.float32 and math.prod(normalized_shape) > 0:
        y, rstd = _forward_kernel("rms_norm", x, normalized_shape, weight, None, eps)
        return y, rstd
    if x.device.type == "cuda" and (weight is None or weight.dtype == x.dtype) and _FUSED_RMS_NORM:
        y, rstd = _FUSED_RMS_NORM(x, list(normalized_shape), weight, eps)
        return y.contiguous(), rstd.reshape(-1).to(wide)
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    values = x.to(wide)
    rstd = torch.rsqrt(values.square().mean(dims, keepdim=True) + eps)
    y = values * rstd
    if weight is not None:
        y = y * weight
    return y.to(x.dtype).contiguous(), rstd.reshape(-1)


@_rms_norm.register_fake
def _(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None,
      eps: float) -> tuple[Tensor, Tensor]:
    rows = math.prod(x.shape[:x.dim() - len(normalized_shape)])
    return (torch.empty_like(x, memory_format=torch.contiguous_format),
            x.new_empty(rows, dtype=_statistics_dtype(x)))


@torch.library.custom_op("lnbwd::rms_norm_bwd", mutates_args=())
def _rms_norm_bwd(dy: Tensor, x: Tensor, rstd: Tensor, weight: Tensor | None,
                  normalized_shape: Sequence[int], mask: Sequence[bool]) -> tuple[Tensor, Tensor]:
    if not x.is_cuda:
        check_device(x, "x")
    wants = (mask[0], mask[1] and weight is not None, False)
    n = math.prod(normalized_shape)
    if x.dtype == torch.float64:
        dx, dweight = _rms_norm_formula(dy, x, rstd, weight, normalized_shape)
        return (dx.clone() if wants[0] else _empty(x),
                dweight.clone() if wants[1] and dweight is not None else _empty(x))
    dx = _empty_like(x) if wants[0] else _empty(x)
    dweight = _empty_like(weight) if wants[1] and weight is not None else _empty(x)
    if n == 0 or wants == _NOTHING:
        return dx, dweight
    tensors = [dense(dy), dense(x)]
    # The scale is no part of its own gradient: a kernel for that alone does not take it.
    if weight is not None:
        tensors.append(dense(weight))
    tensors.append(dense(rstd))
    tensors += [t for t, want in zip((dx, dweight), wants, strict=False) if want]
    launch("rms_norm_bwd", n, rstd.numel(), x.dtype, None if weight is None else weight.dtype,
           None, wants, tensors)
    return dx, dweight


@_rms_norm_bwd.register_fake
def _(dy: Tensor, x: Tensor, rstd: Tensor, weight: Tensor | None, normalized_shape: Sequence[int],
      mask: Sequence[bool]) -> tuple[Tensor, Tensor]:
    return (torch.empty_like(x, memory_format=torch.contiguous_format) if mask[0]
            else x.new_empty(0),
            torch.empty_like(weight, memory_format=torch.contiguous_format)
            if mask[1] and weight is not None else x.new_empty(0))


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
    needs = ctx.needs_input_grad
    mask = [needs[0], weight is not None and needs[2]]
    dx, dweight = _call("rms_norm_bwd")(dy.to(x.dtype), x, rstd, weight, ctx.normalized_shape, mask)
    return dx if mask[0] else None, None, dweight if mask[1] else None, None


_rms_norm.register_autograd(_rms_norm_backward, setup_context=_rms_norm_setup)


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


_layer_norm_bwd.register_autograd(_layer_norm_bwd_backward, setup_context=_layer_norm_bwd_setup)


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


_rms_norm_bwd.register_autograd(_rms_norm_bwd_backward, setup_context=_rms_norm_bwd_setup)


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


def _layer_norm_vmap(info: Any, in_dims: tuple[Any, ...], x: Tensor,
                     normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None,
                     eps: float) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    op = torch.ops.lnbwd.layer_norm
    dims = (in_dims[0], None, in_dims[2], in_dims[3], None)
    if in_dims[2] is None and in_dims[3] is None:
        y, mean, rstd = op(x.movedim(in_dims[0], 0), normalized_shape, weight, bias, eps)
        size = info.batch_size
        return (y, mean.view(size, -1), rstd.view(size, -1)), (0, 0, 0)
    return _loop(op, info.batch_size, dims, (x, normalized_shape, weight, bias, eps))


def _layer_norm_bwd_vmap(info: Any, in_dims: tuple[Any, ...], dy: Tensor, x: Tensor, mean: Tensor,
                         rstd: Tensor, weight: Tensor | None, bias: Tensor | None,
                         normalized_shape: Sequence[int],
                         mask: Sequence[bool]) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    op = torch.ops.lnbwd.layer_norm_bwd
    size = info.batch_size
    if in_dims[4] is None and not mask[1] and not mask[2]:
        dy, x, mean, rstd = (_front(t, d, size) for t, d in  # type: ignore[assignment]
                             zip((dy, x, mean, rstd), in_dims[:4], strict=True))
        dx, dweight, dbias = op(dy, x, mean.reshape(-1), rstd.reshape(-1), weight, bias,
                                normalized_shape, mask)
        return (dx, dweight.expand(size, 0), dbias.expand(size, 0)), (0, 0, 0)
    return _loop(op, size, (*in_dims[:6], None, None),
                 (dy, x, mean, rstd, weight, bias, normalized_shape, mask))


def _rms_norm_vmap(info: Any, in_dims: tuple[Any, ...], x: Tensor, normalized_shape: Sequence[int],
                   weight: Tensor | None,
                   eps: float) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    op = torch.ops.lnbwd.rms_norm
    if in_dims[2] is None:
        y, rstd = op(x.movedim(in_dims[0], 0), normalized_shape, weight, eps)
        return (y, rstd.view(info.batch_size, -1)), (0, 0)
    return _loop(op, info.batch_size, (in_dims[0], None, in_dims[2], None),
                 (x, normalized_shape, weight, eps))


def _rms_norm_bwd_vmap(info: Any, in_dims: tuple[Any, ...], dy: Tensor, x: Tensor, rstd: Tensor,
                       weight: Tensor | None, normalized_shape: Sequence[int],
                       mask: Sequence[bool]) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    op = torch.ops.lnbwd.rms_norm_bwd
    size = info.batch_size
    if in_dims[3] is None and not mask[1]:
        dy, x, rstd = (_front(t, d, size) for t, d in  # type: ignore[assignment]
                       zip((dy, x, rstd), in_dims[:3], strict=True))
        dx, dweight = op(dy, x, rstd.reshape(-1), weight, normalized_shape, mask)
        return (dx, dweight.expand(size, 0)), (0, 0)
    return _loop(op, size, (*in_dims[:4], None, None),
                 (dy, x, rstd, weight, normalized_shape, mask))


_layer_norm.register_vmap(_layer_norm_vmap)
_layer_norm_bwd.register_vmap(_layer_norm_bwd_vmap)
_rms_norm.register_vmap(_rms_norm_vmap)
_rms_norm_bwd.register_vmap(_rms_norm_bwd_vmap)

# --------------------------------------------------------------------------------------------------
# torch.func's transforms (grad, vjp, jacrev) do not take the autograd formula of a custom operator,
# but that of an autograd.Function. So the same formulas again, for use inside of them alone.
# --------------------------------------------------------------------------------------------------


def _function(name: str, setup: Callable[..., None], backward: Callable[..., Any]) -> Any:
    """The autograd.Function of an operator."""
    operator = getattr(torch.ops.lnbwd, name)
    return type(name, (torch.autograd.Function,), {
        "generate_vmap_rule": True,
        "forward": staticmethod(lambda *arguments: operator(*arguments)),
        "setup_context": staticmethod(setup), "backward": staticmethod(backward)})


_FUNCTIONS = {
    "layer_norm": _function("layer_norm", _layer_norm_setup, _layer_norm_backward),
    "layer_norm_bwd": _function("layer_norm_bwd", _layer_norm_bwd_setup, _layer_norm_bwd_backward),
    "rms_norm": _function("rms_norm", _rms_norm_setup, _rms_norm_backward),
    "rms_norm_bwd": _function("rms_norm_bwd", _rms_norm_bwd_setup, _rms_norm_bwd_backward),
}


def _call(name: str) -> Any:
    """The operator; inside of torch.func's transforms its autograd.Function."""
    if not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active():
        return _FUNCTIONS[name].apply
    return getattr(torch.ops.lnbwd, name)


def call_layer_norm(*arguments: Any) -> Tensor:
    """y of lnbwd::layer_norm, inside of torch.func's transforms too."""
    y: Tensor = _call("layer_norm")(*arguments)[0]
    return y


def call_rms_norm(*arguments: Any) -> Tensor:
    """y of lnbwd::rms_norm, likewise."""
    y: Tensor = _call("rms_norm")(*arguments)[0]
    return y


# Under autocast on a GPU PyTorch's layer_norm computes and returns float32; so does this one.
torch.library.register_autocast("lnbwd::layer_norm", "cuda", torch.float32)
