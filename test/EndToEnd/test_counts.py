# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upper bounds on what AMD kernels cost, by the simulator's exact counts: bytes
that lanes ask for, and vector-ALU instructions an element, finalising kernel
included. A bound that a change crosses is a change to look at, not to raise.

They are counted without the simulator's checks, which take as long again and
change no count; test_grid.py has kernels of that length under all of them."""

import json
import os
import subprocess

import pytest

import compiling
import device as devices
import grid
from lnbwd.core.base.operations import LAYER_NORM, LAYER_NORM_BWD, OPERATIONS, RMS_NORM
from lnbwd.core.compile.spec import norm_source

N = 1024
GFX9 = ("gfx90a", "gfx942", "gfx950")

# Bars were set for the first; forward passes move less and compute less.
OPS = (LAYER_NORM_BWD, LAYER_NORM, RMS_NORM)
# Vector-ALU lane-instructions an element at 16384 rows.
VECTOR_BOUNDS = {
    **{(chip, "f32"): 8.0 for chip in GFX9},
    ("gfx90a", "bf16"): 15.0,
    ("gfx942", "bf16"): 15.0,
    ("gfx950", "bf16"): 11.0,
    ("gfx1100", "f32"): 10.0,
    ("gfx1201", "f32"): 10.0,
    ("gfx1100", "bf16"): 17.0,
    ("gfx1201", "bf16"): 17.0,
    ("gfx1250", "f32"): 8.0,
    ("gfx1250", "bf16"): 10.0,
}
# Requested bytes over the fewest possible, by the number of rows.
BYTE_BOUNDS = {1024: 1.6, 16384: 1.10}


def count(build, folder, op, chip, dtype, m):
    epsilon = 1e-5 if OPERATIONS[op].is_forward else None
    source = norm_source(op, n=N, dtype=dtype, epsilon=epsilon)
    file = folder / f"{op}.hsaco"
    compiling.compile_to(file, build, source.mlir, chip)
    return devices.Kernel(devices.Runtime(build).open("sim", chip), file).count(m)


def test_the_runner_counts_the_same(build, tmp_path):
    counted = count(build, tmp_path, LAYER_NORM_BWD, "gfx942", "bf16", 300)
    file = grid.compile_kernel(build, grid.Kernel("gfx942", "bf16", N), tmp_path)
    report = json.loads(subprocess.run(
        [build / "bin" / "lnbwd-run", file, "--m", "300", "--device", "sim", "--time", "--json"],
        env={**os.environ, "LNBWD_SIM_CHECK": "0"}, capture_output=True, text=True, timeout=600,
        check=True).stdout)
    assert {**report["counters"], **counted} == report["counters"]


@pytest.mark.sample(chip=tuple(dict.fromkeys(chip for chip, _ in VECTOR_BOUNDS)),
                    dtype=("f32", "bf16"), op=OPS, m=tuple(BYTE_BOUNDS))
def test_counts(build, tmp_path, chip, dtype, op, m):
    counters = count(build, tmp_path, op, chip, dtype, m)
    requested = counters["global_bytes_read"] + counters["global_bytes_written"]
    assert requested / counters["minimal_bytes"] <= BYTE_BOUNDS[m]
    if m == 16384:
        assert counters["vector_lane_instructions"] / (m * N) <= VECTOR_BOUNDS[chip, dtype]
