# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions by measurement: a region with its neighbours, both ways.

A region is copied out of its graph with what torch.compile would fuse with it: what it computes in
place for the region, and what follows in the same kernels. Inductor compiles the copy twice, as it
is and with the region's row program in its place, and both are timed in CUDA graphs on random
tensors, in turns. Times are kept in the kernel cache; equal layers are timed once.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import operator
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch._inductor import compile_fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node, map_arg
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from .. import compiler, launching, tuning
from ..batch_invariance import is_batch_invariant
from ..cache import KernelCache
from ..errors import LnbwdError
from ..kernels import kernel_cache
from ..rowprogram import reached
from ..spec import MeasurementSpec
from .domains import INTEGERS, same
from .fusion import base_of, is_alias, is_fused, is_in_memory, is_scatter, made_in_place, separated
from .nodes import CONVOLUTIONS, STORED, is_constant, is_reduction, sources
from .partial_sums import Split, merge
from .regions import Region
from .replacing import replace, sort

aten = torch.ops.aten

_REGION = torch.ops.lnbwd._region.default

log = logging.getLogger("lnbwd.regions")

_MOST_NODES = 512
"""Of a neighbourhood that is timed."""

_ROTATED_BYTES, _MOST_SETS = 100e6, 16
"""Calls rotate among sets of inputs of so many bytes, more than a cache has."""

_MOST_OF_MEMORY = 1 / 4
"""Of the device's free memory, which the inputs of both take at most."""

_MOST_OF_WHOLE = 1.01
"""The most that a region takes of the time of torch.compile's kernels: measuring is unsure of so
much."""

_MOST_OF_PART, _BORDER = 0.85, 1.0
"""And of a region that is part of what torch.compile fuses, with so many microseconds for a kernel
more: a copy's borders may be others than those of torch.compile's kernels. On an H100 two of 40
such regions with smaller gains took 1.6 times as long."""

_LEAST_OF_PEAK = 0.8
"""The share of its memory's rate from which on a kernel is not compared with others."""

_ROUNDS, _SECONDS = 7, 1e-3
"""How often both are timed, and for how long."""


@dataclass(frozen=True)
class Times:
    """Medians, in microseconds: of a neighbourhood with a row program's kernel, and of
    torch.compile's kernels for all of it; of these None if ours is about as fast as memory."""

    ours: float
    theirs: float | None

    def __str__(self) -> str:
        return f"{self.ours:.1f} us, " + (
            "about as fast as memory" if self.theirs is None else
            f"torch.compile's kernels {self.theirs:.1f}")

    def is_worth(self, is_part: bool) -> bool:
        """Whether the region, which may be part of what torch.compile fuses, is taken."""
        if self.theirs is None:
            return True
        if is_part:
            return self.ours + _BORDER <= self.theirs * _MOST_OF_PART
        return self.ours <= self.theirs * _MOST_OF_WHOLE


@dataclass(frozen=True)
class Neighbourhood:
    """A region with what torch.compile fuses with it.

    Attributes:
        ours, theirs: a graph with the region's program, and one without. Both have the same inputs,
            tensors of static sizes, and outputs.
        inputs: fake tensors like their inputs.
        least_bytes: what one kernel for all of it reads and writes; None if there is more than the
            region.
    """

    ours: GraphModule
    theirs: GraphModule
    inputs: list[Tensor]
    least_bytes: int | None

    @property
    def text(self) -> str:
        """Names it: equal ones have equal texts."""
        return "\n".join([*(f"{t.dtype} {tuple(t.shape)} {t.stride()}" for t in self.inputs),
                          str(self.ours.graph), str(self.theirs.graph)])


Timer = Callable[[Neighbourhood, torch.device], Times]
"""Times a neighbourhood on a device. Raises LnbwdError if it cannot."""


