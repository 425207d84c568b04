# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of a graph that change no result: regions read less afterwards, or take more.

Of what no region takes, torch.compile may make other kernels than of what it was, and slower ones:
how many operations there are decides what it keeps in memory. So nodes know what they were.
"""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch.fx import Graph, Node

from ..graphs.conversion import DIGIT, LEAST_SPREAD
from ..graphs.domains import INTEGERS, same
from ..graphs.edits import erase_unused, new_node
from ..graphs.fusion import is_alias, is_in_memory
from ..graphs.maxima import ANY, turn_to_maxima
from ..graphs.nodes import NUMBERS, is_column_sum, is_group_sum, is_view
from ..rowprogram import reached

aten, prims = torch.ops.aten, torch.ops.prims


_BIAS = "lnbwd_bias"
"""Under this name a node says that it adds the bias of a convolution."""


_ORIGIN = "lnbwd_origin"
"""Under this name a node has what it was, in a copy of the graph before the rewrites."""

REWRITTEN = "lnbwd_rewritten"
"""And says that it is something else now, in place of that target."""


def simplify(graph: Graph) -> None:
    """All rewrites, in place."""
    copies: dict[Node, Node] = {}
    Graph().graph_copy(graph, copies)
    for node, copy in copies.items():
        node.meta[_ORIGIN] = copy
    _peel_biases(graph)
    _slice_tables(graph)
    _spread_indices(graph)
    _slice_splits(graph)
    _view_indices(graph)
    _compare_digits(graph)
    turn_to_maxima(graph, (aten.amin.default, *ANY),
                   lambda most: is_column_sum(most) or is_group_sum(most))


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
        new.meta[_BIAS], new.meta[_ORIGIN] = True, node.meta[_ORIGIN]
        node.replace_all_uses_with(new)
        erase_unused(graph, [node])


def restore(graph: Graph) -> None:
    """Has what no region takes be what it was."""
    region = torch.ops.lnbwd._region.default
    there: dict[Node, Node] = {
        node.meta[_ORIGIN]: node for node in graph.nodes if _ORIGIN in node.meta}

    def is_there(origin: Node) -> bool:
        return origin in there and not there[origin]._erased

    def again(origin: Node) -> Node:
        if not is_there(origin):
            there[origin] = graph.node_copy(origin, again)
        return there[origin]

    for node in [node for node in graph.nodes
                 if REWRITTEN in node.meta and node.op == "call_function"]:
        origin = node.meta[_ORIGIN]
        needed = reached(origin.all_input_nodes,
                         lambda one: () if is_there(one) else one.all_input_nodes)
        read = reached([node], lambda one: (  # What a region reads in place stays so.
            user for user in one.users if is_alias(user) or user.target is region))
        if all(is_there(one) or one.op == "call_function" for one in needed) and all(
                one.target is not region for one in read):
            with graph.inserting_before(node):
                there[origin] = graph.node_copy(origin, again)
            node.replace_all_uses_with(there[origin])
            _erase(graph, node)
    for node in graph.nodes:
        node.meta.pop(_ORIGIN, None)
    _restore_biases(graph)


def _erase(graph: Graph, node: Node) -> None:
    """Erases a node that has no users, and what only it used."""
    if not node.users and node.op == "call_function" and not node._erased:
        sources = node.all_input_nodes
        graph.erase_node(node)
        for source in sources:
            _erase(graph, source)


def _replace(graph: Graph, node: Node, new: Node, *unused: Node) -> None:
    """Puts a node in the place of another one, and erases what is not used any more."""
    if _ORIGIN in node.meta:
        new.meta[_ORIGIN], new.meta[REWRITTEN] = node.meta[_ORIGIN], node.target
    node.replace_all_uses_with(new)
    erase_unused(graph, [*unused, node])


def _restore_biases(graph: Graph) -> None:
    """Has the biases that no region adds be their convolutions' again: Inductor's choice of layouts
    ends at the last convolution, and not at what is behind it."""
    for node in [node for node in graph.nodes if _BIAS in node.meta]:
        whole: Any
        whole, row = node.args
        if len(whole.users) == 1:
            bias = row.args[0]
            if bias.meta["val"].dim() > 1:  # A conversion, say, that was put behind the view.
                with graph.inserting_before(node), row.meta["val"].fake_mode:
                    bias = new_node(graph, aten.reshape.default, (row, [-1]))
                bias.append(whole)
            whole.update_arg(2, bias)
            node.replace_all_uses_with(whole)
            erase_unused(graph, [row, node])


def _slice_tables(graph: Graph) -> None:
    """Has rows that follow each other in a table be a slice of it: learned positions are such."""
    for node in list(graph.nodes):
        if node.target not in (aten.embedding.default, aten.index.Tensor) or any(node.args[3:]):
            continue
        table, index = node.args[:2]
        if node.target is aten.index.Tensor:
            index, *others = index
            if others:
                continue
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
        _replace(graph, node, new)


def _spread_indices(graph: Graph) -> None:
    """Has rows of a table that are added to each sample be taken for each of them: learned
    positions that are indices are row blocks then, which Inductor computes in place as well."""
    for node in graph.find_nodes(op="call_function", target=aten.embedding.default):
        if any(torch.Tag.pointwise not in getattr(user.target, "tags", ()) for user in node.users):
            continue
        # (A symbol has no hash, and a comparison would make it a number.)
        shapes = {tuple(n if isinstance(n, int) else None for n in user.meta["val"].shape)
                  for user in node.users}
        own = tuple(node.meta["val"].shape)
        if len(shapes) != 1 or None in (shape := shapes.pop()) or len(shape) < 3 or (
                own[0] != 1 or shape[0] == 1 or shape[1:] != own[1:]):
            continue
        table, index, *rest = node.args
        with graph.inserting_before(node), node.meta["val"].fake_mode:
            spread = new_node(graph, aten.expand.default, (index, list(shape[:-1])))
            new = new_node(graph, aten.embedding.default, (table, spread, *rest))
        _replace(graph, node, new)


def _slice_splits(graph: Graph) -> None:
    """Has the parts of a tensor that is split be slices of it."""
    for node in list(graph.nodes):
        if node.target not in (aten.split.Tensor, aten.split_with_sizes.default):
            continue
        dim: Any = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
        ends = list(itertools.accumulate(part.shape[dim] for part in node.meta["val"]))
        if not isinstance(ends[-1], int):
            continue
        parts = list(node.users)
        for part in parts:
            place: Any = part.args[1]
            with graph.inserting_before(node), part.meta["val"].fake_mode:
                begin = ends[place] - part.meta["val"].shape[dim]
                new = new_node(graph, aten.slice.Tensor, (node.args[0], dim, begin, ends[place]))
            _replace(graph, part, new)
        erase_unused(graph, [node])


def _view_indices(graph: Graph) -> None:
    """Has elements that are taken at all indices of each dimension be a view: a mask of attention
    takes the numbers of its sequences for rows and for columns so."""
    for node in graph.find_nodes(op="call_function", target=aten.index.Tensor):
        source, indices = node.args
        value, shape = node.meta["val"], node.meta["val"].shape
        sizes = source.meta["val"].shape
        dims = [_dim_of_all(index, size, value.dim())
                for index, size in zip(indices, sizes, strict=False)]
        if None in dims or dims != sorted(set(dims)) or len(dims) != len(sizes) or (  # type: ignore[type-var]
                [sizes[dims.index(dim)] if dim in dims else 1 for dim in range(value.dim())]
                != list(shape)):
            continue
        with graph.inserting_before(node), value.fake_mode:
            new = new_node(graph, aten.reshape.default, (source, list(shape)))
        _replace(graph, node, new)


def _dim_of_all(index: Any, size: Any, rank: int) -> int | None:
    """The dimension along which an index of a result of some rank has all numbers below a size, in
    their order; None of another index."""
    if not isinstance(index, Node):
        return None
    value = index.meta["val"]
    dims = [dim for dim, count in enumerate(value.shape) if not same(count, 1)]
    is_all = len(dims) == 1 and _first_of(index) == (0, size)
    return dims[0] + rank - value.dim() if is_all else None


_DIGIT = 24
"""Bits of a digit that float32 has."""


def _compare_digits(graph: Graph) -> None:
    """Has integers of one tensor that are compared with each other, as the numbers of sequences
    are where those are packed, be compared by digits that float32 has: each for itself in a
    region, where it takes many more elements to compare them than there are."""
    digits: dict[Node, list[Node]] = {}
    for node in graph.find_nodes(op="call_function", target=aten.eq.Tensor):
        views: list[list[Node]] = [[], []]
        bases = []
        for base, found in zip(node.args, views, strict=True):
            while isinstance(base, Node) and is_view(base):
                found.append(base)
                base = base.args[0]
            bases.append(base)
        base, whole = bases[0], node.meta["val"]
        if not isinstance(base, Node) or bases[1] is not base or not is_in_memory(base):
            continue
        value = base.meta["val"]
        if value.dtype not in INTEGERS or not isinstance(whole.numel(), int) or (
                LEAST_SPREAD * value.numel() > whole.numel()):
            continue
        with graph.inserting_before(node), value.fake_mode:
            if base not in digits:
                digits[base] = _digits_of(graph, base)
            new: Any = None
            for digit in digits[base]:
                pair = [digit, digit]
                for place, found in enumerate(views):
                    for view in reversed(found):
                        pair[place] = new_node(
                            graph, view.target, (pair[place], *view.args[1:]), **view.kwargs)
                equal = new_node(graph, aten.eq.Tensor, tuple(pair))
                new = equal if new is None else new_node(
                    graph, aten.bitwise_and.Tensor, (new, equal))
        _replace(graph, node, new, *views[0][::-1], *views[1][::-1])


def _digits_of(graph: Graph, node: Node) -> list[Node]:
    """Integers as digits in float32, of 24 bits each but for the last, which has the sign."""
    result = []
    bits = node.meta["val"].element_size() * 8
    for low in range(0, bits, _DIGIT):
        digit = node if low == 0 else new_node(
            graph, aten.bitwise_right_shift.Tensor_Scalar, (node, low))
        if low + _DIGIT < bits:
            digit = new_node(graph, aten.bitwise_and.Scalar, (digit, (1 << _DIGIT) - 1))
        digit = new_node(graph, prims.convert_element_type.default, (digit, torch.float32))
        digit.meta[DIGIT] = True
        result.append(digit)
    return result


def _first_of(node: Any) -> tuple[int, int] | None:
    """The first of integers that follow each other along the last dimension of more than one
    element, whatever the others are, and how many there are; None of anything else."""
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
        sizes = [size for size in node.meta["val"].shape if not same(size, 1)]
        return found if found is not None and sizes[-1:] == [found[1]] else None
    return None
