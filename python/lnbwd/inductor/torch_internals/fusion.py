# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion beyond Inductor's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from torch._inductor import scheduler
from torch._inductor.virtualized import V

from .attempts import CountPrograms, attempt, is_left, own
from .graph import hint_of, is_changed, is_scatter, layout_of, names_of

LEAST_FUSED = 1 << 20
"""Elements from which nodes are fused that Inductor by itself does not fuse: sums of fewer over
rows take as long as a launch, and reading them again does not."""


def fuse_more_nodes(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Fuses nodes that Inductor leaves apart, if fewer row programs compute them together."""
    def fuse_nodes(self: Any, nodes: list[Any]) -> list[Any]:
        fused = original(self, nodes)
        count_programs = getattr(own, "count_programs", None)
        if count_programs is None or attempt().is_last:
            return fused
        return _fuse_more(self, fused, count_programs)

    return fuse_nodes


def _fuse_more(of: Any, nodes: list[Any], count_programs: CountPrograms) -> list[Any]:
    """Fuses nodes of as many elements, which Inductor runs in other orders, if they read or write
    the same elements."""
    left = dict.fromkeys(itertools.chain.from_iterable(
        _without_scatters(of, node, count_programs) for node in nodes))
    users: dict[str, list[Any]] = {}
    for node in left:
        if _is_of_loops(node):
            for name in node.used_buffer_names():
                users.setdefault(name, []).append(node)
    tried = set[tuple[Any, Any]]()
    for name, found in users.items():
        for pair in itertools.combinations(found, 2):
            first, second = (of.name_to_fused_node[one.get_first_name()] for one in pair)
            if first is second or (first, second) in tried:
                continue
            tried.add((first, second))
            if second.get_operation_names() & first.ancestors:
                first, second = second, first
            names = names_of([*first.get_nodes(), *second.get_nodes()])
            if (first.group[1] == second.group[1] or not _is_read_by_both(name, first, second)
                    or is_left(names) or _is_between(of, first, second)
                    or not _makes_fewer(count_programs, first, second)):
                continue
            del left[first], left[second]
            node = scheduler.FusedSchedulerNode.fuse(first, second)
            left[node] = None
            of.name_to_fused_node.update({one.get_name(): node for one in node.get_nodes()})
            attempt().fused.update(one.get_name() for one in node.get_nodes())
    return list(of.topological_sort_schedule(sorted(left, key=lambda node: int(node.min_order))))


def _without_scatters(of: Any, node: Any, count_programs: CountPrograms) -> list[Any]:
    """A node; or two, where a sum that Inductor would have split is fused with additions to places
    of a tensor, which no row program computes."""
    parts: dict[bool, list[Any]] = {False: [], True: []}
    for one in node.get_nodes():
        parts[is_scatter(one)].append(one)
    others, scatters = parts[False], parts[True]
    names = {name for one in scatters for name in one.get_operation_names()}
    if (not scatters or not any(one.is_reduction() for one in others)
            or not is_changed(others) or is_left(names_of(others))
            or any(names & set(one.ancestors) for one in others) or count_programs(others) is None):
        return [node]
    attempt().apart.update((one.get_name(), scatters) for one in others)
    found = [part[0] if len(part) == 1 else scheduler.FusedSchedulerNode(of, part)
             for part in (others, scatters)]
    of.name_to_fused_node.update({one.get_name(): part for part in found
                                  for one in part.get_nodes()})
    return found


def _is_between(of: Any, first: Any, second: Any) -> bool:
    """Whether another node needs one of two nodes, and the other one of them needs that node."""
    for one, other in ((first, second), (second, first)):
        names = one.get_operation_names()
        seen, left = {first, second}, [other]
        while left:
            for node in {of.name_to_fused_node[name] for name in left.pop().ancestors} - seen:
                if any(name in node.ancestors for name in names):
                    return True
                seen.add(node)
                left.append(node)
    return False


def _makes_fewer(count_programs: CountPrograms, first: Any, second: Any) -> bool:
    """Whether fewer row programs compute two nodes together, or nothing else does."""
    one, other, both = (count_programs(nodes) for nodes in (
        first.get_nodes(), second.get_nodes(), [*first.get_nodes(), *second.get_nodes()]))
    return both is not None and (one is None or other is None or both < one + other)


def _is_of_loops(node: Any) -> bool:
    return (isinstance(node, (scheduler.SchedulerNode, scheduler.FusedSchedulerNode))
            and not node.is_template() and not node.is_foreach()
            and not node.has_aliasing_or_mutation())


def _is_read_by_both(name: str, first: Any, second: Any) -> bool:
    """Whether two nodes, one of which reduces, run through all elements of a buffer so large that
    reading it again takes longer than two kernels."""
    layout = layout_of(name)
    if layout is None or not (first.is_reduction() or second.is_reduction()):
        return False
    count = math.prod(layout[0])
    known_equal = V.graph.sizevars.statically_known_equals
    return hint_of(count) >= LEAST_FUSED and all(
        known_equal(math.prod(node.group[1]), count) for node in (first, second))
