# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The nodes of a PyTorch graph: which tensors are rows, ATen's operations, kinds of nodes.

A :class:`Domain` says which tensors are rows: M rows of N elements. In it a tensor is a row block
(``[..., N]`` of M·N elements), a row scalar (``[..., 1]`` of M), a column (``[N]``), or a lead,
computed for each row and each of its parts: to the program, a row of equal neighbours. A node that
moves elements between these shapes without changing their order is no operation at all.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ..operands import COMPARISONS, ELEMENT_NAMES, FLOAT8

DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
"""The types of numbers that a row program reads and writes."""

FLOATS = {**DTYPES, **{dtype: ELEMENT_NAMES[dtype] for dtype in FLOAT8}}
"""Types of row blocks, without float8's powers of two, to which PyTorch rounds up."""

ELEMENTS = {**FLOATS, torch.bool: "i8"}
"""All of row blocks: masks are among them."""

INTEGERS = {torch.int64: "i64", torch.int32: "i32"}
"""Types of row scalars that are compared with columns' numbers."""

SMALL = {**DTYPES, torch.bool: "i8"}
"""Types of operands with fewer elements than a row block."""

SCALARS = {**SMALL, **INTEGERS}
"""Types of row scalars, and of numbers."""

Number = int | torch.SymInt


def same(first: Number, second: Number) -> bool:
    """Whether two numbers, which may depend on dynamic shapes, are always equal."""
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    return bool(statically_known_true(first == second))


def product(sizes: Any) -> Number:
    """The product of a shape's sizes."""
    result: Number = math.prod(sizes)
    return result


@dataclass(frozen=True)
class Domain:
    """M rows of N elements; M depends on symbols."""

    rows: Number
    length: int

    def role(self, value: Any) -> str | None:
        """A tensor's role: "row", "scalar", "column", "lead", "number" (of all rows), or None."""
        if not isinstance(value, torch.Tensor):
            return None
        if value.dim() == 0:
            return "number"
        count = value.numel()
        # Of rows of one element, what has no dimension for it is a number for each row.
        if same(count, self.rows * self.length) and (self.length > 1 or same(value.shape[-1], 1)):
            return "row"
        if same(count, self.length):
            return "column"
        if same(count, self.rows):
            return "scalar"
        return "lead" if self.repeats(value) else None

    def repeats(self, value: torch.Tensor) -> int | None:
        """How many neighbours in a row each element of a lead stands for; None of anything else."""
        for size in itertools.accumulate(reversed(value.shape), operator.mul):
            if (isinstance(size, int) and 1 < size < self.length and self.length % size == 0
                    and same(value.numel(), self.rows * size)):
                return self.length // size
        return None

    def place(self, value: torch.Tensor, over: torch.Tensor) -> str | None:
        """The operand for a tensor that is spread over a row block or a lead, or None."""
        runs = _runs(value, over)
        if not runs:
            return None if runs is None else (
                "column" if self.length == 1 and value.dim() > 0 else "number")
        repeats = (self.repeats(over) or 1) if self.role(over) == "lead" else 1
        [(distance, size), *others] = [(distance * repeats, size) for distance, size in runs]
        if others:
            return None
        if same(distance, 1) and same(size, self.rows * self.length):
            return "row"
        if same(distance, 1) and same(size, self.length):
            return "column"
        if same(distance, self.length) and same(size, self.rows):
            return "scalar"
        is_lead = (isinstance(distance, int) and distance < self.length
                   and self.length % distance == 0
                   and same(distance * size, self.rows * self.length))
        return "lead" if is_lead else None

    def __str__(self) -> str:
        return f"{self.rows}x{self.length}"


def _runs(value: torch.Tensor, over: torch.Tensor) -> list[tuple[Number, Number]] | None:
    """The dimensions of ``over`` that ``value`` has which is spread over it, neighbours joined,
    outermost first: of each the elements of ``over`` from one index to the next, and their number.
    None if it cannot be spread."""
    if value.dim() > over.dim():
        return None
    runs: list[tuple[Number, Number]] = []
    distance: Number = 1
    is_joined = False
    missing = over.dim() - value.dim()
    for dim in reversed(range(over.dim())):
        size = over.shape[dim]
        own, stride = ((value.shape[dim - missing], value.stride(dim - missing))
                       if dim >= missing else (1, 0))
        if same(size, 1):
            continue
        # What is expanded is there once.
        is_there = same(own, size) and not same(stride, 0)
        if is_there and is_joined:
            runs[0] = (runs[0][0], runs[0][1] * size)
        elif is_there:
            runs.insert(0, (distance, size))
        elif not same(own, 1) and not same(stride, 0):
            return None
        is_joined = is_there
        distance = distance * size
    return runs


