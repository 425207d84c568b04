# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the operations of a PyTorch graph to those of a row program.

A *domain* says which tensors are rows: M rows of N elements. In it a tensor is a row block
(``[..., N]`` of M·N elements), a row scalar (``[..., 1]`` of M), a column (``[N]``) or, where the
rows are B groups of neighbours, as the samples of a batch are, a group column (``[B, N]``, spread
over ``[B, T, N]`` as ``[B, 1, N]``), and what moves elements between these shapes without changing
their order is no operation at all. What an operation spreads over a row block in another way is a
*part*: GroupNorm's weight, ``[1, C, 1, 1]`` over ``[B, C, H, W]``, where a row has some channels.
What is computed for each row and each of its channels, ``[B, G, C / G, 1]``, is a *lead*: to the
program, a row of equal neighbours.

Which value is rounded when: as in torch.compile's own kernels. All is computed in float32, and a
value is rounded to its type where it is written; within a kernel it is rounded only if Inductor's
option ``emulate_precision_casts`` asks for that.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._inductor.config
from torch._inductor import inductor_prims
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .. import operations
from ..rowprogram import COMPARISONS, CONDITIONS, SUMS, Builder, Input, cut

__all__ = ["Conversion", "Domain", "Unsupported", "UnsupportedOperation", "column_domain",
           "is_channels_last", "is_column_sum", "is_computed_in_place", "is_constant",
           "is_group_sum", "is_misplaced", "is_random", "is_readable", "is_reduction", "is_seed",
           "is_supported", "memory_order", "row_sum_axis", "sources", "spread_over", "sum_kind"]

aten, prims = torch.ops.aten, torch.ops.prims

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
"""The types of numbers that a row program reads and writes."""

FLOATS = {**DTYPES, **{getattr(torch, element.torch): name
                       for name, element in operations.ELEMENTS.items()
                       if element.use == "float8" and element.fraction}}
"""Those of row blocks; of powers of two alone PyTorch rounds up."""

ELEMENTS = {**FLOATS, torch.bool: "i8"}
"""All of row blocks: masks are among them."""

INTEGERS = {torch.int64: "i64", torch.int32: "i32"}
"""Those of row scalars that are compared with numbers of columns, and that say what to compare."""

SMALL = {**DTYPES, torch.bool: "f32"}
"""Those of what has fewer elements than a row block. Booleans are 0 and 1 there: a node in front of
the region makes them, or one behind it takes them."""

Number = int | torch.SymInt


class Unsupported(Exception):
    """A node cannot be part of a row program; says why."""


class UnsupportedOperation(Unsupported):
    """No row program has what a node computes, whatever it computes it of."""


def same(first: Number, second: Number) -> bool:
    """Whether two numbers, of which some depend on dynamic shapes, are always equal."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return bool(statically_known_true(first == second))


def product(sizes: Any) -> Number:
    """The product of a shape's sizes."""
    result: Number = 1
    for size in sizes:
        result = result * size
    return result


def memory_order(value: torch.Tensor) -> tuple[int, ...] | None:
    """The dimensions of a dense tensor, outermost in memory first, where it is contiguous or
    channels-last; None of any other."""
    dims = tuple(range(value.dim()))
    if value.is_contiguous():
        return dims
    dims = (*dims[:1], *dims[2:], 1)
    return dims if value.dim() > 2 and _is_dense(value, dims) else None


def _is_dense(value: torch.Tensor, dims: tuple[int, ...]) -> bool:
    """Whether a tensor is contiguous with its dimensions in some order."""
    distance: Number = 1
    for dim in reversed(dims):
        if not same(value.shape[dim], 1):
            if not same(value.stride(dim), distance):
                return False
            distance = distance * value.shape[dim]
    return True


def is_channels_last(value: torch.Tensor) -> bool:
    """Whether the elements of a dense tensor lie in memory in another order than that of its
    dimensions."""
    return memory_order(value) not in (None, tuple(range(value.dim())))


