# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the simulator's Python modules and the build are; what runs is checked."""

import os
import pathlib
import sys

import pytest

SIMULATOR = pathlib.Path(__file__).resolve().parents[1]
ROOT = SIMULATOR.parent
sys.path[:0] = [str(SIMULATOR / "bench"), str(SIMULATOR / "scripts"), str(ROOT / "bench"),
                str(ROOT / "python")]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
os.environ.setdefault("LNBWD_SIM_CHECK", "all")


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build folder, from LNBWD_BUILD_DIR; build/ in the checkout otherwise."""
    return BUILD
