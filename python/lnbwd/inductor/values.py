# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about memory and values while loop bodies become row programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..program.operands import ELEMENT_NAMES, TABLES
from ..program.row_program import RowProgram
from .places import Form

LARGEST_EXACT = 2 ** 24 - 1
"""Integers up to here are float32 inside where their ranges are known: no other integer is rounded
to them."""

FLOATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
INTEGERS = {dtype: ELEMENT_NAMES[dtype] for dtype in (
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)}
WIDE = (torch.int64, torch.int32)
EIGHTS = {dtype: ELEMENT_NAMES[dtype] for dtype in (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)}
"""Types of row blocks only."""


@dataclass(frozen=True)
class Argument:
    """An argument of a call: a number of elements of a buffer's memory, and the first of them. With
    dynamic shapes the number may be an expression."""

    buffer: str
    offset: int
    count: Any


@dataclass(frozen=True)
class Call:
    """A call of a row program.

    Attributes:
        program: the row program.
        arguments: its inputs and then its outputs.
        bodies: the places of the loop bodies that it computes.
        numbers: M, and where there are groups of rows B, which stand before the tensors; with
            dynamic shapes they may be expressions.
        indices: buffers whose integers are indices, each with the number of what they count.
    """

    program: RowProgram
    arguments: tuple[Argument, ...]
    bodies: tuple[int, ...]
    numbers: tuple[Any, ...]
    indices: tuple[tuple[str, int], ...] = ()

    def elements(self) -> dict[Argument, int]:
        """How many elements the program reads or writes of each argument."""
        program, found = self.program, dict[Argument, int]()
        for one, operand in zip(self.arguments, (*program.inputs, *program.outputs), strict=True):
            count = math.prod(part[1] for part in operand.parts) if operand.parts else one.count
            if operand.kind in TABLES and program.rows is not None:
                count = program.rows * program.length
            found[one] = max(found.get(one, 0), min(count, one.count))
        return found


@dataclass(frozen=True)
class Memory:
    """The memory behind names.

    Attributes:
        dtype: the type of a buffer's elements.
        size: how many elements its memory has.
        first: the element of another buffer's memory at which it begins, if it is a part of that.
        same: the name of the buffer whose memory it is.
        is_needed: whether others read what a node writes there.
        values: numbers that stand for symbols in sizes and indices.
        unit: a number that every choice of a row's length divides; 0: any.
    """

    dtype: Callable[[str], torch.dtype]
    size: Callable[[str], int]
    first: Callable[[str], int]
    same: Callable[[str], str]
    is_needed: Callable[[str], bool]
    values: Mapping[Any, int] = field(default_factory=dict)
    unit: int = 0

    def number(self, expression: Any) -> Any:
        """An expression without the symbols that have values."""
        return expression.subs(self.values) if self.values and hasattr(
            expression, "subs") else expression


@dataclass(frozen=True)
class Value:
    """A node of the program. ``bounds`` are the smallest and the largest value of an integer or an
    index, if known; ``form`` is the form of an index, ``number`` a constant. ``is_exact``: the node
    is an integer, not a float32 number that is an integer, or an input. For a condition, ``ranges``
    are digits, by distance and size, that are between two numbers where it holds."""

    node: int
    dtype: torch.dtype
    bounds: tuple[float, float] | None = None
    form: Form | None = None
    number: float | None = None
    ranges: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    is_exact: bool = False

    @property
    def is_condition(self) -> bool:
        """Whether it is a boolean."""
        return self.dtype == torch.bool

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer of its type."""
        return not self.dtype.is_floating_point and self.dtype != torch.bool

    @property
    def is_small(self) -> bool:
        """Whether it is an integer that float32 has, as the node is."""
        return self.bounds is not None and not self.is_exact


@dataclass(frozen=True)
class Combined:
    """A combination of rows: the value of a row, and the kind of combination."""

    value: Value
    how: str


def element_of(dtype: torch.dtype) -> str | None:
    """The name of an operand's elements."""
    return FLOATS.get(dtype) or INTEGERS.get(dtype) or ("i8" if dtype == torch.bool else None)


def range_of(dtype: torch.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    info = torch.iinfo(dtype)
    return info.min, info.max
