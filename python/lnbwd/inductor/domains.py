# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tensors of a PyTorch graph are in a row program.

A *domain* says which tensors are rows: M rows of N elements. In it a tensor is a row block
(``[..., N]`` of M·N elements), a row scalar (``[..., 1]`` of M), a column (``[N]``) or, where the
rows are B groups of neighbours, as the samples of a batch are, a group column (``[B, N]``, spread
over ``[B, T, N]`` as ``[B, 1, N]``), and what moves elements between these shapes without changing
their order is no operation at all. What an operation spreads over a row block in another way is a
*part*: GroupNorm's weight, ``[1, C, 1, 1]`` over ``[B, C, H, W]``, where a row has some channels.
What is computed for each row and each of its channels, ``[B, G, C / G, 1]``, is a *lead*: to the
program, a row of equal neighbours.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .. import operations
from ..rowprogram import Input, cut

__all__ = ["DTYPES", "ELEMENTS", "FLOATS", "INTEGERS", "SMALL", "Domain", "Number",
           "is_channels_last", "memory_order", "memory_shape", "product", "same"]

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
"""The types of numbers that a row program reads and writes."""

FLOATS = {**DTYPES, **{getattr(torch, element.torch): name
                       for name, element in operations.ELEMENTS.items()
                       if element.use == "float8" and element.fraction}}
"""Those of row blocks; of powers of two alone PyTorch rounds up."""

ELEMENTS = {**FLOATS, torch.bool: "i8"}
"""All of row blocks: masks are among them."""

INTEGERS = {torch.int64: "i64", torch.int32: "i32"}
"""Those of row scalars that are compared with numbers of columns, and that say what to compare."""

SMALL = {**DTYPES, torch.bool: "f32"}
"""Those of what has fewer elements than a row block. Booleans are 0 and 1 there: a node in front of
the region makes them, or one behind it takes them."""

Number = int | torch.SymInt


def same(first: Number, second: Number) -> bool:
    """Whether two numbers, of which some depend on dynamic shapes, are always equal."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return bool(statically_known_true(first == second))


def product(sizes: Any) -> Number:
    """The product of a shape's sizes."""
    result: Number = 1
    for size in sizes:
        result = result * size
    return result


def memory_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """The dimensions of a dense tensor, outermost in memory first, where it is contiguous or
    channels-last; None of any other."""
    dims = tuple(range(value.dim()))
    if value.is_contiguous():
        return dims
    dims = (*dims[:1], *dims[2:], 1)
    return dims if value.dim() > 2 and _is_dense(value, dims) else None


def _is_dense(value: torch.Tensor, dims: tuple[int, ...]) -> bool:
    """Whether a tensor is contiguous with its dimensions in some order."""
    distance: Number = 1
    for dim in reversed(dims):
        if not same(value.shape[dim], 1):
            if not same(value.stride(dim), distance):
                return False
            distance = distance * value.shape[dim]
    return True


def is_channels_last(value: torch.Tensor) -> bool:
    """Whether the elements of a dense tensor lie in memory in another order than that of its
    dimensions."""
    return memory_order(value) not in (None, tuple(range(value.dim())))


def memory_shape(value: torch.Tensor) -> list[Number]:
    """The sizes of a tensor, outermost in memory first."""
    return [value.shape[dim] for dim in memory_order(value) or range(value.dim())]


