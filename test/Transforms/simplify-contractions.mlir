// RUN: lnbwd-opt %s --lnbwd-simplify-contractions --split-input-file | FileCheck %s

// A row sum of a product with a column goes before the product, and the column's
// own product is a program over the rows of the matrix, before.
// CHECK-LABEL: func @row_sum(
// CHECK:         %[[WG:.*]] = memref.alloc() : memref<96xf32>
// CHECK:         lnbwd.rowwise @k_product_0 domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<96x64xbf16>, %{{[^ ]+}}[n] : memref<64xf32>)
// CHECK-SAME:      outs(%[[WG]][m] : memref<96xf32>)
// CHECK-SAME:      {lnbwd.own_rows, operand_names = ["w", "gamma", "product_0"]}
// CHECK:           %[[WIDE:.*]] = arith.extf %w
// CHECK:           %[[TERMS:.*]] = arith.mulf %[[WIDE]], %gamma
// CHECK:           vector.reduction <add>, %[[TERMS]]
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<?x96xf32>, %[[WG]][n] : memref<96xf32>)
// CHECK-NOT:       matrices
// CHECK:           %[[SUMMED:.*]] = arith.mulf %dy, %product_0
// CHECK:           vector.reduction <add>, %[[SUMMED]] : vector<96xf32> into f32
// CHECK:         memref.dealloc %[[WG]]
func.func @row_sum(%dy: memref<?x96xf32>, %gamma: memref<64xf32>, %w: memref<96x64xbf16>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %gamma[n1] : memref<64xf32>, %w[n0, n1] : memref<96x64xbf16>)
      outs(%s[m] : memref<?xf32>) attributes {operand_names = ["dy", "gamma", "w", "s"]} {
  ^row(%dyr: vector<96xf32>, %g: vector<64xf32>, %wm: vector<96x64xbf16>):
    %dz = lnbwd.linear %dyr, %wm transposed : vector<96xf32>, vector<96x64xbf16>
    %wdy = arith.mulf %dz, %g : vector<64xf32>
    %sum = vector.reduction <add>, %wdy : vector<64xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// The other way round: the product of a column is a column sum over the rows of
// the matrix.
// CHECK-LABEL: func @transposed_row_sum(
// CHECK:         lnbwd.rowwise @k_product_0 domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<64x96xf32>, %{{[^ ]+}}[m] : memref<64xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[n] add : memref<96xf32>)
// CHECK:         lnbwd.rowwise @k domain
func.func @transposed_row_sum(%dy: memref<?x96xf32>, %gamma: memref<64xf32>, %w: memref<64x96xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %gamma[n1] : memref<64xf32>, %w[n1, n0] : memref<64x96xf32>)
      outs(%s[m] : memref<?xf32>) attributes {operand_names = ["dy", "gamma", "w", "s"]} {
  ^row(%dyr: vector<96xf32>, %g: vector<64xf32>, %wm: vector<64x96xf32>):
    %dz = lnbwd.linear %dyr, %wm : vector<96xf32>, vector<64x96xf32>
    %wdy = arith.mulf %dz, %g : vector<64xf32>
    %sum = vector.reduction <add>, %wdy : vector<64xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// -----

// gamma and beta leave the outer sum; what is left is rounded once.
// CHECK-LABEL: func @outer_sum(
// CHECK-DAG:     %[[T:.*]] = memref.alloc() : memref<96x64xf32>
// CHECK-DAG:     %[[S:.*]] = memref.alloc() : memref<96xf32>
// CHECK:         lnbwd.rowwise @k domain(m | n0, n1) ins(
// CHECK-SAME:      outs(%[[S]][{{n[01]}}] add : memref<96xf32>, %[[T]][{{n[01], n[01]}}] add : memref<96x64xf32>)
// CHECK:           %[[OUTER:.*]] = vector.outerproduct %dy, %x
// CHECK:           lnbwd.yield %dy, %[[OUTER]]
// CHECK:         lnbwd.rowwise @k_parameters domain(m | n) ins(%[[T]][m, n] : memref<96x64xf32>,
// CHECK-SAME:      %[[S]][m] : memref<96xf32>) outs(%{{[^ ]+}}[m, n] : memref<96x64xbf16>)
// CHECK-SAME:      lnbwd.own_rows
// CHECK:           arith.mulf %outer_sum_0, %gamma
// CHECK:           %[[SPREAD:.*]] = vector.broadcast %column_sum_1
// CHECK:           arith.mulf %[[SPREAD]], %beta
// CHECK:           arith.truncf
func.func @outer_sum(%dy: memref<?x96xf32>, %x: memref<?x64xf32>, %gamma: memref<64xf32>, %beta: memref<64xf32>,
                     %dw: memref<96x64xbf16>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %x[m, n1] : memref<?x64xf32>,
      %gamma[n1] : memref<64xf32>, %beta[n1] : memref<64xf32>) outs(%dw[n0, n1] add : memref<96x64xbf16>)
      attributes {operand_names = ["dy", "x", "gamma", "beta", "dw"]} {
  ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>, %g: vector<64xf32>, %be: vector<64xf32>):
    %z = vector.fma %xr, %g, %be : vector<64xf32>
    %o = vector.outerproduct %dyr, %z : vector<96xf32>, vector<64xf32>
    lnbwd.yield %o : vector<96x64xf32>
  }
  return
}

