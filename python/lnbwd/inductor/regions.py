# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the parts of a PyTorch graph that are row programs.

A *region* is a set of nodes over the same rows (a :class:`.domains.Domain`) with a sum over the
row, or over all rows or those of each group, among them. It is to become one node, so no path may
leave it and come back. To see that, each node has a *level*: what a region gives to nodes outside
(a matrix product, an attention) is a level earlier than whatever they lead to, and so is a sum over
all rows than its uses. Nodes of the same level that are connected are a region then, and no path
between them can lead through nodes outside.

A node that need not come early is moved to the level of its first use: what a backward pass
computes again of the forward one belongs to the region that uses it.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import operator
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, Node, map_arg

from ..graphs.conversion import (
    POWERS,
    WINDOWS,
    Conversion,
    Unsupported,
    describe,
    is_copy,
    is_misplaced,
    is_movable,
    is_possible,
    is_power,
    is_readable,
    put_inside,
    reads_by_itself,
    spread_over,
)
from ..graphs.convert import check, is_elsewhere, is_scale, is_supported
from ..graphs.domains import (
    CODES,
    DTYPES,
    ELEMENTS,
    INTEGERS,
    SCALARS,
    Domain,
    parts_of,
    same,
)
from ..graphs.fusion import (
    base_of,
    blocks_read,
    is_alias,
    is_fused,
    is_handed_on,
    is_in_memory,
    made_of,
    separated,
)
from ..graphs.maxima import COMPARISONS, LARGEST, base_of_size, compared
from ..graphs.nodes import (
    IN_MEMORY,
    STORED,
    WITH_INDICES,
    begins_backward,
    column_domain,
    is_block_max,
    is_column_sum,
    is_computed_in_place,
    is_constant,
    is_group_sum,
    is_index,
    is_of_memory,
    is_random,
    is_reduction,
    is_returned,
    is_seed,
    is_view,
    memory_of,
    row_sum_axis,
    sources,
    sum_kind,
)
from ..rowprogram import (
    INPUT_KINDS,
    OUTPUT_KINDS,
    SUM_KINDS,
    Output,
    RowProgram,
    operands_of,
    reached,
)
from ..spec import rows_hint

MIN_LENGTH, MAX_LENGTH = 4, 262144
"""The lengths of rows that are looked at: those at which kernels were measured to be faster. Rows
that are only summed with others may be longer, since workgroups share their columns."""

_MOST_COMPARED = 16
"""A region is joined with one of so many before it: of all layers of a model, each reads the same
angles of rotated heads, say."""

_MOST_ARGUMENTS = 64
"""Of a launch plan."""

_MOST_ADDED_TWICE = 1 << 21
"""Of so many elements a sum is added up twice where it is returned twice, for 0.3 us at most on an
H100, as the model predicts; a copy is a kernel more, of 1.2 us."""


@dataclass
class Region:
    """Nodes that can be one row program.

    Attributes:
        domain: the rows.
        nodes: in the order of the graph.
        row_sums, column_sums: those that sum over the row, and over all rows or those of a group.
        program: what they compute.
        inputs: the nodes that it reads, in the order of the program's inputs.
        outputs: nodes that have the value of one output of the program in the same memory, behind
            the output's place. What comes after others of that output is a copy.
        shared: nodes of others, computed here as well, in the order of the graph.
        unfused: what follows from the region by way of kernels that are not torch.compile's.
        outside: its nodes that others compute as well, of what it writes or reads.
        tails: views and conversions of sums over all rows, which become outputs themselves.
        rounded: nodes of 16 bits that it uses as memory has them.
        alike: how many regions of its graph have the same operations over as many rows.
        then: regions without sums, each with a program of its own, that follow from its sums: as
            the gradient of a batch norm's operand does from sums over all rows.
    """

    domain: Domain
    nodes: list[Node]
    row_sums: list[Node] = field(default_factory=list)
    column_sums: list[Node] = field(default_factory=list)
    program: RowProgram | None = None
    inputs: list[Node] = field(default_factory=list)
    outputs: list[tuple[int, list[Node]]] = field(default_factory=list)
    tails: list[Node] = field(default_factory=list)
    shared: list[Node] = field(default_factory=list)
    unfused: set[Node] = field(default_factory=set)
    outside: set[Node] = field(default_factory=set)
    rounded: set[Node] = field(default_factory=set)
    alike: int = 1
    then: list[Region] = field(default_factory=list)

    @property
    def programs(self) -> list[RowProgram]:
        """Its program, and those of what follows."""
        return [one.program for one in (self, *self.then) if one.program is not None]

    def describe(self) -> str:
        """What it is, in a few words."""
        name = self.nodes[-1].name
        for node in [*self.row_sums, *self.column_sums]:
            name = node.name
        return (f"{self.domain}, {len(self.nodes)} nodes to {name}, {len(self.row_sums)} row sums, "
                f"{len(self.column_sums)} column sums"
                + "".join(f", and {len(one.nodes)} nodes behind" for one in self.then))


