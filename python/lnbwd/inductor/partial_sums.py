# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions that are no sums over a row or over all rows, made of such.

Those over the first and the last dimensions at once, as batch norms of ``[B, C, H, W]`` have them,
are reductions over the last, which are those of rows, and over the first of what these give, which
is small. Where the last dimensions are few elements, they are rows of a copy that has them side by
side, which is not made: a region reads them where they lie. So are the channels of channels-last
images, if their kernel computes others from the sums. Another variance over all rows is two sums
over all rows: of the differences from the first row, and of their squares.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._inductor.graph import GraphLowering
from torch.fx import Graph, Node

from ..graphs.domains import (
    LEAST_PIECE,
    is_permuted,
    memory_order,
    memory_shape,
    product,
    repeated_dims,
    same,
)
from ..graphs.edits import REPLACED, erase_unused, new_node
from ..graphs.fusion import blocks_read, is_fused
from ..graphs.nodes import (
    ROW_SUMS,
    column_domain,
    is_computed_in_place,
    is_group_sum,
    is_reduction,
    is_view,
    row_sum_axis,
)
from ..rowprogram import reached

aten = torch.ops.aten

ACROSS = "lnbwd_across"
"""Under this name a node says that it is a copy for sums across."""


@dataclass(frozen=True)
class Split:
    """A sum, or a variance with its mean, that was split.

    Attributes:
        target, args, kwargs, meta: the node that it was.
        results: what stands for it; of a variance with its mean, for each of the two by its place
            in the pair, and the ``meta`` of the node that took it.
        partial: a reduction that a region may take.
        made: all nodes that were made.
    """

    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]
    results: list[tuple[int | None, Node, dict[str, Any]]]
    partial: Node
    made: list[Node]

    def combining(self) -> list[Node]:
        """The reductions of what partial ones give, which is small."""
        whole = self.args[0].meta["val"].numel()
        return [node for node in self.made if is_reduction(node)
                and not same(node.args[0].meta["val"].numel(), whole)]  # type: ignore[union-attr]


def split(graph: Graph) -> list[Split]:
    """Splits such sums, and variances with their means, of tensors of float32: over the first and
    the last dimensions of contiguous ones, over all rows of those that something else than
    torch.compile has in memory. What is over rows or columns of a permuted tensor, but not as that
    lies in memory, becomes one of a copy, which a region has no need to make."""
    # Whether Inductor will make images of this graph channels-last.
    may_reorder = bool(graph.owning_module is not None and GraphLowering.decide_layout_opt(
        graph.owning_module, is_inference=False))
    followed = _followed(graph, may_reorder)
    copies: dict[tuple[Any, ...], Node] = {}
    result = []
    for node in list(graph.nodes):
        make = _split_of(node, may_reorder, node in followed, copies)
        if make is None:
            continue
        whole = (node.target, node.args, dict(node.kwargs), dict(node.meta))
        before = node.prev
        with graph.inserting_before(node), node.args[0].meta["val"].fake_mode:
            partial, values = make(graph, node)
        made: list[Node] = []
        while (last := (made[-1] if made else node).prev) is not before:
            made.append(last)
        made.reverse()
        results = []
        for place, item in ([(item.args[1], item) for item in node.users]
                            if node.target is aten.var_mean.correction else [(None, node)]):
            results.append((place, values[place or 0], dict(item.meta)))
            item.replace_all_uses_with(values[place or 0])
        erase_unused(graph, [node, *node.users])
        partial.name = node.name  # By which decisions name it, and kernels of Inductor's.
        result.append(Split(*whole, results, partial, made))
    return result


_Make = Callable[[Graph, Node], tuple[Node, list[Node]]]


