// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --split-input-file | FileCheck %s --check-prefixes=CHECK,NVIDIA
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file | FileCheck %s --check-prefixes=CHECK,AMD

// Where rows may be left that do not fill a tile and a sum waits for another,
// vectors are widened ahead of the loop, for those rows as well; rows are not.
// CHECK-LABEL: gpu.func @several(
// CHECK:         %[[G:.*]] = lane.load_columns
// NVIDIA:        %[[W:.*]] = arith.extf %[[G]]
// CHECK:         lane.for_rows
// CHECK:           %[[X:.*]] = lane.load %
// CHECK:           arith.extf %[[X]]
// AMD:             %[[W:.*]] = arith.extf %[[G]]
// CHECK:           arith.mulf %[[W]], %{{.*}} : vector<2x4xf32>
func.func @several(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @several domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %first = vector.reduction <add>, %xw : vector<512xf32> into f32
    %spread = vector.broadcast %first : f32 to vector<512xf32>
    %c = arith.subf %xw, %spread : vector<512xf32>
    %square = arith.mulf %c, %c : vector<512xf32>
    %second = vector.reduction <add>, %square : vector<512xf32> into f32
    %scale = vector.broadcast %second : f32 to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %gw, %scale : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// One sum alone.
// CHECK-LABEL: gpu.func @one(
// CHECK:         lane.for_rows
// CHECK:           arith.extf
// CHECK:           arith.extf
func.func @one(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @one domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %first = vector.reduction <add>, %xw : vector<512xf32> into f32
    %scale = vector.broadcast %first : f32 to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %gw, %scale : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// One row a workgroup leaves none; nor is a loop that takes one tile ahead of
// anything.
// CHECK-LABEL: gpu.func @alone(
// CHECK:         lane.for_rows
// CHECK:           arith.extf
// CHECK:           arith.extf
// CHECK-LABEL: gpu.func @once(
// CHECK:         lane.for_rows
// CHECK:           arith.extf
// CHECK:           arith.extf
func.func @others(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @alone domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %xw, %gw : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  lnbwd.rowwise @once domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %xw, %gw : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}

// -----

// Nor where there are column sums.
// CHECK-LABEL: gpu.func @sums(
// CHECK:         lane.for_rows
// CHECK:           arith.extf
// CHECK:           arith.extf
func.func @sums(%x: memref<?x512xbf16>, %g: memref<512xbf16>, %o: memref<?x512xf32>) {
  lnbwd.rowwise @sums domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %g[n] : memref<512xbf16>) outs(%o[*, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2>} {
  ^bb0(%xr: vector<512xbf16>, %gr: vector<512xbf16>):
    %xw = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    %gw = arith.extf %gr : vector<512xbf16> to vector<512xf32>
    %y = arith.mulf %xw, %gw : vector<512xf32>
    lnbwd.yield %y : vector<512xf32>
  }
  return
}
