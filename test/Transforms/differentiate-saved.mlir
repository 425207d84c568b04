// RUN: lnbwd-opt %s --lnbwd-differentiate=saved=sum,mean,rstd | FileCheck %s
// RUN: lnbwd-opt %examples/softmax.mlir --lnbwd-differentiate=saved=y | FileCheck %s --check-prefix=SOFTMAX
// RUN: lnbwd-opt %examples/softmax.mlir --lnbwd-differentiate | FileCheck %s --check-prefix=AGAIN
// RUN: lnbwd-opt %examples/l2_normalize.mlir --lnbwd-differentiate | FileCheck %s --check-prefix=OUTPUT
// RUN: lnbwd-opt %examples/l2_normalize.mlir --lnbwd-differentiate=saved=rnorm | FileCheck %s --check-prefix=STATISTIC
// RUN: lnbwd-opt %examples/l2_normalize.mlir --lnbwd-differentiate="saved=rnorm of=y,rnorm" | FileCheck %s --check-prefix=BOTH
// RUN: lnbwd-opt %examples/l2_normalize.mlir --lnbwd-differentiate="saved=y,rnorm of=rnorm" | FileCheck %s --check-prefix=OF
// RUN: lnbwd-opt %examples/dynamic_tanh.mlir --lnbwd-differentiate=wrt=gamma,beta | FileCheck %s --check-prefix=WRT

// A row output can be saved and have an adjoint: the sum of a residual
// connection is what the gradient reads, and what it adds to. The result is that
// of lnbwd.layer_norm_bwd with dsum and dresidual.
// CHECK-LABEL: func @residual_bwd(
// CHECK:         operand_names = ["dy", "dsum", "sum", "gamma", "mean", "rstd", "dx", "dresidual", "dgamma"]
// CHECK:           %[[WDY:.*]] = vector.fma %{{.*}}, %gamma,
// CHECK:           vector.reduction
// CHECK:           vector.reduction
// CHECK-NOT:       vector.reduction
// CHECK:           %[[START:.*]] = arith.addf %dsum, %{{.*}}
// CHECK:           %[[INNER:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[START]]
// CHECK:           %[[DX:.*]] = vector.fma %[[WDY]], %{{.*}}, %[[INNER]]
// CHECK:           %[[NARROW:.*]] = arith.truncf %[[DX]]
// CHECK:           lnbwd.yield %[[NARROW]], %[[DX]],
func.func @residual(%x: memref<?x512xbf16>, %r: memref<?x512xf32>, %gamma: memref<512xf32>, %y: memref<?x512xbf16>,
                    %sum: memref<?x512xf32>, %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm x(%x : memref<?x512xbf16>) residual(%r : memref<?x512xf32>) gamma(%gamma : memref<512xf32>)
      outs y(%y : memref<?x512xbf16>) sum(%sum : memref<?x512xf32>) mean(%mean : memref<?xf32>)
           rstd(%rstd : memref<?xf32>) {zero_centred_gamma}
  return
}

// From its output alone: y * (dy - sum(dy * y)).
// SOFTMAX:     operand_names = ["dy", "y", "dx"]
// SOFTMAX-NOT: math.exp
// SOFTMAX:     %[[PRODUCT:.*]] = arith.mulf %dy, %y
// SOFTMAX:     vector.reduction <add>, %[[PRODUCT]]
// SOFTMAX-NOT: vector.reduction
// SOFTMAX:     %[[DIFFERENCE:.*]] = arith.addf %dy,
// SOFTMAX:     %[[DX:.*]] = arith.mulf %[[DIFFERENCE]], %y
// SOFTMAX:     lnbwd.yield %[[DX]]

// From its input.
// AGAIN:       operand_names = ["dy", "x", "dx"]
// AGAIN:       vector.reduction <maximumf>
// AGAIN:       math.exp

// A row scalar is an output like any other, unless it is saved.
// OUTPUT:      operand_names = ["dy", "x", "drnorm", "dx"]
// OUTPUT:      math.rsqrt
// STATISTIC:     operand_names = ["dy", "x", "rnorm", "dx"]
// STATISTIC-NOT: math.rsqrt

// Saved, and an output that the loss depends on.
// BOTH:        operand_names = ["dy", "x", "drnorm", "rnorm", "dx"]
// BOTH-NOT:    math.rsqrt

// The loss depends on the norm alone, the gradient of which is written with what
// is saved.
// OF:          operand_names = ["y", "drnorm", "rnorm", "dx"]
// OF-NOT:      vector.reduction

// Of some inputs: alpha is read, and no gradient of it asked for.
// WRT:         operand_names = ["dy", "x", "alpha", "dgamma", "dbeta"]
