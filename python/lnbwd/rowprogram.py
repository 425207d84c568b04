# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs as Python objects: what is computed for one row, before it is MLIR.

A :class:`RowProgram` is a list of operations on float32 values, each a row of N elements or one
number (a *row scalar*), with inputs and outputs in memory. It is what a region of a PyTorch graph
becomes on its way to the compiler, and it can be

- written as a function with one ``lnbwd.rowwise`` (:meth:`RowProgram.mlir`),
- written as a text that another process reads again (:meth:`RowProgram.text`), and
- computed by PyTorch's own operations (:meth:`RowProgram.evaluate`): the reference of the tests,
  and what runs where no kernel can be had.

Values are float32 inside, whatever the types in memory are: inputs are widened where they are read,
outputs rounded once where they are written. ``round`` says where a value is rounded in between.
Masks, row blocks of booleans, are conditions inside.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .operations import ELEMENTS, KINDS, Kind

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Builder", "Input", "Output", "RowProgram"]

_FORMAT = "lnbwd-row-program 1"

UNARY = {"neg": "arith.negf", "abs": "math.absf", "exp": "math.exp", "exp2": "math.exp2",
         "expm1": "math.expm1", "log": "math.log", "log2": "math.log2", "log1p": "math.log1p",
         "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "tanh": "math.tanh", "erf": "math.erf",
         "sin": "math.sin", "cos": "math.cos", "floor": "math.floor", "ceil": "math.ceil",
         "trunc": "math.trunc", "roundeven": "math.roundeven"}
"""Operations on one value, and the operation of MLIR that each is."""

BINARY = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
          "max": "arith.maximumf", "min": "arith.minimumf", "pow": "math.powf"}
"""Operations on two values; ``max`` and ``min`` of a NaN are NaN, and the second value of ``pow``
is a constant."""

COMPARISONS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
"""Comparisons, whose results are conditions, and the predicates of ``arith.cmpf``."""

LOGIC = {"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"}
"""Operations on two conditions."""

CONDITIONS = frozenset((*COMPARISONS, *LOGIC, "not"))
"""What makes a condition."""

SUMS = {"row_sum": "add", "row_max": "maximumf"}
"""What makes a row scalar of a row, and the kind of ``vector.reduction``."""

RANDOM_STEP = 4.6566127342e-10
"""What 31 random bits are multiplied by, as Triton has it."""

_CONTRACTED = ("add", "sub", "mul")

# Functions that have a cheaper form (docs/numerics.md): one whose error is small beside its result,
# and those whose error is small beside 1.
_CHEAP = {"exp", "erf", "tanh", "expm1", "log1p"}
_CHEAP_BESIDE_ONE = _CHEAP - {"exp"}


@dataclasses.dataclass(frozen=True)
class Input:
    """A tensor that is read: ``kind`` is "row" [M, N], "column" [N], "group_column" [B, N], of
    which group b of M / B rows uses row b, "scalar" [M], or what all groups share, "repeated_row"
    [M / B, N] and "repeated_scalar" [M / B], or all rows, "number" [1], or each group,
    "group_scalar" [B]; or a "part", which has some
    of the dimensions of a row block and is repeated along the others; or a "table" of ``rows``
    rows, [V, N], of which the node ``take`` has one. ``dtype`` is "f16", "bf16" or
    "f32", for a row also a float of 8 bits or "i8": a mask, of bytes that are 0 or 1, or for a
    number "i64": a seed, and for a scalar "i32" or "i64": integers, float32 inside.

    ``parts`` are the dimensions of a part, outermost first: of each the number of elements of a row
    block from one index to the next, and its size. GroupNorm's weight of C channels of S elements
    is ``((S, C),)``, whatever the number of channels in a row. Those of a "lead", a number for each
    row and each S neighbours in it, are ``((S, N // S),)``: it has all rows, too. A part whose own
    elements do not lie side by side, or in another order, as permuted heads and slices, has a third
    number for each: its own elements from one index to the next. It begins with its first element,
    and its memory is all up to its last. Two more, a and b, if it has other indices than the row
    block: index i is its index (i + a) mod b, of b."""

    kind: str
    dtype: str
    parts: tuple[tuple[int, ...], ...] = ()
    rows: int = 1

    @property
    def dims(self) -> Kind:
        """The dimensions that it has."""
        return KINDS[KIND_NAMES[self.kind]]

    @property
    def is_strided(self) -> bool:
        """Whether it is a part that does not have its elements side by side, in their order."""
        return any(len(part) > 2 for part in self.parts)

    def is_row(self, length: int) -> bool:
        """Whether it differs along a row of ``length`` elements."""
        if self.parts:
            return any(part[0] < length for part in self.parts)
        return self.dims.has_columns

    def row_length(self, length: int) -> int:
        """The elements that it has for each row of its own; of a part or a table, all."""
        if self.is_strided:
            return 1 + sum(((moved or (0, size))[1] - 1) * stride
                           for _, size, stride, *moved in self.parts)
        if self.parts:  # As many as they say: all, or those of a row.
            return math.prod(part[1] for part in self.parts)
        return length * self.rows if self.dims.has_columns else 1


