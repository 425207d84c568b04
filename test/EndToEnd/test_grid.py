# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel of the grid, compiled, executed on the simulator and compared
with the float64 reference. Cases of one kernel share its compilation."""

import functools
import itertools

import pytest

import chips
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
    # Chips that have few cases are in every run by the family's two (family.py).
    cases = grid.all_cases() if metafunc.config.getoption("--full") else grid.sampled_cases()
    cases = list(dict.fromkeys(cases))
    metafunc.parametrize("case", cases, ids=[f"{k.name}-m{m}" for k, m in cases])


def test_valid_on_simulator(build, kernels, case):
    kernel, m = case
    file = cached_kernel(build, kernel, kernels)
    result = grid.run_kernel(build, file, m, "sim")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("chip", [name for name, facts in chips.FACTS.items()
                                  if not facts["simulated"] and facts["tests"] == "few"])
def test_compiles_where_nothing_executes_it(build, tmp_path, chip):
    """Rows through registers and, where the chip has it, through copies to shared memory."""
    texts = [grid.compile_kernel(build, grid.Kernel(chip, dtype, n), tmp_path).read_text()
             for dtype, n in (("bf16", 769), ("f32", 4096))]
    assert all(f".target {chip}" in text for text in texts)
    assert any("cp.async.bulk" in text for text in texts) == chips.FACTS[chip]["hasBulkCopy"]


def test_what_is_sampled():
    """Each type on each chip; each length and row count, and the sizes of Composable Kernel's tests
    but for the last, on each family of chips."""
    sampled = grid.sampled_cases()
    assert {(kernel.chip, kernel.dtype) for kernel, _ in sampled} == set(
        itertools.product(chips.MANY, grid.DTYPES))
    for family in {chips.FACTS[chip]["family"] for chip in chips.MANY}:
        met = [(m, kernel.n) for kernel, m in sampled
               if chips.FACTS[kernel.chip]["family"] == family]
        assert {m for m, _ in met} >= set(grid.ROWS) and {n for _, n in met} >= set(grid.LENGTHS)
        assert set(met) >= set(grid.COMPOSABLE_KERNEL[:-1])
