# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times competitors side by side.

Whatever is timed, every competitor is timed the same way, interleaved within one repetition, on
buffers that rotate so that none finds its inputs in a cache.

``events``
    One pair of events around each call. Before it, a kernel that only waits keeps the device busy
    until the host has enqueued the call and both events, so that no time of the host is in the
    number: a repetition in which the device got ahead is thrown away and taken again with a longer
    wait. In the number: everything that a call does on the device, all its kernels and the gaps
    between them, and the cost of starting the first one and of the second event (about what an
    empty kernel shows, which is measured beside the others).

``graph``
    A CUDA or HIP graph of many calls, on rotating buffers, between two events; the time is divided
    by the number of calls. In the number: a call's kernels and the gaps, in the steady state. The
    cost of the events does not show, and neither does that of the first start.

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
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .results import INTERLEAVED

# Waits of the events method: the host's time for a call, this many times over, and some more.
_WAIT_FACTOR, _WAIT_MORE_US = 2.0, 30.0
_GRAPH_US, _GRAPH_CALLS, _GRAPH_WAIT_US = 400.0, 64, 100.0
# How often each launch shape of the stream is tried, and how many stay to be timed beside others.
_STREAM_TRIES, _SIMULATED_STREAM_TRIES, _STREAMS_KEPT = 9, 3, 3


def median(values: Iterable[float]) -> float:
    """The median; NaN of nothing."""
    values = list(values)
    return statistics.median(values) if values else math.nan


@dataclass
class Candidate:
    """Something to time.

    Attributes:
        name: for the report.
        call: enqueues the work on set ``slot`` of the buffers.
        times: microseconds of each repetition, by method.
    """

    name: str
    call: Callable[[int], Any]
    times: dict[str, list[float]] = field(default_factory=dict)


