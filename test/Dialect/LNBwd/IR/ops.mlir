// RUN: lnbwd-opt %s | lnbwd-opt | FileCheck %s
// RUN: lnbwd-opt %s --mlir-print-op-generic | lnbwd-opt | FileCheck %s

//===----------------------------------------------------------------------===//
// lnbwd.layer_norm_bwd
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @tensors(
// CHECK:         %{{[^ ]+}}:3 = lnbwd.layer_norm_bwd
// CHECK-SAME:      dy(%{{[^ ]+}} : tensor<?x512xbf16>) x(%{{[^ ]+}} : tensor<?x512xbf16>)
// CHECK-SAME:      gamma(%{{[^ ]+}} : tensor<512xbf16>)
// CHECK-SAME:      mean(%{{[^ ]+}} : tensor<?xf32>) rstd(%{{[^ ]+}} : tensor<?xf32>)
// CHECK-SAME:      outs dx(%{{[^ ]+}} : tensor<?x512xbf16>) dgamma(%{{[^ ]+}} : tensor<512xbf16>)
// CHECK-SAME:      dbeta(%{{[^ ]+}} : tensor<512xbf16>)
// CHECK-SAME:      -> tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xbf16>
func.func @tensors(%rows: tensor<?x512xbf16>, %column: tensor<512xbf16>, %stat: tensor<?xf32>)
    -> (tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xbf16>) {
  %0:3 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x512xbf16>) x(%rows : tensor<?x512xbf16>)
      gamma(%column : tensor<512xbf16>) mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>)
      outs dx(%rows : tensor<?x512xbf16>) dgamma(%column : tensor<512xbf16>) dbeta(%column : tensor<512xbf16>)
      -> tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xbf16>
  return %0#0, %0#1, %0#2 : tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xbf16>
}

// CHECK-LABEL: func @memrefs(
// CHECK:         lnbwd.layer_norm_bwd
// CHECK-SAME:      outs dx(%{{[^ ]+}} : memref<?x512xf32>) dgamma(%{{[^ ]+}} : memref<512xf32>)
// CHECK-SAME:      dbeta(%{{[^ ]+}} : memref<512xf32>)
// CHECK-NOT:       ->
func.func @memrefs(%rows: memref<?x512xf32>, %column: memref<512xf32>, %other: memref<512xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x512xf32>) x(%rows : memref<?x512xf32>)
      gamma(%column : memref<512xf32>) mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x512xf32>) dgamma(%column : memref<512xf32>) dbeta(%other : memref<512xf32>)
  return
}

// CHECK-LABEL: func @no_gamma(
// CHECK:         x(%{{[^ ]+}} : memref<?x96xf16>) mean(
func.func @no_gamma(%rows: memref<?x96xf16>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x96xf16>) x(%rows : memref<?x96xf16>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x96xf16>)
  return
}

// CHECK-LABEL: func @no_dx(
// CHECK:         outs dgamma(%{{[^ ]+}} : memref<96xf16>) dbeta(%{{[^ ]+}} : memref<96xf16>){{$}}
func.func @no_dx(%rows: memref<?x96xf16>, %column: memref<96xf16>, %other: memref<96xf16>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x96xf16>) x(%rows : memref<?x96xf16>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dgamma(%column : memref<96xf16>) dbeta(%other : memref<96xf16>)
  return
}

// CHECK-LABEL: func @no_dgamma(
// CHECK:         outs dx(%{{[^ ]+}} : tensor<?x96xf16>) dbeta(%{{[^ ]+}} : tensor<96xf16>) -> tensor<?x96xf16>, tensor<96xf16>
func.func @no_dgamma(%rows: tensor<?x96xf16>, %column: tensor<96xf16>, %stat: tensor<?xf32>)
    -> (tensor<?x96xf16>, tensor<96xf16>) {
  %0:2 = lnbwd.layer_norm_bwd dy(%rows : tensor<?x96xf16>) x(%rows : tensor<?x96xf16>)
      mean(%stat : tensor<?xf32>) rstd(%stat : tensor<?xf32>)
      outs dx(%rows : tensor<?x96xf16>) dbeta(%column : tensor<96xf16>)
      -> tensor<?x96xf16>, tensor<96xf16>
  return %0#0, %0#1 : tensor<?x96xf16>, tensor<96xf16>
}

// CHECK-LABEL: func @no_dbeta(
// CHECK:         outs dx(%{{[^ ]+}} : memref<?x96xf16>) dgamma(%{{[^ ]+}} : memref<96xf16>){{$}}
func.func @no_dbeta(%rows: memref<?x96xf16>, %column: memref<96xf16>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x96xf16>) x(%rows : memref<?x96xf16>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x96xf16>) dgamma(%column : memref<96xf16>)
  return
}

