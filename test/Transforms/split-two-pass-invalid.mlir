// RUN: split-file %s %t
// RUN: not lnbwd-opt %t/program.mlir --lnbwd-split-two-pass=mode=sometimes 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not lnbwd-opt %t/program.mlir --lnbwd-split-two-pass 2>&1 | FileCheck %s --check-prefix=NO-CHIP
// RUN: lnbwd-opt %t/in-place.mlir --lnbwd-split-two-pass=mode=always --verify-diagnostics

// MODE:    error: loc("option two-pass (mode)"): expected two-pass (mode) to be auto, always or never, got 'sometimes'
// NO-CHIP: error: expected a module for a chip; run lnbwd-set-chip before

//--- program.mlir
func.func @f() {
  return
}

//--- in-place.mlir
func.func @f(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<512xf32>) {
  // expected-error@+1 {{cannot be split into two passes: operand 1 (scale) is an output as well; give the output a buffer of its own}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %s[n] : memref<512xf32>)
      outs(%y[m, n] : memref<?x512xf32>, %s[n] add : memref<512xf32>)
      attributes {operand_names = ["x", "scale", "y", "sum"]} {
  ^bb0(%xr: vector<512xf32>, %sr: vector<512xf32>):
    %scaled = arith.mulf %xr, %sr : vector<512xf32>
    lnbwd.yield %scaled, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}
