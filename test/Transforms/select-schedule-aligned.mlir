// RUN: lnbwd-opt %s --lnbwd-select-schedule=chip=sm_90 | FileCheck %s --check-prefixes=CHECK,NVIDIA
// RUN: lnbwd-opt %s --lnbwd-select-schedule=chip=gfx942 | FileCheck %s --check-prefixes=CHECK,AMD

// Rows of which only elements begin alike are aligned on NVIDIA's chips, so that
// accesses are of full width, where rows are summed as well.
// CHECK-LABEL: func @odd(
// NVIDIA:        vector_width = 8,
// AMD:           vector_width = 1,
func.func @odd(%x: memref<?x255xf16>, %y: memref<?x255xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x255xf16>) outs(%y[m, n] : memref<?x255xf16>) {
  ^bb0(%xr: vector<255xf16>):
    lnbwd.yield %xr : vector<255xf16>
  }
  return
}
// CHECK-LABEL: func @sums(
// NVIDIA:        vector_width = 8,
// AMD:           vector_width = 1,
func.func @sums(%x: memref<?x255xf16>, %s: memref<?xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x255xf16>) outs(%s[m] : memref<?xf16>) {
  ^bb0(%xr: vector<255xf16>):
    %w = arith.extf %xr : vector<255xf16> to vector<255xf32>
    %sum = vector.reduction <add>, %w : vector<255xf32> into f32
    %t = arith.truncf %sum : f32 to f16
    lnbwd.yield %t : f16
  }
  return
}

// Not where each access has four bytes, where a row is but a few accesses, or
// where columns stay with a lane.
// CHECK-LABEL: func @even(
// CHECK:         vector_width = 2,
func.func @even(%x: memref<?x254xf16>, %y: memref<?x254xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x254xf16>) outs(%y[m, n] : memref<?x254xf16>) {
  ^bb0(%xr: vector<254xf16>):
    lnbwd.yield %xr : vector<254xf16>
  }
  return
}
// CHECK-LABEL: func @short(
// CHECK:         vector_width = 1,
func.func @short(%x: memref<?x31xf16>, %y: memref<?x31xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x31xf16>) outs(%y[m, n] : memref<?x31xf16>) {
  ^bb0(%xr: vector<31xf16>):
    lnbwd.yield %xr : vector<31xf16>
  }
  return
}
// CHECK-LABEL: func @columns(
// CHECK:         vector_width = 1,
func.func @columns(%x: memref<?x255xf16>, %g: memref<255xf16>, %y: memref<?x255xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x255xf16>, %g[n] : memref<255xf16>) outs(%y[m, n] : memref<?x255xf16>) {
  ^bb0(%xr: vector<255xf16>, %gr: vector<255xf16>):
    %p = arith.mulf %xr, %gr : vector<255xf16>
    lnbwd.yield %p : vector<255xf16>
  }
  return
}