@dataclasses.dataclass(frozen=True)
class Output:
    """A tensor that is written: ``kind`` is "row" [M, N], "scalar" [M], "column_sum" [N], the
    sum of ``value``, a row, over all rows, or "group_sum" [B, N], the sums over the rows of each of
    B groups; ``dtype`` its type, as that of an input; ``value`` the index of a node, a condition if
    the output is a mask. A "row" may have one number for each ``block`` elements, the first of
    these, [M, N / block]."""

    kind: str
    dtype: str
    value: int
    block: int = 1

    @property
    def dims(self) -> Kind:
        """The dimensions that it has."""
        return KINDS[KIND_NAMES[self.kind]]

    def row_length(self, length: int) -> int:
        """The elements that it has for each row of its own."""
        return length // self.block if self.dims.has_columns else 1


KIND_NAMES = {"row": "row_block", "repeated_row": "repeated_row_block", "column": "column",
              "group_column": "group_column", "scalar": "row_scalar",
              "repeated_scalar": "repeated_row_scalar", "group_scalar": "group_scalar",
              "number": "number", "part": "column", "lead": "row_block", "table": "column",
              "column_sum": "column", "group_sum": "group_column"}
"""What :data:`lnbwd.operations.KINDS` calls the kinds of inputs and outputs."""

INPUT_KINDS = ("row", "repeated_row", "column", "group_column", "scalar", "repeated_scalar",
               "group_scalar", "number", "part", "lead", "table")
"""Kinds of inputs, in the order in which a program has them."""

OUTPUT_KINDS = ("row", "scalar", "column_sum", "group_sum")
"""Kinds of outputs, in the order in which a program has them."""

SUM_KINDS = ("column_sum", "group_sum")
"""Kinds of outputs that sum over rows."""


def cut(length: int, parts: Iterable[Sequence[int]]) -> list[int] | None:
    """The sizes of which the elements of row blocks are made so that rows and ``parts`` are whole
    dimensions: for each dimension, innermost first, the elements from one index to the next, and at
    the end those of one index of the outermost, whose size is not known. None: there are no such
    dimensions."""
    parts = list(parts)
    cuts = sorted({1, length, *(part[0] for part in parts), *(part[0] * part[1] for part in parts)})
    if any(outer % inner for inner, outer in itertools.pairwise(cuts)):
        return None
    return cuts