def find_regions(graph: Graph, left: Iterable[Node] = ()) -> list[Region]:
    """The regions of a graph, without their programs; they share no node, and have none of those
    ``left``."""
    order = {node: place for place, node in enumerate(graph.nodes)}
    regions: list[Region] = []
    others: list[Region] = []
    taken = set(left)
    for domain in _find_domains(graph):
        found = [_region(domain, group, order) for group in _find_groups(graph, domain, taken)
                 if not all(map(is_view, group))]
        for region in _join(found, order):
            if region.row_sums or region.column_sums:
                regions.append(region)
                taken.update(region.nodes)
            else:
                others.append(region)
    for region in others:
        if taken.isdisjoint(region.nodes) and (leader := _leader(region, regions, order)):
            leader.then.append(region)
            taken.update(region.nodes)
    shapes = [(str(region.domain), *(node.target for node in region.nodes)) for region in regions]
    counts = collections.Counter(shapes)
    for region, shape in zip(regions, shapes, strict=True):
        region.alike = counts[shape]
    return sorted(regions, key=lambda region: order[region.nodes[0]])


def _leader(region: Region, regions: Iterable[Region], order: dict[Node, int]) -> Region | None:
    """The last region from whose sums, by way of what is small, one without sums follows."""
    inside = set(region.nodes)
    leads = reached([source for node in inside for source in node.all_input_nodes],
                    lambda node: node.all_input_nodes if node in inside or (
                        (is_fused(node) or is_reduction(node) or node.target is operator.getitem)
                        and region.domain.role(node.meta.get("val")) != "row") else ())
    found = [one for one in regions if one.domain == region.domain
             and not leads.isdisjoint([*one.row_sums, *one.column_sums])]
    return max(found, key=lambda one: order[one.nodes[0]], default=None)


def without_region(graph: Graph, regions: Iterable[Region]) -> list[tuple[Node, str]]:
    """The reductions that are part of no region, each with the reason."""
    inside = {node for region in regions for node in region.nodes}
    result = []
    for node in graph.nodes:
        if not is_reduction(node) or node in inside:
            continue
        reason = "goes over other dimensions than those of rows, or all but those"
        for find in (row_sum_axis, column_domain, is_group_sum):
            domain = find(node)
            if domain is None:
                continue
            reason = f"has rows of {domain.length} elements"
            if _is_looked_at(node, domain):
                try:
                    check(node, domain)
                    reason = "has no region around it"
                except Unsupported as error:
                    reason = str(error)
                break
        result.append((node, reason))
    return result


def _is_looked_at(node: Node, domain: Domain) -> bool:
    """Whether a node may be part of a region: a sum over the row, if that is not too long."""
    return domain.length >= MIN_LENGTH and (
        domain.length <= MAX_LENGTH or row_sum_axis(node) is None)


def _region(domain: Domain, nodes: Iterable[Node], order: dict[Node, int]) -> Region:
    region = Region(domain, sorted(nodes, key=order.__getitem__))
    region.row_sums = [n for n in region.nodes if row_sum_axis(n) == domain]
    region.column_sums = [n for n in region.nodes if sum_kind(n, domain)]
    return region


