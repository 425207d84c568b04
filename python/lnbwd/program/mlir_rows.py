# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR for row programs' operations, for tensors in memory, and for rows of integers."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from ..core.base.operations import Region
from .operands import LOGIC, RANDOM_STEP, SUM_KINDS, TABLES, Input, Output, element_of

UNARY = {"neg": "arith.negf", "abs": "math.absf", "exp": "math.exp", "exp2": "math.exp2",
         "expm1": "math.expm1", "log": "math.log", "log2": "math.log2", "log1p": "math.log1p",
         "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "tanh": "math.tanh", "erf": "math.erf",
         "sin": "math.sin", "cos": "math.cos", "floor": "math.floor", "ceil": "math.ceil",
         "trunc": "math.trunc", "roundeven": "math.roundeven"}
"""Operations on one value, and the operation of MLIR that each is."""

BINARY = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
          "max": "arith.maximumf", "min": "arith.minimumf", "pow": "math.powf",
          "copysign": "math.copysign"}
"""Operations on two values; ``max`` and ``min`` keep NaNs; ``pow`` has a constant exponent."""

OF_INTEGERS = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli",
               "max": "arith.maxsi", "min": "arith.minsi", "shl": "arith.shli",
               "shr": "arith.shrsi", **LOGIC}
"""Operations on integers."""

CONTRACTED = ("add", "sub", "mul")

_EXACT_BITS = 24
"""Sums and differences of integers of so many bits are exact in float32."""


Dimensions = Sequence[tuple[str, int, Any]]
"""Each one's name, its elements from one index to the next, and its size where known."""


