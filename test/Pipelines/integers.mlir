// RUN: lnbwd-opt %s --lnbwd-pipeline='chip=gfx942' --emit=isa -o - | FileCheck %s

// An access of 16 bytes is of two integers of 64 bits.
// CHECK-LABEL: f:
// CHECK:         {{global|buffer}}_load_dwordx4
// CHECK:         v_lshl_add_u64
// CHECK:         {{global|buffer}}_store_dwordx4
func.func @f(%x: memref<?x512xi64>, %c: memref<512xi64>, %y: memref<?x512xi64>) {
  lnbwd.rowwise @f domain(m | n) ins(%x[m, n] : memref<?x512xi64>, %c[n] : memref<512xi64>)
      outs(%y[m, n] : memref<?x512xi64>) {
  ^row(%xr: vector<512xi64>, %cr: vector<512xi64>):
    %s = arith.addi %xr, %cr : vector<512xi64>
    lnbwd.yield %s : vector<512xi64>
  }
  return
}
