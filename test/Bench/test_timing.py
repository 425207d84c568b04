# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's way of taking times, on a machine whose clock the test owns."""

import itertools

import pytest

from lnbwd_bench import timing
from lnbwd_bench.machine import Replay


class Clock:
    """A device that executes what is enqueued in order; the host's time stands still but for
    ``host_us`` that each call takes."""

    def __init__(self):
        self.host = self.device = 0.0


class Event:
    def __init__(self, clock):
        self.clock, self.time = clock, None

    def record(self):
        self.clock.device = max(self.clock.device, self.clock.host)
        self.time = self.clock.device

    def query(self):
        return self.clock.host >= self.time

    def elapsed_time(self, stop):
        return (stop.time - self.time) / 1e3


class Machine:
    is_simulated = True

    def __init__(self):
        self.clock = Clock()
        self.spins = []

    def event(self):
        return Event(self.clock)

    def capture(self, enqueue, calls):
        return Replay(enqueue, calls)

    def spin(self, us):
        self.spins.append(us)
        self.clock.device = max(self.clock.device, self.clock.host) + us

    def synchronize(self):
        self.clock.host = max(self.clock.host, self.clock.device)


def work(machine, device_us, host_us=0.0, log=None, name=""):
    """A call that takes the device ``device_us`` and the host ``host_us``."""
    def call(slot):
        machine.clock.host += host_us
        machine.clock.device = max(machine.clock.device, machine.clock.host) + device_us
        if log is not None:
            log.append((name, slot))
    return timing.Candidate(name, call)


def test_the_hosts_time_is_not_in_the_number():
    machine = Machine()
    # Slower to enqueue than any wait that the benchmark begins with.
    slow = work(machine, 20.0, host_us=500.0, name="slow")
    fast = work(machine, 10.0, name="fast")
    late = timing.time_events(machine, [slow, fast], timing.SlotCounter(3), 30)
    assert late > 0
    assert slow.times["events"] == pytest.approx([20.0] * 30)
    assert fast.times["events"] == pytest.approx([10.0] * 30)


def test_a_call_that_never_hides_its_host_gives_no_time():
    machine = Machine()
    hopeless = work(machine, 20.0, host_us=1e12, name="hopeless")
    timing.time_events(machine, [hopeless], timing.SlotCounter(2), 5)
    assert hopeless.times["events"] == []


def test_competitors_take_turns_on_rotating_buffers():
    machine, log = Machine(), []
    names = ["a", "b", "c"]
    candidates = [work(machine, 10.0, log=log, name=name) for name in names]
    timing.time_events(machine, candidates, timing.SlotCounter(5), 40)
    timed = log[-3 * 40:]
    turns = [timed[i:i + 3] for i in range(0, len(timed), 3)]
    assert all(sorted(name for name, _ in turn) == names for turn in turns)
    assert len({tuple(name for name, _ in turn) for turn in turns}) > 1
    slots = [slot for _, slot in timed]
    assert all(after == (before + 1) % 5 for before, after in itertools.pairwise(slots))


def test_the_order_is_the_same_from_run_to_run():
    logs = []
    for _ in range(2):
        machine, log = Machine(), []
        timing.time_events(machine, [work(machine, 1.0, log=log, name=name) for name in "abcd"],
                           timing.SlotCounter(4), 30)
        logs.append(log)
    assert logs[0] == logs[1]


def early(machine, device_us, saved_us, log):
    """A call that begins so much earlier where the call before it was one of its own."""
    def call(slot):
        machine.clock.device += device_us - (saved_us if log and log[-1] == "ours" else 0.0)
        log.append("ours")
    return timing.Candidate("ours", call)


def foreign(machine, device_us, log):
    """A kernel of somebody else."""
    def call():
        machine.clock.device += device_us
        log.append("foreign")
    return call


def test_a_graph_is_divided_by_its_calls():
    machine, log = Machine(), []
    candidate = early(machine, 20.0, 6.0, log)
    plain = work(machine, 10.0)
    timing.time_graph(machine, [candidate, plain], timing.SlotCounter(2), 30, [20.0, 10.0])
    assert plain.times == {"graph": pytest.approx([10.0] * 30)}
    # Behind one another, calls overlap.
    assert candidate.times["graph"] == pytest.approx([14.0] * 30)


