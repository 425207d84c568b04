# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels are chosen for a range of the number of rows, and right for any."""

import dataclasses
import itertools

import pytest
import torch

import lnbwd
from lnbwd.core.compile import kernels, spec, store
from lnbwd.core.compile.spec import ROWS_HINTS, ProgramSpec, norm_source, rows_hint, rows_option
from lnbwd.ops import launching, native


def test_the_hint_is_the_nearest_by_ratio():
    assert [rows_hint(m) for m in (0, 1, 64, 78, 79, 110, 111, 8192, 11585, 11586, 1 << 40)] == [
        64, 64, 64, 64, 96, 96, 128, 8192, 8192, 16384, 1 << 20]
    assert all(rows_hint(hint) == hint for hint in ROWS_HINTS)


def test_the_operators_in_c_plus_plus_have_the_same_hints():
    library = native.load()
    if library is None:
        pytest.skip("there are no operators in C++")
    numbers = [0, 1 << 62, *(m + d for m in ROWS_HINTS for d in (-1, 0, 1)),
               *(int((m * n) ** .5) + d for m, n in itertools.pairwise(ROWS_HINTS)
                 for d in (-1, 0, 1, 2))]
    assert [library.lnbwd_torch_rows_hint(m) for m in numbers] == [rows_hint(m) for m in numbers]


def test_chips_whose_schedules_were_measured_have_hints():
    assert rows_option(5000, "sm_90") == 4096
    assert rows_option(5000, "gfx942") == 0


def test_specs_hand_the_hint_to_the_compiler():
    plain, hinted = (kernels.make_spec("layer_norm_bwd", n=64, chip="sm_90", format="ptx",
                                       rows=rows) for rows in (0, 4096))
    assert hinted.pipeline_options() == "rows=4096"
    assert hinted.source == plain.source
    assert hinted.digest() != plain.digest()
    assert ProgramSpec("x", "sm_90", "reproducible", rows=64).pipeline_options() == (
        "reproducible rows=64")
    with pytest.raises(ValueError, match="rows: expected the usual number of rows"):
        ProgramSpec("x", "sm_90", rows=-1)


@pytest.fixture
def specs(monkeypatch):
    """The specs that loading asks for, on a simulated chip that is taken to have hints."""
    monkeypatch.setattr(spec, "rows_option", lambda rows, chip: spec.rows_hint(rows))
    asked = []

    code_for = store.KernelStore.code_for

    def record(self, make, chip):
        asked.append(make(chip, "hsaco"))
        return code_for(self, make, chip)

    monkeypatch.setattr(store.KernelStore, "code_for", record)
    return asked


def test_a_kernel_is_made_for_each_range_of_rows(specs):
    """For the number of rows of the first call, but for no less than the least hint."""
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    weight = torch.randn(237)
    with lnbwd.simulate("gfx942"):
        for rows in (3, 64, 80, 100, 120):
            x = torch.randn(rows, 237)
            torch.testing.assert_close(lnbwd.rms_norm(x, (237,), weight, 1e-5),
                                       torch.nn.functional.rms_norm(x, (237,), weight, 1e-5))
    assert [s.rows for s in specs] == [64, 80, 120]


def test_one_kernel_is_for_all_rows_where_a_chip_has_no_hints(specs, monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    monkeypatch.setattr(spec, "rows_option", lambda rows, chip: 0)
    with lnbwd.simulate("gfx942"):
        for rows in (3, 200):
            lnbwd.rms_norm(torch.randn(rows, 239), (239,))
    assert [s.rows for s in specs] == [0]


def test_row_functions_have_kernels_for_each_range_of_rows(specs, monkeypatch):
    """While a graph is captured, when none can be loaded, those of another range serve."""
    if torch.cuda.is_available():
        pytest.skip("CPU tensors are not simulated beside a GPU")
    function = lnbwd.rowwise(scaled_softmax)

    def check(rows):
        x, s, dy = (torch.randn(rows, n) for n in (41, 1, 41))
        x.requires_grad_()
        y = function(x, s)
        torch.testing.assert_close(y, scaled_softmax(x, s))
        for ours, theirs in zip(*(torch.autograd.grad(result, [x], dy)
                                  for result in (y, scaled_softmax(x, s))), strict=True):
            torch.testing.assert_close(ours, theirs)

    with lnbwd.simulate("gfx942"):
        for rows in (3, 64, 80, 100):
            check(rows)
        assert [s.rows for s in specs] == [64, 64, 80, 80]
        monkeypatch.setattr(launching, "is_capturing", lambda device: True)
        check(300)
    assert len(specs) == 4


def scaled_softmax(x: lnbwd.Rows, s: lnbwd.Scalars):
    return torch.softmax(x * s, -1)


def test_without_a_compiler_a_kernel_for_another_number_of_rows_serves(tmp_path, no_compiler):
    def make(rows):
        source = dataclasses.replace(norm_source("layer_norm_bwd", n=61), rows=rows)
        return source.spec

    another = store.KernelStore(kernels.KernelCache(tmp_path))
    another.cache.store(make(4096)("sm_90", "ptx"), "some", b"code")
    assert another.code_for(make(64), "sm_90") == b"code"