aten = torch.ops.aten


class Operation(NamedTuple):
    """Facts about an operation of ATen.

    Attributes:
        kind: "numbers" or "conditions": one node of a row program, of all operands as such; "sum":
            one of two, the second with a factor; "view": its operand's elements in their order (of
            some, only where the memory's is kept); "constant"; "reduction" along dimensions, and
            "softmax" or "norm", reductions that torch.compile's graphs have no more; "total": a
            reduction of all elements; "product", which no row program has; "split" and "part",
            which cut rows; "columns": whole numbers.
        node: the row program's node.
        argument: the place of a constant's number, or of a reduction's dimensions, among the
            arguments.
        place: the result that says where in its row an element is.
        total: what it is to a row program where it combines the elements of all rows.
    """

    kind: str
    node: str = ""
    argument: int = 1
    place: int | None = None
    total: str = ""


_FACTS = {
    **{Operation("numbers", name): name for name in (
        "neg", "abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "tanh",
        "erf", "floor", "ceil", "trunc", "sin", "cos")},
    Operation("numbers", "roundeven"): "round", Operation("numbers", "max"): "maximum",
    Operation("numbers", "min"): "minimum",
    **{Operation("numbers", name): f"{name}.Tensor {name}.Scalar" for name in COMPARISONS},
    **{Operation("sum", name): f"{name}.Tensor {name}.Scalar" for name in ("add", "sub")},
    **{Operation("conditions", name): f"logical_{name} bitwise_{name}.Tensor"
       for name in ("and", "or", "xor")},
    Operation("conditions", "not"): "logical_not bitwise_not",
    Operation("view"): "reshape view _unsafe_view expand unsqueeze squeeze squeeze.dim "
                       "squeeze.dims alias detach clone lift_fresh_copy as_strided permute",
    Operation("constant"): "full", Operation("constant", argument=0): "scalar_tensor",
    Operation("reduction"): "mean.dim var_mean.correction var.correction amin any.dim any.dims",
    Operation("reduction", total="total"): "sum.dim_IntList",
    Operation("reduction", total="total_max"): "amax",
    Operation("reduction", place=0): "argmax argmin",
    Operation("reduction", place=1): "max.dim min.dim",
    Operation("norm", argument=2): "linalg_vector_norm",
    Operation("softmax"): "_softmax _log_softmax logsumexp",
    Operation("total", total="total"): "sum", Operation("total", total="total_max"): "max",
    Operation("total"): "mean any", Operation("product"): "prod.dim_int",
    Operation("split"): "split.Tensor split_with_sizes", Operation("part"): "slice.Tensor",
    Operation("columns"): "arange arange.start arange.start_step"}


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


OPERATIONS: dict[Any, Operation] = {
    _overload(name): facts for facts, names in _FACTS.items() for name in names.split()}
"""All operations with facts besides their conversion."""

_UNKNOWN = Operation("")


def known(target: Any) -> Operation:
    """The facts about an operation; no kind if the table does not have it."""
    return OPERATIONS.get(target, _UNKNOWN)


def of_kinds(*kinds: str) -> list[Any]:
    """All operations of some kinds."""
    return [target for target, operation in OPERATIONS.items() if operation.kind in kinds]


def kind_of(node: Node) -> str:
    """The kind of operation that a node calls."""
    return known(node.target).kind if node.op == "call_function" else ""


def reduces_rows(node: Node) -> bool:
    """Whether a node reduces a tensor along dimensions, as row programs do."""
    target = node.target
    return kind_of(node) in ("reduction", "norm") or target is aten.logsumexp.default


def is_reduction(node: Node) -> bool:
    """Whether a node sums over dimensions, or takes the largest, or the like."""
    return reduces_rows(node) or (kind_of(node) in ("total", "product")
                                  and node.target is not aten.max.default)


def is_view(node: Node) -> bool:
    """Whether a node hands its operand's elements on in another shape."""
    return kind_of(node) == "view"


