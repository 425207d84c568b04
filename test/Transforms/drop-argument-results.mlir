// RUN: lnbwd-opt %s --lnbwd-drop-argument-results --split-input-file | FileCheck %s

// What the caller passed in need not come back; what was made here does.
// CHECK-LABEL: func.func @given_output(
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<?x8xf32>, %{{[a-z0-9]+}}: memref<8xf32>) -> memref<4xf32> {
// CHECK:         return %{{[a-z0-9_]+}} : memref<4xf32>
func.func @given_output(%x: memref<?x8xf32>, %s: memref<8xf32>) -> (memref<?x8xf32>, memref<4xf32>, memref<8xf32>) {
  %new = memref.alloc() : memref<4xf32>
  return %x, %new, %s : memref<?x8xf32>, memref<4xf32>, memref<8xf32>
}

// -----

// CHECK-LABEL: func.func @two_returns(
// CHECK-SAME:    -> memref<8xf32> {
// CHECK-COUNT-2: return %{{[a-z0-9]+}} : memref<8xf32>
func.func @two_returns(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>) -> (memref<8xf32>, memref<8xf32>) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %x, %x : memref<8xf32>, memref<8xf32>
^bb2:
  return %x, %y : memref<8xf32>, memref<8xf32>
}

// -----

// The caller's call would have to change with it.
// CHECK-LABEL: func.func @called(
// CHECK-SAME:    -> memref<8xf32>
func.func @called(%x: memref<8xf32>) -> memref<8xf32> {
  return %x : memref<8xf32>
}
// CHECK-LABEL: func.func @caller(
func.func @caller(%x: memref<8xf32>) {
  %0 = call @called(%x) : (memref<8xf32>) -> memref<8xf32>
  return
}

// -----

// CHECK-LABEL: func.func private @external(memref<8xf32>) -> memref<8xf32>
func.func private @external(%x: memref<8xf32>) -> memref<8xf32>

// -----

// Numbers are not buffers.
// CHECK-LABEL: func.func @number(
// CHECK-SAME:    -> index
func.func @number(%m: index) -> index {
  return %m : index
}
