# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that are added to places of a tensor, as sums of segments.

Such are gradients of embeddings and of indexed tensors. The operator ``lnbwd::_segment_sum``
computes them in one order, where Inductor would call PyTorch's kernels or, in 16 bits, add to
memory in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from ..ops.segment_sum import DTYPES, MOST_ELEMENTS, segment_sum

aten, prims = torch.ops.aten, torch.ops.prims


def sum_segments(graph: Graph, is_ordered: Callable[[torch.Tensor], bool]) -> None:
    """Replaces additions to places of tensors by sums of segments, where their sizes are known.

    Args:
        graph: the graph.
        is_ordered: whether what is added, of which it gets a fake tensor, is added in one order.
    """
    for target, (place, make) in _ADDITIONS.items():
        for node in graph.find_nodes(op="call_function", target=target):
            added = node.args[place].meta["val"]
            if added.dtype in DTYPES and is_ordered(added):
                with graph.inserting_before(node):
                    sums = make(graph, *node.args)
                if sums is not None:
                    node.replace_all_uses_with(sums)
                    sums.meta = dict(node.meta)
                    graph.erase_node(node)


def _of_embedding(graph: Graph, gradient: Node, indices: Node, count: Any, padding: Any,
                  scales: bool) -> Node | None:
    shape, rows = gradient.meta["val"].shape, indices.meta["val"].numel()
    if scales or not _may_be(*shape) or not _may_be(count, shape[-1]):
        return None
    values, indices = (graph.call_function(aten.reshape.default, (node, sizes))
                       for node, sizes in ((gradient, [rows, shape[-1]]), (indices, [rows])))
    return graph.call_function(segment_sum, (values, indices, count, padding))


def _of_put(graph: Graph, base: Node, indices: Sequence[Node | None], values: Node,
            accumulates: bool = False) -> Node | None:
    size = base.meta["val"].shape
    found = [index for index in indices if index is not None]
    if not accumulates or [*indices[:len(found)]] != found or not all(
            index.meta["val"].dtype in (torch.int32, torch.int64) for index in found):
        return None
    places = torch.broadcast_shapes(*(index.meta["val"].shape for index in found))
    outer, inner = size[:len(found)], size[len(found):]
    if not _may_be(*size) or not _may_be(*places, *inner):
        return None
    call = graph.call_function
    segments: Any = None
    for index, of in zip(found, outer, strict=True):
        # A negative index counts from the end.
        is_negative = call(aten.lt.Scalar, (index, 0))
        place = call(aten.where.self, (is_negative, call(aten.add.Tensor, (index, of)), index))
        segments = place if segments is None else call(
            aten.add.Tensor, (call(aten.mul.Tensor, (segments, of)), place))
    return _add(graph, base, call(aten.expand.default, (values, [*places, *inner])),
                call(aten.expand.default, (segments, places)), math.prod(inner))


def _of_scatter(graph: Graph, base: Node, dim: int, index: Node, values: Node) -> Node | None:
    # In 16 bits, sorting as many numbers takes longer than atomics.
    size, places = base.meta["val"].shape, index.meta["val"].shape
    if not (torch.are_deterministic_algorithms_enabled() and size and _may_be(*size)
            and _may_be(*places) and values.meta["val"].shape == places):
        return None
    call = graph.call_function
    segments: Any = None
    for place, (of, count) in enumerate(zip(size, places, strict=True)):
        number = index
        if place != dim % len(size):
            shape = [1] * len(size)
            shape[place] = count
            number = call(aten.reshape.default, (call(prims.iota.default, (count,), {
                "start": 0, "step": 1, "dtype": torch.int64,
                "device": index.meta["val"].device, "requires_grad": False}), shape))
        segments = number if segments is None else call(
            aten.add.Tensor, (call(aten.mul.Tensor, (segments, of)), number))
    return _add(graph, base, values, segments, 1)


_ADDITIONS: dict[Any, tuple[int, Callable[..., Node | None]]] = {
    aten.embedding_dense_backward.default: (0, _of_embedding),
    aten.index_put.default: (2, _of_put),
    aten._unsafe_index_put.default: (2, _of_put),
    aten.scatter_add.default: (3, _of_scatter)}
"""The argument that an operation adds, and the replacement of its call."""


def _add(graph: Graph, base: Node, values: Node, segments: Node, length: int) -> Node | None:
    """A tensor plus the sums of rows of so many elements; ``segments`` gives their places."""
    call, size = graph.call_function, [*base.meta["val"].shape]
    segments = call(aten.reshape.default, (segments, [-1]))
    values = call(aten.reshape.default, (values, [-1, length]))
    sums = call(segment_sum, (values, segments, math.prod(size) // max(length, 1), -1))
    sums = call(aten.reshape.default, (sums, size))
    is_zero = base.target is aten.full.default and base.args[1] == 0
    return sums if is_zero else call(aten.add.Tensor, (base, sums))


def _may_be(*sizes: Any) -> bool:
    """Whether row programs have tensors of these sizes, which have to be known."""
    return all(isinstance(size, int) for size in sizes) and 0 < math.prod(sizes) <= MOST_ELEMENTS
