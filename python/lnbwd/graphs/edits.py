# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How nodes of a graph are made and erased."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.fx import Graph, Node
from torch.fx.node import map_arg

REPLACED = "lnbwd_replaced"
"""Under this name a node that is no more keeps what stands for it."""

TAKEN = "lnbwd_taken"
"""And under this name that a region computes that."""


def new_node(graph: Graph, target: Any, arguments: tuple[Any, ...], **options: Any) -> Node:
    """A call with its fake value. The graph has none that fails."""
    value = target(*map_arg(arguments, lambda n: n.meta["val"]), **options)
    node = graph.call_function(target, arguments, options)
    node.meta["val"] = value
    return node


def erase_unused(graph: Graph, nodes: Sequence[Node]) -> None:
    """Erases those nodes, in the order of the graph, that have no users."""
    for node in reversed(nodes):
        if not node.users:
            graph.erase_node(node)
