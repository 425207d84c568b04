// RUN: not lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 few-rows=always schedule=prefetch=0" 2>&1 | FileCheck %s

// One workgroup has no schedule that could be set.
// CHECK: error: loc("option schedule"): expected row programs whose schedules 'prefetch=0' can be set in, got none; leave schedule out, or few-rows=always, by which one workgroup takes them
func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %y: memref<?x16xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<16x8xf32>) outs(%y[m, n1] : memref<?x16xf32>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<8xf32>, %wm: vector<16x8xf32>):
    %p = lnbwd.linear %xr, %wm : vector<8xf32>, vector<16x8xf32>
    lnbwd.yield %p : vector<16xf32>
  }
  return
}
