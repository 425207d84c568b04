// RUN: lnbwd-opt %s --lnbwd-split-sums --split-input-file | FileCheck %s

// The arguments keep their roles. Sums that have columns stay, and accumulate where they are.
// CHECK-LABEL: func @k(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "x", kind = "row_block">}
// CHECK-SAME:    %[[O:[a-z0-9_]+]]: memref<f32> {lnbwd.argument = #lnbwd.argument<name = "o", kind = "number">}
// CHECK-SAME:    %[[C:[a-z0-9_]+]]: memref<512xf32> {lnbwd.argument = #lnbwd.argument<name = "c", kind = "column">}
// CHECK:         %[[R:.*]] = memref.alloc(%[[M:.*]]) {lnbwd.row_scalar} : memref<?xf32>
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[X]][m, n] : memref<?x512xf32>)
// CHECK-SAME:      outs(%[[R]][m] : memref<?xf32>, %[[C]][n] add : memref<512xf32>)
// CHECK-SAME:      attributes {accumulate, operand_names = ["x", "o", "c"]} {
// CHECK:         %[[TERMS:.*]] = memref.expand_shape %[[R]] {{\[\[}}0, 1]] output_shape [%[[M]], 1]
// CHECK:         %[[SUM:.*]] = memref.expand_shape %[[O]] [] output_shape [1] : memref<f32> into memref<1xf32>
// CHECK:         lnbwd.rowwise @k_sum domain(m | n) ins(%[[TERMS]][m, n] : memref<?x1xf32>)
// CHECK-SAME:      outs(%[[SUM]][n] add : memref<1xf32>) attributes {accumulate, operand_names = ["o_terms", "o"]} {
// CHECK-NEXT:    ^bb0(%[[T:.*]]: vector<1xf32>):
// CHECK-NEXT:      lnbwd.yield %[[T]] : vector<1xf32>
// CHECK:         memref.dealloc %[[R]]
func.func @k(%x: memref<?x512xf32>, %o: memref<f32>, %c: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
      outs(%o[] add : memref<f32>, %c[n] add : memref<512xf32>)
      attributes {accumulate, operand_names = ["x", "o", "c"]} {
  ^row(%v: vector<512xf32>):
    %s = vector.reduction <add>, %v : vector<512xf32> into f32
    lnbwd.yield %s, %v : f32, vector<512xf32>
  }
  return
}

// -----

// Sums of groups and of all rows are programs of their own.
// CHECK-LABEL: func @groups(
// CHECK:         lnbwd.rowwise @g domain(m0, m1 | n) ins(
// CHECK-SAME:      outs(%[[A:.*]][m0, m1] : memref<4x?xf32>, %[[B:.*]][m0, m1] : memref<4x?xf32>) attributes
// CHECK:         lnbwd.rowwise @g_sum_groups domain(m0, m1 | n) ins(%{{.*}}[m0, m1, n] : memref<4x?x1xf32>)
// CHECK-SAME:      outs(%{{.*}}[m0, n] add : memref<4x1xf32>)
// CHECK:         lnbwd.rowwise @g_sum domain(m0, m1 | n) ins(%{{.*}}[m0, m1, n] : memref<4x?x1xf32>)
// CHECK-SAME:      outs(%{{.*}}[n] max : memref<1xbf16>)
func.func @groups(%x: memref<4x?x512xf32>, %o: memref<4xf32>, %p: memref<bf16>) {
  lnbwd.rowwise @g domain(b, t | n) ins(%x[b, t, n] : memref<4x?x512xf32>)
      outs(%o[b] add : memref<4xf32>, %p[] max : memref<bf16>) {
  ^row(%v: vector<512xf32>):
    %s = vector.reduction <add>, %v : vector<512xf32> into f32
    lnbwd.yield %s, %s : f32, f32
  }
  return
}

// -----

// The last dimensions are the columns of a sum over the first.
// CHECK-LABEL: func @last(
// CHECK-SAME:    %[[O:[a-z0-9_]+]]: memref<4xf32> {lnbwd.argument = #lnbwd.argument<name = "o", kind = "column">}
// CHECK:         %[[R:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar} : memref<?x4xf32>
// CHECK:         lnbwd.rowwise @k_sum_1_2 domain(m | n) ins(%[[R]][m, n] : memref<?x4xf32>)
// CHECK-SAME:      outs(%[[O]][n] add : memref<4xf32>)
// CHECK-SAME:      row_ratio = array<i64: 1, 4>
func.func @last(%x: memref<?x4x512xf32>, %o: memref<4xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x4x512xf32>) outs(%o[t] add : memref<4xf32>)
      attributes {operand_names = ["x", "o"]} {
  ^row(%v: vector<512xf32>):
    %s = vector.reduction <add>, %v : vector<512xf32> into f32
    lnbwd.yield %s : f32
  }
  return
}

// -----

