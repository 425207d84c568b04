# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms and gradients that write float8 or float4, in one kernel each (docs/float8.md).

They are row programs that are written here node by node. They know no autograd: a layer that
multiplies float8 calls them in the two passes of an autograd.Function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from ..ops.arguments import KERNEL_TYPES, check_eps, check_rms_eps
from . import quantized_programs as programs
from .quantized_calls import Operands, Quantized, check_operands, joined, run, scale_input, shape_of
from .quantized_layouts import BLOCKS, Block

__all__ = ["Quantized", "dequantize", "glu_backward_quantized", "glu_quantized",
           "layer_norm_backward_quantized", "layer_norm_quantized", "quantize", "quantize_columns",
           "rms_norm_backward_quantized", "rms_norm_quantized"]


def _tiles(operands: Operands, dtype: torch.dtype, block: Block, swizzled: bool,
           *options: bool | str) -> dict[str, Tensor]:
    """Values down the columns, and perhaps along the rows."""
    return run(programs.tiles_program, operands, dtype, block, swizzled, *options, is_flat=swizzled,
               has_known_rows=True)


def _norm(has_mean: bool, input: Tensor | Quantized, weight: Tensor | None, bias: Tensor | None,
          eps: float, residual: Tensor | None, dtype: torch.dtype, factor: Tensor | None,
          block: Block, columns: bool, swizzled: bool, seed: Tensor | None) -> Quantized:
    """A norm along the rows and, of the same values, down the columns."""
    operands: Operands = {
        "input": ("row", input), "residual": ("row", residual), "weight": ("column", weight),
        "bias": ("column", bias), "factor": ("number", factor), "seed": ("number", seed)}
    check_operands(operands, dtype, block, columns, swizzled)
    result = run(programs.forward_program, operands, dtype, block, eps, has_mean, swizzled,
                 is_flat=swizzled)
    if not columns:
        return joined(result)
    # Tiles have no sums of rows. From the statistics, a kernel for each layout reads as much as one
    # for both, and takes less time.
    statistics = {name: ("scalar", result.get(name)) for name in ("mean", "rstd")}
    return joined(result | _tiles(operands | statistics, dtype, block, swizzled, False))


def _norm_backward(has_mean: bool, grad: Tensor | Quantized, input: Tensor, mean: Tensor | None,
                   rstd: Tensor, weight: Tensor | None, grad_sum: Tensor | None, dtype: torch.dtype,
                   factor: Tensor | None, block: Block, has_sum: bool, columns: bool,
                   swizzled: bool, seed: Tensor | None) -> Quantized:
    operands: Operands = {
        "grad": ("row", grad), "input": ("row", input), "grad_sum": ("row", grad_sum),
        "weight": ("column", weight), "mean": ("scalar", mean), "rstd": ("scalar", rstd)}
    numbers: Operands = {"factor": ("number", factor), "seed": ("number", seed)}
    check_operands(operands | numbers, dtype, block, columns, swizzled,
                   required=("input", "rstd", *["mean"] * has_mean))
    if not columns:
        return joined(run(programs.backward_program, operands | numbers, dtype, block, has_mean,
                          has_sum, True, swizzled, is_flat=swizzled))
    # To read the sum again takes fewer bytes than to compute a tile's values of all operands again.
    found: dict[str, Any] = run(programs.backward_program, operands, dtype, block, has_mean, True,
                                False, False)
    both = _gated({"input": found["sum"]}, "", dtype, factor, block, columns, swizzled, seed)
    return both._replace(**{name: value for name, value in found.items()
                            if has_sum or name != "sum"})


def _gated(operands: Mapping[str, Tensor | Quantized], activation: str, dtype: torch.dtype,
           factor: Tensor | None, block: Block, columns: bool, swizzled: bool,
           seed: Tensor | None) -> Quantized:
    """A tensor, a gated unit or its gradient, along the rows and perhaps down the columns."""
    given: Operands = {**{name: ("row", value) for name, value in operands.items()},
                       "factor": ("number", factor), "seed": ("number", seed)}
    check_operands(given, dtype, block, columns, swizzled, required=tuple(operands))
    if len(operands) > 1 and activation not in ("silu", "gelu"):
        raise ValueError(f"activation: expected 'silu' or 'gelu', got {activation!r}")
    if columns and BLOCKS[block] == 32 and seed is None:
        return joined(_tiles(given, dtype, block, swizzled, True, activation))
    results = run(programs.glu_program, given, dtype, block, activation, swizzled, is_flat=swizzled)
    return joined(results | _tiles(given, dtype, block, swizzled, False, activation)
                  if columns else results)


