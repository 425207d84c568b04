# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operands of a row program for the tensors of a row function's graph.

A *domain* says which tensors are rows: M rows of N elements. In it a tensor is a row block
(``[..., N]`` of M·N elements), a row scalar (``[..., 1]`` of M), a column (``[N]``), or a lead,
what is computed for each row and each of its parts: to the program, a row of equal neighbours. What
moves elements between these shapes without changing their order is no operation at all.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ..element_types import ELEMENT_NAMES, FLOAT8

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
"""The types of numbers that a row program reads and writes."""

FLOATS = {**DTYPES, **{dtype: ELEMENT_NAMES[dtype] for dtype in FLOAT8}}
"""Types of row blocks, without float8's powers of two, to which PyTorch rounds up."""

ELEMENTS = {**FLOATS, torch.bool: "i8"}
"""All of row blocks: masks are among them."""

INTEGERS = {torch.int64: "i64", torch.int32: "i32"}
"""Types of row scalars that are compared with columns' numbers."""

SMALL = {**DTYPES, torch.bool: "i8"}
"""Types of operands with fewer elements than a row block."""

SCALARS = {**SMALL, **INTEGERS}
"""Types of row scalars, and of numbers."""

Number = int | torch.SymInt


def same(first: Number, second: Number) -> bool:
    """Whether two numbers, which may depend on dynamic shapes, are always equal."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return bool(statically_known_true(first == second))


def product(sizes: Any) -> Number:
    """The product of a shape's sizes."""
    result: Number = math.prod(sizes)
    return result


@dataclass(frozen=True)
class Domain:
    """M rows of N elements; M depends on symbols."""

    rows: Number
    length: int

    def role(self, value: Any) -> str | None:
        """The role of a tensor: "row", "scalar", "column", "lead", "number", which is one for all
        rows, or None."""
        if not isinstance(value, torch.Tensor):
            return None
        if value.dim() == 0:
            return "number"
        count = value.numel()
        # Of rows of one element, what has no dimension for it is a number for each row.
        if same(count, self.rows * self.length) and (
                self.length > 1 or same(value.shape[-1], 1)):
            return "row"
        if same(count, self.length):
            return "column"
        if same(count, self.rows):
            return "scalar"
        return "lead" if self.repeats(value) else None

    def repeats(self, value: torch.Tensor) -> int | None:
        """How many neighbours in a row each element of a lead stands for; None of anything else."""
        for size in itertools.accumulate(reversed(value.shape), operator.mul):
            if (isinstance(size, int) and 1 < size < self.length and self.length % size == 0
                    and same(value.numel(), self.rows * size)):
                return self.length // size
        return None

    def place(self, value: torch.Tensor, over: torch.Tensor) -> str | None:
        """The operand for a tensor that is spread over a row block or a lead; None if a program has
        none."""
        runs = _runs(value, over)
        if not runs:
            return None if runs is None else (
                "column" if self.length == 1 and value.dim() > 0 else "number")
        repeats = (self.repeats(over) or 1) if self.role(over) == "lead" else 1
        [(distance, size), *others] = [(distance * repeats, size) for distance, size in runs]
        if others:
            return None
        if same(distance, 1) and same(size, self.rows * self.length):
            return "row"
        if same(distance, 1) and same(size, self.length):
            return "column"
        if same(distance, self.length) and same(size, self.rows):
            return "scalar"
        is_lead = (isinstance(distance, int) and distance < self.length
                   and self.length % distance == 0
                   and same(distance * size, self.rows * self.length))
        return "lead" if is_lead else None

    def __str__(self) -> str:
        return f"{self.rows}x{self.length}"


def _runs(value: torch.Tensor, over: torch.Tensor) -> list[tuple[Number, Number]] | None:
    """The dimensions of ``over`` that ``value`` has which is spread over it, neighbours joined,
    outermost first: of each the elements of ``over`` from one index to the next, and their number.
    None if it cannot be spread."""
    if value.dim() > over.dim():
        return None
    runs: list[tuple[Number, Number]] = []
    distance: Number = 1
    is_joined = False
    missing = over.dim() - value.dim()
    for dim in reversed(range(over.dim())):
        size = over.shape[dim]
        own, stride = ((value.shape[dim - missing], value.stride(dim - missing))
                       if dim >= missing else (1, 0))
        if same(size, 1):
            continue
        # What is expanded is there once.
        is_there = same(own, size) and not same(stride, 0)
        if is_there and is_joined:
            runs[0] = (runs[0][0], runs[0][1] * size)
        elif is_there:
            runs.insert(0, (distance, size))
        elif not same(own, 1) and not same(stride, 0):
            return None
        is_joined = is_there
        distance = distance * size
    return runs
