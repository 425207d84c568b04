// RUN: lnbwd-opt %s --lnbwd-differentiate --split-input-file | FileCheck %s

// The adjoint of the row is the product with the transposed matrix, that of the
// matrix an outer sum, that of the bias a column sum. What is multiplied is
// rounded to the type of the row, as it is in the forward pass; the rest is not.
// CHECK-LABEL: func @linear_bwd(
// CHECK:         lnbwd.rowwise @linear_bwd domain(m | n0, n1) ins(%{{[^ ]+}}[m, n1] : memref<?x96xf32>, %{{[^ ]+}}[m, n0] : memref<?x64xbf16>,
// CHECK-SAME:      %{{[^ ]+}}[n1, n0] : memref<96x64xbf16>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m, n0] : memref<?x64xbf16>,
// CHECK-SAME:      %{{[^ ]+}}[n1] add : memref<96xf32>,
// CHECK-SAME:      %{{[^ ]+}}[n1, n0] add : memref<96x64xbf16>)
// CHECK-SAME:      operand_names = ["dy", "x", "w", "dx", "db", "dw"]
// CHECK-DAG:       %[[NARROW:.*]] = arith.truncf %dy
// CHECK-DAG:       %[[DY:.*]] = arith.extf %[[NARROW]]
// CHECK-DAG:       %[[DX:.*]] = lnbwd.linear %[[DY]], %w transposed : vector<96xf32>, vector<96x64xbf16>
// CHECK-DAG:       %[[X:.*]] = arith.extf %x
// CHECK-DAG:       %[[DW:.*]] = vector.outerproduct %[[DY]], %[[X]] : vector<96xf32>, vector<64xf32>
// CHECK-DAG:       %[[ROUNDED:.*]] = arith.truncf %[[DX]]
// CHECK:           lnbwd.yield %[[ROUNDED]], %dy, %[[DW]]
func.func @linear(%x: memref<?x64xbf16>, %b: memref<96xf32>, %w: memref<96x64xbf16>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @linear domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %b[n1] : memref<96xf32>, %w[n1, n0] : memref<96x64xbf16>)
      outs(%y[m, n1] : memref<?x96xf32>) attributes {operand_names = ["x", "b", "w", "y"]} {
  ^row(%xr: vector<64xbf16>, %br: vector<96xf32>, %wm: vector<96x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<96x64xbf16>
    %yr = arith.addf %p, %br : vector<96xf32>
    lnbwd.yield %yr : vector<96xf32>
  }
  return
}

// -----

// The other way round; a matrix that is used twice has two outer products.
// CHECK-LABEL: func @tied_bwd(
// CHECK-DAG:       %[[FIRST:.*]] = vector.outerproduct %{{.*}}, %dy : vector<96xf32>, vector<64xf32>
// CHECK-DAG:       %[[SECOND:.*]] = vector.outerproduct %{{.*}}, %x : vector<96xf32>, vector<64xf32>
// CHECK-DAG:       %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]]{{.*}} : vector<96x64xf32>
// CHECK:           lnbwd.yield %{{.*}}, %[[SUM]] : vector<64xf32>, vector<96x64xf32>
func.func @tied(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @tied domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>) outs(%y[m, n0] : memref<?x64xf32>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %t = math.tanh %p : vector<96xf32>
    %yr = lnbwd.linear %t, %wm transposed : vector<96xf32>, vector<96x64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}
