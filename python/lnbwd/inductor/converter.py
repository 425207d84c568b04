# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop bodies of Inductor's fused nodes as row programs.

:func:`convert` gets the bodies of a fused node, in their order, and gives programs that compute
them, one after another: one, or more if a body reads sums over the rows that another one makes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.utils._sympy.functions import (
    FloorDiv,
    Identity,
    Max,
    Min,
    Mod,
    ModularIndexing,
    PythonMod,
)

from ..native import ELEMENT_NAMES
from ..row_mlir import mlir
from ..rowprogram import (
    INPUT_KINDS,
    OUTPUT_KINDS,
    SUM_KINDS,
    TABLES,
    Builder,
    Input,
    Output,
    RowProgram,
    operands_of,
    reached,
)
from .places import Digits, Form, NeedsCut, NotConvertible, add
from .torch_internals import DefaultHandler, LoopBody, emulates_casts, run_body

LONGEST_ROW = 262144
"""Elements of a row over which a program sums."""

LARGEST_EXACT = 2 ** 24 - 1
"""Integers up to here are float32 inside where their ranges are known: no other integer is rounded
to them."""

LARGEST_COPY = 1 << 16
"""Elements of a tensor that may be copied in each call."""

MOST_READ_APART, LONGEST_READ_APART = 1 << 21, 256
"""Elements of tensors, and of their rows, that may lie apart."""

MOST_OPERANDS = 64

USUAL_LENGTH = 2048
"""Elements of a row where no sum says what a row is."""

_FLOATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
_INTEGERS = {dtype: ELEMENT_NAMES[dtype] for dtype in (
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)}
_WIDE = (torch.int64, torch.int32)
_EIGHTS = {dtype: ELEMENT_NAMES[dtype] for dtype in (
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)}
"""Of row blocks alone."""
_NARROW = (torch.float16, torch.bfloat16)

_SAME = ("abs", "exp", "exp2", "expm1", "sqrt", "rsqrt", "cos", "sin", "erf", "log", "log2",
         "log1p", "tanh", "copysign")
_NAMES = {**{name: name for name in _SAME}, "floor": "floor", "ceil": "ceil", "trunc": "trunc",
          "round": "roundeven", "truediv": "div", "div_rn": "div", "mul_rn": "mul"}
_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_LOGIC = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor", "bitwise_and": "and",
          "bitwise_or": "or", "bitwise_xor": "xor", "and_": "and", "or_": "or", "xor": "xor"}
_OF_INTEGERS = {"bitwise_left_shift": "shl", "bitwise_right_shift": "shr", "floordiv": "floordiv",
                "remainder": "mod", "truncdiv": "floordiv", "mod": "mod", **_LOGIC}
_ROUNDS_TO_ZERO = ("truncdiv", "mod")


@dataclass(frozen=True)
class Argument:
    """What a call gets: so many elements of a buffer's memory, from one of them on. With dynamic
    shapes the count may be an expression."""

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
    """What is known of the memory behind names.

    Attributes:
        dtype: the type of a buffer's elements.
        size: how many elements its memory has.
        same: the name of the buffer whose memory it is.
        is_needed: whether others read what a node writes there.
        values: numbers that stand for symbols in sizes and indices.
        unit: a number that every choice of a row's length divides; 0: any.
    """

    dtype: Callable[[str], torch.dtype]
    size: Callable[[str], int]
    same: Callable[[str], str]
    is_needed: Callable[[str], bool]
    values: Mapping[Any, int] = field(default_factory=dict)
    unit: int = 0

    def number(self, expression: Any) -> Any:
        """An expression without the symbols that have values."""
        return expression.subs(self.values) if self.values and hasattr(
            expression, "subs") else expression


@dataclass(frozen=True)
class _Value:
    """A node of the program. Of integers and numbers of indices ``bounds`` are the smallest and
    the largest value where these are known; ``form`` is what an index is, ``number`` a constant.
    ``is_exact``: the node is an integer, not a float32 number that is one, or an input. Of a
    condition ``ranges`` are digits, by distance and size, that are between two numbers where it
    holds."""

    node: int
    dtype: torch.dtype
    bounds: tuple[float, float] | None = None
    form: Form | None = None
    number: float | None = None
    ranges: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    is_exact: bool = False

    @property
    def is_condition(self) -> bool:
        return self.dtype == torch.bool

    @property
    def is_integer(self) -> bool:
        return not self.dtype.is_floating_point and self.dtype != torch.bool

    @property
    def is_small(self) -> bool:
        """Whether it is an integer that float32 has, as the node is."""
        return self.bounds is not None and not self.is_exact


@dataclass(frozen=True)
class _Combined:
    """What combines rows: the value of a row, and how."""

    value: _Value
    how: str


def convert(bodies: Sequence[LoopBody], memory: Memory) -> list[Call]:
    """Row programs that compute loop bodies of a fused node.

    Raises:
        NotConvertible: there are none; says why.
    """
    bodies = list(bodies)
    sizes = [_static_sizes(body, memory) for body in bodies]
    failure: NotConvertible | None = None
    try:
        calls = _programs_of(bodies, sizes, memory, reduces_rows=True)
    except NotConvertible as error:
        calls, failure = [], error
    # What reads sums over rows needs another program. Where a cache holds all, short rows may be
    # what lies apart in memory.
    most = max((math.prod((*outer, *inner)) for outer, inner in sizes), default=0)
    if len(calls) != 1 and most <= MOST_READ_APART and all(
            math.prod(inner) <= LONGEST_READ_APART for _, inner in sizes):
        with contextlib.suppress(NotConvertible):
            other = _programs_of(bodies, sizes, memory, reduces_rows=False)
            if not calls or len(other) < len(calls):
                return other
    if failure is not None:
        raise failure
    return calls


def _programs_of(bodies: Sequence[LoopBody], sizes: Sequence[Any], memory: Memory,
                 reduces_rows: bool) -> list[Call]:
    """The same, with sums over rows, or over the elements of rows alone."""
    left = [*range(len(bodies))]
    calls: list[Call] = []
    while left:
        space = _Space(bodies, sizes, left, reduces_rows)
        taken = space.first_program(left)
        if not taken:  # The first one is of other loops than those that reduce.
            counts = {place: math.prod((*sizes[place][0], *sizes[place][1])) for place in left}
            alike = [place for place in left if counts[place] == counts[left[0]]]
            space = _Space(bodies, sizes, alike, reduces_rows)
            taken = space.first_program(left, alike)
        if not taken:
            raise NotConvertible("its loops have different numbers of elements")
        later = {name for place in left if place not in taken for name in _read(bodies[place])}
        calls.append(_with_cuts(space, [bodies[place] for place in taken], taken, memory, later))
        left = [place for place in left if place not in taken]
    return calls


