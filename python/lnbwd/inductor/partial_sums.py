# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums over the first and the last dimensions at once, as batch norms of ``[B, C, H, W]`` have
them: sums over the last, which are row sums, and over the first of what these give, which is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._inductor.graph import GraphLowering
from torch.fx import Graph, Node

from .convert import product

__all__ = ["PartialSums", "merge", "split"]

aten = torch.ops.aten


@dataclass(frozen=True)
class PartialSums:
    """A sum that was split.

    Attributes:
        target, args, kwargs, meta: the node that it was.
        partial: the sum over the last dimensions.
        whole: what is made of that.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]
    partial: Node
    whole: Node


def split(graph: Graph) -> list[PartialSums]:
    """Splits the sums of contiguous tensors of float32."""
    if _may_reorder(graph):
        return []
    result = []
    for node in list(graph.nodes):
        if node.target is not aten.sum.dim_IntList or len(node.args) < 2:
            continue
        value, dims = node.args[0].meta["val"], node.args[1]
        last = _last(value, dims)
        if not last or value.dtype != torch.float32 or not value.is_contiguous():
            continue
        with graph.inserting_before(node), value.fake_mode:
            partial = new_node(graph, node.target, (node.args[0], last, True))
            whole = new_node(graph, node.target, (partial, *node.args[1:]), **node.kwargs)
        result.append(PartialSums(node.target, node.args, dict(node.kwargs), dict(node.meta),
                                  partial, whole))
        node.replace_all_uses_with(whole)
        graph.erase_node(node)
    return result


def merge(graph: Graph, sums: list[PartialSums]) -> None:
    """Makes sums what they were whose partial sums are still in the graph."""
    nodes = set(graph.nodes)
    for one in sums:
        if one.partial not in nodes:
            continue
        with graph.inserting_before(one.partial):
            node = graph.call_function(one.target, one.args, one.kwargs)
        node.meta = one.meta
        one.whole.replace_all_uses_with(node)
        graph.erase_node(one.whole)
        graph.erase_node(one.partial)


def new_node(graph: Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> Node:
    """A call with its fake value."""
    node = graph.call_function(target, arguments, options)
    values = torch.fx.map_arg(arguments, lambda n: n.meta["val"])
    node.meta["val"] = target(*values, **options)
    return node


def _last(value: torch.Tensor, dims: Any) -> list[int]:
    """The last dimensions among those of a sum, if it is one over first and last dimensions and
    over none between them."""
    summed = {d % value.dim() for d in dims}
    kept = [d for d in range(value.dim()) if d not in summed]
    if not kept or kept != list(range(kept[0], kept[-1] + 1)):
        return []
    first, last = list(range(kept[0])), list(range(kept[-1] + 1, value.dim()))
    sizes = [product(value.shape[d] for d in some) for some in (first, last)]
    return last if all(isinstance(size, int) and size > 1 for size in sizes) else []


def _may_reorder(graph: Graph) -> bool:
    """Whether Inductor will make images of this graph channels-last."""
    return bool(graph.owning_module is not None and GraphLowering.decide_layout_opt(
        graph.owning_module, is_inference=False))
