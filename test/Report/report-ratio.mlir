// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=report --rows=4096 | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=report --rows=4097 2>&1 | FileCheck %s --check-prefix=WRONG

// A kernel of a fourth of the launch's rows, one to a workgroup: as the runtime counts them, and refuses others.

// CHECK: launch {{ *}}1024 workgroups
// WRONG: error: 'gpu.module' op cannot be reported on: M, the number of rows: expected a multiple of 4, {{.*}} got 4097
func.func @f(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x1024xf32>) outs(%y[m, n] : memref<?x1024xf32>)
      attributes {row_ratio = array<i64: 1, 4>} {
  ^row(%xr: vector<1024xf32>):
    %0 = arith.addf %xr, %xr : vector<1024xf32>
    lnbwd.yield %0 : vector<1024xf32>
  }
  return
}