// -----

// dgamma is a sum over T, which dw needs anyway, and dbeta over dy's own sum: no
// product over all rows is left.
// CHECK-LABEL: func @column_sums(
// CHECK:         lnbwd.rowwise @k domain(m | n0, n1) ins(
// CHECK-NOT:       lnbwd.linear
// CHECK:         lnbwd.rowwise @k_parameters domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<96x64xf32>, %{{[^ ]+}}[m, n] : memref<96x64xf32>,
// CHECK-SAME:      outs(%{{[^ ]+}}[m, n] : memref<96x64xf32>, %{{[^ ]+}}[n] add : memref<64xf32>, %{{[^ ]+}}[n] add : memref<64xf32>)
// CHECK:           arith.mulf %w, %outer_sum_0
func.func @column_sums(%dy: memref<?x96xf32>, %x: memref<?x64xf32>, %gamma: memref<64xf32>, %w: memref<96x64xf32>,
                       %dgamma: memref<64xf32>, %dbeta: memref<64xf32>, %dw: memref<96x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %x[m, n1] : memref<?x64xf32>, %gamma[n1] : memref<64xf32>,
      %w[n0, n1] : memref<96x64xf32>)
      outs(%dgamma[n1] add : memref<64xf32>, %dbeta[n1] add : memref<64xf32>, %dw[n0, n1] add : memref<96x64xf32>)
      attributes {operand_names = ["dy", "x", "gamma", "w", "dgamma", "dbeta", "dw"]} {
  ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>, %g: vector<64xf32>, %wm: vector<96x64xf32>):
    %z = arith.mulf %xr, %g : vector<64xf32>
    %o = vector.outerproduct %dyr, %z : vector<96xf32>, vector<64xf32>
    %dz = lnbwd.linear %dyr, %wm transposed : vector<96xf32>, vector<96x64xf32>
    %p = arith.mulf %dz, %xr : vector<64xf32>
    lnbwd.yield %p, %dz, %o : vector<64xf32>, vector<64xf32>, vector<96x64xf32>
  }
  return
}

// -----

// Without an outer sum that has T, that of a product stays: T would cost as much.
// CHECK-LABEL: func @alone(
// CHECK:         lnbwd.rowwise @k domain(m | n0, n1) ins(
// CHECK:           lnbwd.linear
// CHECK-NOT:     lnbwd.rowwise
// CHECK:         return
func.func @alone(%dy: memref<?x96xf32>, %x: memref<?x64xf32>, %w: memref<96x64xf32>, %dgamma: memref<64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %x[m, n1] : memref<?x64xf32>, %w[n0, n1] : memref<96x64xf32>)
      outs(%dgamma[n1] add : memref<64xf32>) attributes {operand_names = ["dy", "x", "w", "dgamma"]} {
  ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %dz = lnbwd.linear %dyr, %wm transposed : vector<96xf32>, vector<96x64xf32>
    %p = arith.mulf %dz, %xr : vector<64xf32>
    lnbwd.yield %p : vector<64xf32>
  }
  return
}

