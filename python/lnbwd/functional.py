# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for users: drop-in replacements of PyTorch's, which check their arguments."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary

from . import quantized, rotary
from .channel_norms import batch_norm, group_norm, instance_norm
from .core.base.operations import LAYER_NORM, RMS_NORM
from .ops import aten, native
from .ops.arguments import (
    RMS_EPSILONS,
    TYPES,
    check_dense,
    check_eps,
    check_norm,
    check_number,
    check_parameter,
    check_rms_eps,
    check_tensor,
    check_whole,
    subclass_watchers,
)
from .ops.launching import falls_back
from .ops.norms import NORMS, Norm, convert_parameter
from .ops.registration import is_derived, is_pytorchs, transforms_are_active
from .ops.row_functions import Columns, Rows, Scalars, Seed, rowwise, uniform
from .quantized import *  # noqa: F403 (all of its functions are here, too)

__all__ = ["batch_norm", "cross_entropy", "dropout_add_layer_norm", "dropout_add_rms_norm",
           "gated_rms_norm", "geglu", "group_norm", "instance_norm", "layer_norm", "log_softmax",
           "rms_norm", "rms_norm_rope", "softmax", "swiglu"]
__all__ += quantized.__all__

_HALVES = (torch.float16, torch.bfloat16)
# What normalized_shape usually is; other kinds are turned into a list.
_SHAPES = (tuple, torch.Size, list)


def know_distributed_tensors() -> bool:
    """Registers the rules for distributed tensors, if PyTorch's module for them is in use; whether
    they were registered now."""
    name = f"{__package__}.ops.sharding"
    if "torch.distributed.tensor" not in sys.modules or name in sys.modules:
        return False
    importlib.import_module(name)
    return True


know_distributed_tensors()
subclass_watchers.append(know_distributed_tensors)

is_compiling = torch.compiler.is_compiling
is_autocast_enabled = torch.is_autocast_enabled
is_grad_enabled = torch.is_grad_enabled
overridden = aten.active


_LAYER_NORM, _RMS_NORM = NORMS[LAYER_NORM], NORMS[RMS_NORM]


def _normalise(norm: Norm, input: Tensor, normalized_shape: Sequence[int] | int,
               parameters: tuple[Tensor | None, ...], eps: float | None) -> Tensor:
    """A norm for users; checks all arguments."""
    failure = None
    y: Tensor
    if not isinstance(input, Tensor) and has_torch_function_unary(input):
        y = handle_torch_function(globals()[norm.name], (input,), input, normalized_shape,
                                  *parameters, eps)
        return y
    # The usual call, at the least cost; the words for what is refused are below.
    if type(normalized_shape) in _SHAPES and type(eps) is float and eps >= 0:
        normalized_shape = tuple(normalized_shape)  # type: ignore[arg-type]
        if not is_compiling():
            try:
                if overridden and aten.serves(input, *parameters):
                    return norm.by_pytorch(input, normalized_shape, *parameters, eps)
                if not transforms_are_active() and not (
                        norm.is_widened and is_autocast_enabled("cuda")):
                    if is_grad_enabled() or is_derived():
                        return norm.eager(input, normalized_shape, *parameters, eps)
                    # (An autograd.Function takes the host another 2 microseconds.)
                    y, *_ = norm.raw(input, normalized_shape, *parameters, eps)
                    return y
            except Exception as error:
                failure = error.with_traceback(None)  # Whose frames would keep the tensors.
    shape = check_norm("input", input, normalized_shape, parameters)
    eps = check_eps(eps)
    if input.dtype == torch.float64 or 0 in shape:  # No kernel computes it.
        return norm.by_pytorch(input, shape, *(None if t is None else t.to(input.dtype)
                                               for t in parameters), eps)
    if is_compiling():
        y = getattr(torch.ops.lnbwd, norm.name)(input, shape, *parameters, eps)[0]
        return y
    if norm.is_widened and is_autocast_enabled("cuda") and input.is_cuda:
        input = input.float() if input.dtype in _HALVES else input
        parameters = tuple(t.float() if t is not None and t.dtype in _HALVES else t
                           for t in parameters)
    if transforms_are_active():
        y = norm.differentiable(input, shape, *parameters, eps)[0]
        return y
    converted = tuple(convert_parameter(t, input) for t in parameters)
    are_same = all(new is old for new, old in zip(converted, parameters, strict=True))
    if not know_distributed_tensors() and failure and are_same:
        raise failure
    return norm.eager(input, tuple(shape), *converted, eps)


