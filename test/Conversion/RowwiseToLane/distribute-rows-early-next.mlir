// RUN: lnbwd-opt %s --lnbwd-distribute-rows=chip=sm_90 --split-input-file | FileCheck %s

// The next kernel may start before this one has waited: once, and not again
// behind the rows.
// CHECK-LABEL: gpu.func @k(
// CHECK:         lane.place
// CHECK-NEXT:    lane.allow_next_kernel
// CHECK-NEXT:    lane.await_previous_kernel
// CHECK:         lane.for_rows
// CHECK-NOT:     lane.allow_next_kernel
// CHECK:         gpu.return
func.func @early(%x: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%x : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4, early_start = true, early_next = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// A kernel that starts late lets the next one start early all the same.
// CHECK-LABEL: gpu.func @k(
// CHECK:         lane.place
// CHECK-NEXT:    lane.allow_next_kernel
// CHECK-NOT:     lane.await_previous_kernel
// CHECK-NOT:     lane.allow_next_kernel
// CHECK:         gpu.return
func.func @late(%x: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%x : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4, early_next = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
