// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics | lnbwd-opt --split-input-file --verify-diagnostics | FileCheck %s

// A seed is a number of 64 bits, row scalars that are read or written may be
// integers as well.
// CHECK-LABEL: func.func @draw
// CHECK: ^{{.*}}(%{{.*}}: vector<8xf32>, %[[TARGET:.*]]: i32, %[[SEED:.*]]: i64):
// CHECK: lnbwd.philox %[[SEED]], %{{.*}} : vector<8xi32>
// CHECK: lnbwd.philox %[[SEED]], %[[TARGET]] : i32
func.func @draw(%x: memref<?x8xf32>, %t: memref<?xi32>, %s: memref<i64>, %y: memref<?x8xf32>, %b: memref<?xi32>) {
  lnbwd.rowwise @draw domain(m | n) ins(%x[m, n] : memref<?x8xf32>, %t[m] : memref<?xi32>, %s[] : memref<i64>)
      outs(%y[m, n] : memref<?x8xf32>, %b[m] : memref<?xi32>) {
  ^row(%xr: vector<8xf32>, %target: i32, %seed: i64):
    %c = lnbwd.index 1 : vector<8xi32>
    %bits = lnbwd.philox %seed, %c : vector<8xi32>
    %one = lnbwd.philox %seed, %target : i32
    %ones = vector.broadcast %one : i32 to vector<8xi32>
    %sum = arith.addi %bits, %ones : vector<8xi32>
    %f = arith.uitofp %sum : vector<8xi32> to vector<8xf32>
    %r = arith.addf %xr, %f : vector<8xf32>
    lnbwd.yield %r, %one : vector<8xf32>, i32
  }
  return
}
