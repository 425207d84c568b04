// RUN: lnbwd-opt %s --lnbwd-finalize-column-sums=chip=gfx942 --split-input-file | FileCheck %s

// Each workgroup gets a row of float32 partial sums, and a second program adds
// them in one workgroup for each few columns.
// CHECK-LABEL: func @two_sums(
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xbf16>, %[[A:[a-z0-9_]+]]: memref<512xbf16>, %[[B:[a-z0-9_]+]]: memref<512xf32>)
// CHECK:         %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[X]] : memref<?x512xbf16>
// CHECK:         %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] schedule <threads_per_row = 64, row_groups = 4,
// CHECK:         %[[PA:[a-z0-9_]+]] = memref.alloc(%[[W]]) : memref<?x512xf32>
// CHECK:         %[[PB:[a-z0-9_]+]] = memref.alloc(%[[W]]) : memref<?x512xf32>
// CHECK:         lnbwd.rowwise @k rows(%[[X]] : memref<?x512xbf16>)
// CHECK-SAME:      outs column_sums(%[[PA]], %[[PB]] : memref<?x512xf32>, memref<?x512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize rows(%[[PA]], %[[PB]] : memref<?x512xf32>, memref<?x512xf32>)
// CHECK-SAME:      outs column_sums(%[[A]], %[[B]] : memref<512xbf16>, memref<512xf32>)
// CHECK-SAME:      operand_names = ["a_partials", "b_partials", "a", "b"]
// CHECK-SAME:      rows_per_workgroup = 0,
// CHECK-SAME:      column_tile =
// CHECK-NEXT:    ^bb0(%[[R:[a-z0-9_]+]]: vector<512xf32>, %[[S:[a-z0-9_]+]]: vector<512xf32>):
// CHECK-NEXT:      lnbwd.yield %[[R]], %[[S]]
// CHECK:         memref.dealloc %[[PA]]
// CHECK:         memref.dealloc %[[PB]]
func.func @two_sums(%x: memref<?x512xbf16>, %a: memref<512xbf16>, %b: memref<512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xbf16>) outs column_sums(%a, %b : memref<512xbf16>, memref<512xf32>)
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
// CHECK:         lnbwd.rowwise @k rows(%{{[^)]*}}) outs column_sums(%{{.*}} : memref<512xf32>)
// CHECK-NOT:     lnbwd.rowwise
// CHECK:         return
func.func @one_workgroup(%x: memref<?x512xf32>, %a: memref<512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs column_sums(%a : memref<512xf32>)
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
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs rows(%x : memref<?x512xf32>) {
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
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs column_sums(%p : memref<?x512xf32>) {
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
// CHECK:         lnbwd.rowwise @k rows({{.*}}) outs column_sums(%[[P]] : memref<?x4x128xf32>)
// CHECK-NOT:       accumulate
// CHECK:         lnbwd.rowwise @k_finalize rows(%[[P]] : memref<?x4x128xf32>) outs column_sums(
// CHECK-SAME:      accumulate
// CHECK-SAME:      row_rank = 2
func.func @accumulate(%x: memref<?x4x128xf32>, %s: memref<4x128xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x4x128xf32>) outs column_sums(%s : memref<4x128xf32>)
      attributes {accumulate, row_rank = 2 : i64,
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
// CHECK-SAME:      %[[X:[a-z0-9_]+]]: memref<?x512xf32>, %[[C:[a-z0-9_]+]]: memref<512xf32>, %[[G:[a-z0-9_]+]]: memref<?x512xbf16>)
// CHECK:         %[[M:[a-z0-9_]+]] = lnbwd.row_count %[[X]]
// CHECK:         %[[B:[a-z0-9_]+]] = lnbwd.group_count %[[G]]
// CHECK:         %[[W:[a-z0-9_]+]] = lnbwd.workgroup_count %[[M]] groups %[[B]] schedule
// CHECK:         %[[P:[a-z0-9_]+]] = arith.muli %[[W]], %[[B]]
// CHECK:         %[[PC:[a-z0-9_]+]] = memref.alloc(%[[P]]) : memref<?x512xf32>
// CHECK:         %[[PG:[a-z0-9_]+]] = memref.alloc(%[[B]], %[[W]]) : memref<?x?x512xf32>
// CHECK:         lnbwd.rowwise @k rows(%[[X]] : memref<?x512xf32>)
// CHECK-SAME:      outs column_sums(%[[PC]] : memref<?x512xf32>) group_sums(%[[PG]] : memref<?x?x512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize rows(%[[PC]] : memref<?x512xf32>) outs column_sums(%[[C]] : memref<512xf32>)
// CHECK:         lnbwd.rowwise @k_finalize_groups rows(%[[PG]] : memref<?x?x512xf32>) outs group_sums(%[[G]] : memref<?x512xbf16>)
// CHECK-SAME:      operand_names = ["g_partials", "g"]
// CHECK-SAME:      rows_per_workgroup = 0,
func.func @groups(%x: memref<?x512xf32>, %c: memref<512xf32>, %g: memref<?x512xbf16>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs column_sums(%c : memref<512xf32>) group_sums(%g : memref<?x512xbf16>)
      attributes {operand_names = ["x", "c", "g"],
                  schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 32, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr, %xr : vector<512xf32>, vector<512xf32>
  }
  return
}

// -----

// One workgroup has a whole group, but not what a column sum is of.
// CHECK-LABEL: func @one_workgroup_for_each_group(
// CHECK-NOT:     memref.alloc
// CHECK:         lnbwd.rowwise @k rows(%{{[^)]*}}) outs group_sums(%{{.*}} : memref<?x512xf32>)
// CHECK-NOT:     lnbwd.rowwise
// CHECK-LABEL: func @column_sum_of_groups(
// CHECK:         memref.alloc(%{{.*}}) : memref<?x512xf32>
// CHECK:         @k_finalize
func.func @one_workgroup_for_each_group(%x: memref<?x512xf32>, %g: memref<?x512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) outs group_sums(%g : memref<?x512xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4,
                                             rows_per_workgroup = 0, workgroups_per_compute_unit = 4>} {
  ^bb0(%xr: vector<512xf32>):
    lnbwd.yield %xr : vector<512xf32>
  }
  return
}
func.func @column_sum_of_groups(%x: memref<?x512xf32>, %s: memref<?x512xf32>, %c: memref<512xf32>) {
  lnbwd.rowwise @k rows(%x : memref<?x512xf32>) group_columns(%s : memref<?x512xf32>) outs column_sums(%c : memref<512xf32>)
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
  lnbwd.rowwise @k rows(%x : memref<?x32xf32>)
      outs column_sums(%a, %b, %c, %d : memref<32xf32>, memref<32xf32>, memref<32xf32>, memref<32xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 32, vector_width = 4,
                                             rows_per_workgroup = 64, workgroups_per_compute_unit = 8>} {
  ^bb0(%xr: vector<32xf32>):
    lnbwd.yield %xr, %xr, %xr, %xr : vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>
  }
  return
}
