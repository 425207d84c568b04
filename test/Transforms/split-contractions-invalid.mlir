// RUN: lnbwd-opt %s --lnbwd-split-contractions --split-input-file --verify-diagnostics

func.func @rank(%x: memref<?x4x64xf32>, %w: memref<96x64xf32>, %y: memref<?x4x96xf32>) {
  // expected-error@+1 {{cannot be lowered: expected row blocks of two dimensions in a program with matrices, got 'memref<?x4x64xf32>'; collapse the leading dimensions}}
  lnbwd.rowwise @k domain(m0, m1 | n0, n1) ins(%x[m0, m1, n0] : memref<?x4x64xf32>, %w[n1, n0] : memref<96x64xf32>) outs(%y[m0, m1, n1] : memref<?x4x96xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}

// -----

func.func @accumulate(%x: memref<?x64xf32>, %g: memref<64x64xf32>) {
  // expected-error@+1 {{cannot be lowered: expected outer sums that do not accumulate; add them in a program of their own}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>) outs(%g[n1, n0] add : memref<64x64xf32>) attributes {accumulate} {
  ^row(%xr: vector<64xf32>):
    %o = vector.outerproduct %xr, %xr : vector<64xf32>, vector<64xf32>
    lnbwd.yield %o : vector<64x64xf32>
  }
  return
}

// -----

func.func @in_place(%x: memref<?x64xf32>, %w: memref<64x64xf32>) {
  // expected-error@+1 {{cannot be split at its products: operand 0 (x) is an output as well; give the output a buffer of its own}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<64x64xf32>) outs(%x[m, n0] : memref<?x64xf32>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %wm: vector<64x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<64x64xf32>
    lnbwd.yield %p : vector<64xf32>
  }
  return
}

// -----

func.func @tensors(%x: tensor<?x64xf32>, %w: tensor<96x64xf32>, %y: tensor<?x96xf32>) -> tensor<?x96xf32> {
  // expected-error@+1 {{expected memrefs and no schedule; run bufferization before, and lnbwd-select-schedule after}}
  %0 = lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : tensor<?x64xf32>, %w[n1, n0] : tensor<96x64xf32>)
      outs(%y[m, n1] : tensor<?x96xf32>) -> tensor<?x96xf32> {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return %0 : tensor<?x96xf32>
}
