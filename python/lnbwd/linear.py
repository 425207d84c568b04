# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm and the linear layer after it as one operation, whose gradient is derived.

The forward pass is a named operation with a product of matrices; the compiler derives the gradient
from it. docs/layer-norm-linear.md derives what it finds. Either pass may as well go by PyTorch's
product with row programs of ours around it: :mod:`lnbwd.linear_passes` has the ways. Here are the
functions for users, and the derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._arguments import (
    KERNEL_TYPES,
    check_dense,
    check_eps,
    check_parameter,
    check_sizes,
    check_tensor,
)
from .batch_invariance import is_batch_invariant
from .errors import LnbwdError
from .launching import check_device, dense
from .linear_passes import INPUTS, Layer, backward, find_layer, forward
from .operations import LAYER_NORM, RMS_NORM
from .operators import eager, gradients_by_torch, is_derived, refuse_forward_mode, reshaped
from .ops import NORMS
from .regions_op import is_plain

__all__ = ["layer_norm_linear", "rms_norm_linear"]

_MOST_KNOWN = 4096
_is_compiling = torch.compiler.is_compiling


def _allows_tf32() -> bool:
    """What PyTorch's own products follow."""
    # Where this was set, which PyTorch has since 2.9, the older question is an error.
    precision = getattr(torch.backends.cuda.matmul, "fp32_precision", None)
    if precision is None:
        return torch.get_float32_matmul_precision() != "highest"
    return bool(precision == "tf32")


def _describe(x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None, b: Tensor | None,
              norm: str, epsilon: float) -> tuple[Layer, dict[str, Tensor]]:
    """The layer of a call, and its tensors by the names of the operands."""
    columns = {name: dense(t) for name, t in (("gamma", gamma), ("beta", beta), ("b", b))
               if t is not None}
    layer = find_layer(norm, x.shape[1], w.shape[0], x.dtype,
                       tuple([(name, t.dtype) for name, t in columns.items()]), epsilon,
                       x.dtype == torch.float32 and _allows_tf32())
    return layer, {"x": dense(x), "w": dense(w), **columns}


def _by_torch(norm: str, eps: float, x: Tensor, w: Tensor, gamma: Tensor | None,
              beta: Tensor | None, b: Tensor | None) -> Tensor:
    """The layer by PyTorch's operations."""
    z = NORMS[norm].by_torch(x, x.shape[-1:], (gamma, beta), eps)[0]
    return torch.nn.functional.linear(z, w, None if b is None else b.to(z.dtype))


def _flat(tensor: Tensor) -> Tensor:
    """All rows of a tensor, one below another. (A call that changes nothing costs, too.)"""
    return tensor if tensor.dim() == 2 else tensor.reshape(-1, tensor.shape[-1])


class _NormLinear(torch.autograd.Function):
    """y of a norm with a linear layer, for x of any shape."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                b: Tensor | None, norm: str, eps: float) -> Tensor:
        results = forward(*_describe(_flat(x), w, gamma, beta, b, norm, eps))
        ctx.save_for_backward(x, w, gamma, beta, b, results.get("mean"), results["rstd"])
        ctx.norm, ctx.eps = norm, eps
        y = results["out"]
        return y if x.dim() == 2 else reshaped(y, (*x.shape[:-1], w.shape[0]))

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        x, w, gamma, beta, b, mean, rstd = ctx.saved_tensors
        norm, eps, needs = ctx.norm, ctx.eps, ctx.needs_input_grad[:5]
        gradients: Sequence[Tensor | None]
        if torch.is_grad_enabled() or not is_plain((dout, w)):
            found = gradients_by_torch(functools.partial(_by_torch, norm, eps),
                                       (x, w, gamma, beta, b), needs, dout)
            gradients = [gradient if want else None
                         for gradient, want in zip(found, needs, strict=True)]
        else:
            flat = _flat(x)
            layer, known = _describe(flat, w, gamma, beta, b, norm, eps)
            known["dout"], known["rstd"] = dense(_flat(dout)), dense(rstd)
            if mean is not None:
                known["mean"] = dense(mean)
            named = backward(layer, known, [name for name, want in zip(INPUTS, needs, strict=True)
                                            if want])
            dx, *gradients = [named.get("d" + name) for name in INPUTS]
            gradients = (dx if dx is None or x is flat else dx.view(x.shape), *gradients)
        return (*gradients, None, None)

    jvp = staticmethod(refuse_forward_mode("a norm with a linear layer"))


_apply = eager(_NormLinear)


# --------------------------------------------------------------------------------------------------
# For users
# --------------------------------------------------------------------------------------------------


# What was checked, and is of types that kernels take.
_sound: set[Any] = set()


def _check(norm: str, normalized_shape: Sequence[int] | int, eps: float,
           tensors: Sequence[Tensor | None]) -> None:
    """Raises TypeError or ValueError for what does not fit; the message names it. ``tensors`` are
    x, weight, the norm's weight and bias, and bias."""
    key: Any
    try:
        key = (norm, normalized_shape, eps,
               *[t if t is None else (t.shape, t.dtype, t.device, t.layout) for t in tensors])
        if key in _sound:
            return
    except (AttributeError, RuntimeError, TypeError):  # The last but one of nested tensors.
        key = None
    x, weight, norm_weight, norm_bias, bias = tensors
    check_tensor("x", x)
    check_tensor("weight", weight)
    assert x is not None and weight is not None
    check_dense("x", x)
    shape = check_sizes(normalized_shape)
    if len(shape) != 1 or x.dim() < 1 or x.shape[-1] != shape[0]:
        raise ValueError("normalized_shape: expected the last dimension of x, one number, got "
                         f"{shape} for an x of {list(x.shape)}")
    if weight.dim() != 2 or weight.shape[1] != shape[0]:
        raise ValueError(f"weight: expected the shape [N, {shape[0]}], as many columns as "
                         f"normalized_shape says, got {list(weight.shape)}")
    check_eps(eps)
    if x.dtype == torch.float64:
        return  # PyTorch computes it, and says the rest.
    if weight.dtype != x.dtype:
        raise TypeError(f"weight: expected the type of x, {x.dtype}, got {weight.dtype}; convert "
                        "one of them, or leave autocast to torch.nn's own modules")
    scale = "ln_weight" if norm == LAYER_NORM else "norm_weight"
    for name, parameter, expected in (
            (scale, norm_weight, shape), ("ln_bias", norm_bias, shape),
            ("weight", weight, weight.shape), ("bias", bias, weight.shape[:1])):
        check_parameter(name, parameter, expected, "x", x, KERNEL_TYPES)
    if key is not None:
        if len(_sound) >= _MOST_KNOWN:
            _sound.clear()
        _sound.add(key)


