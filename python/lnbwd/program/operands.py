# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs and outputs of a row program, and tables of their types."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

import torch

from ..core.base.operations import ELEMENTS, KINDS, Dims

TYPES: dict[str, torch.dtype] = {
    name: getattr(torch, element.torch) for name, element in ELEMENTS.items()}
"""Kernels' types in the order of the runtime's; others than floats in row programs alone."""

ELEMENT_NAMES = {dtype: name for name, dtype in TYPES.items()}
"""The kernels' names of the types."""

FLOAT8 = [getattr(torch, element.torch) for element in ELEMENTS.values()
          if element.use == "float8" and element.fraction]
"""The types of float8."""

COMPARISONS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
"""Comparisons, whose results are conditions, and the predicates of ``arith.cmpf``."""

LOGIC = {"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"}
"""Operations on two conditions, or on the bits of two integers."""

CONDITIONS = frozenset((*COMPARISONS, *LOGIC, "not"))
"""Nodes that make a condition of numbers and conditions."""

INTEGERS = {"i64": "i64", "i32": "i32", "i16": "i32", "si8": "i32", "ui8": "i32"}
"""Types of integers in memory, and those in which they are computed."""

BYTES = ("si8", "ui8")
"""Types of integers that are "i8" in MLIR."""

SUMS = {"row_sum": "add", "row_max": "maximumf"}
"""Nodes that make a row scalar of a row, and the kind of ``vector.reduction``."""

RANDOM_STEP = 4.6566127342e-10
"""The factor of 31 random bits, as Triton's."""


class _Tensor:
    """A tensor that is read or written."""

    kind: str
    parts: tuple[tuple[int, ...], ...]

    @property
    def dims(self) -> Dims:
        """The dimensions that it has."""
        return KINDS[KIND_NAMES[self.kind]]

    def is_row(self, length: int) -> bool:
        """Whether it differs along a row of ``length`` elements."""
        if self.parts:
            return any(part[0] < length for part in self.parts)
        return self.dims.has_columns


@dataclasses.dataclass(frozen=True)
class Input(_Tensor):
    """A tensor that is read: ``kind`` is "row" [M, N], "column" [N], "group_column" [B, N], of
    which group b of M / B rows uses row b, "scalar" [M], or what all groups share, "repeated_row"
    [M / B, N] and "repeated_scalar" [M / B], or all rows, "number" [1], or each group,
    "group_scalar" [B]; or a "part", which has some
    of the dimensions of a row block and is repeated along the others; or a "table" of ``rows``
    rows, [V, N], or "elements", [V], of which the node ``take`` has some. ``dtype`` is "f16",
    "bf16" or "f32", for a row also a float of 8 bits or "i8": a mask, of bytes that are 0 or 1, or
    one of :data:`INTEGERS`, float32 inside unless "integer" reads it; a seed is an "i64" number.

    ``parts`` are the dimensions of a part, or of a "group_column" that has some columns, outermost
    first: of each the number of elements of a row
    block from one index to the next, and its size. GroupNorm's weight of C channels of S elements
    is ``((S, C),)``, whatever the number of channels in a row. Those of a "lead", a number for each
    row and each S neighbours in it, are ``((S, N // S),)``: it has all rows, too. A part whose own
    elements do not lie side by side, or in another order, as permuted heads and slices, has a third
    number for each: its own elements from one index to the next. It begins with its first element,
    and its memory is all up to its last. Two more, a and b, if it has other indices than the row
    block: index i is its index (i + a) mod b, of b."""

    kind: str
    dtype: str
    parts: tuple[tuple[int, ...], ...] = ()
    rows: int = 1

    @property
    def is_strided(self) -> bool:
        """Whether it is a part that does not have its elements side by side, in their order."""
        return any(len(part) > 2 for part in self.parts)

    def row_length(self, length: int) -> int:
        """The elements that it has for each row of its own; of a part or a table, all."""
        if self.is_strided:
            return 1 + sum(((moved or (0, size))[1] - 1) * stride
                           for _, size, stride, *moved in self.parts)
        if self.parts:  # As many as they say: all, or those of a row.
            return math.prod(part[1] for part in self.parts)
        if self.kind == "elements":
            return self.rows
        return length * self.rows if self.dims.has_columns else 1


