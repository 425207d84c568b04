# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A norm and the linear layer behind it as one operation, whose gradient is derived.

The forward pass is written down as a row program with a product of matrices; the compiler derives
the gradient from it. docs/layer-norm-linear.md derives what it finds, and says what the kernels
are: right, and not fast yet.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import native, runtime
from .kernels import code_for_device, derive_gradient
from .launching import (
    check_capture,
    check_device,
    dense,
    device_key,
    launch_kernel,
    open_device,
)
from .operations import LAYER_NORM, RMS_NORM
from .spec import GradientSpec, ProgramSpec, rows_option

__all__ = ["layer_norm_linear", "rms_norm_linear"]

_TYPES = (torch.float16, torch.bfloat16, torch.float32)
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
        """The forward pass, of y and the statistics."""
        k, n = self.k, self.n
        row, out = f"vector<{k}xf32>", f"vector<{n}xf32>"
        lengths = {"gamma": k, "beta": k, "b": n}
        lines: list[str] = []

        def widened(name: str, element: str, length: int) -> str:
            if element == "f32":
                return f"%{name}_"
            lines.append(f"%{name}_wide = arith.extf %{name}_ : vector<{length}x{element}> to "
                         f"vector<{length}xf32>")
            return f"%{name}_wide"

        x = widened("x", self.dtype, k)
        lines += [f"%over = arith.constant {1 / k:.17e} : f32",
                  f"%eps = arith.constant {self.epsilon:.17e} : f32"]
        centred = x
        if "mean" in self.statistics:
            centred = "%centred"
            lines += [f"%total = vector.reduction <add>, {x} : {row} into f32",
                      "%mean_ = arith.mulf %total, %over : f32",
                      f"%means = vector.broadcast %mean_ : f32 to {row}",
                      f"%centred = arith.subf {x}, %means : {row}"]
        lines += [f"%squares = arith.mulf {centred}, {centred} : {row}",
                  f"%square = vector.reduction <add>, %squares : {row} into f32",
                  "%variance = arith.mulf %square, %over : f32",
                  "%moved = arith.addf %variance, %eps : f32",
                  "%rstd_ = math.rsqrt %moved : f32",
                  f"%rstds = vector.broadcast %rstd_ : f32 to {row}",
                  f"%xhat = arith.mulf {centred}, %rstds : {row}"]
        value, result = "%xhat", "%p"
        columns = dict(self.columns)
        for name, op in (("gamma", "arith.mulf"), ("beta", "arith.addf")):
            if name in columns:
                column = widened(name, columns[name], k)
                lines.append(f"%with_{name} = {op} {value}, {column} : {row}")
                value = f"%with_{name}"
        if self.dtype != "f32":
            lines.append(f"%z = arith.truncf {value} : {row} to vector<{k}x{self.dtype}>")
            value = "%z"
        lines.append(f"%p = lnbwd.linear {value}, %w_ : vector<{k}x{self.dtype}>, "
                     f"vector<{n}x{k}x{self.dtype}>")
        if "b" in columns:
            column = widened("b", columns["b"], n)
            lines.append(f"%with_b = arith.addf %p, {column} : {out}")
            result = "%with_b"
        if self.dtype != "f32":
            lines.append(f"%y_ = arith.truncf {result} : {out} to vector<{n}x{self.dtype}>")
            result = "%y_"

        types = {"x": f"memref<?x{k}x{self.dtype}>",
                 **{name: f"memref<{lengths[name]}x{element}>" for name, element in self.columns},
                 "w": f"memref<{n}x{k}x{self.dtype}>", "y": f"memref<?x{n}x{self.dtype}>",
                 **dict.fromkeys(self.statistics, "memref<?xf32>")}

        def group(word: str, names: Sequence[str]) -> str:
            if not names:
                return ""
            return (f"{word}({', '.join('%' + name for name in names)} : "
                    f"{', '.join(types[name] for name in names)}) ")

        arguments = [f"%{name}_: {types[name].replace('?x', '').replace('memref', 'vector')}"
                     for name in ("x", *columns, "w")]
        body = "\n    ".join(lines)
        buffers = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
        name = self.norm + "_linear"
        results = ", ".join([result, *(f"%{statistic}_" for statistic in self.statistics)])
        kinds = ", ".join([f"vector<{n}x{self.dtype}>", *("f32" for _ in self.statistics)])
        return f"""func.func @{name}({buffers}) {{
  lnbwd.rowwise @{name} {group("rows", ["x"])}{group("columns", list(columns))}
      {group("matrices", ["w"])}outs {group("rows", ["y"])}{group("scalars", self.statistics)}
      attributes {{operand_names = [{', '.join(f'"{name}"' for name in types)}]}} {{
  ^row({', '.join(arguments)}):
    {body}
    lnbwd.yield {results} : {kinds}
  }}
  return
}}
"""

    def gradient(self, wanted: Sequence[str]) -> str:
        """The derived gradient with respect to some inputs, given the statistics."""
        return derive_gradient(GradientSpec(self.mlir(), tuple(wanted), ("y",),
                                            self.statistics)).mlir


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


