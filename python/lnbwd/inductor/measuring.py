# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions by measurement: a region with its neighbours, both ways.

A region is copied out of its graph with what torch.compile would fuse with it: what it computes in
place for the region, what follows in the same kernels, and what reads the same rows. Inductor
compiles the copy twice, as it is and with the region's row program in its place, and both are timed
in CUDA graphs on random tensors, in turns. Times are kept in the kernel cache; equal layers are
timed once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import logging
import math
import operator
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._inductor import compile_fx
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.pattern_matcher import stable_topological_sort
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node, map_arg

from .. import compiler, launching, tuning
from ..batch_invariance import is_batch_invariant
from ..cache import KernelCache
from ..errors import LnbwdError
from ..graphs.domains import same
from ..graphs.fusion import base_of, is_alias, is_in_memory, made_in_place, takes_part
from ..graphs.nodes import STORED, is_constant
from ..kernels import kernel_cache
from ..rowprogram import reached
from ..spec import MeasurementSpec
from .estimates import LAUNCH, Estimate
from .partial_sums import Split, latest, merge
from .random_inputs import elements, has_index_of_numbers, has_index_outside, random_inputs
from .regions import Region
from .replacing import replace
from .rewrites import REWRITTEN, restore
from .surroundings import Surroundings, is_made

_REGION = torch.ops.lnbwd._region.default

log = logging.getLogger("lnbwd.regions")

_SEEN = "user_visible_output_idxs"
"""Under this name Inductor keeps which results a user sees: those have the order that they have
without it, and no gaps."""

_MOST_NODES = 512
"""Of a neighbourhood that is timed."""

_ROTATED_BYTES, _MOST_SETS = 100e6, 16
"""Calls rotate among sets of inputs of so many bytes, more than a cache has, two at least."""

_MOST_OF_MEMORY = 1 / 4
"""Of the device's free memory, which the inputs of both take at most."""

_MOST_OF_WHOLE = 0.98
"""The most that a region takes of the time of torch.compile's kernels: measuring is unsure of so
much. On an H200 32 of 874 regions that are taken with 0.995 take 0.98 to 0.995 times as long, and
among them is the only one that another measurement found slower than 0.9 of their speed."""

_MOST_OF_PART, _BORDER = 0.85, 1.0
"""And of a region that is part of what torch.compile fuses, with so many microseconds for a kernel
more: a copy's borders may be others than those of torch.compile's kernels. On an H100 two of 40
such regions with smaller gains took 1.6 times as long."""

_MOST_COMPILED = 0.1
"""Nodes that are compiled for measurements, for each node of a graph: a model's first step may take
1.1 times as long as with torch.compile's kernels. On an H200 that of ConvNeXt-T took 1.12 times as
long with 0.15, 5 of 50 s of it for measurements, and that of ResNet-50 2.3 times with all regions
timed, which found 0.9 % of a step. The estimate decides about the rest: of 1,264 regions of whose
gain it is not sure it is wrong about 166."""

_SMALL_GRAPH, _MOST_OF_SMALL_GRAPH = 256, 512
"""A graph of at most so many nodes is compiled in so little time that this is no matter: for it, so
many nodes are compiled for measurements."""

_LEAST_GAIN, _GAIN = 28e6, 0.1
"""In a larger graph, equal regions are only timed, or taken, if they may save so many bytes, and of
those that they move such a part: what an H100 moves in 10 microseconds, which in 100,000 steps are
the second that it takes to compile a neighbourhood twice, or a kernel with its search. They may
save a launch each if they move less. None is timed there that is part of what torch.compile fuses:
of 289 that were, 29 gained enough."""

_LEAST_OF_PEAK, _MOST_OF_PEAK, _LEAST_FROM_MEMORY = 0.8, 1.05, 64e6
"""The shares of its memory's rate between which a kernel is not compared with others, and the bytes
that it moves at least: a faster one moves less than was counted, and of less a cache has a part.
On an H100 and an H200 none of 69 such regions took 1.02 times as long as torch.compile's kernels;
two of 15 that move less 1.15 and 1.18 times, and both that were faster than that 1.02 and 1.4."""

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


