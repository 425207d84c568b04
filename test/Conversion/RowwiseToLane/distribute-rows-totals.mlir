// RUN: lnbwd-opt %s --lnbwd-distribute-rows=chip=gfx942 --split-input-file | FileCheck %s

// Sums go to totals after every eight iterations.
// CHECK-LABEL: gpu.module @partial_sums_kernels
// CHECK:         lane.for_rows {{.*}} attributes {sum_block = 8 : i64}
func.func @partial_sums(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Of two tiles each, after every four.
// CHECK-LABEL: gpu.module @paired_blocks_kernels
// CHECK:         lane.for_rows {{.*}} attributes {sum_block = 4 : i64}
func.func @paired_blocks(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>, %p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// No totals where rows of 16 bits round the sums more coarsely,
// CHECK-LABEL: gpu.module @sums_of_narrow_rows_kernels
// CHECK:         lane.for_rows
// CHECK-NOT:     sum_block
// CHECK:         gpu.return
func.func @sums_of_narrow_rows(%x: memref<?x512xbf16>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>) outs(%p[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 8, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    lnbwd.yield %wide : vector<512xf32>
  }
  return
}

// -----

// where the registers of a compute unit are taken by its workgroups,
// CHECK-LABEL: gpu.module @sums_without_room_kernels
// CHECK:         lane.for_rows
// CHECK-NOT:     sum_block
// CHECK:         gpu.return
func.func @sums_without_room(%x: memref<?x4096xf32>, %p: memref<?x4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%p[*, n] add : memref<?x4096xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 8>} {
  ^bb0(%xr: vector<4096xf32>):
    lnbwd.yield %xr : vector<4096xf32>
  }
  return
}

// -----

// and for partial sums, of which a lane has a few.
// CHECK-LABEL: gpu.module @sums_of_partial_sums_kernels
// CHECK:         lane.for_rows
// CHECK-NOT:     sum_block
// CHECK:         gpu.return
func.func @sums_of_partial_sums(%p: memref<?x512xf32>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x512xf32>) outs(%s[n] add : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 8, vector_width = 4, rows_per_workgroup = 0, workgroups_per_compute_unit = 0, column_tile = 32, unroll = 4>} {
  ^bb0(%pr: vector<512xf32>):
    lnbwd.yield %pr : vector<512xf32>
  }
  return
}
