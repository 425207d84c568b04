# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the benchmark's modules and the build are."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]
sys.path.append(str(ROOT / "test" / "python"))  # loaded_python
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))
os.environ.setdefault("LNBWD_CACHE_DIR", os.environ["LNBWD_TEST_CACHE"])


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build folder, from LNBWD_BUILD_DIR; build/ in the checkout otherwise."""
    return BUILD