def _join(regions: Iterable[Region], order: dict[Node, int]) -> list[Region]:
    """The regions, those joined that read the same memory, and that torch.compile computes in one
    kernel therefore: the gradient of a shift sums what the gradient of its norm reads, and the
    heads of queries and keys are turned by the same angles."""
    result: list[tuple[Region, set[Node]]] = []
    for region in regions:
        inside = set(region.nodes)
        read = set().union(*(blocks_read(source, inside) for node in region.nodes
                             for source in sources(node) if source not in inside))
        for other, read_by_other in result[-_MOST_COMPARED:]:
            if read & read_by_other:
                joined = _region(region.domain, [*region.nodes, *other.nodes], order)
                if is_possible(convert, joined):
                    result = [one for one in result if one[0] is not other]
                    region, read = joined, read | read_by_other
        result.append((region, read))
    return [region for region, _ in result]


def _find_domains(graph: Graph) -> list[Domain]:
    """What sums go over, those with sums over the row first; in groups if some node has them in
    such."""
    found: list[Domain] = []
    for find in (row_sum_axis, is_column_sum, is_group_sum):
        for node in graph.nodes:
            domain = find(node)
            if domain is None or not _is_looked_at(node, domain):
                continue
            for place, known in enumerate(found):
                if domain.length == known.length and same(domain.rows, known.rows):
                    if known.groups is None:
                        found[place] = dataclasses.replace(known, groups=domain.groups)
                    break
            else:
                found.append(domain)
    return [dataclasses.replace(domain, groups=_groups(graph, domain)) for domain in found]


def _groups(graph: Graph, domain: Domain) -> Any:
    """The number of groups of rows. Unless sums need them, they are the channels of all samples if
    nodes of all rows have operands with a number for each of these; and the samples if they have
    operands with a row for each of them: a class token, say, in front of those of patches."""
    values = [(node.meta["val"], source.meta["val"]) for node in graph.nodes
              if domain.role(node.meta.get("val")) == "row" and node.meta["val"].dim() > 2
              and isinstance(node.meta["val"].shape[0], int) for source in sources(node)
              if isinstance(source.meta["val"], torch.Tensor)
              and isinstance(source.meta["val"].numel(), int)]
    samples = [value.shape[0] for value, own in values if 1 < value.shape[0] < domain.rows
               and same(own.numel(), value.shape[0] * domain.length)]
    channels = [own.numel() for value, own in values
                if own.shape == (*value.shape[:2], *[1] * (value.dim() - 2))
                and value.shape[0] < own.numel() < domain.rows]
    if channels and not samples and not any(is_group_sum(node) == domain for node in graph.nodes):
        return channels[0]
    return domain.groups or next(iter(samples), None)


def _candidates(graph: Graph, domain: Domain, taken: set[Node]) -> set[Node]:
    """The nodes that can be part of a row program over the domain."""
    result: set[Node] = set()
    for node in graph.nodes:
        if (node in taken or node.op != "call_function" or is_elsewhere(node, domain)
                or not _is_looked_at(node, domain)):
            continue
        if is_copy(node, domain, result):
            result.add(node)
            continue
        if not is_supported(node, domain):
            continue
        over = spread_over(node, domain)
        misplaced = [source for source in sources(node) if source in result
                     and over is not None and not reads_by_itself(node)
                     and is_misplaced(source, over, domain)]
        # A weight of as many channels as there are rows is read where it is used.
        # So is a view that has the elements in another order.
        behind = _computed_of(misplaced, result)
        if all(map(is_view, behind)) or all(domain.role(n.meta["val"]) in ("column", "lead")
                                            for n in behind.difference(misplaced)):
            result -= behind
            misplaced = []
        if reads_by_itself(node) or (
                all(source in result for source in sources(node)
                    if not _is_readable(source, domain, over))
                and not _is_drawn(node, result) and not misplaced):
            result.add(node)
    windows = {node for node in result if node.target in WINDOWS}
    if windows:
        result |= put_inside([node for node in graph.nodes if node in windows or (
            node not in taken and is_movable(node, result))])
    # What is no output has its users inside.
    of_blocks = {node for node in result if is_block_max(node, domain)}
    of_blocks = reached(of_blocks, lambda node: [user for user in node.users if user in result])
    for node in reversed(graph.nodes):
        is_inside = node in result and (is_scale(node) or (
            node not in of_blocks and domain.role(node.meta["val"]) == "lead"))
        if is_inside and not (node.users and all(user in result for user in node.users)):
            result.remove(node)
    return result


