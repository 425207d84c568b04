# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile fuses: which nodes of a graph have a tensor in memory, and which do not.

Inductor computes an elementwise operation, a view, a pooling or a gather in each kernel that uses
it. Its elements are in memory only where something needs them there: a matrix product, a
convolution, an attention, or the end of the graph. This is what its decisions come to for almost
all nodes, not a copy of them.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Collection, Iterable
from typing import Any

import torch
from torch._inductor import config, inductor_prims
from torch.fx import Node

from ..rowprogram import reached
from .nodes import VIEWS, is_constant, is_reduction, sources

aten = torch.ops.aten

_MOST_NODES = 64
"""A chain of more operations than this is not computed anew in each kernel that uses its end."""

_MOST_READS, _MOST_READS_ONCE = 4, 8
"""What is computed of more tensors than this is not computed anew either; where one node uses it,
it is not computed there."""

_OTHER_VIEWS = {aten.permute.default, aten.transpose.int, aten.t.default, aten.slice.Tensor,
                aten.select.int, aten.as_strided.default}
"""Views that change the order of elements, or leave some out."""

_ALIASES = _OTHER_VIEWS | VIEWS

_SEEDS = {inductor_prims.seeds, inductor_prims.lookup_seed}

_SCATTERS = {aten.scatter, aten.scatter_add, aten.scatter_reduce, aten.index_put, aten.index_put_,
             aten._unsafe_index_put, aten._unsafe_masked_index_put_accumulate,
             aten.embedding_dense_backward}
"""Operations that write to places of a tensor, which is in memory for it."""


def is_scatter(node: Node) -> bool:
    """Whether a node writes to places of a tensor what torch.compile may compute there."""
    return getattr(node.target, "overloadpacket", None) in _SCATTERS


def is_alias(node: Node) -> bool:
    """Whether a node has its operand's memory: a view, or a copy that copies nothing."""
    if node.target is aten.clone.default:
        value, source = (n.meta.get("val") for n in (node, node.args[0]))  # type: ignore[union-attr]
        return (isinstance(value, torch.Tensor) and isinstance(source, torch.Tensor)
                and value.stride() == source.stride())
    return node.target in _ALIASES


def takes_part(nodes: Collection[Node], count: Any) -> bool:
    """Whether some of a row block of so many elements is all that nodes use of it: torch.compile's
    kernels then read no more of what it is computed from."""
    def size(node: Node) -> Any:
        value = node.meta.get("val")
        return value.numel() if isinstance(value, torch.Tensor) else None

    sources = {node.all_input_nodes[0] for node in nodes if node.target in _OTHER_VIEWS}
    return isinstance(count, int) and any(
        size(source) == count and sum(size(user) or count for user in source.users
                                      if user in nodes) < count for source in sources)


def base_of(node: Node) -> Node:
    """The node whose memory a node has."""
    while is_alias(node):
        node = node.args[0]  # type: ignore[assignment]
    return node


def may_have_gaps(node: Node) -> bool:
    """Whether Inductor may leave gaps between the rows of what a node is a view of. To say that it
    shall not keeps it from doing so for all that leads to it, by way of products as well."""
    return any(not isinstance(stride, int) or (
        stride > config.padding_stride_threshold
        and stride * one.meta["val"].element_size() % config.padding_alignment_bytes != 0)
        for one in (node, base_of(node)) for stride in one.meta["val"].stride())


def _is_fused(node: Node) -> bool:
    """Whether torch.compile computes a node in a kernel of its own making: in loops that it can put
    together with others, as its lowering says."""
    if node.target is operator.getitem:
        source: Any = node.args[0]
        # What splits a tensor gives views.
        return _is_fused(source) and not is_reduction(source) and not any(
            one.alias_info for one in source.target._schema.returns)
    return _is_lowered_to_loops(node.target)


@functools.cache
def _is_lowered_to_loops(target: Any) -> bool:
    from torch._inductor import lowering  # (A second to import, which row functions do without.)

    lowered = lowering.lowerings.get(target)
    return (isinstance(target, torch._ops.OpOverload) and lowered is not None
            and target not in lowering.fallbacks and target not in _SEEDS
            and target.overloadpacket not in _SCATTERS
            and inspect.unwrap(lowered).__module__ == lowering.__name__)


def is_reduced(node: Node) -> bool:
    """Whether Inductor reduces in a loop: a reduction of few elements it writes out, as elementwise
    operations."""
    if not is_reduction(node):
        return False
    value, source = node.meta["val"], node.args[0].meta["val"]  # type: ignore[union-attr]
    result = value[0] if isinstance(value, tuple) else value
    few = config.unroll_reductions_threshold
    return not all(isinstance(one.numel(), int) for one in (source, result)) or (
        source.numel() >= few * result.numel())


