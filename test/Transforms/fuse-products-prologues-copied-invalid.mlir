// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=sm_90 prologues=always" --verify-diagnostics

func.func @copied(%x: memref<?x64xbf16>, %w: memref<64x96xbf16>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xbf16>
  %z = memref.alloc(%m) : memref<?x64xbf16>
  lnbwd.rowwise @rows rows(%x : memref<?x64xbf16>) outs rows(%z : memref<?x64xbf16>) {
  ^row(%xr: vector<64xbf16>):
    %zr = arith.negf %xr : vector<64xbf16>
    lnbwd.yield %zr : vector<64xbf16>
  }
  // expected-error@+1 {{cannot be in the prologue of a product (prologues=always): expected tiles that go through registers, got those of sm_90, which are copied past them; give the product a tiling of 1 stage, or leave out prologues=always}}
  lnbwd.product @p lhs(%z : memref<?x64xbf16>) rhs(%w : memref<64x96xbf16>) outs(%y : memref<?x96xf32>)
  return
}