Node = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class RowProgram:
    """What is computed for each of M rows of N elements.

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
            ``("block_max", value, size)``, for each element the largest of its block of neighbours,
            ``("power_inverse", value)``, the reciprocal of a power of two from 2^-126 to 2^126, of
            a smaller one 2^127,
            ``("take", table, index)``, a row of an input that is a table, by an input of integers
            or a number, exact below 2^24; the last row where there is none of that index,
            ``("select", condition, value, value)``, ``("not", condition)``, and those of
            :data:`UNARY`, :data:`BINARY`, :data:`COMPARISONS`, :data:`LOGIC`, :data:`SUMS`.
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
        return (any(i.dims.tells_groups for i in self.inputs)
                or any(o.dims.tells_groups for o in self.outputs))

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers."""
        return any(node[0] == "random" for node in self.nodes)

    @property
    def has_row_sums(self) -> bool:
        """Whether something is summed, or its largest taken, over the row."""
        return any(node[0] in SUMS for node in self.nodes)

    def _parts(self) -> list[tuple[int, ...]]:
        """What has to be dimensions of row blocks."""
        return [*(part for i in self.inputs for part in i.parts),
                *(node[1:] for node in self.nodes if node[0] == "place")]

    def _group(self) -> int | None:
        """The elements of a group of rows, where that is known."""
        if self.rows is None or not self.groups:
            return None
        return self.rows // self.groups * self.length

    def row_dims(self) -> list[tuple[str, int, int | None]]:
        """The row dimensions of its domain, outermost first: of each its name, the elements of a
        row block from one index to the next, and its size where that is known.

        Raises:
            ValueError: parts and groups of rows do not go together, or parts among each other.
        """
        parts, group = self._parts(), self._group()
        has_row_parts = any(part[0] * part[1] > self.length for part in parts)
        if self.has_groups and not has_row_parts:
            count = None if group is None else group // self.length
            return [("b", group or self.length, self.groups), ("t", self.length, count)]
        if self.has_groups:
            parts += [(group or 0, self.groups or 0)]
        cuts = cut(self.length, parts) if all(part[0] for part in parts) else None
        if cuts and self.rows is not None and self.rows > 1 and (
                cuts[-1] == self.rows * self.length):
            del cuts[-1]
        if cuts is None:
            raise ValueError(f"expected parts of row blocks that are dimensions of {self.length} "
                             f"columns, and of rows in a known number of groups if in any, got "
                             f"{self.inputs}")
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
            "inputs": [[i.kind, i.dtype, *i.parts] + [i.rows] * (i.kind == "table")
                       for i in self.inputs],
            "nodes": [list(node) for node in self.nodes],
            "outputs": [[o.kind, o.dtype, o.value] + [o.block] * (o.block > 1)
                        for o in self.outputs]}, separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> RowProgram:
        """Reads what :meth:`text` wrote.

        Raises:
            ValueError: the text is none of a row program.
        """
        try:
            fields = json.loads(text)
            if fields["format"] != _FORMAT:
                raise ValueError(f"expected the format {_FORMAT!r}, got {fields['format']!r}")
            return RowProgram(
                fields["length"], fields["rows"],
                tuple(Input(kind, dtype, (), *rest) if kind == "table" else
                      Input(kind, dtype, tuple(map(tuple, rest)))
                      for kind, dtype, *rest in fields["inputs"]),
                tuple(tuple(node) for node in fields["nodes"]),
                tuple(Output(*o) for o in fields["outputs"]), fields.get("groups"),
                fields.get("expected_rows"))
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"expected a row program, got {text[:80]!r}: {error}") from error

    def name(self) -> str:
        """The name of the kernel: what it is a program over, and a few digits that tell it from
        others of that kind."""
        kind = "sums" if self.has_row_sums else "map"
        if any(o.kind in SUM_KINDS for o in self.outputs):
            kind += "_columns"
        if self.has_groups:
            kind += "_groups"
        digits = hashlib.sha256(self.text().encode()).hexdigest()[:8]
        return f"rows{self.length}_{kind}_{digits}"

    def is_row(self) -> list[bool]:
        """For each node, whether it is a row (or a column, which has as many elements), not one
        number."""
        result: list[bool] = []
        for node in self.nodes:
            if node[0] == "input":
                result.append(self.inputs[node[1]].is_row(self.length))
            elif node[0] in ("index", "random"):
                result.append(True)
            elif node[0] == "place":
                result.append(node[1] < self.length)
            elif node[0] == "constant" or node[0] in SUMS:
                result.append(False)
            else:
                result.append(any(result[operand] for operand in _operands(node)))
        return result

    def statistics(self) -> list[int]:
        """The row scalars that follow from sums over the row and that rows are computed with: what
        the gradient of a named operation saves, a mean or a reciprocal root. Their values cost a
        number for each row to keep, and a pass over the row to compute again."""
        rows, conditions = self.is_row(), self.is_condition()
        follows = [False] * len(self.nodes)
        for index, node in enumerate(self.nodes):
            follows[index] = not rows[index] and (
                node[0] in SUMS or any(follows[operand] for operand in _operands(node)))
        used = {operand for index, node in enumerate(self.nodes) if rows[index]
                for operand in _operands(node)}
        return [index for index, node in enumerate(self.nodes)
                if follows[index] and index in used and not conditions[index]]

    def with_outputs(self, places: Iterable[int]) -> RowProgram:
        """The program with some of its outputs alone, and the nodes that these need."""
        builder = Builder(self.length)
        builder.nodes = list(self.nodes)
        return builder.finish(self.rows, self.inputs, [self.outputs[place] for place in places],
                              self.groups)

    def without_unused_inputs(self) -> tuple[RowProgram, list[int]]:
        """The program without the inputs that it does not read, and the places of those that are
        left."""
        read = sorted({node[1] for node in self.nodes if node[0] == "input"})
        places = {old: new for new, old in enumerate(read)}
        nodes = tuple(("input", places[node[1]]) if node[0] == "input" else node
                      for node in self.nodes)
        return dataclasses.replace(self, inputs=tuple(self.inputs[place] for place in read),
                                   nodes=nodes), read
    def is_condition(self) -> list[bool]:
        """For each node, whether it is a condition, not a number."""
        return [node[0] in CONDITIONS or (node[0] == "input"
                                          and self.inputs[node[1]].dtype == "i8")
                for node in self.nodes]

    def is_cheap(self) -> list[bool]:
        """For each node, whether it is a function of rows whose cheaper form, ``fastmath<afn>``,
        is as good: all that it leads to is rounded to 16 bits.

        That is so if a row block or a row scalar of 16 bits depends on it, none of 32 bits, and no
        condition, unless a ``round`` to 16 bits stands between. Sums over all rows may depend on it
        as well: their error is the same part of the sum of their terms' sizes. erf, tanh, expm1 and
        log1p, or their squares, also have to be added to a number of 1/2 or more, as GELU does:
        beside a result near 0 their error would show.
        """
        needs_all, is_rounded = set[int](), set[int]()
        for output in self.outputs:
            if output.kind != "column_sum":
                (needs_all if output.dtype in ("f32", "i8") else is_rounded).add(output.value)
        conditions = self.is_condition()
        users: dict[int, list[int]] = {}
        for index in reversed(range(len(self.nodes))):
            node = self.nodes[index]
            for operand in _operands(node):
                users.setdefault(operand, []).append(index)
                if node[0] == "round":
                    is_rounded.add(operand)
                elif index in needs_all or conditions[index]:
                    needs_all.add(operand)
                elif index in is_rounded:
                    is_rounded.add(operand)

        def is_beside_one(index: int) -> bool:
            """Whether all that is done with a value is to add a number to it, or to its square."""
            return all(
                (self.nodes[user][0] in ("add", "sub") and any(
                    self.nodes[other][0] == "constant" and abs(self.nodes[other][1]) >= 0.5
                    for other in _operands(self.nodes[user])))
                or (self.nodes[user] == ("mul", index, index) and is_beside_one(user))
                for user in users.get(index, ())) and not any(
                    output.value == index for output in self.outputs)

        return [is_row and node[0] in _CHEAP and index in is_rounded and index not in needs_all
                and (node[0] not in _CHEAP_BESIDE_ONE or is_beside_one(index))
                for index, (node, is_row) in enumerate(zip(self.nodes, self.is_row(),
                                                           strict=True))]

    def mlir(self, is_exact: bool = False) -> str:
        """A function with the program, on memrefs: inputs, then outputs.

        Args:
            is_exact: no function takes its cheaper form: for the source of a gradient, the outputs
                of which may have more digits.
        """
        return _Writer(self, is_exact).write()

    def evaluate(self, inputs: Sequence[Tensor], dtype: Any = None,
                 rounds: bool = True) -> list[Tensor]:
        """What the program gives, computed by PyTorch.

        Args:
            inputs: tensors of M·N, N, B·N and M elements, as :attr:`inputs` has them. Where outputs
                alone are of groups, B is the first dimension of the first row block.
            dtype: the type to compute in (default: float32).
            rounds: whether ``round`` and the outputs' types round.

        Returns:
            The outputs, ``[M, N]``, ``[M]``, ``[N]`` and ``[B, N]``.
        """
        return _evaluate(self, inputs, dtype, rounds)


