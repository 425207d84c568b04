// RUN: lnbwd-opt %s --lnbwd-differentiate | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-differentiate=wrt=table 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not lnbwd-opt %s --lnbwd-differentiate=wrt=id 2>&1 | FileCheck %s --check-prefix=INDEX

// A gradient takes the rows again, and there is none for the table or the index.
// CHECK-LABEL: func @scaled_bwd(
// CHECK-SAME:    %[[DY:.*]]: memref<?x512xf32>, %[[ID:.*]]: memref<?xi64>, %[[T:.*]]: memref<100x512xf32>, %[[DX:.*]]: memref<?x512xf32>)
// CHECK:         ins(%[[DY]][m, n] : {{.*}}, %[[ID]][m] : {{.*}}, %[[T]][*, n] :
// CHECK-SAME:    outs(%[[DX]][m, n] :
// CHECK:         %[[R:.*]] = lnbwd.gather
// CHECK:         arith.mulf %{{.*}}, %[[R]]
// TABLE:         expected the option wrt to name inputs of f16, bf16 or f32, got table, a table, whose gradient is a scatter that no row program has
// INDEX:         expected the option wrt to name inputs of f16, bf16 or f32, got id of 'i64', which has no gradient
func.func @scaled(%x: memref<?x512xf32>, %id: memref<?xi64>, %t: memref<100x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @scaled domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %id[m] : memref<?xi64>, %t[*, n] : memref<100x512xf32>)
      outs(%y[m, n] : memref<?x512xf32>) attributes {operand_names = ["x", "id", "table", "y"]} {
  ^row(%xr: vector<512xf32>, %ir: i64, %tr: vector<100x512xf32>):
    %r = lnbwd.gather %tr[%ir] : vector<100x512xf32>, i64
    %yr = arith.mulf %xr, %r : vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}
