// RUN: lnbwd-opt %s --lnbwd-convert-products-to-gpu=chip=sm_80 --verify-diagnostics

func.func @f(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected a tiling with an instruction of one wave: sm_80 has none of 64 rows}}
  lnbwd.product @k lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "y"],
                  tiling = #lnbwd.tiling<rows = 128, columns = 256, depth = 64, wave_rows = 64, wave_columns = 256,
                      instruction_rows = 64, instruction_columns = 256, instruction_depth = 16, stages = 4>}
  return
}
