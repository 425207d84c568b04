// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --canonicalize --split-input-file | FileCheck %s

// A kernel that reads split row sums and may start early loads all else of a
// row before it waits for the kernel that writes those.
// CHECK-LABEL: gpu.func @sums(
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NEXT:    nvvm.griddepcontrol launch_dependents
// CHECK:         lane.for_rows
// CHECK-NOT:     nvvm.griddepcontrol wait
// CHECK-LABEL: gpu.func @rest(
// CHECK-NOT:     nvvm.griddepcontrol wait
// CHECK:         lane.for_rows
// CHECK:           lane.load %{{.*}}[%[[ROW:.*]]] at
// CHECK-NEXT:      lane.load_scalar %{{.*}}[%[[ROW]]] : memref<?xf32, #gpu
// CHECK-NEXT:      nvvm.griddepcontrol wait
// CHECK-NEXT:      lane.load_scalar %{{.*}}[%[[ROW]]] : memref<?xf32, strided<[2]>
// CHECK-NEXT:      lane.load_scalar %{{.*}}[%[[ROW]]] : memref<?xf32, strided<[2], offset: 1>
// CHECK-NOT:     nvvm.griddepcontrol wait
// CHECK:       func.func @parts
func.func @parts(%x: memref<?x512xf32>, %t: memref<?xf32>, %m: index) {
  %s = memref.alloc(%m) {lnbwd.row_scalar = 2 : i64} : memref<?x2xf32>
  lnbwd.rowwise @sums domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%s[m, *] : memref<?x2xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1,
                                             workgroups_per_compute_unit = 0, column_tile = 256, dependent_launch = true>} {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  lnbwd.rowwise @rest domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %s[m, *] : memref<?x2xf32>, %t[m] : memref<?xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 4,
                                             workgroups_per_compute_unit = 1, column_tile = 256, dependent_launch = true>} {
  ^bb0(%xr: vector<512xf32>, %sr: f32, %tr: f32):
    %both = arith.mulf %sr, %tr : f32
    %spread = vector.broadcast %both : f32 to vector<512xf32>
    %a = arith.mulf %xr, %spread : vector<512xf32>
    lnbwd.yield %a : vector<512xf32>
  }
  return
}
