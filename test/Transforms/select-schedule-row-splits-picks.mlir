// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=64 --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=210 --split-input-file | FileCheck %s --check-prefix=MORE
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=rows=512 --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=rows=64 --split-input-file | FileCheck %s --check-prefix=AMD

// Few long rows whose inputs are a few megabytes are shared through memory on
// sm_90, where that was measured.
// CHECK-LABEL: func @few(
// CHECK:         rows_per_workgroup = 0, {{.*}}column_tile = 128, unroll = 2, dependent_launch = true, row_splits = 8>
// MORE-LABEL:  func @few(
// Four rows at once would take too many registers beside two sums.
// MORE:          unroll = 2, {{.*}}row_splits = 8>
// MANY-LABEL:  func @few(
// MANY-NOT:      row_splits
// AMD-LABEL:   func @few(
// AMD-NOT:       row_splits
func.func @few(%dy: memref<?x16384xbf16>, %x: memref<?x16384xbf16>, %g: memref<16384xbf16>, %mean: memref<?xf32>,
               %rstd: memref<?xf32>, %dx: memref<?x16384xbf16>, %dg: memref<16384xbf16>, %db: memref<16384xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x16384xbf16>) x(%x : memref<?x16384xbf16>) gamma(%g : memref<16384xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x16384xbf16>) dgamma(%dg : memref<16384xbf16>) dbeta(%db : memref<16384xbf16>)
  return
}

// -----

// Not without column sums, nor where the row is short.
// CHECK-LABEL: func @forward(
// CHECK-NOT:     row_splits
func.func @forward(%x: memref<?x16384xbf16>, %g: memref<16384xbf16>, %y: memref<?x16384xbf16>, %rstd: memref<?xf32>) {
  lnbwd.rms_norm x(%x : memref<?x16384xbf16>) gamma(%g : memref<16384xbf16>)
      outs y(%y : memref<?x16384xbf16>) rstd(%rstd : memref<?xf32>) {epsilon = 1.0e-5 : f64}
  return
}

// -----

// CHECK-LABEL: func @short(
// CHECK-NOT:     row_splits
func.func @short(%dy: memref<?x2048xbf16>, %x: memref<?x2048xbf16>, %g: memref<2048xbf16>, %mean: memref<?xf32>,
                 %rstd: memref<?xf32>, %dx: memref<?x2048xbf16>, %dg: memref<2048xbf16>, %db: memref<2048xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x2048xbf16>) x(%x : memref<?x2048xbf16>) gamma(%g : memref<2048xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x2048xbf16>) dgamma(%dg : memref<2048xbf16>) dbeta(%db : memref<2048xbf16>)
  return
}

// -----

// CHECK-LABEL: func @less_long(
// CHECK-NOT:     row_splits
func.func @less_long(%dy: memref<?x12800xbf16>, %x: memref<?x12800xbf16>, %g: memref<12800xbf16>, %mean: memref<?xf32>,
                     %rstd: memref<?xf32>, %dx: memref<?x12800xbf16>, %dg: memref<12800xbf16>, %db: memref<12800xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x12800xbf16>) x(%x : memref<?x12800xbf16>) gamma(%g : memref<12800xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x12800xbf16>) dgamma(%dg : memref<12800xbf16>) dbeta(%db : memref<12800xbf16>)
  return
}
