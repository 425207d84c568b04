# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/region_times.py: the processes among which patterns are shared out."""

import argparse
import os
import time

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import region_times  # noqa: E402


def work(pattern, options):
    """What a process does, without a GPU: what the pattern's name says."""
    is_large = pattern["inputs"] == [LARGE]
    if is_large:
        os.close(os.open(options.large, os.O_CREAT | os.O_EXCL))
        time.sleep(0.05)
        os.unlink(options.large)
    with region_times.turn(options.patterns), region_times.turn(options.patterns):
        if pattern["model"] == "dies":
            os._exit(1)
        if pattern["model"] == "never ends":
            time.sleep(60)
    return {"process": os.getpid()} | ({"is_lost": True} if pattern["model"] == "loses" else {})


SMALL, LARGE = ["float32", [8], [1]], ["float32", [1 << 14, 1 << 14], [1 << 14, 1]]


def rows(monkeypatch, folder, patterns, seconds):
    file = folder / "patterns"
    file.touch()
    monkeypatch.setattr(region_times, "work", work)
    options = argparse.Namespace(processes=2, end=time.time() + seconds, start="fork",
                                 patterns=file, large=folder / "large")
    return {row["place"]: row for row in region_times.rows_of(dict(enumerate(
        {"model": model, "inputs": [size]} for model, size in patterns)), options)}


def test_another_process_takes_the_place_of_one_that_dies(monkeypatch, tmp_path):
    """It may have been one's turn then."""
    found = rows(monkeypatch, tmp_path, [
        ("dies" if place == 2 else "loses" if place == 4 else "", SMALL) for place in range(9)], 60)
    assert sorted(found) == list(range(9))
    assert [place for place, row in found.items() if "failure" in row] == [2]
    assert len({row["process"] for row in found.values() if "process" in row}) > 2


def test_large_patterns_are_for_one_process(monkeypatch, tmp_path):
    found = rows(monkeypatch, tmp_path, 3 * [("", LARGE), ("", SMALL)], 60)
    assert len(found) == 6
    assert not [row["failure"] for row in found.values() if "failure" in row]


def test_a_process_that_does_not_end_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(region_times, "_GRACE_SECONDS", 0)
    found = rows(monkeypatch, tmp_path, [("never ends", SMALL)], 0.3)
    assert "did not end" in found[0]["failure"]
