// RUN: lnbwd-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --split-input-file \
// RUN:   | FileCheck %s

// The output is written in place: no allocation, no copy.
// CHECK-LABEL: func @in_place(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xf32>, %[[Y:[a-z0-9_]+]]: memref<?x512xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[X]][m, n] : memref<?x512xf32>) outs(%[[Y]][m, n] : memref<?x512xf32>)
// CHECK-SAME:      attributes {operand_names = ["x", "y"]}
// CHECK-NOT:     memref.copy
// CHECK:         return %[[Y]]
func.func @in_place(%x: tensor<?x512xf32>, %y: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %0 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x512xf32>) outs(%y[m, n] : tensor<?x512xf32>)
      attributes {operand_names = ["x", "y"]} -> tensor<?x512xf32> {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return %0 : tensor<?x512xf32>
}

// -----

// An output that is an input as well gets a buffer of its own, and what is in
// it before is not copied: outputs are never read.
// CHECK-LABEL: func @output_is_input(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xf32>)
// CHECK:         %[[NEW:[a-z0-9_]+]] = memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[X]][m, n] : memref<?x512xf32>) outs(%[[NEW]][m, n] : memref<?x512xf32>)
func.func @output_is_input(%x: tensor<?x512xf32>) -> (tensor<?x512xf32>, tensor<?x512xf32>) {
  %0 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x512xf32>) outs(%x[m, n] : tensor<?x512xf32>) -> tensor<?x512xf32> {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return %0, %x : tensor<?x512xf32>, tensor<?x512xf32>
}

// -----

// Each result is its own output's buffer.
// CHECK-LABEL: func @two_outputs(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%{{[^)]*}}) outs(%[[Y:[a-z0-9_]+]][m, n] : memref<?x512xf32>, %[[S:[a-z0-9_]+]][n] add : memref<512xf32>)
// CHECK:         return %[[Y]], %[[S]]
func.func @two_outputs(%x: tensor<?x512xf32>, %y: tensor<?x512xf32>, %s: tensor<512xf32>)
    -> (tensor<?x512xf32>, tensor<512xf32>) {
  %0:2 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x512xf32>)
      outs(%y[m, n] : tensor<?x512xf32>, %s[n] add : tensor<512xf32>)
      -> tensor<?x512xf32>, tensor<512xf32> {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return %0#0, %0#1 : tensor<?x512xf32>, tensor<512xf32>
}
