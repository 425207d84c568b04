# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs of a row program, from the stores of loop bodies, and that program."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import torch

from ..ops.launching import ALIGNMENT
from ..program.mlir import mlir
from ..program.operands import INPUT_KINDS, OUTPUT_KINDS, SUM_KINDS, Input, Output
from ..program.row_program import operands_of, reached
from .loads import Loads
from .loops import Space
from .places import Digits, Form, NotConvertible
from .values import (
    EIGHTS,
    FLOATS,
    INTEGERS,
    Argument,
    Call,
    Combined,
    Memory,
    Value,
    element_of,
)

LONGEST_ROW = 262144
"""Elements of a row over which a program sums."""

MOST_OPERANDS = 64


class Accesses(Loads):
    """The handler of stores too.

    Attributes:
        outputs: what is written, and which elements.
        groups: how many groups of rows outputs have.
    """

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
        self.stored[name] = form, value
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
        self.combined.add(name)
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
