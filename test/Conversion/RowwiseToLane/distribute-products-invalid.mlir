// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file --verify-diagnostics

func.func @branch(%c: i1, %x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  scf.if %c {
    // expected-error@+1 {{expected to be at the top level of its function: a launch plan has no loops or branches}}
    lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
        outs(%y[m, n1] : memref<?x96xf32>) {
    ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
      %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
      lnbwd.yield %p : vector<96xf32>
    }
  }
  return
}

// -----

func.func @kind(%x: memref<?x64xf32>, %w: memref<96x64xf32> {lnbwd.argument = #lnbwd.argument<kind = "row_block">}, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected kind of argument 1 to be "column", as the operand 'operand1' has it, got "row_block"; leave it out, it is set here}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xf32>, %w[n1, n0] : memref<96x64xf32>)
      outs(%y[m, n1] : memref<?x96xf32>) {
  ^row(%xr: vector<64xf32>, %wm: vector<96x64xf32>):
    %p = lnbwd.linear %xr, %wm : vector<64xf32>, vector<96x64xf32>
    lnbwd.yield %p : vector<96xf32>
  }
  return
}
