# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row program is made with of a PyTorch graph's nodes: where their operands lie, and what
handles each operation.

The handlers are in ``convert.py``, which registers them here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any

import torch
from torch.fx import Node

from ..rowprogram import CONDITIONS, SUMS, Builder, Input, cut
from .domains import (
    ELEMENTS,
    INTEGERS,
    SMALL,
    SMALL_SHARE,
    Domain,
    memory_order,
    product,
    repeated_dims,
    same,
)
from .fusion import is_in_memory
from .nodes import CONSTANTS, ROW_SUMS, VIEWS, is_constant, memory_of

aten = torch.ops.aten

_Handler = Callable[["Conversion", Node], Any]


class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has what a node computes, whatever it computes it of."""


TABLES = {aten.embedding.default}
"""Operations that take rows of a table."""

WINDOWS = {aten.cat.default, aten.slice_scatter.default, aten.constant_pad_nd.default}
"""Operations that put tensors at some of the indices of a row block."""

HANDLERS: dict[Any, _Handler] = {}
"""For each operation what makes its value: a number of the program's node, or several."""


def converts(*targets: Any) -> Callable[[_Handler], _Handler]:
    """Has a function be the handler of operations, the only one of each."""
    assert HANDLERS.keys().isdisjoint(targets), targets

    def register(handler: _Handler) -> _Handler:
        HANDLERS.update(dict.fromkeys(targets, handler))
        return handler

    return register


