# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion beyond Inductor's own, and Inductor's own kernels of fused nodes."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import logging
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._inductor import config, scheduler, tiling_utils
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codecache import PyCodeCache
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.graph import GraphLowering
from torch._inductor.utils import Placeholder
from torch._inductor.virtualized import V

from . import graph as internals
from .attempts import CountPrograms, attempt, is_left, own, scheduled_by

LEAST_FUSED = 1 << 20
"""Elements from which nodes are fused that Inductor by itself does not fuse: sums of fewer over
rows take as long as a launch, and reading them again does not."""


def fuse_more_nodes(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Fuses nodes that Inductor leaves apart, if fewer row programs compute them together."""
    def fuse_nodes(self: Any, nodes: list[Any]) -> list[Any]:
        fused = original(self, nodes)
        if getattr(own, "classes", None) is not None and own.copies:
            self.donated, self.name_to_donated_buffer = self.name_to_donated_buffer, {}
        count_programs = getattr(own, "count_programs", None)
        if count_programs is None or attempt().is_last:
            return fused
        return _fuse_more(self, fused, count_programs)

    return fuse_nodes


def _fuse_more(of: Any, nodes: list[Any], count_programs: CountPrograms) -> list[Any]:
    """Fuses nodes over the same elements that Inductor runs in other orders."""
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
            names = internals.names_of([*first.get_nodes(), *second.get_nodes()])
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
    """A node, or two where a split sum is fused with additions to places, which no program has."""
    parts: dict[bool, list[Any]] = {False: [], True: []}
    for one in node.get_nodes():
        parts[internals.is_scatter(one)].append(one)
    others, scatters = parts[False], parts[True]
    names = {name for one in scatters for name in one.get_operation_names()}
    if (not scatters or not any(one.is_reduction() for one in others)
            or not internals.is_changed(others) or is_left(internals.names_of(others))
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
    """Whether two nodes, one a reduction, run through a buffer that takes long to read again."""
    layout = internals.layout_of(name)
    if layout is None or not (first.is_reduction() or second.is_reduction()):
        return False
    count = math.prod(layout[0])
    known_equal = V.graph.sizevars.statically_known_equals
    return internals.hint_of(count) >= LEAST_FUSED and all(
        known_equal(math.prod(node.group[1]), count) for node in (first, second))


log = logging.getLogger("lnbwd.regions")


@dataclasses.dataclass(frozen=True)
class CompiledKernel:
    """Inductor's kernel for a node, by itself: the buffers of its first arguments, what makes
    random arguments, with memory of their own, and what launches it."""

    buffers: Sequence[str]
    arguments: Callable[[], Sequence[Any]]
    call: Callable[[Sequence[Any]], object]


def compiled_kernels(node: Any) -> list[Callable[[], CompiledKernel]]:
    """Starts to compile Inductor's kernels for a fused node; gives functions that wait for them.
    One kernel may reduce rows, and columns in parts that PyTorch adds up. It cannot be called by
    itself. The kernel of the rows alone, and the additions, stand for it: they take no longer."""
    rows, other = (getattr(node, name, None) for name in ("node1", "node2"))
    if rows is None or other is None:
        return [_compiled_kernel(node)]
    sums = (sum(one.is_reduction() for one in other.get_nodes())
            if isinstance(node, scheduler.FusedMixOrderReductions) else 0)
    return [_compiled_kernel(rows), *[functools.partial(_sum_of_parts, rows)] * sums]


def own_kernels(nodes: Sequence[Any]) -> list[Callable[[], CompiledKernel]] | None:
    """As :func:`compiled_kernels`, for the kernels that Inductor makes of the same part of the
    graph by itself: it lowers that part alone. None: one also adds to places of a tensor."""
    beside = {id(one): one for node in nodes for one in attempt().apart.get(node.get_name(), ())}
    module, inputs, buffers = _part_of_graph([*nodes, *beside.values()])
    results = internals.results_of(nodes)
    graph: Any = GraphLowering(module, inputs, V.graph._shape_env,
                               is_inference=V.graph.is_inference,
                               is_backward=V.graph.is_backward)
    compiled: list[Callable[[], CompiledKernel]] = []
    with scheduled_by(), V.set_graph_handler(graph):
        graph.run(*inputs)
        graph.init_wrapper_code()
        graph._update_scheduler()
        for node in internals.fused_nodes():
            if beside and results.isdisjoint(internals.results_of(node.get_nodes())):
                continue
            if beside and any(internals.is_scatter(one) for one in node.get_nodes()):
                return None
            graph.scheduler.current_device = node.get_device()
            compiled += compiled_kernels(node)

    def finish(compiled: Callable[[], CompiledKernel]) -> CompiledKernel:
        found = compiled()
        return dataclasses.replace(found, buffers=[
            buffers.get(name, name) for name in found.buffers])

    return [functools.partial(finish, one) for one in compiled]


def _part_of_graph(nodes: Sequence[Any]
                   ) -> tuple[torch.fx.GraphModule, list[torch.Tensor], dict[str, str]]:
    """The part of the graph that nodes compute, its inputs, their buffers in the whole graph."""
    buffers_of = {buffer.get_origin_node(): buffer for buffer in V.graph.buffers}
    origins, results = set[torch.fx.Node](), set[torch.fx.Node]()
    for one in nodes:
        origin = one.node.get_origin_node()
        origins |= {*one.node.get_origins(), *([origin] if origin is not None else [])}
        buffers_of.pop(origin, None)
        if origin is not None and not internals.is_local(one.get_outputs()[0].get_name(), nodes):
            results.add(origin)
    if not results:
        raise NotImplementedError("no result is known as a node of the graph")
    # What has a buffer of its own is read from there. An element of a result has no origin of its
    # own where it is read.
    origins -= buffers_of.keys()
    origins |= {user for one in origins for user in one.users
                if user.target is operator.getitem and not origins.isdisjoint(user.users)}
    inside, left = set[torch.fx.Node](), [*results]
    while left:
        if (node := left.pop()) in origins and node not in inside:
            inside.add(node)
            left += node.all_input_nodes
    part, copies = torch.fx.Graph(), dict[torch.fx.Node, torch.fx.Node]()
    inputs, buffers = list[torch.Tensor](), dict[str, str]()

    def outside(node: torch.fx.Node) -> torch.fx.Node:
        if node not in copies:
            value = node.meta["val"]
            if not isinstance(value, torch.Tensor):
                raise NotImplementedError(f"an input is no tensor: {node}")
            buffer = V.graph.graph_inputs.get(node.name) or buffers_of.get(node)
            strides = value.stride()
            if buffer is not None and [*buffer.get_size()] == [*value.shape]:
                strides = tuple(map(int, buffer.get_stride()))
                buffers[f"part_{node.name}"] = buffer.get_name()
            with V.fake_mode:
                inputs.append(torch.empty_strided(value.shape, strides, dtype=value.dtype,
                                                  device=value.device))
            copies[node] = part.placeholder(f"part_{node.name}")
            copies[node].meta["val"] = inputs[-1]
        return copies[node]

    module: Any = V.graph.module
    order = [node for node in module.graph.nodes if node in inside]
    for node in order:
        for one in node.all_input_nodes:
            if one not in inside:
                outside(one)
    for node in order:
        copies[node] = part.node_copy(node, copies.__getitem__)
    part.output(tuple(copies[node] for node in order if node in results))
    return torch.fx.GraphModule(module, part), inputs, buffers


def _sum_of_parts(node: Any) -> CompiledKernel:
    """The addition of the workgroups' parts of a sum over rows."""
    device = node.get_device()
    parts = 8 * torch.cuda.get_device_properties(device).multi_processor_count
    columns = internals.hint_of(node.group[1][1])
    return CompiledKernel((), lambda: [torch.ones(parts, columns, device=device)],
                          lambda arguments: arguments[0].sum(0))


def _compiled_kernel(node: Any) -> Callable[[], CompiledKernel]:
    backend = V.graph.scheduler.get_backend(node.get_device())
    buffers: Sequence[str] = ()
    try:
        source, buffers = _source(getattr(backend, "_triton_scheduling", backend), node)
    except (AttributeError, TypeError) as error:  # Another version's functions.
        log.info("Triton's kernel is not tiled as usual: %s", error)
        source = backend.generate_kernel_code_from_nodes(internals.scheduled(node),
                                                         benchmark_kernel=True)
    future = (AsyncCompile().triton("triton_", source) if AsyncCompile.use_process_pool() else None)

    def finish() -> CompiledKernel:
        if future is not None:
            future.result()
        module: Any = PyCodeCache.load(source)
        return CompiledKernel(buffers, module.get_args, module.call)

    return finish


def _source(triton: Any, node: Any) -> tuple[str, list[str]]:
    """The source that :meth:`SIMDScheduling.codegen_node` generates for a node, with its call, and
    the buffers of its arguments. (generate_kernel_code_from_nodes tiles otherwise.)"""
    nodes = internals.scheduled(node)
    analysis = None
    if config.triton.coalesce_tiling_analysis:
        node = node if len(nodes) == len(node.get_nodes()) else scheduler.FusedSchedulerNode(
            V.graph.scheduler, nodes)
        own = getattr(node, "get_coalesce_analysis", None)
        older: Any = tiling_utils  # What older versions have in its place.
        analysis = own() if own is not None else older.analyze_memory_coalescing(node)
    _, (numel, reduced) = max(nodes, key=lambda one: int(one.is_reduction())).group
    schedule = triton.generate_node_schedule(nodes, numel, reduced)
    features = SIMDKernelFeatures(schedule, numel, reduced, analysis)
    tiling, scores = triton.get_tiling_and_scores(schedule, numel, reduced, analysis)
    kernel, *_ = triton.create_kernel_choices(
        features, [tiling], {"features": features, "tiling_scores": scores})
    triton.codegen_node_schedule_with_kernel(schedule, kernel)
    with config.patch(benchmark_kernel=True), V.set_kernel_handler(kernel):
        source = str(kernel.codegen_kernel()).replace(str(Placeholder.KERNEL_NAME), "triton_")
        _, arguments, *_ = kernel.args.python_argdefs()
    return source, [internals.memory_name(str(one)) for one in arguments]
