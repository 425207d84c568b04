// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942" --split-input-file | FileCheck %s --check-prefix=APART
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=always" --split-input-file | FileCheck %s --check-prefix=FUSED

// Three tiles of columns would each scale the rows again.
// FUSED:     lnbwd.product @k {{.*}} prologue columns
// APART:     lnbwd.rowwise @rows
// APART:     lnbwd.product @k {{.*}} : memref<?x288xf32>){{$}}
func.func @f(%x: memref<?x64xf32>, %g: memref<64xf32>, %w: memref<64x288xf32>, %y: memref<?x288xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %g[n] : memref<64xf32>) outs(%z[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>, %gr: vector<64xf32>):
    %zr = arith.mulf %xr, %gr : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  lnbwd.product @k lhs(%z : memref<?x64xf32>) rhs(%w : memref<64x288xf32>) outs(%y : memref<?x288xf32>)
  memref.dealloc %z : memref<?x64xf32>
  return
}
