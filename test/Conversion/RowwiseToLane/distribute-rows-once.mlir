// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// A grid without a bound has a workgroup for each tile of rows.
// CHECK-LABEL: gpu.func @once
// CHECK:         lane.for_rows {{.*}} attributes {once}
// CHECK-LABEL: gpu.func @wave
// CHECK:         lane.for_rows {{.*}} attributes {once}
func.func @once(%x: memref<?x512xf32>) {
  lnbwd.rowwise @once domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, late_columns = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @wave domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 4, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 0>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Several tiles for a workgroup, workgroups that stay, and rows that are loaded
// ahead need the loop.
// CHECK-LABEL: gpu.func @several
// CHECK-NOT:     once
// CHECK-LABEL: gpu.func @stay
// CHECK-NOT:     once
// CHECK-LABEL: gpu.func @ahead
// CHECK-NOT:     once
// CHECK:         lane.for_rows {{.*}} attributes {prefetch, unroll = 2 : i64}
func.func @loops(%x: memref<?x512xf32>) {
  lnbwd.rowwise @several domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 0>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @stay domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @ahead domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, prefetch = 1, unroll = 2, dependent_launch = true, prefetch_before_dependency = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// CHECK-LABEL: gpu.func @again
// CHECK:         lane.for_rows {{.*}} attributes {reload}
func.func @again(%x: memref<?x512xf32>) {
  lnbwd.rowwise @again domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, reload = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
