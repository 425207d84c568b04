// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --lnbwd-fix-order --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s

// In the canonical order sums of leaves cost more than rows of as many bytes: a
// workgroup adds up four leaves of 16 rows before it stores their sum.
// CHECK-LABEL: func.func @backward(
// CHECK: schedule = #lnbwd.schedule<threads_per_row = 320, row_groups = 1, vector_width = 8, rows_per_workgroup = 64,
func.func @backward(%dy: memref<8192x5120xbf16>, %x: memref<8192x5120xbf16>, %gamma: memref<5120xbf16>,
    %mean: memref<8192xf32>, %rstd: memref<8192xf32>, %dx: memref<8192x5120xbf16>, %dgamma: memref<5120xbf16>, %dbeta: memref<5120xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8192x5120xbf16>) x(%x : memref<8192x5120xbf16>) gamma(%gamma : memref<5120xbf16>)
      mean(%mean : memref<8192xf32>) rstd(%rstd : memref<8192xf32>)
      outs dx(%dx : memref<8192x5120xbf16>) dgamma(%dgamma : memref<5120xbf16>) dbeta(%dbeta : memref<5120xbf16>)
  return
}

// The trees say of as many rows of 2048 columns that they do not fit the
// registers; they do, and take less time than two workgroups of two rows.
// CHECK-LABEL: func.func @registers(
// CHECK: schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 128, workgroups_per_compute_unit = 1,
func.func @registers(%dy: memref<16384x2048xbf16>, %x: memref<16384x2048xbf16>, %gamma: memref<2048xbf16>,
    %mean: memref<16384xf32>, %rstd: memref<16384xf32>, %dx: memref<16384x2048xbf16>, %dgamma: memref<2048xbf16>, %dbeta: memref<2048xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<16384x2048xbf16>) x(%x : memref<16384x2048xbf16>) gamma(%gamma : memref<2048xbf16>)
      mean(%mean : memref<16384xf32>) rstd(%rstd : memref<16384xf32>)
      outs dx(%dx : memref<16384x2048xbf16>) dgamma(%dgamma : memref<2048xbf16>) dbeta(%dbeta : memref<2048xbf16>)
  return
}

// Each workgroup of short rows adds up leaves of 64 rows, and ends.
// CHECK-LABEL: func.func @short(
// CHECK: rows_per_workgroup = 128, workgroups_per_compute_unit = 0,
func.func @short(%dy: memref<100000x120xbf16>, %x: memref<100000x120xbf16>, %gamma: memref<120xbf16>,
    %mean: memref<100000xf32>, %rstd: memref<100000xf32>, %dx: memref<100000x120xbf16>, %dgamma: memref<120xbf16>, %dbeta: memref<120xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<100000x120xbf16>) x(%x : memref<100000x120xbf16>) gamma(%gamma : memref<120xbf16>)
      mean(%mean : memref<100000xf32>) rstd(%rstd : memref<100000xf32>)
      outs dx(%dx : memref<100000x120xbf16>) dgamma(%dgamma : memref<120xbf16>) dbeta(%dbeta : memref<120xbf16>)
  return
}

// Five leaves of two slices are chains for ten compute units: workgroups share
// rows, and each has all rows of its columns.
// CHECK-LABEL: func.func @few(
// CHECK: rows_per_workgroup = 0, {{.*}}row_splits = 2
func.func @few(%dy: memref<68x6344xf32>, %x: memref<68x6344xf32>, %gamma: memref<6344xf32>,
    %mean: memref<68xf32>, %rstd: memref<68xf32>, %dx: memref<68x6344xf32>, %dgamma: memref<6344xf32>, %dbeta: memref<6344xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<68x6344xf32>) x(%x : memref<68x6344xf32>) gamma(%gamma : memref<6344xf32>)
      mean(%mean : memref<68xf32>) rstd(%rstd : memref<68xf32>)
      outs dx(%dx : memref<68x6344xf32>) dgamma(%dgamma : memref<6344xf32>) dbeta(%dbeta : memref<6344xf32>)
  return
}
