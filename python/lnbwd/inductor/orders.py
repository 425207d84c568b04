# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order in which the elements of what torch.compile computes in place are taken.

In a graph, each node has an order of its dimensions in memory, that of its operands. What is
computed in place is not in memory, and its order is that of its users: of the heads that are
scaled, permuted and copied for a product, that of the copy. A region then is over the rows of the
copy, and reads heads as they lie.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from collections.abc import Container, Iterator, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

from ..graphs.domains import memory_order
from ..graphs.edits import REPLACED, erase_unused, new_node
from ..graphs.fusion import is_fused, is_in_memory, other_users
from ..graphs.nodes import (
    STORED,
    is_computed_in_place,
    is_of_memory,
    is_reduction,
    is_view,
    row_sum_axis,
    sources,
)
from ..rowprogram import reached
from .partial_sums import ACROSS

aten = torch.ops.aten

_RESHAPES = (aten.reshape.default, aten.view.default)


@contextlib.contextmanager
def settled(graph: Graph) -> Iterator[None]:
    """Gives nodes that are computed in place the order of their users, and takes it back from those
    that are left at the end."""
    _split_early(graph)
    before: dict[Node, torch.Tensor] = {}
    try:
        _settle(graph, before)
        yield
    finally:
        for node in graph.nodes:
            if node in before:
                node.meta["val"] = before[node]
                node.meta.pop(STORED, None)


def _split_early(graph: Graph) -> None:
    """Has what is permuted after its dimensions were split computed of split tensors: between the
    dimensions of ``[B * H, T, D]`` there is no other order."""
    permuted: set[Node] = set()
    for node in reversed(graph.nodes):
        if any(user.target is aten.permute.default or user in permuted for user in node.users) and (
                node.target in _RESHAPES or _is_pointwise(node)):
            permuted.add(node)
    stack = [node for node in graph.nodes if node in permuted and node.target in _RESHAPES]
    while stack:
        view = stack.pop()
        whole: Any = view.args[0]
        value = whole.meta.get("val")
        if len(whole.users) > 1 or not _is_pointwise(whole):
            continue
        shapes = {source: _shape_before(source.meta["val"].shape, value.shape,
                                        view.meta["val"].shape) for source in sources(whole)}
        if None in shapes.values():
            continue
        with graph.inserting_before(whole), value.fake_mode:
            views = {source: new_node(graph, aten.reshape.default, (source, shape))
                     for source, shape in shapes.items()}
            new = new_node(graph, whole.target, tuple(
                views.get(a, a) if isinstance(a, Node) else a for a in whole.args), **whole.kwargs)
        view.replace_all_uses_with(new)
        view.meta[REPLACED] = new
        erase_unused(graph, [whole, view])
        stack += views.values()


def _shape_before(shape: Sequence[Any], whole: Sequence[Any], view: Sequence[Any]
                  ) -> list[Any] | None:
    """The shape of an operand that is spread over a ``view`` of what it was spread over as a
    ``whole``; None if it has some of the dimensions alone that the view joins or splits."""
    own = [1] * (len(whole) - len(shape)) + list(shape)
    result: list[Any] = []
    begin = end = 0
    if not all(isinstance(size, int) for size in (*own, *whole, *view)) or 0 in whole:
        return None
    while begin < len(whole) or end < len(view):
        last, until = begin + 1, end + 1
        while (before := math.prod(whole[begin:last])) != (after := math.prod(view[end:until])):
            last, until = last + (before < after), until + (after < before)
        if all(size == 1 for size in own[begin:last]):
            result += [1] * len(view[end:until])
        elif own[begin:last] == list(whole[begin:last]):
            result += view[end:until]
        else:
            return None
        begin, end = last, until
    return result


def _is_pointwise(node: Node) -> bool:
    return (node.op == "call_function" and node.target is not aten.clone.default
            and torch.Tag.pointwise in getattr(node.target, "tags", ()))


