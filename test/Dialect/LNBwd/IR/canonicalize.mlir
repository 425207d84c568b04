// What nobody uses of a named operation goes from the row program that it
// becomes.
// RUN: lnbwd-opt %s --lnbwd-lower-to-rowwise --canonicalize --split-input-file | FileCheck %s

// A gradient that nobody uses is not asked for.
// CHECK-LABEL: func @unused_gradients(
// CHECK:         %[[DX:[a-z0-9_]+]] = lnbwd.rowwise @layer_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "x", "gamma", "mean", "rstd", "dx"]} -> tensor<?x512xbf16> {
// CHECK:         return %[[DX]]
func.func @unused_gradients(%rows: tensor<?x512xbf16>, %column: tensor<512xbf16>, %stat: tensor<?xf32>)
    -> tensor<?x512xbf16> {
  %0:3 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x512xbf16>) x(%rows : tensor<?x512xbf16>)
      gamma(%column : tensor<512xbf16>) mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>)
      outs dx(%rows : tensor<?x512xbf16>) dgamma(%column : tensor<512xbf16>) dbeta(%column : tensor<512xbf16>)
      -> tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xbf16>
  return %0#0 : tensor<?x512xbf16>
}

// -----

// The middle gradient goes, and the others keep their order.
// CHECK-LABEL: func @unused_dgamma(
// CHECK:         %[[G:[a-z0-9_]+]]:2 = lnbwd.rowwise @layer_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "x", "gamma", "mean", "rstd", "dx", "dbeta"]} ->
// CHECK:         return %[[G]]#0, %[[G]]#1
func.func @unused_dgamma(%rows: tensor<?x512xbf16>, %column: tensor<512xbf16>, %stat: tensor<?xf32>)
    -> (tensor<?x512xbf16>, tensor<512xbf16>) {
  %0:3 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x512xbf16>) x(%rows : tensor<?x512xbf16>)
      gamma(%column : tensor<512xbf16>) mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>)
      outs dx(%rows : tensor<?x512xbf16>) dgamma(%column : tensor<512xbf16>) dbeta(%column : tensor<512xbf16>)
      -> tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xbf16>
  return %0#0, %0#2 : tensor<?x512xbf16>, tensor<512xbf16>
}

// -----

// Without any use the operation goes altogether.
// CHECK-LABEL: func @no_use(
// CHECK-NEXT:    return
func.func @no_use(%rows: tensor<?x512xbf16>, %stat: tensor<?xf32>) {
  %0 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x512xbf16>) x(%rows : tensor<?x512xbf16>)
      mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>) outs dx(%rows : tensor<?x512xbf16>)
      -> tensor<?x512xbf16>
  return
}

// -----

// dgamma and dbeta do not depend on gamma; on memrefs every output counts.
// CHECK-LABEL: func @gamma_unread(
// CHECK:         lnbwd.rowwise @layer_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "x", "mean", "rstd", "dgamma", "dbeta"]} {
func.func @gamma_unread(%rows: memref<?x512xbf16>, %column: memref<512xbf16>, %other: memref<512xbf16>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xbf16>) x(%rows : memref<?x512xbf16>)
      gamma(%column : memref<512xbf16>) mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dgamma(%column : memref<512xbf16>) dbeta(%other : memref<512xbf16>)
  return
}

// -----

// gamma goes in the same sweep as the dx that read it.
// CHECK-LABEL: func @dgamma_only(
// CHECK:         lnbwd.rowwise @layer_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "x", "mean", "rstd", "dgamma"]} -> tensor<512xbf16> {
func.func @dgamma_only(%rows: tensor<?x512xbf16>, %column: tensor<512xbf16>, %stat: tensor<?xf32>)
    -> tensor<512xbf16> {
  %0:2 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x512xbf16>) x(%rows : tensor<?x512xbf16>)
      gamma(%column : tensor<512xbf16>) mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>)
      outs dx(%rows : tensor<?x512xbf16>) dgamma(%column : tensor<512xbf16>)
      -> tensor<?x512xbf16>, tensor<512xbf16>
  return %0#1 : tensor<512xbf16>
}

// -----

// An unused output of a row program goes, then the operations after it, then
// the inputs that only they read, each with its name.
// CHECK-LABEL: func @unused_row_output(
// CHECK:         %[[S:[a-z0-9_]+]] = lnbwd.rowwise @k domain(m | n) ins(%arg0[m, n] : tensor<?x512xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[n] add : tensor<512xf32>)
// CHECK-SAME:      attributes {operand_names = ["x", "sum"]} -> tensor<512xf32> {
// CHECK-NEXT:    ^bb0(%[[X:[a-z0-9_]+]]: vector<512xf32>):
// CHECK-NEXT:      lnbwd.yield %[[X]] : vector<512xf32>
// CHECK:         return %[[S]]
func.func @unused_row_output(%x: tensor<?x512xf32>, %c: tensor<512xf32>, %s: tensor<?xf32>) -> tensor<512xf32> {
  %0:2 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x512xf32>, %c[n] : tensor<512xf32>, %s[m] : tensor<?xf32>)
      outs(%x[m, n] : tensor<?x512xf32>, %c[n] add : tensor<512xf32>)
      attributes {operand_names = ["x", "gamma", "rstd", "y", "sum"]}
      -> tensor<?x512xf32>, tensor<512xf32> {
  ^bb0(%xr: vector<512xf32>, %cr: vector<512xf32>, %sr: f32):
    %scaled = arith.mulf %xr, %cr : vector<512xf32>
    %spread = vector.broadcast %sr : f32 to vector<512xf32>
    %y = arith.mulf %scaled, %spread : vector<512xf32>
    lnbwd.yield %y, %xr : vector<512xf32>, vector<512xf32>
  }
  return %0#1 : tensor<512xf32>
}

