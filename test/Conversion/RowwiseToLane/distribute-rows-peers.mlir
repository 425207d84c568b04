// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows | FileCheck %s

// Workgroups that share a row: each is at its columns, which begin where the
// grid's second dimension says, and the chip starts them together.
// CHECK:       !layout = !lane.layout<row_length = 1024, lanes = 64, groups = 2, width = 4, columns = 256>
// CHECK:       !layout1 = !lane.layout<row_length = 1208, lanes = 64, groups = 2, width = 4, columns = 304>
// CHECK-LABEL: gpu.module @shared_kernels
// CHECK:       gpu.func @k(
// CHECK-SAME:    known_cluster_size = array<i32: 1, 4, 1>
// CHECK:         %[[NUMBER:.*]] = gpu.block_id y
// CHECK:         %[[FIRST:.*]] = arith.muli %[[NUMBER]], %{{.*}} : index
// CHECK:         %[[LAYOUT:.*]] = lane.layout from %[[FIRST]] : !layout
// CHECK:         lane.for_rows
// CHECK:           lane.reduce [#vector.kind<add>] %{{.*}} at %[[LAYOUT]] iteration
// CHECK:         gpu.launch_func @shared_kernels::@k clusters in (%c1{{.*}}, %c4{{.*}}, %c1{{.*}}) blocks in (%{{.*}}, %c4{{.*}}, %c1)
func.func @shared(%x: memref<?x1024xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%x[m, n] : memref<?x1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, workgroups_per_row = 4>} {
  ^bb0(%xr: vector<1024xf32>):
    %s = vector.reduction <add>, %xr : vector<1024xf32> into f32
    %spread = vector.broadcast %s : f32 to vector<1024xf32>
    lnbwd.yield %spread : vector<1024xf32>
  }
  return
}

// Where accesses do not divide the parts, they are as even as copies allow: 304,
// 304, 304 and 296 columns.
// CHECK-LABEL: gpu.module @ragged_kernels
// CHECK:         %[[NUMBER:.*]] = gpu.block_id y
// CHECK:         arith.muli %[[NUMBER]], %c304
func.func @ragged(%x: memref<?x1208xf32>) {
  lnbwd.rowwise @r domain(m | n) ins(%x[m, n] : memref<?x1208xf32>) outs(%x[m, n] : memref<?x1208xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, workgroups_per_row = 4>} {
  ^bb0(%xr: vector<1208xf32>):
    %s = vector.reduction <add>, %xr : vector<1208xf32> into f32
    %spread = vector.broadcast %s : f32 to vector<1208xf32>
    lnbwd.yield %spread : vector<1208xf32>
  }
  return
}
