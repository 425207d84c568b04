// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 --split-input-file | FileCheck %s

// Results of a function on tensors become arguments after the others, which
// the launch plan lists in that order.
// CHECK-LABEL: func.func @results_become_arguments(
// CHECK-SAME:    memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "dy", kind = "row_block", access = "read">}
// CHECK-SAME:    memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "x", kind = "row_block", access = "read">}
// CHECK-SAME:    name = "mean"
// CHECK-SAME:    name = "rstd"
// CHECK-SAME:    memref<?x512xf32> {lnbwd.argument = #lnbwd.argument<name = "dx", kind = "row_block", access = "write">}
// CHECK-SAME:    memref<512xf32> {lnbwd.argument = #lnbwd.argument<name = "dgamma", kind = "column", access = "write">}
// CHECK-NOT:     ->
// CHECK-NOT:     memref.copy
// CHECK:         return{{$}}
func.func @results_become_arguments(%dy: tensor<?x512xf32>, %x: tensor<?x512xf32>, %mean: tensor<?xf32>,
                                    %rstd: tensor<?xf32>) -> (tensor<?x512xf32>, tensor<512xf32>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x512xf32>
  %0 = tensor.empty(%m) : tensor<?x512xf32>
  %1 = tensor.empty() : tensor<512xf32>
  %2:2 = lnbwd.layer_norm_bwd dy(%dy : tensor<?x512xf32>) x(%x : tensor<?x512xf32>)
      mean(%mean : tensor<?xf32>) rstd(%rstd : tensor<?xf32>)
      outs dx(%0 : tensor<?x512xf32>) dgamma(%1 : tensor<512xf32>)
      -> tensor<?x512xf32>, tensor<512xf32>
  return %2#0, %2#1 : tensor<?x512xf32>, tensor<512xf32>
}

// -----

// An output that the function is given is written in place.
// CHECK-LABEL: func.func @given_output(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         gpu.launch_func
// CHECK:         return{{$}}
func.func @given_output(%dy: tensor<?x512xf32>, %x: tensor<?x512xf32>, %s: tensor<?xf32>, %dx: tensor<?x512xf32>)
    -> tensor<?x512xf32> {
  %0 = lnbwd.layer_norm_bwd dy(%dy : tensor<?x512xf32>) x(%x : tensor<?x512xf32>)
      mean(%s : tensor<?xf32>) rstd(%s : tensor<?xf32>) outs dx(%dx : tensor<?x512xf32>) -> tensor<?x512xf32>
  return %0 : tensor<?x512xf32>
}

// -----

// A gradient that is not returned is not computed.
// CHECK-LABEL: gpu.module @dx_only_kernels
// CHECK-COUNT-1: gpu.func
// CHECK-NOT:     gpu.func
// CHECK:       func.func @dx_only
func.func @dx_only(%dy: tensor<?x512xf32>, %x: tensor<?x512xf32>, %s: tensor<?xf32>, %dx: tensor<?x512xf32>,
                   %c: tensor<512xf32>) -> tensor<?x512xf32> {
  %0:3 = lnbwd.layer_norm_bwd dy(%dy : tensor<?x512xf32>) x(%x : tensor<?x512xf32>)
      mean(%s : tensor<?xf32>) rstd(%s : tensor<?xf32>)
      outs dx(%dx : tensor<?x512xf32>) dgamma(%c : tensor<512xf32>) dbeta(%c : tensor<512xf32>)
      -> tensor<?x512xf32>, tensor<512xf32>, tensor<512xf32>
  return %0#0 : tensor<?x512xf32>
}