@dataclass(frozen=True)
class Domain:
    """M rows of N elements; M may be a symbol.

    ``groups`` is the number of groups of rows, the first dimension of ``[B, T, N]``, or None; the
    same rows in groups or not are one domain.
    """

    rows: Number
    length: int
    groups: Number | None = field(default=None, compare=False)

    def role(self, value: Any) -> str | None:
        """What a tensor is here: "row", "scalar", "column", "group_column", "lead", "number", which
        is one for all rows, or None."""
        if not isinstance(value, torch.Tensor):
            return None
        if value.dim() == 0:
            return "number"
        count = value.numel()
        # Of rows of one element, what has no dimension for it is a number for each row.
        if same(count, self.rows * self.length) and (
                self.length > 1 or same(memory_shape(value)[-1], 1)):
            return "row"
        if same(count, self.length) and not same(self.rows, self.length):
            return "column"
        if self.groups is not None and same(count, self.groups * self.length) and not same(
                count, self.rows) and [n for n in memory_shape(value) if not same(n, 1)][-1:] == [
                    self.length]:
            return "group_column"
        if self._has_rows(value):
            if same(count, self.length):
                return "column"
            if self.groups is not None and same(count, self.groups * self.length):
                return "group_column"
            return None
        if same(count, self.rows):
            return "scalar"
        return "lead" if self._repeats(value) else None

    def _repeats(self, value: torch.Tensor) -> int | None:
        """How many neighbours in a row each element of a lead stands for; None of anything else."""
        sizes = list(itertools.accumulate(reversed(memory_shape(value)), operator.mul))
        count = sizes[-1]
        if isinstance(count, int) and isinstance(self.rows, int) and self.rows:
            sizes.append(count // self.rows)
        for size in sizes:
            if (isinstance(size, int) and 1 < size < self.length and self.length % size == 0
                    and same(count, self.rows * size)):
                return self.length // size
        return None

    def _has_rows(self, value: torch.Tensor) -> bool:
        """Whether the last dimensions of a tensor are a row."""
        size: Number = 1
        for last in reversed(memory_shape(value)):
            size = size * last
            if same(size, self.length):
                return True
            if same(last, 1) or not isinstance(size, int) or size > self.length:
                return False
        return False

    def place(self, value: torch.Tensor, over: torch.Tensor) -> Input | None:
        """What a tensor is that is spread over a row block or a lead; None: nothing that a program
        has."""
        runs = _runs(value, over)
        dtype = {**SMALL, **INTEGERS}.get(value.dtype)
        if not runs and runs is not None and dtype:
            kind = "column" if self.length == 1 else "scalar" if same(self.rows, 1) else "number"
            return Input(kind if value.dim() > 0 else "number", dtype)
        if not runs:
            return None
        if self.role(over) == "lead":
            repeats = self._repeats(over) or 1
            runs = [(distance * repeats, size) for distance, size in runs]
        (distance, size), others = runs[-1], runs[:-1]
        if not others and same(distance, 1) and same(size, self.rows * self.length):
            element = {**ELEMENTS, **INTEGERS}.get(value.dtype)
            return Input("row", element) if element and _is_like(value, over) else None
        if dtype is None:
            return None
        if not others and same(distance, 1) and same(size, self.length):
            return Input("column", dtype)
        if not others and same(distance, self.length) and same(size, self.rows):
            return Input("scalar", dtype)
        if (len(others) == 1 and same(distance, 1) and same(size, self.length)
                and self.groups is not None and same(others[0][1], self.groups)
                and same(others[0][0] * others[0][1], self.rows * self.length)):
            return Input("group_column", dtype)
        whole = self.rows * self.length
        # The number of what is outermost is the launch's to choose, if it is not known.
        parts = tuple((d, n) for d, n in runs if isinstance(d, int) and isinstance(n, int)
                      and (isinstance(self.rows, int) or not same(d * n, whole)))
        if not others and isinstance(distance, int) and distance < self.length and (
                self.length % distance == 0 and same(distance * size, whole)):
            return Input("lead", dtype, ((distance, self.length // distance),))
        rows_of = [(d, n) for d, n in parts if d * n > self.length]
        is_of_groups = (len(rows_of) == 1 and rows_of[0][0] > self.length
                        and same(math.prod(rows_of[0]), whole))
        if is_of_groups and len(parts) == 1 and self.groups is not None and (
                same(size, self.groups)):
            return Input("group_scalar", dtype)
        if len(parts) < len(runs) or cut(self.length, parts) is None or is_of_groups:
            return None
        return Input("part", dtype, parts)

    def __str__(self) -> str:
        return f"{self.rows}x{self.length}"


def _is_like(value: torch.Tensor, over: torch.Tensor) -> bool:
    """Whether the elements of a tensor lie in memory in the order of another of its shape."""
    if is_channels_last(over):
        return value.dim() == over.dim() and _is_dense(value, memory_order(over) or ())
    return not is_channels_last(value)


def _runs(value: torch.Tensor, over: torch.Tensor) -> list[tuple[Number, Number]] | None:
    """The dimensions of ``over`` that ``value`` has which is spread over it, neighbours joined,
    outermost in memory first: of each the elements of ``over`` from one index to the next, and its
    size. None if it cannot be spread."""
    if value.dim() > over.dim():
        return None
    runs: list[tuple[Number, Number]] = []
    distance: Number = 1
    is_joined = False
    missing = over.dim() - value.dim()
    for dim in reversed(memory_order(over) or range(over.dim())):
        size = over.shape[dim]
        own = value.shape[dim - missing] if dim >= missing else 1
        if same(size, 1):
            continue
        if same(own, size):
            if is_joined:
                runs[0] = (runs[0][0], runs[0][1] * size)
            else:
                runs.insert(0, (distance, size))
        elif not same(own, 1):
            return None
        is_joined = same(own, size)
        distance = distance * size
    return runs