Call = Callable[[list[Tensor]], Any]
"""What a graph was compiled to."""


@dataclass
class Neighbourhood:
    """A region with what torch.compile fuses with it, in a graph of its own.

    Attributes:
        graph, region, splits: the graph, whose inputs are tensors of static sizes; the region and
            the split reductions in it.
        is_alone: whether there is no more than the region, but for views.
    """

    graph: Graph
    region: Region
    splits: list[Split]
    is_alone: bool

    @functools.cached_property
    def inputs(self) -> list[Tensor]:
        """Fake tensors like the inputs."""
        return [node.meta.get(STORED, node.meta["val"])
                for node in self.graph.find_nodes(op="placeholder")]

    @functools.cached_property
    def least_bytes(self) -> int | None:
        """What one kernel for the region reads and writes; None if there is more, or if it might be
        less, or come from a cache."""
        count = self.region.domain.rows * self.region.domain.length
        if takes_part({*self.graph.nodes}, count):
            return None
        moved: dict[Node, int] = {}  # Of a tensor that is read in parts, the largest one's bytes.
        for node in (*self.region.inputs, *self.graph.output_node().all_input_nodes):
            value, base = node.meta["val"], base_of(node)
            moved[base] = max(moved.get(base, 0), value.element_size() * min(
                elements(value), value.numel(), count))
        least = sum(moved.values())
        return least if self.is_alone and least >= _LEAST_FROM_MEMORY else None

    @property
    def text(self) -> str:
        """Names it: equal ones have equal texts."""
        assert self.region.program is not None
        return "\n".join([
            *(f"{value.dtype} {tuple(value.shape)} {value.stride()}" for value in self.inputs),
            str(self.graph), *(one.text() for one in self.region.programs),
            str([node.meta.get(REWRITTEN) for node in self.graph.nodes]),
            str(self.graph.output_node().meta),
            *(f"{one.inputs}{one.outputs}" for one in (self.region, *self.region.then)),
            *(f"{one.target}{one.args}{one.kwargs}" for one in self.splits)])

    @functools.cached_property
    def ours(self) -> GraphModule:
        """What gives the results with the region's program."""
        return self._module(True)

    @functools.cached_property
    def theirs(self) -> GraphModule:
        """And without it."""
        return self._module(False)

    def _module(self, is_ours: bool) -> GraphModule:
        graph, [region], splits = copied(self.graph, [self.region], self.splits)
        if is_ours:
            replace(graph, region)
        merge(graph, splits)
        restore(graph)
        stable_topological_sort(graph)
        graph.eliminate_dead_code()
        return GraphModule(torch.nn.Module(), graph)

    @functools.cached_property
    def finish_ours(self) -> Callable[[], Call]:
        """Has Inductor compile ours, and gives what waits for its kernels."""
        return start(self.ours, self.inputs)

    @functools.cached_property
    def finish_theirs(self) -> Callable[[], Call]:
        """And theirs."""
        return start(self.theirs, self.inputs)


Timer = Callable[[Neighbourhood], Times | None]
"""Times a neighbourhood. Raises LnbwdError if it cannot."""


