# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/sweep.py with a timer that makes times up, and the data that is in the tree."""

from __future__ import annotations

import concurrent.futures
import math
import pathlib
import time

import pytest

pytest.importorskip("torch")

from lnbwd_bench import costs, sweeping

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHIP = "gfx942"


def test_problems_are_the_same_for_the_same_seed():
    first = list(sweeping.draw(3, 12, CHIP))
    assert first == list(sweeping.draw(3, 12, CHIP))
    assert len(first) == 12 and {problem.kind for problem in first} <= set(sweeping.KINDS)
    assert all(problem.m >= 64 and 128 <= problem.n <= 16384 for problem in first)


def test_problems_can_be_of_some_kinds_only():
    chosen = ("rms_norm", "layer_norm_bwd_dx")
    assert {problem.kind for problem in sweeping.draw(3, 12, CHIP, chosen)} == set(chosen)


@pytest.mark.parametrize("kind", sweeping.KINDS)
def test_every_kind_compiles_with_the_number_of_rows_and_without(kind):
    problem = sweeping.Problem(kind, "bf16", 96, 256,
                               sweeping.source_of(kind, "bf16", 256, CHIP))
    assert "?" not in problem.static_source()
    for source in (problem.source, problem.static_source()):
        assert isinstance(sweeping.compile_one(source, CHIP, "", "model"), sweeping.Candidate)


def test_a_schedule_is_read_in_the_order_of_the_fields():
    fields = sweeping.parse_schedule("threads_per_row = 64, stages = 3, early_start = true")
    assert dict(zip(sweeping.FIELDS, fields, strict=True)) == {
        **dict.fromkeys(sweeping.FIELDS, 0), "threads_per_row": 64, "workgroups_per_row": 1,
        "unroll": 1, "stages": 3, "early_start": 1}


def test_the_slow_are_timed_fewer_times():
    turns = []

    def timer(alive, rounds):
        turns.append((len(alive), rounds))
        return {index: [10.0 + index] * rounds for index in alive}

    result = sweeping.contest(20, {19}, timer)
    assert turns == [(20, 3), (13, 5), (7, 12)]
    assert result[0] == (10.0, 12) and result[19] == (29.0, 12) and result[15] == (25.0, 3)


def test_candidates_are_refused_with_a_reason():
    problem = sweeping.Problem("layer_norm_bwd", "bf16", 96, 256,
                               sweeping.source_of("layer_norm_bwd", "bf16", 256, CHIP))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found, refused = sweeping.compile_candidates(
            problem, CHIP, 5, pool, lambda model: [{"threads_per_row": 3}, {"row_groups": 2},
                                                   {"row_groups": 2}])
    assert [candidate.origin for candidate in found] == ["model", "dynamic", "tried"]
    assert refused["the same as another"] == 1 and len(refused) == 2


def test_a_sweep_records_every_schedule():
    problems = sweeping.draw(1, 2, CHIP)
    lines = []

    def choose(problem, model):
        return [{"row_groups": 1}]

    def make_timer(problem, programs):
        return lambda alive, rounds: {index: [5.0 + index] * rounds for index in alive}

    records = sweeping.sweep(problems, CHIP, 3, 2, math.inf, choose, make_timer, lines.append)
    assert len(records) == len(lines) == 2
    for record in records:
        assert record["candidates"][0]["origin"] == "model"
        assert record["candidates"][0]["us"] == 5.0 and record["bytes_read"] > 0
        assert len(record["candidates"][0]["schedule"]) == len(sweeping.FIELDS)
    assert sweeping.sweep(problems, CHIP, 3, 2, time.monotonic() - 1, choose, make_timer,
                          lines.append) == []


def test_the_collected_data_can_be_read():
    path = ROOT / "docs" / "results" / "h200-schedules.json.xz"
    # Refuses other formats, and other fields than the first of those that there are.
    problems = costs.read([path])
    assert len(problems) > 400
    for problem in problems:
        assert problem["kind"] in sweeping.KINDS
        assert all(len(candidate["schedule"]) == len(sweeping.FIELDS) and candidate["us"] > 0
                   for candidate in problem["candidates"])
