# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs with masks, from Python."""

import pytest

from lnbwd import compiler, runtime
from lnbwd.core.compile.kernels import run_kernel

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.skipif(not compiler.available(), reason="no compiler in this build")

SOURCE = """
func.func @keep(%x: memref<?x64xf32>, %m: memref<?x64xi8>, %y: memref<?x64xf32>,
                %p: memref<?x64xi8>) {
  lnbwd.rowwise @keep domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %m[m, n] : memref<?x64xi8>)
      outs(%y[m, n] : memref<?x64xf32>, %p[m, n] : memref<?x64xi8>)
      attributes {operand_names = ["x", "mask", "y", "positive"]} {
  ^row(%xr: vector<64xf32>, %mr: vector<64xi8>):
    %zero = arith.constant dense<0> : vector<64xi8>
    %none = arith.constant dense<0.0> : vector<64xf32>
    %tile = arith.cmpi ne, %mr, %zero : vector<64xi8>
    %yr = arith.select %tile, %xr, %none : vector<64xi1>, vector<64xf32>
    %positive = arith.cmpf ogt, %yr, %none : vector<64xf32>
    %pr = arith.extui %positive : vector<64xi1> to vector<64xi8>
    lnbwd.yield %yr, %pr : vector<64xf32>, vector<64xi8>
  }
  return
}
"""


@pytest.fixture(scope="module")
def kernel():
    code = compiler.compile_mlir(SOURCE, "gfx942").code
    return runtime.Kernel(runtime.Device.open("sim", "gfx942"), runtime.Program.from_bytes(code))


def test_arguments(kernel):
    assert [(a.name, a.element) for a in kernel.program.arguments] == [
        ("x", "f32"), ("mask", "i8"), ("y", "f32"), ("positive", "i8")]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
def test_masks_are_bytes(kernel, dtype):
    random = np.random.default_rng(1)
    x = random.standard_normal((5, 64)).astype(np.float32)
    mask = random.integers(0, 2, (5, 64)).astype(dtype)
    outputs = run_kernel(kernel, {"x": x, "mask": mask})
    np.testing.assert_array_equal(outputs["y"], np.where(mask, x, 0))
    assert outputs["positive"].dtype == np.uint8
    np.testing.assert_array_equal(outputs["positive"], (np.where(mask, x, 0) > 0))


def test_other_types_are_refused(kernel):
    x = np.zeros((5, 64), np.float32)
    with pytest.raises(ValueError, match="mask: expected uint8, got float32"):
        run_kernel(kernel, {"x": x, "mask": x})
