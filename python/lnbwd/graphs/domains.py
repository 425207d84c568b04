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

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .._arguments import FLOAT8
from ..native import ELEMENT_NAMES
from ..rowprogram import Input, cut

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
"""The types of numbers that a row program reads and writes."""

FLOATS = {**DTYPES, **{dtype: ELEMENT_NAMES[dtype] for dtype in FLOAT8}}
"""Those of row blocks; of powers of two alone PyTorch rounds up."""

ELEMENTS = {**FLOATS, torch.bool: "i8"}
"""All of row blocks: masks are among them."""

CODES = dict.fromkeys((torch.uint8, torch.float8_e8m0fnu), "f8E8M0FNU")
"""Those of powers of two, which are written for each block of a row (:mod:`.powers`)."""

INTEGERS = {torch.int64: "i64", torch.int32: "i32"}
"""Those of row scalars that are compared with numbers of columns, and that say what to compare."""

SMALL = {**DTYPES, torch.bool: "i8"}
"""Those of what has fewer elements than a row block."""

SCALARS = {**SMALL, **INTEGERS}
"""Those of row scalars, and of numbers."""

Number = int | torch.SymInt

LEAST_REPEATS = 8
"""What is the same for so many neighbours in a row is read wherever it lies."""

LEAST_PIECE = 32
"""Bytes that a row of a tensor has side by side, if it is read at once, or at other indices."""

VECTOR = 16
"""Bytes that a kernel loads at once, from an address that is a multiple of so many."""

SMALL_SHARE = 4
"""What has at most this part of a row block's elements is small."""


def hint(number: Number) -> int | None:
    """A number, or what a symbol was when the graph was made."""
    return number if isinstance(number, int) else number.node.hint


def same(first: Number, second: Number) -> bool:
    """Whether two numbers, of which some depend on dynamic shapes, are always equal."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return bool(statically_known_true(first == second))


def product(sizes: Any) -> Number:
    """The product of a shape's sizes."""
    result: Number = math.prod(sizes)
    return result


def memory_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """The dimensions of a dense tensor, outermost in memory first; None of any other. Of one whose
    sizes are symbols, where it is contiguous or channels-last."""
    if value.is_contiguous():
        return tuple(range(value.dim()))
    try:
        return _memory_order(value.shape, value.stride())
    except TypeError:  # Symbols cannot be looked up.
        dims = (*range(value.dim()),)
        return _if_dense(value.shape, value.stride(), (*dims[:1], *dims[2:], 1))


@functools.lru_cache(1 << 16)
def _memory_order(shape: Any, strides: Any) -> tuple[int, ...] | None:
    return _if_dense(shape, strides, tuple(sorted(
        range(len(shape)), key=lambda dim: (-strides[dim], dim))))


