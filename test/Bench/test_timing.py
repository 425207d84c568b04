# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's way of taking times, on a machine whose clock the test owns."""

import itertools

import pytest

from lnbwd_bench import results, timing
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


def measured(machine, candidates, sets, repetitions):
    """Times candidates, none of which moves anything, by graphs of two calls."""
    timing.time_graph(machine, candidates, sets, repetitions, [0.0] * len(candidates))


def test_the_hosts_time_is_not_in_the_number():
    machine = Machine()
    # Slower to enqueue than any wait that the benchmark begins with.
    slow = work(machine, 20.0, host_us=500.0, name="slow")
    fast = work(machine, 10.0, name="fast")
    measured(machine, [slow, fast], 3, 30)
    assert max(machine.spins) > 1000.0
    assert slow.times["graph"] == pytest.approx([20.0] * 30)
    assert fast.times["graph"] == pytest.approx([10.0] * 30)


def test_a_call_that_never_hides_its_host_gives_no_time():
    machine = Machine()
    hopeless = work(machine, 20.0, host_us=1e12, name="hopeless")
    measured(machine, [hopeless], 2, 5)
    assert hopeless.times["graph"] == []


def test_competitors_take_turns():
    machine, log = Machine(), []
    names = ["a", "b", "c"]
    measured(machine, [work(machine, 10.0, log=log, name=name) for name in names], 5, 40)
    timed = log[-3 * 40 * 2::2]
    turns = [timed[i:i + 3] for i in range(0, len(timed), 3)]
    assert all(sorted(name for name, _ in turn) == names for turn in turns)
    assert len({tuple(name for name, _ in turn) for turn in turns}) > 1


def test_the_order_is_the_same_from_run_to_run():
    logs = []
    for _ in range(2):
        machine, log = Machine(), []
        measured(machine, [work(machine, 1.0, log=log, name=name) for name in "abcd"], 4, 30)
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
    measured(machine, [candidate, plain], 2, 30)
    assert plain.times == {"graph": pytest.approx([10.0] * 30)}
    # Behind one another, calls overlap.
    assert candidate.times["graph"] == pytest.approx([14.0] * 30)


def test_the_foreign_kernels_time_is_taken_off():
    machine, log = Machine(), []
    candidate = early(machine, 20.0, 6.0, log)
    plain = work(machine, 10.0)
    timing.time_graph(machine, [candidate, plain], 2, 30, [0.0, 0.0],
                      foreign=foreign(machine, 33.0, log))
    assert plain.times == {"interleaved": pytest.approx([10.0] * 30)}
    assert candidate.times["interleaved"] == pytest.approx([20.0] * 30)
    # A call of ours is always after a foreign kernel.
    assert all(before == "foreign" for before, name in itertools.pairwise(log) if name == "ours")


def test_calls_of_a_graph_rotate_among_the_buffers():
    machine, log = Machine(), []
    candidate = work(machine, 10.0, log=log, name="a")
    timing.time_graph(machine, [candidate], 2, 30, [0.0], foreign=lambda: None)
    assert [slot for _, slot in log[:4]] == [0, 1, 0, 1]


def test_what_cannot_be_captured_has_no_times(monkeypatch):
    machine = Machine()
    good, bad = work(machine, 10.0, name="good"), work(machine, 10.0, name="bad")
    capture = timing._capture
    monkeypatch.setattr(timing, "_capture", lambda machine, name, enqueue, calls: None
                        if name == "bad" else capture(machine, name, enqueue, calls))
    timing.time_graph(machine, [bad, good], 2, 30, [0.0, 0.0],
                      foreign=lambda: None)
    assert not bad.times and good.times == {"interleaved": pytest.approx([10.0] * 30)}


def test_all_launch_shapes_of_the_stream_are_tried_and_the_fastest_three_stay():
    machine, log = Machine(), []
    streams = [work(machine, 10.0 + (7 * index) % 27, log=log, name=f"s{index}")
               for index in range(27)]
    best = timing.best_streams(machine, streams, 4, 0.0)
    assert {name for name, _ in log} == {stream.name for stream in streams}
    fastest = sorted(range(27), key=lambda index: (7 * index) % 27)[:3]
    assert [stream.name for stream in best] == [f"s{index}" for index in fastest]


def test_a_stream_that_could_not_be_tried_is_the_last_one():
    machine = Machine()
    hopeless = work(machine, 1.0, host_us=1e12, name="hopeless")
    best = timing.best_streams(machine, [hopeless, work(machine, 9.0, name="good")], 2, 0.0)
    assert [stream.name for stream in best] == ["good", "hopeless"]


def test_both_methods_are_taken():
    machine, log = Machine(), []
    candidate, plain = early(machine, 20.0, 6.0, log), work(machine, 10.0)
    timing.time_interleaved(machine, [candidate, plain], 2, 30, 0.0, foreign(machine, 33.0, log))
    assert plain.times == {method: pytest.approx([10.0] * 30) for method in results.METHODS}
    assert {method: timing.median(times) for method, times in candidate.times.items()} == \
        pytest.approx({"graph": 14.0, "interleaved": 20.0})


def test_all_sets_are_called_before_any_graph():
    machine, log = Machine(), []
    timing.time_interleaved(machine, [work(machine, 1.0, log=log, name="a")], 4, 5, 0.0)
    assert [slot for _, slot in log[:4]] == [0, 1, 2, 3]


@pytest.mark.parametrize(("moved", "calls"), [(0.0, 64), (25e6, 40), (1e9, 10)])
def test_a_graph_has_as_many_calls_as_take_a_while(moved, calls):
    assert timing._calls_of(moved, 10) == calls


def test_medians():
    candidates = [timing.Candidate(name, None, times) for name, times in (
        ("a", {"interleaved": [3.0, 4.0, 5.0], "graph": [2.0, 2.0]}),
        ("b", {"interleaved": [9.0, 3.0, 3.5], "graph": []}),
        ("c", {"graph": [1.0, 2.0]}))]
    assert timing.medians(candidates) == {
        "graph": {"a": 2.0, "c": 1.5}, "interleaved": {"a": 4.0, "b": 3.5}}
    assert timing.medians([]) == {}
