// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-select-schedule | FileCheck %s --check-prefixes=CHECK,NVIDIA
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule | FileCheck %s --check-prefixes=CHECK,AMD

// Rows of which only elements begin alike are aligned on NVIDIA's chips, so that
// accesses are of full width.
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
// CHECK-LABEL: func @wide(
// NVIDIA:        vector_width = 4,
// AMD:           vector_width = 1,
func.func @wide(%x: memref<?x255xf32>, %y: memref<?x255xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x255xf32>) outs(%y[m, n] : memref<?x255xf32>) {
  ^bb0(%xr: vector<255xf32>):
    lnbwd.yield %xr : vector<255xf32>
  }
  return
}

// So are rows that are summed, if they are written as well.
// CHECK-LABEL: func @written(
// NVIDIA:        vector_width = 8,
// AMD:           vector_width = 2,
func.func @written(%x: memref<?x1022xf16>, %y: memref<?x1022xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1022xf16>) outs(%y[m, n] : memref<?x1022xf16>) {
  ^bb0(%xr: vector<1022xf16>):
    %w = arith.extf %xr : vector<1022xf16> to vector<1022xf32>
    %sum = vector.reduction <add>, %w : vector<1022xf32> into f32
    %b = vector.broadcast %sum : f32 to vector<1022xf32>
    %p = arith.mulf %w, %b : vector<1022xf32>
    %t = arith.truncf %p : vector<1022xf32> to vector<1022xf16>
    lnbwd.yield %t : vector<1022xf16>
  }
  return
}
// CHECK-LABEL: func @summed(
// CHECK:         vector_width = 1,
func.func @summed(%x: memref<?x1023xf16>, %s: memref<?xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1023xf16>) outs(%s[m] : memref<?xf16>) {
  ^bb0(%xr: vector<1023xf16>):
    %w = arith.extf %xr : vector<1023xf16> to vector<1023xf32>
    %sum = vector.reduction <add>, %w : vector<1023xf32> into f32
    %t = arith.truncf %sum : f32 to f16
    lnbwd.yield %t : f16
  }
  return
}
// CHECK-LABEL: func @written_short(
// CHECK:         vector_width = 1,
func.func @written_short(%x: memref<?x407xf16>, %y: memref<?x407xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x407xf16>) outs(%y[m, n] : memref<?x407xf16>) {
  ^bb0(%xr: vector<407xf16>):
    %w = arith.extf %xr : vector<407xf16> to vector<407xf32>
    %sum = vector.reduction <add>, %w : vector<407xf32> into f32
    %b = vector.broadcast %sum : f32 to vector<407xf32>
    %p = arith.mulf %w, %b : vector<407xf32>
    %t = arith.truncf %p : vector<407xf32> to vector<407xf16>
    lnbwd.yield %t : vector<407xf16>
  }
  return
}

// Not where each access has eight bytes, where a row is but a few accesses, or
// where columns stay with a lane.
// CHECK-LABEL: func @fourth(
// CHECK:         vector_width = 4,
func.func @fourth(%x: memref<?x252xf16>, %y: memref<?x252xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x252xf16>) outs(%y[m, n] : memref<?x252xf16>) {
  ^bb0(%xr: vector<252xf16>):
    lnbwd.yield %xr : vector<252xf16>
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
// Nor where rows are read again for each sum.
// CHECK-LABEL: func @again(
// CHECK:         vector_width = 1, {{.*}}reload = true
func.func @again(%x: memref<?x1048575xf16>, %y: memref<?x1048575xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x1048575xf16>) outs(%y[m, n] : memref<?x1048575xf16>) {
  ^bb0(%xr: vector<1048575xf16>):
    %w = arith.extf %xr : vector<1048575xf16> to vector<1048575xf32>
    %sum = vector.reduction <maximumf>, %w : vector<1048575xf32> into f32
    %b = vector.broadcast %sum : f32 to vector<1048575xf32>
    %p = arith.mulf %w, %b : vector<1048575xf32>
    %t = arith.truncf %p : vector<1048575xf32> to vector<1048575xf16>
    lnbwd.yield %t : vector<1048575xf16>
  }
  return
}
