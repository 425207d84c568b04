// RUN: lnbwd-opt %s --lnbwd-fuse-products --split-input-file | FileCheck %s

// The buffer between is gone.
// CHECK-LABEL: func @bias(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xbf16>, %[[W:.*]]: memref<96x64xbf16>, %[[B:.*]]: memref<96xf32>, %[[Y:.*]]: memref<?x96xbf16>
// CHECK-NOT:     memref.alloc
// CHECK:         lnbwd.product @k lhs(%[[X]] : {{[^)]*}}) rhs(%[[W]] : {{[^)]*}}) outs(%[[Y]] : memref<?x96xbf16>)
// CHECK-SAME:      attributes {operand_names = ["x", "w", "y", "b"], rhs_transposed}
// CHECK-SAME:      epilogue columns(%[[B]] : memref<96xf32>) {
// CHECK-NEXT:    ^bb0(%[[P:.*]]: vector<96xf32>, %[[BR:.*]]: vector<96xf32>):
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[P]], %[[BR]]
// CHECK-NEXT:      %[[R:.*]] = arith.truncf %[[SUM]]
// CHECK-NEXT:      lnbwd.product_yield %[[R]] : vector<96xbf16>
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @bias(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %b: memref<96xf32>, %y: memref<?x96xbf16>) {
  %m = lnbwd.row_count %x : memref<?x64xbf16>
  %p = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @k_matmul_0 lhs(%x : memref<?x64xbf16>) rhs(%w : memref<96x64xbf16>) outs(%p : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x", "w", "matmul_0"]}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>, %b[n] : memref<96xf32>) outs(%y[m, n] : memref<?x96xbf16>)
      attributes {operand_names = ["matmul_0", "b", "y"]} {
  ^row(%pr: vector<96xf32>, %br: vector<96xf32>):
    %sum = arith.addf %pr, %br : vector<96xf32>
    %yr = arith.truncf %sum : vector<96xf32> to vector<96xbf16>
    lnbwd.yield %yr : vector<96xbf16>
  }
  memref.dealloc %p : memref<?x96xf32>
  return
}

// -----

// Rows and numbers of the row; the product is not the first row block. What the
// program waits for is computed between the two.
// CHECK-LABEL: func @gradient(
// CHECK-SAME:    %[[DY:.*]]: memref<?x96xf16>, %[[X:.*]]: memref<?x64xf16>, %[[W:.*]]: memref<96x64xf16>, %[[S:.*]]: memref<?xf32>
// CHECK:         lnbwd.rowwise @sums
// CHECK:         lnbwd.product @k lhs(%[[DY]] : {{[^)]*}}) rhs(%[[W]] : {{[^)]*}})
// CHECK-SAME:      epilogue rows(%[[X]] : memref<?x64xf16>) scalars(%[[S]] : memref<?xf32>) {
// CHECK-NEXT:    ^bb0(%[[P:.*]]: vector<64xf32>, %[[XR:.*]]: vector<64xf16>, %[[SR:.*]]: f32):
// CHECK:           arith.extf %[[XR]]
// CHECK:           vector.broadcast %[[SR]]
// CHECK:           vector.fma %[[P]],
func.func @gradient(%dy: memref<?x96xf16>, %x: memref<?x64xf16>, %w: memref<96x64xf16>, %s: memref<?xf32>,
                    %dx: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf16>
  %p = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.product @k_matmul_0 lhs(%dy : memref<?x96xf16>) rhs(%w : memref<96x64xf16>) outs(%p : memref<?x64xf32>)
  lnbwd.rowwise @sums domain(m | n) ins(%dy[m, n] : memref<?x96xf16>) outs(%s[m] : memref<?xf32>) {
  ^row(%dyr: vector<96xf16>):
    %wide = arith.extf %dyr : vector<96xf16> to vector<96xf32>
    %sum = vector.reduction <add>, %wide : vector<96xf32> into f32
    lnbwd.yield %sum : f32
  }
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf16>, %p[m, n] : memref<?x64xf32>, %s[m] : memref<?xf32>)
      outs(%dx[m, n] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf16>, %pr: vector<64xf32>, %sr: f32):
    %wide = arith.extf %xr : vector<64xf16> to vector<64xf32>
    %spread = vector.broadcast %sr : f32 to vector<64xf32>
    %dxr = vector.fma %pr, %wide, %spread : vector<64xf32>
    lnbwd.yield %dxr : vector<64xf32>
  }
  memref.dealloc %p : memref<?x64xf32>
  return
}
