// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s

// A workgroup for each tile of rows is tried beside persistent ones, and taken
// where it costs less: where a compute unit has much on the way at once.
// CHECK-LABEL: func.func @much_on_the_way(
// CHECK:       rows_per_workgroup = 1, workgroups_per_compute_unit = 0,
func.func @much_on_the_way(%x: memref<8192x4096xf32>, %y: memref<8192x4096xf32>, %rstd: memref<8192xf32>) {
  lnbwd.rms_norm x(%x : memref<8192x4096xf32>) outs y(%y : memref<8192x4096xf32>) rstd(%rstd : memref<8192xf32>) {epsilon = 1.0e-5 : f64}
  return
}

// Rows may be worked through twice.
// CHECK-LABEL: func.func @two_phases(
// CHECK:       rows_per_workgroup = 1, workgroups_per_compute_unit = 0,
func.func @two_phases(%x: memref<8192x4096xf32>, %y: memref<8192x4096xf32>, %mean: memref<8192xf32>, %rstd: memref<8192xf32>) {
  lnbwd.layer_norm x(%x : memref<8192x4096xf32>) outs y(%y : memref<8192x4096xf32>) mean(%mean : memref<8192xf32>)
      rstd(%rstd : memref<8192xf32>) {epsilon = 1.0e-5 : f64}
  return
}

// With column sums each workgroup would have partial ones.
// CHECK-LABEL: func.func @column_sums(
// CHECK-NOT:   workgroups_per_compute_unit = 0
// CHECK:       return
func.func @column_sums(%dy: memref<8192x4096xbf16>, %x: memref<8192x4096xbf16>, %rstd: memref<8192xf32>, %dx: memref<8192x4096xbf16>, %dgamma: memref<4096xbf16>) {
  lnbwd.rms_norm_bwd dy(%dy : memref<8192x4096xbf16>) x(%x : memref<8192x4096xbf16>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x4096xbf16>) dgamma(%dgamma : memref<4096xbf16>)
  return
}
