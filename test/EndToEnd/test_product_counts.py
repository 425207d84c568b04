# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernel of a product of 4096 x 4096 x 4096 of bf16 costs on AMD's chips, by count: one
workgroup of it, the whole way along the sum, with all checks of the simulator on."""

import json
import re
import subprocess

import pytest

import compiling
import family

SIZE, TILE = 4096, 128
# Of one instruction.
DEPTH = {"gfx90a": 16, "gfx942": 16, "gfx950": 32, "gfx1100": 16, "gfx1201": 16}


# Of the forward pass, a bT; of the rows' gradient, a b; of the weight's, aT b.
FORMS = ("rhs_transposed", "", "lhs_transposed")


def compile_product(build, chip, form, emit) -> bytes:
    rows, matrix = f"memref<?x{SIZE}xbf16>", f"memref<{SIZE}x{SIZE}xbf16>"
    w, y = matrix, f"memref<?x{SIZE}xf32>"
    if form == "lhs_transposed":
        w, y = rows, f"memref<{SIZE}x{SIZE}xf32>"
    attributes = f"attributes {{{form}}}" if form else ""
    text = f"""func.func @f(%x: {rows}, %w: {w}, %y: {y}) {{
  lnbwd.product @f lhs(%x : {rows}) rhs(%w : {w}) outs(%y : {y}) {attributes}
  return
}}
"""
    return compiling.compile_text(build, text, chip, form=emit)


@pytest.mark.parametrize("chip", family.AMD_CHIPS)
@pytest.mark.parametrize("form", FORMS)
def test_counts(build, tmp_path, chip, form):
    file = tmp_path / "f.hsaco"
    file.write_bytes(compile_product(build, chip, form, "hsaco"))
    # What is summed over are rows of both in the last form.
    rows = SIZE if form == "lhs_transposed" else TILE
    run = subprocess.run(
        [build / "bin" / "lnbwd-sim", file, "--kernel=f", "--grid=1", "--block=256", "--json",
         "--show=0", f"--arg=in:bf16x{rows * SIZE}=random:1", f"--arg=in:bf16x{SIZE * SIZE}=0.5",
         f"--arg=inout:f32x{rows * SIZE}=0", f"--arg=i64={rows}"],
        capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    result = json.loads(run.stdout)
    least = TILE * TILE * SIZE / (16 * 16 * DEPTH[chip])
    assert least <= result["counts"]["instructions"]["matrix"] <= 1.02 * least
    assert result["counts"]["lds"]["bank_conflict_cycles"] == 0
    read = sum(buffer["bytes_read"] for buffer in result["counts"]["buffers"])
    tiles = 2 * TILE * SIZE * 2
    assert tiles <= read <= 1.15 * tiles


@pytest.mark.parametrize("chip", family.AMD_CHIPS)
@pytest.mark.parametrize("form", FORMS)
def test_loads_in_flight(build, chip, form):
    """In the loop, nothing between the loads of the next tiles and the products waits for them."""
    lines = compile_product(build, chip, form, "isa").decode().splitlines()
    products = [i for i, line in enumerate(lines) if re.search(r"\tv_(mfma|wmma)_", line)]
    first, last = products[0], products[-1]
    loads = [i for i, line in enumerate(lines) if "\tglobal_load_" in line and i < first]
    between = lines[loads[-1]:last]
    assert any("s_barrier" in line for line in between)
    assert not [line for line in between if re.search(r"vmcnt|s_wait_loadcnt", line)]
    assert not [line for line in lines if re.match(r"\t(scratch|buffer)_(load|store)", line)]
