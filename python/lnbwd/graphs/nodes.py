# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the nodes of a PyTorch graph are: views, constants, random numbers, and reductions with the
rows that they go over."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._inductor import inductor_prims
from torch.fx import Graph, Node

from .domains import Domain, memory_order, memory_shape, product, repeated_dims, same

aten, prims = torch.ops.aten, torch.ops.prims

# Results that have their operand's elements in their operand's order; of some, only where the
# memory's is kept.
VIEWS = {aten.reshape.default, aten.view.default, aten._unsafe_view.default, aten.expand.default,
          aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default,
          aten.alias.default, aten.detach.default, aten.clone.default,
          aten.lift_fresh_copy.default, aten.as_strided.default, aten.permute.default}

STORED = "lnbwd_stored"
"""Under this name a node keeps how it is stored, if it is computed in another order."""

ALONE = "lnbwd_alone"
"""Under this name a seed says that only this graph draws of it."""

USERS = "lnbwd_users"
"""Under this name random numbers keep how many nodes of forward and backward pass use them."""

IN_MEMORY = "lnbwd_in_memory"
"""Under this name a node says that some kernel of forward or backward pass reads it from memory."""

CONSTANTS = {aten.full.default: 1, aten.scalar_tensor.default: 0}

NUMBERS = prims.iota.default

OF_INTEGERS = {*VIEWS, NUMBERS, aten.where.self}
"""What gives integers that a region knows: numbers of columns, and what is compared with them."""

# The place of the dimensions among their arguments.
ROW_SUMS: dict[Any, int] = {aten.sum.dim_IntList: 1, aten.mean.dim: 1, aten.var_mean.correction: 1,
             aten.var.correction: 1, aten.amax.default: 1, aten.amin.default: 1,
             aten.any.dim: 1, aten.any.dims: 1, aten.argmax.default: 1, aten.argmin.default: 1,
             aten.max.dim: 1, aten.min.dim: 1,
             aten.logsumexp.default: 1, aten.linalg_vector_norm.default: 2}

INDICES = {aten.argmax.default, aten.argmin.default}
"""Those that give where in the row the largest, or smallest, element is."""

WITH_INDICES = {aten.max.dim, aten.min.dim}
"""Those that give the element as well."""

NORM = aten.linalg_vector_norm.default
"""A norm of the row, which graphs of torch.compile have no more: it decomposes it."""

_REDUCTIONS = {*ROW_SUMS, aten.sum.default, aten.mean.default, aten.any.default,
               aten.prod.dim_int}
"""All that reduce a tensor along dimensions, row programs or not."""

INDEXED = {aten.embedding.default, aten.gather.default, aten.index.Tensor,
           aten._unsafe_index.Tensor}
"""What takes elements of its first operand by indices."""

CONVOLUTIONS = {aten.convolution.default, aten.convolution_backward.default}

SOFTMAXES = {aten._softmax.default, aten._log_softmax.default, aten.logsumexp.default}
"""Operations over the row that graphs of torch.compile have no more: it decomposes them."""


def stored(node: Node) -> Any:
    """A node's value as it lies in memory."""
    return node.meta.get(STORED, node.meta["val"])


def is_of_memory(node: Node) -> bool:
    """Whether a node is a view of what is stored in another order than it is computed in."""
    return STORED in node.meta and node.meta[STORED] is node.meta["val"]


def is_view(node: Node) -> bool:
    """Whether a node hands its operand's elements on in another shape."""
    return node.op == "call_function" and node.target in VIEWS


def is_index(node: Any) -> bool:
    """Whether a node is a view of where in its row an element is."""
    while isinstance(node, Node) and is_view(node):
        node = node.args[0]
    if isinstance(node, Node) and node.target is operator.getitem and node.args[1] == 1:
        source: Any = node.args[0]
        return source.target in WITH_INDICES
    return isinstance(node, Node) and node.target in INDICES


def is_random(node: Node) -> bool:
    """Whether a node's elements are random numbers, drawn there or in what it is a view or a
    conversion of."""
    while is_view(node) or node.target is prims.convert_element_type.default:
        node = node.args[0]  # type: ignore[assignment]
    return node.op == "call_function" and (
        node.target is inductor_prims.random
        or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()))


def is_seed(node: Node) -> bool:
    """Whether a node is the seed of random numbers that no other graph draws: there, Inductor's
    kernel may draw others of it. In inference there is none. Else the graph makes the seed, and if
    it hands its seeds on, as to a backward pass, it also hands on all that either pass computes of
    the numbers: the mask of a dropout."""
    if node.op != "call_function" or node.target is not inductor_prims.lookup_seed:
        return False
    if ALONE in node.meta:
        return True
    seeds: Node = node.args[0]  # type: ignore[assignment]
    if seeds.target is not inductor_prims.seeds:
        return False
    if not any(map(_is_output, (node, seeds))):
        return True
    return not _is_output(node) and all(
        random.meta.get(USERS) == len(random.users) and all(map(_is_output, random.users))
        for random in node.users)


