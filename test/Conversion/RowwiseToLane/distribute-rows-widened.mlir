// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows | FileCheck %s

// Columns are widened where the schedule says; rows in any case in the loop.
// CHECK-LABEL: gpu.func @ahead(
// CHECK:         %[[G:.*]] = lane.load_columns
// CHECK:         %[[W:.*]] = arith.extf %[[G]]
// CHECK:         lane.for_rows
// CHECK:           %[[X:.*]] = lane.load %
// CHECK:           arith.extf %[[X]]
// CHECK:           arith.mulf %{{.*}}, %[[W]] : vector<2x4xf32>
// CHECK-LABEL: gpu.func @within(
// CHECK:         lane.for_rows
// CHECK:           arith.extf
// CHECK:           arith.extf
func.func @both(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @ahead domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2, widen_columns = true>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %xw, %gw : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  lnbwd.rowwise @within domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %xw, %gw : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}