def layer_norm(input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """LayerNorm, as torch.nn.functional.layer_norm, with a backward pass by lnbwd's kernels.

    Args:
        input: ``[..., *normalized_shape]``, float16, bfloat16 or float32, on a CUDA or ROCm
            device (float64: computed by PyTorch). Any strides; rows that are not dense are copied.
        normalized_shape: the trailing dimensions that are normalised together.
        weight: the scale, of shape ``normalized_shape``; None: 1. Kernels take input's type and
            float32; a parameter of another floating-point type is converted, and its gradient
            back.
        bias: the shift, likewise; None: 0.
        eps: added to the variance, 0 or more.

    Returns:
        A dense tensor of input's shape and type (under autocast on a GPU float32, as PyTorch's).

    Raises:
        TypeError, ValueError: an argument has a wrong type, shape or device; the message names it.
        LnbwdError: no kernel can run on the tensor's device, for example on the CPU outside of
            :func:`lnbwd.simulate`.
    """
    try:  # torch.jit.script stops here: lnbwd cannot be scripted (docs/python.md)
        return _normalise(_LAYER_NORM, input, normalized_shape, (weight, bias), eps)
    except RuntimeError as error:
        raise native.original(error) from None


def rms_norm(input: Tensor, normalized_shape: Sequence[int] | int, weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """RMSNorm, as torch.nn.functional.rms_norm, with a backward pass by lnbwd's kernels.

    Args:
        input, normalized_shape, weight: as for :func:`layer_norm`.
        eps: added to the mean square; None: 2^-23, the epsilon of float32 (float64: its own), as
            PyTorch's.

    Returns:
        A dense tensor of input's shape and type (under autocast on a GPU float32, if the release of
        PyTorch has it so: from 2.12 on).

    Raises:
        The errors of :func:`layer_norm`.
    """
    if eps is None and isinstance(input, Tensor):
        eps = RMS_EPSILONS.get(input.dtype)
    try:  # torch.jit.script stops here: lnbwd cannot be scripted (docs/python.md)
        return _normalise(_RMS_NORM, input, normalized_shape, (weight,), eps)
    except RuntimeError as error:
        raise native.original(error) from None


def _widened(input: Tensor) -> torch.dtype:
    """The type of a result that PyTorch computes in float32 under autocast."""
    is_widened = input.dtype in _HALVES and input.is_cuda and is_autocast_enabled("cuda")
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
def _cross_entropy(input: Rows, target: Scalars, ignore_index: int, label_smoothing: float,
                   is_summed: bool) -> Any:
    """The losses; or their sum, and how many of them count."""
    logits, target = input.float(), target.float()
    largest = logits.amax(-1, keepdim=True).detach()
    shifted = logits - largest
    total = shifted.exp().sum(-1, keepdim=True)
    classes = torch.arange(input.shape[-1], dtype=torch.float32, device=input.device)
    loss = total.log() - (1 - label_smoothing) * torch.where(classes == target, shifted, 0).sum(
        -1, keepdim=True)
    if label_smoothing:
        loss = loss - label_smoothing * shifted.mean(-1, keepdim=True)
    is_ignored = target == ignore_index
    is_right = is_ignored | ((target >= 0) & (target < input.shape[-1]))
    losses = torch.where(is_ignored, 0, loss * torch.where(is_right, 1.0, math.nan))
    return (losses.sum(), torch.where(is_ignored, 0.0, 1.0).sum()) if is_summed else losses


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *,
                  ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """Cross entropy, as torch.nn.functional.cross_entropy, by kernels for the result and its
    gradient. Losses are computed and summed in float32.

    Args:
        input: logits ``[..., V]``, one row for each target; float16, bfloat16 or float32 (float64:
            computed by PyTorch). V is from 1 to 2^24. PyTorch's form ``[B, V, ...]`` of more than
            two dimensions is copied unless it is channels_last, and refused if a target fits both.
        target: classes ``[...]``, int64, from 0 to V - 1 or ``ignore_index``; others give NaN.
            A kernel takes them as float32, which is exact for these numbers.
        weight: not supported: None.
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
    check_tensor("target", target)
    if weight is not None:
        raise ValueError("weight: expected None, got class weights, which are not supported; "
                         "multiply the losses of reduction='none' by weight[target], or call "
                         "torch.nn.functional.cross_entropy")
    if target.dtype != torch.int64:
        raise TypeError(f"target: expected classes of type int64, got {target.dtype}; convert "
                        "classes by target.long(). Class probabilities are not supported: call "
                        "torch.nn.functional.cross_entropy")
    is_last = input.dim() > 0 and target.shape == input.shape[:-1]
    is_second = input.dim() > 2 and target.shape == (input.shape[0], *input.shape[2:])
    if (is_last and is_second) or not (is_last or is_second):  # (Of symbols no comparison.)
        remedy = "; it is both. Pass input.flatten(0, -2) and target.flatten()" if is_last else ""
        size = list(input.shape)
        second = f", or as PyTorch has it {[*size[:1], *size[2:]]}" if len(size) > 2 else ""
        raise ValueError(f"target: expected the shape of classes {size[:-1]}{second} for an input "
                         f"of {size}, got {list(target.shape)}{remedy}")
    input = input.movedim(1, -1) if is_second else input
    if target.device != input.device:
        raise ValueError(f"target: expected a tensor on {input.device} like input, got one on "
                         f"{target.device}; move it by target.to(input.device)")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction: expected 'mean', 'sum' or 'none', got {reduction!r}")
    label_smoothing = check_number("label_smoothing", label_smoothing, "a number from 0 to 1", 0, 1)
    ignore_index = check_whole("ignore_index", ignore_index, "a whole number of 64 bits",
                               -2 ** 63, 2 ** 63 - 1)
    classes = target.reshape(-1)
    rows = input.reshape(classes.numel(), input.shape[-1])
    if (is_compiling() or input.dtype == torch.float64
            or (input.is_cpu and falls_back("lnbwd.functional.cross_entropy"))):
        losses = torch.nn.functional.cross_entropy(
            rows, classes, ignore_index=ignore_index, reduction=reduction,
            label_smoothing=label_smoothing)
        return losses.view(target.shape) if reduction == "none" else losses
    arguments = rows, classes.unsqueeze(1), ignore_index, label_smoothing
    if reduction == "none" or transforms_are_active():
        each: Tensor = _cross_entropy(*arguments, False)
        if reduction == "none":
            return each.view(target.shape).to(_widened(input))
        total, count = each.sum(), (classes != ignore_index).sum()
    else:
        total, count = _cross_entropy(*arguments, True)
    loss: Tensor = total / count.detach() if reduction == "mean" else total
    return loss.to(_widened(input))


@rowwise
def _swiglu(a: Rows, b: Rows) -> Tensor:
    return torch.nn.functional.silu(a) * b


@rowwise
def _geglu(a: Rows, b: Rows, approximate: str) -> Tensor:
    return torch.nn.functional.gelu(a, approximate=approximate) * b


def _check_pair(a: Tensor, b: Tensor, a_name: str = "a", b_name: str = "b") -> None:
    check_dense(a_name, a)
    check_dense(b_name, b)
    check_parameter(b_name, b, a.shape, a_name, a, TYPES, f" of {a_name}")


def swiglu(a: Tensor, b: Tensor) -> Tensor:
    """``silu(a) * b``, by kernels for the result and its gradient. It is rounded once.

    Args:
        a, b: of one shape of 1 to 6 dimensions; float16, bfloat16 or float32 (float64: computed by
            PyTorch), in any mix.

    Returns:
        A dense tensor of that shape, of the type that PyTorch gives the product.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    _check_pair(a, b)
    return _swiglu(a, b)


def geglu(a: Tensor, b: Tensor, approximate: str = "none") -> Tensor:
    """``gelu(a, approximate) * b``; otherwise as :func:`swiglu`.

    Args:
        approximate: "none" (by erf) or "tanh", as of torch.nn.functional.gelu.
    """
    _check_pair(a, b)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate: expected 'none' or 'tanh', got {approximate!r}")
    return _geglu(a, b, approximate)


@rowwise
def _dropout_add_norm(input: Rows, residual: Rows | None, weight: Columns | None,
                      bias: Columns | None, seed: Seed | None, p: float, eps: float,
                      is_centred: bool) -> tuple[Tensor, Tensor]:
    total = input.float()
    if seed is not None:
        total = torch.where(uniform(seed, input) >= p, total * (1 / (1 - p)), 0)
    if residual is not None:
        total = total + residual
    centred = total - total.mean(-1, keepdim=True) if is_centred else total
    y = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias).to(input.dtype), total.to(
        input.dtype if residual is None else residual.dtype)


def _add_norm(is_centred: bool, input: Tensor, residual: Tensor | None, weight: Tensor | None,
              bias: Tensor | None, p: float, training: bool, eps: float) -> tuple[Tensor, Tensor]:
    check_dense("input", input)
    check_parameter("residual", residual, input.shape, "input", input, TYPES, " of input")
    for name, parameter in (("weight", weight), ("bias", bias)):
        check_parameter(name, parameter, input.shape[-1:], "input", input, TYPES)
    p = check_number("p", p, "a probability from 0 to 1", 0, 1)
    p = p if training else 0.0
    if p == 1 or (p and (is_compiling() or transforms_are_active() or input.dtype == torch.float64
                         or (input.is_cpu and falls_back("lnbwd.functional.dropout_add_norm")))):
        input, p = torch.nn.functional.dropout(input, p), 0.0
    seed = torch.randint(2 ** 62, (), device=input.device) if p else None
    return _dropout_add_norm(input, residual, weight, bias, seed, p, eps, is_centred)


def dropout_add_layer_norm(input: Tensor, residual: Tensor | None, weight: Tensor | None = None,
                           bias: Tensor | None = None, p: float = 0.0, training: bool = True,
                           eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """``h = residual + dropout(input, p)`` and the LayerNorm of it, in one kernel, and their
    gradients in one. The numbers are drawn again in the gradient, so that no mask is kept.

    Args:
        input: ``[..., N]``, float16, bfloat16 or float32 (float64: computed by PyTorch).
        residual: of input's shape, of any of these types, or None: there is none.
        weight, bias: the scale and the shift of the norm, ``[N]``; None: 1 and 0.
        p: the probability that an element becomes 0, without ``training`` none does.
        eps: added to the variance, 0 or more.

    Returns:
        The norm, of input's type, and h, of residual's type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`. Second derivatives with dropout.
    """
    return _add_norm(True, input, residual, weight, bias, p, training, check_eps(eps))


def dropout_add_rms_norm(input: Tensor, residual: Tensor | None, weight: Tensor | None = None,
                         p: float = 0.0, training: bool = True,
                         eps: float | None = None) -> tuple[Tensor, Tensor]:
    """:func:`dropout_add_layer_norm` with an RMSNorm, whose default epsilon is that of
    :func:`rms_norm`."""
    check_dense("input", input)
    return _add_norm(False, input, residual, weight, None, p, training,
                     check_rms_eps(eps, input.dtype))


@rowwise
def _gated_rms_norm(input: Rows, gate: Rows, weight: Columns | None, eps: float) -> Tensor:
    x, z = (t if t.dtype == torch.float64 else t.float() for t in (input, gate))
    h = x * torch.nn.functional.silu(z)
    y = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)
    return (y if weight is None else y * weight).to(input.dtype)


def gated_rms_norm(input: Tensor, gate: Tensor, weight: Tensor | None = None,
                   eps: float | None = None) -> Tensor:
    """The RMSNorm of ``input * silu(gate)``, as behind the state space layers of Mamba-2, by
    kernels for the result and its gradient. It is rounded once.

    Args:
        input, gate: ``[..., N]``, of one shape; float16, bfloat16 or float32 (float64: computed by
            PyTorch), in any mix.
        weight: the scale of the norm, ``[N]``; None: 1.
        eps: as of :func:`rms_norm`.

    Returns:
        A dense tensor of input's shape and type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    _check_pair(input, gate, "input", "gate")
    check_parameter("weight", weight, input.shape[-1:], "input", input, TYPES)
    return _gated_rms_norm(input, gate, weight, check_rms_eps(eps, input.dtype))


def rms_norm_rope(input: Tensor, cos: Tensor, sin: Tensor, weight: Tensor | None = None,
                  eps: float | None = None) -> Tensor:
    """The RMSNorm of heads with rotary positions: ``h * cos + rotate_half(h) * sin`` of
    ``h = rms_norm(input, weight)``, where rotate_half swaps the halves of a head and negates the
    first, as Hugging Face's models have it.

    Args:
        input: ``[..., D]``, D even, for example ``[B, T, H, D]``; float16, bfloat16 or float32
            (float64: computed by PyTorch). Each shape compiles a kernel.
        cos, sin: tables without a gradient that broadcast to input, of two dimensions or more, for
            example ``[T, 1, D]``.
        weight: the scale of the norm, ``[D]``; None: 1.
        eps: as of :func:`rms_norm`.

    Returns:
        A dense tensor of input's shape and type.

    Raises:
        TypeError, ValueError, LnbwdError: as :func:`softmax`.
    """
    check_dense("input", input)
    if input.dim() < 2 or input.shape[-1] % 2:
        raise ValueError("input: expected two dimensions or more, the last of an even number of "
                         f"elements, got {list(input.shape)}")
    for name, table in (("cos", cos), ("sin", sin)):
        check_dense(name, table)
        if not 2 <= table.dim() <= input.dim() or any(
                own not in (1, size) for own, size in zip(
                    reversed(table.shape), reversed(input.shape), strict=False)):
            raise ValueError(f"{name}: expected two dimensions or more that broadcast to those of "
                             f"input, {list(input.shape)}, got {list(table.shape)}")
        check_parameter(name, table, table.shape, "input", input, TYPES)
        if table.requires_grad:
            raise ValueError(f"{name}: expected a tensor that needs no gradient; pass "
                             f"{name}.detach()")
    check_parameter("weight", weight, input.shape[-1:], "input", input, TYPES)
    eps = check_rms_eps(eps, input.dtype)
    cos, sin = (table.expand(*table.shape[:-1], input.shape[-1]) for table in (cos, sin))
    if is_pytorchs("a norm with rotary positions", input, cos, sin, weight):
        return rotary.by_torch(input, cos, sin, weight, eps)
    y: Tensor = rotary.apply(input.contiguous(), cos, sin, weight, eps)
    return y
