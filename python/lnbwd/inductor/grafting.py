# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Works on a copy of a graph, and puts into the graph itself only what differs at the end.

A pass rewrites far more of a graph than it takes in the end. Inductor makes other kernels of other
nodes, so nodes that compute what they did before must be those of the graph itself.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor.pattern_matcher import stable_topological_sort
from torch.fx import Graph, Node, map_arg

from ..graphs.edits import REPLACED, TAKEN
from ..graphs.fusion import is_alias
from ..rowprogram import reached
from .partial_sums import latest

_HINTS = ("dislike_padding",)
"""What a pass tells Inductor about nodes that stay."""


def copy_of(graph: Graph) -> tuple[Graph, dict[Node, Node]]:
    """A copy of a graph, and for each of its nodes the one in the copy."""
    copy, copies = Graph(graph.owning_module), dict[Node, Node]()
    copy.output(copy.graph_copy(graph, copies)).meta = dict(graph.output_node().meta)
    return copy, copies


def graft(graph: Graph, changed: Graph, copies: dict[Node, Node]) -> None:
    """Has a graph compute what its changed copy does. Nodes that are in the copy as they were stay,
    and so do those whose copy was replaced by what no region has part in.

    Args:
        graph: the graph.
        changed: what :func:`copy_of` gave, changed.
        copies: for each node of the graph the one in the copy, which may be gone.
    """
    nodes = set(changed.nodes)
    originals = {copy: node for node, copy in copies.items() if copy in nodes}
    replaced: dict[Node, Node] = {}
    gone: dict[Any, Node] = {}
    for node, copy in copies.items():
        if copy not in nodes:
            gone.setdefault(_what(node.target, node.args, node.kwargs), node)
            while copy not in nodes and REPLACED in copy.meta and TAKEN not in copy.meta:
                copy = copy.meta[REPLACED]
            if copy in nodes and copy not in originals:
                replaced.setdefault(copy, node)
    made: dict[Node, Node] = {}
    new: list[Node] = []
    following: dict[Node, Node] = {}
    place = graph.output_node()
    for node in reversed(changed.nodes):
        following[node] = place = originals.get(node, place)

    def is_restored(node: Node) -> bool:
        """Whether no region reads what stands for a node, or has part in computing it."""
        if node not in replaced:
            return False
        operands = {latest(copies[one], nodes) for one in replaced[node].all_input_nodes}
        return not any(map(_is_region, [
            *reached([node], lambda one: [user for user in one.users
                                          if is_alias(user) or _is_region(user)]),
            *reached([node], lambda one: () if one in originals or one in operands
                     else one.all_input_nodes)]))

    def operand(node: Node) -> Node:
        """What stands for an operand of a node of the graph; itself, where it does already."""
        if node not in copies:
            return node
        now = latest(copies[node], nodes)
        return make(now) if now in nodes else keep(node, node, operand)

    def keep(node: Node, like: Node, find: Any) -> Node:
        """A node of the graph, with operands like those of another one."""
        arguments = map_arg((like.args, like.kwargs), find)
        if arguments != (node.args, node.kwargs):
            node.args, node.kwargs = arguments
        return node

    def make(node: Node) -> Node:
        """What stands in the graph for a node of the changed copy."""
        if node in made:
            return made[node]
        if node in originals:
            result = keep(originals[node], node, make)
            result.meta.update((key, node.meta[key]) for key in _HINTS if key in node.meta)
        elif is_restored(node):
            result = keep(replaced[node], replaced[node], operand)
        else:
            arguments = map_arg((node.args, node.kwargs), make)
            found = gone.pop(_what(node.target, *arguments), None)
            if found is None:
                with graph.inserting_before(following[node]):
                    found = graph.node_copy(node, make)
                found.meta = {key: value for key, value in node.meta.items()
                              if not key.startswith("lnbwd_")}
                new.append(found)
            result = found
        made[node] = result
        return result

    before = {node for node in graph.nodes if node.users}
    for node in changed.nodes:
        if node.op == "output":
            keep(graph.output_node(), node, make)
        else:
            make(node)
    before.update(new)
    stable_topological_sort(graph)
    for node in reversed(graph.nodes):
        if node in before and not node.users and node.op == "call_function":
            graph.erase_node(node)


def _what(target: Any, args: Any, kwargs: Any) -> Any:
    """What a node computes, of which operands."""
    return target, repr(args), repr(kwargs)


def _is_region(node: Node) -> bool:
    return node.target is torch.ops.lnbwd._region.default
