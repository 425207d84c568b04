// RUN: lnbwd-opt %s --lnbwd-differentiate --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-differentiate=saved=none --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: lnbwd-opt %s --lnbwd-differentiate="wrt=x" --split-input-file 2>&1 | FileCheck %s --check-prefix=WRT
// RUN: lnbwd-opt %s --lnbwd-differentiate=simplify=false --split-input-file | FileCheck %s --check-prefix=PLAIN

// What layer_norm_bwd is by hand: two sums in one phase, no more than the first
// power of rstd beside them, two fused multiply-adds.
// CHECK-LABEL: func @layer_norm_bwd(
// CHECK:         lnbwd.rowwise @layer_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "x", "gamma", "mean", "rstd", "dx", "dgamma", "dbeta"]
// CHECK:           %[[XHAT:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<512xf32>
// CHECK:           vector.reduction <add>
// CHECK:           vector.reduction <add>
// CHECK-NOT:       vector.reduction
// CHECK:           %[[INNER:.*]] = vector.fma %[[XHAT]],
// CHECK:           %[[DX:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[INNER]]
// CHECK-NOT:       vector.fma
// CHECK:           lnbwd.yield %[[DX]], %{{.*}}, %dy
// What is not saved is computed again, and has an adjoint.
// NONE-LABEL:  func @layer_norm_bwd(
// NONE:          operand_names = ["dy", "x", "gamma", "dmean", "drstd", "dx", "dgamma", "dbeta"]
// NONE:          math.rsqrt
// WRT-LABEL:  func @layer_norm_bwd(
// WRT:          operand_names = ["dy", "x", "gamma", "mean", "rstd", "dx"]
// As the adjoints come, the sum for the mean waits for that of the variance.
// PLAIN-LABEL: func @layer_norm_bwd(
// PLAIN:         %[[FIRST:.*]] = vector.reduction
// PLAIN:         vector.broadcast
// PLAIN:         vector.reduction
func.func @layer_norm(%x: memref<?x512xf32>, %gamma: memref<512xf32>, %beta: memref<512xf32>, %y: memref<?x512xf32>,
                      %mean: memref<?xf32>, %rstd: memref<?xf32>) {
  lnbwd.layer_norm x(%x : memref<?x512xf32>) gamma(%gamma : memref<512xf32>) beta(%beta : memref<512xf32>)
      outs y(%y : memref<?x512xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
  return
}

// -----

// One sum.
// CHECK-LABEL: func @rms_norm_bwd(
// CHECK:         operand_names = ["dy", "x", "gamma", "rstd", "dx", "dgamma"]
// CHECK:           vector.reduction
// CHECK-NOT:       vector.reduction
// CHECK:           vector.fma
// NONE-LABEL:  func @rms_norm_bwd(
// WRT-LABEL:  func @rms_norm_bwd(
// PLAIN-LABEL: func @rms_norm_bwd(
func.func @rms_norm(%x: memref<?x512xf32>, %gamma: memref<512xf32>, %y: memref<?x512xf32>, %rstd: memref<?xf32>) {
  lnbwd.rms_norm x(%x : memref<?x512xf32>) gamma(%gamma : memref<512xf32>)
      outs y(%y : memref<?x512xf32>) rstd(%rstd : memref<?xf32>)
  return
}

// -----

// Adjoints are float32; gradients are rounded to the inputs' types. A row scalar
// that is read gets its gradient as a row scalar.
// CHECK-LABEL: func @types_bwd(
// CHECK-SAME:      memref<?x64xbf16>
// CHECK:         lnbwd.rowwise @scale_bwd domain(m | n) ins(
// CHECK-SAME:      outs({{.*}}[m, n] : memref<?x64xbf16>, {{.*}}[m] : memref<?xf32>
// CHECK-SAME:      operand_names = ["dy", "x", "s", "dx", "ds"]
// CHECK:           %[[WIDE:.*]] = arith.extf %dy
// CHECK:           vector.reduction <add>
// CHECK:           arith.truncf
func.func @types(%x: tensor<?x64xbf16>, %s: tensor<?xf32>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = lnbwd.rowwise @scale domain(m | n) ins(%x[m, n] : tensor<?x64xbf16>, %s[m] : tensor<?xf32>)
      outs(%y[m, n] : tensor<?x64xbf16>) attributes {operand_names = ["x", "s", "y"]} -> tensor<?x64xbf16> {
  ^bb0(%xr: vector<64xbf16>, %sr: f32):
    %wide = arith.extf %xr : vector<64xbf16> to vector<64xf32>
    %sv = vector.broadcast %sr : f32 to vector<64xf32>
    %p = arith.mulf %wide, %sv : vector<64xf32>
    %yr = arith.truncf %p : vector<64xf32> to vector<64xbf16>
    lnbwd.yield %yr : vector<64xbf16>
  }
  return %0 : tensor<?x64xbf16>
}

// -----

// What is detached counts as a constant, and what does not depend on an input
// has the gradient 0.
// CHECK-LABEL: func @detached_bwd(
// CHECK:         operand_names = ["dy", "x", "dx", "dc"]
// CHECK:           %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK:           vector.reduction <maximumf>
// CHECK-NOT:       vector.reduction
// CHECK:           lnbwd.yield %{{.*}}, %[[ZERO]]
func.func @detached(%x: memref<?x64xf32>, %c: memref<64xf32>, %y: memref<?x64xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %c[n] : memref<64xf32>) outs(%y[m, n] : memref<?x64xf32>)
      attributes {operand_names = ["x", "c", "y"]} {
  ^bb0(%xr: vector<64xf32>, %cr: vector<64xf32>):
    %m = vector.reduction <maximumf>, %xr {lnbwd.detach} : vector<64xf32> into f32
    %mv = vector.broadcast %m : f32 to vector<64xf32>
    %yr = arith.mulf %xr, %mv : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// The adjoint of a group column is a group sum.
// CHECK-LABEL: func @groups_bwd(
// CHECK:         lnbwd.rowwise @groups_bwd domain(m0, m1 | n) ins(%{{[^ ]+}}[m0, m1, n] : memref<?x?x64xf32>, %{{[^ ]+}}[m0, m1, n] : memref<?x?x64xf32>,
// CHECK-SAME:      %{{[^ ]+}}[m0, n] : memref<?x64xbf16>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m0, m1, n] : memref<?x?x64xf32>, %{{[^ ]+}}[n] add : memref<64xf32>,
// CHECK-SAME:      %{{[^ ]+}}[m0, n] add : memref<?x64xbf16>)
// CHECK-SAME:      operand_names = ["dy", "x", "scale", "dx", "dbeta", "dscale"]
// CHECK:         ^{{.*}}(%[[DY:.*]]: vector<64xf32>, %[[X:.*]]: vector<64xf32>, %[[S:.*]]: vector<64xbf16>):
// CHECK-DAG:       %[[W:.*]] = arith.extf %[[S]]
// CHECK:           lnbwd.yield %{{.*}}, %[[DY]], %{{.*}} : vector<64xf32>, vector<64xf32>, vector<64xf32>
// NONE-LABEL:  func @groups_bwd(
// WRT-LABEL:  func @groups_bwd(
// PLAIN-LABEL: func @groups_bwd(
func.func @groups(%x: memref<?x?x64xf32>, %beta: memref<64xf32>, %scale: memref<?x64xbf16>, %y: memref<?x?x64xf32>) {
  lnbwd.rowwise @groups domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x64xf32>, %beta[n] : memref<64xf32>,
      %scale[m0, n] : memref<?x64xbf16>) outs(%y[m0, m1, n] : memref<?x?x64xf32>)
      attributes {operand_names = ["x", "beta", "scale", "y"]} {
  ^row(%xr: vector<64xf32>, %b: vector<64xf32>, %s: vector<64xbf16>):
    %wide = arith.extf %s : vector<64xbf16> to vector<64xf32>
    %p = arith.mulf %xr, %wide : vector<64xf32>
    %yr = arith.addf %p, %b : vector<64xf32>
    lnbwd.yield %yr : vector<64xf32>
  }
  return
}

// -----

// The adjoint of a number for all rows is a sum over them, and that of such a sum a number.
// CHECK-LABEL: func @numbers_bwd(
// CHECK:         ins(%{{[^ ]+}}[m0, m1, n] : memref<?x?x64xf32>, %{{[^ ]+}}[n] : memref<64xbf16>, %{{[^ ]+}}[] : memref<f32>,
// CHECK-SAME:      %{{[^ ]+}}[m0] : memref<?xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m0, m1, n] : memref<?x?x64xf32>, %{{[^ ]+}}[m0] add : memref<?xf32>)
// CHECK-SAME:      operand_names = ["x", "dc", "dt", "s", "dx", "ds"]
// CHECK:         ^{{.*}}(%[[X:.*]]: vector<64xf32>, %[[DC:.*]]: vector<64xbf16>, %[[DT:.*]]: f32, %[[S:.*]]: f32):
// CHECK:           arith.extf %[[DC]]
// CHECK:           vector.reduction <add>
// CHECK:           lnbwd.yield %{{.*}}, %{{.*}} : vector<64xf32>, f32
// NONE-LABEL:  func @numbers_bwd(
// WRT-LABEL:  func @numbers_bwd(
// PLAIN-LABEL: func @numbers_bwd(
func.func @numbers(%x: memref<?x?x64xf32>, %s: memref<?xf32>, %t: memref<f32>, %c: memref<64xbf16>) {
  lnbwd.rowwise @numbers domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x64xf32>, %s[m0] : memref<?xf32>)
      outs(%t[] add : memref<f32>, %c[n] add : memref<64xbf16>) attributes {operand_names = ["x", "s", "t", "c"]} {
  ^row(%xr: vector<64xf32>, %sr: f32):
    %sum = vector.reduction <add>, %xr : vector<64xf32> into f32
    %tr = arith.mulf %sum, %sum : f32
    %wide = vector.broadcast %sr : f32 to vector<64xf32>
    %cr = arith.mulf %xr, %wide : vector<64xf32>
    lnbwd.yield %tr, %cr : f32, vector<64xf32>
  }
  return
}

