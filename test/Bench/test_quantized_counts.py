# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upper bounds on what functions that write float8 and float4 cost on AMD's chips, by the
simulator's exact counts. A bound that a change crosses is a change to look at, not to raise."""

import pytest

torch = pytest.importorskip("torch")

from lnbwd_bench import our_kernels, quantized  # noqa: E402

# Bytes that lanes access over the least. Both layouts are tiles, few or many; norms read their rows
# twice for them. Of norms along the rows lanes read the weights once for all rows that they have.
TILES = {"quantize-mxfp8-both": 1.01, "swiglu-mxfp8-both": 1.01,
         "layer_norm_backward-mxfp8-both": 1.5, "swiglu_backward-mxfp8-both": 1.011,
         "quantize-float8-128x128": 1.03}
ROWS = {"rms_norm-mxfp4": 1.15, "rms_norm-mxfp8": 1.11, "rms_norm-mxfp8-both": 1.9}


@pytest.mark.parametrize("place, name", [*enumerate(quantized.CASES)])
def test_counts(build, monkeypatch, place, name):
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    monkeypatch.setenv("LNBWD_SIM_CHECK", "0")
    chip = our_kernels.BOUNDED_CHIPS[place % len(our_kernels.BOUNDED_CHIPS)]
    ratio, spills = quantized.count(name, (1024 if name in TILES else 25216, 512), chip)
    assert spills == 0
    assert ratio <= TILES.get(name, ROWS.get(name, 1.1))


@pytest.mark.parametrize("name", ["layer_norm-float8-rows", "rms_norm-mxfp4"])
def test_weights_come_from_a_cache(build, monkeypatch, name):
    """Of few rows, whose weights lanes read more often than all else."""
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    monkeypatch.setenv("LNBWD_SIM_CHECK", "0")
    shape = (256, 13568)
    ratio, _ = quantized.count(name, shape, quantized.MODELLED_CHIP)
    assert ratio > 1.5
    assert quantized.from_memory(name, shape, quantized.MODELLED_CHIP) <= 1.1
