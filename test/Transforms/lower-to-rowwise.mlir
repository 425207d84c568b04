// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --canonicalize --split-input-file | FileCheck %s

// All three gradients: xhat once, two row sums, two fused multiply-adds.
// CHECK-LABEL: func @all(
// CHECK-SAME:      %[[DY:[a-z0-9_]+]]: memref<?x512xbf16>{{[^%]*}}%[[X:[a-z0-9_]+]]: memref<?x512xbf16>{{[^%]*}}%[[GAMMA:[a-z0-9_]+]]: memref<512xbf16>
// CHECK-SAME:      %[[MEAN:[a-z0-9_]+]]: memref<?xf32>{{[^%]*}}%[[RSTD:[a-z0-9_]+]]: memref<?xf32>{{[^%]*}}%[[DX:[a-z0-9_]+]]: memref<?x512xbf16>
// CHECK-SAME:      %[[DGAMMA:[a-z0-9_]+]]: memref<512xbf16>{{[^%]*}}%[[DBETA:[a-z0-9_]+]]: memref<512xbf16>
// CHECK:         lnbwd.rowwise @layer_norm_bwd domain({{.*}}) ins(%[[DY]][m, n] : {{[^,]*}}, %[[X]][m, n] : {{[^,]*}}, %[[GAMMA]][n] : {{[^,]*}},
// CHECK-SAME:      %[[MEAN]][m] : {{[^,]*}}, %[[RSTD]][m] : {{[^,]*}}) outs(%[[DX]][m, n] : {{[^,]*}},
// CHECK-SAME:      %[[DGAMMA]][n] add : {{[^,]*}}, %[[DBETA]][n] add : {{[^,]*}})
// CHECK-SAME:      operand_names = ["dy", "x", "gamma", "mean", "rstd", "dx", "dgamma", "dbeta"]
// CHECK-NEXT:    ^bb0(%dy: vector<512xbf16>, %x: vector<512xbf16>, %gamma: vector<512xbf16>, %mean: f32, %rstd: f32):
// CHECK-DAG:       %[[C:[a-z0-9_]+]] = arith.constant -0.001953125 : f32
// CHECK-DAG:       %[[WIDE_DY:[a-z0-9_]+]] = arith.extf %dy : vector<512xbf16> to vector<512xf32>
// CHECK-DAG:       %[[WIDE_X:[a-z0-9_]+]] = arith.extf %x
// CHECK-DAG:       %[[WIDE_GAMMA:[a-z0-9_]+]] = arith.extf %gamma
// CHECK-DAG:       %[[MINUS_MEAN:[a-z0-9_]+]] = arith.negf %mean
// CHECK-DAG:       %[[SPREAD_MEAN:[a-z0-9_]+]] = vector.broadcast %[[MINUS_MEAN]]
// CHECK-DAG:       %[[CENTERED:[a-z0-9_]+]] = arith.addf %[[WIDE_X]], %[[SPREAD_MEAN]] fastmath<contract>
// CHECK-DAG:       %[[XHAT:[a-z0-9_]+]] = arith.mulf %[[CENTERED]], %{{.*}} fastmath<contract>
// CHECK-DAG:       %[[WDY:[a-z0-9_]+]] = arith.mulf %[[WIDE_GAMMA]], %[[WIDE_DY]] fastmath<contract>
// CHECK:           %[[PRODUCT:[a-z0-9_]+]] = arith.mulf %[[WDY]], %[[XHAT]] fastmath<contract>
// CHECK:           %[[S1:[a-z0-9_]+]] = vector.reduction <add>, %[[PRODUCT]] : vector<512xf32> into f32
// CHECK:           %[[S2:[a-z0-9_]+]] = vector.reduction <add>, %[[WDY]] : vector<512xf32> into f32
// CHECK:           %[[SCALE:[a-z0-9_]+]] = arith.mulf %rstd, %[[C]]
// CHECK-DAG:       %[[A1:[a-z0-9_]+]] = arith.mulf %[[S1]], %[[SCALE]]
// CHECK-DAG:       %[[A2:[a-z0-9_]+]] = arith.mulf %[[S2]], %[[SCALE]]
// CHECK-DAG:       %[[V1:[a-z0-9_]+]] = vector.broadcast %[[A1]]
// CHECK-DAG:       %[[V2:[a-z0-9_]+]] = vector.broadcast %[[A2]]
// CHECK:           %[[INNER:[a-z0-9_]+]] = vector.fma %[[XHAT]], %[[V1]], %[[V2]]
// CHECK:           %[[WIDE_DX:[a-z0-9_]+]] = vector.fma %[[WDY]], %{{.*}}, %[[INNER]]
// CHECK-DAG:       %[[NARROW_DX:[a-z0-9_]+]] = arith.truncf %[[WIDE_DX]] : vector<512xf32> to vector<512xbf16>
// CHECK-DAG:       %[[DGAMMA_TERM:[a-z0-9_]+]] = arith.mulf %[[WIDE_DY]], %[[XHAT]]
// CHECK:           lnbwd.yield %[[NARROW_DX]], %[[DGAMMA_TERM]], %[[WIDE_DY]] : vector<512xbf16>, vector<512xf32>, vector<512xf32>
func.func @all(%dy: memref<?x512xbf16>, %x: memref<?x512xbf16>, %gamma: memref<512xbf16>, %mean: memref<?xf32>,
               %rstd: memref<?xf32>, %dx: memref<?x512xbf16>, %dgamma: memref<512xbf16>, %dbeta: memref<512xbf16>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x512xbf16>) x(%x : memref<?x512xbf16>) gamma(%gamma : memref<512xbf16>)
      mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x512xbf16>) dgamma(%dgamma : memref<512xbf16>) dbeta(%dbeta : memref<512xbf16>)
  return
}

