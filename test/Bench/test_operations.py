# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark of the whole family, as far as it goes without a GPU: its kernels compile, and
the list beside them says what each is."""

import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", SOURCE / "build")).resolve()


def test_every_operation_has_kernels(tmp_path):
    subprocess.run([sys.executable, SOURCE / "bench" / "operations.py", "compile", "--out", tmp_path,
                    "--shapes", "64x256", "32x512:f32"],
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
    subprocess.run([sys.executable, SOURCE / "bench" / "operations.py", "compile", "--out", tmp_path,
                    "--chip", "sm_80", "--shapes", "64x256"],
                   env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)}, check=True)
    for kernel in json.loads((tmp_path / "operations.json").read_text()):
        assert kernel["chip"] == "sm_80"
        assert ".target sm_80" in (tmp_path / kernel["file"]).read_text()


def test_what_is_wrong_with_a_shape_is_said():
    result = subprocess.run([sys.executable, SOURCE / "bench" / "operations.py", "compile", "--out", "x",
                             "--shapes", "64"], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and (
        "expected a shape like 8192x4096 or 8192x4096:f32, got '64'" in result.stderr)