// -----

// The elements that are the largest, as it is rounded, are counted first.
// CHECK-LABEL: func @largest_bwd(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x64xf32>, %{{[^:]*}}: memref<64xbf16>, %{{[^:]*}}: memref<64xbf16>, %{{[^:]*}}: memref<?x64xf32>)
// CHECK:         %[[COUNTS:.*]] = memref.alloc() : memref<64xf32>
// CHECK:         lnbwd.rowwise @largest_bwd_ties domain(m | n) ins(%[[X]][m, n]
// CHECK-SAME:      outs(%[[COUNTS]][n] add : memref<64xf32>)
// CHECK:           arith.truncf
// CHECK:           arith.cmpf oeq
// CHECK:         lnbwd.rowwise @largest_bwd domain(m | n)
// CHECK-SAME:      %[[COUNTS]][n]
// CHECK-SAME:      operand_names = ["x", "dmost", "most", "most_ties", "dx"]
// CHECK:         memref.dealloc %[[COUNTS]]
func.func @largest(%x: memref<?x64xf32>, %most: memref<64xbf16>) {
  lnbwd.rowwise @largest domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%most[n] max : memref<64xbf16>)
      attributes {operand_names = ["x", "most"]} {
  ^row(%xr: vector<64xf32>):
    lnbwd.yield %xr : vector<64xf32>
  }
  return
}

