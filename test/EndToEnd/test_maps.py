# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What groups of rows share: attention's softmax with a mask for each place in a sequence."""

import subprocess

import numpy as np
import pytest

import compiling
import device as devices

HEADS, T = 3, 5


def source(n: int) -> str:
    """y = exp(z) / the sum of exp(z) over the row, z = slope[t] scale x[b, h, t, s] + mask[t, s]"""
    row, block = f"vector<{n}xf32>", f"memref<?x{HEADS}x?x{n}xf32>"
    body = "\n    ".join([
        "%f = arith.mulf %sl, %sc : f32", f"%fs = vector.broadcast %f : f32 to {row}",
        f"%m = arith.extf %mr : vector<{n}xbf16> to {row}", f"%w = arith.mulf %xr, %fs : {row}",
        f"%z = arith.addf %w, %m : {row}", f"%e = math.exp %z : {row}",
        f"%sum = vector.reduction <add>, %e : {row} into f32",
        f"%sums = vector.broadcast %sum : f32 to {row}", f"%yr = arith.divf %e, %sums : {row}"])
    return f"""func.func @f(%x: {block}, %mask: memref<?x{n}xbf16>, %slope: memref<?xf32>,
    %scale: memref<f32>, %y: {block}) {{
  lnbwd.rowwise @f domain(b, h, t | s)
      ins(%x[b, h, t, s] : {block}, %mask[t, s] : memref<?x{n}xbf16>, %slope[t] : memref<?xf32>,
          %scale[] : memref<f32>)
      outs(%y[b, h, t, s] : {block})
      attributes {{operand_names = ["x", "mask", "slope", "scale", "y"]}} {{
  ^row(%xr: {row}, %mr: vector<{n}xbf16>, %sl: f32, %sc: f32):
    {body}
    lnbwd.yield %yr : {row}
  }}
  return
}}
"""


@pytest.mark.parametrize("chip, n, options", [
    ("gfx942", 512, ""), ("gfx90a", 37, ""), ("gfx950", 1000, "schedule=row_groups=2"),
    ("gfx1100", 516, "schedule=unroll=2"), ("gfx1201", 300, "schedule=prefetch=1,row_groups=4"),
    ("gfx942", 4096, "two-pass=always"), ("gfx942", 2048, "schedule=row_splits=4")])
def test_a_masked_softmax(build, tmp_path, chip, n, options):
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, source(n), chip, options)
    kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
    random = np.random.default_rng(n)
    x, mask = random.standard_normal((2, HEADS, T, n)), random.integers(-3, 1, (T, n))
    slope, scale = random.uniform(0.5, 1, T), np.array([0.5])
    outputs = kernel.launch(2 * HEADS * T, {
        "x": devices.encode(x.ravel(), "f32"), "mask": devices.encode(mask.ravel(), "bf16"),
        "slope": devices.encode(slope, "f32"), "scale": devices.encode(scale, "f32")},
        groups=2 * HEADS)
    e = np.exp(x * slope[:, None] * scale + mask)
    np.testing.assert_allclose(devices.decode(outputs["y"], "f32").reshape(x.shape),
                               e / e.sum(-1, keepdims=True), rtol=3e-5)


def test_the_reference_and_the_gradient(build, tmp_path):
    (tmp_path / "f.mlir").write_text(source(512))
    run = build / "bin" / "lnbwd-run"
    for name, options in (("forward", []), ("gradient", ["--lnbwd-differentiate=wrt=x"])):
        file = tmp_path / f"{name}.hsaco"
        subprocess.run([build / "bin" / "lnbwd-opt", tmp_path / "f.mlir", *options,
                        "--lnbwd-pipeline=chip=gfx942", "--emit=hsaco", "-o", file], check=True)
        result = subprocess.run([run, file, "--m=30", "--groups=6", "--verify", "--check"],
                                check=True, capture_output=True, text=True)
        assert "verdict valid" in result.stdout
