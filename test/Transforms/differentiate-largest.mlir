// RUN: lnbwd-opt %s --lnbwd-differentiate=saved=half | FileCheck %s

// The saved half is used for the values, and the largest element is found again among elements that
// are computed again: it equals one of these.
// CHECK-LABEL: func @largest_bwd(
// CHECK:         %[[Y:.*]] = math.exp %x
// CHECK:         %[[AGAIN:.*]] = vector.reduction <maximumf>, %[[Y]]
// CHECK:         %[[SPREAD:.*]] = vector.broadcast %[[AGAIN]]
// CHECK:         arith.cmpf oeq, %[[Y]], %[[SPREAD]]
func.func @largest(%x: memref<?x64xf32>, %z: memref<?x64xf32>, %half: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%z[m, n] : memref<?x64xf32>, %half[m] : memref<?xf32>)
      attributes {operand_names = ["x", "z", "half"]} {
  ^bb0(%xr: vector<64xf32>):
    %c = arith.constant 5.0e-1 : f32
    %y = math.exp %xr : vector<64xf32>
    %most = vector.reduction <maximumf>, %y : vector<64xf32> into f32
    %h = arith.mulf %most, %c : f32
    %hs = vector.broadcast %h : f32 to vector<64xf32>
    %zr = arith.mulf %xr, %hs : vector<64xf32>
    lnbwd.yield %zr, %h : vector<64xf32>, f32
  }
  return
}