def _operands(node: Node) -> tuple[int, ...]:
    """The nodes that a node uses."""
    if node[0] in ("input", "constant", "place"):
        return ()
    return node[1:2] if node[0] in ("round", "block_max") else node[1:]


class Builder:
    """Collects the nodes of a row program; equal ones are made once."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def add(self, *node: Any) -> int:
        """The index of a node, which is made if there is none like it."""
        # 0.0 and -0.0 are equal, and so are 1 and 1.0, but they are not the same constant.
        key = ("constant", struct.pack("<d", node[1])) if node[0] == "constant" else node
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]

    def constant(self, number: float) -> int:
        """A number, rounded to float32 when it is used."""
        return self.add("constant", float(number))

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

    def mean(self, row: int) -> int:
        """The mean of a row."""
        return self.add("mul", self.add("row_sum", row), self.constant(1 / self.length))

    def norm_gradient(self, dy: int, x: int, rstd: int, weight: int | None,
                      mean: int | None) -> tuple[int, int]:
        """The gradient of LayerNorm, or without ``mean`` of RMSNorm, with respect to ``x``, and the
        normalised row."""
        xhat = self.add("mul", x if mean is None else self.add("sub", x, mean), rstd)
        wdy = dy if weight is None else self.add("mul", dy, weight)
        inner = self.add("sub", wdy, self.add("mul", xhat, self.mean(self.add("mul", wdy, xhat))))
        if mean is not None:
            inner = self.add("sub", inner, self.mean(wdy))
        return self.add("mul", inner, rstd), xhat

    def needed(self, values: Iterable[int]) -> set[int]:
        """The nodes that values are computed with, themselves included."""
        needed: set[int] = set()
        stack = list(values)
        while stack:
            index = stack.pop()
            if index not in needed:
                needed.add(index)
                stack += _operands(self.nodes[index])
        return needed

    def finish(self, rows: int | None, inputs: Sequence[Input],
               outputs: Sequence[Output], groups: int | None = None) -> RowProgram:
        """The program with the nodes that its outputs need."""
        needed = self.needed(output.value for output in outputs)
        places = {index: place for place, index in enumerate(sorted(needed))}
        nodes = []
        for index in sorted(needed):
            node = self.nodes[index]
            used = _operands(node)
            nodes.append((node[0], *(places[i] for i in used), *node[1 + len(used):]))
        return RowProgram(self.length, rows, tuple(inputs), tuple(nodes), tuple(
            dataclasses.replace(output, value=places[output.value]) for output in outputs),
            groups)


# --------------------------------------------------------------------------------------------------
# MLIR
# --------------------------------------------------------------------------------------------------


def _float(number: float) -> str:
    """A float32 constant as MLIR writes it."""
    with_f32 = struct.unpack("<f", struct.pack("<f", number))[0] if math.isfinite(
        number) and abs(number) < 3.4028235e38 else number
    if math.isfinite(with_f32):
        return f"{with_f32:.9e}"
    bits = struct.unpack("<I", struct.pack("<f", math.nan if math.isnan(number)
                                           else math.copysign(math.inf, number)))[0]
    return f"0x{bits:08X}"


class _Writer:
    """Writes a program as MLIR."""

    def __init__(self, program: RowProgram, is_exact: bool) -> None:
        self.program = program
        self.rows = program.is_row()
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.wide: dict[tuple[int, bool], str] = {}
        self.narrow: dict[tuple[int, str], str] = {}
        self.conditions = program.is_condition()
        self.cheap = [False] * len(program.nodes) if is_exact else program.is_cheap()

    def type(self, element: str, is_row: bool) -> str:
        return f"vector<{self.program.length}x{element}>" if is_row else element

    def argument(self, value: Input) -> str:
        """The type of an input in the region."""
        if value.kind == "table":
            return f"vector<{value.rows}x{self.program.length}x{value.dtype}>"
        return self.type(value.dtype, value.is_row(self.program.length))

    def emit(self, text: str) -> str:
        name = f"%{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def value(self, index: int, is_row: bool) -> str:
        """The name of a node's value; spread over the row if that is wanted."""
        node = self.program.nodes[index]
        if node[0] == "constant":
            key = (index, is_row)
            if key not in self.wide:
                number = _float(node[1])
                type_ = self.type("f32", is_row)
                self.wide[key] = self.emit("arith.constant "
                                           + (f"dense<{number}>" if is_row else number)
                                           + f" : {type_}")
            return self.wide[key]
        if node[0] == "index" and index not in self.names:
            self.names[index] = self.emit(
                f"arith.uitofp {self.column_numbers()} : {self.type('i32', True)} to "
                + self.type("f32", True))
        if is_row and not self.rows[index]:
            key = (index, True)
            if key not in self.wide:
                element = "i1" if self.conditions[index] else "f32"
                self.wide[key] = self.emit(f"vector.broadcast {self.names[index]} : {element} to "
                                           + self.type(element, True))
            return self.wide[key]
        return self.names[index]

    def rounded(self, index: int, dtype: str, is_row: bool) -> str:
        """A node's value in a narrower type, a condition's as bytes."""
        node = self.program.nodes[index]
        if node[0] == "round" and node[2] == dtype:
            index = node[1]
        key = (index, dtype)
        if key not in self.narrow:
            operation, wide = ("extui", "i1") if dtype == "i8" else ("truncf", "f32")
            self.narrow[key] = self.emit(
                f"arith.{operation} {self.value(index, is_row)} : {self.type(wide, is_row)} to "
                + self.type(dtype, is_row))
        return self.narrow[key]

    def column_numbers(self) -> str:
        """The number of each column, as integers."""
        type_ = self.type("i32", True)
        first = len(self.program.row_dims())
        total = ""
        for place, (_, distance, _) in enumerate(self.program.column_dims()):
            index = self.emit(f"lnbwd.index {first + place} : {type_}")
            if distance > 1:
                step = self.emit(f"arith.constant dense<{distance}> : {type_}")
                index = self.emit(f"arith.muli {index}, {step} : {type_}")
            total = self.emit(f"arith.addi {total}, {index} : {type_}") if total else index
        return total

    def place(self, distance: int, size: int) -> str:
        """The index along a part of a row block, as a number."""
        is_row = distance < self.program.length
        type_ = self.type("i32", is_row)
        total = ""
        for dim, (_, step, _) in enumerate([*self.program.row_dims(), *self.program.column_dims()]):
            if not distance <= step < distance * size:
                continue
            index = self.emit(f"lnbwd.index {dim} : {type_}")
            if step > distance:
                factor = step // distance
                factor_ = self.emit(f"arith.constant {f'dense<{factor}>' if is_row else factor} : "
                                    + type_)
                index = self.emit(f"arith.muli {index}, {factor_} : {type_}")
            total = self.emit(f"arith.addi {total}, {index} : {type_}") if total else index
        return self.emit(f"arith.uitofp {total} : {type_} to {self.type('f32', is_row)}")

    def random(self, seed: str) -> str:
        """The numbers that Triton's ``tl.rand`` makes of a seed and the element's number: 31 of the
        bits as an integer, times a number just below 2^-31."""
        program, type_ = self.program, self.type("i32", True)

        def splat(number: int | str, type_: str = type_) -> str:
            return self.emit(f"arith.constant dense<{number}> : {type_}")

        if program.has_groups and not (program.rows and program.groups):
            raise ValueError("expected a known number of rows in a group where numbers are random")
        number = self.column_numbers()
        for dim, (_, distance, _) in enumerate(program.row_dims()):
            row = self.emit(f"lnbwd.index {dim} : i32")
            factor = self.emit(f"arith.constant {distance} : i32")
            first = self.emit(f"arith.muli {row}, {factor} : i32")
            first = self.emit(f"vector.broadcast {first} : i32 to {type_}")
            number = self.emit(f"arith.addi {number}, {first} : {type_}")
        bits = self.emit(f"lnbwd.philox {seed}, {number} : {type_}")
        sign = self.emit(f"arith.shrsi {bits}, {splat(31)} : {type_}")
        bits = self.emit(f"arith.xori {bits}, {sign} : {type_}")
        wide = self.type("f32", True)
        value = self.emit(f"arith.sitofp {bits} : {type_} to {wide}")
        return self.emit(f"arith.mulf {value}, {splat(_float(RANDOM_STEP), wide)} : {wide}")

    def is_column(self, index: int) -> str:
        """Which column has the number that a row scalar is, whatever it is. Integers are compared:
        the numbers of a row's columns as floats would take as many registers as the row does."""
        value = self.value(index, False)
        none, end = (self.emit(f"arith.constant {_float(number)} : f32")
                     for number in (-1, self.program.length))
        value = self.emit(f"arith.maxnumf {value}, {none} : f32")
        value = self.emit(f"arith.minnumf {value}, {end} : f32")
        whole = self.emit(f"math.floor {value} : f32")
        is_whole = self.emit(f"arith.cmpf oeq, {whole}, {value} : f32")
        value = self.emit(f"arith.select {is_whole}, {value}, {none} : f32")
        number = self.emit(f"arith.fptosi {value} : f32 to i32")
        type_ = self.type("i32", True)
        wide = self.emit(f"vector.broadcast {number} : i32 to {type_}")
        return self.emit(f"arith.cmpi eq, {self.column_numbers()}, {wide} : {type_}")

    def node(self, index: int) -> str:
        name, *operands = self.program.nodes[index]
        is_row = self.rows[index]
        type_ = self.type("f32", is_row)
        if name == "input":
            dtype = self.program.inputs[operands[0]].dtype
            if dtype == "f32" or self.program.inputs[operands[0]].kind == "table" or (dtype == "i64"
                                  and self.program.inputs[operands[0]].kind == "number"):
                return f"%in{operands[0]}"  # (Of integers, a seed.)
            if dtype in ("i32", "i64"):
                return self.emit(f"arith.sitofp %in{operands[0]} : {dtype} to f32")
            if dtype == "i8":
                byte = self.type("i8", True)
                zero = self.emit(f"arith.constant dense<0> : {byte}")
                return self.emit(f"arith.cmpi ne, %in{operands[0]}, {zero} : {byte}")
            return self.emit(f"arith.extf %in{operands[0]} : {self.type(dtype, is_row)} to {type_}")
        if name == "take":
            place = self.program.nodes[operands[0]][1]
            table = self.program.inputs[place]
            chosen, *of = self.program.nodes[operands[1]]
            if chosen == "input" and self.program.inputs[of[0]].dtype in ("i32", "i64"):
                number, dtype = f"%in{of[0]}", self.program.inputs[of[0]].dtype
            else:
                number, dtype = self.emit(f"arith.fptosi {self.value(operands[1], False)} "
                                          ": f32 to i32"), "i32"
            row = self.emit(f"lnbwd.gather %in{place}[{number}] : {self.argument(table)}, {dtype}")
            return row if table.dtype == "f32" else self.emit(
                f"arith.extf {row} : {self.type(table.dtype, True)} to {type_}")
        if name == "round":
            value = self.rounded(operands[0], operands[1], is_row)
            return self.emit(f"arith.extf {value} : {self.type(operands[1], is_row)} to {type_}")
        if name in SUMS:
            # Of a number, the sum is N times it.
            value = self.value(operands[0], True)
            return self.emit(f"vector.reduction <{SUMS[name]}>, {value} : "
                             f"{self.type('f32', True)} into f32")
        if name == "block_max":
            return self.emit(f"lnbwd.block_max {operands[1]} {self.value(operands[0], True)} : "
                             + self.type("f32", True))
        if name == "power_inverse":
            bits, value = self.type("i32", is_row), self.value(operands[0], is_row)
            one, mask = (self.emit(f"arith.constant {f'dense<{n}>' if is_row else n} : {bits}")
                         for n in (0x7F000000, 0x7F800000))
            exponent = self.emit(f"arith.bitcast {value} : {type_} to {bits}")
            exponent = self.emit(f"arith.andi {exponent}, {mask} : {bits}")
            exponent = self.emit(f"arith.subi {one}, {exponent} : {bits}")
            return self.emit(f"arith.bitcast {exponent} : {bits} to {type_}")
        if name == "random":
            return self.random(self.names[operands[0]])
        if name == "place":
            return self.place(*operands)
        if name == "eq" and is_row:
            for column, other in (operands, reversed(operands)):
                if self.program.nodes[column][0] == "index" and not self.rows[other]:
                    return self.is_column(other)
        values = [self.value(operand, is_row) for operand in operands]
        if name == "detach":
            # A product with 1, which folds away; an input cannot carry the attribute itself.
            one = self.emit("arith.constant " + ("dense<1.0>" if is_row else "1.0") + f" : {type_}")
            return self.emit(f"arith.mulf {values[0]}, {one} {{lnbwd.detach}} : {type_}")
        if name in UNARY:
            flags = " fastmath<afn>" if self.cheap[index] else ""
            return self.emit(f"{UNARY[name]} {values[0]}{flags} : {type_}")
        if name in BINARY:
            flags = (" fastmath<contract>" if name in _CONTRACTED
                     else " fastmath<arcp>" if name == "div" and is_row else "")
            return self.emit(f"{BINARY[name]} {values[0]}, {values[1]}{flags} : {type_}")
        if name in COMPARISONS:
            return self.emit(f"arith.cmpf {COMPARISONS[name]}, {values[0]}, {values[1]} : {type_}")
        condition = self.type("i1", is_row)
        if name in LOGIC:
            return self.emit(f"{LOGIC[name]} {values[0]}, {values[1]} : {condition}")
        if name == "not":
            true = self.emit("arith.constant " + ("dense<true>" if is_row else "true")
                             + (f" : {condition}" if is_row else ""))
            return self.emit(f"arith.xori {values[0]}, {true} : {condition}")
        assert name == "select", name
        prefix = f"{condition}, " if is_row else ""
        return self.emit(f"arith.select {values[0]}, {values[1]}, {values[2]} : {prefix}{type_}")

    def write(self) -> str:
        program = self.program
        rows, columns = program.row_dims(), program.column_dims()
        sizes = {name: size for name, _, size in (*rows, *columns)}

        def moved(value: Input | Output, name: str) -> list[int]:
            """By how much the indices of an input are others, and how many there are."""
            if not (isinstance(value, Input) and value.is_strided):
                return []
            distance = next(d for n, d, _ in (*rows, *columns) if n == name)
            return next((list(rest) for d, _, _, *rest in value.parts if d == distance and rest),
                        [])

        def at(value: Input | Output, name: str) -> str:
            by = moved(value, name)
            return f"{name} + {by[0] or by[1]}" if by else name

        def dims(value: Input | Output) -> list[str]:
            if isinstance(value, Input) and value.parts:
                return [name for name, distance, _ in (*rows, *columns)
                        if (value.kind == "lead" and distance >= program.length)
                        or any(d <= distance < d * size for d, size, *_ in value.parts)]
            kind = value.dims
            found = [name for name, _, _ in rows] * kind.has_rows
            if program.has_groups:
                group = program._group()
                found = [name for name, distance, _ in rows if (
                    kind.has_groups if name == "b" or (group and name != "t" and distance >= group)
                    else kind.has_rows)]
            if value.kind == "table":
                found = ["*"]
            block = value.block if isinstance(value, Output) else 1
            return found + [name for name, distance, _ in columns
                            if distance >= block] * kind.has_columns

        def memory(value: Input | Output) -> str:
            known = [str(value.rows) if dim == "*" and isinstance(value, Input)
                     else str((moved(value, dim) or (0, sizes[dim]))[1]).replace("None", "?")
                     for dim in dims(value)]
            layout = ""
            if isinstance(value, Input) and value.is_strided:
                strides = [distance // d * stride for _, distance, _ in (*rows, *columns)
                           for d, size, stride, *_ in value.parts if d <= distance < d * size]
                layout = f", strided<[{', '.join(map(str, strides))}]>"
            return f"memref<{'x'.join([*known, value.dtype])}{layout}>"

        def kind(value: Input | Output) -> str:
            """The kind of which a part is one to the compiler, which orders operands by kinds."""
            if not isinstance(value, Input) or not value.parts:
                return value.kind
            if not value.is_row(program.length):
                return "scalar"
            of_rows = any(d * size > program.length for d, size, *_ in value.parts)
            return "row" if of_rows or value.kind == "lead" else "column"

        def operands(values: Sequence[tuple[str, str, Input | Output]],
                     order: tuple[str, ...]) -> str:
            return ", ".join(
                f"{name}[{', '.join(at(v, d) for d in dims(v))}]"
                f"{' add' if wanted in SUM_KINDS else ''} : {type_}"
                for wanted in order for name, type_, v in values if kind(v) == wanted)

        inputs = [(f"%arg{i}", memory(v), v) for i, v in enumerate(program.inputs)]
        outputs = [(f"%out{i}", memory(v), v) for i, v in enumerate(program.outputs)]
        for index in range(len(program.nodes)):
            if program.nodes[index][0] not in ("constant", "index"):
                self.names[index] = self.node(index)
        results, types = [], []
        for output in program.outputs:
            is_row = output.dims.has_columns
            dtype = "f32" if output.kind in SUM_KINDS else output.dtype
            results.append(self.value(output.value, is_row) if dtype == "f32"
                           else self.rounded(output.value, dtype, is_row))
            types.append(self.type(dtype, is_row))

        signature = ", ".join(f"{name}: {type_}" for name, type_, _ in inputs + outputs)
        arguments = ", ".join(
            f"%in{i}: {self.argument(v)}" for wanted in INPUT_KINDS
            for i, v in enumerate(program.inputs) if kind(v) == wanted)
        names = ", ".join(f'"{name[1:]}"' for name, _, _ in inputs + outputs)
        name = program.name()
        return "\n".join([
            f"func.func @{name}({signature}) {{",
            f"  lnbwd.rowwise @{name} domain({', '.join(n for n, _, _ in rows)} | "
            + ", ".join(n for n, _, _ in columns) + ")"
            + (f"\n      ins({ins})" if (ins := operands(inputs, INPUT_KINDS)) else ""),
            f"      outs({operands(outputs, OUTPUT_KINDS)})",
            f"      attributes {{operand_names = [{names}]}} {{",
            f"  ^row({arguments}):",
            *self.lines,
            f"    lnbwd.yield {', '.join(results)} : {', '.join(types)}",
            "  }",
            "  return",
            "}", ""])


