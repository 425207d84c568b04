# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times competitors side by side.

Whatever is timed, every competitor is timed the same way, interleaved within one repetition, on
buffers that rotate so that none finds its inputs in a cache.

``graph``
    A CUDA or HIP graph of many calls, on rotating buffers, between two events; the time is divided
    by the number of calls. In the number: a call's kernels and the gaps, in the steady state. The
    cost of the events does not show, and neither does that of the first start. Before it, a kernel
    that only waits keeps the device busy until the host has enqueued all of that, so that no time
    of the host is in the number: a repetition in which the device got ahead is taken again with a
    longer wait.

``interleaved``
    The same, with a kernel of somebody else in front of each call, as in a model; the time of a
    graph of that kernel alone, as often, is taken off. In a graph of a call's own, a kernel that
    starts early does so after its own last one; here it stands after one that lets nothing start
    before its end.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .results import GRAPH, INTERLEAVED, METHODS

_GRAPH_US, _GRAPH_CALLS, _GRAPH_WAIT_US = 400.0, 64, 100.0
# What a call is estimated to take, for the number of calls of a graph.
_BYTES_A_MICROSECOND, _START_US = 2.5e6, 3.0
_WARM_UPS = 3  # Of calls that the host times.
# How often each launch shape of the stream is tried, and how many stay to be timed beside others.
_STREAM_TRIES, _SIMULATED_STREAM_TRIES, _STREAMS_KEPT = 9, 3, 3


def median(values: Iterable[float]) -> float:
    """The median; NaN of nothing."""
    values = list(values)
    return statistics.median(values) if values else math.nan


@dataclass
class Candidate:
    """Something to time: ``call(slot)`` enqueues the work on that set of the buffers; ``times`` are
    the microseconds of each repetition, by method."""

    name: str
    call: Callable[[int], Any]
    times: dict[str, list[float]] = field(default_factory=dict)


def measure_interleaved(machine: Any, works: Sequence[Callable[[], Any]], repetitions: int,
                        wait_us: float = _GRAPH_WAIT_US) -> list[list[float]]:
    """Microseconds of each of ``works``, ``repetitions`` times, one after another in an order that
    changes, each after a wait of the device that hides the host, at first of ``wait_us``."""
    order = random.Random(1)
    waits = [wait_us] * len(works)
    pairs: list[list[tuple[Any, Any]]] = [[] for _ in works]
    for _ in range(2 * repetitions):
        turn = [index for index, taken in enumerate(pairs) if len(taken) < repetitions]
        if not turn:
            break
        order.shuffle(turn)
        for index in turn:
            start, stop = machine.event(), machine.event()
            machine.spin(waits[index])
            start.record()
            works[index]()
            stop.record()
            if start.query():  # The device was there before the host was done.
                waits[index] *= 1.5
            else:
                pairs[index].append((start, stop))
    machine.synchronize()
    return [[start.elapsed_time(stop) * 1e3 for start, stop in taken] for taken in pairs]


def _calls_of(moved: float, sets: int) -> int:
    """How often a graph calls what moves so many bytes."""
    rounds = math.ceil(_GRAPH_US / (moved / _BYTES_A_MICROSECOND + _START_US) / sets)
    return max(1, min(sets * rounds, max(_GRAPH_CALLS, sets)))


def _capture(machine: Any, name: str, enqueue: Callable[[int], Any], calls: int) -> Any:
    """A graph of ``enqueue(0)``, ``enqueue(1)``, ...; None, after a note, where that cannot be."""
    try:
        return machine.capture(enqueue, calls)
    except RuntimeError as error:
        print(f"note: {name} cannot be captured in a graph: {str(error).splitlines()[0]}")
        return None


