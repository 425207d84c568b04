// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=sm_90 --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling with the precision tf32, got none; run lnbwd-select-tiling before}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>}
  return
}