@dataclasses.dataclass(frozen=True)
class Output(_Tensor):
    """A tensor that is written: ``kind`` is "row" [M, N], "scalar" [M], "column_sum" [N], the sum
    of ``value``, a row, over all rows, or "group_sum" [B, N], the sums over the rows of each of B
    groups, or "column_max" and "group_max", the largest, or "total" and "total_max" [], of numbers
    of each row, or "part_sum", "part_max", "part_total" and "part_total_max", which have ``parts``;
     ``dtype`` its type, as that of an input; ``value`` the index of a node: of "i8" a
    condition, or whole numbers from 0 to 255, of integers integers, or whole numbers below 2^31. A
    "row"
    may have one number for each ``block`` elements, the first of these, [M, N / block]. With
    ``parts``, which are those of an input, a "row" or "scalar" lies in another order, all of its
    elements or of each block of these the first, and what lies between them stays as it is; what
    combines rows has them as its dimensions."""

    kind: str
    dtype: str
    value: int
    block: int = 1
    parts: tuple[tuple[int, ...], ...] = ()

    @property
    def is_strided(self) -> bool:
        """Whether its elements lie in another order than the row block's, or with gaps."""
        return bool(self.parts) and self.kind not in SUM_KINDS

    def row_length(self, length: int) -> int:
        """Its elements for each row of its own; with parts all, gaps included."""
        if self.is_strided:
            return 1 + sum((size - 1) * stride for _, size, stride in self.parts)
        if self.parts:
            return math.prod(part[1] for part in self.parts)
        return length // self.block if self.dims.has_columns else 1


KIND_NAMES = {"row": "row_block", "repeated_row": "repeated_row_block", "column": "column",
              "group_column": "group_column", "scalar": "row_scalar",
              "repeated_scalar": "repeated_row_scalar", "group_scalar": "group_scalar",
              "number": "number", "part": "column", "lead": "row_block", "table": "column",
              "elements": "column",
              "part_sum": "column", "part_max": "column", "part_total": "column",
              "part_total_max": "column", "total": "number", "total_max": "number",
              "column_sum": "column",
              "column_max": "column", "group_sum": "group_column", "group_max": "group_column"}
"""The kinds of inputs and outputs in :data:`lnbwd.operations.KINDS`."""

INPUT_KINDS = ("row", "repeated_row", "column", "group_column", "scalar", "repeated_scalar",
               "group_scalar", "number", "part", "lead", "table", "elements")
"""Kinds of inputs, in the order in which a program has them."""

TABLES = ("table", "elements")
"""Kinds of inputs that indices select from."""

SUM_KINDS = {"part_sum": "add", "part_max": "max", "part_total": "add", "part_total_max": "max",
             "total": "add", "total_max": "max", "column_sum": "add", "column_max": "max",
             "group_sum": "add", "group_max": "max"}
"""Kinds of outputs that combine rows, and how."""

OUTPUT_KINDS = ("row", "part_sum", "part_max", "scalar", *list(SUM_KINDS)[2:])
"""Kinds of outputs, in the order in which a program has them."""


def cut(length: int, parts: Iterable[Sequence[int]]) -> list[int] | None:
    """The sizes whose products are row blocks, so that rows and ``parts`` are whole dimensions: for
    each dimension, innermost first, the elements from one index to the next, and at the end those
    of one index of the outermost, whose size is not known. None: there are no such dimensions, or a
    part with shifted indices would be cut."""
    parts = list(parts)
    cuts = sorted({1, length, *(part[0] for part in parts), *(part[0] * part[1] for part in parts)})
    if any(outer % inner for inner, outer in itertools.pairwise(cuts)) or any(
            distance < one < distance * size
            for distance, size, *others in parts if len(others) > 1 for one in cuts):
        return None
    return cuts


def element_of(dtype: str) -> str:
    """The type of elements in MLIR."""
    return "i8" if dtype in BYTES else dtype
