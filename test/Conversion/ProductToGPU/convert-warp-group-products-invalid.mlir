// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=sm_90 --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x100xbf16>, %w: memref<96x100xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected rows of a multiple of 8 elements for a tiling of 4 stages, got 100 of x; leave stages out}}
  lnbwd.product @k lhs(%x : memref<?x100xbf16>) rhs(%w : memref<96x100xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16, stages = 4>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected tiles of at most 232448 bytes, what a workgroup of sm_90 can ask for, got 247168 in 5 stages}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16, stages = 5>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected rows of the tiling to be 64 or 128 with an instruction of 64 rows, got 256}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 256, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16, stages = 4>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected wave_columns of the tiling to be 256 with an instruction of 64 rows, got 128}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 128,
                      instruction_rows = 64, instruction_columns = 128, instruction_depth = 16, stages = 4>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected instruction_columns of the tiling to be 256 with an instruction of 64 rows, got 128}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 128, instruction_depth = 16, stages = 4>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected columns of the tiling to be a power of two from 64 to 256 with an instruction of 64 rows, got 32}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 32, depth = 64, wave_rows = 64, wave_columns = 32,
                      instruction_rows = 64, instruction_columns = 32, instruction_depth = 16, stages = 4>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected at least 2 stages with an instruction of 64 rows, got 1}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected depth of the tiling to be 64 with an instruction of 64 rows, got 128}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 128, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16, stages = 4>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected at most 1 splits of the sum over 64 columns of x, of which a tile has 64, got 2}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16, splits = 2, stages = 4>}
  return
}
