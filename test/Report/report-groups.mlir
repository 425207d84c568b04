// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=report --rows=16384 | FileCheck %s

// The rows of a program with groups count as one: its columns are read by each
// workgroup, and its sum is one row.
// CHECK-LABEL: kernel @k{{$}}
// CHECK-LABEL: kernel @k_finalize_groups
// CHECK:         launch {{ *}}16 workgroups
// CHECK-LABEL: all kernels
// CHECK:         bytes {{ *}}{{[0-9]+}}, 1.0{{[0-9]+}} times the fewest possible
func.func @groups(%x: memref<?x?x512xf32>, %scale: memref<?x512xf32>, %y: memref<?x?x512xf32>, %sum: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>, %scale[m0, n] : memref<?x512xf32>)
      outs(%y[m0, m1, n] : memref<?x?x512xf32>, %sum[m0, n] add : memref<?x512xf32>)
      attributes {operand_names = ["x", "scale", "y", "sum"]} {
  ^row(%xr: vector<512xf32>, %s: vector<512xf32>):
    %p = arith.mulf %xr, %s : vector<512xf32>
    lnbwd.yield %p, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}
