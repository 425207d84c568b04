# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile computes in one kernel with a region, around it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from ..graphs.domains import hint, same
from ..graphs.fusion import (
    base_of,
    is_alias,
    is_fused,
    is_in_memory,
    is_reduced,
    is_scatter,
    made_in_place,
    may_have_gaps,
    separated,
)
from ..graphs.nodes import CONVOLUTIONS, INDEXED, is_constant, is_reduction, is_seed, sources
from ..rowprogram import reached
from .partial_sums import Split
from .regions import Region

aten = torch.ops.aten

PRODUCTS = (aten.mm.default, aten.addmm.default)

MOST_OF_SMALL = 16
"""What has at most this part of a row block's elements does not count."""


def size_of(node: Node) -> int:
    """The elements of the largest tensor that a node reads or makes; of symbols, what they were
    when the graph was made. Of a table or the like as many are read as are made."""
    skipped = node.args[:1] if node.target in INDEXED or is_alias(node) else ()
    values = [one.meta.get("val") for one in (node, *node.all_input_nodes) if one not in skipped]
    return max((hint(v.numel()) or 0 for v in values if isinstance(v, torch.Tensor)), default=0)


def computed(nodes: Iterable[Node], largest: int) -> list[Node]:
    """Those of some nodes that kernels of torch.compile's compute, but for what is small beside so
    many elements."""
    return [node for node in nodes if node.op == "call_function" and node.target not in (
                # Not torch.compile's to fuse: what it reads or gives names it among its origins.
                torch.ops.lnbwd._region.default, operator.getitem, *CONVOLUTIONS, *PRODUCTS)
            and not (is_alias(node) or is_constant(node) or is_seed(node))
            and MOST_OF_SMALL * size_of(node) > largest]


@dataclass
class Surroundings:
    """What there is around a region.

    Attributes:
        region: the region, with its program.
        splits: the split reductions in it.
        inside: its nodes, with those that it shares.
        before, behind: what torch.compile may compute in its kernels in front of it, and behind it,
            where the region's results are among that.
        is_empty: whether none of those is computed but by the region's program.
        barred: what is not behind or beside it.
        outputs: the region's results.
        following: what may be computed in the kernels that compute a node, or read it.
    """

    region: Region
    splits: list[Split]
    inside: set[Node]
    before: set[Node]
    behind: set[Node]
    is_empty: bool
    barred: set[Node]
    outputs: list[Node]
    following: Callable[[Node], Iterable[Node]]


def is_made(node: Node) -> bool:
    """Whether a node is computed in loops, or is a view."""
    return is_alias(node) or is_fused(node) or is_reduction(node)


def surroundings(region: Region, splits: Sequence[Split] = ()) -> Surroundings:
    """What there is around a region, with its program, of a graph with some split reductions."""
    both = (region, *region.then)
    split = [one for one in splits if one.partial in region.nodes]
    inside = {*(n for one in both for n in (*one.nodes, *one.shared, *one.tails)),
              *(n for one in split for n in one.made)}
    apart = separated(inside, lambda node: node.all_input_nodes)
    before = _computed_before(region, inside, apart)
    outputs = [node for one in both for _, nodes in one.outputs for node in nodes]
    outputs += [node for one in split for _, node, _ in one.results if not node._erased]
    barred = inside | before | apart | separated(inside, lambda node: node.users)
    # What has no loop of its own is computed in that of a reduction behind it.
    has_loop = any(map(is_reduced, inside))

    def following(node: Node) -> Iterable[Node]:
        if isinstance(node.meta["val"], tuple):
            return node.users  # Of a reduction or convolution.
        is_end = node not in inside and not is_alias(node) and (
            node.target in CONVOLUTIONS or is_reduced(node)
            or (has_loop and (is_reduction(node) or is_in_memory(node, inside))))
        return [user for user in node.users if user not in barred and (
            user.target in CONVOLUTIONS or _is_scattered(user) or (not is_end and is_made(user)))]

    behind = reached(outputs, following)
    # Between its inputs and its nodes the region's program computes; and what only later kernels
    # use, torch.compile computes in those.
    kept = {node for node in behind if is_reduction(node) or is_in_memory(node)}
    around = _leading(before.intersection(n for one in both for n in one.inputs), before)
    around |= _leading(kept, behind)
    around -= inside
    is_empty = not computed(around, max(map(size_of, inside | around)))
    return Surroundings(
        region, split, inside, before, behind, is_empty, barred, outputs, following)


def is_padded_in_place(region: Region) -> bool:
    """Whether torch.compile leaves gaps between rows of a region's results, for a product: with the
    region, the padded rows would have memory of their own, as those of 8,192 tokens' logits, a
    thirteenth of an Electra's peak."""
    return any(user.target is aten.constant_pad_nd.default and len(user.users) == 1
               and next(iter(user.users)).target in PRODUCTS
               for one in (region, *region.then) for _, nodes in one.outputs for node in nodes
               if may_have_gaps(node) for user in node.users)


def _is_scattered(node: Node) -> bool:
    """Whether a node, or a view of another one that does, writes to places of a tensor."""
    return is_scatter(node) or (is_alias(node) and any(map(_is_scattered, node.users)))


def _leading(nodes: set[Node], among: set[Node]) -> set[Node]:
    """Some nodes, and what leads to them among others."""
    return reached(nodes, lambda node: among.intersection(node.all_input_nodes))


def _computed_before(region: Region, inside: set[Node], apart: set[Node]) -> set[Node]:
    """What torch.compile may compute in the region's kernels in front of it: elementwise
    operations, and reductions of or to as many elements with those before them. Convolutions as
    well, whose layout is Inductor's choice. Not what leads to it only by way of other kernels."""
    count = region.domain.rows * region.domain.length
    result: set[Node] = set()
    # Of random numbers, the region reads the seed.
    stack = [(node, True) for one in inside for node in one.all_input_nodes if node not in inside]
    while stack:
        node, is_first = stack.pop()
        if base_of(node) in apart and is_in_memory(node, inside):
            continue
        made, read = made_in_place(node, inside) or (set(), set())
        result |= made
        for leaf in read:
            whole: Any = leaf.args[0] if leaf.target is operator.getitem else leaf
            if whole.target in CONVOLUTIONS:
                result |= {leaf, whole}
            elif is_first and is_reduction(whole) and any(
                    same(one.meta["val"].numel(), count) for one in (leaf, whole.args[0])):
                result |= {leaf, whole}
                stack += [(source, False) for source in sources(whole)]
    return result - inside
