# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row program is made with of a PyTorch graph's nodes: where their operands lie, and what
handles each operation.

The handlers are in ``convert.py``, which registers them here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any

import torch
from torch.fx import Node

from ..rowprogram import COMPARISONS, CONDITIONS, SUMS, Builder, Input, cut, reached
from .domains import (
    ELEMENTS,
    FLOATS,
    INTEGERS,
    SCALARS,
    SMALL,
    SMALL_SHARE,
    VECTOR,
    Domain,
    is_permuted,
    lies_side_by_side,
    memory_order,
    product,
    repeated_dims,
    same,
)
from .fusion import base_of, is_in_memory, other_users
from .nodes import (
    CONSTANTS,
    NUMBERS,
    ROW_SUMS,
    STORED,
    VIEWS,
    is_constant,
    memory_of,
    sources,
    stored,
)

aten, prims = torch.ops.aten, torch.ops.prims

_Handler = Callable[["Conversion", Node], Any]


class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has what a node computes, whatever it computes it of."""


def is_possible(function: Callable[..., object], *arguments: Any) -> bool:
    """Whether a function does not raise :class:`Unsupported`."""
    try:
        function(*arguments)
    except Unsupported:
        return False
    return True


TABLES = {aten.embedding.default}
"""Operations that take rows of a table."""

_SCATTERS = {aten.slice_scatter.default, aten.select_scatter.default}

WINDOWS = {*_SCATTERS, aten.cat.default, aten.constant_pad_nd.default}
"""Operations that put tensors at some of the indices of a row block."""

POWERS = "lnbwd_powers"
"""Under this name nodes keep what :mod:`.powers` found that they are."""

LARGEST_EXACT = 2 ** 24
"""Integers are float32 inside. Up to here they are the same, so that one that may be larger can be
compared with one that is not."""

HANDLERS: dict[Any, _Handler] = {}
"""For each operation what makes its value: a number of the program's node, or several."""


def converts(*targets: Any) -> Callable[[_Handler], _Handler]:
    """Has a function be the handler of operations, the only one of each."""
    assert HANDLERS.keys().isdisjoint(targets), targets

    def register(handler: _Handler) -> _Handler:
        HANDLERS.update(dict.fromkeys(targets, handler))
        return handler

    return register


_Index = tuple[tuple[int | None, int], ...]
"""See :attr:`Conversion.at`."""