// CHECK-LABEL: func @f32_columns_of_f16_rows(
// CHECK:         gamma(%{{[^ ]+}} : memref<96xf32>)
// CHECK-SAME:    dgamma(%{{[^ ]+}} : memref<96xf32>) dbeta(%{{[^ ]+}} : memref<96xf16>)
func.func @f32_columns_of_f16_rows(%rows: memref<?x96xf16>, %wide: memref<96xf32>, %narrow: memref<96xf16>,
                                   %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x96xf16>) x(%rows : memref<?x96xf16>)
      gamma(%wide : memref<96xf32>) mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>)
      outs dx(%rows : memref<?x96xf16>) dgamma(%wide : memref<96xf32>) dbeta(%narrow : memref<96xf16>)
  return
}

// CHECK-LABEL: func @rank_1(
// CHECK:         x(%{{[^ ]+}} : memref<7xf32>) mean(%{{[^ ]+}} : memref<f32>)
func.func @rank_1(%rows: memref<7xf32>, %stat: memref<f32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<7xf32>) x(%rows : memref<7xf32>)
      mean(%stat : memref<f32>) rstd(%stat : memref<f32>) outs dx(%rows : memref<7xf32>)
  return
}

// CHECK-LABEL: func @rank_3(
// CHECK:         x(%{{[^ ]+}} : memref<?x16x7xf32>) mean(%{{[^ ]+}} : memref<?x16xf32>)
func.func @rank_3(%rows: memref<?x16x7xf32>, %stat: memref<?x16xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x16x7xf32>) x(%rows : memref<?x16x7xf32>)
      mean(%stat : memref<?x16xf32>) rstd(%stat : memref<?x16xf32>) outs dx(%rows : memref<?x16x7xf32>)
  return
}

// CHECK-LABEL: func @rank_4(
// CHECK:         x(%{{[^ ]+}} : tensor<2x?x3x7xf32>) mean(%{{[^ ]+}} : tensor<2x?x3xf32>)
func.func @rank_4(%rows: tensor<2x?x3x7xf32>, %stat: tensor<2x?x3xf32>) -> tensor<2x?x3x7xf32> {
  %0 = lnbwd.layer_norm_bwd dy(%rows : tensor<2x?x3x7xf32>) x(%rows : tensor<2x?x3x7xf32>)
      mean(%stat : tensor<2x?x3xf32>) rstd(%stat : tensor<2x?x3xf32>)
      outs dx(%rows : tensor<2x?x3x7xf32>) -> tensor<2x?x3x7xf32>
  return %0 : tensor<2x?x3x7xf32>
}

// Dimensions that may be equal at run time are accepted.
// CHECK-LABEL: func @dynamic_against_static(
// CHECK:         dy(%{{[^ ]+}} : memref<8x7xf32>) x(%{{[^ ]+}} : memref<?x7xf32>)
func.func @dynamic_against_static(%dy: memref<8x7xf32>, %x: memref<?x7xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%dy : memref<8x7xf32>) x(%x : memref<?x7xf32>)
      mean(%stat : memref<?xf32>) rstd(%stat : memref<?xf32>) outs dx(%x : memref<?x7xf32>)
  return
}

//===----------------------------------------------------------------------===//
// lnbwd.rowwise and lnbwd.yield
//===----------------------------------------------------------------------===//

// Arguments of the region may have the names of the buffers.
// CHECK-LABEL: func @same_names(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[X:[^ ]+]][m, n] : memref<?x8xf32>) outs(%[[X]][m, n] : memref<?x8xf32>) attributes {operand_names = ["x", "x"]} {
// CHECK-NEXT:    ^bb0(%[[ROW:[^ ]+]]: vector<8xf32>):
// CHECK-NEXT:      lnbwd.yield %[[ROW]] : vector<8xf32>
func.func @same_names(%x: memref<?x8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%x[m, n] : memref<?x8xf32>) attributes {operand_names = ["x", "x"]} {
  ^bb0(%x: vector<8xf32>):
    lnbwd.yield %x : vector<8xf32>
  }
  return
}

// Dimensions have the names that their place in the domain gives them.
// CHECK-LABEL: func @domain(
// CHECK:         lnbwd.rowwise @k domain(m0, m1 | n0, n1)
// CHECK-SAME:      ins(%{{[^ ]+}}[m0, m1, n0, n1] : memref<?x?x4x8xf32>, %{{[^ ]+}}[n0, n1] : memref<4x8xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m0, m1] : memref<?x?xf32>)
func.func @domain(%x: memref<?x?x4x8xf32>, %g: memref<4x8xf32>, %s: memref<?x?xf32>) {
  lnbwd.rowwise @k domain(batch, head | channel, place)
      ins(%x[batch, head, channel, place] : memref<?x?x4x8xf32>, %g[channel, place] : memref<4x8xf32>)
      outs(%s[batch, head] : memref<?x?xf32>) {
  ^row(%xr: vector<32xf32>, %gr: vector<32xf32>):
    %p = arith.mulf %xr, %gr : vector<32xf32>
    %sum = vector.reduction <add>, %p : vector<32xf32> into f32
    lnbwd.yield %sum : f32
  }
  return
}