def _static_sizes(body: LoopBody, memory: Memory) -> tuple[tuple[int, ...], tuple[int, ...]]:
    first, second = (tuple(map(memory.number, sizes)) for sizes in body.sizes)
    if not all(isinstance(size, int) or size.is_Integer for size in (*first, *second)):
        raise NotConvertible("has sizes that are symbols")
    return tuple(map(int, first)), tuple(map(int, second))


def _read(body: LoopBody) -> set[str]:
    return {entry.buffer_name for entries in body.memory_usage.values() for entry in entries
            if entry.buffer_name is not None and "LOAD" in _usage_of(body, entry)}


def _usage_of(body: LoopBody, entry: Any) -> set[str]:
    return {usage.name for usage, entries in body.memory_usage.items() if entry in entries}


def _written(body: LoopBody) -> set[str]:
    return {entry.buffer_name for usage, entries in body.memory_usage.items()
            if usage.name in ("STORE", "STORE_REDUCTION") for entry in entries
            if entry.buffer_name is not None}


class _Space:
    """The row block of a program: ``rows`` of ``length`` elements, and for each body how its loops
    run through it."""

    def __init__(self, bodies: Sequence[LoopBody], sizes: Sequence[Any],
                 places: Sequence[int], reduces_rows: bool) -> None:
        self.bodies, self.sizes = bodies, sizes
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
        neighbours in memory: ``order`` has the loops from the outermost to the innermost, and is
        empty if they run as they are."""
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
        """Whether a body reduces rows: where its operands have neighbours, these are loops that it
        does not reduce."""
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
                if any(isinstance(v, sympy.Symbol) and expression.coeff(v) == 1
                       for v in variables):
                    votes[is_swapped] += size
        return votes[True] > votes[False]

    def _groups(self, place: int) -> int:
        """How many groups of rows a body reduces, each by itself: the indices of the outermost
        loops that have larger strides than those that it reduces."""
        body, size_of = self.bodies[place], self.sizes_of[place]
        reduced = [v for v in body.reduce_vars if size_of[v] > 1]
        groups, most = 1, 0
        for expression in body.get_read_exprs():
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
        """Of a body whose columns are outside of the rows: the rows that it has for each; else
        0."""
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
        rows, up to what reads sums over rows; of some places alone, if they are given."""
        taken: list[int] = []
        combined = set[str]()
        for place in left:
            if places and place not in places:
                combined |= _written(self.bodies[place])
                continue
            outer, inner = self._numels(place)
            body = self.bodies[place]
            fits = (outer * inner == self.count or (
                self.length > 1 and inner == 1 and outer == self.rows and not self.sizes[place][1]))
            if self.swapped.get(place) and not self.is_free:
                fits = fits and (outer == 1 or outer % self.length == 0)
            if not fits or combined & _read(body):
                combined |= _written(body)
                continue
            if self.swapped.get(place) or (
                    self.sizes[place][1] and (outer, inner) != (self.rows, self.length)):
                combined |= _written(body)
            taken.append(place)
        return taken


def _with_cuts(space: _Space, bodies: list[LoopBody], places: list[int], memory: Memory,
               later: Collection[str]) -> Call:
    """The call of one program: tried again with each cut that an index needs. Where no sum says
    what a row is, it is known when the cuts are."""
    def run(length: int, cuts: set[int]) -> Call:
        refused = set[int]()
        for _ in range(64):
            try:
                digits = Digits(space.count, [*cuts], refused)
                return _Conversion(space, digits, length, memory, later).run(bodies, places)
            except NeedsCut as needed:
                if needed.cut in cuts:
                    break
                is_whole = all(max(cut, needed.cut) % min(cut, needed.cut) == 0
                               for cut in (*cuts, space.count))
                (cuts if is_whole else refused).add(needed.cut)
        raise NotConvertible("its loops are no dimensions of one another")

    if space.length:
        return run(space.length, {space.length})
    space.choose_order(places)
    cuts = set[int]()
    with contextlib.suppress(NotConvertible):
        run(space.count, cuts)
    failure: NotConvertible | None = None
    for length in _lengths(Digits(space.count, [*cuts]), memory.unit):
        try:
            return run(length, {*cuts, length})
        except NotConvertible as error:
            failure = failure or error
    raise failure or NotConvertible("has no elements")


def _element(dtype: torch.dtype) -> str | None:
    """What the elements of an operand are called."""
    return _FLOATS.get(dtype) or _INTEGERS.get(dtype) or ("i8" if dtype == torch.bool else None)


def _range_of(dtype: torch.dtype) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    info = torch.iinfo(dtype)
    return info.min, info.max


def _both(first: dict[Any, tuple[int, int]], second: dict[Any, tuple[int, int]]) -> dict[
        Any, tuple[int, int]]:
    """Ranges of which both hold."""
    result = dict(first)
    for digits, (low, high) in second.items():
        before = result.get(digits, (low, high))
        result[digits] = max(before[0], low), min(before[1], high)
    return result