def _if_dense(shape: Any, strides: Any, dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """Some order of dimensions, if a tensor is contiguous in it."""
    distance: Number = 1
    for dim in reversed(dims):
        if not same(shape[dim], 1):
            if not same(strides[dim], distance):
                return None
            distance = distance * shape[dim]
    return dims if len(dims) > 1 else None


def is_permuted(value: torch.Tensor) -> bool:
    """Whether the elements of a dense tensor lie in memory in another order than that of its
    dimensions."""
    return memory_order(value) not in (None, tuple(range(value.dim())))


def repeated_dims(value: torch.Tensor) -> list[int]:
    """The dimensions of an expanded tensor whose elements are one in memory."""
    return [dim for dim in range(value.dim())
            if same(value.stride(dim), 0) and not same(value.shape[dim], 1)]


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
        key = (value.shape, value.stride(), value.dtype in INTEGERS)
        try:
            role = self._known.get(key, "")
        except TypeError:  # Symbols cannot be looked up.
            return self._role(value)
        if role == "":
            role = self._known[key] = self._role(value)
        return role  # type: ignore[no-any-return]

    @functools.cached_property
    def _known(self) -> dict[Any, Any]:
        """Roles and places that were looked up already."""
        return {}

    def _role(self, value: torch.Tensor) -> str | None:
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
                count, self.rows) and self._has_rows(
                    [size for size in memory_shape(value) if not same(size, 1)]):
            return "group_column"
        # The columns' own numbers are all integers of columns.
        is_index = value.dtype in INTEGERS and same(count, self.rows) and not (
            same(count, self.length) and same(memory_shape(value)[-1], self.length))
        if not is_index and self._has_rows(memory_shape(value)):
            if same(count, self.length):
                return "column"
            if self.groups is not None and same(count, self.groups * self.length):
                return "group_column"
            return None
        if same(count, self.rows):
            return "scalar"
        return "lead" if self.repeats(value) else None

    def repeats(self, value: torch.Tensor) -> int | None:
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

    def _has_rows(self, shape: Sequence[Number]) -> bool:
        """Whether the last dimensions of a tensor are a row."""
        size: Number = 1
        for last in reversed(shape):
            size = size * last
            if same(size, self.length):
                return True
            if same(last, 1) or not isinstance(size, int) or size > self.length:
                return False
        return False

    def place(self, value: torch.Tensor, over: torch.Tensor,
              moves: Mapping[int, int] | None = None, is_in_reach: bool = True) -> Input | None:
        """What a tensor is that is spread over a row block or a lead; None: nothing that a program
        has. ``moves`` are dimensions of ``over`` along which its indices are others, and by how
        much: index i is its index i + a. What is not in reach is copied if it is small."""
        key = (value.shape, value.stride(), value.storage_offset(), value.dtype, is_in_reach,
               over.shape, over.stride(), over.dtype, *(moves or {}).items())
        try:
            if key not in self._known:
                self._known[key] = self._place(value, over, moves or {}, is_in_reach)
            return self._known[key]  # type: ignore[no-any-return]
        except TypeError:  # As in role().
            return self._place(value, over, moves or {}, is_in_reach)

    def _place(self, value: torch.Tensor, over: torch.Tensor, moves: Mapping[int, int],
               is_in_reach: bool) -> Input | None:
        runs = _runs(value, over, moves)
        dtype = SCALARS.get(value.dtype)
        if not runs and runs is not None and dtype:
            kind = "column" if self.length == 1 else "scalar" if same(self.rows, 1) else "number"
            return Input(kind if value.dim() > 0 else "number", dtype)
        if not runs:
            return None
        if is_copy := not is_side_by_side(runs):
            has_order = _has_order(value, over)
            strided = self._strided(value, over, runs, has_order, is_in_reach) if self.role(
                over) == "row" else None
            # A copy of what is small has the order of its dimensions.
            if strided or value.is_contiguous() or any(len(run) > 3 for run in runs) or (
                    not has_order):
                return strided
            runs = _joined(runs)
        runs = self._spread(runs, over)
        (distance, size, *_), others = runs[-1], runs[:-1]
        if not others and same(distance, 1) and same(size, self.rows * self.length):
            element = {**ELEMENTS, **INTEGERS}.get(value.dtype)
            return Input("row", element) if element and not is_copy else None
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
        parts = tuple((d, n) for d, n, *_ in runs if isinstance(d, int) and isinstance(n, int)
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

    def strided_place(self, value: torch.Tensor, over: torch.Tensor,
                      moves: Mapping[int, int]) -> Input | None:
        """The same of one that is read where it lies, whatever it is: a copy would have another
        order."""
        runs = _runs(value, over, moves)
        return self._strided(value, over, self._spread(runs, over), False) if runs else None

    def _spread(self, runs: Sequence[Run], over: torch.Tensor) -> list[Run]:
        """The dimensions of a lead as those of the row block that has them."""
        repeats = (self.repeats(over) or 1) if self.role(over) == "lead" else 1
        return [(distance * repeats, *rest) for distance, *rest in runs]

    def _strided(self, value: torch.Tensor, over: torch.Tensor, runs: list[Run],
                 has_order: bool, is_in_reach: bool = True) -> Input | None:
        """What a tensor is that is read where it lies, not side by side or not in the order of a
        row block: a slice, permuted heads, channels before pixels. None of one that has few of the
        row block's elements, and a different one for each of them: that is copied, but not into
        another order."""
        parts: Any = tuple(runs)
        is_block = self.role(over) == "row" and value.numel() == over.numel()
        dtype = (ELEMENTS if is_block else SMALL).get(value.dtype)
        if (dtype is None or not isinstance(self.rows, int)
                or not all(isinstance(number, int) for part in parts for number in part)):
            return None
        count = math.prod(part[1] for part in parts)
        is_moved = any(len(part) > 3 for part in parts)
        is_small = SMALL_SHARE * count <= self.rows * self.length and not is_moved
        *others, (distance, size, stride, *_) = parts
        # Whole rows that lie apart are loaded as vectors: slices of a projection, as AdaLN's.
        is_aligned = is_in_reach and distance == stride == 1 and size == self.length and all(
            isinstance(step, int) and step * value.element_size() % VECTOR == 0
            for step in (value.storage_offset(), *(part[2] for part in others)))
        is_copied = is_small and has_order and distance < LEAST_REPEATS and not is_aligned
        if is_copied or cut(self.length, parts) is None:
            return None
        return Input("part", dtype, parts)

    def repeated(self, place: Input) -> Input:
        """The same, of rows in groups: what all groups share is no part there."""
        if not isinstance(self.rows, int) or not isinstance(self.groups, int):
            return place
        count = self.rows // self.groups
        kinds: dict[Any, str] = {((self.length, count),): "repeated_scalar",
                                 ((1, count * self.length),): "repeated_row"}
        kind = kinds.get(place.parts)
        return Input(kind, place.dtype) if kind else place

    @property
    def is_static(self) -> bool:
        """Whether no number depends on dynamic shapes."""
        return isinstance(self.rows, int) and isinstance(self.groups, (int, type(None)))

    def __str__(self) -> str:
        return f"{self.rows}x{self.length}"


Run = tuple[Number, ...]
"""Neighbouring dimensions of a row block that a tensor has: the elements of the row block from one
index to the next, their number, and the elements of the tensor from one to the next; of a moved one
also by how much, and how many the tensor has, as in :class:`.rowprogram.Input`."""


def is_side_by_side(runs: Sequence[Run]) -> bool:
    """Whether the elements of a tensor with these dimensions lie side by side, in their order."""
    expected: Number = 1
    for _, size, stride, *moved in reversed(runs):
        if moved or not same(stride, expected):
            return False
        expected = expected * size
    return True


def _joined(runs: Sequence[Run]) -> list[Run]:
    """The dimensions of a copy, whose elements lie side by side."""
    result: list[Run] = []
    for distance, size, *_ in runs:
        is_next = bool(result) and same(result[-1][0], distance * size)
        result.append((distance, size * result.pop()[1] if is_next else size))
    return result


def lies_side_by_side(value: torch.Tensor, over: torch.Tensor) -> bool:
    """Whether the elements of a tensor that is spread over a row block or a lead lie side by side,
    in the order that they have there."""
    return is_side_by_side(_runs(value, over, {}) or [])


def _has_order(value: torch.Tensor, over: torch.Tensor) -> bool:
    """Whether the dimensions of a tensor that is spread over a row block have the order that they
    have in the memory of that."""
    missing = over.dim() - value.dim()
    dims = [dim for dim in memory_order(over) or () if dim >= missing and not any(
        same(number, alone) for number, alone in (
            (value.shape[dim - missing], 1), (value.stride(dim - missing), 0)))]
    return dims == sorted(dims)


def parts_of(value: torch.Tensor, over: torch.Tensor) -> tuple[tuple[int, ...], ...]:
    """The parts of a row block that is stored in another order than it is computed in; none of one
    that is not."""
    runs: Any = _runs(value, over, {}) or []
    return () if is_side_by_side(runs) else tuple(runs)


def _runs(value: torch.Tensor, over: torch.Tensor,
          moves: Mapping[int, int]) -> list[Run] | None:
    """The dimensions of ``over`` that ``value`` has which is spread over it, neighbours joined,
    outermost in the memory of ``over`` first. None if it cannot be spread."""
    if value.dim() > over.dim():
        return None
    runs: list[Run] = []
    distance: Number = 1
    is_joined = False
    missing = over.dim() - value.dim()
    for dim in reversed(memory_order(over) or range(over.dim())):
        size = over.shape[dim]
        own, stride = ((value.shape[dim - missing], value.stride(dim - missing))
                       if dim >= missing else (1, 0))
        if same(size, 1):
            continue
        if dim in moves and not same(own, 1) and not same(stride, 0) and (
                not same(own, size) or moves[dim] % own):
            runs.insert(0, (distance, size, stride, moves[dim] % own, own))
            is_joined = False
            distance = distance * size
            continue
        # What is expanded is there once.
        is_there = same(own, size) and not same(stride, 0)
        if is_there:
            if is_joined and same(stride, runs[0][1] * runs[0][2]):
                runs[0] = (runs[0][0], runs[0][1] * size, runs[0][2])
            else:
                runs.insert(0, (distance, size, stride))
        elif not same(own, 1) and not same(stride, 0):
            return None
        is_joined = is_there
        distance = distance * size
    return runs
