# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm and the linear layer after it as one operation, whose gradient is derived.

The forward pass is a named operation with a product of matrices; the compiler derives the gradient
from it. docs/layer-norm-linear.md derives what it finds. Either pass may as well go by PyTorch's
product with row programs of ours around it: :mod:`lnbwd.linear_passes` has the ways. Here are the
operators, and the functions for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._arguments import KERNEL_TYPES, check_eps, check_parameter, check_tensor, check_type
from .batch_invariance import is_batch_invariant
from .errors import LnbwdError
from .launching import check_device, dense, simulated_chip
from .linear_passes import INPUTS, Layer, backward, find_layer, forward
from .operations import LAYER_NORM, RMS_NORM
from .operators import (
    define,
    define_kernel,
    eager,
    gradients_by_torch,
    gradients_like,
    is_derived,
    refuse_forward_mode,
    reshaped,
    transforms_are_active,
)
from .ops import NORMS
from .regions_op import is_plain

__all__ = ["layer_norm_linear", "rms_norm_linear"]

_GRADIENTS = tuple("d" + name for name in INPUTS)
_MOST_KNOWN = 4096
_is_compiling = torch.compiler.is_compiling

# --------------------------------------------------------------------------------------------------
# The operators: those with an underscore lie below autograd
# --------------------------------------------------------------------------------------------------


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
    known = {"x": dense(x), "w": dense(w)}
    if gamma is not None:
        known["gamma"] = dense(gamma)
    if beta is not None:
        known["beta"] = dense(beta)
    if b is not None:
        known["b"] = dense(b)
    dtype = x.dtype
    layer = find_layer(norm, x.shape[1], w.shape[0], dtype,
                       None if gamma is None else gamma.dtype,
                       None if beta is None else beta.dtype, None if b is None else b.dtype,
                       epsilon, dtype == torch.float32 and _allows_tf32())
    return layer, known


def _run(x: Tensor, *others: Any) -> tuple[Tensor, ...]:
    """The operator of the forward pass."""
    check_device(x, "x")
    results = forward(*_describe(x, *others))
    mean = results.get("mean")
    return results["out"], x.new_empty(0) if mean is None else mean, results["rstd"]


def _gradients(dout: Tensor, tensors: Sequence[Any], norm: str, eps: float,
               mask: Sequence[bool]) -> dict[str, Tensor]:
    """Those gradients that the mask wants of arguments that are there: "dx", "dw", ... The tensors
    are the operator's, x to b, and the statistics."""
    x, w, gamma, beta, b, mean, rstd = tensors
    layer, known = _describe(x, w, gamma, beta, b, norm, eps)
    known["dout"], known["rstd"] = dense(dout), dense(rstd)
    if norm == LAYER_NORM:
        known["mean"] = dense(mean)
    wanted = [name for name, want in zip(INPUTS, mask, strict=True) if want and name in known]
    return backward(layer, known, wanted) if wanted else {}


def _run_bwd(dout: Tensor, *others: Any) -> tuple[Tensor, ...]:
    """The operator of the gradient."""
    check_device(dout, "dout")
    gradients = _gradients(dout, others[:7], *others[7:])
    return tuple(gradients[name] if name in gradients else dout.new_empty(0)
                 for name in _GRADIENTS)


def _fake_norm_linear(x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                      b: Tensor | None, norm: str, eps: float) -> tuple[Tensor, ...]:
    rows = x.shape[0]
    mean = x.new_empty(rows if norm == LAYER_NORM else 0,
                       dtype=torch.float32 if norm == LAYER_NORM else x.dtype)
    return x.new_empty(rows, w.shape[0]), mean, x.new_empty(rows, dtype=torch.float32)


def _fake_norm_linear_bwd(dout: Tensor, *others: Any) -> tuple[Tensor, ...]:
    return gradients_like(dout, others[:5], others[-1])


def _by_torch(*arguments: Any) -> tuple[Tensor, ...]:
    """The operator of the forward pass by PyTorch's operations."""
    x, w, gamma, beta, b, norm, eps = arguments
    z, *statistics = NORMS[norm].by_torch(x, x.shape[-1:], (gamma, beta), eps)
    y = torch.nn.functional.linear(z, w, None if b is None else b.to(z.dtype))
    return y, statistics[0] if norm == LAYER_NORM else x.new_empty(0), statistics[-1]


def _gradient(dout: Tensor, *others: Any) -> tuple[Tensor, ...]:
    """The operator of the gradient, with a derivative of PyTorch's."""
    tensors, (norm, eps, mask) = others[:5], others[7:]
    results: tuple[Tensor, ...]
    if is_derived(dout, *tensors):
        results = gradients_by_torch(lambda *tensors: _by_torch(*tensors, norm, eps)[0], tensors,
                                     mask, dout)
    else:
        results = _raw_bwd(dout, *others)
    return results


_ARGUMENTS = "Tensor x, Tensor w, Tensor? gamma, Tensor? beta, Tensor? b"
_SCHEMA = f"({_ARGUMENTS}, str norm, float eps) -> (Tensor, Tensor, Tensor)"
_SCHEMA_BWD = (f"(Tensor dout, {_ARGUMENTS}, Tensor mean, Tensor rstd, str norm, float eps, "
               "bool[] mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")
