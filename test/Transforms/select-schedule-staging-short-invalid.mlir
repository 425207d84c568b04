// RUN: not lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule=schedule=stages=2,row_groups=1,threads_per_row=4 2>&1 | FileCheck %s

// A copy that begins before its row ends within the next one, which has to be
// long enough.
// CHECK: error: {{.*}}expected rows of at least 32 bytes where stages is set, got row length 7
func.func @f(%x: memref<?x7xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x7xf32>) outs(%t[m] : memref<?xf32>) {
  ^bb0(%xr: vector<7xf32>):
    %sum = vector.reduction <add>, %xr : vector<7xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}
