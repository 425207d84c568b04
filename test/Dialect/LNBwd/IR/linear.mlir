// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// Each operand has a row length of its own.
// CHECK-LABEL: func @both_ways(
// CHECK:         lnbwd.rowwise @linear_bwd domain(m | n0, n1) ins(%{{[^ ]+}}[m, n0] : memref<?x96xbf16>, %{{[^ ]+}}[m, n1] : memref<?x64xf32>,
// CHECK-SAME:      %{{[^ ]+}}[n0, n1] : memref<96x64xbf16>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m, n1] : memref<?x64xf32>, %{{[^ ]+}}[n0] add : memref<96xf32>,
// CHECK-SAME:      %{{[^ ]+}}[n0, n1] add : memref<96x64xbf16>)
// CHECK:           lnbwd.linear %{{[a-z0-9_, %]+}}, %{{[a-z0-9_, %]+}} transposed : vector<96xf32>, vector<96x64xbf16>
// CHECK:           vector.outerproduct
// A product widens its operands itself.
// CANON-LABEL: func @both_ways(
// CANON:         lnbwd.linear %{{[a-z0-9_, %]+}}, %{{[a-z0-9_, %]+}} transposed : vector<96xbf16>, vector<96x64xbf16>
func.func @both_ways(%dy: memref<?x96xbf16>, %x: memref<?x64xf32>, %w: memref<96x64xbf16>, %dx: memref<?x64xf32>,
                     %db: memref<96xf32>, %dw: memref<96x64xbf16>) {
  lnbwd.rowwise @linear_bwd domain(m | n0, n1) ins(%dy[m, n0] : memref<?x96xbf16>, %x[m, n1] : memref<?x64xf32>, %w[n0, n1] : memref<96x64xbf16>)
      outs(%dx[m, n1] : memref<?x64xf32>, %db[n0] add : memref<96xf32>, %dw[n0, n1] add : memref<96x64xbf16>) {
  ^row(%dyr: vector<96xbf16>, %xr: vector<64xf32>, %wm: vector<96x64xbf16>):
    %wide = arith.extf %dyr : vector<96xbf16> to vector<96xf32>
    %dxr = lnbwd.linear %wide, %wm transposed : vector<96xf32>, vector<96x64xbf16>
    %dwm = vector.outerproduct %wide, %xr : vector<96xf32>, vector<64xf32>
    lnbwd.yield %dxr, %wide, %dwm : vector<64xf32>, vector<96xf32>, vector<96x64xf32>
  }
  return
}

// On tensors; the row scalar stands before the matrix.
// CHECK-LABEL: func @forward(
// CHECK:         %{{[^ ]+}}[m] : tensor<?xf32>, %{{[^ ]+}}[{{n[01], n[01]}}] : tensor<96x64xf32>)
// CHECK:         ^bb0(%{{[a-z0-9_, %]+}}: vector<64xf32>, %{{[a-z0-9_, %]+}}: vector<96xf32>, %{{[a-z0-9_, %]+}}: f32, %{{[a-z0-9_, %]+}}: vector<96x64xf32>)
// CANON-LABEL: func @forward(
func.func @forward(%x: tensor<?x64xf32>, %b: tensor<96xf32>, %s: tensor<?xf32>, %w: tensor<96x64xf32>,
                   %y: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %0 = lnbwd.rowwise @linear domain(m | n0, n1) ins(%x[m, n0] : tensor<?x64xf32>, %b[n1] : tensor<96xf32>, %s[m] : tensor<?xf32>,
      %w[n1, n0] : tensor<96x64xf32>) outs(%y[m, n1] : tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^row(%xr: vector<64xf32>, %br: vector<96xf32>, %sr: f32, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %ss = vector.broadcast %sr : f32 to vector<96xf32>
    %q = vector.fma %p, %ss, %br : vector<96xf32>
    lnbwd.yield %q : vector<96xf32>
  }
  return %0 : tensor<?x96xf32>
}

// What nobody asks for goes with the matrix that it alone read.
// CANON-LABEL: func @unused(
// CANON:         lnbwd.rowwise @k domain(m | n0, n1) ins(%{{[^ ]+}}[m, n0] : tensor<?x64xf32>) outs(%{{[^ ]+}}[n1, n0] add : tensor<64x64xf32>)
// CANON-NOT:     lnbwd.linear
// CHECK-LABEL: func @unused(
func.func @unused(%x: tensor<?x64xf32>, %w: tensor<96x64xf32>, %y: tensor<?x96xf32>, %g: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %0:2 = lnbwd.rowwise @k domain(m | n0, n1, n2) ins(%x[m, n0] : tensor<?x64xf32>, %w[n1, n0] : tensor<96x64xf32>)
      outs(%y[m, n1] : tensor<?x96xf32>, %g[n2, n0] add : tensor<64x64xf32>) -> tensor<?x96xf32>, tensor<64x64xf32> {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    %o = vector.outerproduct %xr, %xr : vector<64xf32>, vector<64xf32>
    lnbwd.yield %p, %o : vector<96xf32>, vector<64x64xf32>
  }
  return %0#1 : tensor<64x64xf32>
}

// A row of zeros gives zeros.
// CANON-LABEL: func @zeros(
// CANON-NOT:     matrices
// CANON:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<96xf32>
// CANON:         lnbwd.yield %[[ZERO]]
// CHECK-LABEL: func @zeros(
func.func @zeros(%w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%w[n0, n1] : memref<96x64xf32>) outs(%y[m, n0] : memref<?x96xf32>) {
  ^row(%wm: vector<96x64xf32>):
    %zero = arith.constant dense<0.0> : vector<64xf32>
    %p = lnbwd.linear %zero, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}
