// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=gfx942 --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling with the instruction that gfx942 has for 'bf16', 16 x 16 x 16, got 16 x 16 x 32}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 32>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling of depth 64, the 128 bytes of 'bf16' that a tile has of each row of x and w, got 128}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 128, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected rows of the tiling to be a power of two of at least 16, got 192}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 192, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling of at most 1024 work-items, got 64 waves of 64}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 64, wave_rows = 16, wave_columns = 16,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected rows of the tiling to be from 32 to 128 for 256 work-items, got 256}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 256, columns = 128, depth = 64, wave_rows = 128, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
  return
}

// -----

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected tiles of at most 65536 bytes, the shared memory of gfx942, got 98304}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, tiling = #lnbwd.tiling<rows = 512, columns = 256, depth = 64, wave_rows = 64, wave_columns = 128,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
  return
}

// -----

func.func @f(%x: memref<?x768xbf16>, %w: memref<96x768xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected at most 12 splits of the sum over 768 columns of x, of which a tile has 64, got 16}}
  lnbwd.product @k lhs(%x : memref<?x768xbf16>) rhs(%w : memref<96x768xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16, splits = 16>}
  return
}
