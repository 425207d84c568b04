# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs as Python objects: the computation of one row, before it is MLIR.

A :class:`RowProgram` is a list of operations on float32 values, each a row of N elements or one
number (a *row scalar*), with inputs and outputs in memory. It is what a region of a PyTorch graph
becomes on its way to the compiler. :meth:`RowProgram.text` writes it as a text that another process
reads again, :mod:`.mlir` as MLIR, and :mod:`.evaluation` computes it by PyTorch.

Values are float32 inside, whatever the types in memory are: inputs are widened where they are read,
outputs rounded once where they are written. ``round`` says where a value is rounded in between.
Masks, row blocks of booleans, are conditions inside. ``integer`` makes exact integers of a value,
which are computed with as integers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .operands import COMPARISONS, INTEGERS, LOGIC, SUM_KINDS, SUMS, TABLES, Input, Output, cut

if TYPE_CHECKING:
    from torch import Tensor

_FORMAT = "lnbwd-row-program 1"

_OF_INTEGERS = frozenset(("add", "sub", "mul", "neg", "abs", "min", "max", "shl", "shr",
                          "floordiv", "mod", "not", "select", "row_sum", "row_max", *LOGIC))
"""Operations that make integers of integers."""

_T = TypeVar("_T")


def reached(first: Iterable[_T], following: Callable[[_T], Iterable[_T]]) -> set[_T]:
    """Some things, and all that follow from them, step by step."""
    result: set[_T] = set()
    stack = list(first)
    while stack:
        one = stack.pop()
        if one not in result:
            result.add(one)
            stack += following(one)
    return result


