// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=sm_90 schedule=stages=2' --emit=ptx -o - | FileCheck %s

// Rows come by bulk copies, what is repeated over them by plain loads.
// CHECK-LABEL: .entry f(
// CHECK:         cp.async.bulk
// CHECK:         ld.global.nc
func.func @f(%x: memref<?x16x512xf32>, %p: memref<16x512xf32>, %y: memref<?x16x512xf32>) {
  lnbwd.rowwise @f domain(b, t | n) ins(%x[b, t, n] : memref<?x16x512xf32>, %p[t, n] : memref<16x512xf32>)
      outs(%y[b, t, n] : memref<?x16x512xf32>) {
  ^row(%xr: vector<512xf32>, %pr: vector<512xf32>):
    %yr = arith.addf %xr, %pr : vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}