# Without a frame of Python in between.
_raw = define_kernel("norm_linear", _SCHEMA, _run, _fake_norm_linear)[1]
_raw_bwd = define_kernel("norm_linear_bwd", _SCHEMA_BWD, _run_bwd, _fake_norm_linear_bwd)[1]


def _flat(tensor: Tensor) -> Tensor:
    """All rows of a tensor, one below another. (A call that changes nothing costs, too.)"""
    return tensor if tensor.dim() == 2 else tensor.reshape(-1, tensor.shape[-1])


class _EagerNormLinear(torch.autograd.Function):
    """y of a norm with a linear layer, for x of any shape; the operator's own way to autograd takes
    the host several times as long."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                b: Tensor | None, norm: str, eps: float) -> Tensor:
        y: Tensor
        operator = _run if is_plain((x, w)) else _raw
        y, mean, rstd = operator(_flat(x), w, gamma, beta, b, norm, eps)
        ctx.save_for_backward(x, w, gamma, beta, b, mean, rstd)
        ctx.norm, ctx.eps = norm, eps
        return y if x.dim() == 2 else reshaped(y, (*x.shape[:-1], w.shape[0]))

    @staticmethod
    def backward(ctx: Any, dout: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, *others = ctx.saved_tensors
        flat, needs = _flat(x), ctx.needs_input_grad[:5]
        gradients: Sequence[Tensor | None]
        if torch.is_grad_enabled() or not is_plain((dout, others[0])):
            found = _gradient(_flat(dout), flat, *others, ctx.norm, ctx.eps, needs)
            gradients = [gradient if want else None
                         for gradient, want in zip(found, needs, strict=True)]
        else:
            named = _gradients(_flat(dout), (flat, *others), ctx.norm, ctx.eps, needs)
            gradients = [named.get(name) for name in _GRADIENTS]
        dx, *gradients = gradients
        return (dx if dx is None or x is flat else dx.view(x.shape), *gradients, None, None)

    jvp = staticmethod(refuse_forward_mode("a norm with a linear layer"))


class _NormLinear(_EagerNormLinear):
    """The operator's results."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        *tensors, ctx.norm, ctx.eps = arguments
        results = _raw(*arguments)
        ctx.save_for_backward(*tensors, *results[1:])
        ctx.mark_non_differentiable(*results[1:])
        return results


_eager, _whole = eager(_EagerNormLinear), eager(_NormLinear)


def _function(*arguments: Any) -> Any:
    """The operator with its derivative, inside of torch.func's transforms too."""
    return _by_torch(*arguments) if transforms_are_active() else _whole(*arguments)


define("norm_linear", _SCHEMA, _function)
define("norm_linear_bwd", _SCHEMA_BWD, _gradient)


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
               *[t if t is None else (t.shape, t.dtype, t.device) for t in tensors])
        if key in _sound:
            return
    except (AttributeError, TypeError):
        key = None
    x, weight, norm_weight, norm_bias, bias = tensors
    check_tensor("x", x)
    check_tensor("weight", weight)
    assert x is not None and weight is not None
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if len(shape) != 1 or x.dim() < 1 or x.shape[-1] != shape[0]:
        raise ValueError("normalized_shape: expected the last dimension of x, one number, got "
                         f"{shape} for an x of {list(x.shape)}")
    if weight.dim() != 2 or weight.shape[1] != shape[0]:
        raise ValueError(f"weight: expected the shape [N, {shape[0]}], as many columns as "
                         f"normalized_shape says, got {list(weight.shape)}")
    check_eps(eps)
    if x.dtype == torch.float64:
        return  # PyTorch computes it, and says the rest.
    check_type("x", x, KERNEL_TYPES)
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
    smallest sizes by kernels of ours (:func:`lnbwd.product_choice.use_product`). Products of
    float32 are exact unless ``torch.set_float32_matmul_precision("high")``, or
    ``torch.backends.cuda.matmul.allow_tf32``, allows tf32 and the chip has it. In float64 it is
    PyTorch's two operations, and so it is under torch.compile for tensors on the CPU.

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
    is_compiling = _is_compiling()
    if x.dtype == torch.float64 or x.shape[-1] == 0 or (
            is_compiling and x.is_cpu and simulated_chip() is None):
        parameters = (norm_weight, norm_bias)[:NORMS[norm].count]
        z = NORMS[norm].aten(x, x.shape[-1:], *parameters, eps)
        return torch.nn.functional.linear(z, weight, bias)
    arguments = (*tensors, norm, float(eps))
    y: Tensor
    if not (is_compiling or transforms_are_active()):
        if not is_plain((x, weight)) or is_derived(*tensors):
            y = _eager(*arguments)
            return y
        check_device(x, "x")
        y = forward(*_describe(_flat(x), *arguments[1:]), with_statistics=False)["out"]
    else:
        y = torch.ops.lnbwd.norm_linear(_flat(x), *arguments[1:])[0]
    return y if x.dim() == 2 else y.view(*x.shape[:-1], weight.shape[0])
