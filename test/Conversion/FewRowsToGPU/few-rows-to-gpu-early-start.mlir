// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=sm_90 few-rows=always" | FileCheck %s --check-prefix=EARLY
// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=sm_80 few-rows=always" | FileCheck %s --check-prefix=LATE

// The wait stands before all accesses to memory, and what follows may start.
// EARLY: gpu.func @product
// EARLY-NOT: memref.load
// EARLY: lane.grid_dependency_wait
// EARLY-NEXT: lane.launch_dependents
// EARLY: gpu.launch_func
// EARLY-SAME: {lnbwd.dependent_launch}
// LATE-NOT: lane.grid_dependency_wait
// LATE: gpu.launch_func
// LATE-NOT: dependent_launch
func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %y: memref<?x16xf32>) {
  lnbwd.rowwise @product domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<16x8xf32>) outs(%y[m, n1] : memref<?x16xf32>) {
  ^row(%xr: vector<8xf32>, %wm: vector<16x8xf32>):
    %p = lnbwd.linear %xr, %wm : vector<8xf32>, vector<16x8xf32>
    lnbwd.yield %p : vector<16xf32>
  }
  return
}
