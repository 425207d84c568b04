// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=gfx90a --verify-diagnostics

func.func @f(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{cannot have the precision tf32: gfx90a has no matrix instruction that rounds float32 to it}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>,
                  tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 32, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 4>}
  return
}
