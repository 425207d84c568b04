// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-finalize-column-sums --split-input-file | FileCheck %s

// The kernel that adds up the leaves of the canonical order has as many columns
// in a workgroup as leave two workgroups to each of 132 compute units, and the
// more leaves at once the fewer they are, whatever the program's own grid.
// CHECK-LABEL: func @wide(
// CHECK:         lnbwd.rowwise @k_finalize
// CHECK-SAME:      threads_per_row = 16, row_groups = 32, vector_width = 1, {{.*}}column_tile = 16
func.func @wide(%x: memref<?x4096xf32>, %a: memref<4096xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x4096xf32>) outs(%a[n] add : memref<4096xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 64,
                                             workgroups_per_compute_unit = 1, workgroups_per_row = 2>} {
  ^bb0(%xr: vector<4096xf32>):
    %s = vector.reduction <add>, %xr : vector<4096xf32> into f32
    %all = vector.broadcast %s : f32 to vector<4096xf32>
    lnbwd.yield %all : vector<4096xf32>
  }
  return
}

// -----

// Where columns are too few for all compute units, lanes load more at once.
// CHECK-LABEL: func @few(
// CHECK:         lnbwd.rowwise @k_finalize
// CHECK-SAME:      threads_per_row = 4, row_groups = 128, vector_width = 1, {{.*}}column_tile = 4, unroll = 16
func.func @few(%x: memref<?x256xf32>, %a: memref<256xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%a[n] add : memref<256xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 4, rows_per_workgroup = 64,
                                             workgroups_per_compute_unit = 1>} {
  ^bb0(%xr: vector<256xf32>):
    lnbwd.yield %xr : vector<256xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @narrow(
// CHECK:         lnbwd.rowwise @k_finalize
// CHECK-SAME:      threads_per_row = 8, row_groups = 64, vector_width = 1, {{.*}}column_tile = 8
func.func @narrow(%x: memref<?x768xf32>, %a: memref<768xf32>) {
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x768xf32>) outs(%a[n] add : memref<768xf32>)
      attributes {canonical, schedule = #lnbwd.schedule<threads_per_row = 32, row_groups = 8, vector_width = 4, rows_per_workgroup = 64,
                                             workgroups_per_compute_unit = 1>} {
  ^bb0(%xr: vector<768xf32>):
    lnbwd.yield %xr : vector<768xf32>
  }
  return
}
