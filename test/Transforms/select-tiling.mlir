// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=gfx942 | FileCheck %s --check-prefixes=CHECK,MFMA
// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=gfx950 | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=gfx1100 | FileCheck %s --check-prefixes=CHECK,WMMA
// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=sm_80 | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: lnbwd-opt %s --lnbwd-select-tiling=chip=gfx1030 | FileCheck %s --check-prefix=NONE
// RUN: lnbwd-opt %s --lnbwd-select-tiling="chip=gfx942 rows=512" | FileCheck %s --check-prefix=FEW

// NONE-NOT: tiling = {{.*}}rows = 64
// NONE-NOT: tiling = {{.*}}rows = 128

// Tiles of 128 x 128, which four waves of 64 lanes or eight of 32 make.
// Of 512 rows there would be too few.
// CHECK-LABEL: @wide
// MFMA: <rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 64, instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>
// WIDE: depth = 64, {{.*}} instruction_depth = 32>
// WMMA: wave_rows = 64, wave_columns = 32, instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>
// CUDA: <rows = 128, columns = 128, depth = 64, wave_rows = 64, wave_columns = 32, instruction_rows = 16, instruction_columns = 8, instruction_depth = 16>
// FEW-LABEL: @wide
// FEW: <rows = 64, columns = 64, depth = 64, wave_rows = 32, wave_columns = 32, instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>
func.func @wide(%x: memref<?x768xbf16>, %w: memref<2304x768xbf16>, %y: memref<?x2304xf32>) {
  lnbwd.product @k lhs(%x : memref<?x768xbf16>) rhs(%w : memref<2304x768xbf16>) outs(%y : memref<?x2304xf32>)
      attributes {rhs_transposed}
  return
}

// float32 where an instruction takes it as it is; also of two types.
// CHECK-LABEL: @single
// MFMA: depth = 32, {{.*}} instruction_depth = 4>
// WIDE: depth = 32, {{.*}} instruction_depth = 4>
// WMMA-NOT: tiling
// CUDA-NOT: tiling
// CHECK-LABEL: @mixed
// MFMA: depth = 32, {{.*}} instruction_depth = 4>
// WMMA-NOT: tiling
func.func @single(%x: memref<?x768xf32>, %w: memref<2304x768xf32>, %y: memref<?x2304xf32>) {
  lnbwd.product @k lhs(%x : memref<?x768xf32>) rhs(%w : memref<2304x768xf32>) outs(%y : memref<?x2304xf32>)
      attributes {rhs_transposed}
  return
}
func.func @mixed(%x: memref<?x768xbf16>, %w: memref<2304x768xf32>, %y: memref<?x2304xf32>) {
  lnbwd.product @k lhs(%x : memref<?x768xbf16>) rhs(%w : memref<2304x768xf32>) outs(%y : memref<?x2304xf32>)
      attributes {rhs_transposed}
  return
}

// A sum over the rows is taken apart until there are workgroups enough: 36 tiles
// for 304 compute units.
// CHECK-LABEL: @outer
// MFMA: splits = 8>
func.func @outer(%dy: memref<?x768xf16>, %x: memref<?x768xf16>, %dw: memref<768x768xf32>) {
  lnbwd.product @k lhs(%dy : memref<?x768xf16>) rhs(%x : memref<?x768xf16>) outs(%dw : memref<768x768xf32>)
      attributes {lhs_transposed}
  return
}

// Of 512 rows there are 64 tiles, and the sum is 32 tiles of its own deep.
// CHECK-LABEL: @deep
// MFMA: instruction_depth = 16>
// FEW-LABEL: @deep
// FEW: splits = 4>
func.func @deep(%x: memref<?x2048xbf16>, %w: memref<512x2048xbf16>, %y: memref<?x512xf32>) {
  lnbwd.product @k lhs(%x : memref<?x2048xbf16>) rhs(%w : memref<512x2048xbf16>) outs(%y : memref<?x512xf32>)
      attributes {rhs_transposed}
  return
}

// What was chosen by hand stays.
// CHECK-LABEL: @given
// CHECK: wave_rows = 16
func.func @given(%x: memref<?x8xbf16>, %w: memref<8x8xbf16>, %y: memref<?x8xf32>) {
  lnbwd.product @k lhs(%x : memref<?x8xbf16>) rhs(%w : memref<8x8xbf16>) outs(%y : memref<?x8xf32>)
      attributes {tiling = #lnbwd.tiling<rows = 32, columns = 32, depth = 64, wave_rows = 16, wave_columns = 16,
                      instruction_rows = 16, instruction_columns = 16, instruction_depth = 16>}
  return
}