def _split_of(node: Node, may_reorder: bool, is_followed: bool,
              copies: dict[tuple[Any, ...], Node]) -> _Make | None:
    """What makes others of a reduction; None: it stays."""
    if (node.target not in ROW_SUMS or not _has_dims(node)
            or node.kwargs.get("correction") not in (None, 0, 1)):
        return None
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    is_static = isinstance(value.numel(), int)
    if is_permuted(value) and is_static and not _lies_in_rows(node):
        return functools.partial(_sum_copy, copies=copies, order=list(range(value.dim())))
    if is_static and node.target is aten.sum.dim_IntList and _has_columns(value, node.args[1]):
        return functools.partial(_sum_copy, copies=copies, order=_summed_first(node))
    is_pair = node.target is aten.var_mean.correction
    if node.target not in _SPLITS or value.dtype != torch.float32 or (is_pair and not is_static):
        return None
    if is_pair and not is_followed and _may_shift(node):
        return _shift_variance
    last = _last(value, node.args[1]) if not may_reorder else []
    is_short = bool(last) and product(value.shape[d] for d in last) < _LEAST_ROW
    if is_short and not _is_across(value, node.args[1]):
        return None
    if is_short or is_followed:
        first = _summed_first(node)
        return functools.partial(_sum_copy, copies=copies, order=(
            first[len(node.args[1]):] + first[:len(node.args[1])]))  # type: ignore[arg-type]
    return functools.partial(_SPLITS[node.target], last=last) if last else None


def _has_dims(node: Node) -> bool:
    """Whether a reduction says over which dimensions it goes; else it goes over all."""
    return len(node.args) > 1 and bool(node.args[1])


def _summed_first(node: Node) -> list[int]:
    """The dimensions of what a reduction goes over, those that it reduces first."""
    count = node.args[0].meta["val"].dim()  # type: ignore[union-attr]
    summed = {dim % count for dim in node.args[1]}  # type: ignore[union-attr]
    return sorted(range(count), key=lambda dim: (dim not in summed, dim))


def _has_columns(value: torch.Tensor, dims: Any) -> bool:
    """Whether what is summed over some dimensions lies in memory with gaps, those of a slice, and
    neighbours there are no summands: patches without their class token, in the shape of images."""
    kept = {*range(value.dim())} - {dim % value.dim() for dim in dims}
    return memory_order(value) is None and not repeated_dims(value) and any(
        value.stride(dim) == 1 and value.shape[dim] >= LEAST_PIECE for dim in kept)


def _lies_in_rows(node: Node) -> bool:
    """Whether a reduction goes over rows as its operand lies in memory. One over the last dimension
    goes over rows of a copy, which others read, unless the memory's last dimension is a row."""
    if row_sum_axis(node) or column_domain(node):
        return True
    value, groups = node.args[0].meta["val"], is_group_sum(node)  # type: ignore[union-attr]
    return groups is not None and (
        same(groups.length, memory_shape(value)[-1])
        or value.dim() - 1 not in (dim % value.dim() for dim in node.args[1]))  # type: ignore[union-attr]


def latest(node: Node, nodes: Container[Node]) -> Node:
    """What stands in a graph with some nodes for one that may have been replaced."""
    while node not in nodes and REPLACED in node.meta:
        node = node.meta[REPLACED]
    return node


def merge(graph: Graph, splits: Sequence[Split]) -> None:
    """Makes those what they were whose partial reductions are still in the graph."""
    nodes = set(graph.nodes)
    for one in splits:
        operand = latest(one.args[0], nodes)
        if one.partial not in nodes or operand not in nodes:
            continue
        with graph.inserting_before(one.partial):
            node = graph.call_function(one.target, (operand, *one.args[1:]), one.kwargs)
            node.meta = one.meta
            node.name, one.partial.name = one.partial.name, node.name
            for place, value, meta in one.results:
                item = node
                if place is not None:
                    item = graph.call_function(operator.getitem, (node, place))
                    item.meta = meta
                value.replace_all_uses_with(item)
    # The last first: copies are made for the first sum of them.
    for one in reversed(splits):
        erase_unused(graph, [node for node in one.made if node in nodes])


def _split_sum(graph: Graph, node: Node, last: list[int]) -> tuple[Node, list[Node]]:
    partial = new_node(graph, node.target, (node.args[0], last, True))
    return partial, [new_node(graph, node.target, (partial, *node.args[1:]), **node.kwargs)]


