# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over the first and the last dimensions at once, as batch norms of ``[B, C, H, W]``
have them: over the last, which are those of rows, and over the first of what these give, which is
small.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._inductor.graph import GraphLowering
from torch.fx import Graph, Node, map_arg

from .convert import product, same

__all__ = ["Split", "erase_unused", "merge", "new_node", "split"]

aten = torch.ops.aten


@dataclass(frozen=True)
class Split:
    """A sum, or a variance with its mean, that was split.

    Attributes:
        target, args, kwargs, meta: the node that it was.
        results: what stands for it; of a variance with its mean, for each of the two by its place
            in the pair, and the ``meta`` of the node that took it.
        partial: the reduction over the last dimensions.
        made: all nodes that were made.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]
    results: list[tuple[int | None, Node, dict[str, Any]]]
    partial: Node
    made: list[Node]


def split(graph: Graph) -> list[Split]:
    """Splits such sums, and variances with their means, of contiguous tensors of float32."""
    if _may_reorder(graph):
        return []
    result = []
    for node in list(graph.nodes):
        if (node.target not in _SPLITS or len(node.args) < 2
                or node.kwargs.get("correction") not in (None, 0, 1)):
            continue
        value = node.args[0].meta["val"]
        last = _last(value, node.args[1])
        is_pair = node.target is aten.var_mean.correction
        if is_pair and not isinstance(value.numel(), int):
            continue
        if not last or value.dtype != torch.float32 or not value.is_contiguous():
            continue
        whole = (node.target, node.args, dict(node.kwargs), dict(node.meta))
        before = set(graph.nodes)
        with graph.inserting_before(node), value.fake_mode:
            partial, values = _SPLITS[node.target](graph, node, last)
        made = [new for new in graph.nodes if new not in before]
        results = []
        for place, item in ([(item.args[1], item) for item in node.users] if is_pair
                            else [(None, node)]):
            results.append((place, values[place or 0], dict(item.meta)))
            item.replace_all_uses_with(values[place or 0])
        erase_unused(graph, [node, *node.users])
        result.append(Split(*whole, results, partial, made))
    return result


def merge(graph: Graph, splits: Sequence[Split]) -> None:
    """Makes those what they were whose partial reductions are still in the graph."""
    nodes = set(graph.nodes)
    for one in splits:
        if one.partial not in nodes:
            continue
        with graph.inserting_before(one.partial):
            node = graph.call_function(one.target, one.args, one.kwargs)
            node.meta = one.meta
            for place, value, meta in one.results:
                item = node
                if place is not None:
                    item = graph.call_function(operator.getitem, (node, place))
                    item.meta = meta
                value.replace_all_uses_with(item)
        erase_unused(graph, one.made)


def _split_sum(graph: Graph, node: Node, last: list[int]) -> tuple[Node, list[Node]]:
    partial = new_node(graph, node.target, (node.args[0], last, True))
    return partial, [new_node(graph, node.target, (partial, *node.args[1:]), **node.kwargs)]


def _split_variance(graph: Graph, node: Node, last: list[int]) -> tuple[Node, list[Node]]:
    """The variance is the mean of the rows' variances and the variance of their means."""
    operand: Any = node.args[0]
    dims: Any = node.args[1]
    keep = bool(node.kwargs.get("keepdim", False))
    partial = new_node(graph, node.target, (operand, last), correction=0, keepdim=True)
    variances, means = (new_node(graph, operator.getitem, (partial, i)) for i in (0, 1))
    within = new_node(graph, aten.mean.dim, (variances, dims, keep))
    between = new_node(graph, aten.var.correction, (means, dims), correction=0, keepdim=keep)
    variance = new_node(graph, aten.add.Tensor, (within, between))
    count: Any = product(operand.meta["val"].shape[d] for d in dims)
    correction = node.kwargs.get("correction")
    if correction != 0:
        variance = new_node(graph, aten.mul.Tensor, (variance, count / (count - 1)))
    return partial, [variance, new_node(graph, aten.mean.dim, (means, dims, keep))]


_SPLITS: dict[Any, Any] = {aten.sum.dim_IntList: _split_sum,
                           aten.var_mean.correction: _split_variance}


def new_node(graph: Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> Node:
    """A call with its fake value."""
    node = graph.call_function(target, arguments, options)
    values = map_arg(arguments, lambda n: n.meta["val"])
    node.meta["val"] = target(*values, **options)
    return node


def erase_unused(graph: Graph, nodes: Sequence[Node]) -> None:
    """Erases those nodes, in the order of the graph, that have no users."""
    for node in reversed(nodes):
        if not node.users:
            graph.erase_node(node)


def _last(value: torch.Tensor, dims: Any) -> list[int]:
    """The last dimensions among those of a sum, if it is one over first and last dimensions and
    over none between them."""
    summed = {d % value.dim() for d in dims}
    kept = [d for d in range(value.dim()) if d not in summed]
    if not kept or kept != list(range(kept[0], kept[-1] + 1)):
        return []
    first, last = range(kept[0]), list(range(kept[-1] + 1, value.dim()))
    length = product(value.shape[d] for d in last)
    if same(product(value.shape[d] for d in first), 1) or not isinstance(length, int):
        return []
    return last if length > 1 else []


def _may_reorder(graph: Graph) -> bool:
    """Whether Inductor will make images of this graph channels-last."""
    return bool(graph.owning_module is not None and GraphLowering.decide_layout_opt(
        graph.owning_module, is_inference=False))