// -----

// Without gamma dy is not weighted.
// CHECK-LABEL: func @no_gamma(
// CHECK:         operand_names = ["dy", "x", "mean", "rstd", "dx"]
// CHECK-NEXT:    ^bb0(%dy: vector<512xf32>,
// CHECK:           vector.reduction <add>, %dy
func.func @no_gamma(%rows: memref<?x512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dx(%rows : memref<?x512xf32>)
  return
}

// -----

// f32 rows are neither widened nor rounded.
// CHECK-LABEL: func @f32(
// CHECK-NOT:     arith.extf
// CHECK-NOT:     arith.truncf
// CHECK:         return
func.func @f32(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>, %other: memref<512xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>) gamma(%column : memref<512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x512xf32>) dgamma(%column : memref<512xf32>) dbeta(%other : memref<512xf32>)
  return
}

// -----

// gamma of f32 beside rows of f16 is used as it is.
// CHECK-LABEL: func @wide_gamma(
// CHECK:         ^bb0(%dy: vector<512xf16>, %x: vector<512xf16>, %gamma: vector<512xf32>,
// CHECK:           %[[DY:[a-z0-9_]+]] = arith.extf %dy
// CHECK:           arith.mulf %gamma, %[[DY]]
// CHECK:           arith.truncf %{{.*}} : vector<512xf32> to vector<512xf16>
func.func @wide_gamma(%rows: memref<?x512xf16>, %column: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf16>) x(%rows : memref<?x512xf16>) gamma(%column : memref<512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dx(%rows : memref<?x512xf16>)
  return
}

// -----

// dgamma needs no row sum and no gamma.
// CHECK-LABEL: func @dgamma(
// CHECK:         operand_names = ["dy", "x", "mean", "rstd", "dgamma"]
// CHECK-NOT:     vector.reduction
// CHECK:         %[[TERM:[a-z0-9_]+]] = arith.mulf %dy, %{{.*}}
// CHECK-NEXT:    lnbwd.yield %[[TERM]] : vector<512xf32>
func.func @dgamma(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>) gamma(%column : memref<512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dgamma(%column : memref<512xf32>)
  return
}

