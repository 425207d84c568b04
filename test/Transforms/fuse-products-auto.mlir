// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942" | FileCheck %s --check-prefix=FUSED
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=sm_90 epilogues=always" | FileCheck %s --check-prefix=FUSED
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=sm_90" | FileCheck %s --check-prefix=APART

// Rows of 100 elements are no whole blocks of 16 bytes: kernels of such products
// were not measured with an epilogue.
// FUSED:     lnbwd.product @k {{.*}} epilogue {
// APART:     lnbwd.product @p
// APART:     lnbwd.rowwise @k
func.func @f(%x: memref<?x100xbf16>, %w: memref<96x100xbf16>, %y: memref<?x96xbf16>) {
  %m = lnbwd.row_count %x : memref<?x100xbf16>
  %p = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @p lhs(%x : memref<?x100xbf16>) rhs(%w : memref<96x100xbf16>) outs(%p : memref<?x96xf32>)
      attributes {rhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xbf16>) {
  ^row(%pr: vector<96xf32>):
    %yr = arith.truncf %pr : vector<96xf32> to vector<96xbf16>
    lnbwd.yield %yr : vector<96xbf16>
  }
  memref.dealloc %p : memref<?x96xf32>
  return
}
