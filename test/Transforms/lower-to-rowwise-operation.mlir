// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --split-input-file | FileCheck %s

// The function of one named operation says which it was, with what the
// arguments do not show: an epsilon where statistics are computed.
// CHECK-LABEL: func.func @recomputed
// CHECK-SAME:    lnbwd.operation = #lnbwd.operation<name = "rms_norm_bwd", epsilon = 1.000000e-03 : f64, zero_centred_gamma = true>
func.func @recomputed(%dy: memref<?x64xf32>, %x: memref<?x64xf32>, %gamma: memref<64xf32>, %dx: memref<?x64xf32>) {
  lnbwd.rms_norm_bwd dy(%dy : memref<?x64xf32>) x(%x : memref<?x64xf32>) gamma(%gamma : memref<64xf32>)
      outs dx(%dx : memref<?x64xf32>) {epsilon = 1.0e-3 : f64, zero_centred_gamma}
  return
}

// -----

// Saved statistics have their epsilon in them.
// CHECK-LABEL: func.func @saved
// CHECK-SAME:    lnbwd.operation = #lnbwd.operation<name = "rms_norm_bwd">
func.func @saved(%dy: memref<?x64xf32>, %x: memref<?x64xf32>, %rstd: memref<?xf32>, %dx: memref<?x64xf32>) {
  lnbwd.rms_norm_bwd dy(%dy : memref<?x64xf32>) x(%x : memref<?x64xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x64xf32>)
  return
}

// -----

// An argument that is several operands has the others' names as aliases.
// CHECK-LABEL: func.func @shared
// CHECK-SAME:    %{{.*}}: memref<?x64xf32> {lnbwd.argument = #lnbwd.argument<name = "x", aliases = ["y"]{{.*}}>}
func.func @shared(%x: memref<?x64xf32>) {
  lnbwd.rms_norm x(%x : memref<?x64xf32>) outs y(%x : memref<?x64xf32>)
  return
}

// -----

// What two operations compute together has no name.
// CHECK-LABEL: func.func @two
// CHECK-NOT:     lnbwd.operation
// CHECK:         return
func.func @two(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>) {
  lnbwd.rms_norm x(%x : memref<?x64xf32>) outs y(%y : memref<?x64xf32>)
  lnbwd.rms_norm x(%y : memref<?x64xf32>) outs y(%z : memref<?x64xf32>)
  return
}
