# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel of the grid, compiled, executed on the simulator and compared
with the float64 reference. Cases of one kernel share its compilation."""

import functools

import pytest

import grid


@functools.cache
def cached_kernel(build, kernel, folder):
    return grid.compile_kernel(build, kernel, folder)


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


def pytest_generate_tests(metafunc):
    if "case" not in metafunc.fixturenames:
        return
    full = metafunc.config.getoption("--full")
    cases = list(dict.fromkeys(
        grid.all_cases() if full else (*grid.sampled_cases(), *grid.few_cases())))
    metafunc.parametrize("case", cases, ids=[f"{k.name}-m{m}" for k, m in cases])


def test_valid_on_simulator(build, kernels, case):
    kernel, m = case
    file = cached_kernel(build, kernel, kernels)
    result = grid.run_kernel(build, file, m, "sim")
    assert result.returncode == 0, result.stdout + result.stderr
