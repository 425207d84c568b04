// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s

// A group of three rows is no more than a workgroup has side by side: it has a
// leaf of them.
// CHECK: rows_per_workgroup = {{[1-9]}}
func.func @groups(%x: memref<2x3x64xf32>, %t: memref<2x3xf32>, %s: memref<2x64xf32>) {
  lnbwd.rowwise @groups domain(g, m | n) ins(%x[g, m, n] : memref<2x3x64xf32>) outs(%t[g, m] : memref<2x3xf32>, %s[g, n] add : memref<2x64xf32>) attributes {canonical} {
  ^row(%xr: vector<64xf32>):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    lnbwd.yield %sum, %xr : f32, vector<64xf32>
  }
  return
}
