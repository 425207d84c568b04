# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every test runs on an AMD chip of the simulator, under its checks; with --full on all."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import layer_norm
import pytest


def pytest_generate_tests(metafunc):
    if "chip" in metafunc.fixturenames:
        metafunc.parametrize("chip", [
            pytest.param(chip, marks=[pytest.mark.full] if k else [])
            for k, chip in enumerate(layer_norm.CHIPS)])
