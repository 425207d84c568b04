// REQUIRES: simulator
// RUN: split-file %s %t

// A row program written by hand runs under the traps, and is held to itself.
// RUN: lnbwd-opt %t/silent.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/silent.hsaco
// RUN: lnbwd-run %t/silent.hsaco --m 9 | FileCheck %s --check-prefix=RAN
// RAN: every output written whole, guard bands untouched, inputs unchanged
// RAN: verdict ran; its numbers were not compared (--verify does)
// RUN: lnbwd-run %t/silent.hsaco --m 9 --verify | FileCheck %s --check-prefix=RIGHT

// Masks are bytes, here in rows of odd length that lie apart.
// RUN: lnbwd-opt %t/masks.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/masks.hsaco
// RUN: lnbwd-run %t/masks.hsaco --m 9 | FileCheck %s --check-prefix=RAN
// RUN: lnbwd-run %t/masks.hsaco --m 9 --verify | FileCheck %s --check-prefix=MASKS
// MASKS: y {{.*}} ok
// MASKS: positive {{.*}} ok
// MASKS: verdict valid
// RUN: lnbwd-opt %t/masks.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx -o - | FileCheck %s --check-prefix=PLAN
// PLAN: {"access":"read","element":"i8","kind":"row_block","name":"mask","row_length":63}

// One that says what it computes is held to it.
// RUN: lnbwd-opt %t/rms.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/rms.hsaco
// RUN: lnbwd-run %t/rms.hsaco --m 9 --verify | FileCheck %s --check-prefix=RIGHT
// RIGHT: {{y|operand1}} {{.*}} ok
// RIGHT: verdict valid

// And is caught if it computes something else: this is LayerNorm.
// RUN: lnbwd-opt %t/wrong.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/wrong.hsaco
// RUN: %exits 1 lnbwd-run %t/wrong.hsaco --m 9 --verify --init uniform | FileCheck %s --check-prefix=WRONG
// WRONG: y {{.*}} WRONG, most at element
// WRONG: verdict WRONG

// The epsilon that a kernel was compiled with is not for the runner to choose.
// RUN: %exits 2 lnbwd-run %t/rms.hsaco --m 9 --verify --eps 1e-3 2>&1 | FileCheck %s --check-prefix=EPSILON
// EPSILON: error: --eps: the kernel computes its statistics with the epsilon that it was compiled with: expected 0.01, got 0.001

//--- masks.mlir
func.func @masks(%x: memref<?x63xf32>, %m: memref<?x63xi8>, %y: memref<?x63xf32>,
                 %p: memref<?x63xi8, strided<[65, 1]>>) {
  lnbwd.rowwise @masks domain(m | n) ins(%x[m, n] : memref<?x63xf32>, %m[m, n] : memref<?x63xi8>)
      outs(%y[m, n] : memref<?x63xf32>, %p[m, n] : memref<?x63xi8, strided<[65, 1]>>)
      attributes {operand_names = ["x", "mask", "y", "positive"]} {
  ^row(%xr: vector<63xf32>, %mr: vector<63xi8>):
    %zero = arith.constant dense<0> : vector<63xi8>
    %none = arith.constant dense<0.0> : vector<63xf32>
    %tile = arith.cmpi ne, %mr, %zero : vector<63xi8>
    %yr = arith.select %tile, %xr, %none : vector<63xi1>, vector<63xf32>
    %positive = arith.cmpf ogt, %yr, %none : vector<63xf32>
    %pr = arith.extui %positive : vector<63xi1> to vector<63xi8>
    lnbwd.yield %yr, %pr : vector<63xf32>, vector<63xi8>
  }
  return
}

//--- silent.mlir
func.func @twice(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @twice domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%r: vector<64xf32>):
    %0 = arith.addf %r, %r : vector<64xf32>
    lnbwd.yield %0 : vector<64xf32>
  }
  return
}

//--- rms.mlir
func.func @mine(%a: memref<?x64xf32>, %b: memref<?x64xf32>)
    attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm", epsilon = 1.0e-2 : f64>} {
  lnbwd.rowwise @mine domain(m | n) ins(%a[m, n] : memref<?x64xf32>) outs(%b[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^row(%x: vector<64xf32>):
    %over_n = arith.constant 0.015625 : f32
    %epsilon = arith.constant 1.0e-2 : f32
    %squares = arith.mulf %x, %x : vector<64xf32>
    %sum = vector.reduction <add>, %squares : vector<64xf32> into f32
    %mean = arith.mulf %sum, %over_n : f32
    %moved = arith.addf %mean, %epsilon : f32
    %rstd = math.rsqrt %moved : f32
    %spread = vector.broadcast %rstd : f32 to vector<64xf32>
    %y = arith.mulf %x, %spread : vector<64xf32>
    lnbwd.yield %y : vector<64xf32>
  }
  return
}

//--- wrong.mlir
func.func @mine(%a: memref<?x64xf32>, %b: memref<?x64xf32>)
    attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm", epsilon = 1.0e-2 : f64>} {
  lnbwd.rowwise @mine domain(m | n) ins(%a[m, n] : memref<?x64xf32>) outs(%b[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "y"]} {
  ^row(%row: vector<64xf32>):
    %over_n = arith.constant -0.015625 : f32
    %over_n2 = arith.constant 0.015625 : f32
    %epsilon = arith.constant 1.0e-2 : f32
    %total = vector.reduction <add>, %row : vector<64xf32> into f32
    %shift = arith.mulf %total, %over_n : f32
    %shifts = vector.broadcast %shift : f32 to vector<64xf32>
    %x = arith.addf %row, %shifts : vector<64xf32>
    %squares = arith.mulf %x, %x : vector<64xf32>
    %sum = vector.reduction <add>, %squares : vector<64xf32> into f32
    %mean = arith.mulf %sum, %over_n2 : f32
    %moved = arith.addf %mean, %epsilon : f32
    %rstd = math.rsqrt %moved : f32
    %spread = vector.broadcast %rstd : f32 to vector<64xf32>
    %y = arith.mulf %x, %spread : vector<64xf32>
    lnbwd.yield %y : vector<64xf32>
  }
  return
}