class Measurements:
    """The times of regions, which are measured once.

    Args:
        timer: measures a neighbourhood; None: :func:`measure`, if the device is a GPU.
        cache: where times are kept; None: in the kernel cache.
    """

    def __init__(self, timer: Timer | None = None, cache: KernelCache | None = None) -> None:
        self._timer, self._cache = timer, cache
        self._known: dict[MeasurementSpec, Times | None] = {}

    def may_find(self, region: Region) -> bool:
        """Whether a region with its program may have times: if its number of rows is known, and
        schedules are searched for as well; not under a canonical order, which torch.compile's
        kernels have not."""
        assert region.program is not None
        device = region.inputs[0].meta["val"].device
        return region.program.rows is not None and not is_batch_invariant() and (
            self._timer is not None or (device.type == "cuda" and tuning.is_on(is_region=True)))

    def find(self, region: Region, splits: Sequence[Split]) -> Times | None:
        """The times of a region of a graph with some split reductions; None, and a line in the log,
        if the measurement fails."""
        assert region.program is not None and region.program.rows is not None
        device = region.inputs[0].meta["val"].device
        cache, identity = self._cache or kernel_cache(), compiler.compiler_id()
        spec = times = None
        try:
            both, target = neighbourhood(region, splits), launching.open_device(device)
            spec = MeasurementSpec("times", both.text, target.chip, target.info.name,
                                   region.program.rows, torch.__version__)
            if spec in self._known:
                return self._known[spec]
            times = _read(cache.load(spec, identity))
            if times is None:
                times = (self._timer or measure)(both, device)
                if self._timer is None:
                    torch.cuda.empty_cache()  # The graph that is compiled has its memory back.
                if identity is not None:
                    cache.store(spec, identity, json.dumps(asdict(times)).encode())
        except Exception as error:  # Inductor's, too: then the estimate decides.
            log.info("not measured: %s: %s: %s", region.program.name(), type(error).__name__, error)
        if spec is not None:
            self._known[spec] = times
        return times


def _read(data: bytes | None) -> Times | None:
    """Times from the cache; None if there are none that can be used."""
    try:
        return None if data is None else Times(**json.loads(data))
    except (ValueError, TypeError):
        return None


# --------------------------------------------------------------------------------------------------
# The neighbourhood
# --------------------------------------------------------------------------------------------------


def neighbourhood(region: Region, splits: Sequence[Split]) -> Neighbourhood:
    """Copies a region's neighbourhood out of its graph.

    Raises:
        LnbwdError: it cannot be timed by itself; says why.
    """
    split = [one for one in splits if one.partial in region.nodes]
    inside = {*region.nodes, *region.shared, *region.tails, *(n for one in split for n in one.made)}
    before = _computed_before(region, inside)
    outputs = [node for _, nodes in region.outputs for node in nodes]
    outputs += [node for one in split for _, node, _ in one.results]
    barred = inside | before | region.unfused

    def following(node: Node) -> Iterable[Node]:
        if isinstance(node.meta["val"], tuple):
            return node.users  # Of a reduction or convolution.
        is_end = node not in inside and not is_alias(node) and (
            is_reduction(node) or node.target in CONVOLUTIONS or is_in_memory(node, inside))
        return [user for user in node.users if user not in barred and (
            user.target in CONVOLUTIONS or is_scatter(user) or (not is_end and (
                is_alias(user) or is_fused(user) or is_reduction(user))))]

    behind = reached(outputs, following)
    whole = inside | before | behind
    if len(whole) > _MOST_NODES:
        raise LnbwdError(f"it has {len(whole)} nodes with its neighbours")
    results = [node for node in region.nodes[0].graph.nodes if isinstance(
        node.meta.get("val"), Tensor) and any(user not in whole for user in node.users) and (
        node in behind or (node in before and not is_alias(node) and is_in_memory(node, inside)))]
    modules = []
    for is_ours in (True, False):
        graph, own, own_splits = _copied(region, split, whole, results)
        if is_ours:
            replace(graph, own)
        merge(graph, own_splits)
        sort(graph)
        graph.eliminate_dead_code()
        inputs = [node.meta.get(STORED, node.meta["val"])
                  for node in graph.find_nodes(op="placeholder")]
        modules.append(GraphModule(torch.nn.Module(), graph))
    is_alone = all(map(is_alias, before | behind - {*outputs}))
    return Neighbourhood(modules[0], modules[1], inputs, sum(
        min(_elements(value), value.numel(), region.domain.rows * region.domain.length)
        * value.element_size() for value in (*inputs, *(node.meta["val"] for node in results))
    ) if is_alone else None)


def _computed_before(region: Region, inside: set[Node]) -> set[Node]:
    """What torch.compile may compute in the region's kernels in front of it: elementwise
    operations, and reductions of or to as many elements with those before them. Convolutions as
    well, whose layout is Inductor's choice."""
    count = region.domain.rows * region.domain.length
    apart = separated(inside, lambda node: node.all_input_nodes)
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


