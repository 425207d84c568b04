# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of the compiler: its figures and its command line."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "compile_time.py"


def run(build, *arguments):
    return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True,
                          env={**os.environ, "LNBWD_OPT": str(build / "bin" / "lnbwd-opt")},
                          timeout=300, check=False)


def test_figures(build, tmp_path):
    file = tmp_path / "figures.json"
    result = run(build, "--shapes", "64x256", "64x128:f32", "--repetitions", "1",
                 "--json", str(file))
    assert result.returncode == 0, result.stdout + result.stderr
    figures, = json.loads(file.read_text())["results"]
    assert set(figures["shapes_ms"]) == {"64x256:bf16", "64x128:f32"}
    assert 0 < min(figures["shapes_ms"].values()) <= figures["median_ms"] <= figures["worst_ms"]


def test_wrong_shape(build):
    result = run(build, "--shapes", "64")
    assert result.returncode == 2
    assert "expected a shape like" in result.stderr
