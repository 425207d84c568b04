// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90 order=canonical' --emit=report | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90 order=canonical two-pass=never' --emit=report | FileCheck %s --check-prefix=ONE

// In the canonical order few short rows take two passes: a tile of columns has
// all their leaves, where leaves of the rows would be three workgroups. In one
// pass a leaf's parts are workgroups.
// CHECK:      kernel @layer_norm_bwd_columns
// CHECK-NEXT:   rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 8,
// CHECK:      kernel @layer_norm_bwd_rows
// CHECK-NOT:  kernel @
// ONE:        kernel @layer_norm_bwd
// ONE-NEXT:     rows_per_workgroup = {{[1-8]}}, workgroups_per_compute_unit = {{[1-9]}},
// ONE:        kernel @layer_norm_bwd_finalize
func.func @backward(%dy: memref<135x944xf32>, %x: memref<135x944xf32>, %gamma: memref<944xf32>,
    %mean: memref<135xf32>, %rstd: memref<135xf32>, %dx: memref<135x944xf32>, %dgamma: memref<944xf32>, %dbeta: memref<944xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<135x944xf32>) x(%x : memref<135x944xf32>) gamma(%gamma : memref<944xf32>)
      mean(%mean : memref<135xf32>) rstd(%rstd : memref<135xf32>)
      outs dx(%dx : memref<135x944xf32>) dgamma(%dgamma : memref<944xf32>) dbeta(%dbeta : memref<944xf32>)
  return
}