// One row: columns are rows, and sums say that they are ones.
// CHECK-LABEL: func @one_row(
// CHECK:         lnbwd.rowwise @k domain(| n) ins(%{{[^ ]+}}[n] : memref<8xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[n] : memref<8xf32>, %{{[^ ]+}}[] : memref<f32>, %{{[^ ]+}}[n] add : memref<8xf32>)
func.func @one_row(%x: memref<8xf32>, %y: memref<8xf32>, %s: memref<f32>, %c: memref<8xf32>) {
  lnbwd.rowwise @k domain(| n) ins(%x[n] : memref<8xf32>)
      outs(%y[n] : memref<8xf32>, %s[] : memref<f32>, %c[n] add : memref<8xf32>) {
  ^row(%xr: vector<8xf32>):
    %sum = vector.reduction <add>, %xr : vector<8xf32> into f32
    lnbwd.yield %xr, %sum, %xr : vector<8xf32>, f32, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @indices(
// CHECK:           lnbwd.index 0 : i64
// CHECK:           lnbwd.index 1 : i32
// CHECK:           lnbwd.index 2 : vector<8xi32>
func.func @indices(%x: memref<?x4x8xf32>, %s: memref<?x4xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x4x8xf32>) outs(%s[b, t] : memref<?x4xf32>) {
  ^row(%xr: vector<8xf32>):
    %b = lnbwd.index 0 : i64
    %t = lnbwd.index 1 : i32
    %n = lnbwd.index 2 : vector<8xi32>
    %f = arith.uitofp %t : i32 to f32
    lnbwd.yield %f : f32
  }
  return
}

// CHECK-LABEL: func @all_operand_groups(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%{{[^ ]+}}[m, n] : memref<?x512xbf16>, %{{[^ ]+}}[m, n] : memref<?x512xf32>,
// CHECK-SAME:      %{{[^ ]+}}[n] : memref<512xf16>, %{{[^ ]+}}[m] : memref<?xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m, n] : memref<?x512xf32>, %{{[^ ]+}}[m] : memref<?xf32>,
// CHECK-SAME:      %{{[^ ]+}}[n] add : memref<512xf16>) {
// CHECK-NEXT:    ^bb0(%{{[^ ]+}}: vector<512xbf16>, %[[Y:[a-z0-9_]+]]: vector<512xf32>, %{{[^ ]+}}: vector<512xf16>, %[[S:[a-z0-9_]+]]: f32):
// CHECK-NEXT:      lnbwd.yield %[[Y]], %[[S]], %[[Y]] : vector<512xf32>, f32, vector<512xf32>
func.func @all_operand_groups(%x: memref<?x512xbf16>, %y: memref<?x512xf32>, %c: memref<512xf16>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>, %y[m, n] : memref<?x512xf32>, %c[n] : memref<512xf16>,
      %s[m] : memref<?xf32>)
      outs(%y[m, n] : memref<?x512xf32>, %s[m] : memref<?xf32>, %c[n] add : memref<512xf16>) {
  ^bb0(%xr: vector<512xbf16>, %yr: vector<512xf32>, %cr: vector<512xf16>, %sr: f32):
    lnbwd.yield %yr, %sr, %yr : vector<512xf32>, f32, vector<512xf32>
  }
  return
}

// CHECK-LABEL: func @row_program_on_tensors(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%{{[^ ]+}}[m, n] : tensor<?x512xf32>) outs(%{{[^ ]+}}[m] : tensor<?xf32>) -> tensor<?xf32> {
func.func @row_program_on_tensors(%x: tensor<?x512xf32>, %s: tensor<?xf32>) -> tensor<?xf32> {
  %0 = lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : tensor<?x512xf32>) outs(%s[m] : tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%xr: vector<512xf32>):
    %sum = vector.reduction <add>, %xr : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func @output_only(
// CHECK:         lnbwd.rowwise @k domain(m | n) outs(%{{[^ ]+}}[m, n] : memref<?x512xf32>) {
func.func @output_only(%x: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) outs(%x[m, n] : memref<?x512xf32>) {
    %zero = arith.constant dense<0.0> : vector<512xf32>
    lnbwd.yield %zero : vector<512xf32>
  }
  return
}

// CHECK-LABEL: func @partial_column_sums(
// CHECK:         outs(%{{[^ ]+}}[*, n] add : memref<?x512xf32>) {
func.func @partial_column_sums(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] add : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// Arguments of the region are printed with the names of their operands.
// CHECK-LABEL: func @named_operands(
// CHECK:         attributes {operand_names = ["gradient", "sum"]} {
// CHECK-NEXT:    ^bb0(%gradient: vector<8xf32>):
func.func @named_operands(%x: memref<?x8xf32>, %p: memref<8xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%p[n] add : memref<8xf32>)
      attributes {operand_names = ["gradient", "sum"]} {
  ^bb0(%xr: vector<8xf32>):
    lnbwd.yield %xr : vector<8xf32>
  }
  return
}

//===----------------------------------------------------------------------===//
// #lnbwd.schedule
//===----------------------------------------------------------------------===//