class Measurements:
    """The times of regions, which are measured once.

    Args:
        timer: measures a neighbourhood; None: :func:`measure`, if the device is a GPU.
        cache: where times are kept; None: in the kernel cache.
    """

    def __init__(self, timer: Timer | None = None, cache: KernelCache | None = None) -> None:
        self._timer, self._cache = timer, cache
        self._known: dict[MeasurementSpec, Times | None] = {}
        self._noted: dict[MeasurementSpec, tuple[Neighbourhood, float]] = {}
        self._started: dict[MeasurementSpec, Neighbourhood] = {}
        self._left = math.inf

    def may_find(self, region: Region, moved: Estimate) -> bool:
        """Whether a region with its program may have times: if its number of rows is known, and
        schedules are searched for as well; not under a canonical order, which torch.compile's
        kernels have not."""
        assert region.program is not None
        device = region.inputs[0].meta["val"].device
        return region.program.rows is not None and not is_batch_invariant() and (
            self._timer is not None or (device.type == "cuda" and tuning.is_on(is_region=True))
        ) and not (moved.is_part and _is_large(region.nodes[0].graph))

    @staticmethod
    def gain(region: Region, moved: Estimate) -> float:
        """The bytes that a region, and all that are equal to it, may save; 0 in a large graph if
        that is not worth measuring it, and a kernel."""
        gain = region.alike * max(moved.saved, _GAIN * moved.ours * moved.count,
                                  LAUNCH * (moved.is_worth and moved.saved > 0))
        return gain if gain >= _LEAST_GAIN or not _is_large(region.nodes[0].graph) else 0

    def consider(self, around: Surroundings, gain: float) -> MeasurementSpec | None:
        """Notes a region that may be timed, and the bytes that it and its equals may save; gives
        what names its times, None if they are known, or cannot be."""
        try:
            both, spec = _described(around)
        except Exception:  # It fails again when somebody asks for the times.
            return None
        if spec in self._known or self._load(spec) is not None:
            return None
        self._noted.setdefault(spec, (both, gain))
        return spec

    def choose(self, graph: Graph) -> set[MeasurementSpec]:
        """Of a graph, what is timed: what may save most, as long as it takes no more than a small
        part of the graph's own compilation."""
        is_large, size = _is_large(graph), len(graph.nodes)
        self._left = (math.inf if torch._inductor.config.max_autotune else
                      _MOST_COMPILED * size if is_large else _MOST_OF_SMALL_GRAPH)
        self._started = {spec: both for spec, (both, _) in sorted(
            self._noted.items(), key=lambda item: -item[1][1]) if self._may_compile(both)}
        if is_large:  # What differs from all of these when its turn comes is not waited for.
            self._left = 0
        return {*self._started}

    def start(self) -> None:
        """Has Inductor begin with what :meth:`find` times."""
        for both in self._started.values() if self._timer is None else ():
            with contextlib.suppress(Exception):  # As in consider().
                _ = both.finish_ours
                if both.least_bytes is None:
                    _ = both.finish_theirs

    def start_rest(self) -> None:
        """Times the regions that may be as fast as memory, and has Inductor begin with theirs where
        ours is not."""
        for spec, both in [*self._started.items()] if self._timer is None else ():
            if both.least_bytes is None:
                continue
            with contextlib.suppress(Exception):
                times = measure(both, is_compared=False)
                if times is not None:
                    self._keep(spec, times)
                else:
                    _ = both.finish_theirs

    def _may_compile(self, both: Neighbourhood) -> bool:
        """Whether so much may be compiled, which is counted then."""
        cost = len(both.graph.nodes) * (2 if both.least_bytes is None else 1)
        if cost > self._left:
            return False
        self._left -= cost
        return True

    def stop(self) -> None:
        """Forgets what was begun and is not asked for."""
        self._noted.clear()
        self._started.clear()

    def find(self, around: Surroundings) -> Times | None:
        """The times of a region; None if the estimate decides: others are timed first, or, with a
        line in the log, the measurement fails."""
        spec = times = None
        try:
            both, spec = _described(around)
            if spec in self._known:
                return self._known[spec]
            times = self._load(spec)
            if times is None and (spec in self._started or self._may_compile(both)):
                times = (self._timer or measure)(self._started.pop(spec, both))
                if times is not None:
                    self._keep(spec, times)
        except Exception as error:  # Inductor's, too: then the estimate decides.
            log.info("not measured: %s: %s: %s", around.region.describe(), type(error).__name__,
                     error)
        if spec is not None:
            self._known[spec] = times
        return times

    def _keep(self, spec: MeasurementSpec, times: Times) -> None:
        self._known[spec] = times
        if self._timer is None:
            torch.cuda.empty_cache()  # The graph that is compiled has its memory back.
        identity = compiler.compiler_id()
        if identity is not None:
            cache = self._cache or kernel_cache()
            cache.store(spec, identity, json.dumps(asdict(times)).encode())

    def _load(self, spec: MeasurementSpec) -> Times | None:
        """Times from the cache; None if there are none that can be used."""
        data = (self._cache or kernel_cache()).load(spec, compiler.compiler_id())
        try:
            return None if data is None else Times(**json.loads(data))
        except (ValueError, TypeError):
            return None