def _computed_of(nodes: Iterable[Node], candidates: set[Node]) -> set[Node]:
    """Some candidates and those that they are computed of."""
    return reached((node for node in nodes if node in candidates),
                   lambda node: [source for source in sources(node) if source in candidates])


def _is_readable(node: Node, domain: Domain, over: torch.Tensor | None = None) -> bool:
    """Whether a kernel can read a node's elements, perhaps spread ``over`` a row block."""
    trial = Conversion(domain)
    trial.over = over
    return is_constant(node) or is_seed(node) or is_possible(trial.read, node)


def _is_drawn(node: Node, inside: Collection[Node] = ()) -> bool:
    """Whether a node is a mask made of random numbers, as dropout draws it, that are not
    ``inside``. It is left to Inductor, which makes the numbers where it compares them: the mask has
    a quarter of their bytes."""
    value = node.meta["val"]
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool and any(
        is_random(source) and source not in inside for source in sources(node))


def _levels(graph: Graph, domain: Domain, candidates: set[Node]) -> dict[Node, int]:
    """The level of every node."""
    earliest: dict[Node, int] = {}
    for node in graph.nodes:
        level = 0
        for source in node.all_input_nodes:
            leaves = source in candidates and (node not in candidates
                                               or sum_kind(source, domain) is not None)
            level = max(level, earliest[source] + leaves)
        earliest[node] = level
    levels = dict(earliest)
    for node in reversed(graph.nodes):
        if node not in candidates or not node.users:
            continue
        bounds = [levels[user] if user in candidates and sum_kind(node, domain) is None
                  else earliest[user] - 1
                  for user in node.users if user.op != "output"]
        if bounds:
            levels[node] = max(levels[node], min(bounds))
    return levels


def _find_groups(graph: Graph, domain: Domain, taken: set[Node]) -> list[set[Node]]:
    """The connected sets of candidates of one level."""
    candidates = _candidates(graph, domain, taken)
    levels = _levels(graph, domain, candidates)
    groups: list[set[Node]] = []
    seen: set[Node] = set()

    def connected(node: Node) -> list[Node]:
        # A sum over all rows ends where it is.
        others = [source for source in node.all_input_nodes if sum_kind(source, domain) is None]
        if sum_kind(node, domain) is None:
            others += node.users
        return [other for other in others
                if other in candidates and levels[other] == levels[node]]

    for start in graph.nodes:
        if start in candidates and start not in seen:
            groups.append(reached([start], connected))
            seen |= groups[-1]
    return groups


def normalised(graph: Graph) -> tuple[set[Node], set[Node]]:
    """The row blocks of a forward pass that a backward pass uses, and that follow from a sum over
    their row: xhat, of a norm; and those that they are computed of and no region can compute.

    A norm of what another norm gave, as the residual stream is where norms stand after the
    additions, is not among them: computed again, each layer would need the one before, and the
    backward pass would begin with the streams of all of them. Nor is a softmax: what it is computed
    of has as many bytes, and nothing else needs that.

    ``graph`` holds both passes; of a graph of which PyTorch does not say what is the backward one,
    there are none.
    """
    backward: set[Node] = set()
    for node in graph.nodes:
        if begins_backward(node) or any(source in backward for source in node.all_input_nodes):
            backward.add(node)
    result: set[Node] = set()
    outside: set[Node] = set()
    for domain in _find_domains(graph):
        if all(row_sum_axis(node) != domain for node in graph.nodes if node not in backward):
            continue
        candidates = _candidates(graph, domain, backward)
        # What follows from a sum over the row, and what from its largest element.
        follows: set[Node] = set()
        scaled: set[Node] = set()
        for node in graph.nodes:
            if node not in candidates:
                continue
            is_sum = row_sum_axis(node) == domain
            if is_sum or any(source in follows for source in node.all_input_nodes):
                follows.add(node)
            if (is_sum and node.target is torch.ops.aten.amax.default) or any(
                    source in scaled for source in node.all_input_nodes):
                scaled.add(node)
        rows = {node for node in follows if domain.role(node.meta["val"]) == "row"}
        rows -= scaled | _behind_several_norms(graph, domain, candidates)

        def read(node: Node, rows: set[Node] = rows) -> list[Node]:
            return [source for source in node.all_input_nodes if source in rows]

        result |= reached((node for node in rows if any(user in backward for user in node.users)
                           and node.meta["val"].dtype == torch.float32), read)
        outside |= _read_by(result & candidates, candidates, domain) - backward
    # The graph has nodes twice, once from either pass, that PyTorch makes one later on.
    first = _first_of_equals(graph)
    equals = {first[node] for node in result}
    return {node for node in graph.nodes if first[node] in equals}, outside


