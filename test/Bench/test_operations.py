# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of the whole family, as far as it goes without a GPU: its kernels compile, and
the list beside them says what each is."""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest

import operations

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build")).resolve()
OPERATIONS = (sys.executable, SOURCE / "bench" / "operations.py")


def test_every_operation_has_kernels(tmp_path):
    subprocess.run([*OPERATIONS, "compile", "--out", tmp_path, "--shapes", "64x256", "32x512:f32"],
                   env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)}, check=True)
    kernels = json.loads((tmp_path / "operations.json").read_text())
    assert {(k["m"], k["n"], k["dtype"]) for k in kernels} == {(64, 256, "bf16"), (32, 512, "f32")}
    operations = {k["name"].split(",")[0] for k in kernels}
    assert operations == {"layer_norm", "rms_norm", "layer_norm_bwd", "rms_norm_bwd"}
    for kernel in kernels:
        text = (tmp_path / kernel["file"]).read_text()
        assert text.startswith("//") and f'"row_length":{kernel["n"]}' in text
    reproducible = [k["file"] for k in kernels if "reproducible" in k["name"]]
    assert all('"max_workgroups"' in (tmp_path / file).read_text() for file in reproducible)


def test_another_chip_is_compiled_for(tmp_path):
    subprocess.run([*OPERATIONS, "compile", "--out", tmp_path, "--chip", "sm_80",
                    "--shapes", "64x256"],
                   env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)}, check=True)
    for kernel in json.loads((tmp_path / "operations.json").read_text()):
        assert kernel["chip"] == "sm_80"
        assert ".target sm_80" in (tmp_path / kernel["file"]).read_text()


def test_what_is_wrong_with_a_shape_is_said():
    result = subprocess.run([*OPERATIONS, "compile", "--out", "x", "--shapes", "64"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 2 and (
        "expected a shape like 8192x4096 or 8192x4096:f32, got '64'" in result.stderr)


def run_with(*arguments):
    return subprocess.run([sys.executable, SOURCE / "bench" / "operations.py", "run", *arguments],
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["ours", "copy", "eager"])
def test_kernels_beside_ours_have_a_name_of_their_own(tmp_path, name):
    (tmp_path / "operations.json").write_text("[]")
    result = run_with("--kernels", str(tmp_path), "--beside", f"{name}={tmp_path}")
    assert result.returncode == 2
    assert f"expected a name that is not taken, got '{name}'" in result.stderr


@pytest.mark.parametrize("text", ["before", "=FOLDER", "before=", "before=FOLDER/none"])
def test_what_is_wrong_with_kernels_beside_ours_is_said(tmp_path, text):
    text = text.replace("FOLDER", str(tmp_path))
    (tmp_path / "operations.json").write_text("[]")
    result = run_with("--kernels", str(tmp_path), "--beside", text)
    assert result.returncode == 2
    assert "expected NAME=FOLDER, where FOLDER has the operations.json of 'compile', got " \
           f"'{text}'" in result.stderr


def test_kernels_beside_ours_are_those_of_the_same_operation_and_shape(tmp_path):
    entries = [{"name": name, "m": m, "n": 256, "dtype": "bf16", "chip": "sm_90",
                "file": f"{name}-{m}.ptx"} for name in ("rms_norm", "layer_norm") for m in (8, 16)]
    (tmp_path / "operations.json").write_text(json.dumps(entries))
    files = operations.read_beside([("before", tmp_path)])["before"]
    entry = {**entries[2], "file": "another name.ptx"}
    assert files[operations.key_of(entry)] == tmp_path / "layer_norm-8.ptx"
    assert operations.key_of({**entry, "dtype": "f32"}) not in files


def timed(name, m, **medians):
    return {"name": name, "m": m, "n": 256, "dtype": "bf16", "bytes": 1 << 20, "beside": ["before"],
            "timed": list(medians), **{each: {"graph": {"median_us": time}}
                                       for each, time in medians.items()}}


def test_the_summary_keeps_peers_and_kernels_beside_ours_apart():
    rows = [timed("rms_norm", 8, ours=10, before=8, eager=20),
            timed("rms_norm", 16, ours=10, before=12.5, eager=40)]
    assert operations.summary_lines(rows, "graph") == [
        "rms_norm         times the best peer: geometric mean 2.828, least 2.000, 2 shapes",
        "rms_norm         takes of the time of before: geometric mean 1.000, least 0.800, "
        "most 1.250, 2 shapes"]
    text = operations.line(rows[0], rows[0], "graph")
    assert "2.00 times eager; eager 20.00  before 8.00 (1.250)" in text


def test_an_output_that_is_no_number_is_an_error():
    torch = pytest.importorskip("torch")
    right, wrong = torch.ones(3, dtype=torch.float64), torch.full((3,), math.nan)
    assert math.isnan(operations.error_of([right, wrong], [right, right]))
    assert math.isnan(operations.error_of([wrong, right], [right, right]))
    assert operations.error_of([right, 0.5 * right], [right, right]) == 0.5
