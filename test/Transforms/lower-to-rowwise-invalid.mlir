// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --split-input-file --verify-diagnostics

// The pass takes all verified IR; what it is not given is stopped before it.
func.func @dynamic_row_length(%rows: memref<?x?xf32>, %stat: memref<?xf32>) {
  // expected-error@+1 {{expected the last dimension of x to be static}}
  lnbwd.layer_norm_bwd dy(%rows : memref<?x?xf32>) x(%rows : memref<?x?xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dx(%rows : memref<?x?xf32>)
  return
}

// -----

func.func @dynamic_row_length_of_dy(%dy: memref<?x?xf32>, %x: memref<?x512xf32>, %stat: memref<?xf32>) {
  // expected-error@+1 {{expected dy to have the shape [?, 512] (that of x), got 'memref<?x?xf32>'}}
  lnbwd.layer_norm_bwd dy(%dy : memref<?x?xf32>) x(%x : memref<?x512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dx(%x : memref<?x512xf32>)
  return
}

// -----

func.func @says_otherwise(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    attributes {lnbwd.operation = #lnbwd.operation<name = "layer_norm", epsilon = 1.0e-5 : f64>} {
  // expected-error @below {{is not what its function's lnbwd.operation says: expected #lnbwd.operation<name = "rms_norm", epsilon = 1.000000e-05 : f64>, got #lnbwd.operation<name = "layer_norm", epsilon = 1.000000e-05 : f64>; leave the attribute out, it is set here}}
  lnbwd.rms_norm x(%x : memref<?x64xf32>) outs y(%y : memref<?x64xf32>)
  return
}

// -----

// What is said of an argument has to be what the operand is.
func.func @f(%x: memref<?x8xf32>, %g: memref<8xf32>, %y: memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<kind = "column">}) {
  // expected-error@+1 {{expected kind of argument 2 to be "row_block", as the operand 'y' has it, got "column"; leave it out, it is set here}}
  lnbwd.rms_norm x(%x : memref<?x8xf32>) gamma(%g : memref<8xf32>) outs y(%y : memref<?x8xf32>)
  return
}

// -----

func.func @f(%x: memref<?x4x8xf32> {lnbwd.argument = #lnbwd.argument<row_rank = 2>}, %y: memref<?x4x8xf32>) {
  // expected-error@+1 {{expected row_rank of argument 0 to be 1, as the operand 'x' has it, got 2}}
  lnbwd.rms_norm x(%x : memref<?x4x8xf32>) outs y(%y : memref<?x4x8xf32>)
  return
}
