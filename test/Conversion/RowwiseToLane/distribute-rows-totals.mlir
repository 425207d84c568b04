// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// Sums go to totals after every eight iterations.
// CHECK-LABEL: gpu.module @partial_sums_kernels
// CHECK:         lane.for_rows {{.*}} attributes {sum_block = 8 : i64}
func.func @partial_sums(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, sum_block = 8>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Of a schedule without that field they do not.
// CHECK-LABEL: gpu.module @one_sum_kernels
// CHECK:         lane.for_rows
// CHECK-NOT:     sum_block
// CHECK:         gpu.return
func.func @one_sum(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
