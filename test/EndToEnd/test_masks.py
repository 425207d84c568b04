# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row blocks and row scalars of bytes, masks of booleans, as inputs and as outputs of row
programs."""

import re

import numpy as np
import pytest

import chips
import compiling
import device as devices


def source(n: int, dtype: str, has_row_sum: bool) -> str:
    """y = 2 x where the mask is set in a row that is kept, less the sum of the row over 64 if
    wanted; the mask of y > 0, the rows that are not kept, the number of rows with a mask bit in
    each column."""
    wide = f"vector<{n}xf32>"
    narrow = f"vector<{n}x{dtype}>"
    def cast(op, value, source_type, target_type):
        return value if dtype == "f32" else f"arith.{op} {value} : {source_type} to {target_type}"

    lines = [] if dtype == "f32" else [f"%xw = {cast('extf', '%xr', narrow, wide)}"]
    x = "%xr" if dtype == "f32" else "%xw"
    lines += [f"%zero = arith.constant dense<0> : vector<{n}xi8>",
              f"%none = arith.constant dense<0.0> : {wide}",
              f"%set = arith.cmpi ne, %mr, %zero : vector<{n}xi8>",
              "%false = arith.constant 0 : i8", "%isKept = arith.cmpi ne, %kr, %false : i8",
              "%isDropped = arith.cmpi eq, %kr, %false : i8",
              "%dropped = arith.extui %isDropped : i1 to i8",
              f"%isKeptRow = vector.broadcast %isKept : i1 to vector<{n}xi1>",
              f"%tile = arith.andi %set, %isKeptRow : vector<{n}xi1>",
              f"%twice = arith.addf {x}, {x} : {wide}",
              f"%kept = arith.select %tile, %twice, %none : vector<{n}xi1>, {wide}"]
    y = "%kept"
    if has_row_sum:
        lines += [f"%s = vector.reduction <add>, %kept : {wide} into f32",
                  "%f = arith.constant 0.015625 : f32", "%t = arith.mulf %s, %f : f32",
                  f"%tv = vector.broadcast %t : f32 to {wide}",
                  f"%moved = arith.subf %kept, %tv : {wide}"]
        y = "%moved"
    lines += [f"%positive = arith.cmpf ogt, {y}, %none : {wide}",
              f"%po = arith.extui %positive : vector<{n}xi1> to vector<{n}xi8>",
              f"%count = arith.uitofp %mr : vector<{n}xi8> to {wide}"]
    out = y
    if dtype != "f32":
        lines += [f"%yn = {cast('truncf', y, wide, narrow)}"]
        out = "%yn"
    body = "\n    ".join(lines)
    return f"""func.func @f(%x: memref<?x{n}x{dtype}>, %m: memref<?x{n}xi8>, %k: memref<?xi8>,
    %y: memref<?x{n}x{dtype}>, %p: memref<?x{n}xi8>, %d: memref<?xi8>,
    %c: memref<{n}xf32>) {{
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x{n}x{dtype}>, %m[m, n] : memref<?x{n}xi8>,
          %k[m] : memref<?xi8>)
      outs(%y[m, n] : memref<?x{n}x{dtype}>, %p[m, n] : memref<?x{n}xi8>,
           %d[m] : memref<?xi8>, %c[n] add : memref<{n}xf32>)
      attributes {{operand_names = ["x", "mask", "keep", "y", "positive", "dropped", "count"]}} {{
  ^row(%xr: {narrow}, %mr: vector<{n}xi8>, %kr: i8):
    {body}
    lnbwd.yield {out}, %po, %dropped, %count : {narrow}, vector<{n}xi8>, i8, {wide}
  }}
  return
}}
"""


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx1100", "gfx1201"),
                    row=((37, "f32"), (90, "bf16"), (512, "f32"), (1000, "bf16"), (1000, "f32"),
                         (4096, "f16"), (20480, "bf16")), has_row_sum=(False, True))
def test_masks(build, runtime, tmp_path, chip, row, has_row_sum):
    n, dtype = row
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(n, dtype, has_row_sum), chip)
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    for rows in (0, 1, 23):
        random = np.random.default_rng(rows + n)
        # Few values, whose sums are exact.
        x = random.integers(-8, 9, rows * n) / 8
        mask = random.integers(0, 2, rows * n).astype(np.uint8)
        keep = random.integers(0, 2, rows).astype(np.uint8)
        outputs = kernel.launch(rows, {"x": devices.encode(x, dtype), "mask": mask, "keep": keep})
        kept = np.where(mask != 0, 2 * x, 0.0).reshape(rows, n) * keep[:, None]
        expected = kept - kept.sum(1, keepdims=True) / 64 if has_row_sum else kept
        y = devices.decode(outputs["y"], dtype).reshape(rows, n)
        np.testing.assert_array_equal(
            y, devices.decode(devices.encode(expected, dtype), dtype).reshape(rows, n))
        np.testing.assert_array_equal(outputs["positive"].reshape(rows, n), expected > 0)
        np.testing.assert_array_equal(outputs["dropped"], keep == 0)
        np.testing.assert_array_equal(devices.decode(outputs["count"], "f32"),
                                      mask.reshape(rows, n).sum(0))


@pytest.mark.sample(chip=chips.GPUS, n=(37, 1000, 4096, 65536), has_row_sum=(False, True))
def test_ptx(build, tmp_path, chip, n, has_row_sum):
    """It compiles, and eight bytes of a mask move in one access."""
    file = tmp_path / "f.ptx"
    compiling.compile_to(file, build, source(n, "bf16", has_row_sum), chip)
    code = file.read_text()
    wide = [re.search(rf"{access}\S*\.v2\.b32", code) for access in
            (r"ld\.(global|shared)", r"st\.global")]
    assert all(wide) if n % 8 == 0 else not any(wide)


@pytest.mark.sample("each", chip=("gfx90a", "gfx942", "gfx1100", "gfx1201"),
                    n=(37, 1000, 4096), dims=("n", "b, n", ""))
def test_masks_that_rows_share(build, runtime, tmp_path, chip, n, dims):
    """Of columns, for all rows or those of a group, and one boolean for all."""
    shape = {"n": f"{n}x", "b, n": f"?x{n}x", "": ""}[dims]
    row, bits = f"vector<{n}xf32>", f"vector<{n}xi1>"
    mask, keep = (f"vector<{n}xi8>", "%set") if dims else ("i8", "%sets")
    spread = "" if dims else f"%sets = vector.broadcast %set : i1 to {bits}"
    text = f"""func.func @f(%x: memref<?x?x{n}xf32>, %k: memref<{shape}i8>,
    %y: memref<?x?x{n}xf32>, %c: memref<{n}xf32>) {{
  lnbwd.rowwise @f domain(b, t | n)
      ins(%x[b, t, n] : memref<?x?x{n}xf32>, %k[{dims}] : memref<{shape}i8>)
      outs(%y[b, t, n] : memref<?x?x{n}xf32>, %c[n] add : memref<{n}xf32>)
      attributes {{operand_names = ["x", "mask", "y", "sum"]}} {{
  ^row(%xr: {row}, %kr: {mask}):
    %zero = arith.constant {"dense<0>" if dims else "0"} : {mask}
    %set = arith.cmpi ne, %kr, %zero : {mask}
    {spread}
    %none = arith.constant dense<0.0> : {row}
    %kept = arith.select {keep}, %xr, %none : {bits}, {row}
    %s = vector.reduction <add>, %kept : {row} into f32
    %sv = vector.broadcast %s : f32 to {row}
    %z = arith.subf %kept, %sv : {row}
    lnbwd.yield %z, %kept : {row}, {row}
  }}
  return
}}
"""
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, text, chip)
    random = np.random.default_rng(n)
    x = random.integers(-8, 9, (3, 5, n)) / 8
    mask = random.integers(0, 2, {"n": n, "b, n": (3, 1, n), "": 1}[dims]).astype(np.uint8)
    outputs = devices.Kernel(runtime.open("sim", chip), file).launch(
        15, {"x": devices.encode(x.ravel(), "f32"), "mask": mask.ravel()},
        **({"groups": 3} if dims == "b, n" else {}))
    kept = np.where(mask != 0, x, 0)
    np.testing.assert_array_equal(devices.decode(outputs["y"], "f32").reshape(x.shape),
                                  kept - kept.sum(2, keepdims=True))
    np.testing.assert_array_equal(devices.decode(outputs["sum"], "f32"), kept.sum((0, 1)))
