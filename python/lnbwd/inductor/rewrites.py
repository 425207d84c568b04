# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of a graph that change no result: regions read less afterwards, or take more."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node

from .domains import same
from .nodes import NUMBERS, is_view
from .partial_sums import erase_unused, new_node

aten = torch.ops.aten


def simplify(graph: Graph) -> None:
    """All rewrites, in place."""
    _peel_biases(graph)
    _slice_tables(graph)
    _spread_indices(graph)


def _peel_biases(graph: Graph) -> None:
    """Has the bias of a convolution be added behind it, as Inductor has it on a GPU: in the kernels
    that use the result, regions among them. (Products of 1x1 kernels, of which Inductor may make
    matrix products with a bias, are its own.)"""
    config = torch._inductor.config
    if config.max_autotune or config.max_autotune_gemm or config.conv_1x1_as_mm:
        return
    for node in graph.find_nodes(op="call_function", target=aten.convolution.default):
        bias, value = node.args[2], node.meta["val"]
        if bias is None or same(value.shape[1], 0):
            continue
        with graph.inserting_before(node), value.fake_mode:
            whole = new_node(graph, node.target, (*node.args[:2], None, *node.args[3:]))
            row = new_node(graph, aten.reshape.default, (bias, [-1] + [1] * (value.dim() - 2)))
            new = new_node(graph, aten.add.Tensor, (whole, row))
        node.replace_all_uses_with(new)
        erase_unused(graph, [node])


def _slice_tables(graph: Graph) -> None:
    """Has rows that follow each other in a table be a slice of it: learned positions are such."""
    for node in list(graph.nodes):
        if node.target is not aten.embedding.default or any(node.args[3:]):
            continue
        table, index = node.args[:2]
        found = _first_of(index)
        shape = index.meta["val"].shape
        if found is None or any(not isinstance(n, int) for n in (*table.meta["val"].shape, *shape)):
            continue
        first, count = found
        if shape[-1] != count or not 0 <= first <= table.meta["val"].shape[0] - count:
            continue
        with graph.inserting_before(node), node.meta["val"].fake_mode:
            new = new_node(graph, aten.slice.Tensor, (table, 0, first, first + count))
            for _ in shape[1:]:
                new = new_node(graph, aten.unsqueeze.default, (new, 0))
            if list(new.meta["val"].shape) != list(node.meta["val"].shape):
                new = new_node(graph, aten.expand.default, (new, list(node.meta["val"].shape)))
        node.replace_all_uses_with(new)
        erase_unused(graph, [node])


def _spread_indices(graph: Graph) -> None:
    """Has rows of a table that are added to each sample be taken for each of them: learned
    positions that are indices are row blocks then, which Inductor computes in place as well."""
    for node in graph.find_nodes(op="call_function", target=aten.embedding.default):
        shapes = {tuple(user.meta["val"].shape) for user in node.users
                  if torch.Tag.pointwise in getattr(user.target, "tags", ())}
        own = tuple(node.meta["val"].shape)
        if len(shapes) != 1 or any(torch.Tag.pointwise not in getattr(user.target, "tags", ())
                                   for user in node.users):
            continue
        [shape] = shapes
        if shape[1:] != own[1:] or own[0] != 1 or shape[0] == 1 or len(shape) < 3:
            continue
        table, index, *rest = node.args
        with graph.inserting_before(node), node.meta["val"].fake_mode:
            spread = new_node(graph, aten.expand.default, (index, list(shape[:-1])))
            new = new_node(graph, aten.embedding.default, (table, spread, *rest))
        node.replace_all_uses_with(new)
        erase_unused(graph, [node])


def _first_of(node: Any) -> tuple[int, int] | None:
    """The first of integers that follow each other along the last dimension, whatever the others
    are, and how many there are; None of anything else."""
    if not isinstance(node, Node):
        return None
    if node.target is NUMBERS:
        start, step = (node.kwargs.get(name, default) for name, default in (
            ("start", 0), ("step", 1)))
        return (start, node.args[0]) if step == 1 and isinstance(start, int) else None  # type: ignore[return-value]
    if node.target is aten.add.Tensor and isinstance(node.args[1], int) and not node.kwargs:
        found = _first_of(node.args[0])
        return None if found is None else (found[0] + node.args[1], found[1])
    if is_view(node) and node.target not in (aten.permute.default, aten.as_strided.default):
        found = _first_of(node.args[0])
        value = node.meta["val"]
        return found if found is not None and value.dim() and value.shape[-1] == found[1] else None
    return None
