// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s

// Rows of two tables, by an input and by a number that follows from one.
// CHECK-LABEL: func.func @tables(
// CHECK:         lnbwd.rowwise @f domain(m | n0, n1) ins(%{{.*}}[m] : memref<?xi64>, %{{.*}}[*, n0, n1] : memref<5x4x2xbf16>, %{{.*}}[*, n0, n1] : memref<3x4x2xf32>)
// CHECK:         ^{{.*}}(%[[I:.*]]: i64, %[[A:.*]]: vector<5x8xbf16>, %[[B:.*]]: vector<3x8xf32>):
// CHECK:           %[[R:.*]] = lnbwd.gather %[[A]][%[[I]]] : vector<5x8xbf16>, i64
// CHECK:           %[[W:.*]] = arith.extf %[[R]] : vector<8xbf16> to vector<8xf32>
// CHECK:           %[[J:.*]] = arith.trunci %[[I]] : i64 to i32
// CHECK:           lnbwd.gather %[[B]][%[[J]]] : vector<3x8xf32>, i32
func.func @tables(%i: memref<?xi64>, %a: memref<5x4x2xbf16>, %b: memref<3x4x2xf32>, %y: memref<?x4x2xf32>) {
  lnbwd.rowwise @f domain(m | c, d) ins(%i[m] : memref<?xi64>, %a[*, c, d] : memref<5x4x2xbf16>, %b[*, c, d] : memref<3x4x2xf32>)
      outs(%y[m, c, d] : memref<?x4x2xf32>) {
  ^row(%ir: i64, %ar: vector<5x8xbf16>, %br: vector<3x8xf32>):
    %r = lnbwd.gather %ar[%ir] : vector<5x8xbf16>, i64
    %w = arith.extf %r : vector<8xbf16> to vector<8xf32>
    %j = arith.trunci %ir : i64 to i32
    %s = lnbwd.gather %br[%j] : vector<3x8xf32>, i32
    %h = arith.addf %w, %s : vector<8xf32>
    lnbwd.yield %h : vector<8xf32>
  }
  return
}

// A number for all rows, on tensors.
// CHECK-LABEL: func.func @one_row(
// CHECK:         lnbwd.gather %{{.*}}[%{{.*}}] : vector<5x8xf16>, i32
func.func @one_row(%i: tensor<i32>, %a: tensor<5x8xf16>, %y: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = lnbwd.rowwise @f domain(m | n) ins(%i[] : tensor<i32>, %a[*, n] : tensor<5x8xf16>) outs(%y[m, n] : tensor<?x8xf16>) -> tensor<?x8xf16> {
  ^row(%ir: i32, %ar: vector<5x8xf16>):
    %r = lnbwd.gather %ar[%ir] : vector<5x8xf16>, i32
    lnbwd.yield %r : vector<8xf16>
  }
  return %0 : tensor<?x8xf16>
}

// An element for each column, and one for each row.
// CHECK-LABEL: func.func @elements(
// CHECK:         %{{.*}}[*] : memref<5xi16>)
// CHECK:         ^{{.*}}(%[[I:.*]]: vector<8xi32>, %[[T:.*]]: vector<5xi16>):
// CHECK:           lnbwd.gather %[[T]][%[[I]]] : vector<5xi16>, vector<8xi32>
// CHECK:           lnbwd.gather %[[T]][%{{.*}}] : vector<5xi16>, i64
func.func @elements(%i: memref<?x8xi32>, %t: memref<5xi16>, %y: memref<?x8xi16>, %s: memref<?xi16>) {
  lnbwd.rowwise @f domain(m | n) ins(%i[m, n] : memref<?x8xi32>, %t[*] : memref<5xi16>)
      outs(%y[m, n] : memref<?x8xi16>, %s[m] : memref<?xi16>) {
  ^row(%ir: vector<8xi32>, %tr: vector<5xi16>):
    %r = lnbwd.gather %tr[%ir] : vector<5xi16>, vector<8xi32>
    %m = lnbwd.index 0 : i64
    %e = lnbwd.gather %tr[%m] : vector<5xi16>, i64
    lnbwd.yield %r, %e : vector<8xi16>, i16
  }
  return
}

// Rows of a table that a part of a list names, and neighbouring rows.
// CHECK-LABEL: func.func @sums(
// CHECK:         ^{{.*}}(%[[B:.*]]: i32, %[[E:.*]]: i32, %[[T:.*]]: vector<5x8xbf16>, %[[L:.*]]: vector<9xi64>):
// CHECK:           lnbwd.gather_sum %[[T]][%[[B]] to %[[E]]] of %[[L]] : vector<5x8xbf16>, i32, vector<9xi64>
// CHECK:           lnbwd.gather_sum %[[T]][%[[B]] to %[[E]]] : vector<5x8xbf16>, i32
func.func @sums(%b: memref<?xi32>, %e: memref<?xi32>, %t: memref<5x8xbf16>, %l: memref<9xi64>, %y: memref<?x8xf32>) {
  lnbwd.rowwise @f domain(m | n) ins(%b[m] : memref<?xi32>, %e[m] : memref<?xi32>, %t[*, n] : memref<5x8xbf16>, %l[*] : memref<9xi64>)
      outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%br: i32, %er: i32, %tr: vector<5x8xbf16>, %lr: vector<9xi64>):
    %r = lnbwd.gather_sum %tr[%br to %er] of %lr : vector<5x8xbf16>, i32, vector<9xi64>
    %s = lnbwd.gather_sum %tr[%br to %er] : vector<5x8xbf16>, i32
    %h = arith.addf %r, %s : vector<8xf32>
    lnbwd.yield %h : vector<8xf32>
  }
  return
}
