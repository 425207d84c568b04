# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows whose length the width of accesses does not divide: accesses begin before a row and end
after it, read nothing outside of the buffers and write nothing of other rows."""

import subprocess

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


WAVES = "row_groups=2,vector_width=8,rows_per_workgroup=4,workgroups_per_compute_unit=1"
STAGED = "vector_width=8,stages=2,rows_per_workgroup=6,workgroups_per_compute_unit=1"


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


@pytest.mark.parametrize("chip, n, types, schedule", [
    ("gfx942", 197, "bf16 bf16", "threads_per_row=32,row_groups=2,vector_width=8"),
    ("gfx1100", 1003, "f16 f16", "threads_per_row=32,vector_width=8"),
    ("gfx942", 1, "bf16 bf16", "threads_per_row=2,row_groups=32,vector_width=8"),
    ("gfx1201", 5, "f16 f16", "threads_per_row=2,row_groups=16,vector_width=8"),
    ("gfx942", 7, "f32 f32", "threads_per_row=4,row_groups=16,vector_width=4"),
    ("gfx942", 13, "bf16 f32", "threads_per_row=4,row_groups=16,vector_width=4"),
    ("gfx942", 515, "bf16 bf16", f"threads_per_row=64,prefetch=1,unroll=2,{WAVES}"),
    ("gfx942", 515, "bf16 bf16", f"threads_per_row=64,prefetch=0,unroll=2,{WAVES}"),
])
def test_odd_rows(build, runtime, tmp_path, chip, n, types, schedule):
    file, (x, y) = tmp_path / "f.hsaco", types.split()
    compiling.compile_to(file, build, source(n, x, y), chip,
                         f"schedule={schedule}")
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for m in (1, 39):
        rows = make_rows(m, n)
        check(kernel.launch(m, {"x": devices.encode(rows.ravel(), x)})["y"], y, rows)


def test_column_tiles(build, runtime, tmp_path):
    """The last tile has few columns or, where a row begins so, none; the rows are written over
    those that are read."""
    schedule = "threads_per_row=64,row_groups=1,vector_width=8,column_tile=512,rows_per_workgroup=1"
    for n in (1021, 1026, 1031):
        file = tmp_path / f"{n}.hsaco"
        compiling.compile_to(file, build, source(n, "bf16", "bf16"), "gfx942",
                             f"schedule={schedule},unroll=1")
        kernel = devices.Kernel(runtime.open("sim", "gfx942"), file)
        rows = make_rows(9, n)
        found = kernel.launch(9, {"x": devices.encode(rows.ravel(), "bf16")}, {"y": "x"})["y"]
        check(found, "bf16", rows)


@pytest.mark.parametrize("types", ["f8E4M3FNUZ bf16", "bf16 f8E4M3FNUZ"])
def test_float8(build, tmp_path, types):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(131, *types.split()), "gfx942",
                         "schedule=threads_per_row=32,row_groups=2,vector_width=8")
    done = subprocess.run([build / "bin/lnbwd-run", file, "--m", "9", "--verify", "--check"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("n, types, schedule", [
    (197, "bf16 bf16", ""), (50257, "bf16 bf16", ""),
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
