# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random inputs of a graph, to run it on: whatever they are, no index is outside of its table."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, Node

from lnbwd.program.graphs.nodes import of_kinds
from lnbwd.program.row_program import reached

aten = torch.ops.aten

_MEAN, _SHARE_OF_TRUE = 0.5, 0.7

_INTEGERS = {torch.int64, torch.int32}

_VIEWS = {*of_kinds("view"), aten.transpose.int, aten.t.default, aten.slice.Tensor, aten.select.int}

_INDEXED = {aten.embedding, aten.gather, aten.index, aten._unsafe_index}
"""What reads places of its first operand."""

_SCATTERS = {aten.scatter, aten.scatter_add, aten.scatter_reduce, aten.index_put, aten.index_put_,
             aten._unsafe_index_put, aten._unsafe_masked_index_put_accumulate,
             aten.embedding_dense_backward}


def elements(value: Tensor) -> int:
    """How many elements of memory a tensor of some strides reaches over."""
    return 1 + sum((size - 1) * stride
                   for size, stride in zip(value.shape, value.stride(), strict=True))


def random_inputs(graph: Graph, values: Sequence[Tensor], generator: torch.Generator,
                  has_special: bool = False) -> list[Tensor]:
    """Tensors with the types and strides of ``values``, for a graph's inputs: normal numbers, whose
    mean is not 0, so that sums do not cancel; conditions, of which more hold than do not; and
    integers that are indices of all that they index.

    Args:
        graph: the graph, with fake values.
        values: what its inputs are like.
        generator: makes the numbers, on its device.
        has_special: whether a NaN and infinities are among the numbers, but for those that become
            integers, which are 1 and larger.
    """
    integers = filter(_is_integer, graph.nodes)
    positions = reached(integers, lambda one: [
        source for source in one.all_input_nodes if not _is_of(source, {torch.bool})])
    options: dict[str, Any] = {"generator": generator, "device": generator.device}
    made = []
    for node, value in zip(graph.find_nodes(op="placeholder"), values, strict=True):
        count, dtype = elements(value), value.dtype
        if dtype == torch.bool:
            memory = torch.rand(count, **options) < _SHARE_OF_TRUE
        elif not dtype.is_floating_point:
            memory = torch.randint(limit(node), (count,), **options).to(dtype)
        else:
            memory = (torch.randn(count, **options) + _MEAN).to(dtype)
            if node in positions:
                memory = memory.abs() + 1
            elif has_special and count >= 64:
                memory[torch.randperm(count, **options)[:3]] = torch.tensor(
                    [math.nan, math.inf, -math.inf], dtype=dtype, device=generator.device)
        made.append(memory.as_strided(value.shape, value.stride()))
    return made


def _is_of(node: Node, dtypes: Container[torch.dtype]) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.dtype in dtypes


def _is_integer(node: Node) -> bool:
    return _is_of(node, _INTEGERS)


def is_scatter(node: Node) -> bool:
    """Whether a node writes to places of a tensor."""
    return getattr(node.target, "overloadpacket", None) in _SCATTERS


def _has_index(node: Node) -> bool:
    return getattr(node.target, "overloadpacket", None) in _INDEXED or is_scatter(node)


def _base_of(node: Node) -> Node:
    """What a node is a view of."""
    while node.target in _VIEWS:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _origin(node: Node) -> Node:
    """What the integers of a node are but for their order, and for what takes negative ones to
    the end of a table."""
    while node.target in _VIEWS or node.target is aten.remainder.Scalar:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _indexed_by(node: Node, user: Node) -> Sequence[int] | None:
    """The sizes of what ``user`` indexes with the integers of a node; None if they are its
    table."""
    arguments: Any = user.args
    table, place, *_ = arguments
    if _base_of(table) is _base_of(node):
        return None
    shape: Sequence[int] = table.meta["val"].shape
    if isinstance(place, int):
        return shape[place:][:1]
    if user.target is aten.embedding.default:
        return shape[:1]
    if isinstance(place, list) and all(map(_is_integer, filter(None, place))):
        return [size for size, index in zip(shape, place, strict=False) if index is node]
    return shape


def limit(node: Node) -> int:
    """What the integers of an input may be smaller than: the least size of what they index; 1 if an
    index is computed of them; 2 if they are none."""
    sizes: list[int] = []
    for one in reached([node], lambda one: filter(_is_integer, one.users)):
        for user in filter(_has_index, one.users):
            if (found := _indexed_by(one, user)) is not None:
                if _origin(one) is not node:
                    return 1
                sizes += found
    return min(sizes, default=2)
