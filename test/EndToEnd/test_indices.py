# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices of rows and columns, and integers, in row programs."""

import pathlib

import numpy as np
import pytest

import chips
import compiling
import device as devices

T = 6  # Rows of a sample.


def source(n: int, has_groups: bool = False, has_row_sum: bool = True,
           has_column_sum: bool = True) -> str:
    """y = x up to the column (t n) / T, 0 after it, less the sum of that over 64; z = the
    element's number; with groups, x is multiplied by a column of the sample first."""
    row, numbers = f"vector<{n}xf32>", f"vector<{n}xi32>"
    samples = "?x?" if has_groups else f"?x{T}"
    block, column = f"memref<{samples}x{n}xf32>", f"memref<?x{n}xf32>"
    lines = [f"%w = arith.mulf %xr, %gr : {row}"] if has_groups else []
    x = "%w" if has_groups else "%xr"
    lines += [
        "%b = lnbwd.index 0 : i32", "%t = lnbwd.index 1 : i32", f"%c = lnbwd.index 2 : {numbers}",
        f"%n = arith.constant {n} : i32", f"%T = arith.constant {T} : i32",
        "%tn = arith.muli %t, %n : i32", "%limit = arith.divui %tn, %T : i32",
        f"%limits = vector.broadcast %limit : i32 to {numbers}",
        f"%isKept = arith.cmpi ule, %c, %limits : {numbers}",
        f"%none = arith.constant dense<0.0> : {row}",
        f"%kept = arith.select %isKept, {x}, %none : vector<{n}xi1>, {row}",
        "%bT = arith.muli %b, %T : i32", "%m = arith.addi %bT, %t : i32",
        "%mn = arith.muli %m, %n : i32", f"%first = vector.broadcast %mn : i32 to {numbers}",
        f"%number = arith.addi %first, %c : {numbers}",
        f"%z = arith.uitofp %number : {numbers} to {row}"]
    y = "%kept"
    if has_row_sum:
        lines += [f"%s = vector.reduction <add>, %kept : {row} into f32",
                  "%f = arith.constant 0.015625 : f32", "%u = arith.mulf %s, %f : f32",
                  f"%us = vector.broadcast %u : f32 to {row}",
                  f"%y = arith.subf %kept, %us : {row}"]
        y = "%y"
    body = "\n    ".join(lines)
    kept = (", %k: memref<{n}xf32>", ", %k[n] add : memref<{n}xf32>", ', "kept"', ", %kept",
            f", {row}") if has_column_sum else ("",) * 5
    buffer, out, name, value, kind = (text.replace("{n}", str(n)) for text in kept)
    group = f", %g[b, n] : {column}" if has_groups else ""
    argument = f", %g: {column}" if has_groups else ""
    return f"""func.func @f(%x: {block}{argument}, %y: {block}, %z: {block}{buffer}) {{
  lnbwd.rowwise @f domain(b, t | n) ins(%x[b, t, n] : {block}{group})
      outs(%y[b, t, n] : {block}, %z[b, t, n] : {block}{out})
      attributes {{operand_names = ["x"{', "g"' if has_groups else ''}, "y", "z"{name}]}} {{
  ^row(%xr: {row}{f", %gr: {row}" if has_groups else ""}):
    {body}
    lnbwd.yield {y}, %z{value} : {row}, {row}{kind}
  }}
  return
}}
"""


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def check(runtime, chip, file, n, samples, has_groups=False, has_row_sum=True,
          has_column_sum=True):
    kernel = devices.Kernel(runtime.open("sim", chip), file)
    random = np.random.default_rng(n)
    # Few values, whose sums are exact.
    x = random.integers(-8, 9, (samples, T, n)) / 8
    g = random.integers(-4, 5, (samples, 1, n)) / 2
    inputs = {"x": x, "g": g} if has_groups else {"x": x}
    outputs = kernel.launch(
        samples * T, {k: devices.encode(v.ravel(), "f32") for k, v in inputs.items()},
        **({"groups": samples} if has_groups else {}))
    limits = np.arange(T)[:, None] * n // T
    kept = np.where(np.arange(n) <= limits, x * g if has_groups else x, 0.0)
    y = kept - kept.sum(2, keepdims=True) / 64 if has_row_sum else kept
    wanted = {"y": y, "z": np.arange(x.size).reshape(x.shape)}
    if has_column_sum:
        wanted["kept"] = kept.sum((0, 1))
    for name, expected in wanted.items():
        actual = devices.decode(outputs[name], "f32").reshape(expected.shape)
        np.testing.assert_array_equal(actual, expected, name)


@pytest.mark.sample(
    chip=("gfx942", "gfx1201"), has_groups=(False, True),
    row=((37, ""), (512, ""), (1000, "schedule=row_groups=2"),
         (300, "schedule=prefetch=1,row_groups=4,threads_per_row=32"), (4096, "two-pass=always"),
         (516, "schedule=unroll=2")))
def test_indices(build, runtime, tmp_path, chip, row, has_groups):
    n, options = row
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(n, has_groups), chip, options)
    for samples in (1, 5):
        check(runtime, chip, file, n, samples, has_groups)


@pytest.mark.parametrize("options", ["schedule=reload=1", "schedule=row_splits=4"])
def test_rows_in_phases(build, runtime, tmp_path, options):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(2048, has_column_sum=False), "gfx942", options)
    check(runtime, "gfx942", file, 2048, 3, has_column_sum=False)


def test_columns_of_several_workgroups(build, runtime, tmp_path):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(2048, has_row_sum=False), "gfx942",
                         "schedule=column_tile=512,threads_per_row=64,vector_width=4")
    check(runtime, "gfx942", file, 2048, 3, has_row_sum=False)


@pytest.mark.sample(chip=("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"),
                    n=(37, 1000, 50257))
def test_where_the_largest_is(build, runtime, tmp_path, chip, n):
    """The first of several, of NaNs, of infinities, of elements that are all equal."""
    file = tmp_path / "f.hsaco"
    text = (pathlib.Path(__file__).parents[2] / "examples" / "argmax.mlir").read_text()
    compiling.compile_to(file, build, text.replace("50257", str(n)), chip)
    x = np.random.default_rng(n).integers(-20, 21, (7, n)).astype(np.float32)
    x[1, [8, 20]], x[2, [9, 11]], x[3], x[4], x[5, n - 1] = np.nan, np.inf, -np.inf, 2.5, 99
    outputs = devices.Kernel(runtime.open("sim", chip), file).launch(
        7, {"x": devices.encode(x.ravel(), "f32")})
    np.testing.assert_array_equal(outputs["place"].view(np.int64), x.argmax(1))
    np.testing.assert_array_equal(devices.decode(outputs["largest"], "f32"), x.max(1))


@pytest.mark.sample(chip=chips.GPUS, n=(37, 4096))
def test_ptx(build, tmp_path, chip, n):
    compiling.compile_to(tmp_path / "f.ptx", build, source(n), chip)
