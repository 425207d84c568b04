// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// A width that does not divide the row length: accesses begin before a row.
// What depends on where a row begins takes the row.
// CHECK:       ![[LAYOUT:.*]] = !lane.layout<row_length = 197, lanes = 32, groups = 2, width = 8, span = 208>
// CHECK-LABEL: gpu.func @rows
// CHECK:         %[[AT:.*]] = lane.layout : ![[LAYOUT]]
// CHECK:         %[[ROW:.*]] = lane.row %{{.*}} at %[[AT]]
// CHECK:         %[[X:.*]] = lane.load %{{.*}}[%[[ROW]]] at %[[AT]] : ![[LAYOUT]], memref<?x197xf16, #gpu.address_space<global>> -> vector<1x8xf16>
// CHECK:         lane.column_index %[[AT]] row %[[ROW]] : ![[LAYOUT]] -> vector<1x8xi32>
func.func @f(%x: memref<?x197xf16>, %y: memref<?x197xf16>) {
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x197xf16>) outs(%y[m, n] : memref<?x197xf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>} {
  ^bb0(%xr: vector<197xf16>):
    %w = arith.extf %xr : vector<197xf16> to vector<197xf32>
    %i = lnbwd.index 1 : vector<197xi32>
    %n = arith.sitofp %i : vector<197xi32> to vector<197xf32>
    %t = arith.addf %w, %n : vector<197xf32>
    %z = arith.truncf %t : vector<197xf32> to vector<197xf16>
    lnbwd.yield %z : vector<197xf16>
  }
  return
}

// -----

// Tiles cover the span, of which the last may have columns of some rows alone.
// CHECK:       !lane.layout<row_length = 1022, lanes = 32, groups = 1, width = 8, columns = 256, span = 1032>
// CHECK-LABEL: func.func @tiles
// CHECK:         gpu.launch_func @{{.*}} blocks in (%{{.*}}, %c5, %{{.*}})
func.func @tiles(%x: memref<?x1022xf16>, %y: memref<?x1022xf16>) {
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x1022xf16>) outs(%y[m, n] : memref<?x1022xf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 8, rows_per_workgroup = 1, workgroups_per_compute_unit = 0, column_tile = 256>} {
  ^bb0(%xr: vector<1022xf16>):
    lnbwd.yield %xr : vector<1022xf16>
  }
  return
}

// -----

// What sums a row says which row it is, too.
// CHECK:       ![[LAYOUT:.*]] = !lane.layout<row_length = 333, lanes = 32, groups = 2, width = 8, columns = 176, span = 344>
// CHECK-LABEL: gpu.func @sums
// CHECK:         %[[ROW:.*]] = lane.row
// CHECK:         lane.fold [#vector.kind<add>] %{{.*}} at %{{.*}} row %[[ROW]] : ![[LAYOUT]], vector<1x8xf32> -> vector<8xf32>
func.func @h(%x: memref<?x333xbf16>, %y: memref<?xf32>) {
  lnbwd.rowwise @sums domain(m | n) ins(%x[m, n] : memref<?x333xbf16>) outs(%y[m] : memref<?xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 2, vector_width = 8, rows_per_workgroup = 2, workgroups_per_compute_unit = 0, workgroups_per_row = 2>} {
  ^bb0(%xr: vector<333xbf16>):
    %w = arith.extf %xr : vector<333xbf16> to vector<333xf32>
    %s = vector.reduction <add>, %w : vector<333xf32> into f32
    lnbwd.yield %s : f32
  }
  return
}