def _is_large(graph: Graph) -> bool:
    """Whether compiling a graph takes so long that measuring all of its regions would not show."""
    return len(graph.nodes) > _SMALL_GRAPH and not torch._inductor.config.max_autotune


def _described(around: Surroundings) -> tuple[Neighbourhood, MeasurementSpec]:
    """A region's neighbourhood, and what names its times."""
    region = around.region
    assert region.program is not None and region.program.rows is not None
    both = neighbourhood(around)
    target = launching.open_device(region.inputs[0].meta["val"].device)
    return both, MeasurementSpec("times", both.text, target.chip, target.info.name,
                                 region.program.rows, torch.__version__)


# --------------------------------------------------------------------------------------------------
# The neighbourhood
# --------------------------------------------------------------------------------------------------


def neighbourhood(around: Surroundings) -> Neighbourhood:
    """Copies a region's neighbourhood out of its graph.

    Raises:
        LnbwdError: it cannot be timed by itself; says why.
    """
    region, inside, before, barred = around.region, around.inside, around.before, around.barred
    count = region.domain.rows * region.domain.length
    # Kernels for what reads the same rows may be one with the region's, views of them among those,
    # and rows that others compute as well.
    outside = {node for one in (region, *region.then) for node in one.outside}
    read = {node for node in outside.union(*(one.all_input_nodes for one in inside | before))
            if isinstance(node.meta.get("val"), Tensor)
            and same(node.meta["val"].numel(), count)
            and (node in outside or base_of(node) not in inside | before)}
    beside = {user for node in read for user in node.users
              if user not in barred and is_made(user)}
    behind = around.behind | reached(beside, around.following)
    whole = inside | before | behind
    # What those compute in place of others.
    for one in {source for node in behind for source in node.all_input_nodes} - whole - barred:
        if not is_in_memory(one, inside):
            whole |= (made_in_place(one, inside) or (set(),))[0] - barred
    if len(whole) > _MOST_NODES:
        raise LnbwdError(f"it has {len(whole)} nodes with its neighbours")
    results = sorted(node for node in whole if isinstance(
        node.meta.get("val"), Tensor) and any(user not in whole for user in node.users) and (
        node in behind or (base_of(node) in before and is_in_memory(node, inside))))
    return Neighbourhood(*_extracted(region, around.splits, whole, results),
                         all(map(is_alias, before | behind - {*around.outputs})))