// Fields at their defaults are not printed.
// CHECK-LABEL: func @short_schedule(
// CHECK:         attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8,
// CHECK-SAME:      rows_per_workgroup = 32, workgroups_per_compute_unit = 4>}
func.func @short_schedule(%x: memref<?x512xf16>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf16>) outs(%x[m, n] : memref<?x512xf16>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4,
                                             column_tile = 0, prefetch = 0, reload = false>} {
  ^bb0(%xr: vector<512xf16>):
    lnbwd.yield %xr : vector<512xf16>
  }
  return
}

// CHECK-LABEL: func @long_schedule(
// CHECK-SAME:    workgroups_per_compute_unit = 0, column_tile = 1024, prefetch = 1>
// CHECK-SAME:    rows_per_workgroup = 0, workgroups_per_compute_unit = 1, reload = true>
// CHECK-SAME:    workgroups_per_compute_unit = 1, column_tile = 512, row_splits = 8>
// CHECK-SAME:    workgroups_per_compute_unit = 1, dependent_launch = true, prefetch_before_dependency = true>}
func.func @long_schedule() attributes {
    a = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 32,
                        workgroups_per_compute_unit = 0, column_tile = 1024, prefetch = 1>,
    b = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 0,
                        workgroups_per_compute_unit = 1, reload = true>,
    c = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 0,
                        workgroups_per_compute_unit = 1, column_tile = 512, row_splits = 8>,
    d = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8, rows_per_workgroup = 4,
                        workgroups_per_compute_unit = 1, dependent_launch = true, prefetch_before_dependency = true>} {
  return
}

//===----------------------------------------------------------------------===//
// Split row scalars
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @in_parts(
// CHECK:         lnbwd.rowwise @sums domain({{.*}}) ins({{.*}}) outs(%{{[^ ]+}}[m0, m1, *] : memref<?x4x2xf32>)
// CHECK:         lnbwd.rowwise @rest domain(m0, m1 | n) ins({{.*}}, %{{[^ ]+}}[m0, m1, *] : memref<?x4x2xf32>) outs(
// CHECK-NEXT:    ^bb0(%{{.*}}: vector<512xf16>, %{{.*}}: f32):
func.func @in_parts(%x: memref<?x4x512xf16>, %s: memref<?x4x2xf32>) {
  lnbwd.rowwise @sums domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x4x512xf16>) outs(%s[m0, m1, *] : memref<?x4x2xf32>) {
  ^bb0(%xr: vector<512xf16>):
    %wide = arith.extf %xr : vector<512xf16> to vector<512xf32>
    %sum = vector.reduction <add>, %wide : vector<512xf32> into f32
    lnbwd.yield %sum : f32
  }
  lnbwd.rowwise @rest domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x4x512xf16>, %s[m0, m1, *] : memref<?x4x2xf32>) outs(%x[m0, m1, n] : memref<?x4x512xf16>) {
  ^bb0(%xr: vector<512xf16>, %sr: f32):
    lnbwd.yield %xr : vector<512xf16>
  }
  return
}

