// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-split-row-sums | FileCheck %s

// Rows come early for the first sums alone, which read them first.
// CHECK-LABEL: func @two_phases(
// CHECK:         lnbwd.rowwise @k_row_sums domain(m | n) ins(
// CHECK-SAME:      column_tile = 1024, dependent_launch = true, prefetch_before_dependency = true, late_columns = true>
// CHECK:         lnbwd.rowwise @k_row_sums_1 domain(m | n) ins(
// CHECK-SAME:      column_tile = 1024, dependent_launch = true, late_columns = true>
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(
// CHECK-SAME:      column_tile = 256, dependent_launch = true>
func.func @two_phases(%x: memref<?x2048xf32>, %y: memref<?x2048xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x2048xf32>) outs(%y[m, n] : memref<?x2048xf32>, %t[m] : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 0, column_tile = 256, dependent_launch = true, row_splits = 2,
                                             prefetch_before_dependency = true>} {
  ^bb0(%xr: vector<2048xf32>):
    %sum = vector.reduction <add>, %xr : vector<2048xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<2048xf32>
    %apart = arith.subf %xr, %spread : vector<2048xf32>
    %squares = arith.mulf %apart, %apart : vector<2048xf32>
    %both = vector.reduction <add>, %squares : vector<2048xf32> into f32
    %again = vector.broadcast %both : f32 to vector<2048xf32>
    %result = arith.mulf %apart, %again : vector<2048xf32>
    lnbwd.yield %result, %both : vector<2048xf32>, f32
  }
  return
}
