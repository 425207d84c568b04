// RUN: not lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=prefetch=0" 2>&1 | FileCheck %s

// A product has no schedule that could be set, and nor has its epilogue.
// CHECK: error: loc("option schedule"): expected row programs whose schedules 'prefetch=0' can be set in, got none; leave schedule out
func.func @k(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xbf16>
  %sums = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @sums lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%sums : memref<?x96xf32>)
      attributes {rhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%sums[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xf32>) {
  ^row(%p: vector<96xf32>):
    %s = arith.negf %p : vector<96xf32>
    lnbwd.yield %s : vector<96xf32>
  }
  return
}