//===----------------------------------------------------------------------===//
// lnbwd.row_count and lnbwd.workgroup_count
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @counts(
// CHECK:         %[[M:[a-z0-9_]+]] = lnbwd.row_count %{{[^ ]+}} : memref<?x?x512xf32>
// CHECK:         lnbwd.row_count %{{[^ ]+}} : tensor<?x512xf32>
// CHECK:         lnbwd.workgroup_count %[[M]] schedule <threads_per_row = 64, row_groups = 4,
func.func @counts(%x: memref<?x?x512xf32>, %y: tensor<?x512xf32>) -> (index, index, index) {
  %m = lnbwd.row_count %x : memref<?x?x512xf32>
  %n = lnbwd.row_count %y : tensor<?x512xf32>
  %w = lnbwd.workgroup_count %m schedule <threads_per_row = 64, row_groups = 4, vector_width = 4,
                                          rows_per_workgroup = 32, workgroups_per_compute_unit = 4>
  return %m, %n, %w : index, index, index
}

//===----------------------------------------------------------------------===//
// The rest of the family
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @layer_norm(
// CHECK:         lnbwd.layer_norm x(%{{[^ ]+}} : memref<?x96xbf16>) residual(%{{[^ ]+}} : memref<?x96xf32>)
// CHECK-SAME:      gamma(%{{[^ ]+}} : memref<96xf32>) beta(%{{[^ ]+}} : memref<96xf32>)
// CHECK-SAME:      outs y(%{{[^ ]+}} : memref<?x96xbf16>) sum(%{{[^ ]+}} : memref<?x96xf32>)
// CHECK-SAME:      mean(%{{[^ ]+}} : memref<?xf32>) rstd(%{{[^ ]+}} : memref<?xf32>)
// CHECK-SAME:      {epsilon = 9.9999999999999995E-7 : f64, zero_centred_gamma}
func.func @layer_norm(%rows: memref<?x96xbf16>, %wide: memref<?x96xf32>, %column: memref<96xf32>, %stat: memref<?xf32>,
                      %other: memref<?xf32>) {
  lnbwd.layer_norm x(%rows : memref<?x96xbf16>) residual(%wide : memref<?x96xf32>)
      gamma(%column : memref<96xf32>) beta(%column : memref<96xf32>)
      outs y(%rows : memref<?x96xbf16>) sum(%wide : memref<?x96xf32>) mean(%stat : memref<?xf32>)
           rstd(%other : memref<?xf32>) {epsilon = 1.0e-6 : f64, zero_centred_gamma}
  return
}

// The default epsilon is not printed.
// CHECK-LABEL: func @rms_norm(
// CHECK:         lnbwd.rms_norm x(%{{[^ ]+}} : tensor<?x96xf16>) outs y(%{{[^ ]+}} : tensor<?x96xf16>) -> tensor<?x96xf16>
func.func @rms_norm(%rows: tensor<?x96xf16>) -> tensor<?x96xf16> {
  %0 = lnbwd.rms_norm x(%rows : tensor<?x96xf16>) outs y(%rows : tensor<?x96xf16>) {epsilon = 1.0e-5 : f64}
      -> tensor<?x96xf16>
  return %0 : tensor<?x96xf16>
}

// CHECK-LABEL: func @recomputed(
// CHECK:         lnbwd.layer_norm_bwd dy(%{{[^ ]+}} : memref<?x96xf32>) x(%{{[^ ]+}} : memref<?x96xf32>) outs dx(
func.func @recomputed(%rows: memref<?x96xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x96xf32>) x(%rows : memref<?x96xf32>) outs dx(%rows : memref<?x96xf32>)
  return
}

// CHECK-LABEL: func @from_output(
// CHECK:         y(%{{[^ ]+}} : memref<?x96xf32>) gamma(%{{[^ ]+}} : memref<96xf32>) beta(%{{[^ ]+}} : memref<96xf32>) rstd(%{{[^ ]+}} : memref<?xf32>)
// CHECK-SAME:      dsum(%{{[^ ]+}} : memref<?x96xf32>) outs dx(%{{[^ ]+}} : memref<?x96xf32>) dresidual(%{{[^ ]+}} : memref<?x96xbf16>)
// CHECK-SAME:      dgamma(%{{[^ ]+}} : memref<96xf32>) {accumulate}
func.func @from_output(%rows: memref<?x96xf32>, %narrow: memref<?x96xbf16>, %column: memref<96xf32>, %stat: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%rows : memref<?x96xf32>) y(%rows : memref<?x96xf32>) gamma(%column : memref<96xf32>)
      beta(%column : memref<96xf32>) rstd(%stat : memref<?xf32>) dsum(%rows : memref<?x96xf32>)
      outs dx(%rows : memref<?x96xf32>) dresidual(%narrow : memref<?x96xbf16>) dgamma(%column : memref<96xf32>)
      {accumulate}
  return
}

// Rows of several dimensions that lie apart, after several leading dimensions.
// CHECK-LABEL: func @rms_norm_bwd(
// CHECK:         lnbwd.rms_norm_bwd dy(%{{[^ ]+}} : memref<?x2x4x8xf32, strided<[80, 40, 8, 1]>>)
// CHECK-SAME:      {row_rank = 2 : i64}
func.func @rms_norm_bwd(%dy: memref<?x2x4x8xf32, strided<[80, 40, 8, 1]>>, %rows: memref<?x2x4x8xf32>,
                        %column: memref<4x8xf32>, %stat: memref<?x2xf32>) {
  lnbwd.rms_norm_bwd dy(%dy : memref<?x2x4x8xf32, strided<[80, 40, 8, 1]>>) x(%rows : memref<?x2x4x8xf32>)
      gamma(%column : memref<4x8xf32>) rstd(%stat : memref<?x2xf32>)
      outs dx(%rows : memref<?x2x4x8xf32>) dgamma(%column : memref<4x8xf32>) {row_rank = 2 : i64}
  return
}

// CHECK-LABEL: func @rowwise_options(
// CHECK:         attributes {accumulate}
func.func @rowwise_options(%rows: memref<?x4x8xf32>, %column: memref<4x8xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%rows[m, n0, n1] : memref<?x4x8xf32>) outs(%column[n0, n1] add : memref<4x8xf32>)
      attributes {accumulate} {
  ^bb0(%r: vector<32xf32>):
    lnbwd.yield %r : vector<32xf32>
  }
  return
}

// CHECK-LABEL: func @moved_inputs(
// CHECK:         ins(%{{[^ ]+}}[m0, m1 + 195, n] : memref<2x196x8xf32>, %{{[^ ]+}}[n + 4] : memref<8xf32>)
func.func @moved_inputs(%x: memref<2x196x8xf32>, %g: memref<8xf32>, %y: memref<2x197x8xf32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t + 195, n] : memref<2x196x8xf32>, %g[n + 4] : memref<8xf32>) outs(%y[b, t, n] : memref<2x197x8xf32>) {
  ^row(%xr: vector<8xf32>, %gr: vector<8xf32>):
    %z = arith.mulf %xr, %gr : vector<8xf32>
    lnbwd.yield %z : vector<8xf32>
  }
  return
}

