# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms and their gradients that write float8 or float4, in one kernel each; docs/float8.md is for
users.

They are row programs that are written here node by node. They know no autograd: a layer that
multiplies float8 calls them in the two passes of an autograd.Function.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from ..core.base.operations import ELEMENTS
from ..core.compile.spec import rows_hint
from ..ops.arguments import (
    KERNEL_TYPES,
    check_dense,
    check_eps,
    check_parameter,
    check_rms_eps,
    check_tensor,
)
from ..ops.launching import falls_back
from ..ops.regions import Registered, find_program, raw_region, register_draft
from ..program.element_types import ELEMENT_NAMES, FLOAT8
from ..program.row_program import Draft, Input, Value

__all__ = ["Quantized", "dequantize", "glu_backward_quantized", "glu_quantized",
           "layer_norm_backward_quantized", "layer_norm_quantized", "quantize", "quantize_columns",
           "rms_norm_backward_quantized", "rms_norm_quantized"]

_Block = Literal["mx", "mx-rceil", "nv"] | int | None
_Parts = tuple[tuple[int, ...], ...]
_Types = tuple[tuple[str, Input], ...]
_Operands = dict[str, tuple[str, "Tensor | Quantized | None"]]
"""Kind and tensor of each by its name."""

BLOCKS: dict[_Block, int] = {None: 0, "mx": 32, "mx-rceil": 32, "nv": 16, 128: 128}
"""What a scale may be of, and its elements: a row, or 32 with powers of two, 16 of float4 with
scales in float8, 128."""

_SIZES = {"f8E8M0FNU": 32, "f8E4M3FN": 16, "f32": 128}
"""The same by the type of the scales."""


class _Format(NamedTuple):
    """What values are rounded to: the largest number, the exponent's bias, bits of the fraction."""

    most: float
    bias: int
    fraction: int


_FLOAT4 = "f4E2M1FN"
_NAMES = ELEMENT_NAMES | {torch.float4_e2m1fn_x2: _FLOAT4}
_FORMATS = {ELEMENT_NAMES[dtype]: _Format(torch.finfo(dtype).max, element.bias, element.fraction)
            for dtype in FLOAT8 for element in [ELEMENTS[ELEMENT_NAMES[dtype]]]} | {
                _FLOAT4: _Format(6.0, 1, 1)}

_LEAST = 1e-12
"""What a largest magnitude counts as at least, so that its reciprocal is a number: torchao's."""


class Quantized(NamedTuple):
    """What the functions give.

    Attributes:
        data: of float8: the values times the factor, rounded to nearest even, the largest number
            where they are beyond it. Of float4, ``[..., N / 2]``: a byte has two, the first in its
            lower half.
        scale: what ``data.float()`` is multiplied by for the values: ``[..., 1]``, or of blocks
            ``[..., N / block]``; None where the factor was given.
        amax: where the factor was given, the largest magnitude of all values, for a later factor.
        sum: ``input + residual``, in input's type; of a gradient, that with respect to this sum.
        mean, rstd: of a forward pass, the rows' statistics ``[..., 1]``, float32; mean of layer
            norm alone.
        weight, bias: the gradients with respect to these, float32; of a forward pass None.
        columns: the same values in blocks of rows, transposed, where they were asked for.
        up: of a gated unit's gradient, that with respect to ``up``; the others are of ``gate``.
    """

    data: Tensor
    scale: Tensor | None = None
    amax: Tensor | None = None
    sum: Tensor | None = None
    mean: Tensor | None = None
    rstd: Tensor | None = None
    weight: Tensor | None = None
    bias: Tensor | None = None
    columns: Quantized | None = None
    up: Quantized | None = None