def is_index(node: Any) -> bool:
    """Whether a node is a view of where in its row an element is."""
    while isinstance(node, Node) and is_view(node):
        node = node.args[0]
    if isinstance(node, Node) and node.target is operator.getitem and node.args[1] == 1:
        source: Any = node.args[0]
        return known(source.target).place == 1
    return isinstance(node, Node) and known(node.target).place == 0


def is_random(node: Node) -> bool:
    """Whether a node's elements are random numbers."""
    return node.op == "call_function" and (
        torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()))


def is_constant(node: Node) -> bool:
    """Whether a node is one number in all its elements."""
    return kind_of(node) == "constant" and isinstance(number_of(node), (int, float))


def number_of(node: Node) -> Any:
    """The number of a constant."""
    return node.args[known(node.target).argument]


def sources(node: Node) -> list[Node]:
    """The nodes whose elements a node computes with."""
    return [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), (torch.Tensor, tuple))]


def summed_dims(node: Node) -> tuple[list[int], int] | None:
    """A sum's dimensions, from 0, and its operand's rank, without those of one element."""
    value = node.args[0].meta.get("val") if isinstance(node.args[0], Node) else None
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return None
    place = known(node.target).argument
    dims = node.args[place] if len(node.args) > place else node.kwargs.get("dim")
    if dims is None:
        dims = list(range(value.dim()))
    if isinstance(dims, int):
        dims = [dims]
    if not isinstance(dims, (list, tuple)) or not all(isinstance(d, int) for d in dims):
        return None
    summed = {int(d) % value.dim() for d in dims}
    # Rows may be of one element.
    last = value.dim() - 1
    is_of_one = last in summed and all(same(value.shape[d], 1) for d in summed)
    order = [d for d in range(value.dim())
             if not same(value.shape[d], 1) or (is_of_one and d == last)]
    return [place for place, d in enumerate(order) if d in summed], len(order)


def row_sum_axis(node: Node) -> Domain | None:
    """The domain of a sum (or a mean, a variance, a largest element) over the last dimensions."""
    if not reduces_rows(node):
        return None
    found = summed_dims(node)
    if found is None or not found[0] or found[0] != list(range(found[0][0], found[1])):
        return None
    value, result = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
    result = result[0] if isinstance(result, tuple) else result
    return _domain(value, len(found[0]), same(result.numel(), value.numel()))


def is_block_max(node: Node, domain: Domain) -> bool:
    """Whether a node takes the largest element of each block, of a power of two, of a row."""
    found = row_sum_axis(node) if node.target is aten.amax.default else None
    return (found is not None and found.length & (found.length - 1) == 0
            and domain.role(node.meta["val"]) == "lead"
            and domain.repeats(node.meta["val"]) == found.length)


def sum_kind(node: Node, domain: Domain) -> str | None:
    """The kind of combination of the domain's rows: "column_sum", "column_max", or None."""
    if node.op != "call_function" or node.target not in (
            aten.sum.dim_IntList, aten.mean.dim, aten.amax.default):
        return None
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    if node.target is aten.mean.dim and not isinstance(value.numel(), int):
        return None
    if node.target is aten.amax.default and not (
            value.is_floating_point() and value.element_size() in (2, 4)):
        return None
    if column_domain(node) != domain:
        return None
    return "column_max" if node.target is aten.amax.default else "column_sum"


def column_domain(node: Node) -> Domain | None:
    """The domain over whose rows a reduction goes, if it is one over the first dimensions."""
    found = summed_dims(node)
    if found is None or not found[0] or found[0] != list(range(len(found[0]))):
        return None
    return _domain(node.args[0].meta["val"],  # type: ignore[union-attr]
                   found[1] - len(found[0]))


def _domain(value: torch.Tensor, columns: int = 1, is_of_one: bool = False) -> Domain | None:
    """Rows that are the last ``columns`` dimensions, or of one element; None of one row."""
    shape = [size for size in value.shape if not same(size, 1)]
    if is_of_one:
        shape.append(1)
    first = len(shape) - columns
    length = product(shape[first:])
    if not isinstance(length, int) or first < 1 or columns < 1:
        return None
    rows = product(shape[:first])
    return None if same(rows, 1) or same(rows, 0) else Domain(rows, length)
