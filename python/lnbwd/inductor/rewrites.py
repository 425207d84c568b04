# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of a graph that change no result: regions read less afterwards, or take more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from .domains import same
from .nodes import NUMBERS, is_constant, is_view, sources
from .partial_sums import erase_unused, new_node

aten = torch.ops.aten


def simplify(graph: Graph) -> None:
    """All rewrites, in place."""
    _peel_biases(graph)
    _slice_scatters(graph)
    _slice_tables(graph)
    _index_constants(graph)
    _spread_indices(graph)
    _compose_copies(graph)
    _spread_late(graph)


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


def _slice_scatters(graph: Graph) -> None:
    """Has what is put at one index be put at a slice of one."""
    for node in list(graph.nodes):
        if node.target is not aten.select_scatter.default:
            continue
        whole, source, dim, index = node.args
        if isinstance(index, int) and index >= 0:
            with graph.inserting_before(node), node.meta["val"].fake_mode:
                one = new_node(graph, aten.unsqueeze.default, (source, dim))
                new = new_node(graph, aten.slice_scatter.default, (
                    whole, one, dim, index, index + 1))
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


def _index_constants(graph: Graph) -> None:
    """Has what is taken of equal numbers be such: a padding that masks nothing."""
    for node in graph.find_nodes(op="call_function", target=aten.index.Tensor):
        source: Any = node.args[0]
        if is_constant(source) and source.target is aten.full.default:
            with graph.inserting_before(node), node.meta["val"].fake_mode:
                new = new_node(graph, source.target, (
                    list(node.meta["val"].shape), source.args[1]), **source.kwargs)
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


def _compose_copies(graph: Graph) -> None:
    """Has copies of copies be one: patches that mobile vision transformers gather from channels."""
    chained = (aten.reshape.default, aten.view.default, aten.permute.default, aten.clone.default)
    for last in list(graph.nodes):
        if last.target not in chained or any(user.target in chained for user in last.users):
            continue
        chain: list[Node] = []
        base: Any = last
        while base.target in chained:
            chain.insert(0, base)
            base = base.args[0]
        order = _order_through(base.meta["val"].shape, chain)
        if order is None or sum(node.target is aten.clone.default for node in chain) < 2:
            continue
        # Each dimension in pieces, outermost first; then the pieces in the order of the last copy.
        pieces = sorted(order, key=lambda piece: (piece[0], -piece[2]))
        with graph.inserting_before(last), last.meta["val"].fake_mode:
            new = new_node(graph, aten.reshape.default, (base, [size for _, size, _ in pieces]))
            new = new_node(graph, aten.permute.default, (new, [pieces.index(p) for p in order]))
            new = new_node(graph, aten.clone.default, (new,),
                           memory_format=torch.contiguous_format)
            new = new_node(graph, aten.reshape.default, (new, list(last.meta["val"].shape)))
        last.replace_all_uses_with(new)
        erase_unused(graph, chain)


def _order_through(shape: Sequence[Any], chain: list[Node]) -> list[tuple[int, int, int]] | None:
    """The order of a tensor's elements behind views and copies, as pieces of its dimensions, the
    outermost first: of each the dimension, its size, and how many elements of the dimension are
    from one index to the next. None if no such pieces give it."""
    dims = [[(dim, size, 1)] for dim, size in enumerate(shape)]
    for node in chain:
        if node.target is aten.permute.default:
            dims = [dims[dim] for dim in node.args[1]]  # type: ignore[union-attr, index]
        elif node.target is not aten.clone.default:
            flat = [piece for pieces in dims for piece in pieces if piece[1] != 1]
            dims = []
            for size in node.meta["val"].shape:
                dims.append([])
                while size != 1:
                    if not isinstance(size, int) or not flat:
                        return None
                    dim, whole, distance = flat.pop(0)
                    taken = math.gcd(whole, size)
                    if taken not in (whole, size):
                        return None
                    if taken != whole:
                        flat.insert(0, (dim, whole // taken, distance))
                    dims[-1].append((dim, taken, distance * (whole // taken)))
                    size //= taken
    return [piece for pieces in dims for piece in pieces]


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


def _spread_late(graph: Graph) -> None:
    """Has elementwise operations read what is expanded, or computed of such, as it was before: the
    gradient of a mean over places is a number for each sample and channel, and no row block."""
    small: dict[Node, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {}
    """For a node the call that makes it without the repeated elements."""
    made: dict[Node, Node] = {}

    def make(node: Node) -> Node:
        if node in small and node not in made:
            target, arguments, options = small[node]
            if target is None:
                made[node] = arguments[0]
            else:
                with graph.inserting_before(node), node.meta["val"].fake_mode:
                    made[node] = new_node(graph, target, tuple(
                        make(a) if isinstance(a, Node) else a for a in arguments), **options)
        return made.get(node, node)

    for node in list(graph.nodes):
        value, read = node.meta.get("val"), sources(node)
        if not isinstance(value, torch.Tensor) or not isinstance(value.numel(), int):
            continue
        if node.target is aten.expand.default:
            if value.numel() != read[0].meta["val"].numel():
                small[node] = (None, (read[0],), {})
            continue
        repeated = [source for source in read if source in small]
        if not repeated or torch.Tag.pointwise not in getattr(node.target, "tags", ()) or any(
                source.meta["val"].shape != value.shape for source in repeated):
            continue
        if len(read) == 1 and len(node.all_input_nodes) == 1:
            small[node] = (node.target, node.args, dict(node.kwargs))
        elif any(source not in small and source.meta["val"].shape == value.shape
                 for source in read):
            for source in repeated:
                node.replace_input_with(source, make(source))
    erase_unused(graph, list(small))
