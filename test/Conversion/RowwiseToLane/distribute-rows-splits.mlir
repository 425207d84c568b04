// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize | FileCheck %s

// Each workgroup reduces over its own columns, and writes the part that is its
// tile's; whoever reads adds up all parts, in order, after the loads of a row.
// CHECK-LABEL: gpu.func @sums(
// CHECK:         %[[TILE:.*]] = gpu.block_id y
// CHECK:         %[[MINE:.*]] = memref.reinterpret_cast %{{.*}} to offset: [%[[TILE]]], sizes: [%{{.*}}], strides: [3] : {{.*}} to memref<?xf32, strided<[3], offset: ?>,
// CHECK:         lane.layout from
// CHECK:         %[[S:.*]] = lane.reduce [#vector.kind<add>] %{{.*}} phase 0 own_columns
// CHECK:         lane.store_scalar %[[S]], %[[MINE]][%{{.*}}] at %{{.*}} own_columns
// CHECK-LABEL: gpu.func @rest(
// CHECK-SAME:    {llvm.align = 16 : i64
// CHECK-DAG:     %[[P0:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%{{.*}}], strides: [3] : {{.*}} to memref<?xf32, strided<[3]>,
// CHECK-DAG:     %[[P1:.*]] = memref.reinterpret_cast %{{.*}} to offset: [1], sizes: [%{{.*}}], strides: [3]
// CHECK-DAG:     %[[P2:.*]] = memref.reinterpret_cast %{{.*}} to offset: [2], sizes: [%{{.*}}], strides: [3]
// CHECK:         %[[A:.*]] = lane.load_scalar %[[P0]][%[[ROW:[a-z0-9_]+]]]
// CHECK:         %[[B:.*]] = lane.load_scalar %[[P1]][%[[ROW]]]
// CHECK:         %[[C:.*]] = lane.load_scalar %[[P2]][%[[ROW]]]
// CHECK:         lane.load_scalar %{{.*}}[%[[ROW]]]
// CHECK:         %[[AB:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK:         %[[ABC:.*]] = arith.addf %[[AB]], %[[C]] : f32
// CHECK:         vector.broadcast %[[ABC]]
// CHECK:       func.func @parts

// CHECK:         gpu.launch_func @parts_kernels::@sums blocks in (%{{.*}}, %c3, %c1) threads in (%c64, %c1, %c1)
func.func @parts(%x: memref<?x700xf32>, %t: memref<?xf32>, %m: index) {
  %s = memref.alloc(%m) {lnbwd.row_scalar = 3 : i64} : memref<?x3xf32>
  lnbwd.rowwise @sums domain(m | n) ins(%x[m, n] : memref<?x700xf32>) outs(%s[m, *] : memref<?x3xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1,
                                             workgroups_per_compute_unit = 0, column_tile = 256>} {
  ^bb0(%xr: vector<700xf32>):
    %sum = vector.reduction <add>, %xr : vector<700xf32> into f32
    lnbwd.yield %sum : f32
  }
  lnbwd.rowwise @rest domain(m | n) ins(%x[m, n] : memref<?x700xf32>, %s[m, *] : memref<?x3xf32>, %t[m] : memref<?xf32>) outs(%x[m, n] : memref<?x700xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 1, column_tile = 256>} {
  ^bb0(%xr: vector<700xf32>, %sr: f32, %tr: f32):
    %both = arith.mulf %sr, %tr : f32
    %spread = vector.broadcast %sr : f32 to vector<700xf32>
    %other = vector.broadcast %both : f32 to vector<700xf32>
    %a = arith.mulf %xr, %spread : vector<700xf32>
    %b = arith.mulf %a, %other : vector<700xf32>
    lnbwd.yield %b : vector<700xf32>
  }
  return
}
