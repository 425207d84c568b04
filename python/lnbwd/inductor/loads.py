# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of a row program, from the loads of loop bodies."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch

from ..program.operands import Input, Output
from ..program.torch_internals import loops
from .calls import Argument
from .operations import Operations
from .places import Digits, Form, NotConvertible
from .values import (
    EIGHTS,
    FLOATS,
    INTEGERS,
    LARGEST_EXACT,
    WIDE,
    Memory,
    Space,
    Value,
    element_of,
    range_of,
)

LARGEST_COPY = 1 << 16
"""Elements of a tensor that may be copied in each call."""


class Loads(Operations):
    """The handler of loads too: ``space`` says how loops run through the row block, ``memory`` what
    is known of buffers, ``later`` which of them are read after the program. ``inputs`` has what is
    read, and the values, ``stored`` the values, and elements, of memory that bodies have written,
    ``combined`` memory that combines rows, ``indirect`` what is read from memory, by the symbol
    that an index has for it, and the number of elements that it counts. Of the loop body at hand,
    ``body``, ``variables`` says what its variables are; ``is_swapped``, ``is_rows`` and
    ``reduces``, whether it reduces rows, has one element for each row, and reduces."""

    def __init__(self, space: Space, digits: Digits, length: int, memory: Memory,
                 later: Collection[str]) -> None:
        super().__init__(digits, length)
        self.space, self.memory, self.later = space, memory, later
        self.rows = space.count // length
        self.inputs: dict[tuple[Argument, Input], int] = {}
        self.stored: dict[str, tuple[Form, Value]] = {}
        self.combined = set[str]()
        self.indirect: dict[sympy.Symbol, tuple[Value, int]] = {}
        self.body: Any = None
        self.is_swapped = self.is_rows = self.reduces = False
        self.variables: dict[sympy.Symbol, Form] = {}

    def form(self, index: Any) -> Form:
        return self.digits.form(self.memory.number(index), self._variable)

    def _variable(self, symbol: sympy.Symbol) -> Form:
        if symbol in self.variables:
            return self.variables[symbol]
        if symbol in self.indirect:
            return Form(others=((symbol, 1),))
        raise NotConvertible(f"has the symbol {symbol} in an index")

    def load(self, name: str, index: Any) -> Value:
        dtype = self.memory.dtype(name)
        memory = self.memory.same(name)  # A node may have changed it under another name.
        if memory in self.combined:
            raise NotConvertible("reads sums over rows that it makes")
        try:
            form = self.form(index)
        except NotConvertible:
            if memory in self.stored:
                raise
            return self._elements(name, self._computed(index), dtype)
        if memory in self.stored:
            stored, value = self.stored[memory]
            if stored != form:
                raise NotConvertible("reads what it makes in another order")
            if value.dtype.is_floating_point and dtype in FLOATS and dtype != torch.float32 and (
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

    def _input(self, name: str, offset: int, place: Input, dtype: torch.dtype) -> Value:
        count = self.count_of(place)
        argument = Argument(self.memory.same(name), offset, count)
        if argument.offset < 0 or argument.offset + count > self.memory.size(name):
            raise NotConvertible("reads beyond a tensor under a mask")
        return Value(self._read(argument, place), dtype,
                     range_of(dtype) if dtype in INTEGERS and dtype not in WIDE else None)

    def _read(self, argument: Argument, place: Input) -> int:
        if (argument, place) not in self.inputs:
            self.inputs[argument, place] = self.builder.add("input", len(self.inputs))
        return self.inputs[argument, place]

    def _aligned(self, place: Input, offset: int, form: Form, dtype: torch.dtype) -> tuple[
            Input, int]:
        """The operand for a tensor at an address that is no multiple of 16 bytes. One of its
        dimensions gets shifted indices, so that its memory begins at a multiple. A strided part may
        begin anywhere, and each call copies a small tensor."""
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
        """The operand for a tensor read at these indices, and the first element of its memory."""
        runs = self.digits.runs(form)
        element = element_of(dtype)
        if dtype in EIGHTS and runs == [(1, self.space.count, 1)]:
            element = EIGHTS[dtype]
        if element is None:
            raise NotConvertible(f"reads {str(dtype).removeprefix('torch.')}")
        low, high = self.digits.bounds(form)
        if low < 0 or high >= size:
            return self._moved(form, element, size)
        if any(stride < 0 for _, _, stride in runs):
            raise NotConvertible("reads backwards")
        return self._kind(runs, element), form.constant

    def _kind(self, runs: list[tuple[int, int, int]], element: str) -> Input:
        """The kind of operand for a tensor with these digits of a row block."""
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
        """As :meth:`_place`, for shifted indices that a mask keeps in range."""
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

    def _row_of_table(self, name: str, form: Form, dtype: torch.dtype) -> Value:
        """A row of a table, at an index that is read."""
        columns = self.digits.runs(Form(form.strides))
        [(symbol, stride), *more] = form.others
        value, size = self.indirect[symbol]
        if not more and stride == 1 and size == self.length and self.is_rows and (
                # At the first element of the own row.
                form == Form(self.digits.range(self.length, self.space.count, 1).strides, 0,
                             form.others)):
            return self._element_of_row(name, value, dtype)
        is_row = columns == [(1, self.length, 1)] and stride == self.length
        if more or form.constant or not is_row or dtype not in FLOATS:
            return self._elements(name, self._index(form), dtype)
        if size * self.length > 2 ** 31 - 1:
            raise NotConvertible("reads a table that is too large")
        place = Input("table", FLOATS[dtype], (), size)
        argument = Argument(self.memory.same(name), 0, size * self.length)
        return Value(self.builder.add("take", self._read(argument, place), value.node), dtype)

    def _element_of_row(self, name: str, place: Value, dtype: torch.dtype) -> Value:
        """The element of each row at a place that is read; 0 outside of the row."""
        b = self.builder
        if dtype not in FLOATS:
            raise NotConvertible("reads elements at indices that are read")
        row = self._input(name, 0, Input("row", FLOATS[dtype]), dtype)
        column = Value(b.add("index"), torch.int64, (0, self.length - 1))
        is_here = self._compared("eq", column, place)
        here = b.add("select", is_here.node, row.node, b.constant(0))
        return Value(b.add("row_sum", here), dtype)

    def _elements(self, name: str, index: Value, dtype: torch.dtype) -> Value:
        """An element for each index."""
        element, size = element_of(dtype), self.memory.size(name)
        if element is None:
            raise NotConvertible(f"reads {str(dtype).removeprefix('torch.')}")
        if size > 2 ** 31 - 1:
            raise NotConvertible("reads a table that is too large")
        table = self._input(name, 0, Input("elements", element, (), size), dtype).node
        return Value(self.builder.add("take", table, self._exact(index).node), dtype,
                      is_exact=dtype in INTEGERS)

    def _index(self, form: Form, dtype: torch.dtype = torch.int32) -> Value:
        """An index as an integer that wraps around: outside of one tensor may be inside another."""
        node = self._integer_index(form, INTEGERS[dtype])
        for symbol, stride in form.others:
            read = self._exact(self.to_dtype(self.indirect[symbol][0], dtype)).node
            node = self.builder.add("add", node, self.builder.add(
                "mul", read, self.builder.integer(stride)))
        return Value(node, dtype, is_exact=True)

    def _computed(self, expression: Any, dtype: torch.dtype = torch.int32) -> Value:
        """The same of an index that is no sum of digits."""
        with contextlib.suppress(NotConvertible):
            return self._index(self.form(expression), dtype)
        functions: dict[Any, Callable[[Value, Value], Value]] = {
            sympy.Add: self.add, sympy.Mul: self.mul, sympy.Min: self.minimum,
            sympy.Max: self.maximum, loops.Min: self.minimum, loops.Max: self.maximum,
            loops.FloorDiv: functools.partial(self._integers, "floordiv"),
            loops.Mod: functools.partial(self._integers, "mod"),
            loops.PythonMod: functools.partial(self._integers, "mod")}
        if isinstance(expression, loops.Identity):
            return self._computed(expression.args[0], dtype)
        parts = [self._computed(part, dtype) for part in expression.args]
        if isinstance(expression, sympy.Abs):
            return self.maximum(parts[0], self.neg(parts[0]))
        if isinstance(expression, loops.ModularIndexing):
            base, divisor, size = parts
            return self._integers("mod", self._integers("floordiv", base, divisor), size)
        if type(expression) not in functions:
            raise NotConvertible(f"has an index with {type(expression).__name__}")
        return functools.reduce(functions[type(expression)], parts)

    def indirect_indexing(self, value: Value, size: Any, check: bool = True,
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

    def index_expr(self, index: Any, dtype: torch.dtype) -> Value:
        b, integer = self.builder, dtype if dtype in INTEGERS else torch.int64
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
            node = self._integer_index(form, INTEGERS[integer])
            return self.to_dtype(Value(node, integer, bounds, form, is_exact=True), dtype)
        for distance, size, stride in self._rows_and_columns(runs):
            one = self._digit(distance, size)
            one = one if stride == 1 else b.add("mul", one, b.constant(stride))
            node = one if node is None else b.add("add", node, one)
        if node is None or form.constant:
            constant = b.constant(form.constant)
            node = constant if node is None else b.add("add", node, constant)
        return Value(node, dtype, bounds, form)

    def value_expr(self, expr: Any, dtype: torch.dtype) -> Value:
        return self.index_expr(expr, dtype)

    def load_seed(self, name: str, offset: Any) -> Value:
        argument = Argument(self.memory.same(name), int(offset), 1)
        return Value(self._read(argument, Input("number", "i64")), torch.int64)

    def rand(self, seed: Value, offset: Value) -> Value:
        if offset.form is None or self.digits.runs(offset.form) != [(1, self.space.count, 1)] or (
                offset.form.constant):
            raise NotConvertible("draws random numbers in another order")
        return Value(self.builder.add("random", seed.node), torch.float32)
