// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// The next kernel of the program may start when this one's rows are done. What
// follows the last one is not known, and need not wait for it.
// CHECK-LABEL: gpu.func @k(
// CHECK-NOT:     nvvm.griddepcontrol launch_dependents
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NOT:     nvvm.griddepcontrol launch_dependents
// CHECK:         lane.for_rows
// CHECK:         nvvm.griddepcontrol launch_dependents
// CHECK-NEXT:    gpu.return
// CHECK-LABEL: gpu.func @last(
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NOT:     nvvm.griddepcontrol launch_dependents
// CHECK:       func.func @next
func.func @next(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4, dependent_launch = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @last domain(m | n) ins(%y[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4, dependent_launch = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// A kernel that starts late lets the next one start early all the same, if that
// one waits.
// CHECK-LABEL: gpu.func @k(
// CHECK-NOT:     nvvm.griddepcontrol wait
// CHECK:         nvvm.griddepcontrol launch_dependents
// CHECK-LABEL: gpu.func @waits(
// CHECK-NOT:     nvvm.griddepcontrol launch_dependents
// CHECK:         gpu.return
// CHECK-LABEL: gpu.func @late(
// CHECK-NOT:     nvvm.griddepcontrol
// CHECK:         gpu.return
func.func @late(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @waits domain(m | n) ins(%y[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4, dependent_launch = true>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @late domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
