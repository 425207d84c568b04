# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark times the code that Python runs for such a shape."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import family
import operations
from lnbwd import kernels, spec
from lnbwd_bench.shapes import Shape


@pytest.mark.parametrize("op", ["layer_norm_bwd", "rms_norm"])
@pytest.mark.parametrize("chip,emit", [("sm_90", "ptx"), ("gfx942", "hsaco")])
@pytest.mark.parametrize("shape", [Shape(8192, 3000), Shape(300, 512, "f32")], ids=str)
def test_python_and_the_benchmark_compile_the_same_bytes(chip, emit, shape, op, build, tmp_path,
                                                         monkeypatch):
    monkeypatch.setattr(kernels, "_memory", {})
    monkeypatch.setattr(kernels, "_cache", kernels.KernelCache(None))
    # As lnbwd.ops does for a call.
    epsilon = {} if op.endswith("_bwd") else {"epsilon": operations.EPSILON}
    theirs = kernels.make_spec(op, n=shape.n, dtype=shape.dtype, chip=chip, format=emit,
                               rows=spec.rows_option(shape.m, chip), **epsilon)
    ours = family.compile_case(build, operations.variants(shape, chip)[op], tmp_path)
    assert ours.read_bytes() == kernels.compile_spec(theirs)
