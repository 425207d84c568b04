# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What broke elsewhere, one test each, with the place where it is told.

What needs the size of a GPU is in on_gpu.py beside this file.
"""

import subprocess

import layer_norm as ln
import numpy as np
import pytest

from lnbwd import CompileError
from lnbwd.core.compile.spec import norm_source

DTYPES = ("f16", "bf16", "f32")


# https://github.com/pytorch/pytorch/issues/183861, https://github.com/pytorch/pytorch/pull/183864:
# a wave size of 64 in the source, and half of dgamma and dbeta lost where waves have 32 lanes.
@pytest.mark.parametrize("n", (32, 64, 96))
def test_wave_size(chip, n):
    x = np.tile(np.where(np.arange(n) % 2, 1.0, -1.0), (64, 1))
    inputs = ln.make_inputs(x, np.ones((64, n)), np.ones(n), "f32")
    inputs["rstd"][:] = 1
    got = ln.run(ln.kernel(n, "f32", chip), inputs, 64)
    assert (got["dbeta"] == 64).all()
    assert (got["dgamma"] == 64 * x[0]).all()


# https://github.com/ROCm/rocm-libraries/pull/9500: shared memory of one reduction reused by the
# next one without a barrier. https://github.com/NVIDIA/apex: cuComputeGradGammaBeta has a barrier
# in a divergent branch. The simulator reports both; another order of waves must change nothing.
@pytest.mark.parametrize("n, m", ((4096, 9), (8192, 3), (300, 33)))
def test_shared_memory_between_reductions(chip, n, m):
    inputs = ln.random_inputs(1, m, n, "f32")
    kernel = ln.kernel(n, "f32", chip)
    usual = ln.run(kernel, inputs, m)
    ln.check(usual, inputs, "f32")
    ln.shuffle(chip, 77)
    try:
        shuffled = ln.run(kernel, inputs, m)
    finally:
        ln.shuffle(chip, 0)
    for name, values in usual.items():
        assert np.array_equal(values, shuffled[name]), name


# https://github.com/pytorch/pytorch/issues/193016, https://github.com/pytorch/pytorch/issues/192016,
# https://github.com/FlagOpen/FlagGems/issues/5392: inputs of rank 3 and more, several normalised
# dimensions: writes out of bounds, wrong shapes. Normalised dimensions are one for us: 6 x 20.
def test_rank_and_several_normalised_dimensions(chip):
    block, rows = "memref<?x3x120xbf16>", "memref<?x3xf32>"
    text = (f"func.func @k(%dy: {block}, %x: {block}, %gamma: memref<120xbf16>, %mean: {rows}, "
            f"%rstd: {rows}, %dx: {block}, %dgamma: memref<120xbf16>, "
            "%dbeta: memref<120xbf16>) {\n"
            f"lnbwd.layer_norm_bwd dy(%dy : {block}) x(%x : {block}) "
            f"gamma(%gamma : memref<120xbf16>) mean(%mean : {rows}) rstd(%rstd : {rows}) "
            f"outs dx(%dx : {block}) "
            "dgamma(%dgamma : memref<120xbf16>) dbeta(%dbeta : memref<120xbf16>)\nreturn\n}\n")
    inputs = ln.random_inputs(2, 5 * 3, 6 * 20, "bf16")
    ln.check(ln.run(ln.kernel_of_text(text, chip), inputs, 15), inputs, "bf16")


# FlagGems#5392 as well: no gamma, and dbeta wanted all the same.
def test_gamma_absent_and_dbeta_wanted(chip):
    inputs = ln.random_inputs(3, 21, 200, "f32")
    del inputs["gamma"]
    got = ln.run(ln.kernel(200, "f32", chip, gamma=False), inputs, 21)
    assert sorted(got) == ["dbeta", "dx"]
    ln.check(got, inputs, "f32")


# https://github.com/pytorch/pytorch/issues/69963, https://github.com/pytorch/pytorch/pull/148605:
# M = 1M, N = 128. Here: reduced, but with more rows than all workgroups take in one turn.
def test_tall_and_skinny(chip):
    inputs = ln.random_inputs(4, 5000, 128, "bf16")
    ln.check(ln.run(ln.kernel(128, "bf16", chip), inputs, 5000), inputs, "bf16")


# https://github.com/NVIDIA/apex/issues/411: grids of 65536 workgroups and more.
def test_more_rows_than_a_grid_of_65535(chip):
    inputs = ln.random_inputs(5, 70001, 2, "f32", scale=100)
    ln.check(ln.run(ln.kernel(2, "f32", chip), inputs, 70001), inputs, "f32")


# https://github.com/pytorch/pytorch/issues/140259, https://github.com/linkedin/Liger-Kernel/pull/950:
# statistics or partial sums in the 16-bit type, which stop growing at 256 (bf16) or 2048 (f16).
@pytest.mark.parametrize("dtype", ("f16", "bf16"))
def test_partial_sums_are_wide(chip, dtype):
    m, n = 4096, 16
    inputs = ln.make_inputs(np.tile(np.arange(n) - 7.5, (m, 1)), np.ones((m, n)), np.ones(n), dtype)
    got = ln.run(ln.kernel(n, dtype, chip), inputs, m)
    assert (got["dbeta"] == m).all()
    ln.check(got, inputs, dtype)


# https://github.com/linkedin/Liger-Kernel/issues/519: N = 769 with a mean of 1000; the lanes that
# pad the row counted as values.
@pytest.mark.parametrize("dtype", DTYPES)
def test_odd_length_with_mean_1000(chip, dtype):
    mean = 1000 if dtype == "f32" else 100
    inputs = ln.random_inputs(6, 5, 769, dtype, mean=mean)
    ln.check(ln.run(ln.kernel(769, dtype, chip), inputs, 5), inputs, dtype)


# https://github.com/pytorch/pytorch/issues/51102, https://github.com/ml-explore/mlx/issues/2238:
# mean 1e4 with a deviation of 1.
def test_large_mean(chip):
    inputs = ln.random_inputs(7, 6, 1024, "f32", mean=1e4)
    ln.check(ln.run(ln.kernel(1024, "f32", chip), inputs, 6), inputs, "f32")


# https://github.com/pytorch/pytorch/issues/178123: values near 1e30, whose squares are no floats.
@pytest.mark.parametrize("scale", (1e30, 1e-39))
def test_extreme_values(chip, scale):
    inputs = ln.random_inputs(8, 4, 256, "f32", scale=scale)
    ln.check(ln.run(ln.kernel(256, "f32", chip), inputs, 4), inputs, "f32")


# https://github.com/pytorch/pytorch/issues/188375: rows of one element.
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_one_element(chip, dtype):
    inputs = ln.random_inputs(9, 37, 1, dtype)
    got = ln.run(ln.kernel(1, dtype, chip), inputs, 37)
    # Exactly 0 but for roundings of terms that cancel.
    ln.check(got, inputs, dtype)
    assert np.abs(got["dx"]).max() < 1e-4


# https://github.com/FlagOpen/FlagGems/issues/5474: no rows at all; the sums over them are zeros.
@pytest.mark.parametrize("n", (1, 128, 5000))
def test_no_rows(chip, n):
    inputs = ln.random_inputs(10, 1, n, "f32")
    inputs = {name: a if name == "gamma" else a[:0] for name, a in inputs.items()}
    got = ln.run(ln.kernel(n, "f32", chip), inputs, 0)
    assert got["dx"].size == 0
    assert (got["dgamma"] == 0).all() and (got["dbeta"] == 0).all()


# https://github.com/tracel-ai/burn/issues/1992: a row of zeros, whose variance is zero.
@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_rows(chip, dtype):
    inputs = ln.random_inputs(11, 8, 130, dtype)
    x = inputs["x"].copy()
    x[3] = 0
    inputs = ln.make_inputs(x, inputs["dy"] / 64, inputs["gamma"], dtype)
    ln.check(ln.run(ln.kernel(130, dtype, chip), inputs, 8), inputs, dtype)


# NaN and infinity must reach exactly the rows and columns that they touch.
@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf))
@pytest.mark.parametrize("where", ("dy", "x", "gamma", "rstd"))
def test_non_finite_values_spread_exactly(chip, where, value):
    m, n, row, column = 9, 300, 4, 123
    inputs = ln.random_inputs(12, m, n, "f32")
    place = {"dy": (row, column), "x": (row, column), "gamma": column, "rstd": row}[where]
    inputs[where][place] = value
    got = ln.run(ln.kernel(n, "f32", chip), inputs, m)
    bad = {name: ~np.isfinite(a) for name, a in got.items()}
    rows_of_dx, touched = np.zeros((m, n), bool), np.zeros(n, bool)
    rows_of_dx[row if where != "gamma" else slice(None)] = True
    touched[column] = True
    every, none = np.ones(n, bool), np.zeros(n, bool)
    expected = {"dy": (rows_of_dx, touched, touched), "x": (rows_of_dx, touched, none),
                "gamma": (rows_of_dx, none, none), "rstd": (rows_of_dx, every, none)}[where]
    for name, wanted in zip(("dx", "dgamma", "dbeta"), expected, strict=True):
        assert np.array_equal(bad[name], wanted), name


# https://github.com/pytorch/pytorch/issues/195638: bf16 x with a float32 gamma.
@pytest.mark.parametrize("dtype", ("f16", "bf16"))
def test_mixed_types(chip, dtype):
    inputs = ln.random_inputs(13, 11, 384, dtype, "f32")
    got = ln.run(ln.kernel(384, dtype, chip, parameters="f32"), inputs, 11)
    ln.check(got, inputs, dtype, "f32")


# https://github.com/NVIDIA/apex/pull/1715: gamma of 0 or almost, where xhat was computed from the
# output by dividing by it.
def test_gamma_of_zero(chip):
    inputs = ln.random_inputs(14, 12, 256, "f32")
    inputs["gamma"][::2] = 0
    inputs["gamma"][1::2] = np.float32(1e-30)
    got = ln.run(ln.kernel(256, "f32", chip), inputs, 12)
    ln.check(got, inputs, "f32")


# https://github.com/linkedin/Liger-Kernel/issues/1305: dx written over dy.
@pytest.mark.parametrize("dtype, n", (("f32", 1000), ("bf16", 4096), ("f16", 30000)))
def test_dx_over_dy(chip, dtype, n):
    inputs = ln.random_inputs(15, 5, n, dtype)
    kernel = ln.kernel(n, dtype, chip)
    apart, over = ln.run(kernel, inputs, 5), ln.run(kernel, inputs, 5, in_place=True)
    for name, values in apart.items():
        assert np.array_equal(values, over[name]), name
    ln.check(over, inputs, dtype)


# https://github.com/pytorch/pytorch/issues/185814, https://github.com/linkedin/Liger-Kernel/issues/801:
# registers spilled to memory at large N, nine to ten times slower.
@pytest.mark.parametrize("n", (8192, 16384, 65536))
def test_no_spills_at_large_n(chip, n, tmp_path):
    source = norm_source("layer_norm_bwd", n=n, dtype="bf16")
    code = ln.compiling.compile_text(ln.BUILD, source.mlir, chip)
    (tmp_path / "k.hsaco").write_bytes(code)
    notes = subprocess.run(["/usr/lib/llvm-22/bin/llvm-readelf", "--notes", tmp_path / "k.hsaco"],
                           capture_output=True, text=True, check=True).stdout
    facts = [line.split(":") for line in notes.splitlines() if ":" in line]
    spilled = [(key.strip(), int(value)) for key, value in facts
               if key.strip() in (".private_segment_fixed_size", ".vgpr_spill_count",
                                  ".sgpr_spill_count")]
    assert spilled and all(value == 0 for _, value in spilled), spilled


# https://github.com/pytorch/pytorch/pull/189405: a workgroup of two thousand work-items compiled
# and then failed at launch. Here the compiler refuses it.
def test_workgroup_size_is_refused_by_the_compiler(chip):
    with pytest.raises(CompileError) as failure:
        ln.kernel(4096, "f32", chip, schedule="threads_per_row=2048")
    assert "1024" in str(failure.value) + failure.value.diagnostics


# https://github.com/tenstorrent/tt-metal/issues/53215: tolerances so loose that they hid bugs. Ours
# notice a single missing row of 257, a single padded lane, and partial sums in bf16.
@pytest.mark.parametrize("dtype", DTYPES)
def test_tolerances_notice_small_mistakes(dtype):
    inputs = ln.random_inputs(16, 257, 33, dtype, mean=3)
    right = ln.reference(inputs)
    without_a_row = ln.reference({name: a if name == "gamma" else a[:-1]
                                  for name, a in inputs.items()})
    assert ln.worst_error(without_a_row["dgamma"], right["dgamma"], dtype) > ln.TOLERANCE[dtype]
    padded = dict(inputs, mean=inputs["mean"] * 33 / 34)
    assert ln.worst_error(ln.reference(padded)["dx"], right["dx"], dtype) > ln.DX_TOLERANCE[dtype]
    with_narrow_sums = np.zeros(33)
    for row in inputs["dy"]:
        with_narrow_sums = ln.rounded(with_narrow_sums + row, "bf16")
    assert ln.worst_error(with_narrow_sums, right["dbeta"], dtype) > ln.TOLERANCE[dtype]
