// RUN: lnbwd-opt %s --lnbwd-distribute-rows=chip=sm_90 --lnbwd-distribute-to-gpu=chip=sm_90 | FileCheck %s

// Programs that go by the lane level and programs that do not share a module, in
// the order of their launches.
// CHECK-LABEL: gpu.module @mixed_kernels
// CHECK:         gpu.func @first
// CHECK:         gpu.func @second
// CHECK:           lane.for_rows
// CHECK:         gpu.func @third
// CHECK-LABEL: func.func @mixed
// CHECK:         gpu.launch_func @mixed_kernels::@first
// CHECK:         gpu.launch_func @mixed_kernels::@second
// CHECK:         gpu.launch_func @mixed_kernels::@third
func.func @mixed(%x: memref<?x512xf32>) {
  lnbwd.rowwise @first rows(%x : memref<?x512xf32>) outs rows(%x : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, stages = 2>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @second rows(%x : memref<?x512xf32>) outs rows(%x : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  lnbwd.rowwise @third rows(%x : memref<?x512xf32>) outs rows(%x : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, stages = 2>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