def mark_seeds(graph: Graph) -> None:
    """Has the seeds of a graph of inference say that no other graph draws of them."""
    for node in graph.find_nodes(op="call_function", target=inductor_prims.lookup_seed):
        node.meta[ALONE] = True


def count_users(graph: Graph) -> None:
    """Has random numbers in a graph of both passes keep how many nodes use them: either pass shows
    its own nodes alone."""
    for node in graph.find_nodes(op="call_function", target=inductor_prims.random):
        node.meta[USERS] = len(node.users)


def begins_backward(node: Node) -> bool:
    """Whether the backward pass of a graph of both passes begins with a node: a tangent, by the
    mark of AOTAutograd, or what that has only there. (What it traced for the gradient, and is
    computed of no tangent, may be in either pass.)"""
    tag = node.meta.get("partitioner_tag")
    return tag == "must_be_in_backward" or (tag == "is_backward" and node.op == "placeholder")


def _is_output(node: Node) -> bool:
    return any(user.op == "output" for user in node.users)


_COMPUTED_IN_PLACE = {
    aten.select_scatter.default, aten.slice_scatter.default, aten.constant_pad_nd.default,
    aten.cat.default, NUMBERS, inductor_prims.random}


def is_computed_in_place(node: Node) -> bool:
    """Whether Inductor can compute a node where it is used, without a tensor in memory."""
    return node.op == "call_function" and (
        node.target in _COMPUTED_IN_PLACE
        or torch.Tag.pointwise in getattr(node.target, "tags", ()))


def is_reduction(node: Node) -> bool:
    """Whether a node sums over dimensions, or takes the largest, or the like."""
    return node.op == "call_function" and node.target in _REDUCTIONS


def is_constant(node: Node) -> bool:
    """Whether a node is one number in all its elements."""
    return (node.op == "call_function" and node.target in CONSTANTS
            and isinstance(node.args[CONSTANTS[node.target]], (int, float)))


_ALIASES = {aten.permute.default, aten.expand.default, aten.unsqueeze.default, aten.squeeze.dim,
            aten.squeeze.dims, aten.squeeze.default, aten.alias.default, aten.detach.default,
            aten.slice.Tensor, aten.select.int, aten.as_strided.default}
"""Views that never copy."""


def is_returned(node: Node) -> bool:
    """Whether the graph returns a node, or a view of it."""
    return any(user.op == "output" or (is_view(user) and is_returned(user))
               for user in node.users)


def memory_of(node: Node) -> tuple[Node, int] | None:
    """The node whose memory a view has, and at which of its elements the view begins; None where
    that memory or the view is not known. An argument of the graph may have gaps, as where the
    forward pass saved a slice: it lies as its strides say."""
    value = node.meta["val"]
    while node.op == "call_function":
        source: Any = node.args[0] if node.args else None
        if node.target not in _ALIASES and not (
                node.target in (aten.reshape.default, aten.view.default)
                and _is_viewed(source, node)):
            break
        # What is expanded in the order of its users is a tensor of its own.
        if node.target is aten.expand.default and not repeated_dims(node.meta["val"]) and not same(
                node.meta["val"].numel(), source.meta["val"].numel()):
            break
        node = source
    base = node.meta["val"]
    offset = value.storage_offset() - base.storage_offset()
    if not all(isinstance(number, int) for number in (offset, *base.shape, *base.stride())) or (
            memory_order(base) is None and node.op != "placeholder"):
        return None
    return node, offset


def _is_viewed(source: Any, node: Node) -> bool:
    """Whether a reshape copies nothing."""
    before, after = source.meta["val"], node.meta["val"]
    if before.is_contiguous():
        return bool(after.is_contiguous())
    try:
        with before.fake_mode:
            return bool(before.view(after.shape).stride() == after.stride())
    except (RuntimeError, ValueError):
        return False


def sources(node: Node) -> list[Node]:
    """The nodes whose elements a node computes with."""
    return [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), (torch.Tensor, tuple))]


