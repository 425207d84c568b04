# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows whose length the width of accesses does not divide: accesses begin before a row and end
after it, read nothing outside of the buffers, sum nothing and write nothing of other rows."""

import numpy as np
import pytest

import compiling
import device as devices
import ptx_machine


def source(n: int, x: str, y: str) -> str:
    """y = x, but 0 in column 7 or the last one."""
    row = f"vector<{n}xf32>"
    w, z = ("%v", "%z") if x == "f32" else ("%w", "%z")
    lines = [f"%w = arith.extf %v : vector<{n}x{x}> to {row}"] if x != "f32" else []
    lines += [f"%i = lnbwd.index 1 : vector<{n}xi32>",
              f"%c = arith.constant dense<{min(7, n - 1)}> : vector<{n}xi32>",
              f"%is = arith.cmpi eq, %i, %c : vector<{n}xi32>",
              f"%none = arith.constant dense<0.0> : {row}",
              f"%z = arith.select %is, %none, {w} : vector<{n}xi1>, {row}"]
    if y != "f32":
        lines.append(f"%t = arith.truncf %z : {row} to vector<{n}x{y}>")
        z = "%t"
    body = "\n    ".join(lines)
    return f"""func.func @f(%x: memref<?x{n}x{x}>, %y: memref<?x{n}x{y}>) {{
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x{n}x{x}>)
      outs(%y[m, n] : memref<?x{n}x{y}>)
      attributes {{operand_names = ["x", "y"]}} {{
  ^row(%v: vector<{n}x{x}>):
    {body}
    lnbwd.yield {z} : vector<{n}x{y}>
  }}
  return
}}
"""


def make_rows(m: int, n: int) -> np.ndarray:
    """Few values; in some rows something that is no number."""
    x = np.random.default_rng(n).integers(-8, 9, (m, n)) / 8
    x[1::5, n // 2] = np.nan
    x[2::5, n - 1] = np.inf
    return x


def check(bits: np.ndarray, element: str, x: np.ndarray) -> None:
    wanted = x.copy()
    wanted[:, min(7, x.shape[1] - 1)] = 0
    np.testing.assert_array_equal(devices.decode(bits, element).reshape(x.shape), wanted)


STAGED = "vector_width=8,stages=2,rows_per_workgroup=6,workgroups_per_compute_unit=1"
TILES = ("threads_per_row=64,row_groups=1,vector_width=8,column_tile=512,rows_per_workgroup=1,"
         "unroll=1,stages=0")


# The last of the column tiles has few columns or, where a row begins so, none.
@pytest.mark.parametrize("n, types, schedule", [
    (197, "bf16 bf16", ""), (50257, "bf16 bf16", ""),
    (5, "f16 f16", "threads_per_row=2,row_groups=16,vector_width=8"),
    (7, "f32 f32", "threads_per_row=4,row_groups=16,vector_width=4"),
    (1021, "bf16 bf16", TILES), (1026, "bf16 bf16", TILES), (1031, "bf16 bf16", TILES),
    (1003, "f16 f32", f"threads_per_row=32,row_groups=3,{STAGED}"),
    (1003, "bf16 bf16", "threads_per_row=32,row_groups=2,vector_width=8,prefetch=1,unroll=1"),
    (515, "bf16 bf16",
     "threads_per_row=32,row_groups=2,vector_width=8,prefetch=0,unroll=2,stages=0")])
def test_ptx(build, n, types, schedule):
    x, y = types.split()
    if y == "f32":
        schedule = schedule.replace("vector_width=8", "vector_width=4")
    text = compiling.compile_text(build, source(n, x, y), "sm_90",
                                  f"schedule={schedule}" if schedule else "", "ptx").decode()
    for m in (1, 3):
        rows = np.nan_to_num(make_rows(m, n), nan=0, posinf=1)
        bits = devices.encode(rows.ravel(), x).tobytes()
        found = ptx_machine.launch(text, m, {"x": bits})
        kind = devices.KINDS[devices.ELEMENT_BYTES[y]]
        check(np.frombuffer(found["y"], kind), y, rows)


def sums_source(n: int, x: str) -> str:
    """The row's largest element, which column has it (the sum of all that do), the sum of what
    the others are below it, and that times what each is."""
    row, wide = f"vector<{n}x{x}>", f"vector<{n}xf32>"
    return f"""func.func @f(%x: memref<?x{n}x{x}>, %l: memref<?xf32>, %c: memref<?xf32>,
                             %s: memref<?xf32>, %y: memref<?x{n}x{x}>) {{
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x{n}x{x}>)
      outs(%y[m, n] : memref<?x{n}x{x}>, %l[m] : memref<?xf32>, %c[m] : memref<?xf32>,
           %s[m] : memref<?xf32>)
      attributes {{operand_names = ["x", "y", "largest", "column", "sum"]}} {{
  ^row(%v: {row}):
    %w = arith.extf %v : {row} to {wide}
    %largest = vector.reduction <maximumf>, %w : {wide} into f32
    %b = vector.broadcast %largest : f32 to {wide}
    %i = lnbwd.index 1 : vector<{n}xi32>
    %f = arith.sitofp %i : vector<{n}xi32> to {wide}
    %is = arith.cmpf oeq, %w, %b : {wide}
    %none = arith.constant dense<0.0> : {wide}
    %z = arith.select %is, %f, %none : vector<{n}xi1>, {wide}
    %column = vector.reduction <add>, %z : {wide} into f32
    %d = arith.subf %w, %b : {wide}
    %sum = vector.reduction <add>, %d : {wide} into f32
    %bs = vector.broadcast %sum : f32 to {wide}
    %o = arith.mulf %d, %bs : {wide}
    %t = arith.truncf %o : {wide} to {row}
    lnbwd.yield %t, %largest, %column, %sum : {row}, f32, f32, f32
  }}
  return
}}
"""


# The last workgroup of a row has few columns, or a single access.
@pytest.mark.parametrize("n, schedule", [
    (197, "threads_per_row=32,row_groups=1"), (5003, ""),
    (9, "threads_per_row=2,row_groups=16"),
    (1003, "threads_per_row=32,row_groups=3,prefetch=1"),
    (1003, "threads_per_row=32,row_groups=2,stages=2,prefetch=1"),
    (333, "threads_per_row=32,row_groups=2,workgroups_per_row=2,stages=0"),
    (3081, "threads_per_row=32,row_groups=1,workgroups_per_row=4,stages=2,prefetch=1"),
    (2049, "threads_per_row=64,row_groups=1,workgroups_per_row=2,prefetch=1,unroll=2,stages=0"),
    (1030, "threads_per_row=32,row_groups=1,workgroups_per_row=2,stages=2,prefetch=1"),
    (1030, "threads_per_row=96,row_groups=2")])
def test_sums(build, n, schedule):
    fields = f"vector_width=8,rows_per_workgroup=16,workgroups_per_compute_unit=1,{schedule}"
    text = compiling.compile_text(build, sums_source(n, "bf16"), "sm_90",
                                  f"schedule={fields}" if schedule else "", "ptx").decode()
    assert "ld.global.v4.b32" in text or "cp.async.bulk" in text
    for m in (1, 2, 19):
        generator = np.random.default_rng(n + m)
        # All rows are below 0: a 0 of another row, or of no row, would be larger.
        x = generator.integers(-64, -1, (m, n)) / 8
        columns = generator.integers(0, n, m)
        # Rows that end and begin with what their neighbours must not see.
        columns[::3], columns[1::3] = n - 1, 0
        x[np.arange(m), columns] = -1 / 16
        found = ptx_machine.launch(text, m, {"x": devices.encode(x.ravel(), "bf16").tobytes()})
        scalars = {name: np.frombuffer(found[name], np.float32)
                   for name in ("largest", "column", "sum")}
        np.testing.assert_array_equal(scalars["largest"], -1 / 16)
        np.testing.assert_array_equal(scalars["column"], columns)
        sums = (x + 1 / 16).sum(1)
        np.testing.assert_array_equal(scalars["sum"], sums)
        y = devices.decode(np.frombuffer(found["y"], np.uint16), "bf16").reshape(m, n)
        np.testing.assert_allclose(y, (x + 1 / 16) * sums[:, None], rtol=1 / 128)