// The only row block lies in some of its memory's columns.
// CHECK-LABEL: func @moved_columns(
// CHECK:         ^bb0(%{{.*}}: vector<32xf32>)
func.func @moved_columns(%x: memref<2x40x4x12xf32>, %s: memref<2x4x8xf32>) {
  lnbwd.rowwise @k domain(b, t | n0, n1) ins(%x[b, t, n0, n1 + 4] : memref<2x40x4x12xf32>) outs(%s[b, n0, n1] add : memref<2x4x8xf32>) {
  ^row(%xr: vector<32xf32>):
    lnbwd.yield %xr : vector<32xf32>
  }
  return
}

// CHECK-LABEL: func @strided_inputs(
// CHECK:         domain(m0, m1 | n0, n1) ins(%{{[^ ]+}}[m0, n0, m1, n1] : memref<2x3x5x8xf32>, %{{[^ ]+}}[n1, m1] : memref<8x5xf32, strided<[1, 9]>>)
func.func @strided_inputs(%x: memref<2x3x5x8xf32>, %t: memref<8x5xf32, strided<[1, 9]>>, %y: memref<2x5x3x8xf32>) {
  lnbwd.rowwise @k domain(b, t | h, d) ins(%x[b, h, t, d] : memref<2x3x5x8xf32>, %t[d, t] : memref<8x5xf32, strided<[1, 9]>>)
      outs(%y[b, t, h, d] : memref<2x5x3x8xf32>) {
  ^row(%xr: vector<24xf32>, %tr: vector<24xf32>):
    %z = arith.mulf %xr, %tr : vector<24xf32>
    lnbwd.yield %z : vector<24xf32>
  }
  return
}

// CHECK-LABEL: func @row_count_of_several_dimensions(
// CHECK:         lnbwd.row_count %{{[^ ]+}} {row_rank = 2 : i64} : memref<?x4x8xf32>
func.func @row_count_of_several_dimensions(%rows: memref<?x4x8xf32>) -> index {
  %0 = lnbwd.row_count %rows {row_rank = 2 : i64} : memref<?x4x8xf32>
  return %0 : index
}

//===----------------------------------------------------------------------===//
// Groups of rows
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @columns_of_groups(
// CHECK:         lnbwd.rowwise @k domain(m0, m1 | n) ins(%{{[^ ]+}}[m0, m1, n] : memref<?x4x512xbf16>, %{{[^ ]+}}[n] : memref<512xf32>,
// CHECK-SAME:      %{{[^ ]+}}[m0, n] : memref<?x512xf32>, %{{[^ ]+}}[m0, n] : memref<?x512xbf16>, %{{[^ ]+}}[m0, m1] : memref<?x4xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m0, m1, n] : memref<?x4x512xbf16>, %{{[^ ]+}}[n] add : memref<512xf32>,
// CHECK-SAME:      %{{[^ ]+}}[m0, n] add : memref<?x512xf32>, %{{[^ ]+}}[m0, n] add : memref<?x512xbf16>) {
// CHECK-NEXT:    ^bb0(%{{[^ ]+}}: vector<512xbf16>, %{{[^ ]+}}: vector<512xf32>, %{{[^ ]+}}: vector<512xf32>, %{{[^ ]+}}: vector<512xbf16>, %{{[^ ]+}}: f32):
func.func @columns_of_groups(%x: memref<?x4x512xbf16>, %c: memref<512xf32>, %g: memref<?x512xf32>, %h: memref<?x512xbf16>,
                         %s: memref<?x4xf32>, %dc: memref<512xf32>, %dg: memref<?x512xf32>, %dh: memref<?x512xbf16>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x4x512xbf16>, %c[n] : memref<512xf32>,
      %g[m0, n] : memref<?x512xf32>, %h[m0, n] : memref<?x512xbf16>, %s[m0, m1] : memref<?x4xf32>)
      outs(%x[m0, m1, n] : memref<?x4x512xbf16>, %dc[n] add : memref<512xf32>,
           %dg[m0, n] add : memref<?x512xf32>, %dh[m0, n] add : memref<?x512xbf16>) {
  ^row(%xr: vector<512xbf16>, %cr: vector<512xf32>, %gr: vector<512xf32>, %hr: vector<512xbf16>, %sr: f32):
    lnbwd.yield %hr, %cr, %gr, %gr : vector<512xbf16>, vector<512xf32>, vector<512xf32>, vector<512xf32>
  }
  return
}

