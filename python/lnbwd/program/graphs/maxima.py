# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons with a tensor's own largest elements, and any() as a largest element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg
from torch.utils.checkpoint import CheckpointPolicy

from ..operands import COMPARISONS
from ..row_program import reached
from .nodes import is_view

aten, prims = torch.ops.aten, torch.ops.prims

_LARGEST = (aten.amax.default, aten.amin.default, aten.max.default, aten.min.default)
_COMPARISONS = {getattr(aten, name).Tensor for name in COMPARISONS}


def compared(graph: Graph) -> set[Node]:
    """The tensors that are compared with their own largest or smallest elements, here or by the
    backward pass, as in the gradient of amax, which divides by the number of these. Recomputed with
    other roundings, none might be equal."""
    return {base for target in _LARGEST
            for node in graph.find_nodes(op="call_function", target=target, sort=False) if (
                base := _base_of_size(node.args[0])
            ).meta.get("recompute") is CheckpointPolicy.MUST_SAVE or any(
                user.target in _COMPARISONS
                for one in reached([node], lambda one: filter(is_view, one.users))
                for user in one.users)}


def _base_of_size(node: Node) -> Node:
    """The node whose elements, or whose sizes, a node has."""
    while is_view(node) or node.target is aten.abs.default:
        node = node.args[0]  # type: ignore[assignment]
    return node


def _new_node(graph: Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> Node:
    """A call with its fake value. The graph has none that fails."""
    value = target(*map_arg(arguments, lambda n: n.meta["val"]), **options)
    node = graph.call_function(target, arguments, options)
    node.meta["val"] = value
    return node


def turn_to_maxima(graph: Graph, combines: Callable[[Node], Any]) -> None:
    """Has whether any is true be the largest of ones and zeros, where that combines rows: kernels
    do so by sums and maxima."""
    for node in list(graph.nodes):
        if node.target not in (aten.any.dim, aten.any.dims, aten.any.default):
            continue
        source, *rest = node.args
        with graph.inserting_before(node), source.meta["val"].fake_mode:
            is_true = _new_node(graph, aten.ne.Scalar, (source, 0))
            term = _new_node(graph, prims.convert_element_type.default, (is_true, torch.float32))
            most = _new_node(graph, aten.amax.default, (term, *rest), **node.kwargs)
            new = _new_node(graph, aten.ne.Scalar, (most, 0))
        if combines(most):
            node.replace_all_uses_with(new)
            graph.erase_node(node)
        else:
            for unused in (new, most, term, is_true):
                graph.erase_node(unused)