// -----

// CHECK-LABEL: func @unread_inputs(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%arg1[m, n] : memref<?x512xf32>) outs(
// CHECK-NEXT:    ^bb0(%[[Y:[a-z0-9_]+]]: vector<512xf32>):
// CHECK-NEXT:      lnbwd.yield %[[Y]]
func.func @unread_inputs(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %y[m, n] : memref<?x512xf32>, %s[m] : memref<?xf32>)
      outs(%y[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>, %yr: vector<512xf32>, %sr: f32):
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}

// -----

// One row block stays though it is not read where rows are combined: it says how many there are.
// CHECK-LABEL: func @last_row_block_stays(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%arg0[m, n] : memref<?x512xf32>, %arg2[m] : memref<?xf32>) outs(
func.func @last_row_block_stays(%x: memref<?x512xf32>, %y: memref<?x512xf32>, %s: memref<?xf32>, %t: memref<f32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %y[m, n] : memref<?x512xf32>, %s[m] : memref<?xf32>)
      outs(%t[] add : memref<f32>) {
  ^bb0(%xr: vector<512xf32>, %yr: vector<512xf32>, %sr: f32):
    lnbwd.yield %sr : f32
  }
  return
}

// -----

// Numbers for each row say it, too.
// CHECK-LABEL: func @numbers_alone(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%arg1[m] : memref<?xf32>) outs(%arg2[m] : memref<?xf32>)
func.func @numbers_alone(%x: memref<?x512xf32>, %s: memref<?xf32>, %t: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %s[m] : memref<?xf32>) outs(%t[m] : memref<?xf32>) {
  ^bb0(%xr: vector<512xf32>, %sr: f32):
    lnbwd.yield %sr : f32
  }
  return
}

// -----

// The schedule stays with the program.
// CHECK-LABEL: func @keeps_schedule(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%arg1[m, n] : memref<?x512xf32>)
// CHECK-SAME:      schedule = #lnbwd.schedule<threads_per_row = 64,
func.func @keeps_schedule(%x: memref<?x512xf32>, %y: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>, %y[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %yr: vector<512xf32>):
    lnbwd.yield %yr : vector<512xf32>
  }
  return
}

// -----

// Without dx, dsum and gamma are not read.
// CHECK-LABEL: func @dgamma_alone(
// CHECK:         lnbwd.rowwise @rms_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "x", "rstd", "dgamma"]} {
func.func @dgamma_alone(%rows: memref<?x512xf32>, %column: memref<512xf32>, %dgamma: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.rms_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>) gamma(%column : memref<512xf32>)
      rstd(%stat : memref<?xf32>) dsum(%rows : memref<?x512xf32>) outs dgamma(%dgamma : memref<512xf32>)
  return
}

// -----

// From the output, xhat takes gamma.
// CHECK-LABEL: func @dgamma_from_output(
// CHECK:         lnbwd.rowwise @rms_norm_bwd
// CHECK-SAME:      operand_names = ["dy", "y", "gamma", "dgamma"]} {
func.func @dgamma_from_output(%rows: memref<?x512xf32>, %column: memref<512xf32>, %dgamma: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.rms_norm_bwd dy(%rows : memref<?x512xf32>) y(%rows : memref<?x512xf32>) gamma(%column : memref<512xf32>)
      rstd(%stat : memref<?xf32>) outs dgamma(%dgamma : memref<512xf32>)
  return
}

// -----

// The first and the last output go.
// CHECK-LABEL: func @unused_y_and_rstd(
// CHECK:         %[[R:[a-z0-9_]+]]:2 = lnbwd.rowwise @layer_norm
// CHECK-SAME:      operand_names = ["x", "residual", "sum", "mean"]} -> tensor<?x512xf32>, tensor<?xf32>
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @unused_y_and_rstd(%rows: tensor<?x512xf32>, %stat: tensor<?xf32>) -> (tensor<?x512xf32>, tensor<?xf32>) {
  %0:4 = lnbwd.layer_norm x(%rows : tensor<?x512xf32>) residual(%rows : tensor<?x512xf32>)
      outs y(%rows : tensor<?x512xf32>) sum(%rows : tensor<?x512xf32>) mean(%stat : tensor<?xf32>)
      rstd(%stat : tensor<?xf32>) {epsilon = 1.0e-3 : f64, zero_centred_gamma}
      -> tensor<?x512xf32>, tensor<?x512xf32>, tensor<?xf32>, tensor<?xf32>
  return %0#1, %0#2 : tensor<?x512xf32>, tensor<?xf32>
}

// -----

// CHECK-LABEL: func @unused_statistics(
// CHECK:         lnbwd.rowwise @rms_norm
// CHECK-SAME:      operand_names = ["x", "y"]} -> tensor<?x512xf32>
func.func @unused_statistics(%rows: tensor<?x512xf32>, %stat: tensor<?xf32>) -> tensor<?x512xf32> {
  %0:2 = lnbwd.rms_norm x(%rows : tensor<?x512xf32>) outs y(%rows : tensor<?x512xf32>) rstd(%stat : tensor<?xf32>)
      -> tensor<?x512xf32>, tensor<?xf32>
  return %0#0 : tensor<?x512xf32>
}