def is_fused(node: Node) -> bool:
    """Whether torch.compile computes a node, or what it is a view of, in a kernel of its own
    making, and no sum."""
    node = base_of(node)
    return _is_fused(node) and not is_reduction(node)


def other_users(node: Node, inside: Collection[Node] = ()) -> set[Node]:
    """The users of a node and of its views that are no views themselves, and not inside."""
    aliases = reached([node], lambda one: filter(is_alias, one.users))
    return {user for one in aliases for user in one.users
            if user not in aliases and user not in inside}


def made_of(node: Node,
            is_made: Callable[[Node], bool | None]) -> tuple[set[Node], set[Node]] | None:
    """The nodes that a node is computed by, itself among them, and those that they read; None: by
    too many.

    Args:
        node: the node.
        is_made: whether a node is computed, and not read; None: it is neither.
    """
    nodes: set[Node] = set()
    leaves: set[Node] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if current in nodes or current in leaves or (made := is_made(current)) is None:
            continue
        (nodes if made else leaves).add(current)
        if made:
            stack += sources(current)
        if len(nodes) > _MOST_NODES:
            return None
    return nodes, leaves


def _is_read_again(node: Node) -> bool:
    """Whether torch.compile rather keeps a node than computing it where it is used: it is computed
    of many tensors, of which what is kept itself is one."""
    def is_made(current: Node) -> bool | None:
        if is_constant(current):
            return None
        return current is node or (_is_fused(current) and not is_reduced(current) and all(
            map(_is_fused, other_users(current))))

    found = made_of(node, is_made)
    if found is None or len(found[1]) <= _MOST_READS:
        return found is None
    reads = {leaf: {leaf} for leaf in found[1]}
    for current in sorted(found[0]):
        read = set().union(*(reads.get(source, ()) for source in sources(current)))
        most = _MOST_READS if len(other_users(current)) > 1 else _MOST_READS_ONCE
        reads[current] = {current} if len(read) > most else read
    return reads.get(node) == {node}  # A constant is not read.


def separated(inside: Collection[Node],
              following: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """The nodes that follow from some others, or that those follow from, by way of a kernel that is
    not torch.compile's: what it cannot fuse with them."""
    near = reached([other for node in inside for other in following(node) if other not in inside],
                   lambda node: following(node) if _is_fused(node) or is_alias(node) else ())
    return reached([other for node in near if not (_is_fused(node) or is_alias(node))
                    for other in following(node)], following)


def is_handed_on(node: Node) -> bool:
    """Whether a kernel that is not torch.compile's uses a node, or the graph gives it away."""
    return not all(map(_is_fused, other_users(base_of(node))))


def is_in_memory(node: Node, inside: Collection[Node] = (),
                 unfused: Collection[Node] | None = None) -> bool:
    """Whether torch.compile has a node's elements in memory, whatever becomes of the nodes
    ``inside``.

    It has what is an input of the graph, made by a kernel that is not torch.compile's, or used by
    one; and what is computed of many tensors, if it is used in another kernel, too: by a node that
    is not inside, or, where they are given, by one of those that are ``unfused``. Not constants.
    """
    node = base_of(node)
    if is_constant(node):
        return False
    users = other_users(node, inside)
    if not _is_fused(node) or not all(map(_is_fused, users)):
        return True
    return any(unfused is None or user in unfused for user in users) and _is_read_again(node)


def made_in_place(node: Node, inside: Collection[Node] = ()) -> tuple[set[Node], set[Node]] | None:
    """The nodes that torch.compile computes where a node is used, to have it there, that node and
    views among them, and the tensors in memory that they read; None: too many. Random numbers and
    constants are neither."""
    base = base_of(node)

    def is_made(current: Node) -> bool | None:
        if is_constant(current):
            return None
        if is_alias(current) or (_is_fused(current) and not is_reduced(current) and (
                current is base or not is_in_memory(current, inside))):
            return True
        return False if isinstance(current.meta.get("val"), torch.Tensor) else None

    return made_of(node, is_made)


def blocks_read(node: Node, inside: Collection[Node] = ()) -> set[Node]:
    """The tensors in memory that a node is computed of in place by torch.compile; itself, if it is
    not."""
    found = made_in_place(base_of(node), inside)
    return {node} if found is None else found[1]
