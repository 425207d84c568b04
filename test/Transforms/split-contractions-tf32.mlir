// RUN: lnbwd-opt %s --lnbwd-split-contractions=float32-products=tf32 | FileCheck %s --check-prefixes=CHECK,TF32
// RUN: lnbwd-opt %s --lnbwd-split-contractions=float32-products=exact | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: lnbwd-opt %s --lnbwd-split-contractions | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: not lnbwd-opt %s --lnbwd-split-contractions=float32-products=bf16 2>&1 | FileCheck %s --check-prefix=MODE

// MODE: error: loc("option float32-products"): expected float32-products to be exact or tf32, got 'bf16'

// CHECK-LABEL: func @single(
// TF32:          lnbwd.product @k_matmul_0 {{.*}} precision = #lnbwd.precision<tf32>
// EXACT-NOT:     precision
func.func @single(%x: memref<?x64xf32>, %b: memref<96xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %b[n1] : memref<96xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xf32>, %br: vector<96xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %yr = arith.addf %p, %br : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}

// Of two types, one of which has no more bits than tf32: nothing is rounded.
// CHECK-LABEL: func @mixed(
// CHECK-NOT:     precision
func.func @mixed(%x: memref<?x64xbf16>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %w[n1, n0] : memref<96x64xf32>) outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xbf16>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}
