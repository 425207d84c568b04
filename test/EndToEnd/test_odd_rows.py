# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows whose length the width of accesses does not divide: accesses begin before a row and end
after it, read nothing outside of the buffers and write nothing of other rows."""

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
    (515, "bf16 bf16", "threads_per_row=32,row_groups=2,vector_width=8,prefetch=0,unroll=2")])
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