def summary(times: Sequence[float]) -> dict[str, Any]:
    """What the result file holds of one competitor's times."""
    ordered = sorted(times)
    return {"median_us": median(ordered), "min_us": ordered[0], "max_us": ordered[-1],
            "p25_us": ordered[len(ordered) // 4], "p75_us": ordered[3 * len(ordered) // 4],
            "repetitions": len(ordered)}


class SlotCounter:
    """Gives out sets of buffers in turn, over everything that is measured."""

    def __init__(self, sets: int) -> None:
        self.sets = sets
        self._next = 0

    def take(self) -> int:
        """The set that was not used for longest."""
        slot = self._next
        self._next = (slot + 1) % self.sets
        return slot


def _host_time(machine: Any, candidate: Candidate, slots: SlotCounter) -> float:
    """Microseconds that the host takes to enqueue a call, the device being idle."""
    times = []
    for _ in range(4):
        machine.synchronize()
        start = time.perf_counter()
        candidate.call(slots.take())
        times.append((time.perf_counter() - start) * 1e6)
    machine.synchronize()
    return median(times[1:])


def _measure_interleaved(machine: Any, works: Sequence[Callable[[], Any]], waits: list[float],
                      repetitions: int, seed: int) -> tuple[list[list[float]], int]:
    """Takes the time of each of ``works`` ``repetitions`` times, one after another in an order
    that changes, each after a wait of the device that hides the host.

    Returns:
        microseconds, for each of ``works``; and how many times were thrown away because the
        device got ahead of the host.
    """
    order = random.Random(seed)
    pairs: list[list[tuple[Any, Any]]] = [[] for _ in works]
    late = 0
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
                late += 1
                waits[index] *= 1.5
            else:
                pairs[index].append((start, stop))
    machine.synchronize()
    return [[start.elapsed_time(stop) * 1e3 for start, stop in taken] for taken in pairs], late


def time_events(machine: Any, candidates: Sequence[Candidate], slots: SlotCounter,
                repetitions: int, seed: int = 1) -> int:
    """Times all candidates by a pair of events around each call.

    Returns:
        how many times were thrown away because the device got ahead of the host.
    """
    for candidate in candidates:  # Also lets torch's allocator have what all sets need.
        for slot in range(slots.sets):
            candidate.call(slot)
    waits = [_WAIT_FACTOR * _host_time(machine, candidate, slots) + _WAIT_MORE_US
             for candidate in candidates]
    works = [lambda candidate=candidate: candidate.call(slots.take()) for candidate in candidates]
    times, late = _measure_interleaved(machine, works, waits, repetitions, seed)
    for candidate, taken in zip(candidates, times, strict=True):
        candidate.times["events"] = taken
    return late


def _calls_of(estimate: float, slots: SlotCounter) -> int:
    """How often a graph calls what takes about so many microseconds."""
    rounds = math.ceil(_GRAPH_US / max(estimate, 1.0) / slots.sets)
    return max(1, min(slots.sets * rounds, max(_GRAPH_CALLS, slots.sets)))


def _capture(machine: Any, name: str, enqueue: Callable[[int], Any], calls: int) -> Any:
    """A graph of ``enqueue(0)``, ``enqueue(1)``, ...; None, after a note, where that cannot be."""
    try:
        return machine.capture(enqueue, calls)
    except RuntimeError as error:
        print(f"note: {name} cannot be captured in a graph: {str(error).splitlines()[0]}")
        return None


def time_graph(machine: Any, candidates: Sequence[Candidate], slots: SlotCounter,
               repetitions: int, estimates_us: Sequence[float], seed: int = 1,
               foreign: Callable[[], Any] | None = None) -> None:
    """Times all candidates by graphs of many calls.

    A candidate that cannot be captured gets no times by this method.

    Args:
        machine, candidates, slots, repetitions, seed: as of :func:`time_events`.
        estimates_us: about what a call of each candidate takes.
        foreign: enqueues a kernel of somebody else. With it the method is ``interleaved``.
    """
    # A graph of each, and of the foreign kernel alone, for each number of calls.
    captured: list[tuple[Candidate, Any, int]] = []
    alone: dict[int, Any] = {}
    for candidate, estimate in zip(candidates, estimates_us, strict=True):
        calls = 2 if machine.is_simulated else _calls_of(estimate, slots)

        def enqueue(call: int, candidate: Candidate = candidate) -> Any:
            return (foreign() if foreign else None), candidate.call(call % slots.sets)

        graph = _capture(machine, candidate.name, enqueue, calls)
        if foreign and graph and calls not in alone:
            alone[calls] = _capture(machine, "the foreign kernel", lambda call: foreign(), calls)
        if graph and (not foreign or alone[calls]):
            captured.append((candidate, graph, calls))
    graphs = [graph for _, graph, _ in captured] + [graph for graph in alone.values() if graph]
    for graph in graphs:
        graph.replay()
    times, _ = _measure_interleaved(machine, [graph.replay for graph in graphs],
                                 [_GRAPH_WAIT_US] * len(graphs), repetitions, seed)
    base = dict(zip((calls for calls, graph in alone.items() if graph),
                    map(median, times[len(captured):]), strict=True))
    method = INTERLEAVED if foreign else "graph"
    for (candidate, _, calls), taken in zip(captured, times, strict=False):
        candidate.times[method] = [(time - base.get(calls, 0.0)) / calls for time in taken]


def best_streams(machine: Any, streams: Sequence[Candidate], slots: SlotCounter) -> list[Candidate]:
    """Tries all launch shapes of the stream interleaved.

    Returns:
        those that are to be timed beside the others, the fastest first.
    """
    time_events(machine, streams, slots,
                _SIMULATED_STREAM_TRIES if machine.is_simulated else _STREAM_TRIES)
    ranked = sorted(streams, key=lambda stream: median(stream.times["events"] or [math.inf]))
    return ranked[:_STREAMS_KEPT]


def stream_record(streams: Sequence[Candidate], methods: Sequence[str]) -> dict[str, Any]:
    """What the result file holds of the stream: for each method the fastest of those that it has
    timed, and its times."""
    record = {}
    for method in methods:
        timed = [stream for stream in streams if stream.times.get(method)]
        if timed:
            fastest = min(timed, key=lambda stream: median(stream.times[method]))
            record[method] = {"variant": fastest.name, **summary(fastest.times[method])}
    return record


def time_interleaved(machine: Any, candidates: Sequence[Candidate], slots: SlotCounter,
                  methods: Sequence[str], repetitions: int,
                  foreign: Callable[[], Any] | None = None) -> int:
    """Times all candidates by each of ``methods``, and always by events, which tell how many calls
    a graph is to have. ``foreign`` as of :func:`time_graph`.

    Returns:
        how many times by events were thrown away.
    """
    late = time_events(machine, candidates, slots, repetitions)
    estimates = [median(candidate.times["events"] or [_GRAPH_US]) for candidate in candidates]
    if "graph" in methods:
        time_graph(machine, candidates, slots, repetitions, estimates)
    if INTERLEAVED in methods:
        time_graph(machine, candidates, slots, repetitions, estimates, foreign=foreign)
    return late