class Conversion:
    """Makes the nodes of one row program.

    Attributes:
        builder: what has been made.
        values: for each converted node, its value; for a variance with its mean, both.
        inputs: the nodes that are read, each with its :class:`Input`, and their values.
        masks: the values that are inputs and conditions.
        magnitudes: of each node that :mod:`.powers` marked, the value that it is computed of.
        inverses: for some powers of two, their reciprocals.
        over: the row block that the operands of the node at hand are spread over.
        at: the indices at which the values of the operands of the node at hand are taken, one for
            each of its dimensions: a dimension of ``over``, and by how much the index is larger;
            None as the dimension: it is that number. Of several, outermost first, the others are
            digits of the index. None: all are spread over ``over``.
        is_trial: whether ``values`` stands for what would be read as well.
        rounded: the nodes whose values are rounded to their types.
    """

    def __init__(self, domain: Domain, is_trial: bool = False,
                 rounded: Container[Node] = ()) -> None:
        self.domain = domain
        self.builder = Builder(domain.length)
        self.values: dict[Node, Any] = {}
        self.inputs: dict[tuple[Node, Input], int] = {}
        self.masks: set[int] = set()
        self.magnitudes: dict[Node, int] = {}
        self.inverses: dict[int, int] = {}
        self.over: torch.Tensor | None = None
        self.at: list[_Index] | None = None
        self.is_trial = is_trial
        self.rounded = rounded

    def read(self, node: Node) -> int:
        """A node from outside, as an input."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            raise Unsupported("computes with the number of rows")
        role = self.domain.role(value)
        place = None
        if isinstance(value, torch.Tensor) and (
                over := self.over if self.over is not None else apart(node, self.domain)
        ) is not None:
            place = self.domain.place(stored(node), over, is_in_reach=_is_in_reach(node))
        elif role == "scalar" and repeated_dims(value):  # type: ignore[arg-type]
            place = self.shared_scalar(node)
        elif role is not None:
            known = ELEMENTS if role == "row" else SCALARS
            place = Input(role, known.get(value.dtype, ""))  # type: ignore[union-attr]
            if role == "group_column" and self.domain.is_static and _is_in_reach(node):
                place = self._apart_column(value) or place  # type: ignore[arg-type]
        return self.read_as(node, place)

    def _apart_column(self, value: torch.Tensor) -> Input | None:
        """Where group columns lie that are read there; None of those that lie side by side, and of
        those that are copied."""
        groups, rows, length = self.domain.groups, self.domain.rows, self.domain.length
        with value.fake_mode:  # type: ignore[attr-defined]
            column = value.squeeze()
            if column.shape != (groups, length):
                return None
            assert isinstance(groups, int) and isinstance(rows, int)
            block = torch.empty((groups, rows // groups, length))
            place = self.domain.place(column.unsqueeze(1), block)
        return place if place is not None and place.is_strided else None

    def read_as(self, node: Node, place: Input | None) -> int:
        """A node from outside, as an input that is spread over a row block as ``place`` says."""
        value = stored(node)
        if place is None:
            raise Unsupported(f"reads {describe(value)}, which is neither a row block, a row "
                              f"scalar, a column nor a part of {self.domain}")
        if place.kind == "lead" and not place.parts:
            raise Unsupported("reads a number for each part of a row")
        if value.dtype not in (ELEMENTS if place.kind == "row" else SMALL) and not (
                self.domain.role(value) == "scalar" and value.dtype in INTEGERS):
            raise Unsupported(f"reads a {place.kind} of {value.dtype}")
        # The operator copies what is not dense, which of group columns is little.
        if place.kind != "group_column" and not (
                _is_in_reach(node) if place.is_strided else is_readable(value, place.kind)
                or is_copied(value, place, self.over)):
            raise Unsupported("reads a tensor whose rows are not dense")
        # (Of the other inputs not all are used in the end.)
        of_groups = any(i.kind in ("group_column", "group_scalar")
                        for i in (place, *(i for _, i in self.inputs)))
        if cut(self.domain.length, place.parts) is None or (
                of_groups and _has_rows(place.parts, self.domain) and not self.domain.is_static):
            raise Unsupported(f"reads {describe(value)}, which is no part of rows that have the "
                              f"other parts")
        return self.input(node, place)

    def shared_scalar(self, node: Node) -> Input:
        """Where numbers of rows lie that samples share."""
        value = node.meta["val"]
        is_column = self.domain.length != 1 and same(value.shape[-1], 1)
        column = value if is_column else value.unsqueeze(-1)
        with value.fake_mode:
            block = torch.empty((*column.shape[:-1], self.domain.length))
        place = self.domain.place(column, block)
        if place is None or self.domain.repeated(place).kind != "repeated_scalar":
            raise Unsupported(f"spreads {node.name} in its own way")
        return place

    def input(self, node: Node, place: Input) -> int:
        """The value of an input that is read as ``place`` says."""
        if (node, place) in self.inputs:
            return self.inputs[node, place]
        # Two views that lie as one are one.
        found = memory_of(node) if place.is_strided else None
        for (other, other_place), value in self.inputs.items() if found else ():
            if other_place == place and memory_of(other) == found and (
                    (STORED in other.meta) == (STORED in node.meta)):
                return value
        result = self.builder.add("input", len(self.inputs))
        if place.dtype == "i8":
            self.masks.add(result)
        self.inputs[node, place] = result
        return result

    def value(self, argument: Any) -> int:
        """The value of a node's argument."""
        if isinstance(argument, (int, float)):
            return self.builder.constant(argument)
        if not isinstance(argument, Node):
            raise Unsupported(f"has the argument {argument}")
        if is_constant(argument):
            return self.builder.constant(
                argument.args[CONSTANTS[argument.target]])  # type: ignore[arg-type, index]
        if self.at is not None:
            return self._value_at(argument, self.at)
        if argument not in self.values:
            # What is small is computed where it is used, and not in a kernel of its own.
            if self.over is not None and not self.is_trial and is_spread_late(
                    argument, self.over):
                inputs = dict(self.inputs)
                try:
                    return self.moved(argument, {})
                except Unsupported:  # What it is computed of is no operand of a program.
                    self.inputs = inputs
            return self.read(argument)
        if not self.is_trial and self.over is not None and is_misplaced(
                argument, self.over, self.domain):
            if len(other_users(base_of(argument))) > 1:
                raise Unsupported(f"spreads {argument.name} in its own way")
            return self.moved(argument, {})
        return int(self.values[argument])

    def own(self) -> list[_Index]:
        """The indices of the node at hand."""
        assert self.over is not None
        return self.at if self.at is not None else [((dim, 0),) for dim in range(self.over.dim())]

    def moved(self, node: Node, moves: Mapping[int, int], missing: int | None = None) -> int:
        """The value of a node at other indices of the node at hand, larger by so much; it may not
        have one of the dimensions."""
        return self._value_at(node, [self._plus(index, moves.get(dim, 0)) for dim, index in
                                     enumerate(self.own()) if dim != missing])

    def _plus(self, index: _Index, more: int) -> _Index:
        """An index that is larger by some number."""
        (dim, by), *digits = index
        count = self._count(digits)
        if more % count:
            raise Unsupported("takes a part of what is joined to one dimension")
        return ((dim, by + more // count), *digits)

    def _value_at(self, node: Node, indices: list[_Index]) -> int:
        """The value of a node at indices of the row block at hand, of which it may have only the
        last: computed anew of what it is computed of, or read there."""
        value, over = node.meta["val"], self.over
        assert over is not None
        own = indices[len(indices) - value.dim():]
        dims = [index[0][0] for index in own if index[0][0] is not None]
        missing = [dim for dim in range(over.dim()) if dim not in dims]
        if node in self.values and len(dims) == value.dim() and all(
                same(size, 1) or (len(index) == 1 and index[0][1] == 0)
                for index, size in zip(own, value.shape, strict=True)
        ) and not is_misplaced(node, over.permute(missing + dims), self.domain):
            return int(self.values[node])
        if not (is_movable(node, self.values) or is_spread_late(node, over)):
            base = base_of(node)
            # A kernel in front makes what is small.
            is_made = SMALL_SHARE * value.numel() > over.numel() and (
                base in self.values or is_movable(base, self.values))
            if node.target is not aten.expand.default and not (
                    is_made and node.target in INDEX_VIEWS - {aten.slice.Tensor}):
                found = memory_of(node)
                if node in self.values and (found is None or found[0] in self.values):
                    raise Unsupported(f"takes {node.name} at other indices")
                return self._read_at(node, own)
        before = self.at, self.over
        self.at = own
        try:
            return self._make_at(node, own)
        finally:
            self.at, self.over = before

    def _make_at(self, node: Node, own: list[_Index]) -> int:
        """What :meth:`_value_at` computes anew."""
        b = self.builder
        arguments: Any = (*node.args, 0, 0)
        source, dims, start = arguments[:3]
        if node.target is NUMBERS:
            [[(dim, by), *digits]] = own if source != 1 else [[(None, 0)]]
            if digits:
                raise Unsupported("gives numbers of several dimensions")
            options: Any = {"start": 0, "step": 1, **node.kwargs}
            first, step = options["start"], options["step"]
            # Sums of as many as are computed in place are exact, too.
            if (abs(first) + abs(step) * source) * _MOST_LATE > LARGEST_EXACT:
                raise Unsupported("gives numbers that float32 does not have")
            first = b.constant(first + by * step)
            return first if dim is None else b.add(
                "add", self.multiply(self.index(dim), step), first)
        if node.target is aten.permute.default:
            self.at = [own[dims.index(dim - len(own) * (dim not in dims))]
                       for dim in range(len(own))]
        elif node.target is aten.slice.Tensor:
            is_one = same(node.meta["val"].shape[dims], 1)
            self.at = [*own]
            self.at[dims] = self._plus(((None, 0),) if is_one else own[dims],
                                       from_begin(source, dims, start))
        elif node.target in INDEX_VIEWS and node.target is not aten.expand.default:
            self.at = self._through_view(node, own)
        elif node.target not in (aten.expand.default, aten.clone.default, aten.index.Tensor):
            return int(self.make(node))
        return self.value(source)

    def _count(self, digits: Iterable[tuple[int | None, int]]) -> int:
        """How many numbers the last digits of an index have."""
        assert self.over is not None
        return math.prod(int(self.over.shape[dim]) for dim, _ in digits if dim is not None)

    def first_digit(self, dim: int) -> tuple[int, int]:
        """The first digit of an index of the node at hand, and what it counts."""
        (over, by), *digits = self.own()[dim]
        first = self.builder.constant(by)
        if over is not None:
            first = self.builder.add("add", self.index(over), first) if by else self.index(over)
        return first, self._count(digits)

    def _digits(self, own: list[_Index], shape: Iterable[Any]) -> list[list[Any]]:
        """Of the indices of a tensor the digits, each with how many numbers it has."""
        return [[(size // self._count(index[1:]) if place == 0 else self._count([digit]), *digit)
                 for place, digit in enumerate(index)]
                for index, size in zip(own, shape, strict=True)]

    def _through_view(self, node: Node, own: list[_Index]) -> list[_Index]:
        """The indices of what a node is a view of in another shape. Where that splits dimensions,
        those of the row block at hand are split; what it joins are digits, or joined as well."""
        source: Any = node.args[0]
        assert self.over is not None
        dims: list[Any] = list(zip(self.over.shape, self.over.stride(), strict=True))
        left = [digit for digits in self._digits(own, node.meta["val"].shape)
                for digit in digits if not same(digit[0], 1)]
        result: list[_Index] = []
        for size in source.meta["val"].shape:
            found: list[Any] = []
            while not same(size, 1):
                whole, dim, by = left.pop(0) if left else (1, None, 0)
                if same(whole, size) and not found:
                    found.append((dim, by))
                    break
                if dim is None or not all(isinstance(n, int) for n in (size, whole, *dims[dim])):
                    raise Unsupported(f"takes {node.name} at other indices")
                count, stride = dims[dim]
                inner = max(1, whole // size)
                if max(size, whole) % min(size, whole) or by % inner or count % inner:
                    raise Unsupported(f"takes {node.name} at other indices")
                if inner > 1:
                    dims[dim] = (count // inner, stride * inner)
                    dims.append((inner, stride))
                    left.insert(0, (inner, len(dims) - 1, 0))
                    whole, by = size, by // inner
                elif found and by == 0 and count == whole and dims[found[-1][0]][1] == (
                        stride * count):
                    outer, before = found.pop()
                    dims[dim], dims[outer] = (dims[outer][0] * count, stride), (1, stride)
                    by = before * count
                elif found and count != whole:
                    raise Unsupported(f"takes a part of what {node.name} joins")
                found.append((dim, by))
                size //= whole
            result.append(tuple(found) or ((None, 0),))
        with self.over.fake_mode:  # type: ignore[attr-defined]
            self.over = self.over.as_strided([size for size, _ in dims], [step for _, step in dims])
        return result

    def _read_at(self, node: Node, own: list[_Index]) -> int:
        """The value of a node from outside at indices of the row block at hand."""
        value, over = stored(node), self.over
        assert over is not None
        view, moves = self._view_at(value, own)
        place = self.domain.place(view, over, moves)
        with value.fake_mode:
            copy = torch.empty_like(value, memory_format=torch.contiguous_format)
        if place is not None and place.kind != "row" and not place.is_strided and (
                not lies_side_by_side(self._view_at(copy, own)[0], over)):
            # What is no row block may be copied, in the order of its dimensions.
            place = self.domain.strided_place(view, over, moves)
        return self.read_as(node, place)

    def _view_at(self, value: torch.Tensor,
                 own: list[_Index]) -> tuple[torch.Tensor, dict[int, int]]:
        """A tensor at indices of the row block at hand, as one with the dimensions of that, and by
        how much its indices are larger."""
        assert self.over is not None
        sizes, strides = [1] * self.over.dim(), [0] * self.over.dim()
        moves = {}
        for digits, size, stride in zip(self._digits(own, value.shape), value.shape,
                                        value.stride(), strict=True):
            for count, dim, by in () if same(size, 1) else reversed(digits):
                if by and (dim is None or same(self.over.shape[dim], 1)):
                    raise Unsupported(f"reads {describe(value)} at other indices")
                if dim is not None:
                    sizes[dim], strides[dim], moves[dim] = count, stride, by
                stride = stride * count
        with value.fake_mode:  # type: ignore[attr-defined]
            return value.as_strided(sizes, strides), moves

    def index(self, dim: int) -> int:
        """The index along a dimension of the row block at hand."""
        assert self.over is not None
        size = self.over.shape[dim]
        distance: Any = 1
        for other in reversed(memory_order(self.over) or range(self.over.dim())):
            if other == dim:
                break
            distance = distance * self.over.shape[other]
        if not isinstance(size, int) or not isinstance(distance, int):
            raise Unsupported("has a dimension of unknown size")
        if distance < self.domain.length < distance * size:
            raise Unsupported("has a dimension of rows and of columns")
        return self.builder.add("place", distance, size)

    def is_condition(self, value: int) -> bool:
        """Whether a value is a condition, not a number."""
        return value in self.masks or self.builder.nodes[value][0] in CONDITIONS

    def number(self, argument: Any) -> int:
        """The value of a node's argument as a number: 1 and 0 for booleans."""
        value = self.value(argument)
        if not self.is_condition(value):
            return value
        return self.builder.add("select", value, self.builder.constant(1),
                                self.builder.constant(0))

    def condition(self, argument: Any) -> int:
        """The value of a node's argument as a condition: of a number, whether it is not 0."""
        value = self.value(argument)
        if self.is_condition(value):
            return value
        return self.builder.add("ne", value, self.builder.constant(0))

    def follows_from_sum(self, value: int) -> bool:
        """Whether a value is computed of a sum over the row, or of its largest element."""
        return any(self.builder.nodes[other][0] in SUMS for other in self.builder.needed([value]))

    def convert(self, node: Node) -> None:
        """Makes the value of a node, all of whose operands are converted or come from outside.

        Raises:
            Unsupported: the node cannot be part of a row program.
        """
        if node.op != "call_function":
            raise Unsupported(f"is a {node.op}")
        self.over = spread_over(node, self.domain)
        self.values[node] = self.make(node)

    def make(self, node: Node) -> Any:
        """The value of a node, made of those of its operands."""
        if is_power(node, self.domain):
            return HANDLERS[POWERS](self, node)
        if node.target not in HANDLERS:
            raise UnsupportedOperation(f"{node.target} is no operation of row programs")
        value = HANDLERS[node.target](self, node)
        if isinstance(value, int) and self.is_condition(value) != (
                node.meta["val"].dtype == torch.bool):
            raise UnsupportedOperation(f"{node.target} of booleans is no operation of row programs")
        return self.round(value, node.meta["val"].dtype) if node in self.rounded else value

    def round(self, value: int, dtype: torch.dtype) -> int:
        """A value as memory has it in a type."""
        made = self.builder.nodes[value]
        if made[0] == "round" and made[2] == FLOATS[dtype]:
            return value
        return self.builder.add("round", value, FLOATS[dtype])

    def multiply(self, value: int, factor: float) -> int:
        """A value times a constant."""
        return (value if factor == 1
                else self.builder.add("mul", value, self.builder.constant(factor)))

    def mean(self, value: int) -> int:
        """The mean of a row."""
        return self.multiply(self.builder.add("row_sum", value), 1 / self.domain.length)


def is_movable(node: Node, inside: Container[Node] = ()) -> bool:
    """Whether the value of a node can be computed at other indices: it has one value for each, and
    is computed where it is used."""
    if node.op != "call_function" or is_constant(node):
        return False
    if node.target is aten.slice.Tensor:
        return not node.kwargs and _has_indices(node)
    is_one_each = node.target in (aten.clone.default, aten.permute.default, *WINDOWS) or (
        torch.Tag.pointwise in getattr(node.target, "tags", ())
        and node.target in HANDLERS)
    return is_one_each and (node in inside or not is_in_memory(node))


INDEX_VIEWS = {aten.expand.default, aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims,
               aten.reshape.default, aten.view.default, aten.slice.Tensor}
"""Views whose elements are found by the indices of what they are views of."""

_LATE = {
    **dict.fromkeys((
        NUMBERS, aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.where.self,
        aten.neg.default, aten.abs.default, aten.bitwise_and.Tensor, aten.bitwise_or.Tensor,
        aten.bitwise_not.default, aten.logical_and.default, aten.logical_or.default,
        aten.logical_not.default, prims.convert_element_type.default, aten.relu.default,
        aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default,
        *(getattr(getattr(aten, name), kind) for name in COMPARISONS
          for kind in ("Tensor", "Scalar"))), 1),
    **dict.fromkeys((aten.div.Tensor, aten.div.Scalar, aten.reciprocal.default,
                     aten.sqrt.default, aten.rsqrt.default, aten.sigmoid.default), 6)}
"""What may be computed for each element that it is spread over, and about what that costs."""

_MOST_LATE, _MOST_READ_LATE = 16, 3
"""What costs more, or takes more tensors in memory, is computed once, for all who read it."""

LEAST_SPREAD = 16
"""So is what is spread over fewer elements, each."""

DIGIT = "lnbwd_digit"
"""Under this name a node says that it is a digit of integers, which a kernel in front makes."""


def _is_computed_late(node: Node) -> bool:
    """Whether a node is a view, or costs little to compute for each element that it is spread
    over."""
    if node.target is not NUMBERS and _has_indices(node):
        return True
    is_exact = node.target is not aten.mul.Tensor or node.meta["val"].dtype not in INTEGERS
    return node.target in _LATE and is_exact and DIGIT not in node.meta and not is_in_memory(node)


def is_spread_late(node: Node, over: torch.Tensor) -> bool:
    """Whether a node from outside is computed for each element of a row block that it is spread
    over: of indices alone, or it has few of the elements, and a kernel in front would write it."""
    nodes: list[Node] = [node]
    leaves: list[Node] = []
    for one in nodes:
        if not isinstance(one.meta.get("val"), torch.Tensor):
            return False
        if is_constant(one):
            continue
        if _is_computed_late(one):
            nodes += [n for n in one.all_input_nodes if n not in nodes
                      and one.target is not aten.index.Tensor]
        else:
            leaves.append(one)
    cost = sum(_LATE.get(one.target, 0) for one in nodes if one not in leaves)
    whole = over.numel()

    def is_small(one: Node) -> bool:
        count = one.meta["val"].numel()
        return (isinstance(count, int) and isinstance(whole, int)
                and LEAST_SPREAD * count <= whole)

    return (bool(leaves) <= cost <= _MOST_LATE and len(leaves) <= _MOST_READ_LATE
            and (is_small(node) or all(map(is_small, leaves)))
            and all((is_in_memory(leaf) or DIGIT in leaf.meta) and leaf.meta["val"].dtype in SMALL
                    for leaf in leaves))


def _has_indices(node: Node) -> bool:
    """Whether a node gives numbers, or is a view whose indices are those of what it is a view of,
    but for dimensions of one element and where it begins, or takes elements that are all equal."""
    if node.target is aten.slice.Tensor:
        return node.args[4:] in ((), (1,))
    if node.target is aten.index.Tensor:  # A padding that masks nothing.
        return is_constant(node.args[0])  # type: ignore[arg-type]
    if node.target not in INDEX_VIEWS:
        return node.target is NUMBERS
    source: Any = node.args[0]
    before, after = ([n for n in one.meta["val"].shape if not same(n, 1)]
                     for one in (source, node))
    return node.target is aten.expand.default or before == after


def from_begin(node: Node, dim: int, start: Any) -> int:
    """Where a slice of a node begins, counted from the first element."""
    size = node.meta["val"].shape[dim]
    if not isinstance(start, (int, type(None))) or not isinstance(size, int):
        raise Unsupported("takes a slice of unknown size")
    return max(0, (start or 0) + size * ((start or 0) < 0))


def is_copy(node: Node, domain: Domain, inside: Container[Node]) -> bool:
    """Whether a node copies what is in no memory and has no other use, and can be computed in the
    copy's order."""
    if node.target is not aten.clone.default:
        return False
    source: Any = node.args[0]
    over = spread_over(node, domain)
    if over is None or is_in_memory(source):
        return False
    made = reached([source], lambda one: [n for n in sources(one) if n not in inside
                                          and not is_in_memory(n)])
    if any(user is not node and user not in made for one in made for user in one.users):
        return False
    trial = Conversion(domain)
    trial.over = over
    return is_possible(trial.moved, source, {}) and all(
        is_in_memory(node) for node, _ in trial.inputs)


def reads_by_itself(node: Node) -> bool:
    """Whether the operands of a node are not spread over its result."""
    return node.target in WINDOWS or node.target in TABLES


def put_inside(nodes: Collection[Node]) -> set[Node]:
    """Those that are put somewhere by others, and only there: their values are made there."""
    result: set[Node] = set()
    for node in reversed(list(nodes)):
        if node.users and is_movable(node, nodes) and all(
                user in result or (user in nodes and user.target in WINDOWS and not (
                    user.target in _SCATTERS and user.args[0] is node))
                for user in node.users):
            result.add(node)
    return result


def _has_rows(parts: Iterable[tuple[int, ...]], domain: Domain) -> bool:
    """Whether some of these dimensions are of rows."""
    return any(distance * size > domain.length for distance, size, *_ in parts)


def is_power(node: Node, domain: Domain) -> bool:
    """Whether a node is of a power of two for each block of a row."""
    return POWERS in node.meta and domain.role(node.meta["val"]) == "lead"


def spread_over(node: Node, domain: Domain) -> torch.Tensor | None:
    """The row block, or the lead, that a node makes of operands that are spread over it; None where
    it makes something else, or keeps the elements in their order."""
    value = node.meta.get("val")
    is_spread = node.target not in VIEWS or node.target in (aten.expand.default, aten.clone.default)
    if (node.target in ROW_SUMS or node.target in TABLES or not is_spread
            or is_power(node, domain) or domain.role(value) not in ("row", "lead")):
        return None
    return value


def apart(node: Node, domain: Domain) -> torch.Tensor | None:
    """A row block that one whose elements lie apart, or in another order than they are computed in,
    is spread over; None of any other tensor."""
    value: torch.Tensor = node.meta["val"]
    if domain.role(value) != "row":
        return None
    if STORED in node.meta:
        return value
    if is_readable(value, "row") and not repeated_dims(value):
        return None
    with value.fake_mode:  # type: ignore[attr-defined]
        return torch.empty_like(value, memory_format=torch.contiguous_format)


def is_readable(value: torch.Tensor, kind: str | None) -> bool:
    """Whether the elements of a tensor of a kind lie in memory as a kernel reads them; those of an
    expanded one once."""
    for dim in repeated_dims(value):
        value = value.narrow(dim, 0, 1)
    return value.is_contiguous() or (kind == "row" and memory_order(value) is not None)


def is_copied(value: torch.Tensor, place: Input, over: torch.Tensor | None) -> bool:
    """Whether what is spread over a row block, and has few of its elements, lies in memory in
    another order, or apart, and is copied in front of the kernel."""
    if place.kind == "row" or place.is_strided or over is None or (
            is_readable(value, place.kind)):
        return False
    # The copy has the order of its dimensions, which must be that of the rows.
    missing = over.dim() - value.dim()
    repeated = [dim + missing for dim in repeated_dims(value)]
    own = [dim for dim in memory_order(over) or range(over.dim())
           if dim >= missing and dim not in repeated and not same(value.shape[dim - missing], 1)]
    count, whole = product(over.shape[dim] for dim in own), over.numel()
    return (own == sorted(own) and isinstance(count, int) and isinstance(whole, int)
            and SMALL_SHARE * count <= whole)


def _is_in_reach(node: Node) -> bool:
    """Whether a kernel can read a tensor that is strided where it is: in dense memory, from an
    address on that kernels take."""
    found = memory_of(node)
    return found is not None and found[1] * node.meta["val"].element_size() % VECTOR == 0


def is_misplaced(source: Node, over: torch.Tensor, domain: Domain) -> bool:
    """Whether a node that is spread over a row block is not there what its shape says alone: a
    weight of as many channels as there are rows."""
    value = source.meta.get("val")
    # What is repeated there is spread already, in the order of its dimensions.
    if not isinstance(value, torch.Tensor) or (
            value.shape == over.shape and repeated_dims(value) and not is_permuted(over)):
        return False
    place = domain.place(value, over)
    # What is a number for some neighbours by its shape may be spread as one that is repeated.
    return place is None or place.kind != domain.role(value) or (
        place.kind == "lead" and [part[0] * part[1] for part in place.parts] != [domain.length])


def describe(value: Any) -> str:
    """A tensor's type and shape, for a message."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}".replace("torch.", "")
    return type(value).__name__
