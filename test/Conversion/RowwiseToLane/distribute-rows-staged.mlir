// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// What is staged is the plainest loop as well, but that its last row has to
// stay apart where copies reach into the row after.
// CHECK-LABEL: gpu.func @even(
// CHECK-NOT:     last_row_apart
// CHECK:         lane.load %
func.func @even(%x: memref<?x1024xbf16>) {
  lnbwd.rowwise @even domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>) outs(%x[m, n] : memref<?x1024xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 2, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, stages = 2>} {
  ^bb0(%xr: vector<1024xbf16>):
    lnbwd.yield %xr : vector<1024xbf16>
  }
  return
}

// -----

// CHECK-LABEL: gpu.func @odd(
// CHECK:         lane.for_rows {{.*}} attributes {last_row_apart, stages = 2 : i64}
func.func @odd(%x: memref<?x1001xbf16>) {
  lnbwd.rowwise @odd domain(m | n) ins(%x[m, n] : memref<?x1001xbf16>) outs(%x[m, n] : memref<?x1001xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 1, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, stages = 2>} {
  ^bb0(%xr: vector<1001xbf16>):
    lnbwd.yield %xr : vector<1001xbf16>
  }
  return
}

// -----

// Their sums go to totals.
// CHECK-LABEL: gpu.module @staged_sums_kernels
// CHECK:         lane.for_rows {{.*}} attributes {stages = 2 : i64, sum_block = 8 : i64}
func.func @staged_sums(%x: memref<?x1024xf32>, %p: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%p[*, n] add : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 1, stages = 2, sum_block = 8>} {
  ^bb0(%xr: vector<1024xf32>):
    lnbwd.yield %xr : vector<1024xf32>
  }
  return
}
