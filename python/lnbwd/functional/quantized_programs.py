# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The row programs of norms and gated units that write float8 or float4, node by node."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from ..core.base.operations import ELEMENTS
from ..ops.regions import Registered, register_draft
from ..program.builder import Draft, Value
from ..program.operands import Input
from .quantized_layouts import (
    BLOCKS,
    FLOAT4,
    FORMATS,
    Block,
    Format,
    Parts,
    of_scales,
    parts_of_blocks,
    placed,
)

_Types = tuple[tuple[str, Input], ...]

_LEAST = 1e-12
"""The least divisor of a factor, as torchao's, so that its reciprocal is a number."""


class Program(Draft):
    """A program under construction, which reads quantised operands and quantises values."""

    def __init__(self, length: int, inputs: Mapping[str, Input]) -> None:
        super().__init__(length, inputs)
        for name, given in inputs.items():
            if given.dtype == "i8":
                self.values[name] = self.unpacked(self.values[name].byte())
            if name + "_scale" in inputs:
                self.values[name] = self.values[name] * self.values[name + "_scale"]

    def quantize(self, row: Value, dtype: str, block: Block, parts: Parts = (),
                 scale_parts: Parts = (), prefix: str = "", stride: int = 1) -> None:
        """Rounds a row to float8 or float4 with a given factor, or with the factor of its largest
        magnitude or of each block's; a block's elements are ``stride`` apart. Parts give the layout
        of the row and the scales."""
        most = FORMATS[dtype].most
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
            least = 2.0 ** (1 - FORMATS[element].bias)
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
            value = self.rounded_by_chance(value, FORMATS[dtype])
        if dtype != FLOAT4:
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

    def rounded_by_chance(self, value: Value, element: Format) -> Value:
        """A neighbour in the format, the upper one as likely as the value is near it."""
        value = value.min(element.most).max(-element.most)
        power = value.abs().round("f8E8M0FNU").max(2.0 ** (1 - element.bias))
        # In steps of the format: exact, as what follows.
        steps = value * power.power_inverse() * 2.0 ** element.fraction
        low = steps.floor()
        is_up = self.values["seed"].random() < steps - low
        return (low + is_up.select(1.0, 0.0)) * 2.0 ** -element.fraction * power

    def gated(self, activation: str) -> dict[str, Value]:
        """The values of a gated unit, or given a gradient of its result, the gradients of both
        inputs, by their names' beginnings. Without an activation: the input plus the residual."""
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

    def made_along_rows(self, values: dict[str, Value], rows: int, dtype: str, block: Block,
                        is_swizzled: bool) -> Registered:
        """The program of values that are quantised along its rows, by the names' prefixes."""
        parts: Parts = ()
        if is_swizzled:
            by_row, by_element = of_scales(rows, self.length // BLOCKS[block], BLOCKS[block], True)
            parts = (*placed(((self.length, rows, 1),), by_row),
                     *placed(((1, self.length, 1),), by_element))
        for prefix, value in values.items():
            self.quantize(value, dtype, block, scale_parts=parts, prefix=prefix)
        return self.made(rows, is_known=is_swizzled)

    def made(self, rows: int, *, is_known: bool = False) -> Registered:
        """The program, registered, for so many rows or for any."""
        is_known = is_known or any(i.kind == "part" for i in self.inputs.values())
        return register_draft(self, rows if is_known else None, None if is_known else rows,
                              is_tuned=True, is_region=False)


@functools.lru_cache(1024)
def forward_program(types: _Types, length: int, rows: int, dtype: str, block: Block, eps: float,
                    has_mean: bool, is_swizzled: bool) -> Registered:
    """A norm, with its statistics and the sum with the residual."""
    p = Program(length, dict(types))
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
def tiles_program(types: _Types, length: int, rows: int, dtype: str, block: Block,
                  is_swizzled: bool, has_rows: bool, activation: str = "") -> Registered:
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

    def places(along_rows: Parts, along_columns: Parts) -> Parts:
        return placed(by_row, along_rows) + placed(by_column, along_columns)

    each_row, each_column = (1, rows, 1), (1, length, 1)
    matrix = places(((1, rows, length),), (each_column,))
    lie = {"row": (((1, rows, length),), (each_column,)), "scalar": ((each_row,), ()),
           "column": ((), (each_column,))}
    p = Program(tile, {name: i if i.kind == "number" else Input("part", i.dtype, places(
        *lie.get(i.kind) or parts_of_blocks(i, rows, length))) for name, i in types})
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
                *of_scales(rows, length // size, size, is_swizzled)), prefix)
        of_columns, of_rows = of_scales(length, rows // size, size, is_swizzled)
        p.quantize(value, dtype, block, places((each_row,), ((1, length, rows),)),
                   places(of_rows, of_columns), prefix + "columns_", stride)
    return p.made(rows * length // tile, is_known=True)


@functools.lru_cache(1024)
def squares_program(types: _Types, length: int, rows: int, dtype: str, block: Block) -> Registered:
    """Blocks of 128x128, each a row of the program."""
    row = 128 * 128
    parts: Parts = ()
    if length > 128:
        parts = ((128 * length, rows // 128, 128 * length), (row, length // 128, 128),
                 (128, 128, length), (1, 128, 1))
    p = Program(row, {name: Input("part", i.dtype, parts) if parts and i.kind == "row" else i
                       for name, i in types})
    p.quantize(p.values["input"], dtype, block, parts)
    return p.made(rows * length // row, is_known=True)


@functools.lru_cache(1024)
def glu_program(types: _Types, length: int, rows: int, dtype: str, block: Block, activation: str,
                is_swizzled: bool) -> Registered:
    """A gated unit."""
    p = Program(length, dict(types))
    return p.made_along_rows(p.gated(activation), rows, dtype, block, is_swizzled)


@functools.lru_cache(1024)
def backward_program(types: _Types, length: int, rows: int, dtype: str, block: Block,
                     has_mean: bool,
                     has_sum: bool, has_data: bool, is_swizzled: bool) -> Registered:
    """The gradient of a norm."""
    p = Program(length, dict(types))
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
    """The type of rows that are written beside the quantised ones: the first that is read."""
    return next((i.dtype for _, i in types if i.dtype in ("f16", "bf16", "f32")
                 and i.kind == "row"), "bf16")


@functools.lru_cache(1024)
def widening_program(types: _Types, length: int, rows: int, dtype: str, block: Block) -> Registered:
    """A quantised tensor as numbers."""
    p = Program(length, dict(types))
    p.write("data", "row", dtype, p.values["input"])
    return p.made(rows)
