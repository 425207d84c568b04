// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --canonicalize --cse | FileCheck %s

// A staged one asks for so much shared memory that a compute unit takes no more
// of its workgroups than the schedule says, here four, wherever there is room
// while the preceding kernel ends.
// CHECK:       func.func @alone
// CHECK:         gpu.launch_func {{.*}} dynamic_shared_memory_size %c46720_i32
func.func @alone(%x: memref<?x1024xbf16>, %o: memref<?x1024xbf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1024xbf16>) outs(%o[m, n] : memref<?x1024xbf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 128, row_groups = 1, vector_width = 8,
                                             rows_per_workgroup = 8, workgroups_per_compute_unit = 4,
                                             stages = 2, dependent_launch = true>} {
  ^bb0(%xr: vector<1024xbf16>):
    lnbwd.yield %xr : vector<1024xbf16>
  }
  return
}
