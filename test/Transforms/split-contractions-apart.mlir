// RUN: lnbwd-opt %s --lnbwd-split-contractions --split-input-file | FileCheck %s

// What is no epilogue reads the product from memory.
// CHECK-LABEL: func @row_sum(
// CHECK:         lnbwd.linear
// CHECK-NEXT:    lnbwd.yield
// CHECK:         lnbwd.rowwise @k domain(m | n)
func.func @row_sum(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %sum = vector.reduction <add>, %p : vector<96xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<96xf32>
    %yr = arith.subf %p, %spread : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @column_sum(
// CHECK:         lnbwd.linear
// CHECK-NEXT:    lnbwd.yield
// CHECK:         lnbwd.rowwise @k domain(m | n)
func.func @column_sum(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>, %s: memref<96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>, %s[n1] add : memref<96xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p, %p : vector<96xf32>, vector<96xf32>
  }
  return
}

// -----

// An output and another product read it: each by itself.
// CHECK-LABEL: func @two_readers(
// CHECK:         lnbwd.rowwise @k_matmul_0 {{.*}} outs(%[[P:[^ ]*]][m
// CHECK:         lnbwd.rowwise @k_of_96 domain(m | n) ins(%[[P]][m, n]
// CHECK:         lnbwd.rowwise @k_of_64 {{.*}} ins(%[[P]][m, n
// CHECK:           lnbwd.linear
func.func @two_readers(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>, %z: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>, %z[m, n0] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %yr = arith.negf %p : vector<96xf32>
    %zr = lnbwd.linear %p, %wm transposed : vector<96xf32>, vector<96x64xf32>
    lnbwd.yield %yr, %zr : vector<96xf32>, vector<64xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @strided(
// CHECK:         lnbwd.linear
// CHECK-NEXT:    lnbwd.yield
// CHECK:         lnbwd.rowwise @k domain(m | n)
func.func @strided(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32, strided<[80, 1]>>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<64x64xf32>)
      outs(%y[m, n1] : memref<?x64xf32, strided<[80, 1]>>) {
  ^row(%xr: vector<64xf32>, %wm: vector<64x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<64x64xf32>
    lnbwd.yield %p : vector<64xf32>
  }
  return
}
