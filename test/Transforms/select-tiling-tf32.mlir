// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=gfx942 | FileCheck %s --check-prefixes=CHECK,MFMA
// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=sm_80 | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=sm_90 | FileCheck %s --check-prefixes=CHECK,CUDA

// CHECK-LABEL: @rounded
// MFMA: <rows = 128, columns = 128, depth = 32, wave_rows = 64, wave_columns = 64, instruction_rows = 16, instruction_columns = 16, instruction_depth = 8>
// CUDA: <rows = 128, columns = 128, depth = 32, wave_rows = 64, wave_columns = 32, instruction_rows = 16, instruction_columns = 8, instruction_depth = 8>
func.func @rounded(%x: memref<?x768xf32>, %w: memref<2304x768xf32>, %y: memref<?x2304xf32>) {
  lnbwd.product @k lhs(%x : memref<?x768xf32>) rhs(%w : memref<2304x768xf32>) outs(%y : memref<?x2304xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>}
  return
}

// What may not be rounded is not.
// CHECK-LABEL: @exact
// MFMA: instruction_depth = 4>
// CUDA-NOT: tiling
func.func @exact(%x: memref<?x768xf32>, %w: memref<2304x768xf32>, %y: memref<?x2304xf32>) {
  lnbwd.product @k lhs(%x : memref<?x768xf32>) rhs(%w : memref<2304x768xf32>) outs(%y : memref<?x2304xf32>)
      attributes {rhs_transposed}
  return
}