class Layout:
    """How the tensors of a program of ``rows`` rows of ``length`` elements lie in memory, by the
    dimensions of its rows and columns; ``group``: the elements of a group of rows, 0 where that is
    not known, None where rows are no groups."""

    def __init__(self, length: int, rows: int | None, group: int | None, row_dims: Dimensions,
                 column_dims: Dimensions) -> None:
        self.length, self.count, self.group = length, rows, group
        self.row_dims, self.column_dims = row_dims, column_dims
        self.dims = [*row_dims, *column_dims]

    def dims_of(self, value: Input | Output) -> list[tuple[str, int | None, int]]:
        """A tensor's dimensions: of each the index, the size, and, if strided, the stride."""
        if value.parts:
            return self.dims_of_parts(value)
        kind, found = value.dims, []
        for name, distance, size in self.row_dims:
            if kind.has_groups if self.is_of_groups(name, distance) else kind.has_rows:
                found.append((name, size, 0))
        if isinstance(value, Input) and value.kind in TABLES:
            found = [("*", value.rows, 0)]
            if value.kind == "elements":
                return found
        block = value.block if isinstance(value, Output) else 1
        return found + [(name, size, 0) for name, distance, size in self.column_dims
                        if kind.has_columns and distance >= block]

    def is_of_groups(self, name: str, distance: int) -> bool:
        """Whether a row dimension is one of the groups."""
        return self.group is not None and (
            name == "b" or bool(self.group and name != "t" and distance >= self.group))

    def dims_of_place(self, distance: int, size: int) -> list[int]:
        """The dimensions that make an index. The one column of rows of one element makes none."""
        rows = len(self.row_dims)
        return [dim for dim, (_, step, _) in enumerate(self.dims)
                if distance <= step < distance * size and (dim < rows or self.length > 1)]

    def dims_of_parts(self, value: Input | Output) -> list[tuple[str, int | None, int]]:
        """The same of a tensor that has parts of the dimensions."""
        found = []
        for name, distance, size in self.dims:
            part = next((p for p in value.parts if p[0] <= distance < p[0] * p[1]), None)
            if part is None:
                # (Of a single row all have it: one must, to be a row block.)
                if distance >= (length := self.length) and (
                        value.kind == "lead" or (
                            value.kind == "group_column" and self.is_of_groups(name, distance))
                        or (self.count == 1 and value.is_row(length))):
                    found.append((name, size, length))
                continue
            first, _, *rest = part
            index = name
            if distance == first and len(rest) > 1:
                index, size = f"{name} + {rest[1] or rest[2]}", rest[2]
            found.append((index, size, distance // first * rest[0] if rest else 0))
        return found

    def memory(self, value: Input | Output) -> str:
        """The type of a tensor."""
        dims = self.dims_of(value)
        shape = "x".join(["?" if size is None else str(size) for _, size, _ in dims]
                         + [element_of(value.dtype)])
        strides = ", ".join(str(stride) for _, _, stride in dims)
        return f"memref<{shape}{f', strided<[{strides}]>' if value.is_strided else ''}>"

    def kind(self, value: Input | Output) -> str:
        """The kind of a part for the compiler, which orders operands by kinds."""
        length = self.length
        if value.kind in SUM_KINDS:  # Of one index of each other dimension, a sum over all rows.
            is_of_all = bool(value.parts) and math.prod(value.parts[0]) <= length
            return (value.kind.replace("part_total", "total").replace("part_", "column_")
                    if is_of_all else value.kind)
        if not value.parts or value.kind == "group_column":
            return value.kind
        if not value.is_row(length):
            return "scalar"
        of_rows = any(d * size > length for d, size, *_ in value.parts)
        is_all = value.kind == "lead" or self.count == 1
        return "row" if of_rows or is_all else "column"


class Rows(Layout, Region):
    """Writes operations on rows, whichever nodes they are of."""

    def __init__(self, *layout: Any) -> None:
        Layout.__init__(self, *layout)
        Region.__init__(self)

    def type(self, element: str, is_row: bool) -> str:
        """The type of a value: a vector for a row."""
        return f"vector<{self.length}x{element}>" if is_row else element

    def argument(self, value: Input) -> str:
        """The type of an input in the region."""
        if value.kind == "table":
            return f"vector<{value.rows}x{self.length}x{value.dtype}>"
        if value.kind == "elements":
            return f"vector<{value.rows}x{element_of(value.dtype)}>"
        return self.type(element_of(value.dtype), value.is_row(self.length))

    def resized(self, value: str, element: str, to: str, is_row: bool, sign: str = "s") -> str:
        """An integer in another type."""
        bits, wanted = int(element[1:]), int(to[1:])
        if bits == wanted:
            return value
        return self.cast("arith.trunci" if wanted < bits else f"arith.ext{sign}i", value,
                         self.type(element, is_row), self.type(to, is_row))

    def sum_of_integers(self, value: str, element: str, bits: int) -> str:
        """The sum of a row of integers, modulo their type's range: the sums of so few of their bits
        that float32 has them exactly, in any order."""
        row, total = self.type(element, True), ""
        share = _EXACT_BITS - (self.length - 1).bit_length()
        if share < 1:
            raise ValueError(f"expected rows of at most {1 << _EXACT_BITS - 1} integers to be "
                             f"summed, got {self.length}")
        for first in range(0, bits, share):
            part = value
            if first:
                part = self.op("arith.shrsi", row, part, self.constant(first, row))
            if first + share < bits:
                part = self.op("arith.andi", row, part, self.constant((1 << share) - 1, row))
            one = self.reduced("add", part, element)
            if first:
                one = self.op("arith.shli", element, one, self.constant(first, element))
            total = self.op("arith.addi", element, total, one) if total else one
        return total

    def largest_integer(self, value: str, element: str, bits: int) -> str:
        """The largest of a row of integers: of the first bits, then of the next ones of these."""
        row, result = self.type(element, True), ""
        none = self.constant(-1, row)
        firsts = [0] if bits <= _EXACT_BITS else [16, 0] if bits <= 32 else [40, 20, 0]
        is_largest = ""
        for first, before in zip(firsts, [0, *firsts[:-1]], strict=True):
            part = value
            if first:
                part = self.op("arith.shrsi", row, part, self.constant(first, row))
            if before:
                mask = self.constant((1 << before - first) - 1, row)
                part = self.op("arith.andi", row, part, mask)
                part = self.op("arith.select", f"{self.type('i1', True)}, {row}", is_largest, part,
                               none)
            one = self.reduced("maximumf", part, element)
            if first:
                wide = self.cast("vector.broadcast", one, element, row)
                is_largest = self.op("arith.cmpi eq,", row, part, wide)
                one = self.op("arith.shli", element, one, self.constant(first, element))
            result = self.op("arith.ori", element, result, one) if result else one
        return result

    def reduced(self, how: str, value: str, element: str) -> str:
        """The sum or the largest of a row of integers that float32 has."""
        value = self.resized(value, element, "i32", True)
        row = self.type("f32", True)
        value = self.cast("arith.sitofp", value, self.type("i32", True), row)
        found = self.op(f"vector.reduction <{how}>,", f"{row} into f32", value)
        return self.resized(self.cast("arith.fptosi", found, "f32", "i32"), "i32", element, False)

    def index(self, dims: Sequence[int], type_: str) -> str:
        """The index along dimensions that follow each other, as an integer."""
        total = ""
        for dim in dims:
            index = self.op("lnbwd.index", type_, dim)
            step = self.dims[dim][1] // self.dims[dims[-1]][1]
            if step > 1:
                index = self.op("arith.muli", type_, index, self.constant(step, type_))
            total = self.op("arith.addi", type_, total, index) if total else index
        return total

    def column_numbers(self) -> str:
        """The number of each column, as integers."""
        return self.index(range(len(self.row_dims), len(self.dims)), self.type("i32", True))

    def place(self, distance: int, size: int, type_: str) -> str:
        """The index along a dimension, as an integer."""
        return self.index(self.dims_of_place(distance, size), type_)

    def power_inverse(self, value: str, is_row: bool) -> str:
        """The reciprocal of a power of two."""
        bits, type_ = self.type("i32", is_row), self.type("f32", is_row)
        one, mask = (self.constant(number, bits) for number in (0x7F000000, 0x7F800000))
        exponent = self.op("arith.andi", bits, self.cast("arith.bitcast", value, type_, bits), mask)
        return self.cast("arith.bitcast", self.op("arith.subi", bits, one, exponent), bits, type_)

    def random(self, seed: str) -> str:
        """The numbers that Triton's ``tl.rand`` makes of a seed and the element's number: 31 of the
        bits as an integer, times a number just below 2^-31."""
        type_ = self.type("i32", True)
        if self.group == 0:
            raise ValueError("expected a known number of rows in a group where numbers are random")
        number = self.column_numbers()
        for dim, (_, distance, _) in enumerate(self.row_dims):
            row = self.op("lnbwd.index", "i32", dim)
            first = self.op("arith.muli", "i32", row, self.constant(distance, "i32"))
            first = self.cast("vector.broadcast", first, "i32", type_)
            number = self.op("arith.addi", type_, number, first)
        bits = self.op("lnbwd.philox", type_, seed, number)
        sign = self.op("arith.shrsi", type_, bits, self.constant(31, type_))
        bits, wide = self.op("arith.xori", type_, bits, sign), self.type("f32", True)
        return self.op("arith.mulf", wide, self.cast("arith.sitofp", bits, type_, wide),
                       self.constant(float_text(RANDOM_STEP), wide))

    def compared(self, name: str, distance: int, size: int, number: int, is_row: bool) -> str:
        """How an index compares with a whole number, by as few of its dimensions as decide: those
        inside do not where they are passed a whole number of times."""
        dims = self.dims_of_place(distance, size)
        number += name in ("le", "gt")
        units = [self.dims[dim][1] // self.dims[dims[-1]][1] for dim in dims]
        last, unit = next((last, unit) for last, unit in enumerate(units, 1) if number % unit == 0)
        integer = self.type("i32", is_row)
        return self.op(f"arith.cmpi {'ult' if name in ('lt', 'le') else 'uge'},", integer,
                       self.index(dims[:last], integer), self.constant(number // unit, integer))

    def divided(self, name: str, value: str, divisor: str, type_: str, is_row: bool) -> str:
        """A quotient that is rounded down, or its remainder, which has the divisor's sign."""
        zero, condition = self.constant(0, type_), self.type("i1", is_row)
        rest = self.op("arith.remsi", type_, value, divisor)
        differs = self.op("arith.cmpi slt,", type_, self.op("arith.xori", type_, rest, divisor),
                          zero)
        is_below = self.op("arith.andi", condition, differs, self.op(
            "arith.cmpi ne,", type_, rest, zero))
        both = f"{condition}, {type_}" if is_row else type_
        if name == "mod":
            return self.op("arith.select", both, is_below, self.op(
                "arith.addi", type_, rest, divisor), rest)
        quotient = self.op("arith.divsi", type_, value, divisor)
        return self.op("arith.select", both, is_below, self.op(
            "arith.addi", type_, quotient, self.constant(-1, type_)), quotient)


def float_text(number: float) -> str:
    """A float32 constant as MLIR writes it."""
    try:
        packed = struct.pack("<f", number)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, number))
    [rounded] = struct.unpack("<f", packed)
    return f"{rounded:.9e}" if math.isfinite(rounded) else f"0x{packed[::-1].hex().upper()}"


def wrapped(number: float, dtype: str) -> int:
    """A number as an integer of a type."""
    bits = int(dtype.lstrip("siu"))
    half = 0 if dtype == "ui8" else 1 << bits - 1
    return (int(number) + half & (1 << bits) - 1) - half
