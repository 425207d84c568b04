// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-finalize-column-sums --split-input-file | FileCheck %s

// Each workgroup gets a row of float32 partial sums, and a second program adds
// them in one workgroup for each few columns.
// CHECK-LABEL: func @two_sums(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xbf16>, %[[A:[a-z0-9_]+]]: memref<512xbf16>, %[[B:[a-z0-9_]+]]: memref<512xf32>)
// CHECK:         %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[X]] : memref<?x512xbf16>
// CHECK:         %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] schedule <threads_per_row = 64, row_groups = 4,
// CHECK:         %[[PA:[a-z0-9_]+]] = memref.alloc(%[[W]]) : memref<?x512xf32>
// CHECK:         %[[PB:[a-z0-9_]+]] = memref.alloc(%[[W]]) : memref<?x512xf32>
// CHECK:         lnbwd.rowwise @k domain(m | n) ins(%[[X]][m, n] : memref<?x512xbf16>)
// CHECK-SAME:      outs(%[[PA]][*, n] add : memref<?x512xf32>, %[[PB]][*, n] add : memref<?x512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize domain(m | n) ins(%[[PA]][m, n] : memref<?x512xf32>, %[[PB]][m, n] : memref<?x512xf32>)
// CHECK-SAME:      outs(%[[A]][n] add : memref<512xbf16>, %[[B]][n] add : memref<512xf32>)
// CHECK-SAME:      operand_names = ["a_partials", "b_partials", "a", "b"]
// CHECK-SAME:      rows_per_workgroup = 0,
// CHECK-SAME:      column_tile =
// CHECK-NEXT:    ^bb0(%[[R:[a-z0-9_]+]]: vector<512xf32>, %[[S:[a-z0-9_]+]]: vector<512xf32>):
// CHECK-NEXT:      lnbwd.yield %[[R]], %[[S]]
// CHECK:         memref.dealloc %[[PA]]
// CHECK:         memref.dealloc %[[PB]]
func.func @two_sums(%x: memref<?x512xbf16>, %a: memref<512xbf16>, %b: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xbf16>) outs(%a[n] add : memref<512xbf16>, %b[n] add : memref<512xf32>)
      attributes {operand_names = ["x", "a", "b"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 8,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xbf16>):
    %wide = arith.extf %xr : vector<512xbf16> to vector<512xf32>
    lnbwd.yield %wide, %wide : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// One workgroup writes the sums itself.
// CHECK-LABEL: func @one_workgroup(
// CHECK-NOT:     memref.alloc
// CHECK:         lnbwd.rowwise @k domain({{.*}}) ins(%{{[^)]*}}) outs(%{{[^ ]+}}[n] add : memref<512xf32>)
// CHECK-NOT:     lnbwd.rowwise
// CHECK:         return
func.func @one_workgroup(%x: memref<?x512xf32>, %a: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%a[n] add : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 0, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// A program without column sums needs no schedule here.
// CHECK-LABEL: func @no_sums(
// CHECK-NOT:     memref.alloc
// CHECK:         return
func.func @no_sums(%x: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%x[m, n] : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Partial sums that somebody asked for are left alone.
// CHECK-LABEL: func @already_partial(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     @k_finalize
// CHECK:         return
func.func @already_partial(%x: memref<?x512xf32>, %p: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%p[*, n] add : memref<?x512xf32>) {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// The program that adds the partial sums accumulates; rows of two dimensions
// have partial sums of two dimensions.
// CHECK-LABEL: func @accumulate(
// CHECK:         lnbwd.row_count %{{.*}} {row_rank = 2 : i64}
// CHECK:         %[[P:.*]] = memref.alloc(%{{.*}}) : memref<?x4x128xf32>
// CHECK:         lnbwd.rowwise @k domain({{.*}}) ins({{.*}}) outs(%[[P]][*, n0, n1] add : memref<?x4x128xf32>)
// CHECK-NOT:       accumulate
// CHECK:         lnbwd.rowwise @k_finalize domain(m | n0, n1) ins(%[[P]][m, n0, n1] : memref<?x4x128xf32>) outs(
// CHECK-SAME:      accumulate
func.func @accumulate(%x: memref<?x4x128xf32>, %s: memref<4x128xf32>) {
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0, n1] : memref<?x4x128xf32>) outs(%s[n0, n1] add : memref<4x128xf32>)
      attributes {accumulate, 
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// Sums of groups: the partial sums lie group by group, and the program that adds
// them has groups of as many rows as a group has workgroups. A column sum takes
// those of all workgroups.
// CHECK-LABEL: func @groups(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x?x512xf32>, %[[C:[a-z0-9_]+]]: memref<512xf32>, %[[G:[a-z0-9_]+]]: memref<?x512xbf16>)
// CHECK:         %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[X]]
// CHECK:         %[[B:[a-z0-9_]+]] = lnbwd.group_count %[[X]]
// CHECK:         %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] groups %[[B]] schedule
// CHECK:         %[[P:[a-z0-9_]+]] = arith.muli %[[W]], %[[B]]
// CHECK:         %[[PC:[a-z0-9_]+]] = memref.alloc(%[[P]]) : memref<?x512xf32>
// CHECK:         %[[PG:[a-z0-9_]+]] = memref.alloc(%[[B]], %[[W]]) : memref<?x?x512xf32>
// CHECK:         lnbwd.rowwise @k domain(m0, m1 | n) ins(%[[X]][m0, m1, n] : memref<?x?x512xf32>)
// CHECK-SAME:      outs(%[[PC]][*, n] add : memref<?x512xf32>, %[[PG]][m0, *, n] add : memref<?x?x512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize domain(m | n) ins(%[[PC]][m, n] : memref<?x512xf32>) outs(%[[C]][n] add : memref<512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize_groups domain(m0, m1 | n) ins(%[[PG]][m0, m1, n] : memref<?x?x512xf32>) outs(%[[G]][m0, n] add : memref<?x512xbf16>)
// CHECK-SAME:      operand_names = ["g_partials", "g"]
// CHECK-SAME:      rows_per_workgroup = 0,
func.func @groups(%x: memref<?x?x512xf32>, %c: memref<512xf32>, %g: memref<?x512xbf16>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>) outs(%c[n] add : memref<512xf32>, %g[m0, n] add : memref<?x512xbf16>)
      attributes {operand_names = ["x", "c", "g"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// Groups of two dimensions: the partial sums have both.
// CHECK-LABEL: func @groups_of_two_dimensions(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x8x?x512xf32>, %[[G:[a-z0-9_]+]]: memref<?x8x512xf32>)
// CHECK:         %[[B:[a-z0-9_]+]] = lnbwd.group_count %[[X]] {{.*}}2
// CHECK:         %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count
// CHECK:         %[[P:[a-z0-9_]+]] = memref.alloc(%[[B]], %[[W]]) : memref<?x?x512xf32>
// CHECK:         %[[FIRST:[a-z0-9_]+]] = arith.divui %[[B]], %{{.*}}
// CHECK:         %[[PG:[a-z0-9_]+]] = memref.expand_shape %[[P]] {{\[\[}}0, 1], [2], [3]] output_shape [%[[FIRST]], 8, %[[W]], 512]
// CHECK:         outs(%[[PG]][m0, m1, *, n] add : memref<?x8x?x512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize_groups domain(m0, m1, m2 | n) ins(%[[PG]][m0, m1, m2, n] : memref<?x8x?x512xf32>) outs(%[[G]][m0, m1, n] add : memref<?x8x512xf32>)
// CHECK:         memref.dealloc %[[P]]
func.func @groups_of_two_dimensions(%x: memref<?x8x?x512xf32>, %g: memref<?x8x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1, m2 | n) ins(%x[m0, m1, m2, n] : memref<?x8x?x512xf32>) outs(%g[m0, m1, n] add : memref<?x8x512xf32>)
      attributes {operand_names = ["x", "g"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}

// -----

// One workgroup has a whole group, but not what a column sum is of.
// CHECK-LABEL: func @one_workgroup_for_each_group(
// CHECK-NOT:     memref.alloc
// CHECK:         lnbwd.rowwise @k domain({{.*}}) ins(%{{[^)]*}}) outs(%{{[^ ]+}}[m0, n] add : memref<?x512xf32>)
// CHECK-NOT:     lnbwd.rowwise
// CHECK-LABEL: func @column_sum_of_groups(
// CHECK:         memref.alloc(%{{.*}}) : memref<?x512xf32>
// CHECK:         @k_finalize
func.func @one_workgroup_for_each_group(%x: memref<?x?x512xf32>, %g: memref<?x512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>) outs(%g[m0, n] add : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 0, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
func.func @column_sum_of_groups(%x: memref<?x?x512xf32>, %s: memref<?x512xf32>, %c: memref<512xf32>) {
  lnbwd.rowwise @k domain(m0, m1 | n) ins(%x[m0, m1, n] : memref<?x?x512xf32>, %s[m0, n] : memref<?x512xf32>) outs(%c[n] add : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 0, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>, %sr: vector<512xf32>):
    lnbwd.yield %sr : vector<512xf32>
  }
  return
}

// -----

// Many sums hold fewer partial rows at once.
// CHECK-LABEL: func @many_sums(
// CHECK:         @k_finalize
// CHECK-SAME:      row_groups = 128,
// CHECK-SAME:      unroll = 4
func.func @many_sums(%x: memref<?x32xf32>, %a: memref<32xf32>, %b: memref<32xf32>, %c: memref<32xf32>, %d: memref<32xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x32xf32>)
      outs(%a[n] add : memref<32xf32>, %b[n] add : memref<32xf32>, %c[n] add : memref<32xf32>, %d[n] add : memref<32xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 4,
                                             rows_per_workgroup = 64, workgroups_per_compute_unit = 8>} {
  ^bb0(%xr: vector<32xf32>):
    lnbwd.yield %xr, %xr, %xr, %xr : vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>
  }
  return
}

// -----

// The largest of partial ones, and the sum of others.
// CHECK-LABEL: func @maxima(
// CHECK:         lnbwd.rowwise @k domain({{.*}}) ins(%{{[^)]*}}) outs(%[[P:[a-z0-9_]+]][*, n] max : memref<?x512xf32>, %[[S:[a-z0-9_]+]][*, n] add : memref<?x512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize domain(m | n) ins(%[[P]][m, n] : memref<?x512xf32>, %[[S]][m, n] : memref<?x512xf32>) outs(%{{[^ ]+}}[n] max : memref<512xbf16>, %{{[^ ]+}}[n] add : memref<512xf32>)
func.func @maxima(%x: memref<?x512xf32>, %a: memref<512xbf16>, %s: memref<512xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%a[n] max : memref<512xbf16>, %s[n] add : memref<512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}
