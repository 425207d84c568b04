# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm and the linear layer behind it as one operation, whose gradient is derived.

The forward pass is a named operation with a product of matrices; the compiler derives the gradient
from it. docs/layer-norm-linear.md derives what it finds. Either pass may as well go by PyTorch's
product with our norm kernels around it: :mod:`lnbwd.product_choice` says which.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import (
    native,
    operations,
    ops,  # noqa: F401 (defines the operators of norms)
    product_choice,
    runtime,
)
from ._arguments import check_parameter, check_tensor, check_type
from .errors import LnbwdError
from .kernels import code_for_device, derive_gradient
from .launching import (
    check_capture,
    check_device,
    dense,
    device_key,
    launch_kernel,
    open_device,
    simulated_chip,
)
from .operations import LAYER_NORM, OPERATIONS, RMS_NORM
from .spec import GradientSpec, ProgramSpec, rows_option

__all__ = ["layer_norm_linear", "rms_norm_linear"]

_TYPES = (torch.float16, torch.bfloat16, torch.float32)
# What a gradient may be wanted of, in the order of the operator's results.
_INPUTS = ("x", "w", "gamma", "beta", "b")
_loaded: dict[tuple[str, object, int], runtime.Kernel] = {}
_lock = threading.RLock()


@dataclass(frozen=True)
class _Layer:
    """What the kernels of a call depend on.

    Attributes:
        norm: the norm's operation, LayerNorm's or RMSNorm's.
        k, n: the length of a normalised row, and of a row of the result.
        dtype: of x, the weight and the result: "f16", "bf16" or "f32".
        columns: the types of gamma, beta and b, those that are there.
        epsilon: what is added to the variance, or to the mean square.
    """

    norm: str
    k: int
    n: int
    dtype: str
    columns: tuple[tuple[str, str], ...]
    epsilon: float

    @property
    def statistics(self) -> tuple[str, ...]:
        """The numbers for each row that the forward pass puts out."""
        return ("mean", "rstd") if self.norm == LAYER_NORM else ("rstd",)

    def mlir(self) -> str:
        """The forward pass, of out and the statistics."""
        op = OPERATIONS[self.norm + "_linear"]
        columns = dict(self.columns)
        types = {}
        for operand in op.operands:
            role = operand.role
            if role.name in ("gamma", "beta", "b") and role.name not in columns:
                continue
            element = "f32" if role.kind == "row_scalar" else columns.get(role.name, self.dtype)
            types[role.name] = operations.buffer_type(role.kind, element,
                                                      role.row(self.k, self.n))
        return operations.mlir(op.name, types, [f"epsilon = {self.epsilon:.17e} : f64"])

    def gradient(self, wanted: Sequence[str]) -> str:
        """The derived gradient with respect to some inputs, given the statistics."""
        return derive_gradient(self.gradient_spec(wanted)).mlir

    def gradient_spec(self, wanted: Sequence[str]) -> GradientSpec:
        """What that gradient is kept by."""
        return GradientSpec(self.mlir(), tuple(wanted), ("out",), self.statistics)


# --------------------------------------------------------------------------------------------------
# By kernels of ours
# --------------------------------------------------------------------------------------------------


def _load(source: str, device: torch.device, key: object, rows: int) -> runtime.Kernel:
    """The kernels of a program, loaded for a device."""
    with _lock:
        target = open_device(device)
        hint = rows_option(rows, target.chip)
        kernel = _loaded.get((source, key, hint))
        if kernel is None:
            check_capture(device, "a kernel of a norm and a linear layer")

            def make(chip: str, format: str) -> ProgramSpec:
                return ProgramSpec(source, chip, format=format, rows=hint)

            program = runtime.Program.for_chip(code_for_device(make, target.chip),
                                               target.info.arch)
            kernel = _loaded[source, key, hint] = runtime.Kernel(target, program)
        return kernel


def _run(source: str, rows: int, tensors: Mapping[str, Tensor]) -> None:
    """Launches a program on tensors by the names of its operands."""
    x = tensors["x"]
    kernel = _load(source, x.device, device_key(x), rows)
    launch_kernel(kernel, rows, [tensors[argument.name]
                                 for argument in kernel.program.arguments])