def _split_variance(graph: Graph, node: Node, last: list[int]) -> tuple[Node, list[Node]]:
    """The variance is the mean of the rows' variances and the variance of their means."""
    operand: Any = node.args[0]
    dims: Any = node.args[1]
    keep = bool(node.kwargs.get("keepdim", False))
    partial = new_node(graph, node.target, (operand, last), correction=0, keepdim=True)
    variances, means = (new_node(graph, operator.getitem, (partial, i)) for i in (0, 1))
    within = new_node(graph, aten.mean.dim, (variances, dims, keep))
    between = new_node(graph, aten.var.correction, (means, dims), correction=0, keepdim=keep)
    variance = new_node(graph, aten.add.Tensor, (within, between))
    count: Any = product(operand.meta["val"].shape[d] for d in dims)
    correction = node.kwargs.get("correction")
    if correction != 0:
        variance = new_node(graph, aten.mul.Tensor, (variance, count / (count - 1)))
    return partial, [variance, new_node(graph, aten.mean.dim, (means, dims, keep))]


def _sum_copy(graph: Graph, node: Node, copies: dict[tuple[Any, ...], Node],
              order: list[int]) -> tuple[Node, list[Node]]:
    """The same of a copy, which has its dimensions in an ``order``: rows of what is summed, if the
    order has that last, which a region reads where it lies."""
    arguments: Any = node.args
    operand, summed, *others = arguments
    dims = [order.index(dim % len(order)) for dim in summed]
    is_moved = order != sorted(order)
    is_across = is_moved and len(order) - 1 in dims
    key = (operand, *order)
    if key not in copies:
        rows = new_node(graph, aten.permute.default, (operand, order)) if is_moved else operand
        copies[key] = new_node(graph, aten.clone.default, (rows,),
                               memory_format=torch.contiguous_format)
        if is_across:
            copies[key].meta[ACROSS] = True
    partial = new_node(graph, node.target, (copies[key], dims, *others), **node.kwargs)
    whole, made = node.meta["val"], [partial]
    if isinstance(whole, tuple):
        made = [new_node(graph, operator.getitem, (partial, place)) for place in (0, 1)]
    else:
        whole = (whole,)
    return partial, [one if one.meta["val"].shape == value.shape else new_node(
        graph, aten.reshape.default, (one, list(value.shape)))
        for one, value in zip(made, whole, strict=True)]


def _may_shift(node: Node) -> bool:
    """Whether a variance is one over all rows of what lies in memory, perhaps in another type: the
    first row is then a view. In what a region computes it would be a result of the region."""
    domain = column_domain(node)
    return domain is not None and not same(domain.rows, 1) and not is_fused(_uncast(node.args[0]))


def _uncast(node: Any) -> Node:
    while node.target is torch.ops.prims.convert_element_type.default:
        node = node.args[0]
    return node  # type: ignore[no-any-return]


def _shift_variance(graph: Graph, node: Node) -> tuple[Node, list[Node]]:
    """With d = x - x[0], of M rows: mean = x[0] + sum(d) / M and
    variance = (sum(d^2) - sum(d)^2 / M) / M. The sums cancel by as much as the first row is off the
    mean, in units of the standard deviation, and not by the mean itself.

    Of rows of bfloat16, whose mean is at most some hundred standard deviations, sum(x) takes the
    place of sum(d): a mean near 0 has float32's relative precision then, not that of x[0]."""
    operand: Any = node.args[0]
    value = operand.meta["val"]
    dims = sorted(d % value.dim() for d in node.args[1])  # type: ignore[union-attr]
    first = _uncast(operand)
    for dim in reversed(dims):
        first = new_node(graph, aten.select.int, (first, dim, 0))
    is_summed = first.meta["val"].dtype == torch.bfloat16
    if first.meta["val"].dtype != torch.float32:
        first = new_node(graph, torch.ops.prims.convert_element_type.default,
                         (first, torch.float32))
    shape = [1 if dim in dims else size for dim, size in enumerate(value.shape)]
    shift = new_node(graph, aten.reshape.default, (first, shape))
    difference = new_node(graph, aten.sub.Tensor, (operand, shift))
    square = new_node(graph, aten.mul.Tensor, (difference, difference))
    keep = bool(node.kwargs.get("keepdim", False))
    total, squares = (new_node(graph, aten.sum.dim_IntList, (rows, dims, keep))
                      for rows in (operand if is_summed else difference, square))
    count: Any = product(value.shape[dim] for dim in dims)
    mean = offset = new_node(graph, aten.mul.Tensor, (total, 1 / count))
    like_sums = shift if keep else first
    if is_summed:
        offset = new_node(graph, aten.sub.Tensor, (mean, like_sums))
    else:
        mean = new_node(graph, aten.add.Tensor, (offset, like_sums))
    centred = new_node(graph, aten.sub.Tensor, (squares, new_node(graph, aten.mul.Tensor, (
        new_node(graph, aten.mul.Tensor, (offset, count)), offset))))
    freedom = count - int(node.kwargs.get("correction") != 0)
    variance = new_node(graph, aten.clamp_min.default, (
        new_node(graph, aten.mul.Tensor, (centred, 1 / freedom)), 0))
    return total, [variance, mean]


