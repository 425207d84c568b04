# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/dashboard.py: the page is what it writes, and it reads what the programs write."""

import json
import pathlib
import sys
import xml.etree.ElementTree

import pytest

import dashboard

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Copies of what the program reads and writes."""
    monkeypatch.setattr(dashboard, "SOURCE", tmp_path)
    for name in ("FILE", "PAGE"):
        source = getattr(dashboard, name)
        monkeypatch.setattr(dashboard, name, tmp_path / source.name)
        (tmp_path / source.name).write_text(source.read_text())
    for picture in dashboard.pictures(dashboard.read_blocks()):
        (tmp_path / picture).write_text((dashboard.IMAGES / picture).read_text())
    monkeypatch.setattr(dashboard, "IMAGES", tmp_path)
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["dashboard.py", *map(str, arguments)])
    return dashboard.main()


def test_the_page_is_what_the_command_writes(monkeypatch, capsys):
    assert run(monkeypatch, "--check") == 0, capsys.readouterr().out


def test_what_is_stale_is_named_and_written(elsewhere, monkeypatch, capsys):
    wanted = (elsewhere / "performance.md").read_text()
    (elsewhere / "performance.md").write_text("old")
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().out == "stale: performance.md\n"
    assert run(monkeypatch) == 0
    assert (elsewhere / "performance.md").read_text() == wanted


def test_plots_are_pictures():
    for text in dashboard.pictures(dashboard.read_blocks()).values():
        root = xml.etree.ElementTree.fromstring(text)
        assert root.tag.endswith("svg") and len(root) > 20 and len(text) < 16000


def test_a_block_is_replaced_as_a_whole(elsewhere, monkeypatch):
    row = {"name": "layer_norm_bwd", "m": 8, "n": 256, "dtype": "bf16", "bytes": 2e8,
           "stream_bytes": 2e8, "random": [5, 1], "timed": ["ours", "eager"],
           "stream": {"graph": {"median_us": 9.0}}, "ours": {"graph": {"median_us": 10.0}},
           "eager": {"graph": {"median_us": 25.0}}}
    document = {"format": dashboard.results.FORMAT, "version": dashboard.results.VERSION,
                "date": "2026-01-02T03:04", "command": ["operations.py", "run"],
                "machine": {"name": "Card", "driver": "D", "torch": "2"}, "results": [row]}
    path = elsewhere / "mine.json"
    path.write_text(json.dumps(document))
    before = json.loads(dashboard.FILE.read_text())
    assert run(monkeypatch, "take", "random", path) == 0
    after = json.loads(dashboard.FILE.read_text())
    assert {**after, "random": None} == {**before, "random": None}
    assert run(monkeypatch) == 0
    text = (elsewhere / "performance.md").read_text()
    assert "| 5 | 1 | 2.50 | 2.50 | 0.90 | 0.90 |" in text
    assert "Card, driver D, torch 2, 2026-01-02: `operations.py run`" in text


@pytest.mark.parametrize("block,document,rows", [
    ("regions", {"results": [
        {"place": 3, "model": "tiny", "outcome": "whole", "us": {"torch": 3.0, "lnbwd": 2.004},
         "wrong": []}, {"place": 4, "model": "tiny", "outcome": "left"},
        {"place": 5, "model": "tiny", "failure": "no room"}]},
     [{"place": 3, "outcome": "whole", "us": {"torch": 3.0, "lnbwd": 2.0}},
      {"place": 4, "outcome": "left"}]),
    ("steps", {"results": [{"model": "tiny", "precision": "bf16", "ways": {
        "torch": {"times_ms": [2.0, 4.0, 3.0], "peak_bytes": 100, "first_seconds": 5.0},
        "lnbwd": {"times_ms": [2.5], "peak_bytes": 99, "first_seconds": 4.0}}}]},
     [{"model": "tiny, bf16", "ms": {"torch": 3.0, "lnbwd": 2.5}, "memory": 0.99,
       "first_s": {"torch": 5.0, "lnbwd": 4.0}}]),
    ("host", {"head": "here", "rows": [
        {"op": "layer_norm", "case": "operator", "pass": "forward", "torch": 2.04, "ours": 1.96},
        {"op": "layer_norm", "case": "call", "pass": "forward", "torch": 2.0, "ours": 1.0}]},
     [{"op": "layer_norm", "case": "operator", "pass": "forward", "torch": 2.0, "ours": 2.0}]),
    ("linear_host", {"layers": [{"shape": "4x8x16", "dtype": "bf16", "host_us": {"forward": {
        "auto": 1.0, "eager": 2.0, "compile": 3.0, "kernel": 4.0}}}]},
     [{"sizes": [4, 8, 16], "pass": "forward", "us": {"ours": 1.0, "eager": 2.0, "compile": 3.0}}]),
    ("linear", {"layers": [{"shape": "4x8x16", "dtype": "bf16",
                            "forward_us": {"auto": 0.5, "eager": 1.0, "compile": 2.0},
                            "us": {"auto": 1.0, "eager": 2.0, "compile": 3.0, "kernel": 4.0}}]},
     [{"sizes": [4, 8, 16], "dtype": "bf16", "pass": "forward",
       "us": {"auto": 0.5, "eager": 1.0, "compile": 2.0}},
      {"sizes": [4, 8, 16], "dtype": "bf16", "pass": "both",
       "us": {"auto": 1.0, "eager": 2.0, "compile": 3.0}}]),
    ("compile_time", {"chip": "gfx942", "median_seconds": 0.2,
                      "shapes": {"8x16:bf16": 0.3, "8x32:bf16": 0.2}},
     [{"chip": "gfx942", "median_ms": 200.0, "worst_ms": 300.0}])])
def test_results_of_the_other_programs_are_read(block, document, rows, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document))
    assert dashboard.take(block, [path])["rows"] == rows


def test_what_is_no_result_is_refused(elsewhere, monkeypatch, capsys):
    (elsewhere / "mine.json").write_text("{}")
    assert run(monkeypatch, "take", "random", elsewhere / "mine.json") == 1
    assert "expected format 'lnbwd-bench-operations' version" in capsys.readouterr().err


def test_a_prediction_has_its_product(build):
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    row = dashboard.predict(build, dashboard.Shape(64, 1024))
    assert row["product"] == "MI300X" and 1 < row["us"] < 100 and 0 < row["share"] < 1
    counted = dashboard.count(build, ("gfx942", "f32", "rms_norm"))
    assert 1 <= counted["bytes"] < 1.1 and 1 < counted["vector"] < 8