// -----

// dbeta needs dy alone.
// CHECK-LABEL: func @dbeta(
// CHECK:         lnbwd.rowwise @layer_norm_bwd domain(m | n) ins(%arg0[m, n] : memref<?x512xf32>) outs(
// CHECK-SAME:      operand_names = ["dy", "dbeta"]
// CHECK-NEXT:    ^bb0(%dy: vector<512xf32>):
// CHECK-NEXT:      lnbwd.yield %dy : vector<512xf32>
func.func @dbeta(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dbeta(%column : memref<512xf32>)
  return
}

// -----

// CHECK-LABEL: func @dx_and_dbeta(
// CHECK:         operand_names = ["dy", "x", "mean", "rstd", "dx", "dbeta"]
// CHECK:         lnbwd.yield %{{.*}}, %dy : vector<512xf32>, vector<512xf32>
func.func @dx_and_dbeta(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x512xf32>) dbeta(%column : memref<512xf32>)
  return
}

// -----

// CHECK-LABEL: func @dx_and_dgamma(
// CHECK:         operand_names = ["dy", "x", "mean", "rstd", "dx", "dgamma"]
func.func @dx_and_dgamma(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x512xf32>) dgamma(%column : memref<512xf32>)
  return
}

// -----

// CHECK-LABEL: func @dgamma_and_dbeta(
// CHECK:         operand_names = ["dy", "x", "mean", "rstd", "dgamma", "dbeta"]
// CHECK-NOT:     vector.reduction
// CHECK:         lnbwd.yield %{{.*}}, %dy :
func.func @dgamma_and_dbeta(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>, %other: memref<512xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dgamma(%column : memref<512xf32>) dbeta(%other : memref<512xf32>)
  return
}

// -----

// The region sees one row whatever the rank.
// CHECK-LABEL: func @rank_3(
// CHECK:         lnbwd.rowwise @layer_norm_bwd domain(m0, m1 | n) ins(%{{[^ ]+}}[m0, m1, n] : memref<?x?x512xf32>, %{{[^ ]+}}[m0, m1, n] : memref<?x?x512xf32>, %{{[^ ]+}}[m0, m1] :
// CHECK-NEXT:    ^bb0(%dy: vector<512xf32>, %x: vector<512xf32>, %mean: f32, %rstd: f32):
func.func @rank_3(%rows: memref<?x?x512xf32>, %stat: memref<?x?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x?x512xf32>) x(%rows : memref<?x?x512xf32>)
      mean(%stat : memref<?x?xf32>) rstd(%stat : memref<?x?xf32>) outs dx(%rows : memref<?x?x512xf32>)
  return
}

// -----

// On tensors the results stay results, in order.
// CHECK-LABEL: func @tensors(
// CHECK:         %[[R:[a-z0-9_]+]]:2 = lnbwd.rowwise
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @tensors(%rows: tensor<?x512xf32>, %column: tensor<512xf32>, %stat: tensor<?xf32>)
    -> (tensor<?x512xf32>, tensor<512xf32>) {
  %0:2 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x512xf32>) x(%rows : tensor<?x512xf32>)
      mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>)
      outs dx(%rows : tensor<?x512xf32>) dgamma(%column : tensor<512xf32>)
      -> tensor<?x512xf32>, tensor<512xf32>
  return %0#0, %0#1 : tensor<?x512xf32>, tensor<512xf32>
}

// -----

// Names and kinds are noted on the arguments, for the launch plan.
// CHECK-LABEL: func.func @roles
// CHECK-SAME:    memref<?x8xf32> {lnbwd.argument = #lnbwd.argument<name = "dy", aliases = ["x"], kind = "row_block">}
// CHECK-SAME:    memref<?xf32> {lnbwd.argument = #lnbwd.argument<name = "mean", aliases = ["rstd"], kind = "row_scalar">}
// CHECK-SAME:    memref<8xf32> {lnbwd.argument = #lnbwd.argument<name = "dbeta", kind = "column">}
func.func @roles(%dy: memref<?x8xf32>, %s: memref<?xf32>, %dbeta: memref<8xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xf32>) x(%dy : memref<?x8xf32>)
      mean(%s : memref<?xf32>) rstd(%s : memref<?xf32>) outs dbeta(%dbeta : memref<8xf32>)
  return
}

// -----

// The mean's rounding is taken off the centred row and the variance: two phases,
// the second with two sums.
// CHECK-LABEL: func @layer_norm(
// CHECK:         lnbwd.rowwise @layer_norm domain(m | n)
// CHECK-SAME:      operand_names = ["x", "gamma", "beta", "y", "mean", "rstd"]
// CHECK:           %[[SUM:.*]] = vector.reduction <add>, %x
// CHECK:           %[[MEAN:.*]] = arith.mulf %[[SUM]]
// CHECK:           %[[CENTRED:.*]] = arith.addf %x, %{{.*}} : vector<512xf32>
// CHECK:           vector.reduction <add>, %[[CENTRED]]
// CHECK:           %[[SQUARES:.*]] = arith.mulf %[[CENTRED]], %[[CENTRED]]
// CHECK:           vector.reduction <add>, %[[SQUARES]]
// CHECK:           math.rsqrt %{{.*}} : f32
// CHECK-NOT:       vector.reduction
func.func @layer_norm(%rows: memref<?x512xf32>, %column: memref<512xf32>, %stat: memref<?xf32>, %other: memref<?xf32>) {
  lnbwd.layer_norm x(%rows : memref<?x512xf32>) gamma(%column : memref<512xf32>) beta(%column : memref<512xf32>)
      outs y(%rows : memref<?x512xf32>) mean(%stat : memref<?xf32>) rstd(%other : memref<?xf32>)
  return
}

// -----

// The saved mean is the first sum's where that is small beside the deviations.
// The squares are divided by N without the rounding of 1/N.
// CHECK-LABEL: func @layer_norm_mean(
// CHECK:           %[[SUM:.*]] = vector.reduction <add>, %x
// CHECK:           %[[MEAN:.*]] = arith.mulf %[[SUM]], %[[OVER_N:[a-z0-9_]+]]
// CHECK:           vector.reduction <add>
// CHECK:           %[[SQUARES:.*]] = vector.reduction <add>, %{{.*}}
// CHECK:           %[[ESTIMATE:.*]] = arith.mulf %[[SQUARES]], %[[OVER_N]]
// CHECK:           %[[LEFT_OVER:.*]] = math.fma %[[ESTIMATE]], %{{.*}}, %[[SQUARES]]
// CHECK:           math.fma %[[LEFT_OVER]], %[[OVER_N]], %[[ESTIMATE]]
// CHECK:           %[[RATIO:.*]] = arith.mulf %[[SUM]], %{{.*}} : f32
// CHECK:           %[[SIZE:.*]] = math.absf %[[RATIO]]
// CHECK:           %[[IS_SMALL:.*]] = arith.cmpf olt, %[[SIZE]], %{{.*}} : f32
// CHECK:           %[[CORRECTION:.*]] = arith.select %[[IS_SMALL]], %{{.*}}, %{{.*}} : f32
// CHECK:           %[[SAVED:.*]] = arith.addf %[[MEAN]], %[[CORRECTION]]
// CHECK:           lnbwd.yield %[[SAVED]]
func.func @layer_norm_mean(%rows: memref<?x768xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm x(%rows : memref<?x768xf32>) outs mean(%stat : memref<?xf32>)
  return
}

// -----

// RMSNorm has one sum; the residual is added in float32, and stored once.
// CHECK-LABEL: func @rms_norm(
// CHECK:         operand_names = ["x", "residual", "y", "sum"]
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK:           arith.mulf %[[SUM]], %[[SUM]]
// CHECK:           vector.reduction
// CHECK-NOT:       vector.reduction
// CHECK:           %[[NARROW:.*]] = arith.truncf %[[SUM]]
// CHECK:           lnbwd.yield %{{.*}}, %[[NARROW]]
func.func @rms_norm(%rows: memref<?x512xbf16>, %other: memref<?x512xbf16>) {
  lnbwd.rms_norm x(%rows : memref<?x512xbf16>) residual(%rows : memref<?x512xbf16>)
      outs y(%rows : memref<?x512xbf16>) sum(%other : memref<?x512xbf16>)
  return
}

// -----

// One row sum, and one column sum that is added to what is there.
// CHECK-LABEL: func @rms_norm_bwd(
// CHECK:         lnbwd.rowwise @rms_norm_bwd
// CHECK-SAME:      accumulate
// CHECK-SAME:      operand_names = ["dy", "x", "gamma", "rstd", "dx", "dgamma"]
// CHECK:           vector.reduction
// CHECK-NOT:       vector.reduction
func.func @rms_norm_bwd(%rows: memref<?x512xf32>, %column: memref<512xf32>, %dgamma: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.rms_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>) gamma(%column : memref<512xf32>)
      rstd(%stat : memref<?xf32>) outs dx(%rows : memref<?x512xf32>) dgamma(%dgamma : memref<512xf32>) {accumulate}
  return
}

// -----

// From the output: a reciprocal of the column, a clamp, and no statistics.
// CHECK-LABEL: func @from_output(
// CHECK:         operand_names = ["dy", "y", "gamma", "rstd", "dx"]
// CHECK-DAG:       %[[BOUND:.*]] = arith.constant dense<8.000000e+00>
// CHECK-DAG:       %[[TINY:.*]] = arith.constant dense<1.17549435E-38>
// CHECK-DAG:       %[[ABS:.*]] = math.absf %gamma
// CHECK:           arith.cmpf olt, %[[ABS]], %[[TINY]]
// CHECK:           arith.divf
// CHECK:           arith.cmpf olt, %[[BOUND]],
func.func @from_output(%rows: memref<?x64xf32>, %column: memref<64xf32>, %stat: memref<?xf32>) {
  lnbwd.rms_norm_bwd dy(%rows : memref<?x64xf32>) y(%rows : memref<?x64xf32>) gamma(%column : memref<64xf32>)
      rstd(%stat : memref<?xf32>) outs dx(%rows : memref<?x64xf32>)
  return
}

// -----

// dx is computed once, and rounded to both types.
// CHECK-LABEL: func @residual_gradient(
// CHECK:         operand_names = ["dy", "x", "dsum", "rstd", "dx", "dresidual"]
// CHECK:           %[[DX:.*]] = arith.addf %{{.*}}, %dsum
// CHECK:           %[[NARROW:.*]] = arith.truncf %[[DX]]
// CHECK:           lnbwd.yield %[[NARROW]], %[[DX]]
func.func @residual_gradient(%rows: memref<?x64xbf16>, %wide: memref<?x64xf32>, %stat: memref<?xf32>) {
  lnbwd.rms_norm_bwd dy(%rows : memref<?x64xbf16>) x(%rows : memref<?x64xbf16>) rstd(%stat : memref<?xf32>)
      dsum(%wide : memref<?x64xf32>) outs dx(%rows : memref<?x64xbf16>) dresidual(%wide : memref<?x64xf32>)
  return
}

// -----

// Several dimensions of a row become one.
// CHECK-LABEL: func @row_rank(
// CHECK-SAME:      row_rank = 2
// CHECK:         lnbwd.rowwise @rms_norm domain(m | n0, n1) ins(%{{[^ ]+}}[m, n0, n1] :
// CHECK-NEXT:    ^bb0(%x: vector<32xf32>):
func.func @row_rank(%rows: memref<?x4x8xf32>) {
  lnbwd.rms_norm x(%rows : memref<?x4x8xf32>) outs y(%rows : memref<?x4x8xf32>) {row_rank = 2 : i64}
  return
}
