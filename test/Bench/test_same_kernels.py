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
from lnbwd.core.compile import kernels, spec, store
from lnbwd_bench.shapes import Shape


# Of each option both values, in two cases; with --full all eight.
@pytest.mark.parametrize("op,chip,emit,shape", [
    pytest.param(op, chip, emit, shape, marks=[] if has_gradient == is_nvidia == is_large else [
        pytest.mark.full], id=f"{op}-{chip}-{shape}")
    for op, has_gradient in (("layer_norm_bwd", True), ("rms_norm", False))
    for chip, emit, is_nvidia in (("sm_90", "ptx", True), ("gfx942", "hsaco", False))
    for shape, is_large in ((Shape(8192, 3000), True), (Shape(300, 512, "f32"), False))])
def test_python_and_the_benchmark_compile_the_same_bytes(op, chip, emit, shape, build, tmp_path,
                                                         monkeypatch):
    monkeypatch.setattr(store, "_store", store.KernelStore(kernels.KernelCache(None)))
    # As Norm.program_of does for a call.
    epsilon = {} if op.endswith("_bwd") else {"epsilon": operations.EPSILON}
    theirs = kernels.make_spec(op, n=shape.n, dtype=shape.dtype, chip=chip, format=emit,
                               rows=spec.rows_option(shape.m, chip), **epsilon)
    ours = family.compile_case(build, operations.variants(shape, chip)[op], tmp_path)
    assert ours.read_bytes() == store.kernel_store().code(theirs)
