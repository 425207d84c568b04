// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule=schedule=most_registers=128 2>&1 | FileCheck %s

// The bound is one of PTX.
// CHECK: error: {{.*}}expected most_registers 0 on gfx942, got 128
func.func @f(%x: memref<?x512xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%t[m] : memref<?xf32>) {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