def _copied(region: Region, splits: Sequence[Split], whole: set[Node],
            results: Sequence[Node]) -> tuple[Graph, Region, list[Split]]:
    """A graph of some nodes that gives some results, and a region and splits in it."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    nodes = [node for node in region.nodes[0].graph.nodes if node in whole]
    used: dict[Node, None] = {}
    map_arg(([node.args for node in nodes], [node.kwargs for node in nodes], region.inputs,
             [one.args for one in splits]), used.setdefault)
    constants = [node for node in used if node not in whole and is_constant(node)]
    for node in used:
        if node not in whole and node not in constants:
            value = node.meta.get("val")
            if not isinstance(value, Tensor) or not all(
                    isinstance(size, int) for size in (*value.shape, *value.stride())):
                raise LnbwdError(f"{node.name} is no tensor of static sizes")
            copies[node] = graph.placeholder(f"input{len(copies)}")
    for node in [*constants, *nodes]:
        copies[node] = graph.create_node("call_function", node.target, name="n")
    for node in [*constants, *nodes]:
        copies[node].args, copies[node].kwargs = map_arg(
            (node.args, node.kwargs), copies.__getitem__)
    for node, copy in copies.items():
        copy.meta = dict(node.meta)
    graph.output(tuple(copies[node] for node in results))
    sort(graph)

    def of(some: Iterable[Node]) -> list[Node]:
        return [copies[node] for node in some if node in copies]

    return graph, dataclasses.replace(
        region, nodes=of(region.nodes), inputs=of(region.inputs), shared=of(region.shared),
        tails=of(region.tails), outputs=[(place, of(found)) for place, found in region.outputs],
    ), [dataclasses.replace(
        one, args=map_arg(one.args, copies.__getitem__), partial=copies[one.partial],
        made=of(one.made), results=[(place, copies[node], meta) for place, node, meta in
                                    one.results]) for one in splits]


# --------------------------------------------------------------------------------------------------
# Times
# --------------------------------------------------------------------------------------------------


def measure(both: Neighbourhood, device: torch.device) -> Times:
    """Times both graphs of a neighbourhood on a GPU, or that with the region alone, if it is a
    kernel that nothing else could be much faster than.

    Raises:
        LnbwdError: the inputs take too much of its memory, or random ones cannot be used.
    """
    if _indexes_by_numbers(both.theirs.graph):
        raise LnbwdError("it computes an index of numbers that are no integers")
    sizes = [_elements(value) * value.element_size() for value in both.inputs]
    count = int(min(_MOST_SETS, _ROTATED_BYTES // max(1, sum(sizes)) + 1))
    with unset_fake_temporarily(), torch.no_grad(), torch.cuda.device(device):
        free, _ = torch.cuda.mem_get_info(device)
        if sum(sizes) * count > _MOST_OF_MEMORY * free:
            raise LnbwdError("its inputs take too much of the device's memory")
        limits = [_limit(node) for node in both.theirs.graph.find_nodes(op="placeholder")]
        generator = torch.Generator(device=device).manual_seed(0)
        sets = [[_random(value, limit, generator) for value, limit in zip(
            both.inputs, limits, strict=True)] for _ in range(count)]
        ours = compiled(both.ours, both.inputs)
        ours([*sets[0]])
        if both.least_bytes is not None:
            [time] = time_calls([ours], sets)
            if both.least_bytes >= _LEAST_OF_PEAK * _bytes_in_us(device) * time:
                return Times(time, None)
        theirs = compiled(both.theirs, both.inputs)
        theirs([*sets[0]])  # Triton's kernels try their configurations.
        return Times(*time_calls([ours, theirs], sets))


def _bytes_in_us(device: torch.device) -> float:
    """What a GPU's memory can move in a microsecond at best; infinite if nobody knows."""
    properties: Any = torch.cuda.get_device_properties(device)
    clock, width = (getattr(properties, name, math.inf)
                    for name in ("memory_clock_rate", "memory_bus_width"))
    return float(2e3 * clock * width / 8e6)  # Both edges of a clock in kHz; bits.