class Conversion:
    """Makes the nodes of one row program.

    Attributes:
        builder: what has been made.
        values: for each converted node, its value; for a variance with its mean, both.
        inputs: the nodes that are read, each with its :class:`Input`, and their values.
        masks: the values that are inputs and conditions.
        over: the row block that the operands of the node at hand are spread over.
        moves: the dimensions of ``over`` along which operands are taken at other indices, and by
            how much: where something is put among others, or cut out.
        is_trial: whether ``values`` stands for what would be read as well.
    """

    def __init__(self, domain: Domain, is_trial: bool = False) -> None:
        self.domain = domain
        self.builder = Builder(domain.length)
        self.values: dict[Node, Any] = {}
        self.inputs: dict[tuple[Node, Input], int] = {}
        self.masks: set[int] = set()
        self.over: torch.Tensor | None = None
        self.moves: dict[int, int] = {}
        self.is_trial = is_trial

    def read(self, node: Node) -> int:
        """A node from outside, as an input."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            raise Unsupported("computes with the number of rows")
        role = self.domain.role(value)
        place = None
        if isinstance(value, torch.Tensor) and (
                over := self.over if self.over is not None else apart(value, self.domain)
        ) is not None:
            place = self.domain.place(value, over, self.moves)
        elif role == "scalar" and repeated_dims(value):  # type: ignore[arg-type]
            place = self.shared_scalar(node)
        elif role is not None:
            known = ELEMENTS if role == "row" else {**SMALL, **INTEGERS}
            place = Input(role, known.get(value.dtype, ""))  # type: ignore[union-attr]
        if place is None:
            raise Unsupported(f"reads {describe(value)}, which is neither a row block, a row "
                              f"scalar, a column nor a part of {self.domain}")
        if place.kind == "lead" and not place.parts:
            raise Unsupported("reads a number for each part of a row")
        assert isinstance(value, torch.Tensor)
        if value.dtype not in (ELEMENTS if place.kind == "row" else SMALL) and not (
                role == "scalar" and value.dtype in INTEGERS):
            raise Unsupported(f"reads a {place.kind} of {value.dtype}")
        # The operator copies what is not dense, which of group columns is little.
        if place.kind != "group_column" and not (
                _is_in_reach(node) if place.is_strided else is_readable(value, place.kind)
                or is_copied(value, place, self.over)):
            raise Unsupported("reads a tensor whose rows are not dense")
        places = [place, *(i for _, i in self.inputs)]
        parts = [part for i in places for part in i.parts]
        of_groups = any(i.kind in ("group_column", "group_scalar") for i in places)
        if cut(self.domain.length, parts) is None or (
                of_groups and _has_rows(parts, self.domain) and not self.domain.is_static):
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
        result = self.builder.add("input", len(self.inputs))
        if place.dtype == "i8":
            self.masks.add(result)
        elif node.meta["val"].dtype == torch.bool:
            result = self.builder.add("ne", result, self.builder.constant(0))
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
        if self.moves:
            return self._move(argument)
        if argument not in self.values:
            # What is small is computed where it is used, and not in a kernel of its own.
            return (self.moved(argument, {0: 0}) if self._is_small_part(argument)
                    else self.read(argument))
        if not self.is_trial and self.over is not None and is_misplaced(
                argument, self.over, self.domain):
            raise Unsupported(f"spreads {argument.name} in its own way")
        return int(self.values[argument])

    def _is_small_part(self, node: Node) -> bool:
        """Whether a node from outside has few of a row block's elements, in another order, and can
        be computed at each of these."""
        value = node.meta.get("val")
        if self.over is None or not isinstance(value, torch.Tensor) or not is_movable(node):
            return False
        place = self.domain.place(value, self.over)
        return place is not None and place.is_strided and value.numel() < self.over.numel()

    def moved(self, node: Node, moves: Mapping[int, int], over: torch.Tensor | None = None) -> int:
        """The value of a node at other indices of what it is spread over."""
        before = self.moves, self.over
        self.moves = dict(moves)
        self.over = self.over if over is None else over
        try:
            return self.value(node)
        finally:
            self.moves, self.over = before

    def _move(self, node: Node) -> int:
        """The value of a node at the moved indices: computed anew of what it is computed of, or
        read there."""
        value, over = node.meta["val"], self.over
        assert over is not None
        missing = over.dim() - value.dim()
        if node in self.values and all(
                dim < missing or same(value.shape[dim - missing], 1)
                or (by == 0 and same(value.shape[dim - missing], over.shape[dim]))
                for dim, by in self.moves.items()) and not is_misplaced(
                    node, over, self.domain):
            return int(self.values[node])
        if not is_movable(node, self.values):
            found = memory_of(node)
            if node in self.values and (found is None or found[0] in self.values):
                raise Unsupported(f"takes {node.name} at other indices")
            return self.read(node)
        arguments: Any = node.args
        source = arguments[0]
        if node.target is aten.clone.default:
            return self.value(source)
        if node.target is aten.permute.default:
            dims = [d % value.dim() for d in arguments[1]]
            return self.moved(source, {dims[dim]: by for dim, by in self.moves.items()},
                              over.permute([dims.index(d) for d in range(len(dims))]))
        if node.target is aten.slice.Tensor:
            dim = (arguments[1] if len(arguments) > 1 else 0) % value.dim()
            start = arguments[2] if len(arguments) > 2 else 0
            by = self.moves.get(dim + missing, 0) + from_begin(source, dim, start)
            return self.moved(source, {**self.moves, dim + missing: by})
        return int(self.make(node))

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
        if node.target not in HANDLERS:
            raise UnsupportedOperation(f"{node.target} is no operation of row programs")
        value = HANDLERS[node.target](self, node)
        if isinstance(value, int) and self.is_condition(value) != (
                node.meta["val"].dtype == torch.bool):
            raise UnsupportedOperation(f"{node.target} of booleans is no operation of row programs")
        return value

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
        return not node.kwargs and node.args[4:] in ((), (1,))
    is_one_each = node.target in (aten.clone.default, aten.permute.default) or (
        torch.Tag.pointwise in getattr(node.target, "tags", ())
        and node.target in HANDLERS)
    return is_one_each and (node in inside or not is_in_memory(node))


def from_begin(node: Node, dim: int, start: Any) -> int:
    """Where a slice of a node begins, counted from the first element."""
    size = node.meta["val"].shape[dim]
    if not isinstance(start, (int, type(None))) or not isinstance(size, int):
        raise Unsupported("takes a slice of unknown size")
    return max(0, (start or 0) + size * ((start or 0) < 0))


def reads_by_itself(node: Node) -> bool:
    """Whether the operands of a node are not spread over its result."""
    return node.target in WINDOWS or node.target in TABLES


def put_inside(nodes: Collection[Node]) -> set[Node]:
    """Those that are put somewhere by others, and only there: their values are made there."""
    result: set[Node] = set()
    for node in reversed(list(nodes)):
        if node.users and is_movable(node, nodes) and all(
                user in result or (user in nodes and user.target in WINDOWS and not (
                    user.target is aten.slice_scatter.default and user.args[0] is node))
                for user in node.users):
            result.add(node)
    return result


def _has_rows(parts: Iterable[tuple[int, ...]], domain: Domain) -> bool:
    """Whether some of these dimensions are of rows."""
    return any(distance * size > domain.length for distance, size, *_ in parts)


def spread_over(node: Node, domain: Domain) -> torch.Tensor | None:
    """The row block, or the lead, that a node makes of operands that are spread over it; None where
    it makes something else, or keeps the elements in their order."""
    value = node.meta.get("val")
    is_spread = node.target not in VIEWS or node.target in (aten.expand.default, aten.clone.default)
    if (node.target in ROW_SUMS or node.target in TABLES or not is_spread
            or domain.role(value) not in ("row", "lead")):
        return None
    return value


def apart(value: torch.Tensor, domain: Domain) -> torch.Tensor | None:
    """A row block that one whose elements lie apart is spread over; None of any other tensor."""
    if domain.role(value) != "row" or is_readable(value, "row"):
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
    return found is not None and found[1] * node.meta["val"].element_size() % 16 == 0


def is_misplaced(source: Node, over: torch.Tensor, domain: Domain) -> bool:
    """Whether a node that is spread over a row block is not there what its shape says alone: a
    weight of as many channels as there are rows."""
    value = source.meta.get("val")
    # What is repeated there is spread already.
    if not isinstance(value, torch.Tensor) or (
            value.shape == over.shape and repeated_dims(value)):
        return False
    place = domain.place(value, over)
    return place is None or place.kind != domain.role(value)


def describe(value: Any) -> str:
    """A tensor's type and shape, for a message."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}".replace("torch.", "")
    return type(value).__name__
