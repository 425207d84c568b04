// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file | FileCheck %s --check-prefix=CHOSEN
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --lnbwd-distribute-rows --canonicalize \
// RUN:     --split-input-file | FileCheck %s

// An epilogue has no schedule. The product's kernel does what it does: the
// buffer between is gone.
// CHOSEN-LABEL: func @bias(
// CHOSEN-NOT:     schedule =
// CHECK:       gpu.func @k(
// CHECK:         vector.contract
// CHECK:         arith.addf
// CHECK:         arith.truncf
// CHECK:         vector.transfer_write %{{.*}} : vector<32x32xbf16>, memref<?x96xbf16
// CHECK-LABEL: func @bias(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xbf16> {{{.*}}lnbwd.name = "x"}, %[[W:.*]]: memref<96x64xbf16> {{{.*}}lnbwd.name = "w"},
// CHECK-SAME:    %[[B:.*]]: memref<96xf32> {{{.*}}lnbwd.name = "b"}, %[[Y:.*]]: memref<?x96xbf16> {{{.*}}lnbwd.name = "y"}
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @bias_kernels::@k
// CHECK-NOT:     gpu.launch_func
// CHECK:         return
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
// CHOSEN-LABEL: func @gradient(
// CHOSEN:         lnbwd.rowwise @sums domain({{.*}}schedule =
// CHOSEN-NOT:     schedule =
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x96xf16, {{[^:]*}}: memref<1x64xf16, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf16, {{[^:]*}}: memref<1xf32, {{[^:]*}}: i64)
// CHECK:         arith.extf
// CHECK:         vector.fma
// CHECK-LABEL: func @gradient(
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @gradient_kernels::@sums
// CHECK:         gpu.launch_func @gradient_kernels::@k
// CHECK-NOT:     gpu.launch_func
// CHECK:         return
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

// -----

// Of two products the first; the other is one of its rows.
// CHOSEN-LABEL: func @two_products(
// CHOSEN-NOT:     schedule =
// CHECK:       gpu.func @q(
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32,
// CHECK-LABEL: func @two_products(
// CHECK:         memref.alloc
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @two_products_kernels::@q
// CHECK:         gpu.launch_func @two_products_kernels::@k
func.func @two_products(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x64xf32>
  %q = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%p : memref<?x64xf32>)
  lnbwd.product @q lhs(%x : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%q : memref<?x64xf32>)
      attributes {rhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%q[m, n] : memref<?x64xf32>, %p[m, n] : memref<?x64xf32>)
      outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%qr: vector<64xf32>, %pr: vector<64xf32>):
    %yr = arith.subf %qr, %pr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  memref.dealloc %q : memref<?x64xf32>
  memref.dealloc %p : memref<?x64xf32>
  return
}
