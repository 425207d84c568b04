# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The smallest elements of rows, and whether any is true, as largest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg
from torch.utils.checkpoint import CheckpointPolicy

from ..row_program import reached
from .nodes import is_view

aten, prims = torch.ops.aten, torch.ops.prims

ANY = (aten.any.dim, aten.any.dims, aten.any.default)
LARGEST = {aten.amax.default, aten.amin.default, aten.max.default, aten.min.default}
COMPARISONS = {getattr(aten, name).Tensor for name in ("eq", "ne", "ge", "gt", "le", "lt")}


def compared(graph: Graph) -> set[Node]:
    """What is compared with its own largest or smallest elements, here or by the backward pass, as
    in the gradient of amax, which divides by the number of those. Computed again with other
    roundings it might have none."""
    return {base for target in LARGEST
            for node in graph.find_nodes(op="call_function", target=target, sort=False) if (
                base := base_of_size(node.args[0])
            ).meta.get("recompute") is CheckpointPolicy.MUST_SAVE or any(
                user.target in COMPARISONS
                for one in reached([node], lambda one: filter(is_view, one.users))
                for user in one.users)}


def base_of_size(node: Node) -> Node:
    """What a node has the elements of, or their sizes."""
    while is_view(node) or node.target is aten.abs.default:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _new_node(graph: Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> Node:
    """A call with its fake value. The graph has none that fails."""
    value = target(*map_arg(arguments, lambda n: n.meta["val"]), **options)
    node = graph.call_function(target, arguments, options)
    node.meta["val"] = value
    return node


def _erase_unused(graph: Graph, nodes: Sequence[Node]) -> None:
    """Erases those nodes, in the order of the graph, that have no users."""
    for node in reversed(nodes):
        if not node.users:
            graph.erase_node(node)


def turn_to_maxima(graph: Graph, targets: tuple[Any, ...],
                   combines: Callable[[Node], Any]) -> None:
    """Has the smallest elements of rows be the largest negated ones, and whether any is true the
    largest of those numbers, where that combines rows: kernels do so by sums and maxima."""
    read = compared(graph)
    for node in list(graph.nodes):
        if node.target not in targets:
            continue
        source, *rest = node.args
        value = source.meta["val"]
        if base_of_size(source) in read or (
                node.target is aten.amin.default and not value.is_floating_point()):
            continue
        with graph.inserting_before(node), value.fake_mode:
            if node.target is aten.amin.default:
                term = _new_node(graph, aten.neg.default, (source,))
            else:
                term = _new_node(graph, prims.convert_element_type.default, (
                    _new_node(graph, aten.ne.Scalar, (source, 0)), torch.float32))
            most = _new_node(graph, aten.amax.default, (term, *rest), **node.kwargs)
            new = (_new_node(graph, aten.neg.default, (most,)) if node.target is aten.amin.default
                   else _new_node(graph, aten.ne.Scalar, (most, 0)))
        if combines(most):
            node.replace_all_uses_with(new)
            _erase_unused(graph, [node])
        else:
            _erase_unused(graph, [*term.all_input_nodes, term, most, new])