_SPLITS: dict[Any, Any] = {aten.sum.dim_IntList: _split_sum,
                           aten.var_mean.correction: _split_variance}


_LEAST_ROW = 512
"""Sums of shorter rows, and then of those, are slower than torch.compile's one sum: on an H100
images of 7x7 and 8x8 pixels took 1.05 to 2.1 times as long, of 14x14 and 16x16 1.02 to 1.9 times,
of 28x28 and more 0.47 to 1.0 times."""


_MOST_ACROSS = 28672
"""Rows of a channel of all samples that are longer are split, whatever follows from their sums. On
an H100, whose shared memory holds two such rows, five of six gradients of batch norms with rows of
25,088 elements took 0.49 to 0.91 times as long as torch.compile's kernels, and split 0.84 times and
more; with rows of 32,768 and more one of eleven was faster."""


_MOST_BESIDE = 8192
"""The same of channels-last images: the registers of a cluster hold two such rows of as many
channels as have a sector of memory."""


def _has_short_rows(node: Node, may_reorder: bool) -> bool:
    """Whether a reduction goes over a channel of all samples that is short enough for a row."""
    operand: Any = node.args[0]
    dims: Any = node.args[1]
    value = operand.meta["val"]
    if not _is_across(value, dims):
        return False
    is_behind = not may_reorder and bool(_last(value, dims))
    return (is_behind or column_domain(node) is not None) and product(
        value.shape[d] for d in dims) <= (_MOST_ACROSS if is_behind else _MOST_BESIDE)


def _followed(graph: Graph, may_reorder: bool) -> set[Node]:
    """The reductions over whose rows, of a channel of all samples each, torch.compile's kernel goes
    once more, to compute others of as many elements, and those of what these read beside them; if
    rows are short enough for that."""
    reductions = [node for node in graph.nodes if node.target in _SPLITS and _has_dims(node)
                  and _has_short_rows(node, may_reorder)]
    result = set(filter(_is_followed, reductions))
    read = {node: blocks_read(node.args[0]) for node in reductions}
    return result | {node for node in reductions if any(
        node.args[1] == other.args[1] and read[node] & read[other]
        and node.args[0].meta["val"].shape == other.args[0].meta["val"].shape
        for other in result)}


def _is_followed(node: Node) -> bool:
    """Whether others of as many elements as a reduction has follow from it in its kernel."""
    count = node.args[0].meta["val"].numel()  # type: ignore[union-attr]

    def is_block(one: Node) -> bool:
        return is_computed_in_place(one) and same(one.meta["val"].numel(), count)

    return any(map(is_block, reached(node.users, lambda one: one.users if not is_block(one) and (
        one.target is operator.getitem or is_view(one) or is_computed_in_place(one)) else ())))


def _is_across(value: torch.Tensor, dims: Any) -> bool:
    """Whether there are rows of a copy: of a known length, which is not their number."""
    if not isinstance(value.numel(), int):
        return False
    length = product(value.shape[d] for d in dims)
    return length * length != value.numel()


def _last(value: torch.Tensor, dims: Any) -> list[int]:
    """The last dimensions among those of a sum, if it is one over first and last dimensions, and
    over none between them, of what is in their order."""
    if is_permuted(value) or repeated_dims(value):
        return []
    summed = {d % value.dim() for d in dims}
    kept = [d for d in range(value.dim()) if d not in summed]
    if not kept or kept != list(range(kept[0], kept[-1] + 1)):
        return []
    first, last = range(kept[0]), list(range(kept[-1] + 1, value.dim()))
    length = product(value.shape[d] for d in last)
    if same(product(value.shape[d] for d in first), 1) or not isinstance(length, int):
        return []
    return last if length * value.element_size() >= LEAST_PIECE else []