_SIGNS = {torch.ops.aten.abs.default, torch.ops.aten.neg.default}
"""What changes the sign alone, and rounds nothing."""


def _behind_several_norms(graph: Graph, domain: Domain, candidates: set[Node]) -> set[Node]:
    """The candidates that follow from sums over rows which are not computed of the same row blocks:
    those of two norms. (A norm that takes the mean first, and then the variance, has two sums of
    the same.)"""
    result: set[Node] = set()
    blocks: dict[Node, frozenset[Node]] = {}
    """The row blocks from outside that a candidate is computed of."""
    norms: dict[Node, frozenset[Node]] = {}
    """Of a candidate that follows from a sum over the row, what that is computed of."""
    for node in graph.nodes:
        if node not in candidates:
            continue
        read = [source for source in sources(node) if source in candidates]
        blocks[node] = frozenset().union(
            *(blocks[source] for source in read),
            (source for source in sources(node) if source not in candidates
             and domain.role(source.meta["val"]) == "row"))
        found = {norms[source] for source in read if source in norms}
        if row_sum_axis(node) == domain:
            found.add(blocks[node])
        if found:
            norms[node] = max(found, key=len)
        if len(found) > 1 or any(source in result for source in read):
            result.add(node)
    return result


def _read_by(nodes: set[Node], candidates: set[Node], domain: Domain) -> set[Node]:
    """The row blocks that candidates compute nodes of, that are none themselves, and that Inductor
    would compute in place."""
    def row_blocks(node: Node) -> list[Node]:
        return [source for source in sources(node) if domain.role(source.meta["val"]) == "row"]

    computed = reached(nodes, lambda node: [n for n in row_blocks(node) if n in candidates])
    return {source for node in computed for source in row_blocks(node)
            if source not in candidates and is_computed_in_place(source)}


def _first_of_equals(graph: Graph) -> dict[Node, Node]:
    """For each node the first that computes the same from the same."""
    first: dict[Node, Node] = {}
    known: dict[Any, Node] = {}
    for node in graph.nodes:
        first[node] = node
        if node.op != "call_function":
            continue
        arguments = map_arg((node.args, node.kwargs), lambda n: first[n])
        # Numbers that are equal may differ in their type.
        key = (node.target, repr(arguments))
        first[node] = known.setdefault(key, node)
    return first


# --------------------------------------------------------------------------------------------------
# From a region to its program
# --------------------------------------------------------------------------------------------------


def tail(node: Node) -> list[Node]:
    """A sum over all rows, and the views and conversions that are all that is done with it, one
    after another."""
    result = [node]
    while len(node.users) == 1:
        user = next(iter(node.users))
        value = user.meta.get("val")
        is_cast = user.target is torch.ops.prims.convert_element_type.default
        if (not (is_view(user) or is_cast) or not isinstance(value, torch.Tensor)
                or value.dtype not in DTYPES or not same(value.numel(), node.meta["val"].numel())
                or not value.is_contiguous()):
            break
        node = user
        result.append(node)
    return result


def leads_back(region: Region) -> bool:
    """Whether a path leaves the region and comes back. A sum over all rows is known only when the
    kernel has ended, so whatever follows from it is outside."""
    inside = set(region.nodes)
    last = max(inside)
    after = reached((user for node in region.nodes for user in node.users
                     if user not in inside or node in region.column_sums),
                    lambda node: () if node in inside or node > last else node.users)
    return not inside.isdisjoint(after)


