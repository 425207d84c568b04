# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every test runs on every AMD chip of the simulator, under its checks."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

import layer_norm


def pytest_generate_tests(metafunc):
    if "chip" in metafunc.fixturenames:
        metafunc.parametrize("chip", layer_norm.CHIPS)
