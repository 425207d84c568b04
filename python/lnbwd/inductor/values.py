# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about memory, values and loops while loop bodies become row programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch

from ..program.operands import ELEMENT_NAMES
from ..program.torch_internals.loops import LoopBody
from .places import Form, NotConvertible

LARGEST_EXACT = 2 ** 24 - 1
"""Integers up to here, of known ranges, are float32 inside: no other integer is rounded to them."""

FLOATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
INTEGERS = {dtype: ELEMENT_NAMES[dtype] for dtype in (
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)}
WIDE = (torch.int64, torch.int32)
EIGHTS = {dtype: ELEMENT_NAMES[dtype] for dtype in (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)}
"""Types of row blocks only."""


@dataclass(frozen=True)
class Memory:
    """The memory behind names: of a buffer the type and number of its elements, its first one in
    another buffer's memory if it is a part of that, the buffer whose memory it is, and whether
    others read what a node writes there; ``samples``, numbers that stand for symbols in sizes and
    indices, and then others; and ``unit``, which every choice of a row's length divides, 0: any
    does."""

    dtype: Callable[[str], torch.dtype]
    size: Callable[[str], int]
    first: Callable[[str], int]
    same: Callable[[str], str]
    is_needed: Callable[[str], bool]
    samples: Sequence[Mapping[Any, int]] = ()
    unit: int = 0

    def number(self, expression: Any) -> Any:
        """An expression with numbers for its symbols. A part that is one number for all samples,
        such as n % 2 or n // 2000, would be taken for a constant."""
        if not self.samples or not hasattr(expression, "subs"):
            return expression
        for part in sympy.preorder_traversal(expression):
            is_size = part.free_symbols and part.free_symbols <= self.samples[0].keys()
            if is_size and len({part.subs(values) for values in self.samples}) == 1:
                raise NotConvertible(f"has the size {part}, which symbols may not change")
        return expression.subs(self.samples[0])


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


def static_sizes(body: LoopBody, memory: Memory) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of a body's loops, and of those that it reduces."""
    first, second = (tuple(map(memory.number, sizes)) for sizes in body.sizes)
    if not all(isinstance(size, int) or size.is_Integer for size in (*first, *second)):
        raise NotConvertible("has sizes that are symbols")
    return tuple(map(int, first)), tuple(map(int, second))


def _used_by(body: LoopBody, *usages: str) -> set[str]:
    return {entry.buffer_name for usage, entries in body.memory_usage.items()
            if usage.name in usages for entry in entries if entry.buffer_name is not None}


def read_by(body: LoopBody) -> set[str]:
    """The buffers that a body reads."""
    return _used_by(body, "LOAD")


def written_by(body: LoopBody) -> set[str]:
    """The buffers that a body writes."""
    return _used_by(body, "STORE", "STORE_REDUCTION")


