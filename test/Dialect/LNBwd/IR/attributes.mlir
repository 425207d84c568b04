// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s

// What may be written by hand where kernels and launches are.

// CHECK: module attributes {lnbwd.rejected_schedules = {k = [#lnbwd.schedule<threads_per_row = 64,
module attributes {lnbwd.rejected_schedules = {
    k = [#lnbwd.schedule<threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1>]}} {
  gpu.module @kernels {
    // CHECK: lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k"
    gpu.func @k(%x: memref<?x8xf32>) kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<
        entry = "k", row_length = 8, schedule = <threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 1, workgroups_per_compute_unit = 1>>} {
      gpu.return
    }
  }
  // CHECK: func @f(
  // CHECK-SAME: lnbwd.argument = #lnbwd.argument<name = "dy", aliases = ["dx"], kind = "row_block", access = "read_write", row_rank = 2>
  // CHECK-SAME: lnbwd.argument = #lnbwd.argument<kind = "row_scalar", access = "write">
  // CHECK-SAME: lnbwd.operation = #lnbwd.operation<name = "rms_norm">
  func.func @f(%dy: memref<?x4x8xf32> {lnbwd.argument = #lnbwd.argument<name = "dy", aliases = ["dx"], kind = "row_block",
                                                                         access = "read_write", row_rank = 2>},
               %s: memref<?xf32> {lnbwd.argument = #lnbwd.argument<kind = "row_scalar", access = "write">}, %m: index)
      attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm">} {
    // CHECK: memref.alloc(%{{.*}}) {lnbwd.row_scalar}
    %0 = memref.alloc(%m) {lnbwd.row_scalar} : memref<?xf32>
    // CHECK: arith.constant {lnbwd.detach}
    %1 = arith.constant {lnbwd.detach} 1.0 : f32
    return
  }
}
