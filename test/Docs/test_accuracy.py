# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/accuracy.md is what scripts/accuracy.py measures, and ours is no worse than PyTorch."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_accuracy_page_is_fresh():
    pytest.importorskip("torch")
    environment = dict(os.environ)
    environment.setdefault("LNBWD_BUILD_DIR", str(SOURCE / "build"))
    result = subprocess.run([sys.executable, SOURCE / "scripts" / "accuracy.py", "--check"],
                            env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
