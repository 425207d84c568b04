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

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ._arguments import check_parameter, check_tensor, check_type
from .errors import LnbwdError
from .launching import check_device, dense, simulated_chip
from .linear_passes import INPUTS, Layer, backward, find_layer, forward
from .operations import LAYER_NORM, RMS_NORM
from .operators import transforms_are_active
from .ops import NORMS

__all__ = ["layer_norm_linear", "rms_norm_linear"]

_TYPES = (torch.float16, torch.bfloat16, torch.float32)
_GRADIENTS = tuple("d" + name for name in INPUTS)
_is_compiling = torch.compiler.is_compiling

# --------------------------------------------------------------------------------------------------
# The operators: those with an underscore lie below autograd
# --------------------------------------------------------------------------------------------------

_ARGUMENTS = "Tensor x, Tensor w, Tensor? gamma, Tensor? beta, Tensor? b"
_library = torch.library.Library("lnbwd", "FRAGMENT")
for _prefix in ("", "_"):
    _library.define(f"{_prefix}norm_linear({_ARGUMENTS}, str norm, float eps) -> (Tensor, Tensor, "
                    "Tensor)", tags=(torch.Tag.pt2_compliant_tag,))
    _library.define(f"{_prefix}norm_linear_bwd(Tensor dout, {_ARGUMENTS}, Tensor mean, Tensor rstd,"
                    " str norm, float eps, bool[] mask) -> (Tensor, Tensor, Tensor, Tensor, "
                    "Tensor)", tags=(torch.Tag.pt2_compliant_tag,))


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


def _run(x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None, b: Tensor | None,
         norm: str, eps: float) -> tuple[Tensor, ...]:
    results = forward(*_describe(x, w, gamma, beta, b, norm, eps))
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
    gradients = _gradients(dout, others[:7], *others[7:])
    return tuple(gradients[name] if name in gradients else dout.new_empty(0)
                 for name in _GRADIENTS)


def _norm_linear_kernel(x: Tensor, *others: Any) -> tuple[Tensor, ...]:
    check_device(x, "x")
    return _run(x, *others)


def _norm_linear_bwd_kernel(dout: Tensor, x: Tensor, *others: Any) -> tuple[Tensor, ...]:
    check_device(x, "x")
    return _run_bwd(dout, x, *others)


def _fake_norm_linear(x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                      b: Tensor | None, norm: str, eps: float) -> tuple[Tensor, ...]:
    rows = x.shape[0]
    mean = x.new_empty(rows if norm == LAYER_NORM else 0,
                       dtype=torch.float32 if norm == LAYER_NORM else x.dtype)
    return x.new_empty(rows, w.shape[0]), mean, x.new_empty(rows, dtype=torch.float32)


def _fake_norm_linear_bwd(dout: Tensor, x: Tensor, w: Tensor, gamma: Tensor | None,
                          beta: Tensor | None, b: Tensor | None, mean: Tensor, rstd: Tensor,
                          norm: str, eps: float, mask: Sequence[bool]) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(0) if tensor is None or not want
                 else torch.empty_like(tensor, memory_format=torch.contiguous_format)
                 for tensor, want in zip((x, w, gamma, beta, b), mask, strict=True))


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, w, gamma, beta, b, ctx.norm, ctx.eps = inputs
    _, mean, rstd = output
    ctx.mark_non_differentiable(mean, rstd)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, w, gamma, beta, b, mean, rstd)


