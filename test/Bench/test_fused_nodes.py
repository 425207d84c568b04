# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/fused_nodes.py checks some of the patterns of docs/results, and counts nodes."""

import json
import pathlib

import pytest

pytest.importorskip("torch")

import dashboard
import fused_nodes as command

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs/results/fused-nodes.jsonl.xz"
CHECKED = (575, 951, 1137, 1201, 1226)
"""Lines of the file: nodes of each kind, some of several programs, with few elements."""


def test_check(monkeypatch, capsys):
    """Programs of the file of fused nodes, computed by PyTorch's operations."""
    rows = command._read(FILE)
    assert {command.kind_of(rows[line]) for line in CHECKED} == {
        "pointwise", "reduction", "mix-order"}
    monkeypatch.setattr("sys.argv", ["fused_nodes.py", "check", str(FILE), "--only",
                                     *map(str, CHECKED)])
    assert command.main() == 0
    assert capsys.readouterr().out == f"{len(CHECKED)} right, 0 wrong\n"


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """What convert writes with --counts of two patterns; a third cannot be compiled."""
    import region_capture

    found = iter([
        {"fused": [{"kind": "reduction", "calls": []}, {"reason": "calls a product"}]}, None,
        {"fused": [{"kind": "reduction", "reason": "a scan"}, {"kind": "pointwise", "calls": []}]}])

    def converted(_):
        if row := next(found):
            return row
        raise RuntimeError("no graph")

    monkeypatch.setattr(region_capture, "pretend_gpu", lambda: None)
    monkeypatch.setattr(command, "converted", converted)
    command._write(tmp_path / "patterns.jsonl", [{"model": "tiny"}] * 3)
    monkeypatch.setattr("sys.argv", [
        "fused_nodes.py", "convert", str(tmp_path / "patterns.jsonl"), "--out",
        str(tmp_path / "calls.jsonl"), "--counts", str(tmp_path / "counts.json")])
    assert command.main() == 0
    return tmp_path / "counts.json"


def test_converted_nodes_of_each_kind_are_counted(counted):
    assert json.loads(counted.read_text())["rows"] == [
        {"kind": "pointwise", "nodes": 1, "converted": 1},
        {"kind": "reduction", "nodes": 2, "converted": 1}]


def test_the_dashboard_takes_counts(counted):
    block = dashboard.take("converted", [counted])
    assert block["command"] == "fused_nodes.py convert"
    assert "| reduction | 2 | 1 | 50 |" in dashboard.conversions(block)
