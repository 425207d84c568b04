// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 2>&1 | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-pipeline="chip=gfx942 two-pass=never" 2>&1 | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=sm_90 2>&1 | FileCheck %s

// CHECK: linear-invalid.mlir:[[# @LINE + 2]]:3: error: 'lnbwd.rowwise' op has no kernel yet: expected a row program without matrices and outer sums, got the matrix 'w'; products of matrices are derived and simplified, but not lowered
func.func @linear(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @linear rows(%x : memref<?x64xf32>) matrices(%w : memref<96x64xf32>) outs rows(%y : memref<?x96xf32>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}