def _settle(graph: Graph, before: dict[Node, torch.Tensor]) -> None:
    """Changes the values of nodes, and keeps what they were."""
    wanted: dict[Node, torch.Tensor] = {}
    across: set[Node] = set()
    """What is computed for sums across, and may be written as it was."""
    summed: set[Node] = set()
    """What is computed for sums in the order of a copy."""
    copied_out = set(filter(_is_copied_out, graph.nodes))
    written = _written_after_sums(graph)
    for node in reversed(graph.nodes):
        value = node.meta.get("val")
        if node.meta.get(ACROSS) or node in written or (
                (is_view(node) or is_computed_in_place(node)) and any(
                    user in across for user in node.users)):
            across.add(node)
        if any(user in summed or is_reduction(user) for user in node.users):
            summed.add(node)
        if (node.op != "call_function" or not isinstance(value, torch.Tensor)
                or not all(isinstance(size, int) for size in value.shape)
                or node.target is aten.clone.default
                or not (is_view(node) or is_computed_in_place(node))):
            continue
        is_stored = not is_view(node) and is_in_memory(node)
        if is_stored and node not in written and not (
                (node in across and value.is_contiguous())
                or (node in summed and not any(map(is_reduction, node.users))
                    and memory_order(value) is not None)):
            continue
        # What is written for others alone may be written from any order.
        free = [user for user in node.users if user in copied_out or (
            node in across and user not in across and _is_written_only(user))]
        orders = [_wanted_by(user, node, wanted) for user in node.users
                  if not is_reduction(user) and user not in free
                  and not (is_stored and _takes_memory(user))]
        orders += written.get(node, [])
        if orders and all(order is not None and _strides(order) == _strides(orders[0])
                          for order in orders) and _strides(orders[0]) != _strides(value):
            wanted[node] = order = orders[0]  # type: ignore[assignment]
            for user in free:
                if user.meta["val"].shape == value.shape:
                    _give_order(user, order, wanted)  # type: ignore[arg-type]
    for node in graph.nodes:
        new = wanted.get(node)
        is_spread = node.target is aten.expand.default and node in across
        if is_view(node) and node.target is not aten.clone.default and not is_spread:
            source: Any = node.args[0]
            if source not in before:
                continue
            if STORED in source.meta and (_takes_memory(node) or is_of_memory(source)):
                new = node.meta[STORED] = node.meta["val"]
            else:
                with node.meta["val"].fake_mode:
                    new = node.target(source.meta["val"], *node.args[1:], **node.kwargs)
        if node in copied_out:
            node.meta[STORED] = node.meta["val"]
            with node.meta["val"].fake_mode:
                new = node.args[0].meta["val"].clone()
        if new is not None:
            if not is_view(node) and is_in_memory(node):
                node.meta[STORED] = node.meta["val"]
            before[node] = node.meta["val"]
            node.meta["val"] = new


def _give_order(node: Node, order: torch.Tensor, wanted: dict[Node, torch.Tensor]) -> None:
    """Has a node, and what is computed in place for it alone, be in an order."""
    wanted[node] = order.to(node.meta["val"].dtype)
    for source in sources(node):
        if is_computed_in_place(source) and len(source.users) == 1 and (
                source.meta["val"].shape == order.shape):
            _give_order(source, order, wanted)


def _written_after_sums(graph: Graph) -> dict[Node, list[torch.Tensor]]:
    """What is written alone and follows from sums over rows, as the gradient behind a norm's does,
    in the order of what they sum: torch.compile computes it in the kernel of the sums. If these are
    sums across, so is what is written beside it. Where sums over other rows follow from those
    across, as of a pooling, those are its rows."""
    result: dict[Node, list[torch.Tensor]] = {}
    follows: dict[Node, set[Node]] = {}
    other_rows: set[Node] = set()
    for node in graph.nodes:
        summed = {rows for source in sources(node) for rows in follows.get(source, ())}
        if is_reduction(node):
            own = set(sources(node))
            other_rows |= {rows for rows in summed if ACROSS in rows.meta and not own & summed}
            summed = own if row_sum_axis(node) else set()
        elif not (node.target is operator.getitem or is_view(node) or is_computed_in_place(node)):
            continue
        if summed:
            follows[node] = summed
    order_of = functools.cache(_order_of_rows)
    for node, summed in reversed(follows.items()):
        beside = result if any(ACROSS in rows.meta for rows in summed) else ()
        if summed & other_rows or not _is_written_only(node, beside):
            continue
        value = node.meta["val"]
        orders = [order for order in map(order_of, summed)
                  if order.shape == value.shape and memory_order(order) is not None]
        if orders and all(_strides(order) == _strides(orders[0]) for order in orders):
            result[node] = [orders[0].to(value.dtype)]
    return result