// A row of several dimensions; the number of groups may be known.
// CHECK-LABEL: func @groups_of_tensors(
// CHECK:         lnbwd.rowwise @k domain(m0, m1 | n0, n1) ins(%{{[^ ]+}}[m0, m1, n0, n1] : tensor<3x2x4x8xf32>, %{{[^ ]+}}[m0, n0, n1] : tensor<3x4x8xf32>)
// CHECK-SAME:      outs(%{{[^ ]+}}[m0, n0, n1] add : tensor<?x4x8xf32>)
// CHECK-SAME:      -> tensor<?x4x8xf32> {
func.func @groups_of_tensors(%x: tensor<3x2x4x8xf32>, %g: tensor<3x4x8xf32>, %s: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  %0 = lnbwd.rowwise @k domain(m0, m1 | n0, n1) ins(%x[m0, m1, n0, n1] : tensor<3x2x4x8xf32>, %g[m0, n0, n1] : tensor<3x4x8xf32>)
      outs(%s[m0, n0, n1] add : tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  ^row(%xr: vector<32xf32>, %gr: vector<32xf32>):
    %p = arith.mulf %xr, %gr : vector<32xf32>
    lnbwd.yield %p : vector<32xf32>
  }
  return %0 : tensor<?x4x8xf32>
}

