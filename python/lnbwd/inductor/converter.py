# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop bodies of Inductor's fused nodes as row programs.

:func:`convert` gets the bodies of a fused node, in their order, and gives programs that compute
them, one after another: one, or more if a body reads sums over the rows that another one makes.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch

from ..ops.launching import ALIGNMENT
from ..program.mlir import mlir
from ..program.operands import INPUT_KINDS, OUTPUT_KINDS, SUM_KINDS, Input, Output
from ..program.row_program import operands_of, reached
from ..program.torch_internals.loops import LoopBody, run_body
from .calls import Argument, Call
from .loads import Loads
from .places import Digits, Form, NeedsCut, NotConvertible, add
from .values import (
    EIGHTS,
    FLOATS,
    INTEGERS,
    Combined,
    Memory,
    Space,
    Value,
    element_of,
    read_by,
    static_sizes,
)

LONGEST_ROW = 262144
"""Elements of a row over which a program sums."""

MOST_OPERANDS = 64


class Accesses(Loads):
    """The handler of stores too: ``outputs`` has what is written, and which elements, ``groups``
    how many groups of rows outputs have."""

    def __init__(self, space: Space, digits: Digits, length: int, memory: Memory,
                 later: Collection[str]) -> None:
        super().__init__(space, digits, length, memory, later)
        self.outputs: list[tuple[Argument, Output, Form]] = []
        self.groups = set[int]()

    def store(self, name: str, index: Any, value: Value, mode: Any = None) -> None:
        if mode is not None:
            raise NotConvertible("adds to places of a tensor")
        form = self.form(index)
        if form.others:
            raise NotConvertible("writes at indices that are read")
        self._write(name, form, value)

    def store_reduction(self, name: str, index: Any, value: Any) -> None:
        form = self.form(index)
        if isinstance(value, Combined):
            self._combine(name, form, value)
        else:
            self._write(name, form, value)

    def _write(self, name: str, form: Form, value: Value) -> None:
        dtype = self.memory.dtype(name)
        if value.is_condition != (dtype == torch.bool) or value.is_integer or dtype in INTEGERS:
            value = self.to_dtype(value, dtype)
        memory = self.memory.same(name)
        before = self.stored.get(memory, (form, value))[0]
        if before != form:
            raise NotConvertible("writes a tensor twice, in two orders")
        self.stored[memory] = form, value
        self.outputs = [one for one in self.outputs if one[0].buffer != memory]
        if not self.is_needed(name):
            return
        element = element_of(dtype) or EIGHTS.get(dtype)
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
        if kind == "scalar" and dtype in EIGHTS:
            raise NotConvertible("writes float8 numbers of rows")
        if runs in ([(unit, count, 1)], []):
            output = Output(kind, element, value.node)
        else:
            end = 1
            for _, size, stride in sorted(runs, key=lambda run: run[2]):
                if stride < end:
                    raise NotConvertible("writes elements more than once")
                end = stride * (size - 1) + end
            output = Output(kind, element, value.node, 1, tuple(runs))
            count = end
        if (self.memory.first(name) + form.constant) * dtype.itemsize % ALIGNMENT:
            raise NotConvertible("writes from an element on that is at no multiple of 16 bytes")
        self.outputs.append((Argument(self.memory.same(name), form.constant, count), output, form))

    def _combine(self, name: str, form: Form, value: Combined) -> None:
        """Writes a combination of rows."""
        self.combined.add(self.memory.same(name))
        if not self.is_needed(name):
            return
        dtype = self.memory.dtype(name)
        if dtype not in FLOATS:
            raise NotConvertible(f"writes {str(dtype).removeprefix('torch.')} sums over rows")
        runs = self.digits.runs(form)
        if not runs:
            how = "row_sum" if value.how == "sum" else "row_max"
            of_row = self.builder.add(how, value.value.node)
            kind, count = "total" if value.how == "sum" else "total_max", 1
            output = Output(kind, FLOATS[dtype], of_row)
        elif runs == [(1, self.length, 1)]:
            kind, count = f"column_{value.how}", self.length
            output = Output(kind, FLOATS[dtype], value.value.node)
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
            output = Output(kind, FLOATS[dtype], value.value.node, 1, parts)
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
        """The inputs, with those of groups of rows as group operands, and the number of groups."""
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
        """Checks that an output shares no buffer with an input, except one with the same map."""
        for place, (argument, output, _) in enumerate(outputs):
            if any(other.buffer == argument.buffer for other, *_ in outputs[:place]):
                raise NotConvertible("writes a buffer twice")
            for other, given in inputs:
                if other.buffer == argument.buffer and not (
                        other == argument and output.kind not in SUM_KINDS
                        and ((given.kind, given.parts) == (output.kind, output.parts)
                             or self.space.count == 1)):
                    raise NotConvertible("writes a buffer that it reads elsewhere")