def _extracted(region: Region, splits: Sequence[Split], whole: set[Node],
               results: Sequence[Node]) -> tuple[Graph, Region, list[Split]]:
    """A graph of some nodes that gives some results, and a region and splits in it."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    nodes = sorted(whole)
    used: dict[Node, None] = {}
    map_arg(([node.args for node in nodes], [node.kwargs for node in nodes],
             [one.inputs for one in (region, *region.then)],
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
    end = graph.output(tuple(copies[node] for node in results))
    before: Any = region.nodes[0].graph.output_node()
    seen = {before.args[0][place] for place in before.meta.get(_SEEN, ())}
    end.meta[_SEEN] = [place for place, node in enumerate(results)
                       if node in seen and STORED not in node.meta]
    stable_topological_sort(graph)
    [moved], moved_splits = _moved([region], splits, copies)
    return graph, moved, moved_splits


def copied(graph: Graph, regions: Iterable[Region], splits: Iterable[Split]
           ) -> tuple[Graph, list[Region], list[Split]]:
    """A copy of a graph, and some regions and splits in it."""
    copy, copies = Graph(), dict[Node, Node]()
    copy.output(copy.graph_copy(graph, copies)).meta = graph.output_node().meta
    return copy, *_moved(regions, splits, copies)


def _moved(regions: Iterable[Region], splits: Iterable[Split], copies: Mapping[Node, Node]
           ) -> tuple[list[Region], list[Split]]:
    """Regions and splits in a copy of a graph, or of some of its nodes."""
    def of(some: Iterable[Node]) -> list[Node]:
        return [copies[node] for node in some if node in copies]

    return [dataclasses.replace(
        region, nodes=of(region.nodes), row_sums=of(region.row_sums),
        column_sums=of(region.column_sums), inputs=of(region.inputs), shared=of(region.shared),
        tails=of(region.tails), unfused={*of(region.unfused)}, outside={*of(region.outside)},
        rounded={*of(region.rounded)},
        outputs=[(place, of(found)) for place, found in region.outputs],
        then=_moved(region.then, (), copies)[0]) for region in regions
    ], [dataclasses.replace(
        one, args=map_arg(one.args, lambda node: copies[latest(node, copies)]),
        partial=copies[one.partial], made=of(one.made), results=[
            (place, copies[node], meta) for place, node, meta in one.results]) for one in splits]


# --------------------------------------------------------------------------------------------------
# Times
# --------------------------------------------------------------------------------------------------


def measure(both: Neighbourhood, is_compared: bool = True) -> Times | None:
    """Times both graphs of a neighbourhood on a GPU, or that with the region alone, if it is a
    kernel that nothing else could be much faster than; None if it is not, and is not to be
    compared.

    Raises:
        LnbwdError: the inputs take too much of its memory, or random ones cannot be used.
    """
    device = both.inputs[0].device
    if has_index_of_numbers(both.theirs.graph):
        raise LnbwdError("it computes an index of numbers that are no integers")
    sizes = [elements(value) * value.element_size() for value in both.inputs]
    count = int(min(_MOST_SETS, _ROTATED_BYTES // max(1, sum(sizes)) + 2))
    with unset_fake_temporarily(), torch.no_grad(), torch.cuda.device(device):
        free, _ = torch.cuda.mem_get_info(device)
        if sum(sizes) * count > _MOST_OF_MEMORY * free:
            raise LnbwdError("its inputs take too much of the device's memory")
        generator = torch.Generator(device=device).manual_seed(0)
        sets = [random_inputs(both.theirs.graph, both.inputs, generator) for _ in range(count)]
        if has_index_outside(both.theirs.graph, sets[0]):
            raise LnbwdError("an index that it computes of random integers is outside of a table")
        ours = both.finish_ours()
        ours([*sets[0]])
        if both.least_bytes is not None:
            [time] = time_calls([ours], sets)
            if is_as_fast_as_memory(both.least_bytes / time, _bytes_in_us(device)):
                return Times(time, None)
        if not is_compared:
            return None
        theirs = both.finish_theirs()
        theirs([*sets[0]])  # Triton's kernels try their configurations.
        return Times(*time_calls([ours, theirs], sets))


def is_as_fast_as_memory(rate: float, peak: float) -> bool:
    """Whether a kernel that moves so much is, and not faster, which it would be by an error."""
    return _LEAST_OF_PEAK * peak <= rate <= _MOST_OF_PEAK * peak


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


def start(module: GraphModule, inputs: Sequence[Tensor]) -> Callable[[], Call]:
    """Has Inductor compile a graph while it compiles another one, and gives what waits for its
    kernels; of views of what a region gives it would make nothing."""
    if all(is_alias(node) or node.target in (_REGION, operator.getitem)
           for node in module.graph.nodes if node.op == "call_function"):
        return lambda: lambda operands: module(*operands)
    mode = inputs[0].fake_mode  # type: ignore[attr-defined]
    waits, thread = AsyncCompile.wait, threading.get_ident()
    loaded: list[tuple[AsyncCompile, dict[str, Any]]] = []

    def defer(kernels: AsyncCompile, scope: dict[str, Any]) -> None:
        """Code that is loaded waits for its kernels here; that of other threads has to."""
        if threading.get_ident() == thread:
            loaded.append((kernels, scope))
        else:
            waits(kernels, scope)

    with torch._inductor.config.patch({
            "post_grad_custom_pre_pass": None, "post_grad_custom_post_pass": None,
            "fx_graph_cache": False, "fx_graph_remote_cache": False,
            "bundle_triton_into_fx_graph_cache": False, "triton.cudagraphs": False,
            }), torch._guards.tracing(torch._guards.TracingContext(mode)), mock.patch.object(
            AsyncCompile, "wait", defer):
        result: Any = compile_fx.compile_fx_inner(module, inputs)

    def finish() -> Call:
        while loaded:
            AsyncCompile.wait(*loaded.pop())
        return result  # type: ignore[no-any-return]

    return finish


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
