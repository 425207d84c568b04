// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=report | FileCheck %s

// Positions that all batches share: no workgroup reads more of them than a row for each of its own. That is 4096 rows of
// 1024 numbers, as often as x is read and y is written.

// CHECK: bytes by the plan {{ *}}50331648
func.func @f(%x: memref<8x512x1024xf32>, %p: memref<512x1024xf32>, %y: memref<8x512x1024xf32>) {
  lnbwd.rowwise @f domain(b, t | n)
      ins(%x[b, t, n] : memref<8x512x1024xf32>, %p[t, n] : memref<512x1024xf32>)
      outs(%y[b, t, n] : memref<8x512x1024xf32>) {
  ^row(%xr: vector<1024xf32>, %pr: vector<1024xf32>):
    %0 = arith.addf %xr, %pr : vector<1024xf32>
    lnbwd.yield %0 : vector<1024xf32>
  }
  return
}
