# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/fused_nodes.py checks some of the patterns of docs/results."""

import pathlib

import pytest

pytest.importorskip("torch")

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