__all__ = ["convert"]

USUAL_LENGTH = 2048
"""Elements of a row if no sum defines it."""

MOST_READ_APART, LONGEST_READ_APART = 1 << 21, 256
"""Elements of tensors, and of their rows, that may lie apart."""


def convert(bodies: Sequence[LoopBody], memory: Memory) -> list[Call]:
    """Row programs that compute loop bodies of a fused node, or NotConvertible, which says why."""
    bodies = list(bodies)
    sizes = [static_sizes(body, memory) for body in bodies]
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
        space = Space(bodies, sizes, left, reduces_rows, memory)
        taken = space.first_program(left)
        if not taken:  # The first one is of other loops than those that reduce.
            counts = {place: math.prod((*sizes[place][0], *sizes[place][1])) for place in left}
            alike = [place for place in left if counts[place] == counts[left[0]]]
            space = Space(bodies, sizes, alike, reduces_rows, memory)
            taken = space.first_program(left, alike)
        if not taken:
            raise NotConvertible("its loops have different numbers of elements")
        later = {name for place in left if place not in taken for name in read_by(bodies[place])}
        calls.append(_with_cuts(space, [bodies[place] for place in taken], taken, memory, later))
        left = [place for place in left if place not in taken]
    return calls


def _with_cuts(space: Space, bodies: list[LoopBody], places: list[int], memory: Memory,
               later: Collection[str]) -> Call:
    """The call of one program, tried again with each cut that an index, or a row, needs."""
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


class _Conversion(Accesses):
    """The handler of a body's operations, which makes the nodes of one program."""

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
        """A loop's variable of ``distance`` elements; ``turned`` as of :meth:`Space.turned`."""
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

    def reduction(self, dtype: torch.dtype, src_dtype: torch.dtype, kind: str, value: Any) -> Any:
        b = self.builder
        if isinstance(value, tuple):
            raise NotConvertible(f"reduces by {kind}")
        if self.is_swapped:
            if kind in ("sum", "max") and not value.is_integer and not value.is_condition:
                return Combined(value, kind)
            raise NotConvertible(f"reduces rows by {kind}")
        if kind == "any":
            node = b.add("row_max", b.add("select", self.to_dtype(value, torch.bool).node,
                                          b.constant(1), b.constant(0)))
            return Value(b.add("ne", node, b.constant(0)), torch.bool)
        if value.is_condition:
            value = self.to_dtype(value, torch.float32 if dtype.is_floating_point else dtype)
        if value.is_integer and not (value.is_small and kind.startswith("arg")):
            return self._integer_reduction(dtype, kind, value)
        if kind == "sum":
            return Value(b.add("row_sum", value.node), dtype)
        if kind == "max":
            return Value(b.add("row_max", value.node), dtype)
        if kind == "min":
            return Value(b.add("neg", b.add("row_max", b.add("neg", value.node))), dtype)
        if kind == "welford_reduce":
            share = b.constant(1 / self.length)
            mean = b.add("mul", b.add("row_sum", value.node), share)
            centered = b.add("sub", value.node, mean)
            squares = b.add("row_sum", b.add("mul", centered, centered))
            return (Value(mean, dtype), Value(squares, dtype),
                    Value(b.constant(self.length), dtype))
        if kind == "online_softmax_reduce":
            largest = b.add("row_max", value.node)
            power = b.add("exp", b.add("sub", value.node, largest))
            return Value(largest, dtype), Value(b.add("row_sum", power), dtype)
        if kind in ("argmax", "argmin"):
            sized = value.node if kind == "argmax" else b.add("neg", value.node)
            is_it = b.add("or", b.add("eq", sized, b.add("row_max", sized)),
                          b.add("ne", sized, sized))
            place = b.add("select", is_it, b.add("neg", b.add("index")), b.constant(-math.inf))
            return Value(b.add("neg", b.add("row_max", place)), dtype, (0, self.length - 1))
        raise NotConvertible(f"reduces by {kind}")