def _memory_shape(value: torch.Tensor) -> list[Number]:
    """The sizes of a tensor, outermost in memory first."""
    return [value.shape[dim] for dim in memory_order(value) or range(value.dim())]


@dataclass(frozen=True)
class Domain:
    """M rows of N elements; M may be a symbol.

    ``groups`` is the number of groups of rows, the first dimension of ``[B, T, N]``, or None; the
    same rows in groups or not are one domain.
    """

    rows: Number
    length: int
    groups: Number | None = field(default=None, compare=False)

    def role(self, value: Any) -> str | None:
        """What a tensor is here: "row", "scalar", "column", "group_column", "lead", "number", which
        is one for all rows, or None."""
        if not isinstance(value, torch.Tensor):
            return None
        if value.dim() == 0:
            return "number"
        count = value.numel()
        # Of rows of one element, what has no dimension for it is a number for each row.
        if same(count, self.rows * self.length) and (
                self.length > 1 or same(_memory_shape(value)[-1], 1)):
            return "row"
        if same(count, self.length) and not same(self.rows, self.length):
            return "column"
        if self.groups is not None and same(count, self.groups * self.length) and not same(
                count, self.rows) and [n for n in _memory_shape(value) if not same(n, 1)][-1:] == [
                    self.length]:
            return "group_column"
        if self._has_rows(value):
            if same(count, self.length):
                return "column"
            if self.groups is not None and same(count, self.groups * self.length):
                return "group_column"
            return None
        if same(count, self.rows):
            return "scalar"
        return "lead" if self._repeats(value) else None

    def _repeats(self, value: torch.Tensor) -> int | None:
        """How many neighbours in a row each element of a lead stands for; None of anything else."""
        sizes = list(itertools.accumulate(reversed(_memory_shape(value)), operator.mul))
        count = sizes[-1]
        if isinstance(count, int) and isinstance(self.rows, int) and self.rows:
            sizes.append(count // self.rows)
        for size in sizes:
            if (isinstance(size, int) and 1 < size < self.length and self.length % size == 0
                    and same(count, self.rows * size)):
                return self.length // size
        return None

    def _has_rows(self, value: torch.Tensor) -> bool:
        """Whether the last dimensions of a tensor are a row."""
        size: Number = 1
        for last in reversed(_memory_shape(value)):
            size = size * last
            if same(size, self.length):
                return True
            if same(last, 1) or not isinstance(size, int) or size > self.length:
                return False
        return False

    def place(self, value: torch.Tensor, over: torch.Tensor) -> Input | None:
        """What a tensor is that is spread over a row block or a lead; None: nothing that a program
        has."""
        runs = _runs(value, over)
        dtype = {**SMALL, **INTEGERS}.get(value.dtype)
        if not runs and runs is not None and dtype:
            kind = "column" if self.length == 1 else "scalar" if same(self.rows, 1) else "number"
            return Input(kind if value.dim() > 0 else "number", dtype)
        if not runs:
            return None
        if self.role(over) == "lead":
            repeats = self._repeats(over) or 1
            runs = [(distance * repeats, size) for distance, size in runs]
        (distance, size), others = runs[-1], runs[:-1]
        if not others and same(distance, 1) and same(size, self.rows * self.length):
            element = {**ELEMENTS, **INTEGERS}.get(value.dtype)
            return Input("row", element) if element and _is_like(value, over) else None
        if dtype is None:
            return None
        if not others and same(distance, 1) and same(size, self.length):
            return Input("column", dtype)
        if not others and same(distance, self.length) and same(size, self.rows):
            return Input("scalar", dtype)
        if (len(others) == 1 and same(distance, 1) and same(size, self.length)
                and self.groups is not None and same(others[0][1], self.groups)
                and same(others[0][0] * others[0][1], self.rows * self.length)):
            return Input("group_column", dtype)
        whole = self.rows * self.length
        # The number of what is outermost is the launch's to choose, if it is not known.
        parts = tuple((d, n) for d, n in runs if isinstance(d, int) and isinstance(n, int)
                      and (isinstance(self.rows, int) or not same(d * n, whole)))
        if not others and isinstance(distance, int) and distance < self.length and (
                self.length % distance == 0 and same(distance * size, whole)):
            return Input("lead", dtype, ((distance, self.length // distance),))
        rows_of = [(d, n) for d, n in parts if d * n > self.length]
        is_of_groups = (len(rows_of) == 1 and rows_of[0][0] > self.length
                        and same(math.prod(rows_of[0]), whole))
        if is_of_groups and len(parts) == 1 and self.groups is not None and (
                same(size, self.groups)):
            return Input("group_scalar", dtype)
        if len(parts) < len(runs) or cut(self.length, parts) is None or is_of_groups:
            return None
        return Input("part", dtype, parts)

    def __str__(self) -> str:
        return f"{self.rows}x{self.length}"


def _is_like(value: torch.Tensor, over: torch.Tensor) -> bool:
    """Whether the elements of a tensor lie in memory in the order of another of its shape."""
    if is_channels_last(over):
        return value.dim() == over.dim() and _is_dense(value, memory_order(over) or ())
    return not is_channels_last(value)


def _runs(value: torch.Tensor, over: torch.Tensor) -> list[tuple[Number, Number]] | None:
    """The dimensions of ``over`` that ``value`` has which is spread over it, neighbours joined,
    outermost in memory first: of each the elements of ``over`` from one index to the next, and its
    size. None if it cannot be spread."""
    if value.dim() > over.dim():
        return None
    runs: list[tuple[Number, Number]] = []
    distance: Number = 1
    is_joined = False
    missing = over.dim() - value.dim()
    for dim in reversed(memory_order(over) or range(over.dim())):
        size = over.shape[dim]
        own = value.shape[dim - missing] if dim >= missing else 1
        if same(size, 1):
            continue
        if same(own, size):
            if is_joined:
                runs[0] = (runs[0][0], runs[0][1] * size)
            else:
                runs.insert(0, (distance, size))
        elif not same(own, 1):
            return None
        is_joined = same(own, size)
        distance = distance * size
    return runs


# --------------------------------------------------------------------------------------------------
# What the nodes are
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

# Results that have their operand's elements in their operand's order; of some, only where the
# memory's is kept.
_VIEWS = {aten.reshape.default, aten.view.default, aten._unsafe_view.default, aten.expand.default,
          aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default,
          aten.alias.default, aten.detach.default, aten.clone.default,
          aten.lift_fresh_copy.default, aten.as_strided.default, aten.permute.default}

_CONSTANTS = {aten.full.default: 1, aten.scalar_tensor.default: 0}

_NUMBERS = prims.iota.default

_OF_INTEGERS = {*_VIEWS, _NUMBERS, aten.where.self}
"""What gives integers that a region knows: numbers of columns, and what is compared with them."""

_LARGEST_EXACT = 2 ** 24
"""Integers are float32 inside. Up to here they are the same, so that one that may be larger can be
compared with one that is not."""

# The place of the dimensions among their arguments.
_ROW_SUMS: dict[Any, int] = {aten.sum.dim_IntList: 1, aten.mean.dim: 1, aten.var_mean.correction: 1,
             aten.var.correction: 1, aten.amax.default: 1, aten.amin.default: 1,
             aten.any.dim: 1, aten.any.dims: 1,
             aten.logsumexp.default: 1, aten.linalg_vector_norm.default: 2}

NORM = aten.linalg_vector_norm.default
"""A norm of the row, which graphs of torch.compile have no more: it decomposes it."""

_REDUCTIONS = {*_ROW_SUMS, aten.sum.default, aten.mean.default, aten.any.default,
               aten.prod.dim_int, aten.argmax.default, aten.argmin.default}
"""All that reduce a tensor along dimensions, row programs or not."""

SOFTMAXES = {aten._softmax.default, aten._log_softmax.default, aten.logsumexp.default}
"""Operations over the row that graphs of torch.compile have no more: it decomposes them."""


def is_view(node: Node) -> bool:
    """Whether a node hands its operand's elements on in another shape."""
    return node.op == "call_function" and node.target in _VIEWS


def is_random(node: Node) -> bool:
    """Whether a node's elements are random numbers, drawn there or in what it is a view or a
    conversion of."""
    while is_view(node) or node.target is prims.convert_element_type.default:
        node = node.args[0]  # type: ignore[assignment]
    return node.op == "call_function" and (
        node.target is inductor_prims.random
        or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()))


def is_seed(node: Node) -> bool:
    """Whether a node is the seed of random numbers that are drawn in this graph alone: in the other
    one, Inductor's kernel may draw others of it."""
    if node.op != "call_function" or node.target is not inductor_prims.lookup_seed:
        return False
    seeds: Node = node.args[0]  # type: ignore[assignment]
    return seeds.op == "call_function" and all(
        user.op != "output" for user in (*node.users, *seeds.users))


_COMPUTED_IN_PLACE = {
    aten.select_scatter.default, aten.slice_scatter.default, aten.constant_pad_nd.default,
    aten.cat.default, _NUMBERS, inductor_prims.random}


def is_computed_in_place(node: Node) -> bool:
    """Whether Inductor can compute a node where it is used, without a tensor in memory."""
    return node.op == "call_function" and (
        node.target in _COMPUTED_IN_PLACE
        or torch.Tag.pointwise in getattr(node.target, "tags", ()))


def is_reduction(node: Node) -> bool:
    """Whether a node sums over dimensions, or takes the largest, or the like."""
    return node.op == "call_function" and node.target in _REDUCTIONS


def is_constant(node: Node) -> bool:
    """Whether a node is one number in all its elements."""
    return (node.op == "call_function" and node.target in _CONSTANTS
            and isinstance(node.args[_CONSTANTS[node.target]], (int, float)))


def sources(node: Node) -> list[Node]:
    """The nodes whose elements a node computes with."""
    return [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), (torch.Tensor, tuple))]


def _dims(node: Node) -> tuple[list[int], int] | None:
    """The dimensions that a sum goes over, from 0, outermost in memory first, and the rank of its
    operand, of whose dimensions those of one element do not count; None where those that are left
    are in another order than in the result."""
    value = node.args[0].meta.get("val") if isinstance(node.args[0], Node) else None
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return None
    place = _ROW_SUMS.get(node.target, 1)
    dims = node.args[place] if len(node.args) > place else node.kwargs.get("dim")
    if dims is None:
        dims = list(range(value.dim()))
    if isinstance(dims, int):
        dims = [dims]
    if not isinstance(dims, (list, tuple)) or not all(isinstance(d, int) for d in dims):
        return None
    summed = {int(d) % value.dim() for d in dims}
    order = list(memory_order(value) or range(value.dim()))
    # Rows may be of one element.
    is_of_one = order[-1] in summed and all(same(value.shape[d], 1) for d in summed)
    order = [d for d in order if not same(value.shape[d], 1) or (is_of_one and d == order[-1])]
    left = [d for d in order if d not in summed]
    places = [place for place, d in enumerate(order) if d in summed]
    return (places, len(order)) if left == sorted(left) else None


def row_sum_axis(node: Node) -> Domain | None:
    """The domain of a sum (or a mean, a variance, a largest element) over the last dimensions."""
    if node.op != "call_function" or node.target not in _ROW_SUMS:
        return None
    found = _dims(node)
    if found is None or not found[0] or found[0] != list(range(found[0][0], found[1])):
        return None
    value, result = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
    result = result[0] if isinstance(result, tuple) else result
    return _domain(value, len(found[0]), same(result.numel(), value.numel()))


def is_column_sum(node: Node) -> Domain | None:
    """The domain of a sum, or a mean, over the first dimensions."""
    return column_domain(node) if _adds(node) else None


def _adds(node: Node) -> bool:
    """Whether a node is a sum, or a mean of a known number of elements."""
    if node.op != "call_function" or node.target not in (aten.sum.dim_IntList, aten.mean.dim):
        return False
    return node.target is aten.sum.dim_IntList or isinstance(
        node.args[0].meta["val"].numel(), int)  # type: ignore[union-attr]


def column_domain(node: Node) -> Domain | None:
    """The domain over whose rows a reduction goes, if it is one over the first dimensions."""
    found = _dims(node)
    if found is None or not found[0] or found[0] != list(range(len(found[0]))):
        return None
    return _domain(node.args[0].meta["val"],  # type: ignore[union-attr]
                   found[1] - len(found[0]))


def is_group_sum(node: Node) -> Domain | None:
    """The domain, which has groups, of a sum, or a mean, over all dimensions but the first and the
    last."""
    found = _dims(node) if _adds(node) else None
    if found is None or found[1] < 3 or found[0] != list(range(1, found[1] - 1)):
        return None
    domain = _domain(node.args[0].meta["val"])  # type: ignore[union-attr]
    return None if domain is None or domain.groups is None else domain


def sum_kind(node: Node, domain: Domain) -> str | None:
    """What a sum over rows of the domain is: "column_sum", "group_sum", or None: it is none."""
    if is_column_sum(node) == domain:
        return "column_sum"
    found = is_group_sum(node)
    if found == domain and domain.groups is not None and found is not None and (
            found.groups is not None and same(found.groups, domain.groups)):
        return "group_sum"
    return None


def _domain(value: torch.Tensor, columns: int = 1, is_of_one: bool = False) -> Domain | None:
    """Rows that are the last ``columns`` dimensions of a tensor, or are of one element; none of one
    row alone."""
    shape = [size for size in _memory_shape(value) if not same(size, 1)]
    if is_of_one:
        shape.append(1)
    first = len(shape) - columns
    length = product(shape[first:])
    if not isinstance(length, int) or first < 1 or columns < 1:
        return None
    rows = product(shape[:first])
    if same(rows, 1) or same(rows, 0):
        return None
    groups = shape[0] if first > 1 else None
    if groups is not None and (same(groups, 1) or same(groups, rows)):
        groups = None
    return Domain(rows, length, groups)


# --------------------------------------------------------------------------------------------------
# The conversion
# --------------------------------------------------------------------------------------------------


class Conversion:
    """Makes the nodes of one row program.

    Attributes:
        builder: what has been made.
        values: for each converted node, its value; for a variance with its mean, both.
        inputs: the nodes that are read, each with its :class:`Input`.
        masks: the values that are inputs and conditions.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.builder = Builder(domain.length)
        self.values: dict[Node, Any] = {}
        self.inputs: dict[Node, Input] = {}
        self.masks: set[int] = set()
        self.over: torch.Tensor | None = None
        """The row block that the operands of the node at hand are spread over."""

    def read(self, node: Node) -> int:
        """A node from outside, as an input."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            raise Unsupported("computes with the number of rows")
        role = self.domain.role(value)
        place = None
        if isinstance(value, torch.Tensor) and self.over is not None:
            place = self.domain.place(value, self.over)
        elif role is not None:
            known = ELEMENTS if role == "row" else {**SMALL, **INTEGERS}
            place = Input(role, known.get(value.dtype, ""))  # type: ignore[union-attr]
        if place is None:
            raise Unsupported(f"reads {_describe(value)}, which is neither a row block, a row "
                              f"scalar, a column nor a part of {self.domain}")
        if place.kind == "lead" and not place.parts:
            raise Unsupported("reads a number for each part of a row")
        assert isinstance(value, torch.Tensor)
        if node not in self.inputs:
            if value.dtype not in (ELEMENTS if place.kind == "row" else SMALL) and not (
                    place.kind == "scalar" and value.dtype in INTEGERS):
                raise Unsupported(f"reads a {place.kind} of {value.dtype}")
            # The operator copies what is not dense, which of group columns is little.
            if place.kind != "group_column" and not is_readable(value, place.kind):
                raise Unsupported("reads a tensor whose rows are not dense")
            parts = [part for i in (*self.inputs.values(), place) for part in i.parts]
            of_groups = any(i.kind in ("group_column", "group_scalar")
                            for i in (*self.inputs.values(), place))
            if cut(self.domain.length, parts) is None or (of_groups and any(
                    d * size > self.domain.length for d, size in parts)):
                raise Unsupported(f"reads {_describe(value)}, which is no part of rows that have "
                                  f"the other parts")
            self.inputs[node] = place
            self.values[node] = self.builder.add("input", len(self.inputs) - 1)
            if place.dtype == "i8":
                self.masks.add(self.values[node])
            elif value.dtype == torch.bool:
                self.values[node] = self.builder.add(
                    "ne", self.values[node], self.builder.constant(0))
        elif self.inputs[node] != place:
            raise Unsupported(f"reads {_describe(value)} in two ways")
        return int(self.values[node])

    def value(self, argument: Any) -> int:
        """The value of a node's argument."""
        if isinstance(argument, (int, float)):
            return self.builder.constant(argument)
        if not isinstance(argument, Node):
            raise Unsupported(f"has the argument {argument}")
        if argument in self.values and argument not in self.inputs:
            if self.over is not None and is_misplaced(argument, self.over, self.domain):
                raise Unsupported(f"spreads {argument.name} in its own way")
            return int(self.values[argument])
        if is_constant(argument):
            return self.builder.constant(
                argument.args[_CONSTANTS[argument.target]])  # type: ignore[arg-type, index]
        return self.read(argument)

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
        for names, make in _HANDLERS:
            if node.target in names:
                value = make(self, node)
                if isinstance(value, int) and self.is_condition(value) != (
                        node.meta["val"].dtype == torch.bool):
                    raise UnsupportedOperation(
                        f"{node.target} of booleans is no operation of row programs")
                self.values[node] = value
                return
        raise UnsupportedOperation(f"{node.target} is no operation of row programs")

    def multiply(self, value: int, factor: float) -> int:
        """A value times a constant."""
        return (value if factor == 1
                else self.builder.add("mul", value, self.builder.constant(factor)))

    def mean(self, value: int) -> int:
        """The mean of a row."""
        return self.multiply(self.builder.add("row_sum", value), 1 / self.domain.length)


def spread_over(node: Node, domain: Domain) -> torch.Tensor | None:
    """The row block, or the lead, that a node makes of operands that are spread over it; None where
    it makes something else, or keeps the elements in their order."""
    value = node.meta.get("val")
    is_spread = node.target not in _VIEWS or node.target is aten.expand.default
    if (node.target in _ROW_SUMS or not is_spread
            or domain.role(value) not in ("row", "lead")):
        return None
    return value


def is_readable(value: torch.Tensor, kind: str | None) -> bool:
    """Whether the elements of a tensor of a kind lie in memory as a kernel reads them."""
    return value.is_contiguous() or (kind == "row" and memory_order(value) is not None)


def is_misplaced(source: Node, over: torch.Tensor, domain: Domain) -> bool:
    """Whether a node that is spread over a row block is not there what its shape says alone: a
    weight of as many channels as there are rows."""
    value = source.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return False
    place = domain.place(value, over)
    return place is None or place.kind != domain.role(value)


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)}".replace("torch.", "")
    return type(value).__name__


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


