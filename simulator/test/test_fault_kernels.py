# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels on which the checker is tested: there are enough of them, and each is in the table
of the unit test that runs it."""

import pathlib
import re

import pytest

import fault_kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]

TESTS = ROOT / "simulator" / "unittests"
GROUPS = fault_kernels.groups()


def test_there_are_enough():
    assert sum(len(group.faults) for group in GROUPS) >= 60
    assert sum(len(group.tricky) for group in GROUPS) >= 30


def test_names_are_not_used_twice():
    names = [name for group in GROUPS for name in group.faults + group.tricky]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_all_of_them_run(group):
    test = {"order-global.c": "CheckerOrderTest.cpp", "order-lds.c": "CheckerOrderTest.cpp",
            "order-tricky.c": "CheckerOrderTest.cpp",
            "order-interleaved.c": "CheckerOrderTest.cpp", "faults.c": "CheckerFaultTest.cpp",
            "defined.c": "DefinedKernelsTest.cpp",
            "redzones.c": "CheckerRedzoneTest.cpp"}[group.file]
    text = (TESTS / test).read_text()
    for name in group.faults + group.tricky:
        assert re.search(rf'[{{(]"{name}"', text), f"{test} does not run {name}"


def test_hazards_are_counted():
    hazards = fault_kernels.hazards()
    assert sum(test.faults for test in hazards) >= 90
    assert sum(test.clean for test in hazards) >= 90
    assert all(test.faults for test in hazards)
