# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark times the code that Python runs for such a shape."""

import pytest

from lnbwd import kernels, spec
from lnbwd_bench import our_kernels
from lnbwd_bench.shapes import Shape


@pytest.mark.parametrize("chip,emit", [("sm_90", "ptx"), ("gfx942", "hsaco")])
@pytest.mark.parametrize("shape", [Shape(8192, 3000), Shape(300, 512, "f32")], ids=str)
def test_python_and_the_benchmark_compile_the_same_bytes(chip, emit, shape, tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_memory", {})
    monkeypatch.setattr(kernels, "_cache", kernels.KernelCache(None))
    # As launching.load_kernel does for a call.
    theirs = kernels.make_spec("layer_norm_bwd", n=shape.n, dtype=shape.dtype, chip=chip,
                               format=emit, rows=spec.rows_option(shape.m, chip))
    our_kernels.compile_kernel(shape, chip, emit, tmp_path / "kernel")
    assert (tmp_path / "kernel").read_bytes() == kernels.compile_spec(theirs)