def _share_nodes(region: Region) -> list[Node]:
    """The elementwise nodes of others that a region computes as well, since it reads less that way:
    as torch.compile computes them in each kernel that uses them."""
    inside = set(region.nodes)
    shared: set[Node] = set()
    read_only = compared(region.nodes[0].graph)
    domain, has_sums = region.domain, bool(region.row_sums or region.column_sums)

    def is_shareable(node: Node) -> bool:
        return ((is_computed_in_place(node) or is_view(node)) and is_supported(node, domain)
                and not is_random(node) and not _is_drawn(node) and node not in read_only)

    def is_row(node: Node) -> bool:
        return domain.role(node.meta.get("val")) == "row"

    def is_stored(node: Node) -> bool:
        # What follows from sums leaves no kernel of torch.compile's that would write it.
        return is_in_memory(node, inside, None if has_sums else ())

    def size(nodes: Iterable[Node]) -> int:
        """Bytes an element that are read, and written where that is for the region's sake."""
        return sum(node.meta["val"].element_size() * (1 if is_in_memory(node, inside) else 2)
                   for node in nodes if is_row(node))

    def read() -> list[Node]:
        used = [source for node in [*region.nodes, *shared] for source in sources(node)]
        return [node for node in dict.fromkeys(used)
                if node not in inside and node not in shared and is_row(node)]

    for node in read():
        def is_made(current: Node, node: Node = node) -> bool | None:
            if current in inside or current in shared or is_constant(current):
                return None
            return is_shareable(current) and (current is node or not is_stored(current))

        nodes, leaves = made_of(node, is_made) or (set(), set())
        # What is viewed in two orders is read in both.
        if (node in nodes and not all(map(is_view, nodes))
                and all(_is_readable(leaf, domain, spread_over(one, domain))
                        for one in nodes if not reads_by_itself(one)
                        for leaf in sources(one) if leaf in leaves)
                and (not (has_sums or is_stored(node))
                     or size(leaves - set(read())) < size([node]))):
            shared.update(nodes)
    return sorted(shared)


def _left_outside(region: Region) -> set[Node]:
    """The nodes of a region that others compute as well, of what the region writes anyway, as they
    do where torch.compile has made its kernels: a norm's result of xhat, say, if that is kept."""
    inside = set(region.nodes)
    written = compared(region.nodes[0].graph)
    result: set[Node] = set()

    for node in region.nodes:
        if (region.domain.role(node.meta.get("val")) == "row" and is_fused(node)
                and any(user not in inside for user in node.users)
                and not is_in_memory(node, inside, region.unfused)):
            def is_made(current: Node, node: Node = node) -> bool | None:
                if current not in inside or current in written or (
                        current is not node and is_in_memory(current, inside, region.unfused)):
                    return None
                # Where there is no sum, other numbers may be drawn.
                return (is_fused(current) and not is_random(current)
                        and region.domain.role(current.meta["val"]) in (
                            "row", "column", "group_column"))

            nodes, others = made_of(node, is_made) or (set(), set())
            if not others:
                result |= nodes
    return result


def _compared_apart(inside: Collection[Node]) -> Node | None:
    """A node that compares what is computed here with its largest or smallest elements, which
    others find, and of other roundings."""
    for node in inside:
        if node.target in COMPARISONS:
            bases = [base_of_size(source) for source in sources(node)]
            if any(base in inside for base in bases) and any(
                    base.target in LARGEST and base not in inside for base in bases):
                return node
    return None


def _tells(distance: int, program: RowProgram) -> bool:
    """Whether an operand has a dimension of row blocks as they have it."""
    return any(any(len(part) < 4 and part[0] <= distance < part[0] * part[1] for part in one.parts)
               if one.parts else distance >= program.length or one.dims.has_columns
               for one in (*program.inputs, *program.outputs))


def mark_memory(graph: Graph) -> None:
    """In a graph of both passes, has nodes of 16 bits that some kernel reads from memory say so:
    what one pass rounds, the other one may compute again."""
    for node in graph.nodes:
        if _is_half(node) and is_handed_on(node):
            node.meta[IN_MEMORY] = True


def _is_half(node: Node) -> bool:
    """Whether a node computes floats of 16 bits, and is no view of such."""
    value = node.meta.get("val")
    return (node.op == "call_function" and isinstance(value, torch.Tensor)
            and value.dtype in (torch.bfloat16, torch.float16)
            and not is_view(node) and not is_alias(node))


