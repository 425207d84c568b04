// RUN: lnbwd-opt %s --canonicalize --split-input-file | FileCheck %s

// One workgroup takes all rows where the schedule says so.
// CHECK-LABEL: func @one_workgroup(
// CHECK-NEXT:    %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT:    return %[[ONE]]
func.func @one_workgroup(%m: index) -> index {
  %w = lnbwd.workgroup_count %m schedule <threads_per_row = 8, row_groups = 32, vector_width = 4,
                                          rows_per_workgroup = 0, workgroups_per_compute_unit = 4>
  return %w : index
}

// -----

// Otherwise the count depends on the device.
// CHECK-LABEL: func @many_workgroups(
// CHECK:         %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count
// CHECK-NEXT:    return %[[W]]
func.func @many_workgroups() -> index {
  %m = arith.constant 1 : index
  %w = lnbwd.workgroup_count %m schedule <threads_per_row = 8, row_groups = 32, vector_width = 4,
                                          rows_per_workgroup = 32, workgroups_per_compute_unit = 4>
  return %w : index
}

// -----

// The number of rows stays what a launch is free to choose.
// CHECK-LABEL: func @static_rows(
// CHECK:         %[[M:[a-z0-9_]+]] = lnbwd.row_count %{{.*}} : memref<64x512xf32>
// CHECK-NEXT:    return %[[M]]
func.func @static_rows(%x: memref<64x512xf32>) -> index {
  %m = lnbwd.row_count %x : memref<64x512xf32>
  return %m : index
}

// -----

// CHECK-LABEL: func @unused_counts(
// CHECK-NEXT:    return
func.func @unused_counts(%x: memref<?x512xf32>) {
  %m = lnbwd.row_count %x : memref<?x512xf32>
  %w = lnbwd.workgroup_count %m schedule <threads_per_row = 8, row_groups = 32, vector_width = 4,
                                          rows_per_workgroup = 32, workgroups_per_compute_unit = 4>
  return
}
