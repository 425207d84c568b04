# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report's counts, read off the code, against what the simulator counts when
it executes that code. Its checks are off: they change no count, and test_grid.py
and test_family.py have them on."""

import json
import os
import subprocess

import pytest

import chips
import grid

# Rows that fill all sets and some that do not; a kernel of two passes and of
# rows that are read again (N = 20000), masked columns (N = 3000), rows within
# a wave and rows over several.
CASES = [
    ("gfx90a", "f32", 1024, 16384),
    ("gfx942", "bf16", 1024, 4099),
    ("gfx942", "f32", 256, 2048),
    ("gfx942", "f16", 3000, 1021),
    ("gfx950", "bf16", 4096, 1000),
    ("gfx942", "f32", 16384, 1500),
    ("gfx1100", "f32", 1024, 4096),
    ("gfx1201", "bf16", 8192, 777),
]


def read_report(build, chip, dtype, n, m):
    source = grid.op_source(grid.Kernel(chip, dtype, n))
    result = subprocess.run(
        [build / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip}", "--emit=report-json",
         f"--rows={m}"], input=source, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(result.stdout)


def simulate(build, folder, chip, dtype, n, m):
    file = grid.compile_kernel(build, grid.Kernel(chip, dtype, n), folder)
    result = subprocess.run(
        [build / "bin" / "lnbwd-run", file, "--m", str(m), "--device", "sim", "--time", "--json",
         *grid.QUICKLY_FILLED],
        env={**os.environ, "LNBWD_SIM_CHECK": "0"}, capture_output=True, text=True, timeout=600,
        check=True)
    return json.loads(result.stdout)["counters"]


@pytest.mark.parametrize("chip,dtype,n,m", CASES)
def test_report(build, tmp_path, chip, dtype, n, m):
    report = read_report(build, chip, dtype, n, m)
    counted = simulate(build, tmp_path, chip, dtype, n, m)
    assert report["minimal_bytes"] == counted["minimal_bytes"]
    kernels = report["kernels"]
    waves = sum(kernel["wave_instructions"]["vector_alu"] for kernel in kernels)
    width = chips.FACTS[chip]["waveSize"]
    # Branches skip what no lane of a wave needs, and what the code generator adds
    # has no note: the report counts it with what is around it. Rows that are
    # loaded ahead and copied, one a turn, have most of that.
    # Where columns are masked (N = 3000), waves skip the stores of their last chunk.
    allowed = {16384: 0.25, 3000: 0.06}.get(n, 0.05)
    assert waves * width == pytest.approx(counted["vector_lane_instructions"], rel=allowed)
    read = sum(kernel["bytes_read"] for kernel in kernels)
    written = sum(kernel["bytes_written"] for kernel in kernels)
    assert read == pytest.approx(counted["global_bytes_read"], rel=0.02)
    assert written == pytest.approx(counted["global_bytes_written"], rel=0.02)
    barriers = sum(kernel["wave_instructions"]["barrier"] for kernel in kernels)
    assert barriers == pytest.approx(counted["barriers"], rel=0.02)