class _NormLinear(torch.autograd.Function):
    """On rows of two dimensions; absent columns are None."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, gamma: Tensor | None, beta: Tensor | None,
                b: Tensor | None, norm: str, epsilon: float) -> Tensor:
        given = {"gamma": gamma, "beta": beta, "b": b}
        columns = {name: dense(tensor) for name, tensor in given.items() if tensor is not None}
        x, w = dense(x), dense(w)
        rows = x.shape[0]
        layer = _Layer(norm, x.shape[1], w.shape[0], native.ELEMENT_NAMES[x.dtype],
                       tuple((name, native.ELEMENT_NAMES[tensor.dtype])
                             for name, tensor in columns.items()), epsilon)
        y = x.new_empty(rows, layer.n)
        statistics = {name: x.new_empty(rows, dtype=torch.float32) for name in layer.statistics}
        _run(layer.mlir(), rows, {"x": x, "w": w, "y": y, **columns, **statistics})
        ctx.layer = layer
        ctx.save_for_backward(x, w, *statistics.values(), *columns.values())
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        names = ["x", "w", *ctx.layer.statistics, *(name for name, _ in ctx.layer.columns)]
        known = dict(zip(names, ctx.saved_tensors, strict=True))
        inputs = ("x", "w", "gamma", "beta", "b")
        wanted = [name for name, needed in zip(inputs, ctx.needs_input_grad, strict=False)
                  if needed and name in known]
        gradients = {"d" + name: torch.empty_like(known[name]) for name in wanted}
        if gradients:
            _run(ctx.layer.gradient(wanted), dy.shape[0],
                 {**known, "dy": dense(dy), **gradients})
        return (*(gradients.get("d" + name) for name in inputs), None, None)


def _check(x: Tensor, parameters: Mapping[str, tuple[Tensor | None, Sequence[int]]],
           weight: Tensor) -> None:
    if x.dtype not in _TYPES:
        raise TypeError(f"x: expected float16, bfloat16 or float32, got {x.dtype}")
    if weight.dtype != x.dtype:
        raise TypeError(f"weight: expected the type of x, {x.dtype}, got {weight.dtype}; convert "
                        "one of them, or leave autocast to torch.nn's own modules")
    for name, (parameter, expected) in parameters.items():
        if parameter is None:
            continue
        if list(parameter.shape) != list(expected):
            raise ValueError(f"{name}: expected the shape {list(expected)}, got "
                             f"{list(parameter.shape)}")
        if parameter.device != x.device:
            raise ValueError(f"{name}: expected a tensor on {x.device} like x, got one on "
                             f"{parameter.device}; move it by {name}.to(x.device)")
        if parameter.dtype not in _TYPES:
            raise TypeError(f"{name}: expected float16, bfloat16 or float32, got "
                            f"{parameter.dtype}")


def layer_norm_linear(x: Tensor, normalized_shape: Sequence[int] | int, ln_weight: Tensor | None,
                      ln_bias: Tensor | None, weight: Tensor, bias: Tensor | None = None,
                      eps: float = 1e-5) -> Tensor:
    """LayerNorm and a linear layer: ``linear(layer_norm(x, ...), weight, bias)`` in one operation.

    Its gradient is derived, and keeps x, the weights and two numbers for each row, but not the
    normalised rows. Under torch.compile, and in float64, it is PyTorch's two operations.

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
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if len(shape) != 1 or x.dim() < 1 or x.shape[-1] != shape[0]:
        raise ValueError("normalized_shape: expected the last dimension of x, one number, got "
                         f"{shape} for an x of {list(x.shape)}")
    if weight.dim() != 2 or weight.shape[1] != shape[0]:
        raise ValueError(f"weight: expected the shape [N, {shape[0]}], as many columns as "
                         f"normalized_shape says, got {list(weight.shape)}")
    if not eps >= 0:
        raise ValueError(f"eps: expected a number that is 0 or more, got {eps}")
    if x.dtype == torch.float64 or torch.compiler.is_compiling():
        z = (torch.nn.functional.layer_norm(x, shape, norm_weight, norm_bias, eps)
             if norm == LAYER_NORM else
             torch.nn.functional.rms_norm(x, shape, norm_weight, eps))
        return torch.nn.functional.linear(z, weight, bias)
    scale = "ln_weight" if norm == LAYER_NORM else "norm_weight"
    _check(x, {scale: (norm_weight, shape), "ln_bias": (norm_bias, shape),
               "weight": (weight, weight.shape), "bias": (bias, weight.shape[:1])}, weight)
    check_device(x, "x")
    y: Tensor = _NormLinear.apply(  # type: ignore[no-untyped-call]
        x.reshape(-1, shape[0]), weight, norm_weight, norm_bias, bias, norm, eps)
    return y.reshape(*x.shape[:-1], weight.shape[0])
