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
sys.path[:0] = [str(SIMULATOR / folder) for folder in ("bench", "scripts", "python")]
sys.path.append(str(ROOT / "test" / "python"))  # loaded_python
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
os.environ.setdefault("LNBWD_SIM_CHECK", "all")
pytest_plugins = ["sampled_tests"]


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build folder, from LNBWD_BUILD_DIR; build/ in the checkout otherwise."""
    return BUILD


@pytest.fixture(scope="session")
def calibration_kernels(build, tmp_path_factory):
    """The calibration kernels, compiled."""
    pytest.importorskip("numpy")
    from timing_model import launches
    if launches.find_clang() is None or not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("needs clang and the simulator")
    return launches.compile_kernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def simulator(build, calibration_kernels):
    """The simulator with the calibration kernels."""
    from timing_model.simulation import Simulator
    return Simulator(build / "lib" / "liblnbwd-hip-sim.so", calibration_kernels)
