# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report's counts, read off the code, against what the simulator counts when
it executes that code. Its checks are off for row programs: they change no count,
and test_grid.py and test_family.py have them on."""

import json
import subprocess

import pytest

import chips
import device as devices
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
    return devices.Kernel(devices.Runtime(build).open("sim", chip), file).count(m)


@pytest.mark.parametrize("chip,dtype,n,m", CASES)
def test_report(build, tmp_path, chip, dtype, n, m):
    report = read_report(build, chip, dtype, n, m)
    counted = simulate(build, tmp_path, chip, dtype, n, m)
    assert report["minimal_bytes"] == counted["minimal_bytes"]
    kernels = report["kernels"]
    waves = sum(kernel["wave_instructions"]["vector_alu"] for kernel in kernels)
    width = chips.FACTS[chip]["waveSize"]
    # Branches skip what no lane of a wave needs, such as the stores of a row's last
    # chunk, and what the code generator adds is placed by the loops of the code.
    assert waves * width == pytest.approx(counted["vector_lane_instructions"], rel=0.03)
    read = sum(kernel["bytes_read"] for kernel in kernels)
    written = sum(kernel["bytes_written"] for kernel in kernels)
    assert read == pytest.approx(counted["global_bytes_read"], rel=0.02)
    assert written == pytest.approx(counted["global_bytes_written"], rel=0.02)
    barriers = sum(kernel["wave_instructions"]["barrier"] for kernel in kernels)
    assert barriers == pytest.approx(counted["barriers"], rel=0.02)


PRODUCTS = [
    ("gfx942", "bf16", "rhs_transposed"),
    ("gfx90a", "f32", ""),
    ("gfx950", "f16", "lhs_transposed"),
    ("gfx1100", "bf16", ""),
    ("gfx1201", "f16", "rhs_transposed"),
    # Without matrix instructions.
    ("gfx1100", "f32", "lhs_transposed"),
]


@pytest.mark.parametrize("chip,dtype,form", PRODUCTS)
def test_product(build, tmp_path, chip, dtype, form):
    """A product whose tiles reach beyond it, beside what lnbwd-sim counts."""
    m, k, n = 200, 328, 200
    shapes = {"rhs_transposed": (("?", k), (n, k), ("?", n)), "": (("?", n), (n, k), ("?", k)),
              "lhs_transposed": (("?", n), ("?", k), (n, k))}[form]
    types = [f"memref<{rows}x{columns}x{element}>"
             for (rows, columns), element in zip(shapes, (dtype, dtype, "f32"), strict=True)]
    source = tmp_path / "f.mlir"
    source.write_text(f"""func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
  lnbwd.product @f lhs(%a : {types[0]}) rhs(%b : {types[1]}) outs(%c : {types[2]})
      {f"attributes {{{form}}}" if form else ""}
  return
}}
""")
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
    executed, found = counts["instructions"], report["wave_instructions"]
    assert found["matrix"] == executed["matrix"]
    assert bool(found["matrix"]) == (product["matrix_multiply_adds"] > 0)
    # The newer chips arrive and wait in two instructions.
    pieces = 2 if chips.FACTS[chip]["generation"] == 12 else 1
    assert pieces * found["barrier"] == executed["barrier"]
    assert found["lds"] == executed["lds_load"] + executed["lds_store"]
    # Waves skip the stores of what lies beyond the result.
    assert found["vector_memory"] >= executed["global_load"] + executed["global_store"]
    buffers = counts["buffers"][:3]
    read = sum(buffer["bytes_read"] for buffer in buffers)
    # Sums over the rows have parts without a turn here, which read nothing; and
    # fused multiply-adds nothing beyond the matrices.
    if form == "lhs_transposed":
        assert report["bytes_read"] >= read
    else:
        assert report["bytes_read"] == pytest.approx(read, rel=0.02)
    assert report["bytes_written"] == sum(buffer["bytes_written"] for buffer in buffers)