def _outer_users(region: Region, node: Node, inside: Collection[Node]) -> list[Node]:
    """The users of a node that get its value from the region."""
    return [user for user in node.users if user not in inside and not any(
        node in one.shared and user in (*one.nodes, *one.shared) for one in region.then)]


def _as_in_memory(region: Region, others: Collection[Node]) -> set[Node]:
    """The nodes of 16 bits that are in memory, too, and used as they are there: what follows from
    them fits what others read. Those are what the region writes, what it shares and torch.compile
    has in memory, what the other pass has there, and some ``others``. In the place of a largest
    element, those are rounded of which it is one: they may be compared with it."""
    inside = {*region.nodes, *region.shared}
    written_by = set(region.nodes) - region.outside
    result = set()
    for node in filter(_is_half, inside):
        if region.domain.role(node.meta["val"]) not in ("row", "scalar", "lead"):
            continue
        views = reached([node], lambda one: [
            user for user in one.users if user in inside and (is_view(user) or is_alias(user))])
        is_used = any(user in inside and user not in views
                      for one in views for user in one.users)
        if is_used and (node in others or IN_MEMORY in node.meta or (
                is_in_memory(node, inside) if node not in written_by else any(
                    _outer_users(region, one, written_by) for one in views))):
            result.add(_rounded_for(node))
    return {node for node in result if node in inside and _is_half(node)}


def _rounded_for(node: Node) -> Node:
    """What is rounded to have a node rounded: that of which it is the largest element, or it."""
    whole: Any = node.args[0] if node.target is operator.getitem else node
    if whole.target not in LARGEST and whole.target not in WITH_INDICES:
        return node
    node = whole.args[0]
    while is_view(node) or node.target in _SIGNS:
        node = node.args[0]  # type: ignore[assignment]
    return node


