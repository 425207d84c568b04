# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report's tiles and iterations of a product against what the simulator counts
when it executes the code."""

import json
import subprocess

import pytest

import product_programs

# With the multiply-adds of a matrix instruction; 0: fused multiply-adds of lanes.
PRODUCTS = [
    ("gfx942", "bf16", "rhs_transposed", 16 * 16 * 16),
    ("gfx90a", "f32", "", 16 * 16 * 4),
    ("gfx950", "f16", "lhs_transposed", 16 * 16 * 32),
    ("gfx1100", "bf16", "", 16 * 16 * 16),
    ("gfx1201", "f16", "rhs_transposed", 16 * 16 * 16),
    ("gfx1100", "f32", "lhs_transposed", 0),
]


@pytest.mark.parametrize("chip,dtype,form,multiply_adds", PRODUCTS)
def test_product(build, tmp_path, chip, dtype, form, multiply_adds):
    """A product whose tiles reach beyond it, beside what lnbwd-sim counts."""
    m, k, n = 200, 328, 200
    shapes = {"rhs_transposed": (("?", k), (n, k), ("?", n)), "": (("?", n), (n, k), ("?", k)),
              "lhs_transposed": (("?", n), ("?", k), (n, k))}[form]
    source = tmp_path / "f.mlir"
    sizes = (k, n) if form == "rhs_transposed" else (n, k)
    source.write_text(product_programs.product(form, (dtype, dtype), sizes))
    opt = [build / "bin" / "lnbwd-opt", source, f"--lnbwd-pipeline=chip={chip} rows={m}"]
    report = json.loads(subprocess.run(
        [*opt, "--emit=report-json", f"--rows={m}"], capture_output=True, text=True, timeout=120,
        check=True).stdout)["kernels"][0]
    subprocess.run([*opt, "--emit=hsaco", "-o", tmp_path / "f.hsaco"], timeout=120, check=True)
    product = report["product"]
    elements = [(m if rows == "?" else rows) * columns for rows, columns in shapes]
    rows = elements[2] // shapes[2][1]
    grid = (-(-rows // product["tile_rows"]), -(-shapes[2][1] // product["tile_columns"]),
            product["parts"])
    assert grid[0] * grid[1] == product["tiles"]
    assert product["multiply_adds"] == elements[2] * (m if form == "lhs_transposed" else
                                                      shapes[0][1])
    counts = json.loads(subprocess.run(
        [build / "bin" / "lnbwd-sim", tmp_path / "f.hsaco", "--kernel=f", "--json", "--show=0",
         "--grid=" + ",".join(map(str, grid)), f"--block={report['threads']}",
         f"--arg=in:{dtype}x{elements[0]}=random:1", f"--arg=in:{dtype}x{elements[1]}=random:2",
         f"--arg=inout:f32x{elements[2] * product['parts']}=0", f"--arg=i64={m}"],
        capture_output=True, text=True, timeout=600, check=True).stdout)["counts"]
    iterated = (product["tiles"] * product["tile_rows"] * product["tile_columns"]
                * product["iterations"] * product["step"])
    assert counts["instructions"]["matrix"] * multiply_adds == (iterated if multiply_adds else 0)
    assert bool(product["multiplied_as"]) == bool(multiply_adds)
    written = sum(buffer["bytes_written"] for buffer in counts["buffers"][:3])
    assert written == 4 * elements[2] * product["parts"]
