# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of nodes of a PyTorch graph: views, constants, random numbers, and reductions with their
rows."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from .domains import Domain, product, same
from .operations import kind_of, known, reduces_rows

aten = torch.ops.aten


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
    """The dimensions of a sum, from 0, and the rank of its operand without dimensions of one
    element."""
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
    """Whether a node takes the largest element of each block of a row, blocks being of a power of
    two."""
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
    """Rows that are the last ``columns`` dimensions of a tensor, or are of one element; none of one
    row alone."""
    shape = [size for size in value.shape if not same(size, 1)]
    if is_of_one:
        shape.append(1)
    first = len(shape) - columns
    length = product(shape[first:])
    if not isinstance(length, int) or first < 1 or columns < 1:
        return None
    rows = product(shape[:first])
    return None if same(rows, 1) or same(rows, 0) else Domain(rows, length)