def _order_of_rows(node: Node) -> torch.Tensor:
    """What is summed, in the order of its rows; of a copy for sums across, what it copies."""
    value: torch.Tensor = node.meta["val"]
    if ACROSS not in node.meta:
        return value
    rows: Any = node.args[0]
    dims = rows.args[1]
    return value.permute([dims.index(dim) for dim in range(len(dims))])


def _takes_memory(node: Node) -> bool:
    """Whether a user of a node is nothing that torch.compile fuses, or a view for such alone."""
    return not is_fused(node) or (is_view(node) and not any(map(is_fused, other_users(node))))


def _is_written_only(node: Node, others: Container[Node] = ()) -> bool:
    """Whether a dense tensor is computed that nothing that torch.compile fuses uses, but for
    ``others``, beside which it is written."""
    value = node.meta.get("val")
    return (is_computed_in_place(node) and isinstance(value, torch.Tensor)
            and memory_order(value) is not None and all(
                user in others or _takes_memory(user) for user in node.users)
            and (is_in_memory(node) or not any(user in others for user in node.users)))


def _is_copied_out(node: Node) -> bool:
    """Whether a node is a permuted copy, as windows of an image are, of what follows from sums over
    rows, and whose order others keep: what is in memory, or sums beside. The rows are written to
    where the copy has them."""
    if node.target is not aten.clone.default or not node.meta["val"].is_contiguous() or not (
            all(isinstance(size, int) for size in node.meta["val"].shape)
            and all(map(_takes_memory, node.users))
            and not any(map(is_reduction, other_users(node)))):
        return False

    def is_sum(source: Node) -> bool:
        return is_reduction(source) or source.target is operator.getitem

    seen = reached([node], lambda one: () if is_sum(one) else [
        source for source in sources(one)
        if is_sum(source) or is_view(source) or is_computed_in_place(source)])
    return any(is_sum(user) for source in seen for user in (source, *source.users)) and any(
        (not is_view(source) and is_in_memory(source)) or any(
            user not in seen and (is_reduction(user) or (
                not is_view(source) and is_in_memory(user)))
            for user in source.users) for source in seen if source is not node
        and not is_sum(source))


def _strides(value: torch.Tensor | None) -> list[Any]:
    """The strides of the dimensions of more than one element."""
    return [] if value is None else [
        stride for size, stride in zip(value.shape, value.stride(), strict=True) if size != 1]


def _wanted_by(user: Node, node: Node, wanted: dict[Node, torch.Tensor]) -> torch.Tensor | None:
    """A node's value in the order in which a user takes it; None if that takes it as it is."""
    value = node.meta["val"]
    order = wanted.get(user, user.meta.get("val"))
    if not isinstance(order, torch.Tensor) or memory_order(order) is None:
        return None
    if is_computed_in_place(user) and order.shape == value.shape and (
            order.stride() == value.stride()):
        return value  # type: ignore[no-any-return]
    with order.fake_mode:  # type: ignore[attr-defined]
        if user.target is aten.permute.default:
            dims: Any = [d % value.dim() for d in user.args[1]]  # type: ignore[union-attr]
            order = order.permute([dims.index(d) for d in range(len(dims))])
        elif is_view(user) and user.target is not aten.clone.default:
            try:
                order = order.view(value.shape)
            except (RuntimeError, ValueError):
                return None
        elif order.shape != value.shape or not (
                user.target is aten.clone.default or is_computed_in_place(user)):
            return None
        return order.to(value.dtype) if order.dtype != value.dtype else order