def _derive(operator: Callable[..., tuple[Tensor, ...]], ctx: Any, dout: Tensor,
            tensors: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
    """The gradients of the operator's tensors, by one of its gradient's."""
    mask = [bool(needed and tensor is not None)
            for needed, tensor in zip(ctx.needs_input_grad, tensors[:5], strict=False)]
    gradients = operator(dout, *tensors, ctx.norm, ctx.eps, mask)
    return tuple(gradient if want else None
                 for gradient, want in zip(gradients, mask, strict=True))


def _backward(ctx: Any, dout: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if dout is None:
        return (None,) * 7
    return (*_derive(torch.ops.lnbwd.norm_linear_bwd, ctx, dout, ctx.saved_tensors), None, None)


def _refuse_second(ctx: Any, *gradients: Any) -> None:
    raise LnbwdError("the gradient of the gradient of a norm and a linear layer: there is none; "
                     "use PyTorch's norm and linear functions where it is needed")


for _name, _kernel, _fake, _formula, _keep in (
        ("norm_linear", _norm_linear_kernel, _fake_norm_linear, _backward, _setup),
        ("norm_linear_bwd", _norm_linear_bwd_kernel, _fake_norm_linear_bwd, _refuse_second, None)):
    for _prefix in ("", "_"):
        for _key in ("CPU", "CUDA"):
            _library.impl(_prefix + _name, _kernel, _key)
        torch.library.register_fake(f"lnbwd::{_prefix}{_name}", _fake, lib=_library)
    _library.impl(f"_{_name}", torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_autograd(f"lnbwd::{_name}", _formula, setup_context=_keep, lib=_library)

# Without a frame of Python in between.
_raw, _raw_bwd = (getattr(_op, "_op", _op) for _op in (torch.ops.lnbwd._norm_linear.default,
                                                       torch.ops.lnbwd._norm_linear_bwd.default))


_plain = (Tensor, torch.nn.Parameter)
_modes = torch._C._len_torch_dispatch_stack


def _is_plain(x: Tensor, w: Tensor) -> bool:
    """Whether nothing watches what operators are called on the tensors: no subclass, no dispatch
    mode. The operators' functions may be called then without PyTorch's dispatcher, which takes the
    host as long as both products of the forward pass."""
    return type(x) in _plain and type(w) in _plain and not _modes()


def _is_derived(*tensors: Tensor | None) -> bool:
    """Whether a derivative may be asked of what is computed of the tensors, in either mode."""
    if torch.is_grad_enabled():
        for tensor in tensors:
            if tensor is not None and tensor.requires_grad:
                return True
    return forward_ad._current_level >= 0


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
        operator = _run if _is_plain(x, w) else _raw
        y, mean, rstd = operator(_flat(x), w, gamma, beta, b, norm, eps)
        ctx.save_for_backward(x, w, gamma, beta, b, mean, rstd)
        ctx.norm, ctx.eps = norm, eps
        return y if x.dim() == 2 else y.view(*x.shape[:-1], w.shape[0])

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        x, *others = ctx.saved_tensors
        flat = _flat(x)
        if torch.is_grad_enabled() or not _is_plain(dout, others[0]):
            # Where a graph of the gradient is wanted, the operator's formula says that there is
            # none.
            operator = torch.ops.lnbwd.norm_linear_bwd if torch.is_grad_enabled() else _raw_bwd
            dx, *gradients = _derive(operator, ctx, _flat(dout), (flat, *others))
        else:
            named = _gradients(_flat(dout), (flat, *others), ctx.norm, ctx.eps,
                               ctx.needs_input_grad[:5])
            dx, *gradients = map(named.get, _GRADIENTS)
        return (dx if dx is None or x is flat else dx.view(x.shape), *gradients, None, None)


# torch.autograd.Function.apply without its Python half, which is for torch.func.
_eager: Callable[..., Tensor] = super(torch.autograd.Function, _EagerNormLinear).apply


# --------------------------------------------------------------------------------------------------
# For users
# --------------------------------------------------------------------------------------------------


def _is_sound(x: object, normalized_shape: object, norm_weight: object, norm_bias: object,
              weight: object, bias: object, eps: float) -> bool:
    """Whether :func:`_check` has nothing to say, and kernels take the types, in less time."""
    if not (isinstance(x, Tensor) and isinstance(weight, Tensor)):
        return False
    dtype, device = x.dtype, x.device
    row, size = x.shape[-1:], weight.shape
    if not (dtype in _TYPES and weight.dtype == dtype and weight.device == device
            and (normalized_shape == row or (normalized_shape,) == row) and size[1:] == row
            and eps >= 0):
        return False
    for parameter, shape in ((norm_weight, row), (norm_bias, row), (bias, size[:1])):
        if parameter is not None and not (
                isinstance(parameter, Tensor) and parameter.shape == shape
                and parameter.dtype in _TYPES and parameter.device == device):
            return False
    return True


def _check(norm: str, x: Tensor, normalized_shape: Sequence[int] | int, norm_weight: Tensor | None,
           norm_bias: Tensor | None, weight: Tensor, bias: Tensor | None, eps: float) -> None:
    """Raises TypeError or ValueError for what does not fit; the message names it."""
    check_tensor("x", x)
    check_tensor("weight", weight)
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if len(shape) != 1 or x.dim() < 1 or x.shape[-1] != shape[0]:
        raise ValueError("normalized_shape: expected the last dimension of x, one number, got "
                         f"{shape} for an x of {list(x.shape)}")
    if weight.dim() != 2 or weight.shape[1] != shape[0]:
        raise ValueError(f"weight: expected the shape [N, {shape[0]}], as many columns as "
                         f"normalized_shape says, got {list(weight.shape)}")
    if not eps >= 0:
        raise ValueError(f"eps: expected a number that is 0 or more, got {eps}")
    if x.dtype == torch.float64:
        return  # PyTorch computes it, and says the rest.
    check_type("x", x, _TYPES)
    if weight.dtype != x.dtype:
        raise TypeError(f"weight: expected the type of x, {x.dtype}, got {weight.dtype}; convert "
                        "one of them, or leave autocast to torch.nn's own modules")
    scale = "ln_weight" if norm == LAYER_NORM else "norm_weight"
    for name, parameter, expected in (
            (scale, norm_weight, shape), ("ln_bias", norm_bias, shape),
            ("weight", weight, weight.shape), ("bias", bias, weight.shape[:1])):
        check_parameter(name, parameter, expected, "x", x, _TYPES)


def layer_norm_linear(x: Tensor, normalized_shape: Sequence[int] | int, ln_weight: Tensor | None,
                      ln_bias: Tensor | None, weight: Tensor, bias: Tensor | None = None,
                      eps: float = 1e-5) -> Tensor:
    """LayerNorm and a linear layer: ``linear(layer_norm(x, ...), weight, bias)`` in one operation.

    Its gradient is derived, and keeps x, the weights and two numbers for each row, but not the
    normalised rows. Each pass goes by kernels of ours, or by PyTorch's product with our norm
    kernels around it, whichever is faster on the device
    (:func:`lnbwd.product_choice.use_product`). Products of float32 are exact unless
    ``torch.set_float32_matmul_precision("high")``, or
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
    if not _is_sound(x, normalized_shape, norm_weight, norm_bias, weight, bias, eps):
        _check(norm, x, normalized_shape, norm_weight, norm_bias, weight, bias, eps)
    is_compiling = _is_compiling()
    if x.dtype == torch.float64 or (is_compiling and x.is_cpu and simulated_chip() is None):
        shape = x.shape[-1:]
        parameters = (norm_weight, norm_bias)[:NORMS[norm].count]
        z = NORMS[norm].aten(x, shape, *parameters, eps)
        return torch.nn.functional.linear(z, weight, bias)
    check_device(x, "x")
    if not (is_compiling or transforms_are_active()):
        if _is_plain(x, weight) and not _is_derived(x, weight, norm_weight, norm_bias, bias):
            out = forward(*_describe(_flat(x), weight, norm_weight, norm_bias, bias, norm,
                                     float(eps)), with_statistics=False)["out"]
            return out if x.dim() == 2 else out.view(*x.shape[:-1], weight.shape[0])
        return _eager(x, weight, norm_weight, norm_bias, bias, norm, float(eps))
    y: Tensor = torch.ops.lnbwd.norm_linear(x.reshape(-1, x.shape[-1]), weight, norm_weight,
                                            norm_bias, bias, norm, float(eps))[0]
    return y.reshape(*x.shape[:-1], weight.shape[0])