# --------------------------------------------------------------------------------------------------
# PyTorch
# --------------------------------------------------------------------------------------------------


def count_groups(operands: Sequence[Any], inputs: Sequence[Tensor], rows: int, length: int) -> int:
    """B of M ``rows`` of ``length`` elements, from what each input is; where outputs alone are of
    groups, it is the first dimension of the first row block."""
    for operand, given in zip(operands, inputs, strict=True):
        if operand.dims.tells_groups:
            count = given.numel() // (length if operand.dims.has_columns else 1)
            return count if operand.dims.has_groups else rows // max(count, 1)
    return next(given.shape[0] for operand, given in zip(operands, inputs, strict=True)
                if operand.kind in ("row", "row_block"))


def _evaluate(program: RowProgram, inputs: Sequence[Tensor], dtype: Any,
              rounds: bool) -> list[Tensor]:
    import torch

    types = {name: getattr(torch, element.torch) for name, element in ELEMENTS.items()}
    wide = dtype or torch.float32
    tensors = [tensor.detach().reshape(-1, program.length) if i.kind == "table" else
               tensor.detach().reshape(-1, i.row_length(program.length)).to(
                   wide if ELEMENTS[i.dtype].use.startswith("float") else types[i.dtype])
               for i, tensor in zip(program.inputs, inputs, strict=True)]
    counts = [t.shape[0] for t, i in zip(tensors, program.inputs, strict=True)
              if i.dims.has_groups and i.dims.has_rows]
    rows = max(counts) if counts else program.rows or 1
    groups = count_groups(
        program.inputs, inputs, rows, program.length) if program.has_groups else 1
    for place, given in enumerate(program.inputs):
        if given.kind == "lead":
            tensors[place] = tensors[place].repeat_interleave(given.parts[0][0], 1)
        elif given.parts:
            step = 1 if given.is_row(program.length) else program.length
            element = torch.arange(0, rows * program.length, step, device=tensors[place].device)
            index = torch.zeros_like(element)
            for distance, size, *stride in given.parts:
                own = element // distance % size
                if len(stride) > 1:
                    own = (own + stride[1]) % stride[2]
                index = index + own * stride[0] if stride else index * size + own
            tensors[place] = tensors[place].reshape(-1)[index].reshape(rows, -1)
        elif given.dims.tells_groups:
            tensors[place] = (tensors[place].repeat(groups, 1) if given.dims.has_rows else
                              tensors[place].repeat_interleave(rows // max(groups, 1), 0))
    functions: dict[str, Any] = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
        "max": torch.maximum, "min": torch.minimum, "and": torch.logical_and,
        "or": torch.logical_or, "xor": torch.logical_xor, "not": torch.logical_not,
        "select": torch.where, "roundeven": torch.round}
    values: list[Tensor] = []
    for name, *operands in program.nodes:
        if name == "input":
            value = tensors[operands[0]]
            if program.inputs[operands[0]].kind == "scalar":
                value = value.to(wide)
        elif name == "constant":
            # Made on the device: a copy from the host would end the capture of a CUDA graph.
            value = torch.full((1, 1), operands[0], dtype=torch.float32,
                               device=tensors[0].device).to(wide)
        elif name == "index":
            value = torch.arange(program.length, device=tensors[0].device).to(wide)[None]
        elif name == "place":
            distance, size = operands
            is_row = distance < program.length
            element = torch.arange(0, *((program.length, 1) if is_row else (
                rows * program.length, program.length)), device=tensors[0].device)
            value = (element // distance % size).to(wide).reshape((1, -1) if is_row else (-1, 1))
        elif name == "take":
            table = values[operands[0]]
            chosen = program.nodes[operands[1]]
            index = (tensors[chosen[1]] if chosen[0] == "input" else values[operands[1]]).long()
            last = table.shape[0] - 1
            value = table[torch.where(index < 0, last, index.clamp(max=last))[:, 0]].to(wide)
        elif name == "random":
            value = _draw(values[operands[0]], rows, program.length).to(wide)
        elif name == "round":
            value = values[operands[0]]
            if rounds:
                value = _narrow(value, types[operands[1]]).to(wide)
        elif name == "detach":
            value = values[operands[0]]
        elif name == "block_max":
            blocks = values[operands[0]].expand(-1, program.length).unflatten(-1, (-1, operands[1]))
            value = blocks.amax(-1, True).expand(blocks.shape).flatten(1)
        elif name == "power_inverse":
            bits = values[operands[0]].float().view(torch.int32)
            value = (0x7F000000 - (bits & 0x7F800000)).view(torch.float32).to(wide)
        elif name in SUMS:
            row = values[operands[0]].expand(-1, program.length)
            value = row.sum(1, True) if name == "row_sum" else row.amax(1, True)
        else:
            function = functions.get(name) or getattr(torch, name)
            value = function(*(values[operand] for operand in operands))
        values.append(value)
    outputs = []
    for output in program.outputs:
        value = values[output.value]
        if output.kind == "column_sum":
            value = value.expand(rows, program.length).sum(0)
        elif output.kind == "group_sum":
            value = value.expand(rows, program.length).reshape(
                groups, rows // max(groups, 1), program.length).sum(1)
        elif output.kind == "row":
            value = value.expand(rows, program.length)[:, ::output.block].contiguous()
        else:
            value = value.expand(rows, 1).reshape(-1)
        outputs.append(_narrow(value, types[output.dtype]) if rounds else value)
    return outputs


def _narrow(value: Tensor, dtype: Any) -> Tensor:
    """A tensor in another type; in float8, what is beyond the largest number becomes that, and of
    powers of two alone only the exponent is kept."""
    import torch

    if dtype == torch.float8_e8m0fnu:
        exponent = value.float().view(torch.int32) >> 23 & 255
        return exponent.to(torch.uint8).view(dtype)
    if dtype.is_floating_point and dtype.itemsize == 1:
        most = torch.finfo(dtype).max
        value = value.clamp(-most, most)
    return value.to(dtype)


def _draw(seed: Tensor, rows: int, length: int) -> Tensor:
    """The random numbers of all elements: of the first word of Philox4x32-10 (Salmon et al.,
    "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    import torch

    def multiply(factor: int, word: Tensor) -> tuple[Tensor, Tensor]:
        """The high and the low half of a product of 32-bit numbers, which 64 bits with a sign do
        not hold."""
        low = (factor & 0xFFFF) * word
        high = (factor >> 16) * word + (low >> 16)
        return high >> 16, (high & 0xFFFF) << 16 | low & 0xFFFF

    element = torch.arange(rows * length, device=seed.device).reshape(rows, length)
    words = [element & 0xFFFFFFFF, *[torch.zeros_like(element)] * 3]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        (high, low), (other_high, other_low) = (
            multiply(0xD2511F53, words[0]), multiply(0xCD9E8D57, words[2]))
        words = [other_high ^ words[1] ^ key[0], other_low, high ^ words[3] ^ key[1], low]
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    bits = words[0].to(torch.int32)
    return (bits ^ bits >> 31).to(torch.float32) * RANDOM_STEP