// Partial sums: of all workgroups, and group by group.
// CHECK-LABEL: func @partial_group_sums(
// CHECK:         outs(%{{[^ ]+}}[*, n] add : memref<?x512xf32>, %{{[^ ]+}}[m0, *, n] add : memref<?x?x512xf32>) {
func.func @partial_group_sums(%x: memref<?x?x512xf32>, %p: memref<?x512xf32>, %q: memref<?x?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>)
      outs(%p[*, n] add : memref<?x512xf32>, %q[m0, *, n] add : memref<?x?x512xf32>) {
  ^row(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// What several leading dimensions make up is a group; groups share a table, a
// number for each of their rows, and one for all.
// CHECK-LABEL: func @shared(
// CHECK:         lnbwd.rowwise @k domain(m0, m1, m2 | n)
// CHECK-SAME:      ins(%{{[^ ]+}}[m0, m1, m2, n] : memref<?x4x?x512xf32>, %{{[^ ]+}}[m2, n] : memref<?x512xbf16>,
// CHECK-SAME:          %{{[^ ]+}}[m0, m1, n] : memref<?x4x512xf32>, %{{[^ ]+}}[m2] : memref<?xf32>, %{{[^ ]+}}[] : memref<f32>)
func.func @shared(%x: memref<?x4x?x512xf32>, %t: memref<?x512xbf16>, %g: memref<?x4x512xf32>, %s: memref<?xf32>, %c: memref<f32>) {
  lnbwd.rowwise @k domain(b, h, t | n)
      ins(%x[b, h, t, n] : memref<?x4x?x512xf32>, %t[t, n] : memref<?x512xbf16>, %g[b, h, n] : memref<?x4x512xf32>,
          %s[t] : memref<?xf32>, %c[] : memref<f32>)
      outs(%x[b, h, t, n] : memref<?x4x?x512xf32>) {
  ^row(%xr: vector<512xf32>, %tr: vector<512xbf16>, %gr: vector<512xf32>, %sr: f32, %cr: f32):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// CHECK-LABEL: func @group_numbers(
// CHECK:         %[[B:[a-z0-9_]+]] = lnbwd.group_count %{{[^ ]+}} : memref<?x512xf32>
// CHECK:         lnbwd.workgroup_count %{{[^ ]+}} groups %[[B]] schedule <threads_per_row = 64,
func.func @group_numbers(%x: memref<?x512xf32>, %g: memref<?x512xf32>) -> index {
  %m = lnbwd.row_count %x : memref<?x512xf32>
  %b = lnbwd.group_count %g : memref<?x512xf32>
  %w = lnbwd.workgroup_count %m groups %b schedule <threads_per_row = 64, row_groups = 4, vector_width = 4,
                                                    rows_per_workgroup = 16, workgroups_per_compute_unit = 4>
  return %w : index
}

// A number for each block of 32 elements, and the largest of the block.
// CHECK-LABEL: func @blocks
// CHECK:         outs(%{{.*}}[m, n0, n1] : memref<?x16x32xf8E4M3FN>, %{{.*}}[m, n0] : memref<?x16xf8E8M0FNU>)
// CHECK:         lnbwd.block_max 32 %{{.*}} : vector<512xf32>
func.func @blocks(%x: memref<?x16x32xf32>, %y: memref<?x16x32xf8E4M3FN>, %s: memref<?x16xf8E8M0FNU>) {
  lnbwd.rowwise @blocks domain(m | b, k) ins(%x[m, b, k] : memref<?x16x32xf32>)
      outs(%y[m, b, k] : memref<?x16x32xf8E4M3FN>, %s[m, b] : memref<?x16xf8E8M0FNU>) {
  ^row(%xr: vector<512xf32>):
    %amax = lnbwd.block_max 32 %xr : vector<512xf32>
    %yr = arith.truncf %xr : vector<512xf32> to vector<512xf8E4M3FN>
    %sr = arith.truncf %amax : vector<512xf32> to vector<512xf8E8M0FNU>
    lnbwd.yield %yr, %sr : vector<512xf8E4M3FN>, vector<512xf8E8M0FNU>
  }
  return
}

// The same down the columns of tiles of 32 rows.
// CHECK-LABEL: func @blocks_of_columns
// CHECK:         outs(%{{.*}}[m, n1] : memref<?x16xf8E8M0FNU>)
// CHECK:         lnbwd.block_max 32 apart 16 %{{.*}} : vector<512xf32>
func.func @blocks_of_columns(%x: memref<?x32x16xf32>, %s: memref<?x16xf8E8M0FNU>) {
  lnbwd.rowwise @blocks domain(m | b, k) ins(%x[m, b, k] : memref<?x32x16xf32>)
      outs(%s[m, k] : memref<?x16xf8E8M0FNU>) {
  ^row(%xr: vector<512xf32>):
    %amax = lnbwd.block_max 32 apart 16 %xr : vector<512xf32>
    %sr = arith.truncf %amax : vector<512xf32> to vector<512xf8E8M0FNU>
    lnbwd.yield %sr : vector<512xf8E8M0FNU>
  }
  return
}

// Rows that are columns of memory, and a number for each block in another order.
// CHECK-LABEL: func @transposed_blocks
// CHECK:         outs(%{{.*}}[m1, m0, n0] : memref<8x4x2xf8E8M0FNU>)
func.func @transposed_blocks(%x: memref<4x2x32x8xf32>, %s: memref<8x4x2xf8E8M0FNU>) {
  lnbwd.rowwise @blocks domain(m0, m1 | b, k) ins(%x[m0, b, k, m1] : memref<4x2x32x8xf32>)
      outs(%s[m1, m0, b] : memref<8x4x2xf8E8M0FNU>) {
  ^row(%xr: vector<64xf32>):
    %amax = lnbwd.block_max 32 %xr : vector<64xf32>
    %sr = arith.truncf %amax : vector<64xf32> to vector<64xf8E8M0FNU>
    lnbwd.yield %sr : vector<64xf8E8M0FNU>
  }
  return
}

// The largest of all rows, and of those of each group.
// CHECK-LABEL: func @maxima(
// CHECK:         outs(%{{[^ ]+}}[n] max : memref<8xf32>, %{{[^ ]+}}[m0, n] max : memref<?x8xbf16>)
func.func @maxima(%x: memref<?x?x8xf32>, %m: memref<8xf32>, %g: memref<?x8xbf16>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x8xf32>)
      outs(%m[n] max : memref<8xf32>, %g[b, n] max : memref<?x8xbf16>) {
  ^row(%r: vector<8xf32>):
    lnbwd.yield %r, %r : vector<8xf32>, vector<8xf32>
  }
  return
}

// Of numbers of each row likewise, which the region has in f32.
// CHECK-LABEL: func @scalar_sums(
// CHECK:         outs(%{{[^ ]+}}[m0] max : memref<?xbf16>, %{{[^ ]+}}[] add : memref<f32>)
// CHECK:           lnbwd.yield %{{.*}}, %{{.*}} : f32, f32
func.func @scalar_sums(%x: memref<?x?x8xf32>, %g: memref<?xbf16>, %s: memref<f32>) {
  lnbwd.rowwise @k domain(b, t | n) ins(%x[b, t, n] : memref<?x?x8xf32>)
      outs(%g[b] max : memref<?xbf16>, %s[] add : memref<f32>) {
  ^row(%r: vector<8xf32>):
    %v = vector.reduction <add>, %r : vector<8xf32> into f32
    lnbwd.yield %v, %v : f32, f32
  }
  return
}

// A row scalar says how many rows there are, the column how long they are.
// CHECK-LABEL: func @no_row_block(
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%{{[^ ]+}}[n] : memref<8xf32>) outs(%{{[^ ]+}}[m] : memref<?xf32>)
func.func @no_row_block(%x: memref<8xf32>, %s: memref<?xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[n] : memref<8xf32>) outs(%s[m] : memref<?xf32>) {
  ^row(%r: vector<8xf32>):
    %v = vector.reduction <add>, %r : vector<8xf32> into f32
    lnbwd.yield %v : f32
  }
  return
}

// Integers of rows and columns.
// CHECK-LABEL: func @integers(
// CHECK:         ^{{.*}}(%{{[^ ]+}}: vector<8xi16>, %{{[^ ]+}}: vector<8xi64>):
func.func @integers(%x: memref<?x8xi16>, %c: memref<8xi64>, %y: memref<?x8xi64>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xi16>, %c[n] : memref<8xi64>) outs(%y[m, n] : memref<?x8xi64>) {
  ^row(%xr: vector<8xi16>, %cr: vector<8xi64>):
    %w = arith.extsi %xr : vector<8xi16> to vector<8xi64>
    %v = arith.addi %w, %cr : vector<8xi64>
    lnbwd.yield %v : vector<8xi64>
  }
  return
}