def test_the_foreign_kernels_time_is_taken_off():
    machine, log = Machine(), []
    candidate = early(machine, 20.0, 6.0, log)
    plain = work(machine, 10.0)
    timing.time_graph(machine, [candidate, plain], timing.SlotCounter(2), 30, [20.0, 10.0],
                      foreign=foreign(machine, 33.0, log))
    assert plain.times == {"interleaved": pytest.approx([10.0] * 30)}
    assert candidate.times["interleaved"] == pytest.approx([20.0] * 30)
    # A call of ours is always after a foreign kernel.
    assert all(before == "foreign" for before, name in itertools.pairwise(log) if name == "ours")


def test_calls_of_a_graph_rotate_among_the_buffers():
    machine, log = Machine(), []
    candidate = work(machine, 10.0, log=log, name="a")
    timing.time_graph(machine, [candidate], timing.SlotCounter(2), 30, [10.0],
                      foreign=lambda: None)
    assert [slot for _, slot in log[:4]] == [0, 1, 0, 1]


def test_what_cannot_be_captured_has_no_times(monkeypatch):
    machine = Machine()
    good, bad = work(machine, 10.0, name="good"), work(machine, 10.0, name="bad")
    capture = timing._capture
    monkeypatch.setattr(timing, "_capture", lambda machine, name, enqueue, calls: None
                        if name == "bad" else capture(machine, name, enqueue, calls))
    timing.time_graph(machine, [bad, good], timing.SlotCounter(2), 30, [10.0, 10.0],
                      foreign=lambda: None)
    assert not bad.times and good.times == {"interleaved": pytest.approx([10.0] * 30)}


def test_all_launch_shapes_of_the_stream_are_tried_and_the_fastest_three_stay():
    machine, log = Machine(), []
    streams = [work(machine, 10.0 + (7 * index) % 27, log=log, name=f"s{index}")
               for index in range(27)]
    best = timing.best_streams(machine, streams, timing.SlotCounter(4))
    assert {name for name, _ in log} == {stream.name for stream in streams}
    fastest = sorted(range(27), key=lambda index: (7 * index) % 27)[:3]
    assert [stream.name for stream in best] == [f"s{index}" for index in fastest]


def test_a_stream_that_could_not_be_tried_is_the_last_one():
    machine = Machine()
    hopeless = work(machine, 1.0, host_us=1e12, name="hopeless")
    best = timing.best_streams(machine, [hopeless, work(machine, 9.0, name="good")],
                               timing.SlotCounter(2))
    assert [stream.name for stream in best] == ["good", "hopeless"]


def test_all_methods_are_taken_in_turns():
    machine, log = Machine(), []
    candidate, plain = early(machine, 20.0, 6.0, log), work(machine, 10.0)
    methods = ["graph", "events", "interleaved"]
    late = timing.time_interleaved(machine, [candidate, plain], timing.SlotCounter(2), methods, 30,
                                foreign(machine, 33.0, log))
    assert late == 0
    assert plain.times == {method: pytest.approx([10.0] * 30) for method in methods}
    assert {method: timing.median(times) for method, times in candidate.times.items()} == \
        pytest.approx({"events": 14.0, "graph": 14.0, "interleaved": 20.0})


def test_what_no_event_could_time_is_timed_by_graphs():
    machine = Machine()
    slow = work(machine, 20.0, host_us=1e12, name="slow to enqueue")

    class Graph:
        def __init__(self, calls):
            self.calls = calls

        def replay(self):
            machine.clock.device += 20.0 * self.calls

    machine.capture = lambda enqueue, calls: Graph(calls)
    timing.time_interleaved(machine, [slow], timing.SlotCounter(2), ["graph"], 5)
    assert slow.times == {"events": [], "graph": pytest.approx([20.0] * 5)}


def test_the_fastest_stream_is_found_for_each_method():
    streams = [timing.Candidate(name, None, times) for name, times in (
        ("a", {"events": [3.0, 4.0, 5.0], "graph": [2.0, 2.0]}),
        ("b", {"events": [9.0, 3.0, 3.5], "graph": []}),
        ("c", {"events": [9.0, 9.0, 9.0], "graph": [1.0, 2.0]}))]
    record = timing.stream_record(streams, ["graph", "events", "interleaved"])
    assert {method: (each["variant"], each["median_us"]) for method, each in record.items()} == {
        "graph": ("c", 1.5), "events": ("b", 3.5)}


def test_summary():
    summary = timing.summary([5.0, 1.0, 3.0, 2.0])
    assert summary == {"median_us": 2.5, "min_us": 1.0, "max_us": 5.0, "p25_us": 2.0,
                       "p75_us": 5.0, "repetitions": 4}
