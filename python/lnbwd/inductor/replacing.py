# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts one operator, ``lnbwd::_region``, in the place of a region of a graph."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, Node

from ..graphs.conversion import Unsupported
from ..graphs.domains import is_permuted, memory_order, repeated_dims, same
from ..graphs.edits import REPLACED, TAKEN, erase_unused, new_node
from ..graphs.fusion import may_have_gaps
from ..graphs.nodes import STORED, is_seed, memory_of, stored
from .random_inputs import elements
from .regions import Region


def _shape(node: Node, graph: Graph) -> list[Any] | None:
    """The shape of a node as arguments of a view; None if it cannot be written down."""
    shape: list[Any] = list(node.meta["val"].shape)
    symbols = [place for place, size in enumerate(shape) if not isinstance(size, int)]
    if len(symbols) > 1:
        by_symbol = {str(n.meta["val"]): n for n in graph.nodes
                     if isinstance(n.meta.get("val"), torch.SymInt)}
        for place in symbols[1:]:
            found = by_symbol.get(str(shape[place]))
            if found is None:
                return None
            shape[place] = found
    if symbols:
        shape[symbols[0]] = -1
    return shape


def _in_order(graph: Graph, node: Node, value: torch.Tensor) -> Node:
    """A dense tensor with its dimensions in the order of a value's memory."""
    if not is_permuted(value):
        return node
    return new_node(graph, torch.ops.aten.permute.default, (node, list(memory_order(value) or ())))


def _flat(graph: Graph, node: Node, count: int) -> Node:
    """The ``count`` elements of memory from a view's first one on."""
    found = memory_of(node)
    assert found is not None
    base, offset = found
    value = stored(base) if STORED in node.meta else base.meta["val"]
    if memory_order(value) is not None:
        flat = new_node(graph, torch.ops.aten.reshape.default, (
            _in_order(graph, base, value), [-1]))
    else:
        flat = new_node(graph, torch.ops.aten.as_strided.default, (base, [elements(value)], [1]))
    if count == flat.meta["val"].numel():
        return flat
    return new_node(graph, torch.ops.aten.slice.Tensor, (flat, 0, offset, offset + count))


def replace(graph: Graph, region: Region) -> None:
    """Puts the operator in the place of a region, or leaves the graph as it was."""
    before = set(graph.nodes)
    regions = (*region.then, region)
    try:
        replacements = [pair for one in regions for pair in _make_call(graph, one)]
    except BaseException:
        erase_unused(graph, [node for node in graph.nodes if node not in before])
        raise
    for node, replacement in replacements:
        node.replace_all_uses_with(replacement)
        node.meta[REPLACED], node.meta[TAKEN] = replacement, True
    for one in regions:
        erase_unused(graph, [*one.shared, *one.nodes, *one.tails])


def _make_call(graph: Graph, region: Region) -> list[tuple[Node, Node]]:
    """Puts the operator beside a region, and gives what stands for each of its results."""
    program = region.program
    assert program is not None
    permute = torch.ops.aten.permute.default
    shapes = [[_shape(node, graph) for node in nodes] for _, nodes in region.outputs]
    if any(shape is None for group in shapes for shape in group):
        raise Unsupported("a shape with several symbols cannot be written down")
    text = program.text()
    mode = next(n.meta["val"].fake_mode for n in region.inputs)
    inputs = list(region.inputs)
    # Where its first result is used, so that none is in memory before it is needed: what a
    # checkpoint computes again would be, for all layers, if regions came as early as they can.
    inside = set(region.nodes)
    place = min(user for _, nodes in region.outputs for node in nodes for user in node.users
                if user not in inside)
    with graph.inserting_before(place), mode:
        for index, node in enumerate(inputs):
            operand = program.inputs[index]
            for dim in repeated_dims(node.meta["val"]):
                node = new_node(graph, torch.ops.aten.slice.Tensor, (node, dim, 0, 1))
            if operand.is_strided:
                inputs[index] = _flat(graph, node, operand.row_length(program.length))
            else:
                inputs[index] = _in_order(
                    graph, node, stored(node)) if operand.kind == "row" else node
        if program.has_groups and program.groups is None and not any(
                i.dims.tells_groups for i in program.inputs):
            # The first row block says how many groups there are.
            first = next(n for n, i in zip(inputs, program.inputs, strict=True) if i.kind == "row")
            assert region.domain.groups is not None
            if not same(first.meta["val"].shape[0], region.domain.groups):
                raise Unsupported("the number of its groups cannot be written down")
        for index, node in enumerate(inputs):
            if is_seed(node):  # Where it lies among the seeds, without a copy.
                seeds, number = node.args[:2]
                inputs[index] = new_node(graph, torch.ops.aten.select.int, (seeds, 0, number))
        call = new_node(graph, torch.ops.lnbwd._region.default, (inputs, text))
        for node in filter(may_have_gaps, inputs):  # What has is copied for the region.
            node.meta["dislike_padding"] = True
        made: dict[int, Node] = {}
        replacements = []
        for (index, nodes), wanted in zip(region.outputs, shapes, strict=True):
            item = (new_node(graph, torch.ops.aten.clone.default, (made[index],)) if index in made
                    else made.setdefault(index, new_node(graph, operator.getitem, (call, index))))
            for node, shape in zip(nodes, wanted, strict=True):
                assert shape is not None
                replacement = item
                # What is strided lies where it is stored, in whatever order it is computed.
                value = stored(node)
                if is_permuted(value):
                    order = memory_order(value) or ()
                    whole = new_node(graph, torch.ops.aten.reshape.default, (
                        replacement, [shape[dim] for dim in order]))
                    replacement = new_node(graph, permute, (
                        whole, [order.index(dim) for dim in range(len(order))]))
                elif list(item.meta["val"].shape) != list(node.meta["val"].shape):
                    replacement = new_node(graph, torch.ops.aten.reshape.default, (
                        replacement, shape))
                if node.meta["val"].dtype == torch.uint8:
                    replacement = new_node(graph, torch.ops.aten.view.dtype, (
                        replacement, node.meta["val"].dtype))
                replacements.append((node, replacement))
    return replacements
