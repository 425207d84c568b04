# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/functions.py, a dry run."""

import json
import sys

import pytest

pytest.importorskip("torch")

import functions
import lnbwd


def test_a_dry_run(tmp_path, monkeypatch):
    file = tmp_path / "functions.json"
    monkeypatch.setattr(sys, "argv", [
        "functions.py", "--dry-run", "--functions", "cross_entropy", "geglu", "--shapes", "3x32",
        "--types", "f32", "--repetitions", "2", "--out", str(file)])
    with lnbwd.simulate():
        assert functions.main() == 0
    rows = json.loads(file.read_text())["results"]
    assert [row["part"] for row in rows] == ["forward", "step"] * 2
    assert all(0 <= row["errors"][way] < 1e-6 and len(row["times"][way]) == 2
               for row in rows for way in ("torch", "lnbwd"))
