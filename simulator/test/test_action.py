# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GitHub action: its inputs, and what its script installs and runs."""

import os
import pathlib
import re
import shutil
import subprocess

import yaml

SIMULATOR = pathlib.Path(__file__).resolve().parents[1]
TEXT = (SIMULATOR / "action.yml").read_text()
ACTION = yaml.safe_load(TEXT)


def test_inputs_are_those_that_steps_use():
    assert {*re.findall(r"\binputs\.(\w+)", TEXT)} == {*ACTION["inputs"]}
    assert all(one["description"] for one in ACTION["inputs"].values())


def test_errors_are_uploaded_though_a_test_failed():
    upload = ACTION["runs"]["steps"][-1]
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    assert "!cancelled()" in upload["if"]
    # Each run of the log has a category of its own, the chip.
    assert upload["with"] == {"sarif_file": "${{ inputs.sarif }}"}


def test_the_script_installs_what_lies_beside_it(tmp_path):
    """With a python3 that prints its arguments."""
    action = tmp_path / "action"
    (action / "scripts").mkdir(parents=True)
    script = shutil.copy(SIMULATOR / "scripts" / "amdgpu-test.sh", action / "scripts")
    stub = tmp_path / "bin" / "python3"
    stub.parent.mkdir()
    stub.write_text('#!/bin/sh\necho "$@"\n')
    stub.chmod(0o755)

    def installed(**environment: str) -> str:
        said = subprocess.run(
            ["bash", script, "gfx942,gfx1201", "my tests"], cwd=tmp_path, text=True, check=True,
            capture_output=True,
            env={**os.environ, "PATH": f"{stub.parent}:{os.environ['PATH']}",
                 "AMDGPU_PACKAGE": "", **environment}).stdout.splitlines()
        assert said[1:] == ["-m pytest --amdgpu gfx942,gfx1201 --amdgpu-sarif amdgpu.sarif "
                            "--junitxml=amdgpu.xml my tests"]
        return said[0].removeprefix("-m pip install ")

    assert installed() == f"{action}[triton]"
    wheel = action / "lnbwd_sim-1.0-py3-none-any.whl"
    wheel.touch()
    assert installed() == f"{wheel}[triton]"
    assert installed(AMDGPU_PACKAGE="lnbwd-sim==1") == "lnbwd-sim==1"
