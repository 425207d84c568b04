// RUN: lnbwd-opt %s --lnbwd-differentiate | FileCheck %s
// RUN: not lnbwd-opt %s --lnbwd-differentiate=wrt=mask 2>&1 | FileCheck %s --check-prefix=WRT

// A mask has no gradient, and the gradient is given it.
// CHECK-LABEL: func @dropout_bwd(
// CHECK-SAME:    %[[DY:.*]]: memref<?x512xf32>, %[[MASK:.*]]: memref<?x512xi8>, %[[DX:.*]]: memref<?x512xf32>)
// CHECK:         ins(%[[DY]][m, n] : {{.*}}, %[[MASK]][m, n] :
// CHECK-SAME:    outs(%[[DX]][m, n] :
// CHECK:         %[[SET:.*]] = arith.cmpi ne
// CHECK:         arith.select %[[SET]]
// WRT:           expected the option wrt to name inputs of f16, bf16 or f32, got mask of 'i8', which has no gradient
func.func @dropout(%x: memref<?x512xf32>, %mask: memref<?x512xi8>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @dropout domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %mask[m, n] : memref<?x512xi8>)
      outs(%y[m, n] : memref<?x512xf32>) attributes {operand_names = ["x", "mask", "y"]} {
  ^row(%xr: vector<512xf32>, %mr: vector<512xi8>):
    %zero = arith.constant dense<0> : vector<512xi8>
    %none = arith.constant dense<0.0> : vector<512xf32>
    %scale = arith.constant dense<1.25> : vector<512xf32>
    %tile = arith.cmpi ne, %mr, %zero : vector<512xi8>
    %scaled = arith.mulf %xr, %scale : vector<512xf32>
    %yr = arith.select %tile, %scaled, %none : vector<512xi1>, vector<512xf32>
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}