def _is_exact(argument: Any) -> bool:
    """Whether an operand of a comparison is an integer, or integers, that float32 has."""
    while isinstance(argument, Node) and is_view(argument):
        argument = argument.args[0]
    if isinstance(argument, Node) and is_constant(argument):
        argument = argument.args[_CONSTANTS[argument.target]]  # type: ignore[index]
    if isinstance(argument, Node):
        return argument.target is _NUMBERS
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


def _view(c: Conversion, node: Node) -> int:
    if node.target is not aten.expand.default:
        before, after = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
        orders = memory_order(before), memory_order(after)
        # A copy that changes the order has a contiguous result.
        if (None in orders if node.target is aten.permute.default
                else is_channels_last(before) != is_channels_last(after)):
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
    if source not in ELEMENTS or to not in ELEMENTS:
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
    found = _dims(node)
    if found is None or found[0] != [found[1] - 1] or (
            _memory_shape(node.args[0].meta["val"])[-1] != c.domain.length):  # type: ignore[union-attr]
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
    if seed not in c.inputs:
        c.inputs[seed] = Input("number", "i64")
        c.values[seed] = c.builder.add("input", len(c.inputs) - 1)
    return c.builder.add("random", c.values[seed])


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


_Handler = Callable[[Conversion, Node], Any]
_HANDLERS: list[tuple[Any, _Handler]] = [
    (_UNARY, _unary), (_BINARY, _binary), (_SUMS_OF_TWO, _sum_of_two), (_COMPARISONS, _compare),
    (_LOGIC, _logic), ({aten.logical_not.default, aten.bitwise_not.default}, _not),
    ({aten.where.self}, _select), (_VIEWS, _view),
    ({prims.convert_element_type.default}, _cast), ({aten.pow.Tensor_Scalar}, _power),
    ({aten.square.default}, _square), ({aten.reciprocal.default}, _reciprocal),
    ({aten.sigmoid.default}, _sigmoid), ({aten.relu.default}, _relu),
    ({aten.sign.default}, _sign),
    ({aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default}, _clamp),
    (SOFTMAXES, _softmax), ({inductor_prims.random}, _random),
    ({operator.getitem}, _getitem), ({_NUMBERS}, _column_numbers),
    ({aten.gather.default}, _gather)]
