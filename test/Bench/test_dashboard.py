# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/dashboard.py: the page is what it writes, and it reads what the programs write."""

import json
import pathlib
import sys

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
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["dashboard.py", *map(str, arguments)])
    return dashboard.main()


def test_the_page_is_what_the_command_writes(monkeypatch, capsys):
    assert run(monkeypatch, "--check") == 0, capsys.readouterr().out


def test_what_is_stale_is_named_and_written(elsewhere, monkeypatch, capsys):
    wanted = (elsewhere / "performance.md").read_text()
    (elsewhere / "performance.md").write_text(wanted.replace("| gfx942 | ", "| gfx942 | 1"))
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().out == "stale: performance.md\n"
    assert run(monkeypatch) == 0
    assert (elsewhere / "performance.md").read_text() == wanted


def test_all_tables_stand_in_the_page():
    names = [match[2] for match in dashboard.MARKER.finditer(dashboard.PAGE.read_text())]
    assert sorted(names) == sorted(dashboard.TABLES) == sorted(dashboard.read_blocks())


def test_a_block_is_replaced_as_a_whole(elsewhere, monkeypatch):
    row = {"name": "layer_norm_bwd", "m": 8, "n": 256, "dtype": "bf16", "bytes": 2e8,
           "stream_bytes": 2e8, "random": [5, 1], "graph": {"ours": 10.0, "eager": 25.0},
           "stream": {"graph": 9.0}}
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
    assert "| 100 MB and more | 1 | 2.50 | 2.50 | 0.90 | 0.90 |" in text
    assert "Card, driver D, torch 2: `operations.py run`" in text


@pytest.mark.parametrize("block,row,kept", [
    ("regions", {"pattern": "new12", "model": "tiny", "seen": False, "occurs": 2,
                 "outcome": "whole", "us": {"torch": 3.0, "lnbwd": 2.00004}, "wrong": [],
                 "decisions": ["one"]},
     {"pattern": "new12", "model": "tiny", "seen": False, "occurs": 2, "outcome": "whole",
      "us": {"torch": 3.0, "lnbwd": 2.0}}),
    ("steps", {"model": "tiny, bf16", "mode": "compiled", "ms": {"torch": 3.0, "lnbwd": 2.50001},
               "first_s": {"torch": 5.0, "lnbwd": 4.0}, "memory": 0.99, "ways": {}},
     {"model": "tiny, bf16", "ms": {"torch": 3.0, "lnbwd": 2.5}, "memory": 0.99,
      "first_s": {"torch": 5.0, "lnbwd": 4.0}}),
    ("linear", {"block": "linear", "sizes": [4, 8, 16], "dtype": "bf16", "pass": "forward",
                "us": {"ours": 0.5, "eager": 1.0}},
     {"sizes": [4, 8, 16], "dtype": "bf16", "pass": "forward", "us": {"ours": 0.5, "eager": 1.0}}),
    ("linear", {"block": "linear_host"}, None)])
def test_results_of_the_other_programs_are_read(block, row, kept, tmp_path):
    path = tmp_path / "results.json"
    dashboard.results.write(path, [row], {"name": "Card", "torch": "2"})
    found = dashboard.take(block, [path, path])
    assert found["rows"] == [kept, kept] * (kept is not None)
    assert found["machine"] == "Card, torch 2"


def timed(pattern, ours, **about):
    """A row of the block regions, where torch.compile takes 10 us."""
    return {"pattern": pattern, "model": "tiny", "seen": True, "occurs": 0, "outcome": "whole",
            "us": {"torch": 10.0, "lnbwd": ours}, **about}


def regions_of(*rows):
    """The lines of the section of some rows."""
    return dashboard.regions({"date": "2026-01-02", "machine": "card", "command": "regions.py time",
                              "rows": list(rows)})


def test_outcomes_are_counted_by_models():
    lines = regions_of(timed(0, 5.0), timed(1, 5.0, outcome="left"), timed(2, 5.0, seen=False))
    assert "| training set | 2 | 1 | 0 | 1 |" in lines
    assert "| held-out set | 1 | 1 | 0 | 0 |" in lines


def test_factors_have_means_and_parts():
    lines = regions_of(timed(0, 5.0), timed(1, 20.0))
    assert "| all | 2 | 1.250 | 1.000 | 0.50 | 0.50 | 0.50 | 0.50 | 1 | 1 |" in lines


def test_the_held_out_set_is_apart():
    text = "\n".join(regions_of(timed(0, 5.0), timed(1, 2.5, seen=False)))
    assert "| training set | 1 | 2.000 |" in text
    assert "| held-out set | 1 | 4.000 |" in text


def test_patterns_count_as_often_as_they_occur():
    text = "\n".join(regions_of(timed(0, 1.0), timed(1, 5.0, occurs=1), timed(2, 10.0, occurs=3)))
    assert "| by occurrence | 4 | 1.250 |" in text
    assert "is known for 2 patterns" in text


def test_the_slowest_patterns_come_in_order():
    lines = regions_of(*(timed(f"new{ours}", float(ours)) for ours in (3, 7, 5, 4, 6, 8)))
    slowest = lines[lines.index("| pattern | model | lnbwd, µs | torch.compile, µs | "
                                "torch.compile ÷ lnbwd |") + 2:-1]
    assert [line.split()[1] for line in slowest] == ["new8", "new7", "new6", "new5", "new4"]


def test_what_is_no_result_is_refused(elsewhere, monkeypatch, capsys):
    (elsewhere / "mine.json").write_text("{}")
    assert run(monkeypatch, "take", "random", elsewhere / "mine.json") == 1
    assert "expected format 'lnbwd-bench' version" in capsys.readouterr().err


def test_a_prediction_has_its_product(build):
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    row = dashboard.predict(build, dashboard.Shape(64, 1024))
    assert row["product"] == "MI300X" and 1 < row["us"] < 100 and 0 < row["share"] < 1
    counted = dashboard.count(build, ("gfx942", "f32", "rms_norm"))
    assert 1 <= counted["bytes"] < 1.1 and 1 < counted["vector"] < 8