class Space:
    """The row block, ``rows`` of ``length`` elements, and how each body's loops run through it."""

    def __init__(self, bodies: Sequence[LoopBody], sizes: Sequence[Any],
                 places: Sequence[int], reduces_rows: bool, memory: Memory) -> None:
        self.bodies, self.sizes, self.memory = bodies, sizes, memory
        self.sizes_of = {place: dict(zip(
            (*bodies[place].iter_vars, *bodies[place].reduce_vars),
            (*sizes[place][0], *sizes[place][1]), strict=True)) for place in places}
        reducing = [place for place in places if sizes[place][1]]
        self.swapped = {place: reduces_rows and self._is_swapped(place) for place in reducing}
        # All that reduce over rows in one program; what is swapped there reduces columns.
        straight = [place for place in reducing if not self.swapped[place]]
        if straight:
            self.rows, self.length = self._numels(straight[0])
        elif reducing:
            columns, reduced = self._numels(reducing[0])
            groups = self._groups(reducing[0])
            self.length, self.rows = columns // groups, groups * reduced
        else:
            self.length = 0
            self.rows = max(math.prod(sizes[place][0]) for place in places)
        self.is_free = not reducing or self.length == 1
        if self.is_free and self.length:
            self.rows, self.length = self.rows * self.length, 0
        self.count = self.rows * (self.length or 1)
        self.order: tuple[int, ...] = ()

    def choose_order(self, places: Sequence[int]) -> None:
        """Chooses in which order the loops of bodies without sums run, so that neighbours are
        neighbours in memory: ``order`` has them from the outermost on; empty: as they are."""
        sizes, reduced = self.sizes[places[0]]
        if not self.is_free or reduced or any(self.sizes[one] != (sizes, ()) for one in places):
            return
        votes = dict.fromkeys(range(len(sizes)), 0)
        strides = dict[int, Any]()
        most = 0
        for place in places:
            body, size_of = self.bodies[place], self.sizes_of[place]
            for expression in (*body.get_read_exprs(), *body.get_write_exprs()):
                found = {dim: expression.coeff(v) for dim, v in enumerate(body.iter_vars)
                         if isinstance(v, sympy.Symbol) and expression.coeff(v) != 0}
                count = math.prod(size_of[body.iter_vars[dim]] for dim in found)
                for dim, stride in found.items():
                    if stride == 1:
                        votes[dim] += count
                        if count >= most:
                            most, strides = count, found
        inner = max((dim for dim, size in enumerate(sizes) if size > 1), default=0)
        if votes and max(votes.values()) > votes[inner] and all(
                getattr(stride, "is_Integer", False) for stride in strides.values()):
            self.order = tuple(sorted(votes, key=lambda dim: (
                -int(strides[dim]) if dim in strides else -math.inf, dim)))

    def _numels(self, place: int) -> tuple[int, int]:
        first, second = self.sizes[place]
        return math.prod(first), math.prod(second)

    def _is_swapped(self, place: int) -> bool:
        """Whether a body reduces rows: most of its operands have neighbours along other loops."""
        body, (outer, inner) = self.bodies[place], self._numels(place)
        if outer == 1:
            # One number of all elements: sums of rows, which are combined.
            return inner > 16384
        votes = {True: 0, False: 0}
        for expression in body.get_read_exprs():
            symbols: set[Any] = getattr(expression, "free_symbols", set())
            if not symbols.intersection(body.reduce_vars):
                continue  # One number for all that is reduced: a row's, or a column's.
            size = math.prod(self.sizes_of[place].get(s, outer) for s in symbols)
            for variables, is_swapped in ((body.iter_vars, True), (body.reduce_vars, False)):
                if any(isinstance(v, sympy.Symbol) and expression.coeff(v) == 1 for v in variables):
                    votes[is_swapped] += size
        return votes[True] > votes[False]

    def _groups(self, place: int) -> int:
        """How many groups of rows a body reduces, each by itself: the indices of the outermost
        loops that have larger strides than those that it reduces."""
        body, size_of = self.bodies[place], self.sizes_of[place]
        reduced = [v for v in body.reduce_vars if size_of[v] > 1]
        groups, most = 1, 0
        for expression in map(self.memory.number, body.get_read_exprs()):
            symbols: set[Any] = getattr(expression, "free_symbols", set())
            count = math.prod(size_of.get(s, 1) for s in symbols)
            if count > most and symbols.issuperset(reduced):
                stride = max((abs(expression.coeff(v)) for v in reduced), default=0)
                groups, most = 1, count
                for v in body.iter_vars:
                    if size_of[v] > 1 and not (
                            isinstance(v, sympy.Symbol) and expression.coeff(v) > stride > 0):
                        break
                    groups *= size_of[v]
        return groups

    def turned(self, place: int) -> int:
        """Of a body whose columns are outside of the rows its rows for each column; else 0."""
        outer, inner = self._numels(place)
        if self.is_free or self.length <= 1:
            return 0
        if inner > 1 or self.sizes[place][1]:
            return inner if self.swapped[place] and outer > 1 else 0
        return self.turned(next(iter(self.swapped))) if self._is_turned(place) else 0

    def _is_turned(self, place: int) -> bool:
        """Whether a body without sums runs as those that reduce rows, if none reduces columns:
        unless most of its operands have neighbours where its loops have them."""
        if self.length <= 1 or not self.swapped or not all(self.swapped.values()) or math.prod(
                self.sizes[next(iter(self.swapped))][0]) == 1:
            return False
        body, size_of = self.bodies[place], self.sizes_of[place]
        *outer, inner = [v for v in body.iter_vars if size_of[v] > 1] or [None]
        expressions = (*body.get_read_exprs(), *body.get_write_exprs())
        return inner is not None and sum(
            (expression.coeff(inner) == 1) - any(expression.coeff(v) == 1 for v in outer)
            for expression in expressions) <= 0

    def first_program(self, left: Sequence[int], places: Collection[int] = ()) -> list[int]:
        """The bodies that one program computes: those whose loops run through the row block or the
        rows, up to the first that reads sums over rows; of ``places`` alone if there are some."""
        taken: list[int] = []
        combined = set[str]()
        for place in left:
            if places and place not in places:
                combined |= written_by(self.bodies[place])
                continue
            outer, inner = self._numels(place)
            body = self.bodies[place]
            fits = (outer * inner == self.count or (
                self.length > 1 and inner == 1 and outer == self.rows and not self.sizes[place][1]))
            if self.swapped.get(place) and not self.is_free:
                fits = fits and (outer == 1 or outer % self.length == 0)
            if not fits or combined & read_by(body):
                combined |= written_by(body)
                continue
            if self.swapped.get(place) or (
                    self.sizes[place][1] and (outer, inner) != (self.rows, self.length)):
                combined |= written_by(body)
            taken.append(place)
        return taken
