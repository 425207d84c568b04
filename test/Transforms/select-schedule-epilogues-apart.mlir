// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file | FileCheck %s

// What is no epilogue has a kernel and a schedule of its own.
// CHECK-LABEL: func @row_sum(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @row_sum(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%p : memref<?x96xf32>)
      attributes {rhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xf32>) {
  ^row(%pr: vector<96xf32>):
    %sum = vector.reduction <add>, %pr : vector<96xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<96xf32>
    %yr = arith.subf %pr, %spread : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @column_sum(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @column_sum(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>, %s: memref<96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%p : memref<?x96xf32>)
      attributes {rhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>) outs(%y[m, n] : memref<?x96xf32>, %s[n] add : memref<96xf32>) {
  ^row(%pr: vector<96xf32>):
    lnbwd.yield %pr, %pr : vector<96xf32>, vector<96xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @table(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @table(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %i: memref<?xi64>, %t: memref<5x96xf32>, %y: memref<?x96xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x96xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%p : memref<?x96xf32>)
      attributes {rhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x96xf32>, %i[m] : memref<?xi64>, %t[*, n] : memref<5x96xf32>) outs(%y[m, n] : memref<?x96xf32>) {
  ^row(%pr: vector<96xf32>, %ir: i64, %tr: vector<5x96xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<5x96xf32>, i64
    %yr = arith.addf %pr, %r : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @two_readers(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @two_readers(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%p : memref<?x64xf32>)
  lnbwd.product @q lhs(%p : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%z : memref<?x64xf32>)
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%pr: vector<64xf32>):
    %yr = arith.negf %pr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @changes(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @changes(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%p : memref<?x64xf32>)
      attributes {operand_names = ["x", "w", "p"]}
  lnbwd.rowwise @other domain(m | n) ins(%y[m, n] : memref<?x64xf32>) outs(%x[m, n] : memref<?x64xf32>) {
  ^row(%yr: vector<64xf32>):
    lnbwd.yield %yr : vector<64xf32>
  }
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>) {
  ^row(%pr: vector<64xf32>):
    %yr = arith.negf %pr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @strided(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @strided(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32, strided<[80, 1]>>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%p : memref<?x64xf32>)
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32, strided<[80, 1]>>)
      attributes {operand_names = ["p", "y"]} {
  ^row(%pr: vector<64xf32>):
    %yr = arith.negf %pr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// Of a sum over the rows, which may be in parts.
// CHECK-LABEL: func @outer(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<
func.func @outer(%dy: memref<?x96xbf16>, %x: memref<?x64xbf16>, %dw: memref<96x64xbf16>) {
  %p = memref.alloc() : memref<96x64xf32>
  lnbwd.product @k_matmul_0 lhs(%dy : memref<?x96xbf16>) rhs(%x : memref<?x64xbf16>) outs(%p : memref<96x64xf32>)
      attributes {lhs_transposed}
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<96x64xf32>) outs(%dw[m, n] : memref<96x64xbf16>) attributes {lnbwd.own_rows} {
  ^row(%pr: vector<64xf32>):
    %r = arith.truncf %pr : vector<64xf32> to vector<64xbf16>
    lnbwd.yield %r : vector<64xbf16>
  }
  memref.dealloc %p : memref<96x64xf32>
  return
}

// -----

// What has a schedule already.
// CHECK-LABEL: func @scheduled(
// CHECK:         lnbwd.rowwise @k domain({{.*}}schedule = #lnbwd.schedule<threads_per_row = 16,
func.func @scheduled(%x: memref<?x64xf32>, %w: memref<64x64xf32>, %y: memref<?x64xf32>) {
  %m = lnbwd.row_count %x : memref<?x64xf32>
  %p = memref.alloc(%m) : memref<?x64xf32>
  lnbwd.product @p lhs(%x : memref<?x64xf32>) rhs(%w : memref<64x64xf32>) outs(%p : memref<?x64xf32>)
  lnbwd.rowwise @k domain(m | n) ins(%p[m, n] : memref<?x64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 16, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 4, workgroups_per_compute_unit = 1>} {
  ^row(%pr: vector<64xf32>):
    %yr = arith.negf %pr : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}
