# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of the end-to-end tests, and where the build is."""

import os
import pathlib

import pytest


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true",
                     help="run the whole end-to-end grid instead of a sample")


@pytest.fixture(scope="session")
def build() -> pathlib.Path:
    """The build folder, from LNBWD_BUILD_DIR; build/ in the checkout otherwise."""
    default = pathlib.Path(__file__).resolve().parents[2] / "build"
    return pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", default))
