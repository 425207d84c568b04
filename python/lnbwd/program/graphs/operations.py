# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of ATen in the graphs of row functions, with all that is known of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch.fx import Node

from ..operands import COMPARISONS

aten, prims = torch.ops.aten, torch.ops.prims


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


def _operations() -> Iterator[tuple[Any, Operation]]:
    target: Any
    for name in ("neg", "abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt",
                 "tanh", "erf", "floor", "ceil", "trunc", "sin", "cos"):
        yield getattr(aten, name).default, Operation("numbers", name)
    for name, node in (("round", "roundeven"), ("maximum", "max"), ("minimum", "min")):
        yield getattr(aten, name).default, Operation("numbers", node)
    for kind in ("Tensor", "Scalar"):
        for name in COMPARISONS:
            yield getattr(getattr(aten, name), kind), Operation("numbers", name)
        for name in ("add", "sub"):
            yield getattr(getattr(aten, name), kind), Operation("sum", name)
    for name in ("and", "or", "xor"):
        yield getattr(aten, f"logical_{name}").default, Operation("conditions", name)
        yield getattr(aten, f"bitwise_{name}").Tensor, Operation("conditions", name)
    for target in (aten.logical_not, aten.bitwise_not):
        yield target.default, Operation("conditions", "not")
    for target in (aten.reshape, aten.view, aten._unsafe_view, aten.expand, aten.unsqueeze,
                   aten.squeeze, aten.alias, aten.detach, aten.clone, aten.lift_fresh_copy,
                   aten.as_strided, aten.permute):
        yield target.default, Operation("view")
    yield aten.squeeze.dim, Operation("view")
    yield aten.squeeze.dims, Operation("view")
    yield aten.full.default, Operation("constant")
    yield aten.scalar_tensor.default, Operation("constant", argument=0)
    for target in (aten.mean.dim, aten.var_mean.correction, aten.var.correction, aten.amin.default,
                   aten.any.dim, aten.any.dims):
        yield target, Operation("reduction")
    yield aten.sum.dim_IntList, Operation("reduction", total="total")
    yield aten.amax.default, Operation("reduction", total="total_max")
    for name in ("max", "min"):
        yield getattr(aten, f"arg{name}").default, Operation("reduction", place=0)
        yield getattr(aten, name).dim, Operation("reduction", place=1)
    yield aten.linalg_vector_norm.default, Operation("norm", argument=2)
    for target in (aten._softmax, aten._log_softmax, aten.logsumexp):
        yield target.default, Operation("softmax")
    yield aten.sum.default, Operation("total", total="total")
    yield aten.max.default, Operation("total", total="total_max")
    yield aten.mean.default, Operation("total")
    yield aten.any.default, Operation("total")
    yield aten.prod.dim_int, Operation("product")
    yield aten.split.Tensor, Operation("split")
    yield aten.split_with_sizes.default, Operation("split")
    yield aten.slice.Tensor, Operation("part")
    for target in (aten.arange.default, aten.arange.start, aten.arange.start_step):
        yield target, Operation("columns")


OPERATIONS: dict[Any, Operation] = dict(_operations())
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