def time_graph(machine: Any, candidates: Sequence[Candidate], sets: int, repetitions: int,
               moved: Sequence[float], foreign: Callable[[], Any] | None = None) -> None:
    """Times all candidates by graphs of many calls, which rotate among ``sets`` of buffers; a call
    of each moves ``moved`` bytes. With ``foreign``, which enqueues a kernel of somebody else, the
    method is ``interleaved``. A candidate that cannot be captured gets no times."""
    # A graph of each, and of the foreign kernel alone, for each number of calls.
    captured: list[tuple[Candidate, Any, int]] = []
    alone: dict[int, Any] = {}
    for candidate, size in zip(candidates, moved, strict=True):
        calls = 2 if machine.is_simulated else _calls_of(size, sets)

        def enqueue(call: int, candidate: Candidate = candidate) -> Any:
            return (foreign() if foreign else None), candidate.call(call % sets)

        graph = _capture(machine, candidate.name, enqueue, calls)
        if foreign and graph and calls not in alone:
            alone[calls] = _capture(machine, "the foreign kernel", lambda call: foreign(), calls)
        if graph and (not foreign or alone[calls]):
            captured.append((candidate, graph, calls))
    graphs = [graph for _, graph, _ in captured] + [graph for graph in alone.values() if graph]
    for graph in graphs:
        graph.replay()
    times = measure_interleaved(machine, [graph.replay for graph in graphs], repetitions)
    base = dict(zip((calls for calls, graph in alone.items() if graph),
                    map(median, times[len(captured):]), strict=True))
    method = INTERLEAVED if foreign else GRAPH
    for (candidate, _, calls), taken in zip(captured, times, strict=False):
        candidate.times[method] = [(time - base.get(calls, 0.0)) / calls for time in taken]


def best_streams(machine: Any, streams: Sequence[Candidate], sets: int,
                 moved: float) -> list[Candidate]:
    """The fastest launch shapes of the stream, each of which moves so many bytes, after a try of
    all: these are timed beside the others."""
    time_graph(machine, streams, sets,
               _SIMULATED_STREAM_TRIES if machine.is_simulated else _STREAM_TRIES,
               [moved] * len(streams))
    ranked = sorted(streams, key=lambda stream: median(stream.times.get(GRAPH) or [math.inf]))
    return ranked[:_STREAMS_KEPT]


def medians(candidates: Iterable[Candidate]) -> dict[str, dict[str, float]]:
    """The median microseconds of each candidate, by the methods that have timed it."""
    candidates = [*candidates]
    return {method: times for method in METHODS if (times := {
        each.name: median(each.times[method]) for each in candidates if each.times.get(method)})}


def time_host(functions: Mapping[str, Callable[[], Sequence[float]]], repetitions: int,
              wait: Callable[[], Any]) -> dict[str, list[float]]:
    """Medians of columns that functions, called in turns after ``wait``, return."""
    times: dict[str, list[Sequence[float]]] = {name: [] for name in functions}
    for number in range(-_WARM_UPS, repetitions):
        for name, function in functions.items():
            wait()
            taken = function()
            if number >= 0:
                times[name].append(taken)
    return {name: [*map(median, zip(*rows, strict=True))] for name, rows in times.items()}


def time_in_graphs(machine: Any, calls: Mapping[str, Callable[[int], Any]], sets: int,
                   repetitions: int, moved: float) -> dict[str, float]:
    """Medians of the microseconds of calls by :func:`time_interleaved`; a RuntimeError if one
    cannot be captured."""
    candidates = [Candidate(name, call) for name, call in calls.items()]
    time_interleaved(machine, candidates, sets, repetitions, moved)
    if refused := [each.name for each in candidates if GRAPH not in each.times]:
        raise RuntimeError(f"expected calls that a graph can capture, got {', '.join(refused)}")
    return {each.name: median(each.times[GRAPH]) for each in candidates}


def time_interleaved(machine: Any, candidates: Sequence[Candidate], sets: int, repetitions: int,
                     moved: float, foreign: Callable[[], Any] | None = None) -> None:
    """Times candidates of so many bytes by graphs, also behind ``foreign`` (:func:`time_graph`)."""
    # Libraries prepare what they need for each set, and torch's allocator has all memory then.
    for candidate in candidates:
        for slot in range(sets):
            candidate.call(slot)
    for kernel in (None, foreign)[:1 + bool(foreign)]:
        time_graph(machine, candidates, sets, repetitions, [moved] * len(candidates),
                   foreign=kernel)