def _place(digits: _Parts, places: _Parts) -> _Parts:
    """Where something lies along one of a tensor's dimensions: index i along it of each of
    ``digits``, which a program's elements have so far apart, counts (i * last) of that dimension,
    and of ``places`` each that last number of them, so many times, lie so far apart."""
    parts = []
    for apart, size, first in digits:
        for unit, count, stride in places:
            low, high = max(first, unit), min(first * size, unit * count)
            if low < high:
                parts.append((apart * low // first, high // low, stride * low // unit))
    return tuple(parts)


def _of_scales(count: int, blocks: int, size: int, is_swizzled: bool) -> tuple[_Parts, _Parts]:
    """Where the scales of ``count`` rows of ``blocks`` of ``size`` lie, by the row and by the
    element in it. Swizzled, in the order of cuBLASLt's block scales: tiles of 128 rows and 4
    blocks, row r of a tile at 16 (r mod 32) + 4 (r / 32)."""
    if not is_swizzled:
        return ((1, count, blocks),), ((size, blocks, 1),)
    return (((1, 32, 16), (32, 4, 4), (128, count // 128, blocks // 4 * 512)),
            ((size, 4, 1), (4 * size, blocks // 4, 512)))


class _Program(Draft):
    """A program that is being written, with what begins it: quantised operands as numbers, and what
    ends it: values that are quantised."""

    def __init__(self, length: int, inputs: Mapping[str, Input]) -> None:
        super().__init__(length, inputs)
        for name, given in inputs.items():
            if given.dtype == "i8":
                self.values[name] = self.unpacked(self.values[name].byte())
            if name + "_scale" in inputs:
                self.values[name] = self.values[name] * self.values[name + "_scale"]

    def quantize(self, row: Value, dtype: str, block: _Block, parts: _Parts = (),
                 scale_parts: _Parts = (), prefix: str = "", stride: int = 1) -> None:
        """Rounds a row to float8 or float4, times the factor that is given or that its largest
        magnitude, or that of each block, asks for, the elements of a block lying ``stride`` apart.
        With parts, the row and the scales lie as these say."""
        most = _FORMATS[dtype].most
        size, magnitude = BLOCKS[block], row.abs()
        if size == self.length:
            size = 0
        amax = magnitude.block_max(size, stride) if size else magnitude.row_max()
        given = self.values.get("factor")
        name, element = "scale", "f32"
        factor: Value | float
        if block == "nv":
            factor, element = 1.0, "f8E4M3FN"
            # Not below the least normal number: the values are divided by it.
            least = 2.0 ** (1 - _FORMATS[element].bias)
            if given is None:
                scale = amax.max(most * least) / most
            else:
                scale, factor = (amax / most * given).max(least), given
                if not parts:
                    self.write(prefix + "amax", "scalar", "f32", magnitude.row_max())
            scale = scale.round(element)
            factor = factor / scale
        elif block == "mx":
            # The largest's power of two is the largest number's after it is divided.
            element = "f8E8M0FNU"
            # What is below 2^-126 would be rounded if it were divided first.
            power = amax.round(element)
            scale = power * 2.0 ** (1 - math.frexp(most)[1])
            # A sum with 0, or with NaN where the scale is NaN.
            factor = scale.power_inverse() + (power - power)
        elif block == "mx-rceil":
            element = "f8E8M0FNU"
            # 2^127 is infinity's. Divided by the least scale, values would not be zeros.
            ratio = (amax / most).min(2.0 ** 127)
            power = ratio.round(element)
            scale = power.lt(ratio).select(power * 2.0, power)
            factor = scale.eq(2.0 ** 127).select(2.0 ** -127, scale.power_inverse())
            factor = scale.gt(2.0 ** -127).select(factor, 1.0) + (ratio - ratio)
        elif given is None:
            factor = most / amax.max(_LEAST)
            scale = 1.0 / factor
        else:
            name, scale, factor = "amax", amax, given
        self.write(prefix + name, "row" if size else "scalar", element, scale,
                   size if size and not scale_parts else 1, scale_parts)
        value = row * factor
        if "seed" in self.values:
            value = self.rounded_by_chance(value, _FORMATS[dtype])
        if dtype != _FLOAT4:
            self.write(prefix + "data", "row", dtype, value, parts=parts)
            return
        # Pairs are of neighbours in memory.
        apart = next((distance for distance, _, place in parts if place == 1), 1)
        halves = tuple((distance, size, place // 2) if place > 1 else (2 * distance, size // 2, 1)
                       for distance, size, place in parts if (size, place) != (2, 1))
        self.write(prefix + "data", "row", "i8", self.packed(value, apart), 1 if parts else 2,
                   halves)

    def packed(self, value: Value, apart: int) -> Value:
        """The byte of each two values in float4 that lie ``apart``, the first in the lower half."""
        # Numbers from 0 on lie 1/2 apart, from 2 on 1, from 4 on 2: rounded to even in these steps,
        # the nearest one's code is the least of three, since rounding keeps the order. From 2^23 on
        # sums are whole. Of a NaN, which float4 has not, it is the largest.
        size, whole = value.abs(), 2.0 ** 23
        size = (size < 6.0).select(size, 6.0)
        code = size * 2.0 + whole
        for factor, first in ((1.0, 2.0), (0.5, 4.0)):
            code = code.min(size * factor + (whole + first))
        code = code - whole
        is_negative = value.node("copysign", 1.0, value) < 0.0
        code = is_negative.select(code + 8.0, code)
        is_second = value.node("place", apart, 2).eq(1.0)
        low, high = (is_second.select(*pair).block_max(2, apart)
                     for pair in ((0.0, code), (code, 0.0)))
        return low + high * 16.0

    def unpacked(self, byte: Value) -> Value:
        """The values in float4 of bytes that each have two, the first in the lower half."""
        high = (byte * (1 / 16)).floor()
        code = byte.node("place", 1, 2).eq(1.0).select(high, byte - high * 16.0)
        is_negative = code.gt(7.0)
        size = is_negative.select(code - 8.0, code)
        # Numbers lie 1/2 apart, from 2 on 1, from 4 on 2.
        size = (size * 0.5).max(size - 2.0).max(size * 2.0 - 8.0)
        return is_negative.select(size.neg(), size)

    def rounded_by_chance(self, value: Value, element: _Format) -> Value:
        """A neighbour in the format, the upper one as likely as the value is near it."""
        value = value.min(element.most).max(-element.most)
        power = value.abs().round("f8E8M0FNU").max(2.0 ** (1 - element.bias))
        # In steps of the format: exact, as what follows.
        steps = value * power.power_inverse() * 2.0 ** element.fraction
        low = steps.floor()
        is_up = self.values["seed"].random() < steps - low
        return (low + is_up.select(1.0, 0.0)) * 2.0 ** -element.fraction * power

    def gated(self, activation: str) -> dict[str, Value]:
        """The values of a gated unit, or where there is a gradient of its result, the gradients of
        both its inputs, by what their outputs' names begin with; where there is no activation, the
        input, with the residual if there is one."""
        if not activation:
            x = self.values["input"]
            return {"": x + self.values["residual"] if "residual" in self.values else x}
        gate, up = self.values["gate"], self.values["up"]
        if activation == "silu":
            part = 1.0 / (gate.neg().exp() + 1.0)
            value = gate * part
            slope = value * (1.0 - part) + part
        else:
            part = ((gate * math.sqrt(0.5)).erf() + 1.0) * 0.5
            value = gate * part
            bell = (gate * gate * -0.5).exp()
            slope = gate * (bell * (1 / math.sqrt(2 * math.pi))) + part
        if "grad" not in self.values:
            return {"": value * up}
        grad = self.values["grad"]
        return {"": grad * up * slope, "up_": grad * value}

    def made_along_rows(self, values: dict[str, Value], rows: int, dtype: str, block: _Block,
                        is_swizzled: bool) -> Registered:
        """The program of values that are quantised along its rows, by the names' prefixes."""
        parts: _Parts = ()
        if is_swizzled:
            by_row, by_element = _of_scales(rows, self.length // BLOCKS[block], BLOCKS[block], True)
            parts = (*_place(((self.length, rows, 1),), by_row),
                     *_place(((1, self.length, 1),), by_element))
        for prefix, value in values.items():
            self.quantize(value, dtype, block, scale_parts=parts, prefix=prefix)
        return self.made(rows, is_known=is_swizzled)

    def made(self, rows: int, *, is_known: bool = False) -> Registered:
        """The program, registered, for so many rows or for any."""
        is_known = is_known or any(i.kind == "part" for i in self.inputs.values())
        return register_draft(self, rows if is_known else None, None if is_known else rows,
                              is_tuned=True, is_region=False)


def _of_blocks(given: Input, rows: int, length: int) -> tuple[_Parts, _Parts]:
    """Where scales of blocks lie, or bytes of two values, by the row and by the element in it."""
    if given.dtype == "i8":
        return ((1, rows, length // 2),), ((2, length // 2, 1),)
    size = _SIZES[given.dtype]
    blocks = length // size
    if given.kind == "part" and size == 128:
        return ((size, rows // size, blocks),), ((size, blocks, 1),)
    return _of_scales(rows, blocks, size, given.kind == "part")


@functools.lru_cache(1024)
def _forward(types: _Types, length: int, rows: int, dtype: str, block: _Block, eps: float,
             has_mean: bool, is_swizzled: bool) -> Registered:
    """A norm, with its statistics and the sum with the residual."""
    p = _Program(length, dict(types))
    x = p.gated("")[""]
    if "residual" in p.values:
        p.write("sum", "row", _wide(types), x)
    if has_mean:
        mean = x.mean()
        p.write("mean", "scalar", "f32", mean)
        x = x - mean
    rstd = ((x * x).mean() + eps).rsqrt()
    p.write("rstd", "scalar", "f32", rstd)
    return p.made_along_rows({"": p.scaled(x * rstd)}, rows, dtype, block, is_swizzled)


@functools.lru_cache(1024)
def _tiles(types: _Types, length: int, rows: int, dtype: str, block: _Block, is_swizzled: bool,
           has_rows: bool, activation: str = "") -> Registered:
    """Blocks of rows, and perhaps of columns: a row of the program is a tile of as many rows as a
    block has. No number of rows is left open, since where something lies depends on it.

    A wave's lanes have neighbours along the rows, and each lane several rows one below the other,
    which lie side by side in what is transposed."""
    size = BLOCKS[block]
    width = 16 // max([2, *(ELEMENTS[i.dtype].bytes for _, i in types if i.kind == "row")])
    # Of two gradients there are registers for no more than a block along the rows.
    is_wide, is_gradient = has_rows or size != 32, "grad" in dict(types)
    across = math.gcd(length, 2 * width if block == 128 else 32 if is_gradient
                      else 8 * width if is_wide else 4 * width)
    # Two blocks fill sectors of what is transposed; a row with one scale would be no row.
    tall = 64 if size * across == 32 or not (is_wide or is_gradient) else size
    stride = tall // size * across
    below = max(1, tall * across // (32 * width))
    tile, over = tall * across, math.gcd(rows // tall, 128 // tall)
    # The last bit of an element's number is the first of its row's: so many accesses as a lane has,
    # their rows are neighbours.
    bits = tuple((tile >> bit + 1, 2, 1 << bit) for bit in range(below.bit_length() - 1))
    by_row = ((stride, size // below, below), *bits, (across, tall // size, size),
              (tile, over, tall),
              (tile * over * (length // across), rows // tall // over, tall * over))
    by_column = ((1, across, 1), (tile * over, length // across, across))

    def places(along_rows: _Parts, along_columns: _Parts) -> _Parts:
        return _place(by_row, along_rows) + _place(by_column, along_columns)

    each_row, each_column = (1, rows, 1), (1, length, 1)
    matrix = places(((1, rows, length),), (each_column,))
    lie = {"row": (((1, rows, length),), (each_column,)), "scalar": ((each_row,), ()),
           "column": ((), (each_column,))}
    p = _Program(tile, {name: i if i.kind == "number" else Input("part", i.dtype, places(
        *lie.get(i.kind) or _of_blocks(i, rows, length))) for name, i in types})
    values = p.gated(activation)
    if not activation:
        x = values[""]
        if "mean" in p.values:
            x = x - p.values["mean"]
        if "rstd" in p.values:
            x = x * p.values["rstd"]
        values = {"": p.scaled(x)}
    for prefix, value in values.items():
        if has_rows:
            p.quantize(value, dtype, block, matrix, places(
                *_of_scales(rows, length // size, size, is_swizzled)), prefix)
        of_columns, of_rows = _of_scales(length, rows // size, size, is_swizzled)
        p.quantize(value, dtype, block, places((each_row,), ((1, length, rows),)),
                   places(of_rows, of_columns), prefix + "columns_", stride)
    return p.made(rows * length // tile, is_known=True)


@functools.lru_cache(1024)
def _squares(types: _Types, length: int, rows: int, dtype: str, block: _Block) -> Registered:
    """Blocks of 128x128, each a row of the program."""
    row = 128 * 128
    parts: _Parts = ()
    if length > 128:
        parts = ((128 * length, rows // 128, 128 * length), (row, length // 128, 128),
                 (128, 128, length), (1, 128, 1))
    p = _Program(row, {name: Input("part", i.dtype, parts) if parts and i.kind == "row" else i
                       for name, i in types})
    p.quantize(p.values["input"], dtype, block, parts)
    return p.made(rows * length // row, is_known=True)


@functools.lru_cache(1024)
def _glu(types: _Types, length: int, rows: int, dtype: str, block: _Block, activation: str,
         is_swizzled: bool) -> Registered:
    p = _Program(length, dict(types))
    return p.made_along_rows(p.gated(activation), rows, dtype, block, is_swizzled)


@functools.lru_cache(1024)
def _backward(types: _Types, length: int, rows: int, dtype: str, block: _Block, has_mean: bool,
              has_sum: bool, has_data: bool, is_swizzled: bool) -> Registered:
    p = _Program(length, dict(types))
    dy = p.values["grad"]
    dx, xhat = p.norm_gradient(dy, p.values["input"])
    if "weight" in p.values:
        p.write("weight", "column_sum", "f32", dy * xhat)
        if has_mean:
            p.write("bias", "column_sum", "f32", dy)
    if "grad_sum" in p.values:
        dx = dx + p.values["grad_sum"]
    if has_sum:
        p.write("sum", "row", _wide(types), dx)
    return p.made_along_rows({"": dx} if has_data else {}, rows, dtype, block, is_swizzled)


def _wide(types: _Types) -> str:
    """The type of rows that are written beside what is quantised: the first that is read."""
    return next((i.dtype for _, i in types if i.dtype in ("f16", "bf16", "f32")
                 and i.kind == "row"), "bf16")


@functools.lru_cache(1024)
def _widened(types: _Types, length: int, rows: int, dtype: str, *_: object) -> Registered:
    """A quantised tensor as numbers."""
    p = _Program(length, dict(types))
    p.write("data", "row", dtype, p.values["input"])
    return p.made(rows)


def _shape(rows: Tensor | Quantized) -> tuple[int, ...]:
    """The shape of an operand's values. (torch.Size has no symbols.)"""
    data = rows.data if isinstance(rows, Quantized) else rows
    return (*data.shape[:-1], 2 * data.shape[-1]) if (
        data.dtype == torch.float4_e2m1fn_x2) else tuple(data.shape)


def _stand_in(name: str, value: Any) -> Any:
    """An operand, or of a quantised one a tensor of its values' shape, after its check."""
    if not isinstance(value, Quantized):
        return value
    check_dense(f"{name}.data", value.data, (*FLOAT8, torch.float4_e2m1fn_x2))
    if value.scale is None:
        raise ValueError(f"{name}: expected a Quantized with a scale, got None; put the reciprocal "
                         "of the factor there, of the shape [..., 1]")
    check_dense(f"{name}.scale", value.scale,
                (torch.float32, torch.float8_e8m0fnu, torch.float8_e4m3fn))
    shape = _shape(value)
    if shape and 0 not in shape:
        _scale_input(name, value)
    return torch.empty(1, dtype=torch.float32, device=value.data.device).expand(shape)


def _scale_input(name: str, value: Quantized) -> Input:
    """How a program reads the scales; a "part" is of a known number of rows."""
    shape, scale = _shape(value), value.scale
    assert scale is not None
    length, count, own = int(shape[-1]), math.prod(shape[:-1]), ELEMENT_NAMES[scale.dtype]
    blocks, size = scale.shape[-1], _SIZES[own]
    if scale.shape[:-1] == shape[:-1] and blocks == 1:
        return Input("scalar", own)
    if scale.shape == (*shape[:-1], length // size) and length % size == 0:
        return Input("lead", own, ((size, length // size),))
    is_swizzled = size < 128 and scale.dim() == 1 and length % (4 * size) == 0 and (
        blocks == count * length // size)
    if count % 128 == 0 and (is_swizzled or (size == 128 and length % 128 == 0 and scale.shape == (
            count // 128, length // 128))):
        by_row, by_element = _of_blocks(Input("part", own), int(count), length)
        parts = (*_place(((length, int(count), 1),), by_row),
                 *_place(((1, length, 1),), by_element))
        return Input("part" if parts else "number", own, parts)
    raise ValueError(f"{name}.scale: expected {own} of each row, [..., 1], of blocks of {size} "
                     f"elements{' or 128x128' if size == 128 else ', swizzled or not,'} of "
                     f"{list(shape)}, got {list(scale.shape)}")


def _inputs(name: str, kind: str, value: Tensor | Quantized) -> list[tuple[str, Input, Tensor]]:
    """What a program reads of an operand."""
    if not isinstance(value, Quantized):
        return [(name, Input(kind, ELEMENT_NAMES[value.dtype]), value.detach())]
    assert value.scale is not None
    data, given = value.data.detach(), Input(
        "row", ELEMENT_NAMES[value.data.dtype] if value.data.dtype in FLOAT8 else "i8")
    if given.dtype == "i8":
        data = data.view(torch.uint8).view(torch.bool)
        given = Input("lead", "i8", ((2, int(data.shape[-1])),))
    return [(name, given, data), (name + "_scale", _scale_input(name, value), value.scale)]


def _run(make: functools._lru_cache_wrapper[Registered], operands: _Operands, dtype: torch.dtype,
         block: _Block, *options: float | str) -> dict[str, Tensor]:
    """The results of a program by their names, of its operands, those that are not None."""
    read = [one for name, (kind, t) in operands.items() if t is not None
            for one in _inputs(name, kind, t)]
    first, whole = read[0][2], next(t for _, t in operands.values() if t is not None)
    shape_of_rows = _shape(whole)
    length = shape_of_rows[-1]
    rows = math.prod(shape_of_rows) // length
    types = tuple((name, given) for name, given, _ in read)
    tensors = {name: tensor for name, _, tensor in read}
    # Scales of one dimension.
    is_flat = make is _squares or bool(options[0 if make is _tiles else -1])
    is_known = is_flat or make is _tiles or any(i.kind == "part" for _, i in types)
    # In torch.compile's graphs numbers may be symbols: one that is known there is guarded.
    hint = int(rows) if is_known or isinstance(rows, int) else int(rows.node.hint)
    program = make(types, int(length), hint if is_known else rows_hint(hint), _NAMES[dtype], block,
                   *options)
    inputs = [tensors[name] for name in program.inputs]
    evaluate = find_program(program.text).evaluate
    outputs = (evaluate(inputs) if evaluate and first.is_cpu and falls_back("lnbwd.functional")
               else raw_region(inputs, program.text))
    results = {}
    for name, output in zip(program.outputs, outputs, strict=True):
        kind = name.rpartition("_")[2]
        shape, count = shape_of_rows, rows
        if "columns_" in name:
            shape, count = (length, rows), length
        if kind == "data" and output.dtype != dtype:
            output = output.view(torch.uint8).view(dtype).view(*shape[:-1], -1)
        elif kind in ("data", "sum"):
            output = output.view(shape)
        elif kind == "amax":
            output = output.amax()
        elif kind in ("scale", "mean", "rstd") and not (kind == "scale" and is_flat):
            output = output.view(*shape[:-1], output.numel() // count)
        results[name] = output
    return results


def _joined(results: dict[str, Tensor]) -> Quantized:
    """What kernels gave."""
    fields: dict[str, Any] = dict(results)
    for whose in ("up", "columns"):
        inner = {name: fields.pop(name) for name in [*fields] if name.startswith(whose + "_")}
        if inner:
            fields[whose] = _joined({name.removeprefix(whose + "_"): value
                                     for name, value in inner.items()})
    return Quantized(**fields)


def _check(operands: _Operands, dtype: torch.dtype, block: _Block, columns: bool = False,
           swizzled: bool = False, along_rows: bool = True, required: Sequence[str] = ()) -> None:
    """Raises TypeError or ValueError for operands that do not fit the first, which is rows."""
    (name, (_, x)), *others = ((name, (kind, _stand_in(name, value)))
                               for name, (kind, value) in operands.items())
    check_dense(name, x, KERNEL_TYPES)
    if x.dim() == 0 or x.numel() == 0:
        raise ValueError(f"{name}: expected rows [..., N] of one element or more, got the shape "
                         f"{list(x.shape)}")
    for other, (kind, value) in others:
        if other in required:
            check_tensor(other, value)
        types: Sequence[torch.dtype] = KERNEL_TYPES if kind in ("row", "column") else [
            torch.int64 if other == "seed" else torch.float32]
        shape, where = {
            "row": (x.shape, f" of {name}"), "column": (x.shape[-1:], f" (a row of {name})"),
            "scalar": ((*x.shape[:-1], 1), f" (a number for each row of {name})"),
            "number": ((), " (one number)")}[kind]
        check_parameter(other, value, shape, name, x, types, where)
    if not isinstance(dtype, torch.dtype) or _NAMES.get(dtype) not in _FORMATS:
        names = ", ".join(str(known) for known in (*FLOAT8, torch.float4_e2m1fn_x2))
        raise TypeError(f"dtype: expected {names}, got {dtype}")
    factor = operands.get("factor", ("", None))[1]
    is_float4 = dtype == torch.float4_e2m1fn_x2
    if block not in ("mx", "mx-rceil", *(("nv",) if is_float4 else (None, 128))) or (
            factor is not None and block not in (None, "nv")):
        wanted = "'mx', 'mx-rceil'" + (" or 'nv', and 'nv' with a factor" if is_float4 else
                  ", None or 128 (or, of quantize, '128x128'), and None with a factor")
        raise ValueError(f"block: expected {wanted}, got {block!r}"
                         f"{' with a factor' if factor is not None else ''} for {dtype}")
    size, length = BLOCKS[block], x.shape[-1]
    rows = x.numel() // length
    if along_rows and size and (length % size or length == size):
        raise ValueError(f"{name}: expected rows of two or more whole blocks of {size} elements, "
                         f"got {list(x.shape)}; pad the rows, or leave block out")
    tile = 128 if columns else 4 * size
    if swizzled and (size not in (16, 32) or length % tile or rows % 128):
        raise ValueError("swizzled: expected blocks of 'mx', 'mx-rceil' or 'nv', a multiple of 128 "
                         "rows and of 4 blocks in each, of both along columns, got "
                         f"{rows} rows of {length} with block={block!r}")
    if columns and (block is None or rows % max(size, 64)):
        raise ValueError(f"columns: expected a block and a multiple of {max(size, 64)} rows, got "
                         f"{rows} rows with block={block!r}")


def _norm(has_mean: bool, input: Tensor | Quantized, weight: Tensor | None, bias: Tensor | None,
          eps: float, residual: Tensor | None, dtype: torch.dtype, factor: Tensor | None,
          block: _Block, columns: bool, swizzled: bool, seed: Tensor | None) -> Quantized:
    """A norm along the rows and, of the same values, down the columns."""
    operands: _Operands = {
        "input": ("row", input), "residual": ("row", residual), "weight": ("column", weight),
        "bias": ("column", bias), "factor": ("number", factor), "seed": ("number", seed)}
    _check(operands, dtype, block, columns, swizzled)
    result = _run(_forward, operands, dtype, block, eps, has_mean, swizzled)
    if not columns:
        return _joined(result)
    # Tiles have no sums of rows. From the statistics, a kernel for each layout reads as much as one
    # for both, and takes less time.
    statistics = {name: ("scalar", result.get(name)) for name in ("mean", "rstd")}
    return _joined(result | _run(_tiles, operands | statistics, dtype, block, swizzled, False))


def _norm_backward(has_mean: bool, grad: Tensor | Quantized, input: Tensor, mean: Tensor | None,
                   rstd: Tensor, weight: Tensor | None, grad_sum: Tensor | None, dtype: torch.dtype,
                   factor: Tensor | None, block: _Block, has_sum: bool, columns: bool,
                   swizzled: bool, seed: Tensor | None) -> Quantized:
    operands: _Operands = {
        "grad": ("row", grad), "input": ("row", input), "grad_sum": ("row", grad_sum),
        "weight": ("column", weight), "mean": ("scalar", mean), "rstd": ("scalar", rstd)}
    numbers: _Operands = {"factor": ("number", factor), "seed": ("number", seed)}
    _check(operands | numbers, dtype, block, columns, swizzled,
           required=("input", "rstd", *["mean"] * has_mean))
    if not columns:
        return _joined(_run(_backward, operands | numbers, dtype, block, has_mean, has_sum, True,
                            swizzled))
    # To read the sum again takes fewer bytes than to compute a tile's values of all operands again.
    found: dict[str, Any] = _run(_backward, operands, dtype, block, has_mean, True, False, False)
    both = _gated({"input": found["sum"]}, "", dtype, factor, block, columns, swizzled, seed)
    return both._replace(**{name: value for name, value in found.items()
                            if has_sum or name != "sum"})


def _gated(operands: Mapping[str, Tensor | Quantized], activation: str, dtype: torch.dtype,
           factor: Tensor | None, block: _Block, columns: bool, swizzled: bool,
           seed: Tensor | None) -> Quantized:
    """A tensor, a gated unit or its gradient, along the rows and perhaps down the columns."""
    given: _Operands = {**{name: ("row", value) for name, value in operands.items()},
                        "factor": ("number", factor), "seed": ("number", seed)}
    _check(given, dtype, block, columns, swizzled, required=tuple(operands))
    if len(operands) > 1 and activation not in ("silu", "gelu"):
        raise ValueError(f"activation: expected 'silu' or 'gelu', got {activation!r}")
    if columns and BLOCKS[block] == 32 and seed is None:
        return _joined(_run(_tiles, given, dtype, block, swizzled, True, activation))
    results = _run(_glu, given, dtype, block, activation, swizzled)
    return _joined(results | _run(_tiles, given, dtype, block, swizzled, False, activation)
                   if columns else results)


def dequantize(input: Quantized, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """The values of a quantised tensor: ``data`` times ``scale`` in float32, rounded to ``dtype``.

    Args:
        input: of any format and layout along the rows, its scales swizzled too; where it has a
            factor, that is still in the values.
        dtype: float16, bfloat16 or float32.
    """
    _check({"input": ("row", input)}, torch.float8_e4m3fn, None)
    if not isinstance(input, Quantized) or dtype not in KERNEL_TYPES:
        raise TypeError("dequantize: expected a Quantized and float16, bfloat16 or float32, got "
                        f"{type(input).__name__} and {dtype}")
    shape, rows, scale = _shape(input), input, input.scale
    # Rows of blocks have no end: where 2048 elements are one, no workgroup waits for a long one.
    if (_scale_input("input", input).kind == "lead" and scale is not None
            and math.prod(shape) % 2048 == 0 < math.prod(shape)
            and input.data.is_contiguous() and scale.is_contiguous()):
        rows = Quantized(input.data.view(-1, 2048 * input.data.shape[-1] // shape[-1]),
                         scale.view(-1, 2048 * scale.shape[-1] // shape[-1]))
    return _run(_widened, {"input": ("row", rows)}, dtype, None, False)["data"].view(shape)


def quantize(input: Tensor | Quantized, *, dtype: torch.dtype = torch.float8_e4m3fn,
             factor: Tensor | None = None, block: _Block | Literal["128x128"] = None,
             columns: bool = False, swizzled: bool = False,
             seed: Tensor | None = None) -> Quantized:
    """Quantises a tensor ``[..., N]``, such as a weight; otherwise as :func:`rms_norm_quantized`.

    With ``block="128x128"`` there is a factor for each 128 rows of 128 elements, by the formula of
    128 elements, and ``scale`` is ``[M / 128, N / 128]``. The transposed has the transposed scales.
    """
    if block == "128x128":
        if isinstance(input, Quantized):
            raise TypeError("input: expected a tensor with block='128x128', got a Quantized")
        given: _Operands = {"input": ("row", input), "seed": ("number", seed)}
        _check(given, dtype, None)
        length = input.shape[-1]
        if length % 128 or input.numel() // length % 128 or columns or swizzled or (
                factor is not None):
            raise ValueError("block='128x128': expected rows and elements of them in multiples of "
                             "128, and neither a factor, columns nor swizzled scales, got "
                             f"{list(input.shape)}")
        result = _joined(_run(_squares, given, dtype, None))
        assert result.scale is not None
        return result._replace(scale=result.scale.view(-1, length // 128))
    return _gated({"input": input}, "", dtype, factor, block, columns, swizzled, seed)


def glu_quantized(gate: Tensor | Quantized, up: Tensor | Quantized,
                  activation: Literal["silu", "gelu"] = "silu", *,
                  dtype: torch.dtype = torch.float8_e4m3fn, factor: Tensor | None = None,
                  block: _Block = None, columns: bool = False, swizzled: bool = False,
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
                           block: _Block = None, columns: bool = False, swizzled: bool = False,
                           seed: Tensor | None = None) -> Quantized:
    """The gradients of :func:`glu_quantized`, straight through its rounding: a :class:`Quantized`
    of that with respect to ``gate``, in which ``up`` has the other. ``grad`` is that with respect
    to the values; the rest is as there."""
    return _gated({"grad": grad, "gate": gate, "up": up}, activation, dtype, factor, block, columns,
                  swizzled, seed)


def quantize_columns(input: Tensor | Quantized, *, dtype: torch.dtype = torch.float8_e4m3fn,
                     block: _Block = "mx", swizzled: bool = False) -> Quantized:
    """Quantises a tensor ``[..., N]`` of M rows in blocks of rows, and transposes it: what the
    product that gives a weight's gradient wants of its operands. Each M compiles a kernel.

    Args:
        block: "mx": of 32 rows, "nv": of 16, of which M has a multiple of 64; 128: of 128 rows.

    All else is as of :func:`rms_norm_quantized`.

    Returns:
        A :class:`Quantized` of ``data``, ``[N, M]``, and ``scale``, ``[N, M / block]``.
    """
    given: _Operands = {"input": ("row", input)}
    if block is None:
        raise ValueError("block: expected 'mx', 'nv' or 128, got None")
    _check(given, dtype, block, True, swizzled, along_rows=False)
    results = _run(_tiles, given, dtype, block, swizzled, False)
    return _joined({name.removeprefix("columns_"): value for name, value in results.items()})


def rms_norm_quantized(input: Tensor | Quantized, weight: Tensor | None = None,
                       eps: float | None = None, *, residual: Tensor | None = None,
                       dtype: torch.dtype = torch.float8_e4m3fn, factor: Tensor | None = None,
                       block: _Block = None, columns: bool = False, swizzled: bool = False,
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
        factor: for all rows, a tensor of one float32 (``[]``), as delayed scaling has it; None: one
            for each row or block. With "nv" what blocks' scales are for: 2688 over the tensor's
            largest magnitude is best.
        block: 128: a factor for each 128 elements; "mx" or "mx-rceil": for each 32 elements a scale
            that is a power of two (``torch.float8_e8m0fnu``; mxfp8, mxfp4); "nv": of float4, for
            each 16 elements a scale of ``torch.float8_e4m3fn`` (nvfp4).
        columns: whether the values are also quantised in blocks of rows, with a block alone: as of
            :func:`quantize_columns`.
        swizzled: whether scales of "mx" or "nv" are in the order of cuBLASLt and CUTLASS, tiles of
            128x4; then ``scale`` has one dimension. There are whole tiles, and a kernel for each
            number of rows.
        seed: an int64 (``[]``): values are rounded to either neighbour by chance, so that the mean
            is right, with the numbers that Philox draws of the seed and of each element's number.
            None: to the nearest.

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
                         factor: Tensor | None = None, block: _Block = None, columns: bool = False,
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
                                factor: Tensor | None = None, block: _Block = None,
                                has_sum: bool = True, columns: bool = False, swizzled: bool = False,
                                seed: Tensor | None = None) -> Quantized:
    """The gradient of RMSNorm with respect to its input, quantised.

    Args:
        grad: that with respect to the norm's result, ``[..., N]``.
        input: what was normalised, the sum with the residual.
        rstd: of the forward pass, ``[..., 1]``.
        weight: the scale; None: 1, and no gradient of it.
        grad_sum: a gradient with respect to the sum that came another way, which is added.
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
                                  factor: Tensor | None = None, block: _Block = None,
                                  has_sum: bool = True, columns: bool = False,
                                  swizzled: bool = False, seed: Tensor | None = None) -> Quantized:
    """The gradient of LayerNorm, quantised; otherwise as :func:`rms_norm_backward_quantized`. With
    a weight there is also the gradient of a bias."""
    return _norm_backward(True, grad, input, mean, rstd, weight, grad_sum, dtype, factor, block,
                          has_sum, columns, swizzled, seed)


# torch.compile does not trace how programs are made: its graphs have their kernels.
for _function in (_norm, _norm_backward, _gated, dequantize, quantize, quantize_columns):
    torch.compiler.allow_in_graph(_function)
