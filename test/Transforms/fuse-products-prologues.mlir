// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942" --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx1030 prologues=always" --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=gfx942 prologues=never" --split-input-file | FileCheck %s --check-prefix=APART
// RUN: lnbwd-opt %s --lnbwd-fuse-products="chip=sm_90" --split-input-file | FileCheck %s --check-prefix=APART

// Of a sum over the rows the second operand; the buffer of its rows is gone.
// CHECK-LABEL: func @outer(
// CHECK-SAME:    %[[DY:.*]]: memref<?x96xf16>, %[[X:.*]]: memref<?x64xf16>, %[[R:.*]]: memref<?xf32>, %[[T:.*]]: memref<96x64xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         lnbwd.product @k lhs(%[[DY]] : {{[^)]*}}) rhs(%[[X]] : {{[^)]*}}) outs(%[[T]] : {{[^)]*}})
// CHECK-SAME:      attributes {lhs_transposed, operand_names = ["dy", "x", "t", "rstd"]}
// CHECK-SAME:      prologue scalars(%[[R]] : memref<?xf32>) {
// CHECK-NEXT:    ^bb0(%[[XR:.*]]: vector<64xf16>, %[[RR:.*]]: f32):
// CHECK:           lnbwd.product_yield %{{.*}} : vector<64xf16>
// CHECK-NEXT:    }
// CHECK-NEXT:    return

// APART-LABEL: func @outer(
// APART:         lnbwd.rowwise @rows
// APART:         lnbwd.product @k {{.*}} attributes {{{.*}}}{{$}}
func.func @outer(%dy: memref<?x96xf16>, %x: memref<?x64xf16>, %rstd: memref<?xf32>, %t: memref<96x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf16>
  %xhat = memref.alloc(%m) : memref<?x64xf16>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf16>, %rstd[m] : memref<?xf32>) outs(%xhat[m, n] : memref<?x64xf16>)
      attributes {operand_names = ["x", "rstd", "rows_0"]} {
  ^row(%xr: vector<64xf16>, %r: f32):
    %wide = arith.extf %xr : vector<64xf16> to vector<64xf32>
    %spread = vector.broadcast %r : f32 to vector<64xf32>
    %scaled = arith.mulf %wide, %spread : vector<64xf32>
    %narrow = arith.truncf %scaled : vector<64xf32> to vector<64xf16>
    lnbwd.yield %narrow : vector<64xf16>
  }
  lnbwd.product @k lhs(%dy : memref<?x96xf16>) rhs(%xhat : memref<?x64xf16>) outs(%t : memref<96x64xf32>)
      attributes {lhs_transposed, operand_names = ["dy", "rows_0", "t"]}
  memref.dealloc %xhat : memref<?x64xf16>
  return
}

// -----

// Else the first one. What is after the product is its epilogue all the same.
// CHECK-LABEL: func @both(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xf32>, %[[G:.*]]: memref<64xf32>, %[[W:.*]]: memref<96x64xf32>, %[[B:.*]]: memref<96xf32>, %[[Y:.*]]: memref<?x96xf32>
// CHECK:         lnbwd.product @k lhs(%[[X]] : {{[^)]*}}) rhs(%[[W]] : {{[^)]*}}) outs(%[[Y]] : {{[^)]*}})
// CHECK-SAME:      operand_names = ["x", "w", "y", "b", "g"]
// CHECK-SAME:      prologue columns(%[[G]] : memref<64xf32>) {
// CHECK:           arith.mulf
// CHECK:           lnbwd.product_yield
// CHECK-NEXT:    } epilogue columns(%[[B]] : memref<96xf32>) {
// CHECK:           arith.addf
// CHECK:           lnbwd.product_yield

// APART-LABEL: func @both(
func.func @both(%x: memref<?x64xf32>, %g: memref<64xf32>, %w: memref<96x64xf32>, %b: memref<96xf32>,
                %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %z = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.rowwise @rows domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %g[n] : memref<64xf32>) outs(%z[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "g", "rows_0"]} {
  ^row(%xr: vector<64xf32>, %gr: vector<64xf32>):
    %zr = arith.mulf %xr, %gr : vector<64xf32>
    lnbwd.yield %zr : vector<64xf32>
  }
  %p = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @k_matmul_0 lhs(%z : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%p : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["rows_0", "w", "matmul_0"]}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>, %b[n] : memref<96xf32>) outs(%y[m, n] : memref<?x96xf32>)
      attributes {operand_names = ["matmul_0", "b", "y"]} {
  ^row(%pr: vector<96xf32>, %br: vector<96xf32>):
    %sum = arith.addf %pr, %br : vector<96xf32>
    lnbwd.yield %sum : vector<96xf32>
  }
  memref.dealloc %p : memref<?x96xf32>
  memref.dealloc %z : memref<?x64xf32>
  return
}

// -----

// The rows are dy's own: nothing to fuse.
// CHECK-LABEL: func @argument(
// CHECK-NOT:     prologue
// APART-LABEL: func @argument(
func.func @argument(%dy: memref<?x96xf32>, %w: memref<96x64xf32>, %dz: memref<?x64xf32>) {
  lnbwd.product @k lhs(%dy : memref<?x96xf32>) rhs(%w : memref<96x64xf32>) outs(%dz : memref<?x64xf32>)
  return
}
