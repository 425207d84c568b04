// REQUIRES: simulator
// RUN: split-file %s %t
// RUN: lnbwd-opt %t/shared.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 33 --verify | FileCheck %s
// RUN: lnbwd-opt %t/tensors.mlir --lnbwd-pipeline="chip=gfx942 reproducible=true" --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 33 --verify | FileCheck %s
// RUN: lnbwd-opt %t/row-rank.mlir --lnbwd-pipeline="chip=gfx1201 two-pass=always" --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 33 --verify | FileCheck %s
// RUN: lnbwd-opt %t/derived.mlir --lnbwd-differentiate --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 33 --verify | FileCheck %s

// Kernels from IR that people write: the plan says what they compute, however
// the function's arguments are called and shared.
// CHECK: verdict valid

//--- shared.mlir
// One argument is dy and dx, and another mean and rstd.
func.func @shared(%a: memref<?x200xf32>, %b: memref<?x200xf32>, %s: memref<?xf32>, %c: memref<200xf32>) {
  lnbwd.layer_norm_bwd dy(%a : memref<?x200xf32>) x(%b : memref<?x200xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>)
      outs dx(%a : memref<?x200xf32>) dgamma(%c : memref<200xf32>)
  return
}

//--- tensors.mlir
func.func @f(%x: tensor<?x96xf16>, %gamma: tensor<96xf32>) -> (tensor<?x96xf16>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x96xf16>
  %0 = tensor.empty(%m) : tensor<?x96xf16>
  %1 = tensor.empty(%m) : tensor<?xf32>
  %2:2 = lnbwd.layer_norm x(%x : tensor<?x96xf16>) gamma(%gamma : tensor<96xf32>)
      outs y(%0 : tensor<?x96xf16>) rstd(%1 : tensor<?xf32>) {epsilon = 1.0e-3 : f64}
      -> tensor<?x96xf16>, tensor<?xf32>
  return %2#0, %2#1 : tensor<?x96xf16>, tensor<?xf32>
}

//--- row-rank.mlir
func.func @f(%dy: memref<?x4x6xf32>, %x: memref<?x4x6xf32>, %gamma: memref<4x6xf32>, %dx: memref<?x4x6xf32>,
             %dgamma: memref<4x6xf32>) {
  lnbwd.rms_norm_bwd dy(%dy : memref<?x4x6xf32>) x(%x : memref<?x4x6xf32>) gamma(%gamma : memref<4x6xf32>)
      outs dx(%dx : memref<?x4x6xf32>) dgamma(%dgamma : memref<4x6xf32>) {row_rank = 2 : i64, epsilon = 1.0e-2 : f64}
  return
}

//--- derived.mlir
func.func @norm(%x: memref<?x256xf32>, %gamma: memref<256xf32>, %beta: memref<256xf32>, %y: memref<?x256xf32>,
                %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm x(%x : memref<?x256xf32>) gamma(%gamma : memref<256xf32>) beta(%beta : memref<256xf32>)
      outs y(%y : memref<?x256xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}
