# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of the host: its cases, its figures and its command line."""

import json
import os
import pathlib

import loaded_python
import pytest

pytest.importorskip("torch")

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench" / "host_cost.py"


def run(*arguments, **environment):
    return loaded_python.run([PROGRAM, *arguments], env={**os.environ, **environment}, timeout=300)


@pytest.mark.parametrize("native", ["0", "1"])
def test_figures(tmp_path, native):
    file = tmp_path / "figures.json"
    result = run("--dry-run", "--norms", "3", "--repetitions", "2", "--json", str(file),
                 LNBWD_NATIVE=native)
    assert result.returncode == 0, result.stderr
    rows = json.loads(file.read_text())["results"]
    cases = {(row["op"], row["case"], row["pass"]) for row in rows}
    assert cases == {(op, "chain of 3", name) for op in ("layer_norm", "rms_norm")
                     for name in ("forward", "backward")}
    assert all(row["ours"] > 0 for row in rows)
    assert "layer_norm, chain of 3, backward" in result.stdout