Node = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class RowProgram:
    """The computation of each of M rows of N elements.

    Attributes:
        length: N.
        rows: M where it is known, for the choice of a schedule; None: any.
        inputs: in the order of :data:`INPUT_KINDS`.
        nodes: the operations in order. Each is a tuple of its name and its operands, indices of
            earlier nodes: ``("input", i)``, ``("constant", number)``, ``("index",)``, the number of
            each column from 0, exact below 2^24, ``("place", distance, size)``, the index along a
            dimension of row blocks that an :class:`Input` has as such a part, ``("random", seed)``,
            a number from [0, 1) for each element of a row block, ``("round", value, dtype)``,
            ``("detach", value)``, a constant to whoever derives the gradient,
            ``("block_max", value, size, stride)``, for each element the largest of its block, of so
            many elements ``stride`` apart,
            ``("byte", input)``, the number from 0 to 255 that an input of "i8" is,
            ``("power_inverse", value)``, the reciprocal of a power of two from 2^-126 to 2^126, of
            a smaller one 2^127,
            ``("take", table, index)``, a row of an input that is a table, by an input of integers,
            an integer, or a number, exact below 2^24; of "elements" for each of the row's integers
            one; the last one where there is none of that index,
            ``("sum_rows", table, begin, end)``, the sum of rows of a table from one integer up to
            another, or with ``list``, an input of elements, as the last operand, of the rows that
            these elements of it name,
            ``("integer", value, dtype)``, an input, an index, a condition or another value as an
            integer of one of :data:`INTEGERS`, exact, which wraps around: numbers are truncated,
            ``("float", integer)``, an integer rounded to float32,
            ``("shl", integer, integer)`` and ``("shr", ...)``, shifts by less than the bits,
            ``("floordiv", integer, integer)`` and ``("mod", ...)``, as Python has them,
            ``("select", condition, value, value)``, ``("not", condition or integer)``, and those of
            :data:`COMPARISONS`, :data:`LOGIC`, :data:`SUMS`, and :mod:`.mlir`'s ``UNARY`` and
            ``BINARY``. Operands have one type, as the result does: a number, a condition or an
            integer of 32 or 64 bits; constants have that of the others.
        outputs: in the order of :data:`OUTPUT_KINDS`.
        groups: B where it is known and there are group columns or group sums; None: any.
        expected_rows: where M is not known, one that the schedule is chosen for; None: a usual one.
    """

    length: int
    rows: int | None
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    groups: int | None = None
    expected_rows: int | None = None

    @property
    def has_groups(self) -> bool:
        """Whether the rows are groups."""
        return any(one.dims.tells_groups for one in (*self.inputs, *self.outputs))

    @property
    def has_row_sums(self) -> bool:
        """Whether something is summed, or its largest taken, over the row."""
        return any(node[0] in SUMS for node in self.nodes)

    @property
    def is_elementwise(self) -> bool:
        """Whether outputs follow from inputs element by element, so that rows may end anywhere."""
        tensors = (*self.inputs, *self.outputs)
        return all(one.kind == "row" and not one.parts for one in tensors) and all(
            one.block == 1 for one in self.outputs) and all(
            node[0] not in (*SUMS, "index", "place", "random", "block_max") for node in self.nodes)

    def _parts(self) -> list[tuple[int, ...]]:
        """The layouts that must be dimensions of row blocks."""
        return [*(part for one in (*self.inputs, *self.outputs) for part in one.parts),
                *(node[1:] for node in self.nodes if node[0] == "place")]

    def group_size(self) -> int | None:
        """The elements of a group of rows, where that is known."""
        if self.rows is None or not self.groups:
            return None
        return self.rows // self.groups * self.length

    def row_dims(self) -> list[tuple[str, int, int | None]]:
        """The row dimensions of its domain, outermost first: of each its name, the elements of a
        row block from one index to the next, and its size where that is known. A ValueError if
        parts and groups of rows do not go together, or parts among each other."""
        parts, group = self._parts(), self.group_size()
        has_row_parts = any(part[0] * part[1] > self.length for part in parts)
        if self.has_groups and not has_row_parts and cut(self.length, parts):
            count = None if group is None else group // self.length
            return [("b", group or self.length, self.groups), ("t", self.length, count)]
        if self.has_groups:
            parts += [(group or 0, self.groups or 0)]
        cuts = cut(self.length, parts) if all(part[0] for part in parts) else None
        if cuts and self.rows is not None and self.rows > 1 and (
                cuts[-1] == self.rows * self.length):
            del cuts[-1]
        if cuts is None:
            found = dict.fromkeys("x".join(str(part[1]) for part in one.parts)
                                  for one in (*self.inputs, *self.outputs) if one.parts)
            raise ValueError(f"expected parts of row blocks that are dimensions of {self.length} "
                             f"columns, and of rows in a known number of groups if in any, got "
                             f"parts of {', '.join(found)}")
        outer = [d for d in cuts if d >= self.length]
        sizes = [after // d for d, after in itertools.pairwise(outer)]
        sizes.append(None if self.rows is None  # type: ignore[arg-type]
                     else self.rows * self.length // outer[-1])
        names = ["m"] if len(outer) == 1 else [f"m{i}" for i in range(len(outer))]
        return list(zip(names, reversed(outer), reversed(sizes), strict=True))

    def column_dims(self) -> list[tuple[str, int, int | None]]:
        """The column dimensions, as :meth:`row_dims` gives the others."""
        parts = self._parts()
        parts += [(o.block, self.length // o.block) for o in self.outputs if o.block > 1]
        cuts = cut(self.length, parts) or [1, self.length]
        inner = [d for d in cuts if d <= self.length]
        pairs = [(d, after // d) for d, after in itertools.pairwise(inner)]
        if not pairs:
            pairs = [(1, 1)]  # Rows of one element.
        names = ["n"] if len(pairs) == 1 else [f"n{i}" for i in range(len(pairs))]
        return [(name, d, size) for name, (d, size) in zip(names, reversed(pairs), strict=True)]

    def text(self) -> str:
        """The program as a line of JSON, which :meth:`from_text` reads."""
        groups = {"groups": self.groups} if self.has_groups else {}
        if self.rows is None and self.expected_rows is not None:
            groups["expected_rows"] = self.expected_rows
        return json.dumps({
            "format": _FORMAT, "length": self.length, "rows": self.rows, **groups,
            "inputs": [[i.kind, i.dtype, *i.parts] + [i.rows] * (i.kind in TABLES)
                       for i in self.inputs],
            "nodes": [list(node) for node in self.nodes],
            "outputs": [[o.kind, o.dtype, o.value, *[o.block] * (o.block > 1 or bool(o.parts)),
                         *o.parts] for o in self.outputs]}, separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> RowProgram:
        """Reads the output of :meth:`text`; a ValueError for another text."""
        try:
            fields = json.loads(text)
            if fields["format"] != _FORMAT:
                raise ValueError(f"expected the format {_FORMAT!r}, got {fields['format']!r}")
            return RowProgram(
                fields["length"], fields["rows"],
                tuple(Input(kind, dtype, (), *rest) if kind in TABLES else
                      Input(kind, dtype, tuple(map(tuple, rest)))
                      for kind, dtype, *rest in fields["inputs"]),
                tuple(tuple(node) for node in fields["nodes"]),
                tuple(Output(*o[:4], *[tuple(map(tuple, o[4:]))] * (len(o) > 4))
                      for o in fields["outputs"]),
                fields.get("groups"), fields.get("expected_rows"))
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"expected a row program, got {text[:80]!r}: {error}") from error

    def name(self) -> str:
        """The name of the kernel: its kind of program, and a few digits."""
        kind = "sums" if self.has_row_sums else "map"
        if any(o.kind in SUM_KINDS for o in self.outputs):
            kind += "_columns"
        if self.has_groups:
            kind += "_groups"
        digits = hashlib.sha256(self.text().encode()).hexdigest()[:8]
        return f"rows{self.length}_{kind}_{digits}"

    def is_row(self, of_blocks: bool = True) -> list[bool]:
        """For each node, whether it is a row (or a column, which has as many elements), not one
        number; without ``of_blocks``, nor one for each block of a row."""
        result: list[bool] = []
        for node in self.nodes:
            if node[0] == "input":
                result.append(self.inputs[node[1]].is_row(self.length))
            elif node[0] in ("index", "random", "sum_rows"):
                result.append(True)
            elif node[0] == "place":
                result.append(node[1] < self.length)
            elif node[0] == "take":
                result.append(self._table(node).kind == "table" or result[node[2]])
            elif node[0] == "constant" or node[0] in SUMS or (
                    node[0] == "block_max" and not of_blocks):
                result.append(False)
            else:
                result.append(any(result[operand] for operand in operands_of(node)))
        return result

    def statistics(self) -> list[int]:
        """The row scalars that follow from sums over the row and that rows are computed with, as a
        mean or a reciprocal root: the values that the gradient of a named operation saves. To keep
        them costs a number for each row, to compute them again a pass over the row."""
        rows, types = self.is_row(), self.types()
        follows = [False] * len(self.nodes)
        for index, node in enumerate(self.nodes):
            follows[index] = not rows[index] and (
                node[0] in SUMS or any(follows[operand] for operand in operands_of(node)))
        used = {operand for index, node in enumerate(self.nodes) if rows[index]
                for operand in operands_of(node)}
        # The gradient of a logarithm divides by what it was taken of.
        used |= {node[1] for index, node in enumerate(self.nodes)
                 if node[0] == "log" and index in used}
        compared = self.compared_maxima()
        return [index for index, node in enumerate(self.nodes)
                if follows[index] and index in used and types[index] == "f32"
                and index not in compared]

    def compared_maxima(self) -> set[int]:
        """The largest elements of rows with which their gradient, or a condition, compares the
        elements: of these, computed again and rounded in another way, a saved one may be none."""
        maxima = dict[int, bool]()  # Of each, whether its gradient is not asked for.
        compared = set[int]()
        for index, node in enumerate(self.nodes):
            if node[0] == "row_max" or (node[0] in ("neg", "detach") and node[1] in maxima):
                maxima[index] = node[0] == "detach" or maxima.get(node[1], False)
            elif node[0] in COMPARISONS and not any(
                    self.nodes[operand][0] == "index" for operand in operands_of(node)):
                compared.update(operands_of(node))
        return {index for index, is_constant in maxima.items()
                if not is_constant or index in compared}

    def with_outputs(self, places: Iterable[int]) -> RowProgram:
        """The program with some of its outputs alone, and the nodes that these need."""
        builder = Builder(self.length)
        builder.nodes = list(self.nodes)
        return builder.finish(self.rows, self.inputs, [self.outputs[place] for place in places],
                              self.groups)

    def without_unused_inputs(self) -> tuple[RowProgram, list[int]]:
        """The program without inputs that it does not read, and the places of the others."""
        read = sorted({node[1] for node in self.nodes if node[0] == "input"})
        places = {old: new for new, old in enumerate(read)}
        nodes = tuple(("input", places[node[1]]) if node[0] == "input" else node
                      for node in self.nodes)
        return dataclasses.replace(self, inputs=tuple(self.inputs[place] for place in read),
                                   nodes=nodes), read

    def types(self) -> list[str]:
        """The type of each node: "f32", a condition, "i1", or an integer, "i32" or "i64". A
        constant is "f32", however it is used. A ValueError if operands differ in type."""
        result: list[str] = []
        for index, (name, *operands) in enumerate(self.nodes):
            if name == "input":
                found = "i1" if self.inputs[operands[0]].dtype == "i8" else "f32"
            elif name == "integer":
                found = INTEGERS[operands[1]]
            elif name == "take":
                dtype = self._table(("take", *operands)).dtype
                found = "i1" if dtype == "i8" else INTEGERS.get(dtype, "f32")
            elif name in COMPARISONS:
                self.type_of(index, operands, result)
                found = "i1"
            elif name in _OF_INTEGERS:
                found = self.type_of(index, operands[name == "select":], result)
            else:
                found = "f32"
            result.append(found)
        return result

    def _table(self, node: Node) -> Input:
        """The table of a node "take"."""
        return self.inputs[self.nodes[node[1]][1]]

    def type_of(self, index: int, operands: Sequence[int], types: Sequence[str]) -> str:
        """The type of a node's operands, from the types of the nodes before it."""
        found = sorted({types[operand] for operand in operands
                        if self.nodes[operand][0] != "constant"})
        if len(found) > 1:
            raise ValueError(f"expected operands of one type for node {index}, "
                             f"{self.nodes[index][0]!r}, got {' and '.join(found)}; convert one "
                             "by 'integer' or 'float'")
        return found[0] if found else "f32"


def operands_of(node: Node) -> tuple[int, ...]:
    """The nodes that a node uses, which follow its name."""
    if node[0] in ("input", "constant", "place"):
        return ()
    return node[1:2] if node[0] in ("round", "block_max", "integer") else node[1:]


def count_groups(operands: Sequence[Any], inputs: Sequence[Tensor], rows: int, length: int) -> int:
    """B, the number of groups, for M ``rows`` of ``length`` elements, from the inputs; if only
    outputs have groups, the first dimension of the first row block."""
    for operand, given in zip(operands, inputs, strict=True):
        if operand.dims.tells_groups:
            count = given.numel() // (length if operand.dims.has_columns else 1)
            return count if operand.dims.has_groups else rows // max(count, 1)
    return next(given.shape[0] for operand, given in zip(operands, inputs, strict=True)
                if operand.kind in ("row", "row_block"))


class Builder:
    """Collects the nodes of a row program; equal ones are made once."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def add(self, *node: Any) -> int:
        """The index of a node, which is made if there is none like it."""
        # 0.0 and -0.0 are equal, and so are 1 and 1.0, but they are not the same constant.
        is_float = node[0] == "constant" and isinstance(node[1], float)
        key = ("constant", struct.pack("<d", node[1])) if is_float else node
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]

    def constant(self, number: float) -> int:
        """A number, rounded to float32 when it is used."""
        return self.add("constant", float(number))

    def integer(self, number: int) -> int:
        """An integer, of the type of the operands beside it."""
        return self.add("constant", int(number))

    def number(self, value: int) -> float | None:
        """The number that a node is, or None if it is no constant."""
        return self.nodes[value][1] if self.nodes[value][0] == "constant" else None

    def power(self, base: int, exponent: float) -> int:
        """``base`` to a constant power."""
        size = abs(exponent)
        if size == 0.5:
            return self.add("rsqrt" if exponent < 0 else "sqrt", base)
        if size not in (0, 1, 2, 3, 4):
            return self.add("pow", base, self.constant(exponent))
        if size == 0:
            return self.constant(1)
        result = base
        if size >= 2:
            result = square = self.add("mul", base, base)
            if size == 3:
                result = self.add("mul", square, base)
            elif size == 4:
                result = self.add("mul", square, square)
        return result if exponent > 0 else self.add("div", self.constant(1), result)

    def sign(self, value: int) -> int:
        """0 of 0 and of a NaN, as PyTorch has it."""
        zero = self.constant(0)
        rest = self.add("select", self.add("lt", value, zero), self.constant(-1), zero)
        return self.add("select", self.add("gt", value, zero), self.constant(1), rest)

    def sigmoid(self, value: int) -> int:
        """1 / (1 + exp(-value))."""
        one = self.constant(1)
        return self.add("div", one, self.add("add", one, self.add("exp", self.add("neg", value))))

    def needed(self, values: Iterable[int]) -> set[int]:
        """The nodes that values are computed with, themselves included."""
        return reached(values, lambda index: operands_of(self.nodes[index]))

    def finish(self, rows: int | None, inputs: Sequence[Input],
               outputs: Sequence[Output], groups: int | None = None) -> RowProgram:
        """The program with the nodes that its outputs need."""
        needed = self.needed(output.value for output in outputs)
        places = {index: place for place, index in enumerate(sorted(needed))}
        nodes = []
        for index in sorted(needed):
            node = self.nodes[index]
            used = operands_of(node)
            nodes.append((node[0], *(places[i] for i in used), *node[1 + len(used):]))
        return RowProgram(self.length, rows, tuple(inputs), tuple(nodes), tuple(
            dataclasses.replace(output, value=places[output.value]) for output in outputs),
            groups)