def dequantize(input: Quantized, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """The values of a quantised tensor: ``data`` times ``scale`` in float32, rounded to ``dtype``.

    Args:
        input: of any format and layout along the rows, its scales swizzled too; where it has a
            factor, that is still in the values.
        dtype: float16, bfloat16 or float32.
    """
    check_operands({"input": ("row", input)}, torch.float8_e4m3fn, None)
    if not isinstance(input, Quantized) or dtype not in KERNEL_TYPES:
        raise TypeError("dequantize: expected a Quantized and float16, bfloat16 or float32, got "
                        f"{type(input).__name__} and {dtype}")
    shape, rows, scale = shape_of(input), input, input.scale
    # Rows of blocks have no end: where 2048 elements are one, no workgroup waits for a long one.
    if (scale_input("input", input).kind == "lead" and scale is not None
            and math.prod(shape) % 2048 == 0 < math.prod(shape)
            and input.data.is_contiguous() and scale.is_contiguous()):
        rows = Quantized(input.data.view(-1, 2048 * input.data.shape[-1] // shape[-1]),
                         scale.view(-1, 2048 * scale.shape[-1] // shape[-1]))
    return run(programs.widening_program, {"input": ("row", rows)}, dtype, None)["data"].view(shape)


def quantize(input: Tensor | Quantized, *, dtype: torch.dtype = torch.float8_e4m3fn,
             factor: Tensor | None = None, block: Block | Literal["128x128"] = None,
             columns: bool = False, swizzled: bool = False,
             seed: Tensor | None = None) -> Quantized:
    """Quantises a tensor ``[..., N]``, such as a weight; otherwise as :func:`rms_norm_quantized`.

    With ``block="128x128"`` there is a factor for each 128 rows of 128 elements, by the formula of
    128 elements, and ``scale`` is ``[M / 128, N / 128]``. The transposed has the transposed scales.
    """
    if block == "128x128":
        if isinstance(input, Quantized):
            raise TypeError("input: expected a tensor with block='128x128', got a Quantized")
        given: Operands = {"input": ("row", input), "seed": ("number", seed)}
        check_operands(given, dtype, None)
        length = input.shape[-1]
        if length % 128 or input.numel() // length % 128 or columns or swizzled or (
                factor is not None):
            raise ValueError("block='128x128': expected rows and elements of them in multiples of "
                             "128, and neither a factor, columns nor swizzled scales, got "
                             f"{list(input.shape)}")
        result = joined(run(programs.squares_program, given, dtype, None, is_flat=True))
        assert result.scale is not None
        return result._replace(scale=result.scale.view(-1, length // 128))
    return _gated({"input": input}, "", dtype, factor, block, columns, swizzled, seed)


def glu_quantized(gate: Tensor | Quantized, up: Tensor | Quantized,
                  activation: Literal["silu", "gelu"] = "silu", *,
                  dtype: torch.dtype = torch.float8_e4m3fn, factor: Tensor | None = None,
                  block: Block = None, columns: bool = False, swizzled: bool = False,
                  seed: Tensor | None = None) -> Quantized:
    """``activation(gate) * up``, SwiGLU or GeGLU, quantised.

    Args:
        gate, up: ``[..., N]``, float16, bfloat16 or float32.
        activation: "silu", or "gelu" with the error function.

    All else is as of :func:`rms_norm_quantized`.
    """
    return _gated({"gate": gate, "up": up}, activation, dtype, factor, block, columns, swizzled,
                  seed)


def glu_backward_quantized(grad: Tensor | Quantized, gate: Tensor | Quantized,
                           up: Tensor | Quantized, activation: Literal["silu", "gelu"] = "silu", *,
                           dtype: torch.dtype = torch.float8_e5m2, factor: Tensor | None = None,
                           block: Block = None, columns: bool = False, swizzled: bool = False,
                           seed: Tensor | None = None) -> Quantized:
    """The gradients of :func:`glu_quantized`, straight through its rounding: a :class:`Quantized`
    of that with respect to ``gate``, in which ``up`` has the other. ``grad`` is that with respect
    to the values; the rest is as there."""
    return _gated({"grad": grad, "gate": gate, "up": up}, activation, dtype, factor, block, columns,
                  swizzled, seed)


def quantize_columns(input: Tensor | Quantized, *, dtype: torch.dtype = torch.float8_e4m3fn,
                     block: Block = "mx", swizzled: bool = False) -> Quantized:
    """Quantises a tensor ``[..., N]`` of M rows in blocks of rows, and transposes it, for the
    product that gives a weight's gradient. Each M compiles a kernel.

    Args:
        block: "mx": of 32 rows, "nv": of 16, of which M has a multiple of 64; 128: of 128 rows.

    All else is as of :func:`rms_norm_quantized`.

    Returns:
        A :class:`Quantized` of ``data``, ``[N, M]``, and ``scale``, ``[N, M / block]``.
    """
    given: Operands = {"input": ("row", input)}
    if block is None:
        raise ValueError("block: expected 'mx', 'nv' or 128, got None")
    check_operands(given, dtype, block, True, swizzled, along_rows=False)
    results = _tiles(given, dtype, block, swizzled, False)
    return joined({name.removeprefix("columns_"): value for name, value in results.items()})


def rms_norm_quantized(input: Tensor | Quantized, weight: Tensor | None = None,
                       eps: float | None = None, *, residual: Tensor | None = None,
                       dtype: torch.dtype = torch.float8_e4m3fn, factor: Tensor | None = None,
                       block: Block = None, columns: bool = False, swizzled: bool = False,
                       seed: Tensor | None = None) -> Quantized:
    """RMSNorm of ``input + residual`` over the last dimension, quantised to float8.

    The norm is computed in float32 and rounded once. docs/float8.md has the formulas of scales.

    Args:
        input: ``[..., N]``, float16, bfloat16 or float32; or a :class:`Quantized`, which is widened
            where it is read.
        weight: the scale ``[N]``; None: 1.
        eps: added to the mean square, 0 or more; None: 2^-23, PyTorch's.
        residual: of input's shape; None: nothing is added, and no sum is written.
        dtype: a type of float8, or torch.float4_e2m1fn_x2 with block "mx" or "nv". Chips have
            instructions for some (docs/float8.md); the bits are the same on all.
        factor: one float32 (``[]``) for all rows, as in delayed scaling; None: one for each row or
            block. With "nv" it scales the blocks' scales: 2688 over the tensor's largest magnitude
            is best.
        block: 128: a factor for each 128 elements; "mx" or "mx-rceil": for each 32 elements a scale
            that is a power of two (``torch.float8_e8m0fnu``; mxfp8, mxfp4); "nv": of float4, for
            each 16 elements a scale of ``torch.float8_e4m3fn`` (nvfp4).
        columns: whether the values are also quantised in blocks of rows, as by
            :func:`quantize_columns`; only with a block.
        swizzled: whether scales of "mx" or "nv" are in the order of cuBLASLt and CUTLASS, tiles of
            128x4; then ``scale`` has one dimension. There are whole tiles, and a kernel for each
            number of rows.
        seed: an int64 (``[]``): values are rounded stochastically, without bias, by Philox's
            numbers of the seed and of each element's number. None: to the nearest.

    Returns:
        A :class:`Quantized`; no gradient flows through it.

    Raises:
        TypeError, ValueError: an argument has a wrong type, shape or device; the message names it.
        LnbwdError: the compiler refuses the row length on this device.
    """
    return _norm(False, input, weight, None, check_rms_eps(eps), residual, dtype, factor, block,
                 columns, swizzled, seed)


def layer_norm_quantized(input: Tensor | Quantized, weight: Tensor | None = None,
                         bias: Tensor | None = None, eps: float = 1e-5, *,
                         residual: Tensor | None = None, dtype: torch.dtype = torch.float8_e4m3fn,
                         factor: Tensor | None = None, block: Block = None, columns: bool = False,
                         swizzled: bool = False, seed: Tensor | None = None) -> Quantized:
    """LayerNorm of ``input + residual``, quantised; otherwise as :func:`rms_norm_quantized`.

    Args:
        bias: the shift ``[N]``; None: 0.
        eps: added to the variance, 0 or more.
    """
    return _norm(True, input, weight, bias, check_eps(eps), residual, dtype, factor, block, columns,
                 swizzled, seed)


def rms_norm_backward_quantized(grad: Tensor | Quantized, input: Tensor, rstd: Tensor,
                                weight: Tensor | None = None, *, grad_sum: Tensor | None = None,
                                dtype: torch.dtype = torch.float8_e5m2,
                                factor: Tensor | None = None, block: Block = None,
                                has_sum: bool = True, columns: bool = False, swizzled: bool = False,
                                seed: Tensor | None = None) -> Quantized:
    """The gradient of RMSNorm with respect to its input, quantised.

    Args:
        grad: that with respect to the norm's result, ``[..., N]``.
        input: the normalised tensor, the sum with the residual.
        rstd: of the forward pass, ``[..., 1]``.
        weight: the scale; None: 1, and no gradient of it.
        grad_sum: another gradient with respect to the sum, which is added.
        has_sum: whether the gradient is also written in grad's type, as ``sum``, for the residual.
        columns: whether there are both layouts; they then have the values of ``sum``.

    All else is as of :func:`rms_norm_quantized`.
    """
    return _norm_backward(False, grad, input, None, rstd, weight, grad_sum, dtype, factor, block,
                          has_sum, columns, swizzled, seed)


def layer_norm_backward_quantized(grad: Tensor | Quantized, input: Tensor, mean: Tensor,
                                  rstd: Tensor, weight: Tensor | None = None, *,
                                  grad_sum: Tensor | None = None,
                                  dtype: torch.dtype = torch.float8_e5m2,
                                  factor: Tensor | None = None, block: Block = None,
                                  has_sum: bool = True, columns: bool = False,
                                  swizzled: bool = False, seed: Tensor | None = None) -> Quantized:
    """The gradient of LayerNorm, quantised; otherwise as :func:`rms_norm_backward_quantized`. With
    a weight there is also the gradient of a bias."""
    return _norm_backward(True, grad, input, mean, rstd, weight, grad_sum, dtype, factor, block,
                          has_sum, columns, swizzled, seed)


# torch.compile does not trace how programs are made: its graphs have their kernels.
for _function in (_norm, _norm_backward, _gated, dequantize, quantize, quantize_columns):
    torch.compiler.allow_in_graph(_function)