def layer_norm_linear(x: Tensor, normalized_shape: Sequence[int] | int, ln_weight: Tensor | None,
                      ln_bias: Tensor | None, weight: Tensor, bias: Tensor | None = None,
                      eps: float = 1e-5) -> Tensor:
    """LayerNorm and a linear layer: ``linear(layer_norm(x, ...), weight, bias)`` in one operation.

    Its gradient is derived, and keeps x, the weights and two numbers for each row, but not the
    normalised rows. Each pass goes by PyTorch's product with our kernels around it, or of the
    smallest sizes by kernels of ours (:func:`lnbwd.linear_passes.forced`). Products of
    float32 are exact unless ``torch.set_float32_matmul_precision("high")``, or
    ``torch.backends.cuda.matmul.allow_tf32``, allows tf32 and the chip has it. PyTorch's
    operations compute float64, distributed tensors, second derivatives, and what is inside of
    torch.compile, torch.func or a dispatch mode.

    Args:
        x: ``[..., K]``, float16, bfloat16 or float32, on a CUDA or ROCm device, or simulated
            (:func:`lnbwd.simulate`).
        normalized_shape: ``K`` or ``(K,)``: one dimension, since it is the one that is multiplied.
        ln_weight, ln_bias: scale and shift of the norm, ``[K]``, or None.
        weight: ``[N, K]``, of x's type.
        bias: ``[N]``, or None.
        eps: what is added to the variance.

    Returns:
        ``[..., N]``, of x's type.

    Raises:
        ValueError, TypeError: an argument does not fit; the message names it.
        LnbwdError: no kernel can run where x is.
    """
    return _norm_linear(LAYER_NORM, x, normalized_shape, ln_weight, ln_bias, weight, bias, eps)


def rms_norm_linear(x: Tensor, normalized_shape: Sequence[int] | int, norm_weight: Tensor | None,
                    weight: Tensor, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """RMSNorm and a linear layer, as :func:`layer_norm_linear`: ``linear(rms_norm(x, ...), ...)``.

    Args:
        x, normalized_shape, weight, bias: as there.
        norm_weight: scale of the norm, ``[K]``, or None.
        eps: what is added to the mean square.
    """
    return _norm_linear(RMS_NORM, x, normalized_shape, norm_weight, None, weight, bias, eps)


def _norm_linear(norm: str, x: Tensor, normalized_shape: Sequence[int] | int,
                 norm_weight: Tensor | None, norm_bias: Tensor | None, weight: Tensor,
                 bias: Tensor | None, eps: float) -> Tensor:
    tensors = (x, weight, norm_weight, norm_bias, bias)
    _check(norm, normalized_shape, eps, tensors)
    if is_batch_invariant():
        raise LnbwdError(f"{norm}_linear: expected lnbwd.batch_invariant(False), for a product of "
                         "matrices has no canonical order of additions; call lnbwd."
                         f"{norm} and torch.nn.functional.linear, whose product is PyTorch's")
    arguments = (*tensors, norm, float(eps))
    if (x.dtype == torch.float64 or x.shape[-1] == 0 or _is_compiling()
            or not is_plain((x, weight))):
        return _by_torch(norm, float(eps), *tensors)
    check_device(x, "x")
    y: Tensor
    if is_derived(*tensors):
        y = _apply(*arguments)
    else:
        y = forward(*_describe(_flat(x), *arguments[1:]))["out"]
        y = y if x.dim() == 2 else y.view(*x.shape[:-1], weight.shape[0])
    return y
