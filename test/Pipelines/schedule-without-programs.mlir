// RUN: not lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=prefetch=0" 2>&1 | FileCheck %s

// A product has no schedule that could be set, and nor has its epilogue.
// CHECK: error: loc("option schedule"): expected row programs whose schedules 'prefetch=0' can be set in, got none; leave schedule out
func.func @k(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %w[n1, n0] : memref<96x64xbf16>)
      outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xbf16>, %wm: vector<96x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<96x64xbf16>
    %s = arith.negf %p : vector<96xf32>
    lnbwd.yield %s : vector<96xf32>
  }
  return
}
