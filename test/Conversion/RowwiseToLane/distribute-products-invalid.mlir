// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --split-input-file --verify-diagnostics

func.func @branch(%c: i1, %x: memref<?x64xf32>, %w: memref<96x64xf32>, %y: memref<?x96xf32>) {
  scf.if %c {
    // expected-error@+1 {{expected to be at the top level of its function: a launch plan has no loops or branches}}
    lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
        attributes {rhs_transposed}
  }
  return
}

// -----

func.func @kind(%x: memref<?x64xf32>, %w: memref<96x64xf32> {lnbwd.kind = "row_block"}, %y: memref<?x96xf32>) {
  // expected-error@+1 {{expected lnbwd.kind of argument 1 to be "column", as the operand 'operand1' has it, got "row_block"; leave the attribute out, it is set here}}
  lnbwd.product @k lhs(%x : memref<?x64xf32>) rhs(%w : memref<96x64xf32>) outs(%y : memref<?x96xf32>)
      attributes {rhs_transposed}
  return
}
