# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the operations of a PyTorch graph to those of a row program.

Which value is rounded when: as in torch.compile's own kernels. All is computed in float32, and a
value is rounded to its type where it is written; within a kernel it is rounded only if Inductor's
option ``emulate_precision_casts`` asks for that.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any

import torch
import torch._inductor.config
from torch._inductor import inductor_prims
from torch.fx import Node

from ..rowprogram import COMPARISONS, CONDITIONS, SUMS, Builder, Input, cut
from .domains import (
    DTYPES,
    ELEMENTS,
    FLOATS,
    INTEGERS,
    SMALL,
    SMALL_SHARE,
    Domain,
    is_permuted,
    memory_order,
    memory_shape,
    product,
    repeated_dims,
    same,
)
from .fusion import is_in_memory
from .nodes import (
    CONSTANTS,
    NORM,
    NUMBERS,
    OF_INTEGERS,
    ROW_SUMS,
    SOFTMAXES,
    VIEWS,
    is_constant,
    is_seed,
    is_view,
    memory_of,
    row_sum_axis,
    sources,
    sum_kind,
    summed_dims,
)

__all__ = ["Conversion", "Unsupported", "UnsupportedOperation", "apart", "check", "is_copied",
           "is_misplaced", "is_movable", "is_readable", "is_supported", "put_inside",
           "spread_over"]

aten, prims = torch.ops.aten, torch.ops.prims


