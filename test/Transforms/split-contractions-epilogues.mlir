// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-contractions --lnbwd-select-schedule --split-input-file | FileCheck %s --check-prefix=CHOSEN
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-contractions --lnbwd-select-schedule --lnbwd-distribute-rows --canonicalize \
// RUN:     --split-input-file | FileCheck %s

// A product and its epilogue are one program, without a schedule: it stays as
// it is, and its kernel has no buffer between the two.
// CHOSEN-LABEL: func @bias(
// CHOSEN:         lnbwd.rowwise @k domain
// CHOSEN-NOT:     schedule =
// CHECK:       gpu.func @k(
// CHECK:         lane.multiply
// CHECK:         arith.addf
// CHECK:         arith.truncf
// CHECK:         vector.store %{{.*}} : memref<?x96xbf16, {{.*}}>, vector<4xbf16>
// CHECK-LABEL: func @bias(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xbf16> {{{.*}}name = "x"{{.*}}>}, %[[W:.*]]: memref<96x64xbf16> {{{.*}}name = "w"{{.*}}, row_rank = 2>},
// CHECK-SAME:    %[[B:.*]]: memref<96xf32> {{{.*}}name = "b"{{.*}}>}, %[[Y:.*]]: memref<?x96xbf16> {{{.*}}name = "y"{{.*}}>}
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @bias_kernels::@k
// CHECK-NOT:     gpu.launch_func
// CHECK:         return
func.func @bias(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %b: memref<96xf32>, %y: memref<?x96xbf16>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %b[n1] : memref<96xf32>, %w[n1, n0] : memref<96x64xbf16>)
      outs(%y[m, n1] : memref<?x96xbf16>) attributes {operand_names = ["x", "b", "w", "y"]} {
  ^row(%xr: vector<64xbf16>, %br: vector<96xf32>, %wm: vector<96x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<96x64xbf16>
    %sum = arith.addf %p, %br : vector<96xf32>
    %yr = arith.truncf %sum : vector<96xf32> to vector<96xbf16>
    lnbwd.yield %yr : vector<96xbf16>
  }
  return
}

// -----

// Rows and numbers of the row, which a program before has made.
// CHOSEN-LABEL: func @gradient(
// CHOSEN:         lnbwd.rowwise @k_row_sum_0 domain({{.*}}schedule =
// CHOSEN:         lnbwd.rowwise @k domain
// CHOSEN-NOT:     schedule =
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x96xf16, {{[^:]*}}: memref<1x64xf16, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf16, {{[^:]*}}: memref<1xf32, {{[^:]*}}: i64)
// CHECK:         arith.extf
// CHECK:         vector.fma
// CHECK-LABEL: func @gradient(
// CHECK:         memref.alloc(%{{.*}}) {lnbwd.row_scalar} : memref<?xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @gradient_kernels::@k_row_sum_0
// CHECK:         gpu.launch_func @gradient_kernels::@k
// CHECK-NOT:     gpu.launch_func
// CHECK:         return
func.func @gradient(%dy: memref<?x96xf16>, %x: memref<?x64xf16>, %w: memref<96x64xf16>, %dx: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf16>, %x[m, n1] : memref<?x64xf16>, %w[n0, n1] : memref<96x64xf16>)
      outs(%dx[m, n1] : memref<?x64xf32>) {
  ^row(%dyr: vector<96xf16>, %xr: vector<64xf16>, %wm: vector<96x64xf16>):
    %dyw = arith.extf %dyr : vector<96xf16> to vector<96xf32>
    %sum = vector.reduction <add>, %dyw : vector<96xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<64xf32>
    %wide = arith.extf %xr : vector<64xf16> to vector<64xf32>
    %p = lnbwd.linear %dyw, %wm transposed : vector<96xf32>, vector<96x64xf16>
    %dxr = vector.fma %p, %wide, %spread : vector<64xf32>
    lnbwd.yield %dxr : vector<64xf32>
  }
  return
}

// -----

// Of two products the first; the other is one of its rows.
// CHOSEN-LABEL: func @two_products(
// CHOSEN-NOT:     schedule =
// CHECK:       gpu.func @k_matmul_1(
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32,
// CHECK-LABEL: func @two_products(
// CHECK:         memref.alloc
// CHECK-NOT:     memref.alloc
// CHECK:         gpu.launch_func @two_products_kernels::@k_matmul_1
// CHECK:         gpu.launch_func @two_products_kernels::@k
func.func @two_products(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<64x64xf32>)
      outs(%y[m, n1] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<64x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<64x64xf32>
    %q = lnbwd.linear %xr, %wm transposed : vector<64xf32>, vector<64x64xf32>
    %yr = arith.subf %p, %q : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// What the epilogue reads of the output, it reads before it writes. The rows
// that are multiplied may be read by it, too.
// CHOSEN-LABEL: func @in_place(
// CHOSEN:         lnbwd.rowwise @k domain
// CHOSEN-NOT:     lnbwd.rowwise
// CHECK:       gpu.func @k({{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: memref<1x64xf32, {{[^:]*}}: i64)
// CHECK-LABEL: func @in_place(
// CHECK-SAME:    %[[Y:[^:]*]]: memref<?x64xf32> {{{.*}}access = "read_write"
// CHECK:         gpu.launch_func
func.func @in_place(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %y[m, n1] : memref<?x64xf32>, %w[n1, n0] : memref<64x64xf32>)
      outs(%y[m, n1] : memref<?x64xf32>) attributes {operand_names = ["x", "y", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %yr: vector<64xf32>, %wm: vector<64x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<64x64xf32>
    %s = arith.addf %p, %yr : vector<64xf32>
    %t = arith.addf %s, %xr : vector<64xf32>
    lnbwd.yield %t : vector<64xf32>
  }
  return
}

// -----

// A product of rows that an epilogue makes.
// CHOSEN-LABEL: func @chain(
// CHOSEN:         lnbwd.rowwise @k_rows_0 {{.*}} outs(%[[R:.*]][m, n1] : memref<?x96xf32>)
// CHOSEN:           lnbwd.linear
// CHOSEN:           math.tanh
// CHOSEN:         lnbwd.rowwise @k domain(m | n0, n1) ins(%[[R]][
// CHOSEN:           lnbwd.linear
// CHOSEN:           arith.negf
// CHECK:       gpu.func @k_rows_0(
// CHECK:       gpu.func @k(
func.func @chain(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n0] : memref<?x64xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %t = math.tanh %p : vector<96xf32>
    %q = lnbwd.linear %t, %wm transposed : vector<96xf32>, vector<96x64xf32>
    %yr = arith.negf %q : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}