def _lengths(digits: Digits, unit: int) -> list[int]:
    """How many elements a row may have where no sum says it, the best first: whole digits, or a
    part of one; ``unit`` as of :class:`Memory`."""
    found = dict[int, bool]()
    for cut, after in itertools.pairwise(digits.cuts):
        for factor in range(1, min(after // cut, 4 * USUAL_LENGTH // cut) + 1):
            if (after // cut) % factor == 0:
                found[cut * factor] = found.get(cut * factor, False) or factor == 1 or (
                    cut * factor == after)
    if unit:
        found = {length: is_cut for length, is_cut in found.items() if unit % length == 0}
    return sorted(found, key=lambda one: _quality(one, found[one]), reverse=True)[:4] or [1]


def _quality(length: int, is_cut: bool) -> tuple[int, ...]:
    is_usual = 256 <= length <= 2 * USUAL_LENGTH and length % 8 == 0
    return (is_usual, is_usual and is_cut, -abs(length - USUAL_LENGTH))


class _Conversion(DefaultHandler):
    """The handler of a body's operations, which makes the nodes of one program."""

    def __init__(self, space: _Space, digits: Digits, length: int, memory: Memory,
                 later: Collection[str]) -> None:
        self.space, self.digits, self.memory, self.later = space, digits, memory, later
        self.length = length
        self.rows = space.count // self.length
        self.builder = Builder(self.length)
        self.inputs: dict[tuple[Argument, Input], int] = {}
        self.outputs: list[tuple[Argument, Output, Form]] = []
        self.stored: dict[str, tuple[Form, _Value]] = {}
        self.combined = set[str]()
        self.groups = set[int]()
        self.indirect: dict[sympy.Symbol, tuple[_Value, int]] = {}
        self.masks: list[_Value] = []
        self.body: Any = None
        self.is_swapped = self.is_rows = self.reduces = False
        self.variables: dict[sympy.Symbol, Form] = {}

    # ----------------------------------------------------------------------------------------------
    # Loops
    # ----------------------------------------------------------------------------------------------

    def run(self, bodies: Sequence[LoopBody], places: Sequence[int]) -> Call:
        for body, place in zip(bodies, places, strict=True):
            self.body = body
            self._enter(place)
            run_body(self, body)
        if not self.outputs:
            raise NotConvertible("writes nothing that is needed")
        return self._finish(places)

    def _enter(self, place: int) -> None:
        """Says which digits the variables of a body are."""
        outer, inner = self.space.sizes[place]
        count = math.prod(outer) * math.prod(inner)
        self.is_rows = count != self.space.count
        self.is_swapped = bool(self.space.swapped.get(place)) and not self.space.is_free
        self.reduces = bool(inner)
        self.variables = {}
        turned = 0 if self.is_rows else self.space.turned(place)
        distance = self.length if self.is_rows else 1
        order = self.space.order or range(len(outer))
        loops = [(self.body.reduce_vars, inner), ([self.body.iter_vars[dim] for dim in order],
                                                  [outer[dim] for dim in order])]
        for variables, sizes in loops:
            for variable, size in zip(reversed(variables), reversed(sizes), strict=True):
                if isinstance(variable, sympy.Symbol):
                    self.variables[variable] = self._digits_of(distance, size, turned)
                distance *= size

    def _digits_of(self, distance: int, size: int, turned: int) -> Form:
        """A variable of a loop that has ``distance`` elements inside of it; ``turned`` as
        :meth:`_Space.turned` gives it."""
        if size == 1:
            return Form()
        if not turned:
            return self.digits.range(distance, distance * size, distance)
        first, end, length = distance, distance * size, self.length
        result = Form()
        # Rows, then columns, then groups of rows, and where these are in the row block.
        for start, stop, place in ((1, turned, length), (turned, turned * length, 1),
                                   (turned * length, self.space.count, turned * length)):
            low, high = max(first, start), min(end, stop)
            if low < high:
                if low % first or low % start or high % low:
                    raise NotConvertible("its loops are no dimensions of one another")
                low_place = low // start * place
                result = add(result, self.digits.range(
                    low_place, low_place * (high // low), low_place), low // first)
        return result

    def form(self, index: Any) -> Form:
        return self.digits.form(self.memory.number(index), self._variable)

    def _variable(self, symbol: sympy.Symbol) -> Form:
        if symbol in self.variables:
            return self.variables[symbol]
        if symbol in self.indirect:
            return Form(others=((symbol, 1),))
        raise NotConvertible(f"has the symbol {symbol} in an index")

    # ----------------------------------------------------------------------------------------------
    # Memory
    # ----------------------------------------------------------------------------------------------

    def load(self, name: str, index: Any) -> _Value:
        dtype = self.memory.dtype(name)
        if name in self.combined:
            raise NotConvertible("reads sums over rows that it makes")
        try:
            form = self.form(index)
        except NotConvertible:
            if name in self.stored:
                raise
            return self._elements(name, self._computed(index), dtype)
        if name in self.stored:
            stored, value = self.stored[name]
            if stored != form:
                raise NotConvertible("reads what it makes in another order")
            if value.dtype.is_floating_point and dtype in _FLOATS and dtype != torch.float32 and (
                    self.is_needed(name)):
                value = self.rounded(value, dtype)
            return value
        if form.others:
            return self._row_of_table(name, form, dtype)
        try:
            place, offset = self._place(form, dtype, self.memory.size(name))
            place, offset = self._aligned(place, offset, form, dtype)
            return self._input(name, offset, place, dtype)
        except NotConvertible:
            return self._elements(name, self._index(form), dtype)

    def is_needed(self, name: str) -> bool:
        return name in self.later or self.memory.is_needed(name)

    def _input(self, name: str, offset: int, place: Input, dtype: torch.dtype) -> _Value:
        count = self.count_of(place)
        argument = Argument(self.memory.same(name), offset, count)
        if argument.offset < 0 or argument.offset + count > self.memory.size(name):
            raise NotConvertible("reads beyond a tensor under a mask")
        key = argument, place
        if key not in self.inputs:
            self.inputs[key] = self.builder.add("input", len(self.inputs))
        return _Value(self.inputs[key], dtype,
                      _range_of(dtype) if dtype in _INTEGERS and dtype not in _WIDE else None)

    def _aligned(self, place: Input, offset: int, form: Form, dtype: torch.dtype) -> tuple[
            Input, int]:
        """What a tensor is that begins at an address that is no multiple of 16 bytes. One of its
        dimensions has other indices then, so that its memory begins at a multiple. A strided part
        may begin anywhere, and each call copies a small tensor."""
        shift = offset % (16 // dtype.itemsize)
        if not shift or place.kind == "number" or place.is_strided:
            return place, offset
        parts = [*self.digits.runs(form)]
        for number, (distance, size, stride) in reversed([*enumerate(parts)]):
            is_dimension = distance >= self.length or distance * size <= self.length
            if is_dimension and shift % stride == 0:
                by = shift // stride
                return Input("part", place.dtype, (
                    *parts[:number], (distance, size, stride, by, size + by),
                    *parts[number + 1:])), offset - shift
        if self.count_of(place) > LARGEST_COPY:
            raise NotConvertible("reads a large tensor at an address that is no multiple of 16")
        return place, offset

    def count_of(self, value: Input | Output) -> int:
        """The elements of an argument's memory."""
        of_rows = value.dims.has_rows and value.dims.has_groups
        is_all = bool(value.parts) and value.kind != "lead"
        return value.row_length(self.length) * (self.rows if of_rows and not is_all else 1)

    def _place(self, form: Form, dtype: torch.dtype, size: int) -> tuple[Input, int]:
        """What a tensor is that is read at these indices, and the element with which its memory
        begins."""
        runs = self.digits.runs(form)
        element = _element(dtype)
        if dtype in _EIGHTS and runs == [(1, self.space.count, 1)]:
            element = _EIGHTS[dtype]
        if element is None:
            raise NotConvertible(f"reads {str(dtype).removeprefix('torch.')}")
        low, high = self.digits.bounds(form)
        if low < 0 or high >= size:
            return self._moved(form, element, size)
        if any(stride < 0 for _, _, stride in runs):
            raise NotConvertible("reads backwards")
        return self._kind(runs, element), form.constant

    def _kind(self, runs: list[tuple[int, int, int]], element: str) -> Input:
        """What a tensor is that has these digits of a row block."""
        if not runs:
            return Input("number", element)
        if len(runs) == 1:
            [(distance, count, stride)] = runs
            if stride == 1 and distance * count == self.space.count:
                if distance == 1:
                    return Input("row", element)
                if distance == self.length:
                    return Input("scalar", element)
                if distance < self.length:
                    return Input("lead", element, ((distance, self.length // distance),))
            if stride == 1 and distance == 1 and count == self.length:
                return Input("column", element)
        expected, is_dense = 1, True
        for _, count, stride in reversed(runs):
            is_dense, expected = is_dense and stride == expected, expected * count
        return Input("part", element, tuple(
            (d, n) for d, n, _ in runs) if is_dense else tuple(runs))

    def _moved(self, form: Form, element: str, size: int) -> tuple[Input, int]:
        """What a tensor is that is read at other indices, which a mask keeps inside of it, and the
        element with which its memory begins."""
        left = dict(form.strides)
        constant = form.constant
        parts: list[tuple[int, ...]] = []
        known = []
        for (distance, count), (low, high) in self._ranges().items():
            digits = {d: s for d, s in left.items() if distance <= d < distance * count}
            stride = digits.get(distance, 0)
            if stride > 0 and digits == dict(self.digits.range(
                    distance, distance * count, distance).strides) | {
                        d: d // distance * stride for d in digits} and len(digits) == len(
                            self.digits.range(distance, distance * count, distance).strides):
                known.append((stride, distance, count, low, high))
                for d in digits:
                    del left[d]
        known.sort(reverse=True)
        rest = self.digits.runs(Form(tuple(left.items())))
        if any(stride < 0 for _, _, stride in rest) or not known:
            raise NotConvertible("reads beyond a tensor")
        moves = []
        for stride, distance, count, low, high in known:
            by = round(constant / stride) if len(known) > 1 else constant // stride
            constant -= by * stride
            moves.append((stride, distance, count, low + by, high + by, by))
        if constant < 0 or any(low < 0 for *_, low, _, _ in moves):
            raise NotConvertible("reads beyond a tensor under a mask")
        reach = constant + sum((n - 1) * s for _, n, s in rest) + sum(
            high * stride for stride, _, _, _, high, _ in moves)
        if reach >= size:
            raise NotConvertible("reads beyond a tensor under a mask")
        for stride, distance, count, _, high, by in moves:
            own = high + 1
            # What has other indices is one digit, the outermost one if the move is one of whole
            # indices of that.
            share = max(d for d in self.digits.cuts if d < distance * count) // distance
            if own % share == 0 and by % share == 0:
                if share > 1:
                    parts.append((distance, share, stride))
                distance, count, stride = distance * share, count // share, stride * share
                by, own = by // share, own // share
            part = (distance, count, stride)
            parts.append(part if by == 0 and own >= count else (*part, by % own, own))
        return Input("part", element, tuple(sorted([*rest, *parts], reverse=True))), constant

    def _ranges(self) -> dict[tuple[int, int], tuple[int, int]]:
        """The digits that masks bound here, and between which numbers."""
        result = dict[tuple[int, int], tuple[int, int]]()
        for mask in self.masks:
            for digits, (low, high) in mask.ranges.items():
                before = result.get(digits, (0, digits[1] - 1))
                result[digits] = max(before[0], low), min(before[1], high)
        return {digits: ends for digits, ends in result.items() if ends[0] <= ends[1]}

    def _row_of_table(self, name: str, form: Form, dtype: torch.dtype) -> _Value:
        """A row of a table, at an index that is read."""
        columns = self.digits.runs(Form(form.strides))
        [(symbol, stride), *more] = form.others
        value, size = self.indirect[symbol]
        if not more and stride == 1 and size == self.length and self.is_rows and (
                form == Form(self._own_row(), 0, form.others)):
            return self._element_of_row(name, value, dtype)
        is_row = columns == [(1, self.length, 1)] and stride == self.length
        if more or form.constant or not is_row or dtype not in _FLOATS:
            return self._elements(name, self._index(form), dtype)
        if size * self.length > 2 ** 31 - 1:
            raise NotConvertible("reads a table that is too large")
        place = Input("table", _FLOATS[dtype], (), size)
        argument = Argument(self.memory.same(name), 0, size * self.length)
        key = argument, place
        if key not in self.inputs:
            self.inputs[key] = self.builder.add("input", len(self.inputs))
        return _Value(self.builder.add("take", self.inputs[key], value.node), dtype)

    def _own_row(self) -> tuple[tuple[int, int], ...]:
        """The strides of the first element of each row, of rows one after another."""
        return self.digits.range(self.length, self.space.count, 1).strides

    def _element_of_row(self, name: str, place: _Value, dtype: torch.dtype) -> _Value:
        """The element of each row at a place that is read; 0 outside of the row."""
        b = self.builder
        if dtype not in _FLOATS:
            raise NotConvertible("reads elements at indices that are read")
        row = self._input(name, 0, Input("row", _FLOATS[dtype]), dtype)
        column = _Value(b.add("index"), torch.int64, (0, self.length - 1))
        is_here = self._compared("eq", column, place)
        here = b.add("select", is_here.node, row.node, b.constant(0))
        return _Value(b.add("row_sum", here), dtype)

    def _elements(self, name: str, index: _Value, dtype: torch.dtype) -> _Value:
        """An element for each index."""
        element, size = _element(dtype), self.memory.size(name)
        if element is None:
            raise NotConvertible(f"reads {str(dtype).removeprefix('torch.')}")
        if size > 2 ** 31 - 1:
            raise NotConvertible("reads a table that is too large")
        table = self._input(name, 0, Input("elements", element, (), size), dtype).node
        return _Value(self.builder.add("take", table, self._exact(index).node), dtype,
                      is_exact=dtype in _INTEGERS)

    def _index(self, form: Form, dtype: torch.dtype = torch.int32) -> _Value:
        """An index as an integer, which wraps around: what is none of a tensor's may be another
        one."""
        node = self._integer_index(form, _INTEGERS[dtype])
        for symbol, stride in form.others:
            read = self._exact(self.to_dtype(self.indirect[symbol][0], dtype)).node
            node = self.builder.add("add", node, self.builder.add(
                "mul", read, self.builder.integer(stride)))
        return _Value(node, dtype, is_exact=True)

    def _computed(self, expression: Any, dtype: torch.dtype = torch.int32) -> _Value:
        """The same of an index that is no sum of digits."""
        with contextlib.suppress(NotConvertible):
            return self._index(self.form(expression), dtype)
        functions: dict[Any, Callable[[_Value, _Value], _Value]] = {
            sympy.Add: self.add, sympy.Mul: self.mul, Min: self.minimum, Max: self.maximum,
            sympy.Min: self.minimum, sympy.Max: self.maximum,
            FloorDiv: functools.partial(self._integers, "floordiv"),
            Mod: functools.partial(self._integers, "mod"),
            PythonMod: functools.partial(self._integers, "mod")}
        if isinstance(expression, Identity):
            return self._computed(expression.args[0], dtype)
        parts = [self._computed(part, dtype) for part in expression.args]
        if isinstance(expression, sympy.Abs):
            return self.maximum(parts[0], self.neg(parts[0]))
        if isinstance(expression, ModularIndexing):
            base, divisor, size = parts
            return self._integers("mod", self._integers("floordiv", base, divisor), size)
        if type(expression) not in functions:
            raise NotConvertible(f"has an index with {type(expression).__name__}")
        return functools.reduce(functions[type(expression)], parts)

    def indirect_indexing(self, value: _Value, size: Any, check: bool = True,
                          wrap_neg: bool = True) -> sympy.Symbol:
        size = self.memory.number(size)
        if not value.is_integer or not (isinstance(size, int) or size.is_Integer):
            raise NotConvertible("reads at an index that is no integer of a known range")
        if not value.is_small:
            value = self._exact(value)
        if wrap_neg and not (value.bounds and value.bounds[0] >= 0):
            is_below = self._compared("lt", value, self.constant(0, value.dtype))
            value = self.where(is_below, self._arithmetic(
                "add", value, self.constant(int(size), value.dtype)), value)
        symbol = sympy.Symbol(f"lnbwd_read{len(self.indirect)}", integer=True)
        self.indirect[symbol] = value, int(size)
        return symbol

    def check_bounds(self, *_: Any) -> None:
        """Nothing: a table's last row stands in for rows that it does not have."""

    def store(self, name: str, index: Any, value: _Value, mode: Any = None) -> None:
        if mode is not None:
            raise NotConvertible("adds to places of a tensor")
        form = self.form(index)
        if form.others:
            raise NotConvertible("writes at indices that are read")
        self._write(name, form, value)

    def store_reduction(self, name: str, index: Any, value: Any) -> None:
        form = self.form(index)
        if isinstance(value, _Combined):
            self._combine(name, form, value)
        else:
            self._write(name, form, value)

    def _write(self, name: str, form: Form, value: _Value) -> None:
        dtype = self.memory.dtype(name)
        if value.is_condition != (dtype == torch.bool) or value.is_integer or dtype in _INTEGERS:
            value = self.to_dtype(value, dtype)
        self.stored[name] = form, value
        if not self.is_needed(name):
            return
        element = _element(dtype) or _EIGHTS.get(dtype)
        if element is None:
            raise NotConvertible(f"writes {str(dtype).removeprefix('torch.')} elements")
        if value.is_integer and not value.is_small:
            value = self._exact(value)
        runs = self.digits.runs(form)
        is_of_rows = self.is_rows or (self.reduces and not self.is_swapped)
        unit = self.length if is_of_rows else 1
        count = self.space.count // unit
        if math.prod(size for _, size, _ in runs) != count or any(
                distance < unit for distance, _, _ in runs):
            raise NotConvertible("writes elements more than once")
        kind = "scalar" if is_of_rows else "row"
        if kind == "scalar" and dtype in _EIGHTS:
            raise NotConvertible("writes float8 numbers of rows")
        if runs in ([(unit, count, 1)], []):
            output = Output(kind, element, value.node)
        else:
            expected = 1
            for _, size, stride in sorted(runs, key=lambda run: run[2]):
                if stride != expected:
                    raise NotConvertible("writes a tensor with gaps")
                expected *= size
            output = Output(kind, element, value.node, 1, tuple(runs))
        self.outputs.append((Argument(self.memory.same(name), form.constant, count), output, form))

    def _combine(self, name: str, form: Form, value: _Combined) -> None:
        """Writes what combines rows."""
        self.combined.add(name)
        if not self.is_needed(name):
            return
        dtype = self.memory.dtype(name)
        if dtype not in _FLOATS:
            raise NotConvertible(f"writes {str(dtype).removeprefix('torch.')} sums over rows")
        runs = self.digits.runs(form)
        if not runs:
            how = "row_sum" if value.how == "sum" else "row_max"
            of_row = self.builder.add(how, value.value.node)
            kind, count = "total" if value.how == "sum" else "total_max", 1
            output = Output(kind, _FLOATS[dtype], of_row)
        elif runs == [(1, self.length, 1)]:
            kind, count = f"column_{value.how}", self.length
            output = Output(kind, _FLOATS[dtype], value.value.node)
        else:
            expected = 1
            for _, size, stride in reversed(runs):
                if stride != expected:
                    raise NotConvertible("writes sums over rows in another order than that of them")
                expected *= size
            kind, count, parts = f"part_{value.how}", expected, tuple(
                (distance, size) for distance, size, _ in runs)
            if parts[1:] == ((1, self.length),) and math.prod(parts[0]) == self.space.count:
                kind, parts = f"group_{value.how}", ()
                self.groups.add(runs[0][1])
            output = Output(kind, _FLOATS[dtype], value.value.node, 1, parts)
        self.outputs.append((Argument(self.memory.same(name), form.constant, count), output, form))

    def _finish(self, places: Sequence[int]) -> Call:
        given, groups = self._in_groups()
        indices = self._read_indices([argument.buffer for argument, _ in given])
        order = sorted(range(len(given)), key=lambda place: (
            INPUT_KINDS.index(given[place][1].kind), place))
        inputs = [given[place] for place in order]
        moved = {old: new for new, old in enumerate(order)}
        self.builder.nodes = [("input", moved[node[1]]) if node[0] == "input" else node
                              for node in self.builder.nodes]
        outputs = sorted(self.outputs, key=lambda one: OUTPUT_KINDS.index(one[1].kind))
        program = self.builder.finish(self.rows, [place for _, place in inputs],
                                      [output for _, output, _ in outputs], groups)
        program, used = program.without_unused_inputs()
        inputs = [inputs[place] for place in used]
        if len(inputs) + len(outputs) > MOST_OPERANDS:
            raise NotConvertible(f"has more than {MOST_OPERANDS} operands")
        if program.has_row_sums and self.length > LONGEST_ROW:
            raise NotConvertible("reduces rows that are too long")
        if any(one.kind in SUM_KINDS for one in program.outputs) and not any(
                map(self._is_row_block, (*program.inputs, *program.outputs))):
            raise NotConvertible("combines rows that are all the same")
        arguments = (*(one for one, _ in inputs), *(one for one, _, _ in outputs))
        self._check_overlaps(inputs, outputs)
        try:
            mlir(program)
        except (ValueError, AssertionError) as error:
            raise NotConvertible(f"no row program: {error}") from error
        numbers = (self.rows, program.groups or 0) if program.has_groups else (self.rows,)
        return Call(program, arguments, tuple(places), numbers, indices)

    def _read_indices(self, buffers: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """As :class:`Call` has them, of the buffers of the inputs."""
        nodes, found = self.builder.nodes, dict[str, int]()

        def computed_of(index: int) -> tuple[int, ...]:
            # What is read at an index is another index's table.
            name, *operands = nodes[index]
            return (operands[0],) if name == "take" else operands_of((name, *operands))

        for value, size in self.indirect.values():
            for index in reached([value.node], computed_of):
                if nodes[index][0] == "input":
                    buffer = buffers[nodes[index][1]]
                    found[buffer] = min(size, found.get(buffer, size))
        return tuple(sorted(found.items()))

    def _is_row_block(self, value: Any) -> bool:
        """Whether a tensor has all dimensions of the row block."""
        return value.kind == "row" or bool(
            value.kind == "part" and all(part[4:] != (1,) for part in value.parts)
            and math.prod(part[1] for part in value.parts) == self.space.count)

    def _in_groups(self) -> tuple[list[tuple[Argument, Input]], int | None]:
        """The inputs, those of groups of rows as such, and the number of groups."""
        length, count = self.length, self.space.count
        found = dict[int, Input]()
        sizes = set(self.groups)
        for place, (_, one) in enumerate(self.inputs):
            first = one.parts[0] if one.kind == "part" else ()
            if not first or first[0] <= length or first[0] * first[1] != count:
                continue
            columns = one.parts[1:]
            if len(first) == 2 and all(math.prod(part) <= length for part in columns):
                found[place] = Input("group_column", one.dtype, () if columns == (
                    (1, length),) else columns) if columns else Input("group_scalar", one.dtype)
                sizes.add(first[1])
        if not sizes:
            return [*self.inputs], None
        if len(sizes) > 1:
            raise NotConvertible("reads numbers for groups of rows of different sizes")
        [groups] = sizes
        of_group = self.rows // groups
        shared: dict[Any, str] = {((length, of_group),): "repeated_scalar",
                                  ((1, of_group * length),): "repeated_row"}
        for place, (_, one) in enumerate(self.inputs):
            if one.kind == "part" and one.parts in shared:
                found[place] = Input(shared[one.parts], one.dtype)
        return [(argument, found.get(place, one))
                for place, (argument, one) in enumerate(self.inputs)], groups

    def _check_overlaps(self, inputs: Sequence[tuple[Argument, Input]],
                        outputs: Sequence[tuple[Argument, Output, Form]]) -> None:
        """An output is another buffer than all inputs, or that of one with the same map."""
        for place, (argument, output, _) in enumerate(outputs):
            if any(other.buffer == argument.buffer for other, *_ in outputs[:place]):
                raise NotConvertible("writes a buffer twice")
            for other, given in inputs:
                if other.buffer == argument.buffer and not (
                        other == argument and output.kind not in SUM_KINDS
                        and ((given.kind, given.parts) == (output.kind, output.parts)
                             or self.space.count == 1)):
                    raise NotConvertible("writes a buffer that it reads elsewhere")

    # ----------------------------------------------------------------------------------------------
    # Operations
    # ----------------------------------------------------------------------------------------------

    def _default(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = [one for one in args if isinstance(one, _Value)]
        if values and all(isinstance(one, _Value | int | float) for one in args):
            args = tuple(one if isinstance(one, _Value) else self.constant(one, values[0].dtype)
                         for one in args)
        if kwargs or not all(isinstance(one, _Value) for one in args):
            raise NotConvertible(f"computes {name}")
        if name in _COMPARED:
            return self._compared(name, *args)
        if name in _LOGIC and all(one.is_condition for one in args):
            ranges = _both(*(one.ranges for one in args)) if _LOGIC[name] == "and" else {}
            return _Value(self.builder.add(_LOGIC[name], *(one.node for one in args)), torch.bool,
                          ranges=ranges)
        if name.startswith("logical_") and name in _LOGIC:
            return self._default(name, tuple(self.to_dtype(one, torch.bool) for one in args), {})
        if name in _NAMES and not any(one.is_integer or one.is_condition for one in args):
            return self._number(_NAMES[name], *args)
        if name in _OF_INTEGERS and all(one.is_integer for one in args):
            is_positive = all(one.bounds and one.bounds[0] >= 0 for one in args)
            if name not in _ROUNDS_TO_ZERO or is_positive:
                return self._integers(_OF_INTEGERS[name], *args)
        if name == "abs" and args[0].is_integer:
            return self.maximum(args[0], self.neg(args[0]))
        raise NotConvertible(f"computes {name}" + " of integers" * any(
            one.is_integer for one in args))

    def _number(self, name: str, *values: _Value) -> _Value:
        dtype = values[0].dtype
        for value in values[1:]:
            dtype = torch.promote_types(dtype, value.dtype)
        return _Value(self.builder.add(name, *(value.node for value in values)), dtype)

    def _compared(self, name: str, first: _Value, second: _Value) -> _Value:
        if first.is_condition and second.is_condition and name in ("eq", "ne"):
            node = self.builder.add("xor", first.node, second.node)
            return _Value(node if name == "ne" else self.builder.add("not", node), torch.bool)
        dtype = torch.promote_types(first.dtype, second.dtype)
        if dtype in _INTEGERS:
            values = [self.to_dtype(one, dtype) for one in (first, second)]
            # An integer that is rounded compares with one that is exact as before.
            if any(one.is_exact for one in values) or not any(one.is_small for one in values):
                values = [self._exact(one) for one in values]
        else:
            values = [one if one.dtype.is_floating_point else self.to_dtype(one, torch.float32)
                      for one in (first, second)]
            # The largest element of a row has been rounded, and is equal to one of those that are.
            if values[0].dtype == values[1].dtype in _NARROW and all(
                    one.number is None for one in values):
                values = [self.rounded(one, one.dtype) for one in values]
        return _Value(self.builder.add(name, *(one.node for one in values)), torch.bool,
                      ranges=self._range(name, first, second))

    def _exact(self, value: _Value) -> _Value:
        """An integer whose node is one."""
        if value.is_exact:
            return value
        node = value.node if value.number is None else self.builder.integer(int(value.number))
        return replace(value, is_exact=True, node=self.builder.add(
            "integer", node, _INTEGERS[value.dtype]))

    def _integers(self, name: str, *values: _Value) -> _Value:
        """An operation on integers of any range, which wraps around."""
        dtype = values[0].dtype
        for value in values[1:]:
            dtype = torch.promote_types(dtype, value.dtype)
        node = self.builder.add(name, *(
            self._exact(self.to_dtype(value, dtype)).node for value in values))
        if dtype not in _WIDE:
            node = self.builder.add("integer", node, _INTEGERS[dtype])
        return _Value(node, dtype, is_exact=True)

    def _range(self, name: str, first: _Value, second: _Value) -> dict[
            tuple[int, int], tuple[int, int]]:
        """The digits that a comparison with a number bounds."""
        if first.form is None or second.number is None:
            return {}
        runs = self.digits.runs(first.form)
        if len(runs) != 1 or runs[0][2] != 1:
            return {}
        [(distance, size, _)] = runs
        number = second.number - first.form.constant
        low, high = {"lt": (0, math.ceil(number) - 1), "le": (0, math.floor(number)),
                     "gt": (math.floor(number) + 1, size - 1), "ge": (math.ceil(number), size - 1),
                     "eq": (math.ceil(number), math.floor(number))}.get(name, (0, size - 1))
        return {(distance, size): (max(low, 0), min(high, size - 1))}

    def _arithmetic(self, name: str, first: _Value, second: _Value) -> _Value:
        if first.is_condition or second.is_condition:
            raise NotConvertible(f"computes {name} of conditions")
        dtype = torch.promote_types(first.dtype, second.dtype)
        if dtype not in _INTEGERS:
            return self._number(name, *(one if not one.is_integer else self.to_dtype(one, dtype)
                                        for one in (first, second)))
        if first.bounds is None or second.bounds is None:
            return self._integers(name, first, second)
        corners: Any = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
                        "max": max, "min": min}[name]
        ends = [corners(a, b) for a in first.bounds for b in second.bounds]
        low, high = _range_of(dtype)
        if min(ends) < low or max(ends) > high:
            return self._integers(name, first, second)
        form = None
        if name in ("add", "sub") and first.form is not None and second.form is not None:
            form = add(first.form, second.form, 1 if name == "add" else -1)
        is_small = first.is_small and second.is_small and max(map(abs, ends)) <= LARGEST_EXACT
        result = self._integers(name, first, second) if not is_small else _Value(
            self.builder.add(name, first.node, second.node), dtype)
        return replace(result, bounds=(min(ends), max(ends)), form=form)

    def add(self, first: _Value, second: _Value) -> _Value:
        return self._arithmetic("add", first, second)

    def sub(self, first: _Value, second: _Value) -> _Value:
        return self._arithmetic("sub", first, second)

    def mul(self, first: _Value, second: _Value) -> _Value:
        if first.is_condition and second.is_condition:
            return self.bitwise_and(first, second)  # type: ignore[no-any-return]
        return self._arithmetic("mul", first, second)

    def maximum(self, first: _Value, second: _Value) -> _Value:
        return self._arithmetic("max", first, second)

    def minimum(self, first: _Value, second: _Value) -> _Value:
        return self._arithmetic("min", first, second)

    def neg(self, value: _Value) -> _Value:
        if value.is_integer:
            return self._arithmetic("sub", self.constant(0, value.dtype), value)
        return self._number("neg", value)

    def square(self, value: _Value) -> _Value:
        return self._arithmetic("mul", value, value)

    def fma(self, x: _Value, y: _Value, z: _Value) -> _Value:
        return self.add(self.mul(x, y), z)

    def relu(self, value: _Value) -> _Value:
        return self.maximum(value, self.constant(0, value.dtype))

    def reciprocal(self, value: _Value) -> _Value:
        return self._number("div", self.constant(1, value.dtype), value)

    def sigmoid(self, value: _Value) -> _Value:
        b, one = self.builder, self.builder.constant(1)
        power = b.add("exp", b.add("neg", value.node))
        return _Value(b.add("div", one, b.add("add", one, power)), value.dtype)

    def sign(self, value: _Value) -> _Value:
        b, zero = self.builder, self.builder.constant(0)
        rest = b.add("select", b.add("lt", value.node, zero), b.constant(-1), zero)
        return _Value(b.add("select", b.add("gt", value.node, zero), b.constant(1), rest),
                      value.dtype, (-1, 1) if value.is_integer else None)

    def isnan(self, value: _Value) -> _Value:
        return _Value(self.builder.add("ne", value.node, value.node), torch.bool)

    def isinf(self, value: _Value) -> _Value:
        size = self.builder.add("abs", value.node)
        return _Value(self.builder.add("eq", size, self.builder.constant(math.inf)), torch.bool)

    def pow(self, base: _Value, exponent: _Value) -> _Value:
        if exponent.number is None or base.is_integer:
            raise NotConvertible("computes powers with exponents that differ")
        return _Value(self.builder.power(base.node, exponent.number), base.dtype)

    def logical_not(self, value: _Value) -> _Value:
        return _Value(self.builder.add("not", self.to_dtype(value, torch.bool).node), torch.bool)

    def bitwise_not(self, value: _Value) -> _Value:
        return self.logical_not(value) if value.is_condition else self._integers("not", value)

    def identity(self, value: _Value) -> _Value:
        return value

    def where(self, condition: _Value, first: _Value, second: _Value) -> _Value:
        condition, b = self.to_dtype(condition, torch.bool), self.builder
        if first.is_condition and second.is_condition:
            node = b.add("or", b.add("and", condition.node, first.node),
                         b.add("and", b.add("not", condition.node), second.node))
            return _Value(node, torch.bool)
        dtype = torch.promote_types(first.dtype, second.dtype)
        values = [self.to_dtype(one, dtype) for one in (first, second)]
        is_exact = dtype in _INTEGERS and not all(one.is_small for one in values)
        if is_exact:
            values = [self._exact(one) for one in values]
        bounds = None
        if first.bounds is not None and second.bounds is not None:
            bounds = (min(first.bounds[0], second.bounds[0]),
                      max(first.bounds[1], second.bounds[1]))
        return _Value(b.add("select", condition.node, *(one.node for one in values)), dtype,
                      bounds, is_exact=is_exact)

    def constant(self, value: Any, dtype: torch.dtype) -> _Value:
        if dtype == torch.bool:
            zero = self.builder.constant(0)
            return _Value(self.builder.add("eq" if value else "ne", zero, zero), torch.bool)
        if dtype in (torch.float64, torch.complex64, torch.complex128):
            raise NotConvertible(f"computes in {str(dtype).removeprefix('torch.')}")
        if dtype.is_floating_point:
            return _Value(self.builder.constant(float(value)), dtype, number=float(value))
        value = int(value)
        result = _Value(self.builder.constant(float(value)), dtype, (value, value), number=value)
        return result if abs(value) <= LARGEST_EXACT else self._exact(result)

    def index_expr(self, index: Any, dtype: torch.dtype) -> _Value:
        b, integer = self.builder, dtype if dtype in _INTEGERS else torch.int64
        try:
            form = self.form(index)
        except NotConvertible:
            return self.to_dtype(self._computed(index, integer), dtype)
        if form.others:
            return self.to_dtype(self._index(form, integer), dtype)
        bounds = self.digits.bounds(form)
        runs = self.digits.runs(form)
        node = None
        if max(map(abs, bounds)) > LARGEST_EXACT:
            node = self._integer_index(form, _INTEGERS[integer])
            return self.to_dtype(_Value(node, integer, bounds, form, is_exact=True), dtype)
        for distance, size, stride in self._rows_and_columns(runs):
            one = b.add("index") if (distance, size) == (1, self.length) else b.add(
                "place", distance, size)
            one = one if stride == 1 else b.add("mul", one, b.constant(stride))
            node = one if node is None else b.add("add", node, one)
        if node is None or form.constant:
            constant = b.constant(form.constant)
            node = constant if node is None else b.add("add", node, constant)
        return _Value(node, dtype, bounds, form)

    def _integer_index(self, form: Form, dtype: str) -> int:
        """The digits of an index as an integer."""
        b = self.builder
        node = b.add("integer", b.integer(form.constant), dtype)
        for distance, size, stride in self._rows_and_columns(self.digits.runs(form)):
            one = b.add("index") if (distance, size) == (1, self.length) else b.add(
                "place", distance, size)
            one = b.add("mul", b.add("integer", one, dtype), b.integer(stride))
            node = b.add("add", node, one)
        return node

    def trunc_to_int(self, value: _Value, dtype: torch.dtype) -> _Value:
        return self.to_dtype(value, dtype)

    def floor_to_int(self, value: _Value, dtype: torch.dtype) -> _Value:
        return self.to_dtype(self._number("floor", value), dtype)

    def ceil_to_int(self, value: _Value, dtype: torch.dtype) -> _Value:
        return self.to_dtype(self._number("ceil", value), dtype)

    def value_expr(self, expr: Any, dtype: torch.dtype) -> _Value:
        return self.index_expr(expr, dtype)

    def _rows_and_columns(self, runs: Sequence[tuple[int, int, int]]) -> Iterator[
            tuple[int, int, int]]:
        """Runs, none of which is of rows and of columns."""
        for distance, size, stride in runs:
            if distance < self.length < distance * size:
                inner = self.length // distance
                yield self.length, size // inner, stride * inner
                yield distance, inner, stride
            else:
                yield distance, size, stride

    def to_dtype(self, value: _Value, dtype: torch.dtype, src_dtype: Any = None,
                 use_compute_types: bool = True) -> _Value:
        b = self.builder
        if dtype == value.dtype and (use_compute_types or dtype not in _FLOATS):
            return value
        if dtype == torch.bool:
            return _Value(b.add("ne", value.node, b.constant(0)), torch.bool)
        if value.is_condition:
            node = b.add("select", value.node, b.constant(1), b.constant(0))
            if dtype not in _FLOATS and dtype not in _INTEGERS:
                raise NotConvertible(f"computes in {str(dtype).removeprefix('torch.')}")
            return _Value(node, dtype, (0, 1))
        if dtype in _EIGHTS and value.dtype in _FLOATS:
            return self.rounded(value, dtype)
        if dtype in _FLOATS:
            node = b.add("float", value.node) if value.is_exact else value.node
            result = _Value(node, dtype, number=value.number)
            if dtype != torch.float32 and (emulates_casts() or not use_compute_types):
                result = self.rounded(result, dtype)
            return result
        if dtype in _INTEGERS and value.is_integer:
            low, high = _range_of(dtype)
            own = value.bounds or _range_of(value.dtype)
            fits = low <= own[0] and own[1] <= high
            if value.is_exact or not fits:
                node = self._exact(value).node
                return _Value(b.add("integer", node, _INTEGERS[dtype]), dtype,
                              value.bounds if fits else None, value.form if fits else None,
                              is_exact=True)
            return replace(value, dtype=dtype)
        if dtype in _INTEGERS and value.dtype.is_floating_point:
            return _Value(b.add("integer", value.node, _INTEGERS[dtype]), dtype, is_exact=True)
        raise NotConvertible(f"converts {str(value.dtype).removeprefix('torch.')} to "
                             f"{str(dtype).removeprefix('torch.')}")

    def rounded(self, value: _Value, dtype: torch.dtype) -> _Value:
        """A value in the type that it has in memory."""
        return _Value(self.builder.add("round", value.node, ELEMENT_NAMES[dtype]), dtype)

    def _integer_reduction(self, dtype: torch.dtype, kind: str, value: _Value) -> _Value:
        """Integers of a row, reduced."""
        b = self.builder
        if kind == "sum":
            value = self.to_dtype(value, dtype)
            low, high = value.bounds or _range_of(dtype)
            if not value.is_exact and self.length * max(-low, high) <= LARGEST_EXACT:
                return _Value(b.add("row_sum", value.node), dtype,
                              (low * self.length, high * self.length))
            return _Value(b.add("row_sum", self._exact(value).node), dtype, is_exact=True)
        if kind not in ("max", "min"):
            raise NotConvertible(f"reduces integers by {kind}")
        value = value if value.is_small else self._exact(value)
        turn = "not" if value.is_exact else "neg"
        if kind == "max":
            return replace(value, node=b.add("row_max", value.node), form=None)
        return replace(value, form=None, node=b.add(
            turn, b.add("row_max", b.add(turn, value.node))))

    def masked(self, mask: _Value, body: Callable[[], Any], other: Any) -> _Value:
        self.masks.append(mask)
        try:
            value = body()
        finally:
            self.masks.pop()
        if not isinstance(other, _Value):
            other = self.constant(other, value.dtype)
        return self.where(mask, value, other)

    def load_seed(self, name: str, offset: Any) -> _Value:
        place = Input("number", "i64")
        key = Argument(self.memory.same(name), int(offset), 1), place
        if key not in self.inputs:
            self.inputs[key] = self.builder.add("input", len(self.inputs))
        return _Value(self.inputs[key], torch.int64)

    def rand(self, seed: _Value, offset: _Value) -> _Value:
        if offset.form is None or self.digits.runs(offset.form) != [(1, self.space.count, 1)] or (
                offset.form.constant):
            raise NotConvertible("draws random numbers in another order")
        return _Value(self.builder.add("random", seed.node), torch.float32)

    def reduction(self, dtype: torch.dtype, src_dtype: torch.dtype, kind: str, value: Any) -> Any:
        b = self.builder
        if isinstance(value, tuple):
            raise NotConvertible(f"reduces by {kind}")
        if self.is_swapped:
            if kind in ("sum", "max") and not value.is_integer and not value.is_condition:
                return _Combined(value, kind)
            raise NotConvertible(f"reduces rows by {kind}")
        if kind == "any":
            node = b.add("row_max", b.add("select", self.to_dtype(value, torch.bool).node,
                                          b.constant(1), b.constant(0)))
            return _Value(b.add("ne", node, b.constant(0)), torch.bool)
        if value.is_condition:
            value = self.to_dtype(value, torch.float32 if dtype.is_floating_point else dtype)
        if value.is_integer and not (value.is_small and kind.startswith("arg")):
            return self._integer_reduction(dtype, kind, value)
        if kind == "sum":
            return _Value(b.add("row_sum", value.node), dtype)
        if kind == "max":
            return _Value(b.add("row_max", value.node), dtype)
        if kind == "min":
            return _Value(b.add("neg", b.add("row_max", b.add("neg", value.node))), dtype)
        if kind == "welford_reduce":
            share = b.constant(1 / self.length)
            mean = b.add("mul", b.add("row_sum", value.node), share)
            centered = b.add("sub", value.node, mean)
            squares = b.add("row_sum", b.add("mul", centered, centered))
            return (_Value(mean, dtype), _Value(squares, dtype),
                    _Value(b.constant(self.length), dtype))
        if kind == "online_softmax_reduce":
            largest = b.add("row_max", value.node)
            power = b.add("exp", b.add("sub", value.node, largest))
            return _Value(largest, dtype), _Value(b.add("row_sum", power), dtype)
        if kind in ("argmax", "argmin"):
            sized = value.node if kind == "argmax" else b.add("neg", value.node)
            is_it = b.add("or", b.add("eq", sized, b.add("row_max", sized)),
                          b.add("ne", sized, sized))
            place = b.add("select", is_it, b.add("neg", b.add("index")), b.constant(-math.inf))
            return _Value(b.add("neg", b.add("row_max", place)), dtype, (0, self.length - 1))
        raise NotConvertible(f"reduces by {kind}")
