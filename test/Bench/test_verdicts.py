# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's arithmetic: medians, means, shares and verdicts."""

import json
import math
import pathlib

import pytest

from lnbwd_bench import verdicts
from lnbwd_bench.shapes import FLOAT32, FURTHER, TABLE, Shape, default_shapes, parse_shape

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "bench" / "recorded_peers.json"


def timing(us):
    return {verdicts.METHODS[0]: {"median_us": us}}


def record(shape, ours_us, stream_us, **peers):
    """What the benchmark writes about a shape, as far as verdicts read it."""
    competitors = {"ours": {"valid": True, "repeatable": True, "times": timing(ours_us)}}
    for name, us in peers.items():
        competitors[name] = {"valid": True, "times": timing(us)}
    return {"m": shape.m, "n": shape.n, "dtype": shape.dtype, "competitors": competitors,
            "stream": timing(stream_us), "empty": timing(2.0)}


def run_at(share, eager=4.0, peer=1.6):
    """A whole run in which ours reaches ``share`` of a stream of 4000 GB/s everywhere."""
    records = []
    for shape in default_shapes():
        stream = shape.stream_bytes / 4e6
        ours = shape.minimal_bytes / (share * 4e6)
        records.append(record(shape, ours, stream, eager=eager * ours, compile=peer * ours))
    return records


def test_minimal_bytes_count_every_argument_once():
    shape = Shape(8, 16, "bf16")
    assert shape.stream_bytes == 3 * 8 * 16 * 2
    assert shape.minimal_bytes == 3 * 8 * 16 * 2 + 3 * 16 * 2 + 2 * 8 * 4
    assert Shape(8, 16, "f32").minimal_bytes == 3 * 8 * 16 * 4 + 3 * 16 * 4 + 2 * 8 * 4


def test_shapes_are_read_and_written_alike():
    for shape in default_shapes():
        assert parse_shape(str(shape)) == shape
    assert parse_shape("5x7") == Shape(5, 7, "bf16")
    assert len(set(default_shapes())) == len(TABLE) + len(FURTHER) + len(FLOAT32)


@pytest.mark.parametrize("text", ["", "5", "5x", "0x7", "5x-1", "5x7:f64", "5x7:", "5×7"])
def test_wrong_shapes_are_refused(text):
    with pytest.raises(ValueError, match="expected"):
        parse_shape(text)


def test_means():
    assert verdicts.median([3.0, 1.0, 2.0]) == 2.0
    assert math.isnan(verdicts.median([]))
    assert verdicts.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert verdicts.geometric_mean([]) is None


def test_share_and_speedup():
    shape = Shape(4096, 4096)
    results = verdicts.Results([record(shape, 50.0, 40.0, eager=150.0, compile=75.0)], {})
    assert results.stream_rate(shape) == pytest.approx(shape.stream_bytes / 40e3)
    assert results.share(shape) == pytest.approx(
        shape.minimal_bytes / 50 / (shape.stream_bytes / 40))
    assert results.best_peer(shape) == ("compile", 75.0)
    assert results.speedup(shape) == pytest.approx(1.5)
    assert results.speedup(shape, "eager") == pytest.approx(3.0)
    assert results.speedup(shape, "liger") is None


def test_a_recorded_peer_counts_where_it_is_faster():
    shape = Shape(4096, 4096)
    records = [record(shape, 50.0, 40.0, eager=150.0)]
    fast = verdicts.Results(records, {shape: {"TE": 60.0}})
    assert fast.best_peer(shape) == ("TE*", 60.0)
    slow = verdicts.Results(records, {shape: {"TE": 160.0}})
    assert slow.best_peer(shape) == ("eager", 150.0)


def test_wrong_results_do_not_count():
    shape = Shape(4096, 4096)
    entry = record(shape, 50.0, 40.0, eager=150.0)
    entry["competitors"]["eager"]["valid"] = False
    results = verdicts.Results([entry], {})
    assert results.best_peer(shape) is None
    entry["competitors"]["ours"]["valid"] = False
    assert results.ours(shape) is None and results.share(shape) is None


def test_every_bar_passes_just_above_and_misses_below():
    above = verdicts.judge(verdicts.Results(run_at(0.975, eager=3.01, peer=1.51), {}))
    small = {f"{bound} us" for bound in verdicts.SMALL.values()}
    for verdict in above:
        if not any(text in verdict.bar for text in small):
            assert verdict.word == "PASS", verdict
    below = verdicts.judge(verdicts.Results(run_at(0.6, eager=2.9, peer=0.99), {}))
    for verdict in below:
        if not any(text in verdict.bar for text in small):
            assert verdict.word == "MISS", verdict


def test_small_shapes_are_held_against_their_bounds():
    for factor, word in ((0.99, "PASS"), (1.01, "MISS")):
        records = [record(shape, bound * factor, 5.0) for shape, bound in verdicts.SMALL.items()]
        found = [verdict.word for verdict in verdicts.judge(verdicts.Results(records, {}))
                 if "times faster than" in verdict.bar]
        assert found == [word] * 3


def test_one_missing_shape_leaves_a_mean_unmeasured():
    records = [entry for entry in run_at(0.99)
               if (entry["m"], entry["n"]) != (16384, 2048)]
    words = {verdict.bar: verdict.word
             for verdict in verdicts.judge(verdicts.Results(records, {}))}
    assert words["times torch eager, geometric mean of the table"] == "not measured"
    assert words["share of the stream, 16384x2048:bf16"] == "not measured"
    assert words["share of the stream, 8192x4096:bf16"] == "PASS"


def test_recorded_figures_agree_with_themselves():
    """The rate and the time of each best peer are two readings of one measurement."""
    recorded = verdicts.load_recorded(RECORDED)
    assert {(shape.m, shape.n) for shape in recorded if shape.dtype == "bf16"} == set(TABLE)
    for entry in json.loads(RECORDED.read_text())["figures"]:
        shape = Shape(entry["m"], entry["n"], entry["dtype"])
        for name, us in entry["us"].items():
            rate = entry.get("gb_per_s", {}).get(name)
            if rate:
                assert shape.minimal_bytes / rate / 1e3 == pytest.approx(us, rel=0.005)
                assert us == min(recorded[shape].values())