// Sums and maxima of one map are combined together.
// CHECK-LABEL: func @rows(
// CHECK-SAME:    %{{.*}}: memref<?x4x512xbf16> {lnbwd.argument = #lnbwd.argument<name = "x", kind = "row_block">}
// CHECK-SAME:    %[[S:[a-z0-9_]+]]: memref<4x512xbf16> {lnbwd.argument = #lnbwd.argument<name = "s", kind = "column">}
// CHECK-SAME:    %[[L:[a-z0-9_]+]]: memref<4x512xf32> {lnbwd.argument = #lnbwd.argument<name = "l", kind = "column">}
// CHECK-DAG:     %[[A:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 512 : i64} : memref<?x4x512xf32>
// CHECK-DAG:     %[[B:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 512 : i64} : memref<?x4x512xf32>
// CHECK:         lnbwd.rowwise @k domain(m0, m1 | n)
// CHECK-SAME:      outs(%[[A]][m0, m1, n] : memref<?x4x512xf32>, %[[B]][m0, m1, n] : memref<?x4x512xf32>)
// CHECK:         lnbwd.rowwise @k_sum_1_3 domain(m | n0, n1) ins(%[[A]][m, n0, n1] : memref<?x4x512xf32>, %[[B]][m, n0, n1] : memref<?x4x512xf32>)
// CHECK-SAME:      outs(%[[S]][n0, n1] add : memref<4x512xbf16>, %[[L]][n0, n1] max : memref<4x512xf32>)
// CHECK-SAME:      row_ratio = array<i64: 1, 4>
func.func @rows(%x: memref<?x4x512xbf16>, %s: memref<4x512xbf16>, %l: memref<4x512xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x4x512xbf16>)
      outs(%s[t, n] add : memref<4x512xbf16>, %l[t, n] max : memref<4x512xf32>)
      attributes {operand_names = ["x", "s", "l"]} {
  ^row(%v: vector<512xbf16>):
    %w = arith.extf %v : vector<512xbf16> to vector<512xf32>
    lnbwd.yield %w, %w : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// What comes after the sum's dimensions is combined first.
// CHECK-LABEL: func @channels(
// CHECK:         %[[TERMS:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 32 : i64} : memref<?x2x4x8xf32>
// CHECK:         %[[ROWS:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 4 : i64} : memref<?x2x4xf32>
// CHECK:         lnbwd.rowwise @k domain(m0, m1 | n0, n1)
// CHECK-SAME:      outs(%[[TERMS]][m0, m1, n0, n1] : memref<?x2x4x8xf32>, %{{.*}}[n0, n1] add : memref<4x8xf32>)
// CHECK:         lnbwd.rowwise @k_sum_1_3_rows domain(m0, m1, m2 | n) ins(%[[TERMS]][m0, m1, m2, n] : memref<?x2x4x8xf32>)
// CHECK-SAME:      outs(%[[ROWS]][m0, m1, m2] : memref<?x2x4xf32>) attributes {{{.*}}row_ratio = array<i64: 4, 1>
// CHECK:           vector.reduction <maximumf>
// CHECK:         lnbwd.rowwise @k_sum_1_3 domain(m | n0, n1) ins(%[[ROWS]][m, n0, n1] : memref<?x2x4xf32>)
// CHECK-SAME:      outs(%{{.*}}[n0, n1] max : memref<2x4xf32>) attributes {{{.*}}row_ratio = array<i64: 1, 2>
func.func @channels(%x: memref<?x2x4x8xf32>, %o: memref<2x4xf32>, %c: memref<4x8xf32>) {
  lnbwd.rowwise @k domain(b, g | c, s) ins(%x[b, g, c, s] : memref<?x2x4x8xf32>)
      outs(%o[g, c] max : memref<2x4xf32>, %c[c, s] add : memref<4x8xf32>) {
  ^row(%v: vector<32xf32>):
    lnbwd.yield %v, %v : vector<32xf32>, vector<32xf32>
  }
  return
}

// -----

// The sum of the terms reads what the program before it writes.
// CHECK-LABEL: func @independent(
// CHECK:         lnbwd.rowwise @k domain{{.*}} attributes {{{.*}}independent
// CHECK:         lnbwd.rowwise @k_sum domain
// CHECK-NOT:       independent
// CHECK:         memref.dealloc
func.func @independent(%x: memref<?x512xf32>, %o: memref<f32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%o[] add : memref<f32>)
      attributes {independent, operand_names = ["x", "o"]} {
  ^row(%v: vector<512xf32>):
    %s = vector.reduction <add>, %v : vector<512xf32> into f32
    lnbwd.yield %s : f32
  }
  return
}

// -----

// The rows of the sum's program are some of those that the program has.
// CHECK-LABEL: func @ratio(
// CHECK:         lnbwd.rowwise @k domain{{.*}} row_ratio = array<i64: 3, 1>
// CHECK:         lnbwd.rowwise @k_sum_1_3 domain{{.*}} row_ratio = array<i64: 3, 4>
func.func @ratio(%x: memref<?x4x512xf32>, %s: memref<4x512xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x4x512xf32>) outs(%s[t, n] add : memref<4x512xf32>)
      attributes {row_ratio = array<i64: 3, 1>} {
  ^row(%v: vector<512xf32>):
    lnbwd.yield %v : vector<512xf32>
  }
  return
}