def summed_dims(node: Node) -> tuple[list[int], int] | None:
    """The dimensions that a sum goes over, from 0, outermost in memory first, and the rank of its
    operand, of whose dimensions those of one element do not count; None where those that are left
    are in another order than in the result."""
    value = node.args[0].meta.get("val") if isinstance(node.args[0], Node) else None
    if not isinstance(value, torch.Tensor) or value.dim() == 0:
        return None
    place = ROW_SUMS.get(node.target, 1)
    dims = node.args[place] if len(node.args) > place else node.kwargs.get("dim")
    if dims is None:
        dims = list(range(value.dim()))
    if isinstance(dims, int):
        dims = [dims]
    if not isinstance(dims, (list, tuple)) or not all(isinstance(d, int) for d in dims):
        return None
    summed = {int(d) % value.dim() for d in dims}
    order = list(memory_order(value) or range(value.dim()))
    # Rows may be of one element.
    is_of_one = order[-1] in summed and all(same(value.shape[d], 1) for d in summed)
    order = [d for d in order if not same(value.shape[d], 1) or (is_of_one and d == order[-1])]
    left = [d for d in order if d not in summed]
    places = [place for place, d in enumerate(order) if d in summed]
    return (places, len(order)) if left == sorted(left) else None


def row_sum_axis(node: Node) -> Domain | None:
    """The domain of a sum (or a mean, a variance, a largest element) over the last dimensions."""
    if node.op != "call_function" or node.target not in ROW_SUMS:
        return None
    found = summed_dims(node)
    if found is None or not found[0] or found[0] != list(range(found[0][0], found[1])):
        return None
    value, result = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
    result = result[0] if isinstance(result, tuple) else result
    return _domain(value, len(found[0]), same(result.numel(), value.numel()))


def is_block_max(node: Node, domain: Domain) -> bool:
    """Whether a node takes the largest element of each block of a row, blocks being of a power of
    two."""
    found = row_sum_axis(node) if node.target is aten.amax.default else None
    return (found is not None and found.length & (found.length - 1) == 0
            and domain.role(node.meta["val"]) == "lead"
            and domain.repeats(node.meta["val"]) == found.length)


def is_column_sum(node: Node) -> Domain | None:
    """The domain of a sum, a mean or a largest element over the first dimensions."""
    return column_domain(node) if _combines(node) else None


def _combines(node: Node) -> bool:
    """Whether a node is a sum, a mean of a known number of elements, or the largest float."""
    if node.op != "call_function" or node.target not in (
            aten.sum.dim_IntList, aten.mean.dim, aten.amax.default):
        return False
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    if node.target is aten.amax.default:
        return value.is_floating_point() and value.element_size() in (2, 4)
    return node.target is aten.sum.dim_IntList or isinstance(value.numel(), int)


def column_domain(node: Node) -> Domain | None:
    """The domain over whose rows a reduction goes, if it is one over the first dimensions."""
    found = summed_dims(node)
    if found is None or not found[0] or found[0] != list(range(len(found[0]))):
        return None
    return _domain(node.args[0].meta["val"],  # type: ignore[union-attr]
                   found[1] - len(found[0]))


def is_group_sum(node: Node) -> Domain | None:
    """The domain, which has groups, of such an operation over dimensions between others: those in
    front of them are the groups, those behind them a row."""
    found = summed_dims(node) if _combines(node) else None
    if found is None or not found[0]:
        return None
    summed, rank = found
    first, end = summed[0], summed[-1] + 1
    if first == 0 or end == rank or summed != list(range(first, end)):
        return None
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    domain = _domain(value, rank - end, outer=first)
    return None if domain is None or domain.groups is None else domain


def sum_kind(node: Node, domain: Domain) -> str | None:
    """What combines rows of the domain: "column_sum", "column_max", "group_sum", "group_max", or
    None: it is none."""
    suffix = "max" if node.target is aten.amax.default else "sum"
    if is_column_sum(node) == domain:
        return "column_" + suffix
    found = is_group_sum(node)
    if found == domain and domain.groups is not None and found is not None and (
            found.groups is not None and same(found.groups, domain.groups)):
        return "group_" + suffix
    return None


def _domain(value: torch.Tensor, columns: int = 1, is_of_one: bool = False,
            outer: int = 1) -> Domain | None:
    """Rows that are the last ``columns`` dimensions of a tensor, or are of one element, in groups
    by the ``outer`` first ones; none of one row alone."""
    shape = [size for size in memory_shape(value) if not same(size, 1)]
    if is_of_one:
        shape.append(1)
    first = len(shape) - columns
    length = product(shape[first:])
    if not isinstance(length, int) or first < 1 or columns < 1:
        return None
    rows = product(shape[:first])
    if same(rows, 1) or same(rows, 0):
        return None
    groups = product(shape[:outer]) if first > outer else None
    if groups is not None and (same(groups, 1) or same(groups, rows)):
        groups = None
    return Domain(rows, length, groups)
