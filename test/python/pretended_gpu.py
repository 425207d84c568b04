# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program in a process of its own that pretends that there is a GPU."""

import os
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"

START = """
import json, os, sys
import torch
import region_capture
try:
    region_capture.pretend_gpu()
except (OSError, RuntimeError) as error:
    sys.exit(f"no hook: {error}")
"""

END = """
os._exit(0)  # Autograd's thread for a GPU that is not there may still be at work.
"""


def run(program, *arguments):
    """What a program wrote to standard output and error; the test is skipped where there is no
    compiler for what pretends."""
    result = subprocess.run(
        [sys.executable, "-c", START + program + END, *arguments], capture_output=True, text=True,
        check=False, env={
            **os.environ, "PYTHONPATH": str(BENCH),
            "TORCH_EXTENSIONS_DIR": os.path.join(os.environ["LNBWD_TEST_COMPILED"], "hooks")})
    if result.stderr.startswith("no hook"):
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr
