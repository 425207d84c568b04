// REQUIRES: simulator
// RUN: split-file %s %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 33 --verify | FileCheck %s
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx1201 two-pass=always" --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 33 --verify | FileCheck %s
// RUN: lnbwd-opt %t/rank-3.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 24 --verify | FileCheck %s
// RUN: lnbwd-opt %t/static.mlir --lnbwd-pipeline=chip=gfx1100 --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 64 --verify | FileCheck %s
// RUN: lnbwd-opt %t/given-outputs.mlir --lnbwd-pipeline=chip=gfx90a --emit=hsaco -o %t.hsaco
// RUN: lnbwd-run %t.hsaco --m 24 --verify | FileCheck %s

// Kernels from IR that people write, in its several forms.
// CHECK: verdict valid

//--- rank-3.mlir
func.func @f(%dy: memref<?x4x200xf32>, %x: memref<?x4x200xf32>, %mean: memref<?x4xf32>, %rstd: memref<?x4xf32>,
             %dx: memref<?x4x200xf32>, %dgamma: memref<200xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x4x200xf32>) x(%x : memref<?x4x200xf32>)
      mean(%mean : memref<?x4xf32>) rstd(%rstd : memref<?x4xf32>)
      outs dx(%dx : memref<?x4x200xf32>) dgamma(%dgamma : memref<200xf32>)
  return
}

//--- static.mlir
func.func @f(%dy: memref<64x200xf16>, %x: memref<64x200xf16>, %mean: memref<64xf32>, %rstd: memref<64xf32>,
             %dx: memref<64x200xf16>, %dbeta: memref<200xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<64x200xf16>) x(%x : memref<64x200xf16>)
      mean(%mean : memref<64xf32>) rstd(%rstd : memref<64xf32>)
      outs dx(%dx : memref<64x200xf16>) dbeta(%dbeta : memref<200xf32>)
  return
}

//--- given-outputs.mlir
func.func @f(%dy: tensor<?x96xbf16>, %x: tensor<?x96xbf16>, %gamma: tensor<96xf32>, %mean: tensor<?xf32>,
             %rstd: tensor<?xf32>, %dx: tensor<?x96xbf16>, %dgamma: tensor<96xf32>)
    -> (tensor<?x96xbf16>, tensor<96xf32>) {
  %0:2 = lnbwd.layer_norm_bwd dy(%dy : tensor<?x96xbf16>) x(%x : tensor<?x96xbf16>) gamma(%gamma : tensor<96xf32>)
      mean(%mean : tensor<?xf32>) rstd(%rstd : tensor<?xf32>)
      outs dx(%dx : tensor<?x96xbf16>) dgamma(%dgamma : tensor<96xf32>)
      -> tensor<?x96xbf16>, tensor<96xf32>
  return %0#0, %0#1 : tensor<?x96xbf16>, tensor<96xf32>
}