if hasattr(prims, "fma"):
    _HANDLERS.append(({prims.fma.default}, _fma))


def _sum(c: Conversion, node: Node) -> Any:
    return _column_sum(c, node) if sum_kind(node, c.domain) else _row_sum(c, node)


_HANDLERS.append((_ROW_SUMS, _sum))


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
    is_sum = node.target in _ROW_SUMS
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
                result.dtype in INTEGERS and node.target in _OF_INTEGERS)):
            raise Unsupported(f"gives {_describe(result)}")
    role = domain.role(results[0])
    trial = Conversion(domain)
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
            if place and place.kind != "lead":
                trial.inputs[source] = place
        if kind is None or (kind == "number" and source_value.dtype not in SMALL):
            raise Unsupported(f"reads {_describe(source_value)}")
        if over is None and not is_sum and kind not in (role, "number") and (role, kind) != (
                "group_column", "column") and node.target is not aten.gather.default:
            raise Unsupported(f"makes a {role} of a {kind}")
        if source_value.dtype == torch.bool:
            trial.values[source] = trial.builder.add("eq", trial.builder.constant(0),
                                                     trial.builder.constant(0))
        elif source_value.dtype in INTEGERS and (
                node.target in _OF_INTEGERS or node.target is aten.gather.default
                or (node.target in _COMPARISONS and any(map(_is_exact, node.args)))):
            trial.values[source] = trial.builder.add("input", len(trial.values))
        elif source_value.dtype not in FLOATS:
            raise Unsupported(f"reads elements of {source_value.dtype}")
        else:
            trial.values[source] = trial.builder.add("input", len(trial.values))
    trial.convert(node)