// -----

// Rounding of one row stands in no rewrite's way: the product is of float32.
// CHECK-LABEL: func @rounded(
// CHECK:         lnbwd.rowwise @k domain(m | n0, n1) ins(
// CHECK:           vector.outerproduct %dy, %x
// CHECK:         lnbwd.rowwise @k_parameters
func.func @rounded(%dy: memref<?x96xf32>, %x: memref<?x64xf32>, %gamma: memref<64xf32>, %dw: memref<96x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xf32>, %x[m, n1] : memref<?x64xf32>, %gamma[n1] : memref<64xf32>)
      outs(%dw[n0, n1] add : memref<96x64xf32>) attributes {operand_names = ["dy", "x", "gamma", "dw"]} {
  ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>, %g: vector<64xf32>):
    %z = arith.mulf %xr, %g : vector<64xf32>
    %zn = arith.truncf %z : vector<64xf32> to vector<64xbf16>
    %zw = arith.extf %zn : vector<64xbf16> to vector<64xf32>
    %o = vector.outerproduct %dyr, %zw : vector<96xf32>, vector<64xf32>
    lnbwd.yield %o : vector<96x64xf32>
  }
  return
}

// -----

// Where both rows of the outer product are rounded, the sum is a product of
// matrices of that type and stays one: x, which the column sum has in float32,
// would be rounded for it. What needs the column sum of dy alone leaves.
// CHECK-LABEL: func @both_rounded(
// CHECK:         lnbwd.rowwise @k domain(m | n0, n1) ins(
// CHECK-SAME:      outs(%{{.*}} add : memref<64xf32>, %{{.*}} add : memref<96xf32>,
// CHECK-SAME:      %{{.*}} add : memref<96x64xf32>)
// CHECK:           %[[SCALED:.*]] = arith.mulf %x, %gamma
// CHECK:           %[[NARROW:.*]] = arith.truncf %[[SCALED]]
// CHECK:           %[[Z:.*]] = arith.extf %[[NARROW]]
// CHECK:           vector.outerproduct %{{.*}}, %[[Z]]
// CHECK:           %[[DZ:.*]] = lnbwd.linear %dy, %w transposed
// CHECK:           arith.mulf %[[DZ]], %x
// CHECK:         lnbwd.rowwise @k_parameters domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<96x64xbf16>, %{{[^ ]+}}[m] : memref<96xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[n] add : memref<64xf32>)
func.func @both_rounded(%dy: memref<?x96xbf16>, %x: memref<?x64xf32>, %gamma: memref<64xf32>, %w: memref<96x64xbf16>,
                        %dgamma: memref<64xf32>, %dbeta: memref<64xf32>, %dw: memref<96x64xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xbf16>, %x[m, n1] : memref<?x64xf32>, %gamma[n1] : memref<64xf32>,
      %w[n0, n1] : memref<96x64xbf16>)
      outs(%dgamma[n1] add : memref<64xf32>, %dbeta[n1] add : memref<64xf32>, %dw[n0, n1] add : memref<96x64xf32>)
      attributes {operand_names = ["dy", "x", "gamma", "w", "dgamma", "dbeta", "dw"]} {
  ^row(%dyr: vector<96xbf16>, %xr: vector<64xf32>, %g: vector<64xf32>, %wm: vector<96x64xbf16>):
    %dyw = arith.extf %dyr : vector<96xbf16> to vector<96xf32>
    %z = arith.mulf %xr, %g : vector<64xf32>
    %zn = arith.truncf %z : vector<64xf32> to vector<64xbf16>
    %zw = arith.extf %zn : vector<64xbf16> to vector<64xf32>
    %o = vector.outerproduct %dyw, %zw : vector<96xf32>, vector<64xf32>
    %dz = lnbwd.linear %dyr, %wm transposed : vector<96xbf16>, vector<96x64xbf16>
    %p = arith.mulf %dz, %xr : vector<64xf32>
    lnbwd.yield %p, %dz, %o : vector<64xf32>, vector<64xf32>, vector<96x64xf32>
  }
  return
}
