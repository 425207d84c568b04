// RUN: not lnbwd-opt %s --lnbwd-fix-order="order=any" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not lnbwd-opt %s --lnbwd-fix-order 2>&1 | FileCheck %s --check-prefix=PRODUCT

// ORDER: option order{{.*}}expected default or canonical, got 'any'

// PRODUCT: error: 'lnbwd.rowwise' op has a product of matrices, whose sums have no canonical order: compile it with order=default, or take the product out of the program
func.func @linear(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}
