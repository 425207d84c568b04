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