def time_calls(calls: Sequence[Callable[[list[Tensor]], Any]],
               sets: Sequence[Sequence[Tensor]]) -> list[float]:
    """The median microseconds of each call, on sets of inputs in turn, with the host's time left
    out. Calls take turns."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def run(graph: Any, repetitions: int) -> float:
        first.record()
        for _ in range(repetitions):
            graph.replay()
        last.record()
        last.synchronize()
        return float(1e3 * first.elapsed_time(last) / repetitions)

    with tuning.measuring:
        graphs = [_captured(call, sets) for call in calls]
        repetitions = [max(1, int(_SECONDS * 1e6 / run(graph, 1))) for graph in graphs]
        rounds = [[run(graph, number) for graph, number in zip(graphs, repetitions, strict=True)]
                  for _ in range(_ROUNDS)]
    return [statistics.median(times) / len(sets) for times in zip(*rounds, strict=True)]


def compiled(module: GraphModule, inputs: Sequence[Tensor]) -> Callable[[list[Tensor]], Any]:
    """What Inductor makes of a graph while it compiles another one; of views of what a region gives
    it would make nothing."""
    if all(is_alias(node) or node.target in (_REGION, operator.getitem)
           for node in module.graph.nodes if node.op == "call_function"):
        return lambda operands: module(*operands)
    mode = inputs[0].fake_mode  # type: ignore[attr-defined]
    # In a region, what is computed in place may have the order of its users.
    FakeTensorProp(module, mode).propagate_dont_convert_inputs(*inputs)
    with torch._inductor.config.patch({
            "post_grad_custom_pre_pass": None, "post_grad_custom_post_pass": None,
            "fx_graph_cache": False, "fx_graph_remote_cache": False,
            "bundle_triton_into_fx_graph_cache": False, "triton.cudagraphs": False,
            }), torch._guards.tracing(torch._guards.TracingContext(mode)):
        result: Any = compile_fx.compile_fx_inner(module, inputs)
    return result  # type: ignore[no-any-return]


def _elements(value: Tensor) -> int:
    """How many elements of memory a tensor of some strides reaches over."""
    return 1 + sum((size - 1) * stride
                   for size, stride in zip(value.shape, value.stride(), strict=True))


_INDEXED = {aten.embedding.default, aten.gather.default, aten.index.Tensor,
            aten._unsafe_index.Tensor}


def _limit(node: Node) -> int:
    """What integers of a tensor may be smaller than, if they are indices of which nothing else is
    computed but conditions; 1: they are not."""
    users = reached(node.users, lambda one: one.users if is_alias(one) else ())
    sizes: list[int] = []
    for user in users:
        value: Any = user.meta.get("val")
        table: Any = user.args[0]
        if (user.target in _INDEXED or is_scatter(user)) and base_of(table) is not node:
            sizes += table.meta["val"].shape
        elif not is_alias(user) and isinstance(value, Tensor) and value.dtype in INTEGERS:
            return 1
    return min(sizes, default=1)


def _indexes_by_numbers(graph: Graph) -> bool:
    """Whether an index is computed of numbers that are no integers: random ones could give one that
    is outside of its table, and end the program."""
    indices = [one for node in graph.nodes if node.target in _INDEXED or is_scatter(node)
               for one in node.all_input_nodes if one.meta["val"].dtype in INTEGERS]
    return any(one.op == "placeholder" and one.meta["val"].is_floating_point()
               for one in reached(indices, lambda one: one.all_input_nodes))


def _random(value: Tensor, limit: int, generator: torch.Generator) -> Tensor:
    """A tensor with the type and strides of a fake one: numbers from 0.5 to 1.5, random conditions,
    integers below a limit."""
    numbers = torch.rand(_elements(value), generator=generator, device=generator.device)
    if value.dtype == torch.bool:
        numbers = numbers > 0.5
    else:
        numbers = numbers + 0.5 if value.is_floating_point() else (numbers * limit).floor_()
    return numbers.to(value.dtype).as_strided(value.shape, value.stride())


def _captured(call: Callable[[list[Tensor]], Any],
              sets: Sequence[Sequence[Tensor]]) -> torch.cuda.CUDAGraph:
    """A CUDA graph of a call for each of some sets of inputs, whose outputs have memory of their
    own."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Other threads load kernels meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        _outputs = [call([*operands]) for operands in sets]
    return graph