def convert(region: Region, rounded: Collection[Node] = ()) -> None:
    """Makes the program of a region, and says what it reads and writes.

    Args:
        region: the region.
        rounded: nodes that are used as memory has them, beside those that are in memory.

    Raises:
        Unsupported: it is no program, or some node cannot be part of it; says which and why.
    """
    if leads_back(region):
        raise Unsupported("a path leaves it and comes back")
    inside = set(region.nodes)
    region.tails = []
    region.shared = _share_nodes(region)
    region.unfused = separated(inside, lambda node: node.users)
    region.outside = _left_outside(region)
    region.rounded = _as_in_memory(region, rounded)
    conversion = Conversion(region.domain, rounded=region.rounded)
    # What is shared is computed of nothing that the region computes.
    put = put_inside(region.nodes)
    for node in [*region.shared, *region.nodes]:
        try:
            if node not in put:
                conversion.convert(node)
        except Unsupported as error:
            raise Unsupported(f"{node.name} {error}") from error
    reads = [node for node, _ in conversion.inputs]
    places_of = [place for _, place in conversion.inputs]
    if apart_from := _compared_apart(inside.union(region.shared)):
        raise Unsupported(f"{apart_from.name} looks for what others find in what is computed again")
    inside -= region.outside
    found: dict[Output, dict[Node | None, list[Node]]] = {}
    for node in region.nodes:
        kind = sum_kind(node, region.domain)
        chain = tail(node) if kind else [node]
        last = chain[-1]
        region.tails += chain[1:]
        value = last.meta["val"]
        if (node in put or node not in inside or isinstance(value, tuple)
                or not _outer_users(region, last, inside)):
            continue
        role = kind or region.domain.role(value)
        # What is no output is computed outside as well: columns, integers but for those that say
        # where in a row an element is, and conditions of row scalars.
        is_condition = role == "scalar" and value.dtype == torch.bool
        if role in ("column", "group_column") or (value.dtype in INTEGERS and not (
                role == "scalar" and is_index(node))) or (
                is_condition and not conversion.follows_from_sum(conversion.values[node])):
            continue
        if role is None or (is_power(node, region.domain) and node.meta[POWERS] is None):
            raise Unsupported(f"{node.name} gives {describe(value)}, which is no part of rows")
        block = 1
        if role == "lead":
            role, block = "row", region.domain.repeats(value) or 1
        # What is read is there already, in whatever shape; what is computed of it is not, if only
        # divided by one.
        source = conversion.builder.nodes[conversion.values[node]]
        if (source[0] == "input" and kind is None
                and base_of(node) is base_of(reads[source[1]])
                and reads[source[1]].meta["val"].dtype == value.dtype
                and not places_of[source[1]].is_strided):
            continue
        if not is_readable(value, role):
            raise Unsupported(f"{node.name} gives a tensor whose rows are not dense")
        known = SCALARS if role == "scalar" else {**ELEMENTS, **CODES}
        output = Output(role, known[value.dtype], conversion.values[node], block,
                        parts=parts_of(node.meta[STORED], value) if (
                            STORED in node.meta and not is_of_memory(node)) else ())
        # Of what the graph returns a change in place of one shows in views of the same alone.
        memory = (memory_of(last) or (last,))[0] if is_returned(last) else None
        found.setdefault(output, {}).setdefault(memory, []).append(last)
    if not found:
        raise Unsupported("nothing uses what it computes")
    rows = region.domain.rows if isinstance(region.domain.rows, int) else None
    is_small = rows is not None and rows * region.domain.length <= _MOST_ADDED_TWICE
    outputs: list[Output] = []
    region.outputs = []
    for output in sorted(found, key=lambda output: OUTPUT_KINDS.index(output.kind)):
        unreturned = found[output].pop(None, [])
        for place, nodes in enumerate(list(found[output].values()) or [[]]):
            # Rows are written to each memory. A sum of many is copied: it would be added up twice.
            if place == 0 or output.kind not in SUM_KINDS or is_small:
                outputs.append(output)
            region.outputs.append((len(outputs) - 1, nodes + unreturned * (place == 0)))
    made = conversion.builder.nodes
    used = [made[index] for index in reached((output.value for output in outputs),
                                             lambda index: operands_of(made[index]))]
    if any(one.dims.tells_groups for one in (
            *outputs, *(places_of[node[1]] for node in used if node[0] == "input"))):
        places_of = [region.domain.repeated(place) for place in places_of]
    # Inputs in the order of the program's arguments.
    places = sorted(range(len(reads)), key=lambda place: (
        INPUT_KINDS.index(places_of[place].kind), place))
    renamed = {old: new for new, old in enumerate(places)}
    conversion.builder.nodes[:] = [
        ("input", renamed[n[1]]) if n[0] == "input" else n for n in conversion.builder.nodes]
    program = conversion.builder.finish(
        rows, [places_of[place] for place in places], outputs,
        region.domain.groups if isinstance(region.domain.groups, int) else None)
    program, read = program.without_unused_inputs()
    region.inputs = [reads[places[place]] for place in read]
    tells_rows = any(i.kind == "table" for i in program.inputs) if rows is None else program.inputs
    # What is strided may be repeated, along rows and along others.
    if not any(i.kind == "row" or (i.is_strided and (rows is None or math.prod(
            part[1] for part in i.parts) == rows * program.length)) for i in program.inputs
               ) and not (tells_rows and any(o.kind == "row" for o in program.outputs)):
        raise Unsupported("it reads no row block")
    if any(len(part) > 3 and not _tells(part[0], program) for i in program.inputs
           for part in i.parts):
        raise Unsupported("it reads windows of what no other operand tells the size of")
    arguments = len(program.inputs) + len(program.outputs)
    if arguments > _MOST_ARGUMENTS:
        raise Unsupported(f"it has {arguments} arguments, more than {_MOST_ARGUMENTS}")
    if program.has_groups and program.groups is None and not any(
            i.dims.tells_groups or i.kind == "row" for i in program.inputs):
        raise Unsupported("it sums over groups of rows that no input has")
    if rows is None and program.has_groups and program.draws:
        raise Unsupported("it draws random numbers in groups of an unknown number of rows")
    try:
        program.row_dims()
    except ValueError as error:
        raise Unsupported(f"its rows have no dimensions: {error}") from error
    if rows is None:
        node = region.domain.rows.node  # type: ignore[union-attr]
        if node.has_hint():
            # Rounded here, so that another M nearby gives the same text, and finds its kernel.
            program = dataclasses.replace(program, expected_rows=rows_hint(int(node.hint)))
    region.program = program
