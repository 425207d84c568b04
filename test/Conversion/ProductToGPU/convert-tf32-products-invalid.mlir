// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=sm_90 --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling with the precision tf32, got none; run lnbwd-select-tiling before}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>}
  return
}

// -----

func.func @f(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling of 1 stage for matrices of 'f32', copies past the registers being of 16-bit elements; got 3}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>,
                  tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 32, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 8, instruction_depth = 8, stages = 3>}
  return
}

// -----

// The instruction of four waves is of 16-bit elements here.
func.func @f(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling with the instruction that sm_90 has for 'tf32', 16 x 8 x 8, got 64 x 128 x 16}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>,
                  tiling = #lnbwd.tiling<rows = 64, columns = 128, depth = 64, wave_rows = 64, wave_columns = 128,
                      instruction_rows = 64, instruction_columns = 128, instruction_depth = 16, stages = 4>}
  return
}