class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has what a node computes, whatever it computes it of."""


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
        elif role is not None:
            known = ELEMENTS if role == "row" else {**SMALL, **INTEGERS}
            place = Input(role, known.get(value.dtype, ""))  # type: ignore[union-attr]
        if place is None:
            raise Unsupported(f"reads {_describe(value)}, which is neither a row block, a row "
                              f"scalar, a column nor a part of {self.domain}")
        if place.kind == "lead" and not place.parts:
            raise Unsupported("reads a number for each part of a row")
        assert isinstance(value, torch.Tensor)
        if value.dtype not in (ELEMENTS if place.kind == "row" else SMALL) and not (
                place.kind == "scalar" and value.dtype in INTEGERS):
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
            raise Unsupported(f"reads {_describe(value)}, which is no part of rows that have the "
                              f"other parts")
        return self.input(node, place)

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

    def places(self) -> list[Input]:
        """What the inputs are. Beside parts of rows, what has a row for each group is read where it
        lies, not copied."""
        found = [place for _, place in self.inputs]
        if not _has_rows((part for place in found for part in place.parts), self.domain):
            return found
        return [(_is_in_reach(node) and self.domain.where_it_lies(node.meta["val"])) or place
                if place.kind == "group_column" and not node.meta["val"].is_contiguous() else place
                for node, place in self.inputs]

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
            by = self.moves.get(dim + missing, 0) + _from_begin(source, dim, start)
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
        for names, make in _HANDLERS:
            if node.target in names:
                value = make(self, node)
                if isinstance(value, int) and self.is_condition(value) != (
                        node.meta["val"].dtype == torch.bool):
                    break
                return value
        else:
            raise UnsupportedOperation(f"{node.target} is no operation of row programs")
        raise UnsupportedOperation(f"{node.target} of booleans is no operation of row programs")

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
        and any(node.target in names for names, _ in _HANDLERS))
    return is_one_each and (node in inside or not is_in_memory(node))


def _from_begin(node: Node, dim: int, start: Any) -> int:
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


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}".replace("torch.", "")
    return type(value).__name__


# --------------------------------------------------------------------------------------------------
# The operations
# --------------------------------------------------------------------------------------------------

_UNARY = {
    aten.neg.default: "neg", aten.abs.default: "abs", aten.exp.default: "exp",
    aten.exp2.default: "exp2", aten.expm1.default: "expm1", aten.log.default: "log",
    aten.log2.default: "log2", aten.log1p.default: "log1p", aten.sqrt.default: "sqrt",
    aten.rsqrt.default: "rsqrt", aten.tanh.default: "tanh", aten.erf.default: "erf",
    aten.floor.default: "floor", aten.ceil.default: "ceil", aten.trunc.default: "trunc",
    aten.round.default: "roundeven", aten.sin.default: "sin", aten.cos.default: "cos"}

_BINARY = {
    aten.mul.Tensor: "mul", aten.mul.Scalar: "mul", aten.div.Tensor: "div", aten.div.Scalar: "div",
    aten.maximum.default: "max", aten.minimum.default: "min"}

# Those that take a factor for the second operand, alpha.
_SUMS_OF_TWO = {aten.add.Tensor: "add", aten.add.Scalar: "add", aten.sub.Tensor: "sub",
                aten.sub.Scalar: "sub"}

_COMPARISONS = {getattr(getattr(aten, name), kind): name for name in COMPARISONS
                for kind in ("Tensor", "Scalar")}

_LOGIC = {aten.logical_and.default: "and", aten.logical_or.default: "or",
          aten.logical_xor.default: "xor", aten.bitwise_and.Tensor: "and",
          aten.bitwise_or.Tensor: "or", aten.bitwise_xor.Tensor: "xor"}


def _unary(c: Conversion, node: Node) -> int:
    return c.builder.add(_UNARY[node.target], c.number(node.args[0]))  # type: ignore[index]


def _binary(c: Conversion, node: Node) -> int:
    name = _BINARY[node.target]  # type: ignore[index]
    if name == "mul" and node.meta["val"].dtype == torch.bool:
        return c.builder.add("and", *map(c.condition, node.args[:2]))
    first, second = (c.number(argument) for argument in node.args[:2])
    if name == "div":
        divisor = c.builder.number(second)
        # Exact for powers of two alone.
        if divisor and math.frexp(abs(divisor))[0] == 0.5:
            return c.multiply(first, 1 / divisor)
    return c.builder.add(name, first, second)


def _sum_of_two(c: Conversion, node: Node) -> int:
    alpha = node.kwargs.get("alpha", 1)
    if not isinstance(alpha, (int, float)):
        raise Unsupported(f"has the factor {alpha}")
    second = c.multiply(c.number(node.args[1]), alpha)
    return c.builder.add(_SUMS_OF_TWO[node.target],  # type: ignore[index]
                         c.number(node.args[0]), second)


def _fma(c: Conversion, node: Node) -> int:
    # The product is not rounded: the compiler contracts it with the sum.
    first, second, addend = (c.number(argument) for argument in node.args[:3])
    return c.builder.add("add", c.builder.add("mul", first, second), addend)


def _compare(c: Conversion, node: Node) -> int:
    return c.builder.add(_COMPARISONS[node.target],
                         c.number(node.args[0]), c.number(node.args[1]))


def _logic(c: Conversion, node: Node) -> int:
    return c.builder.add(_LOGIC[node.target],  # type: ignore[index]
                         c.condition(node.args[0]), c.condition(node.args[1]))


def _not(c: Conversion, node: Node) -> int:
    return c.builder.add("not", c.condition(node.args[0]))


def _select(c: Conversion, node: Node) -> int:
    condition, *values = node.args[:3]
    return c.builder.add("select", c.condition(condition), *map(c.number, values))


_LARGEST_EXACT = 2 ** 24
"""Integers are float32 inside. Up to here they are the same, so that one that may be larger can be
compared with one that is not."""


def _is_exact(argument: Any) -> bool:
    """Whether an operand of a comparison is an integer, or integers, that float32 has."""
    while isinstance(argument, Node) and is_view(argument):
        argument = argument.args[0]
    if isinstance(argument, Node) and is_constant(argument):
        argument = argument.args[CONSTANTS[argument.target]]  # type: ignore[index]
    if isinstance(argument, Node):
        return argument.target is NUMBERS
    return isinstance(argument, int) and abs(argument) < _LARGEST_EXACT


def _column_numbers(c: Conversion, node: Node) -> int:
    options = {"start": 0, "step": 1, **node.kwargs}
    if node.args[0] != c.domain.length or (options["start"], options["step"]) != (0, 1) or (
            c.domain.length > _LARGEST_EXACT):
        raise Unsupported("gives other numbers than those of the columns")
    return c.builder.add("index")


def _gather(c: Conversion, node: Node) -> int:
    """The element of each row that an index says: of all the others, 0 is added to it."""
    values, dim, index = node.args[:3]
    shape = values.meta["val"].shape  # type: ignore[union-attr]
    if (dim not in (-1, len(shape) - 1) or not same(shape[-1], c.domain.length)
            or c.domain.role(node.meta["val"]) != "scalar" or c.domain.length == 1):
        raise Unsupported("takes other elements than one of each row")
    b, value = c.builder, _check_row(c, node)
    is_it = b.add("eq", b.add("index"), c.value(index))
    return b.add("row_sum", b.add("select", is_it, value, b.constant(0)))


def _embedding(c: Conversion, node: Node) -> int:
    """A row of a table for each index. PyTorch promises nothing for an index outside of the table,
    for which the kernel takes the last row."""
    table: Any = node.args[0]
    value, element = table.meta["val"], DTYPES.get(table.meta["val"].dtype)
    if (element is None or value.dim() != 2 or not isinstance(value.shape[0], int)
            or not same(value.shape[1], c.domain.length) or not value.is_contiguous()
            or any(node.args[3:]) or c.domain.role(node.meta["val"]) != "row"):
        raise Unsupported("takes other rows than those of a dense table")
    rows = c.input(table, Input("table", element, rows=int(value.shape[0])))
    index: Any = node.args[1]
    if not repeated_dims(index.meta["val"]):
        return c.builder.add("take", rows, c.value(index))
    place = c.domain.place(index.meta["val"].unsqueeze(-1), node.meta["val"])
    if place is None or c.domain.repeated(place).kind != "repeated_scalar":
        raise Unsupported(f"spreads {index.name} in its own way")
    return c.builder.add("take", rows, c.input(index, place))


def _view(c: Conversion, node: Node) -> int:
    if spread_over(node, c.domain) is None:
        before, after = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
        # What is not viewed but copied has a contiguous result.
        has_order = None not in (memory_order(before), memory_order(after))
        if (not has_order if node.target is aten.permute.default
                else is_permuted(before) != is_permuted(after)):
            raise UnsupportedOperation("changes the order of elements")
    if node.target is aten.as_strided.default:
        source = node.args[0].meta["val"]  # type: ignore[union-attr]
        if not (source.is_contiguous() and node.meta["val"].is_contiguous()
                and same(source.numel(), node.meta["val"].numel())):
            raise Unsupported("takes some elements of a tensor")
    value = c.value(node.args[0])
    return c.condition(node.args[0]) if node.meta["val"].dtype == torch.bool else value


def _cast(c: Conversion, node: Node) -> int:
    to = node.meta["val"].dtype
    source = node.args[0].meta["val"].dtype  # type: ignore[union-attr]
    if source not in (*ELEMENTS, *INTEGERS) or to not in ELEMENTS:
        raise Unsupported(f"converts from {source} to {to}")
    if to == torch.bool:
        return c.condition(node.args[0])
    value = c.number(node.args[0])
    is_rounded = torch._inductor.config.emulate_precision_casts or to.itemsize == 1
    if to in (source, torch.float32) or source == torch.bool or not is_rounded:
        return value
    return c.builder.add("round", value, FLOATS[to])


def _power(c: Conversion, node: Node) -> int:
    exponent = node.args[1]
    if not isinstance(exponent, (int, float)) or not math.isfinite(exponent):
        raise Unsupported(f"has the exponent {exponent}")
    return c.builder.power(c.number(node.args[0]), exponent)


def _sign(c: Conversion, node: Node) -> int:
    """0 of 0 and of a NaN, as PyTorch has it."""
    b, value = c.builder, c.number(node.args[0])
    zero = b.constant(0)
    rest = b.add("select", b.add("lt", value, zero), b.constant(-1), zero)
    return b.add("select", b.add("gt", value, zero), b.constant(1), rest)


def _square(c: Conversion, node: Node) -> int:
    return c.builder.power(c.number(node.args[0]), 2)


def _reciprocal(c: Conversion, node: Node) -> int:
    return c.builder.add("div", c.builder.constant(1), c.number(node.args[0]))


def _sigmoid(c: Conversion, node: Node) -> int:
    one = c.builder.constant(1)
    power = c.builder.add("exp", c.builder.add("neg", c.number(node.args[0])))
    return c.builder.add("div", one, c.builder.add("add", one, power))


def _relu(c: Conversion, node: Node) -> int:
    # Not the larger of two: the slope is 0 at 0, and a NaN stays one.
    value, zero = c.number(node.args[0]), c.builder.constant(0)
    return c.builder.add("select", c.builder.add("le", value, zero), zero, value)


def _clamp(c: Conversion, node: Node) -> int:
    value = c.number(node.args[0])
    # The comparison that says that a value is beyond its bound: at the bound the slope is 1.
    names = {aten.clamp_min.default: ("lt",), aten.clamp_max.default: ("gt",)}
    bounds = names.get(node.target, ("lt", "gt"))  # type: ignore[call-overload]
    given = list(node.args[1:]) + [None] * (len(bounds) - len(node.args) + 1)
    for position, (name, bound) in enumerate(zip(bounds, given, strict=False)):
        if bound is None:
            bound = node.kwargs.get(("min", "max")[position])
        if bound is not None:
            limit = c.number(bound)
            value = c.builder.add("select", c.builder.add(name, value, limit), limit, value)
    return value


def _check_row(c: Conversion, node: Node) -> int:
    value = node.args[0].meta.get("val")  # type: ignore[union-attr]
    if c.domain.role(value) != "row":
        raise Unsupported("sums over something else than a row")
    return c.number(node.args[0])


def _row_sum(c: Conversion, node: Node) -> Any:
    if row_sum_axis(node) != c.domain:
        raise Unsupported(f"does not sum over rows of {c.domain}")
    value = _check_row(c, node)
    if node.target is aten.amax.default:
        return c.builder.add("row_max", value)
    if node.target in (aten.any.dim, aten.any.dims):
        zero = c.builder.constant(0)
        if not c.is_condition(c.value(node.args[0])):
            # A NaN is not 0.
            value = c.builder.add("select", c.builder.add("eq", value, zero), zero,
                                  c.builder.constant(1))
        return c.builder.add("ne", c.builder.add("row_max", value), zero)
    if node.target is aten.amin.default:
        return c.builder.add("neg", c.builder.add("row_max", c.builder.add("neg", value)))
    if node.target is NORM:
        return _norm(c, node, value)
    if node.target is aten.sum.dim_IntList:
        return c.builder.add("row_sum", value)
    mean = c.mean(value)
    if node.target is aten.mean.dim:
        return mean
    correction = node.kwargs.get("correction", 1)
    if not isinstance(correction, (int, float)) or correction >= c.domain.length:
        raise Unsupported(f"has the correction {correction}")
    centred = c.builder.add("sub", value, mean)
    total = c.builder.add("row_sum", c.builder.add("mul", centred, centred))
    variance = c.multiply(total, 1 / (c.domain.length - correction))
    return (variance, mean) if node.target is aten.var_mean.correction else variance


def _norm(c: Conversion, node: Node, value: int) -> int:
    """The p-norm of a row. Its gradient is 0 where it is 0, as PyTorch has it: there a root has
    none. The same holds of an element that is 0, for powers below 1."""
    b = c.builder
    order = node.args[1] if len(node.args) > 1 else 2
    if not isinstance(order, (int, float)) or math.isnan(order):
        raise Unsupported(f"has the order {order}")
    zero, one = b.constant(0), b.constant(1)
    if order == 0:
        return b.add("row_sum", b.add("select", b.add("eq", value, zero), zero, one))
    size = b.add("abs", value)
    if order == math.inf:
        return b.add("row_max", size)
    if order == -math.inf:
        return b.add("neg", b.add("row_max", b.add("neg", size)))
    if order == 1:
        return b.add("row_sum", size)
    if order == 2:
        terms = b.add("mul", value, value)
    elif 0 < order < 1:
        is_zero = b.add("eq", value, zero)
        terms = b.power(b.add("select", is_zero, one, size), order)
        terms = b.add("select", is_zero, zero, terms)
    else:
        terms = b.power(size, order)
    total = b.add("row_sum", terms)
    is_zero = b.add("eq", total, zero)
    root = b.power(b.add("select", is_zero, one, total), 1 / order)
    return b.add("select", is_zero, zero if order > 0 else b.constant(math.inf), root)


def _softmax(c: Conversion, node: Node) -> int:
    """softmax, log_softmax and logsumexp, which PyTorch's decompositions write with the row's
    largest element. None of them depends on what is taken off, so it counts as a constant."""
    b = c.builder
    found = summed_dims(node)
    if found is None or found[0] != [found[1] - 1] or (
            memory_shape(node.args[0].meta["val"])[-1] != c.domain.length):  # type: ignore[union-attr]
        raise Unsupported("does not go over the row")
    value = _check_row(c, node)
    largest = b.add("detach", b.add("row_max", value))
    if node.target is aten.logsumexp.default:
        # Where all elements are -inf, or one is inf, nothing is taken off.
        infinite = b.add("eq", b.add("abs", largest), b.constant(math.inf))
        largest = b.add("select", infinite, b.constant(0), largest)
    shifted = b.add("sub", value, largest)
    exponential = b.add("exp", shifted)
    total = b.add("row_sum", exponential)
    if node.target is aten._softmax.default:
        return b.add("div", exponential, total)
    if node.target is aten._log_softmax.default:
        return b.add("sub", shifted, b.add("log", total))
    return b.add("add", b.add("log", total), largest)


def _random(c: Conversion, node: Node) -> int:
    """The numbers that Inductor draws in the kernel of a reduction: by the place of each element in
    its tensor."""
    seed, mode = node.args[1:3]
    if (mode != "rand" or any(node.kwargs.values()) or not isinstance(seed, Node)
            or not is_seed(seed) or c.domain.role(node.meta["val"]) != "row"):
        raise Unsupported(f"draws {_describe(node.meta['val'])} by {mode}")
    return c.builder.add("random", c.input(seed, Input("number", "i64")))


def _getitem(c: Conversion, node: Node) -> int:
    pair = c.values.get(node.args[0])  # type: ignore[arg-type]
    if not isinstance(pair, tuple):
        raise Unsupported("takes a part of something that is no variance with its mean")
    return int(pair[node.args[1]])  # type: ignore[index]


def _column_sum(c: Conversion, node: Node) -> int:
    if sum_kind(node, c.domain) is None:
        raise Unsupported(f"does not sum over the rows of {c.domain}")
    value = _check_row(c, node)
    if node.target is aten.mean.dim:
        before, after = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
        return c.multiply(value, after.numel() / before.numel())
    return value


def _index(c: Conversion, dim: int) -> int:
    """The index along a dimension of the row block at hand."""
    assert c.over is not None
    size = c.over.shape[dim]
    distance = 1
    for other in reversed(memory_order(c.over) or range(c.over.dim())):
        if other == dim:
            break
        distance = distance * c.over.shape[other]
    if not isinstance(size, int) or not isinstance(distance, int):
        raise Unsupported("has a dimension of unknown size")
    if distance < c.domain.length < distance * size:
        raise Unsupported("has a dimension of rows and of columns")
    return c.builder.add("place", distance, size)


def _inside(c: Conversion, dim: int, begin: int, end: int) -> int | None:
    """Whether an index is one of some; None if all are."""
    assert c.over is not None
    b = c.builder
    result: int | None = None
    if begin > 0:
        result = b.add("ge", _index(c, dim), b.constant(begin))
    if end < c.over.shape[dim]:
        is_before = b.add("lt", _index(c, dim), b.constant(end))
        result = is_before if result is None else b.add("and", result, is_before)
    return result


def _cat(c: Conversion, node: Node) -> int:
    """Tensors one behind the other: each where its indices are."""
    assert c.over is not None
    arguments: Any = (*node.args, node.kwargs.get("dim", 0))
    dim: int = arguments[1] % c.over.dim()
    begin, pieces = 0, []
    for part in arguments[0]:
        if part.meta["val"].dim() != c.over.dim() or not isinstance(
                size := part.meta["val"].shape[dim], int):
            raise Unsupported("joins tensors of unknown sizes")
        pieces.append((begin + size, c.moved(part, {dim: -begin})))
        begin += size
    result = pieces.pop()[1]
    for end, value in reversed(pieces):
        result = c.builder.add("select", _inside(c, dim, 0, end), value, result)
    return result


def _put(c: Conversion, node: Node) -> int:
    """A tensor put into another, or among equal numbers."""
    assert c.over is not None
    arguments: Any = node.args
    begins: dict[int, Any]
    if node.target is aten.constant_pad_nd.default:
        source, amounts = arguments[:2]
        around = arguments[2] if len(arguments) > 2 else 0
        begins = {c.over.dim() - 1 - i: amounts[2 * i] for i in range(len(amounts) // 2)}
    else:
        around, source, *where = arguments
        options: Any = dict(zip(("dim", "start", "end", "step"), where, strict=False))
        options |= node.kwargs
        if options.get("step", 1) != 1:
            raise Unsupported("puts elements apart")
        dim = options.get("dim", 0) % c.over.dim()
        begins = {dim: _from_begin(node, dim, options.get("start"))}
    shape = source.meta["val"].shape
    if not all(isinstance(number, int) for number in (*begins.values(), *shape)):
        raise Unsupported("puts a tensor of unknown size")
    value = c.moved(source, {dim: -begin for dim, begin in begins.items()})
    inside = None
    for dim, begin in begins.items():
        found = _inside(c, dim, begin, begin + shape[dim])
        if found is not None:
            inside = found if inside is None else c.builder.add("and", inside, found)
    return value if inside is None else c.builder.add(
        "select", inside, value, c.number(around))


TABLES = {aten.embedding.default}
"""Operations that take rows of a table."""

WINDOWS = {aten.cat.default: _cat, aten.slice_scatter.default: _put,
           aten.constant_pad_nd.default: _put}
"""Operations that put tensors at some of the indices of a row block."""

_Handler = Callable[[Conversion, Node], Any]
_HANDLERS: list[tuple[Any, _Handler]] = [
    (_UNARY, _unary), (_BINARY, _binary), (_SUMS_OF_TWO, _sum_of_two), (_COMPARISONS, _compare),
    (_LOGIC, _logic), ({aten.logical_not.default, aten.bitwise_not.default}, _not),
    ({aten.where.self}, _select), (VIEWS, _view),
    ({prims.convert_element_type.default}, _cast), ({aten.pow.Tensor_Scalar}, _power),
    ({aten.square.default}, _square), ({aten.reciprocal.default}, _reciprocal),
    ({aten.sigmoid.default}, _sigmoid), ({aten.relu.default}, _relu),
    ({aten.sign.default}, _sign),
    ({aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default}, _clamp),
    (SOFTMAXES, _softmax), ({inductor_prims.random}, _random),
    ({operator.getitem}, _getitem), ({NUMBERS}, _column_numbers),
    ({aten.gather.default}, _gather), (TABLES, _embedding),
    *(({name}, make) for name, make in WINDOWS.items())]
if hasattr(prims, "fma"):
    _HANDLERS.append(({prims.fma.default}, _fma))


def _sum(c: Conversion, node: Node) -> Any:
    return _column_sum(c, node) if sum_kind(node, c.domain) else _row_sum(c, node)


_HANDLERS.append((ROW_SUMS, _sum))


def is_supported(node: Node, domain: Domain) -> bool:
    """Whether a node can be part of a row program over the domain, its operands being parts of it
    or coming from outside."""
    try:
        check(node, domain)
    except Unsupported:
        return False
    return True


def check(node: Node, domain: Domain) -> None:
    """Raises :class:`Unsupported`, with the reason, if :func:`is_supported` does not hold."""
    if node.op != "call_function" or is_constant(node):
        raise Unsupported(f"is a {node.op}")
    if not any(node.target in names for names, _ in _HANDLERS):
        raise UnsupportedOperation(f"{node.target} is no operation of row programs")
    value = node.meta.get("val")
    is_sum = node.target in ROW_SUMS
    if node.target is operator.getitem:
        pair = node.args[0]
        if (not isinstance(pair, Node) or pair.target is not aten.var_mean.correction
                or row_sum_axis(pair) != domain):
            raise Unsupported("takes a part of a tuple")
        return
    results = value if isinstance(value, tuple) else (value,)
    for result in results:
        role = domain.role(result)
        if role in (None, "number") and not is_sum:
            raise Unsupported(f"gives {_describe(result)}, which is no row block, row scalar or "
                              f"column of {domain}")
        if not isinstance(result, torch.Tensor) or not (result.dtype in ELEMENTS or (
                result.dtype in INTEGERS and node.target in OF_INTEGERS)):
            raise Unsupported(f"gives {_describe(result)}")
    role = domain.role(results[0])
    trial = Conversion(domain, is_trial=True)
    if reads_by_itself(node):
        if role != "row":
            raise Unsupported(f"gives {_describe(results[0])}")
        trial.convert(node)
        return
    for source in sources(node):
        source_value = source.meta["val"]
        if is_constant(source) or is_seed(source):
            continue
        if not isinstance(source_value, torch.Tensor):
            raise Unsupported("takes a tuple")
        kind = domain.role(source_value)
        over = spread_over(node, domain)
        if over is not None:
            place = domain.place(source_value, over)
            kind = place.kind if place else None
            if kind == "lead" and is_misplaced(source, over, domain):
                raise Unsupported(f"spreads {source.name} in its own way")
        if kind is None or (kind == "number" and source_value.dtype not in SMALL):
            raise Unsupported(f"reads {_describe(source_value)}")
        if over is None and not is_sum and kind not in (role, "number") and (role, kind) != (
                "group_column", "column") and node.target is not aten.gather.default:
            raise Unsupported(f"makes a {role} of a {kind}")
        if source_value.dtype == torch.bool:
            trial.values[source] = trial.builder.add("eq", trial.builder.constant(0),
                                                     trial.builder.constant(0))
        elif source_value.dtype in INTEGERS and (
                node.target in OF_INTEGERS or node.target is aten.gather.default
                or node.target is prims.convert_element_type.default
                or (node.target in _COMPARISONS and any(map(_is_exact, node.args)))):
            trial.values[source] = trial.builder.add("input", len(trial.values))
        elif source_value.dtype not in FLOATS:
            raise Unsupported(f"reads elements of {source_value.dtype}")
        else:
            trial.values[source] = trial.builder.add("input", len(trial.values))
    trial.convert(node)
