// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-select-schedule --split-input-file --verify-diagnostics
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-split-two-pass --split-input-file --verify-diagnostics

func.func @linear(%x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  // expected-error@+1 {{cannot be scheduled: expected a row program without matrices and outer sums, got the matrix 'w'; run lnbwd-split-contractions before}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>) outs(%y[m, n1] : memref<?x96xf32>)
      attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %z = arith.negf %xr : vector<64xf32>
    %p = lnbwd.linear %z, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}

// -----

func.func @outer(%x: memref<?x64xf32>, %g: memref<64x64xf32>) {
  // expected-error@+1 {{cannot be scheduled: expected a row program without matrices and outer sums, got the outer sum 'g'; run lnbwd-split-contractions before}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>) outs(%g[n1, n0] add : memref<64x64xf32>)
      attributes {operand_names = ["x", "g"]} {
  ^row(%xr: vector<64xf32>):
    %z = arith.negf %xr : vector<64xf32>
    %o = vector.outerproduct %z, %xr : vector<64xf32>, vector<64xf32>
    lnbwd.yield %o : vector<64x64xf32>
  }
  return
}
