// RUN: not lnbwd-opt %s --lnbwd-gpu-pipeline="chip=gfx942 schedule=prefetch=0" 2>&1 | FileCheck %s

// A product has no schedule that could be set.
// CHECK: error: loc("option schedule"): expected row programs whose schedules 'prefetch=0' can be set in, got none; leave schedule out
func.func @k(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed}
  return
}
