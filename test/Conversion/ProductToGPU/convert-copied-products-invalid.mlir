// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=sm_90 --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x100xbf16>, %w: memref<96x100xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected rows of a multiple of 8 elements for a tiling of 3 stages, got 100 of x; leave stages out}}
  lnbwd.product @k lhs(%x : memref<?x100xbf16>) rhs(%w : memref<96x100xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 8, instruction_depth = 16, stages = 3>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected tiles of at most 232448 bytes, what a workgroup of sm_90 can ask for, got 245760 in 5 stages}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 8, instruction_depth = 16, stages = 5>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling of 1 stage with a prologue, which copies past the registers cannot have; got 3}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 8, instruction_depth = 16, stages = 3>}
      prologue {
  ^row(%xr: vector<64xbf16>):
    %zr = arith.negf %xr : vector<64xbf16>
    lnbwd.product_yield %zr : vector<64xbf16>
  }
  return
}