// -----

// Another program might fuse the two: the elements and the largest are written first.
// CHECK-LABEL: func @fused_bwd(
// CHECK:         %[[ELEMENTS:.*]] = memref.alloc(%{{.*}}) {lnbwd.row_scalar = 64 : i64} : memref<?x64xf32>
// CHECK:         lnbwd.rowwise @fused_bwd_elements domain(m | n)
// CHECK-SAME:      outs(%[[ELEMENTS]][m, n] : memref<?x64xf32>, %[[LARGEST:.*]][n] max : memref<64xf32>)
// CHECK:         lnbwd.rowwise @fused_bwd_ties domain(m | n) ins(%[[ELEMENTS]][m, n] : memref<?x64xf32>, %[[LARGEST]][n] : memref<64xf32>)
// CHECK:           arith.cmpf oeq
// CHECK:         lnbwd.rowwise @fused_bwd domain(m | n)
// CHECK-SAME:      %[[ELEMENTS]][m, n]
func.func @fused(%x: memref<?x64xf32>, %s: memref<64xf32>) {
  lnbwd.rowwise @fused domain(m | n) ins(%x[m, n] : memref<?x64xf32>) outs(%s[n] max : memref<64xf32>)
      attributes {operand_names = ["x", "s"]} {
  ^bb0(%xr: vector<64xf32>):
    %square = arith.mulf %xr, %xr : vector<64xf32>
    %sum = arith.addf %square, %xr : vector<64xf32>
    lnbwd.yield %sum : vector<64xf32>
  }
  return
}

// -----

// The gradient of what lacks dimensions lacks them.
// CHECK-LABEL: func @lacking_bwd(
// CHECK:         lnbwd.rowwise @lacking_bwd domain(m0, m1 | n0, n1)
// CHECK-SAME:      outs(%{{.*}}[m1, n0] add : memref<3x4xbf16>)
// WRT-LABEL:   func @lacking_bwd(
func.func @lacking(%x: memref<?x3x4x8xf32>, %w: memref<3x4xbf16>, %y: memref<?x3x4x8xf32>) {
  lnbwd.rowwise @lacking domain(b, g | c, s) ins(%x[b, g, c, s] : memref<?x3x4x8xf32>, %w[g, c] : memref<3x4xbf16>)
      outs(%y[b, g, c, s] : memref<?x3x4x8xf32>) attributes {operand_names = ["x", "w", "y"]} {
  ^row(%xr: vector<32xf32>, %wr: vector<32xbf16>):
    %ww = arith.extf %wr : vector<32xbf16> to vector<32xf32>
    %yr = arith.mulf %xr, %ww : vector<32xf32>
    lnbwd.yield %yr : vector<32xf32>
  }
  return
}
