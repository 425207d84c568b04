// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows | FileCheck %s

// What the row needs after its sum is loaded there, by each group for itself, right before its
// first use; what the sum needs is loaded ahead.
// CHECK-LABEL: gpu.func @behind_sum(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: memref<512xf32,{{.*}}, %[[G:[a-z0-9]+]]: memref<512xbf16,
// CHECK:         %[[LAYOUT:.*]] = lane.layout
// CHECK:         %[[WEIGHT:.*]] = lane.load_columns %[[W]] at %[[LAYOUT]] : {{.*}} -> vector<2x4xf32>
// CHECK-NOT:     lane.load_columns
// CHECK:         lane.for_rows
// CHECK:           arith.mulf %{{.*}}, %[[WEIGHT]]
// CHECK:           lane.reduce
// CHECK:           %[[GAMMA:.*]] = lane.load_columns %[[G]] at %[[LAYOUT]] each : {{.*}} -> vector<2x4xbf16>
// CHECK-NEXT:      arith.extf %[[GAMMA]]
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
func.func @late(%x: memref<?x512xf32>, %w: memref<512xf32>, %g: memref<512xbf16>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @behind_sum domain(m | n)
      ins(%x[m, n] : memref<?x512xf32>, %w[n] : memref<512xf32>, %g[n] : memref<512xbf16>)
      outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2,
                                             workgroups_per_compute_unit = 0, late_columns = true>} {
  ^row(%xr: vector<512xf32>, %wr: vector<512xf32>, %gr: vector<512xbf16>):
    %term = arith.mulf %xr, %wr : vector<512xf32>
    %s = vector.reduction <add>, %term : vector<512xf32> into f32
    %sv = vector.broadcast %s : f32 to vector<512xf32>
    %wide = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %scaled = arith.mulf %sv, %wide : vector<512xf32>
    %r = arith.addf %scaled, %wide : vector<512xf32>
    lnbwd.yield %r : vector<512xf32>
  }
  return
}

// Without a sum there is nothing to wait for.
// CHECK-LABEL: gpu.func @no_sum(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
func.func @early(%x: memref<?x512xf32>, %g: memref<512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @no_sum domain(m | n)
      ins(%x[m, n] : memref<?x512xf32>, %g[n] : memref<512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2,
                                             workgroups_per_compute_unit = 0, late_columns = true>} {
  ^row(%xr: vector<512xf32>, %gr: vector<512xf32>):
    %r = arith.mulf %xr, %gr : vector<512xf32>
    lnbwd.yield %r : vector<512xf32>
  }
  return
}

// A schedule without late_columns has columns once for all rows of a workgroup.
// CHECK-LABEL: gpu.func @further_rows(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
func.func @ahead(%x: memref<?x512xf32>, %g: memref<512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @further_rows domain(m | n)
      ins(%x[m, n] : memref<?x512xf32>, %g[n] : memref<512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 1>} {
  ^row(%xr: vector<512xf32>, %gr: vector<512xf32>):
    %s = vector.reduction <add>, %xr : vector<512xf32> into f32
    %sv = vector.broadcast %s : f32 to vector<512xf32>
    %r = arith.mulf %sv, %gr : vector<512xf32>
    lnbwd.yield %r : vector<512xf32>
  }
  return
}
