# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin of pytest for all tests here: --full runs those that are marked as full, too."""

from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    parser.addoption("--full", action="store_true",
                     help="run all cases of the tests instead of a sample")


def pytest_configure(config: pytest.Config) -> None:
    """The mark."""
    config.addinivalue_line("markers", "full: runs with --full alone")
    if config.getoption("--full"):
        os.environ["LNBWD_TEST_FULL"] = "1"  # For the numbers of examples that are drawn.


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked."""
    if not config.getoption("--full"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