def _forward_by_kernels(layer: _Layer, known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    x = known["x"]
    results = {"out": x.new_empty(x.shape[0], layer.n),
               **{name: x.new_empty(x.shape[0], dtype=torch.float32)
                  for name in layer.statistics}}
    _run(layer.mlir(), x.shape[0], {**known, **results})
    return results


def _backward_by_kernels(layer: _Layer, known: Mapping[str, Tensor],
                         wanted: Sequence[str]) -> dict[str, Tensor]:
    gradients = {"d" + name: torch.empty_like(known[name]) for name in wanted}
    _run(layer.gradient(wanted), known["x"].shape[0], {**known, **gradients})
    return gradients


# --------------------------------------------------------------------------------------------------
# By PyTorch's product and our norm kernels
# --------------------------------------------------------------------------------------------------


def _normalise(layer: _Layer, known: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """The normalised rows and the statistics."""
    x, gamma, beta = known["x"], known.get("gamma"), known.get("beta")
    if layer.norm == LAYER_NORM:
        results: tuple[Tensor, ...] = torch.ops.lnbwd._layer_norm(
            x, [layer.k], gamma, beta, layer.epsilon)
    else:
        results = torch.ops.lnbwd._rms_norm(x, [layer.k], gamma, layer.epsilon)
    return results


def _forward_by_torch(layer: _Layer, known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    z, *statistics = _normalise(layer, known)
    b = known.get("b")
    out = torch.nn.functional.linear(z, known["w"], None if b is None else b.to(z.dtype))
    return {"out": out, **dict(zip(layer.statistics, statistics, strict=True))}


def _backward_by_torch(layer: _Layer, known: Mapping[str, Tensor],
                       wanted: Sequence[str]) -> dict[str, Tensor]:
    x, w, dout = known["x"], known["w"], known["dout"]
    gamma, beta = known.get("gamma"), known.get("beta")
    gradients = {}
    if "b" in wanted:
        gradients["db"] = dout.sum(0, dtype=torch.float32).to(known["b"].dtype)
    if "w" in wanted:
        gradients["dw"] = dout.t() @ _normalise(layer, known)[0]
    names = ["x", "gamma", "beta"] if layer.norm == LAYER_NORM else ["x", "gamma"]
    mask = [name in wanted for name in names]
    if any(mask):
        dz = dout @ w
        if layer.norm == LAYER_NORM:
            results = torch.ops.lnbwd._layer_norm_bwd(dz, x, known["mean"], known["rstd"], gamma,
                                                      beta, [layer.k], mask)
        else:
            results = torch.ops.lnbwd._rms_norm_bwd(dz, x, known["rstd"], gamma, [layer.k], mask)
        gradients |= {"d" + name: result
                      for name, result in zip(names, results, strict=True) if name in wanted}
    return gradients


# --------------------------------------------------------------------------------------------------
# The operators
# --------------------------------------------------------------------------------------------------

_ARGUMENTS = "Tensor x, Tensor w, Tensor? gamma, Tensor? beta, Tensor? b"
_library = torch.library.Library("lnbwd", "FRAGMENT")
_library.define(f"norm_linear({_ARGUMENTS}, str norm, float eps) -> (Tensor, Tensor, Tensor)",
                tags=(torch.Tag.pt2_compliant_tag,))
_library.define(f"norm_linear_bwd(Tensor dout, {_ARGUMENTS}, Tensor mean, Tensor rstd, str norm, "
                "float eps, bool[] mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
                tags=(torch.Tag.pt2_compliant_tag,))


def _describe(x: Tensor, w: Tensor, columns: Mapping[str, Tensor | None], norm: str,
              epsilon: float) -> tuple[_Layer, dict[str, Tensor]]:
    """The layer of a call, and its tensors by the names of the operands."""
    given = {name: dense(tensor) for name, tensor in columns.items() if tensor is not None}
    x, w = dense(x), dense(w)
    layer = _Layer(norm, x.shape[1], w.shape[0], native.ELEMENT_NAMES[x.dtype],
                   tuple((name, native.ELEMENT_NAMES[tensor.dtype])
                         for name, tensor in given.items()), epsilon)
    return layer, {"x": x, "w": w, **given}


def _norm_linear_kernel(x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                        b: Tensor | None, norm: str, eps: float) -> tuple[Tensor, ...]:
    check_device(x, "x")
    layer, known = _describe(x, w, {"gamma": gamma, "beta": beta, "b": b}, norm, eps)
    ways = {product_choice.KERNEL: lambda: _forward_by_kernels(layer, known),
            product_choice.TORCH: lambda: _forward_by_torch(layer, known)}
    results = ways[product_choice.choose(layer.mlir(), x.device, x.shape[0], ways)]()
    return results["out"], results.get("mean", x.new_empty(0)), results["rstd"]


def _norm_linear_bwd_kernel(dout: Tensor, x: Tensor, w: Tensor, gamma: Tensor | None,
                            beta: Tensor | None, b: Tensor | None, mean: Tensor, rstd: Tensor,
                            norm: str, eps: float, mask: Sequence[bool]) -> tuple[Tensor, ...]:
    check_device(x, "x")
    layer, known = _describe(x, w, {"gamma": gamma, "beta": beta, "b": b}, norm, eps)
    known |= {"dout": dense(dout), "rstd": dense(rstd)}
    if "mean" in layer.statistics:
        known["mean"] = dense(mean)
    wanted = [name for name, want in zip(_INPUTS, mask, strict=True) if want and name in known]
    if not wanted:
        return tuple(x.new_empty(0) for _ in _INPUTS)
    ways = {product_choice.KERNEL: lambda: _backward_by_kernels(layer, known, wanted),
            product_choice.TORCH: lambda: _backward_by_torch(layer, known, wanted)}
    source = f"{layer.mlir()}// {','.join(wanted)}\n"
    gradients = ways[product_choice.choose(source, x.device, x.shape[0], ways)]()
    return tuple(gradients["d" + name] if name in wanted else x.new_empty(0) for name in _INPUTS)


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


def _backward(ctx: Any, dout: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if dout is None:
        return (None,) * 7
    mask = [bool(needed and tensor is not None)
            for needed, tensor in zip(ctx.needs_input_grad, ctx.saved_tensors[:5], strict=False)]
    gradients = torch.ops.lnbwd.norm_linear_bwd(dout, *ctx.saved_tensors, ctx.norm, ctx.eps, mask)
    return (*(gradient if want else None
              for gradient, want in zip(gradients, mask, strict=True)), None, None)


def _refuse_second(ctx: Any, *gradients: Any) -> None:
    raise LnbwdError("the gradient of the gradient of a norm and a linear layer: there is none; "
                     "use PyTorch's norm and linear functions where it is needed")


for _key in ("CPU", "CUDA"):
    _library.impl("norm_linear", _norm_linear_kernel, _key)
    _library.impl("norm_linear_bwd", _norm_linear_bwd_kernel, _key)
torch.library.register_fake("lnbwd::norm_linear", _fake_norm_linear, lib=_library)
torch.library.register_fake("lnbwd::norm_linear_bwd", _fake_norm_linear_bwd, lib=_library)
torch.library.register_autograd("lnbwd::norm_linear", _backward, setup_context=_setup,
                                lib=_library)
torch.library.register_autograd("lnbwd::norm_linear_bwd", _refuse_second, lib=_library)


# --------------------------------------------------------------------------------------------------
# For users
# --------------------------------------------------------------------------------------------------


def _check(x: Tensor, parameters: Mapping[str, tuple[Tensor | None, Sequence[int]]],
           weight: Tensor) -> None:
    check_type("x", x, _TYPES)
    if weight.dtype != x.dtype:
        raise TypeError(f"weight: expected the type of x, {x.dtype}, got {weight.dtype}; convert "
                        "one of them, or leave autocast to torch.nn's own modules")
    for name, (parameter, expected) in parameters.items():
        check_parameter(name, parameter, expected, "x", x, _TYPES)


def layer_norm_linear(x: Tensor, normalized_shape: Sequence[int] | int, ln_weight: Tensor | None,
                      ln_bias: Tensor | None, weight: Tensor, bias: Tensor | None = None,
                      eps: float = 1e-5) -> Tensor:
    """LayerNorm and a linear layer: ``linear(layer_norm(x, ...), weight, bias)`` in one operation.

    Its gradient is derived, and keeps x, the weights and two numbers for each row, but not the
    normalised rows. Each pass goes by kernels of ours, or by PyTorch's product with our norm
    kernels around it, whichever is faster on the device
    (:func:`lnbwd.product_choice.use_product`). In float64 it is PyTorch's two operations, and so it
    is under torch.compile for tensors on the CPU.

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
    if x.dtype == torch.float64 or (torch.compiler.is_compiling() and x.is_cpu
                                    and simulated_chip() is None):
        z = (torch.nn.functional.layer_norm(x, shape, norm_weight, norm_bias, eps)
             if norm == LAYER_NORM else
             torch.nn.functional.rms_norm(x, shape, norm_weight, eps))
        return torch.nn.functional.linear(z, weight, bias)
    scale = "ln_weight" if norm == LAYER_NORM else "norm_weight"
    _check(x, {scale: (norm_weight, shape), "ln_bias": (norm_bias, shape),
               "weight": (weight, weight.shape), "bias": (bias, weight.shape[:1])}, weight)
    check_device(x, "x")
    y: Tensor = torch.ops.lnbwd.norm_linear(x.reshape(-1, shape[0]), weight, norm_weight,
                                            norm_bias, bias, norm, float(eps))[0]
    return y.reshape(*x.shape[:-1], weight.shape[0])
