// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --canonicalize --split-input-file | FileCheck %s
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-distribute-rows --canonicalize --split-input-file | FileCheck %s

// Memory of the function's own, which nothing reads after the kernel that adds
// up its rows. What becomes of it is the vendor's.
// CHECK-LABEL: gpu.func @last(
// CHECK:         lane.combine_groups
// CHECK:         lane.store_sum
// CHECK-NEXT:    lane.discard %{{.*}} rows %{{.*}} at %{{.*}} :
// CHECK-NEXT:    gpu.return
func.func @last(%s: memref<1024xf32>, %m: index) {
  %p = memref.alloc(%m) : memref<?x1024xf32>
  lnbwd.rowwise @last domain(m | n) ins(%p[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 16, vector_width = 4, rows_per_workgroup = 0,
                                             workgroups_per_compute_unit = 1, column_tile = 32>} {
  ^bb0(%row: vector<1024xf32>):
    lnbwd.yield %row : vector<1024xf32>
  }
  memref.dealloc %p : memref<?x1024xf32>
  return
}

// -----

// The first one is not the last to read it.
// CHECK-LABEL: gpu.func @first(
// CHECK-NOT:     lane.discard
// CHECK-LABEL: gpu.func @second(
// CHECK:         lane.discard
func.func @twice(%s: memref<1024xf32>, %m: index) {
  %p = memref.alloc(%m) : memref<?x1024xf32>
  lnbwd.rowwise @first domain(m | n) ins(%p[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 16, vector_width = 4, rows_per_workgroup = 0,
                                             workgroups_per_compute_unit = 1, column_tile = 32>} {
  ^bb0(%row: vector<1024xf32>):
    lnbwd.yield %row : vector<1024xf32>
  }
  lnbwd.rowwise @second domain(m | n) ins(%p[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 16, vector_width = 4, rows_per_workgroup = 0,
                                             workgroups_per_compute_unit = 1, column_tile = 32>} {
  ^bb0(%row: vector<1024xf32>):
    lnbwd.yield %row : vector<1024xf32>
  }
  memref.dealloc %p : memref<?x1024xf32>
  return
}

// -----

// The caller's rows stay what they are.
// CHECK-LABEL: gpu.func @argument(
// CHECK-NOT:     lane.discard
// CHECK:       func.func @argument
func.func @argument(%p: memref<?x1024xf32>, %s: memref<1024xf32>) {
  lnbwd.rowwise @argument domain(m | n) ins(%p[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 16, vector_width = 4, rows_per_workgroup = 0,
                                             workgroups_per_compute_unit = 1, column_tile = 32>} {
  ^bb0(%row: vector<1024xf32>):
    lnbwd.yield %row : vector<1024xf32>
  }
  return
}

// -----

// Without other groups there is no barrier after the loads.
// CHECK-LABEL: gpu.func @alone(
// CHECK-NOT:     lane.discard
// CHECK:       func.func @alone
func.func @alone(%s: memref<1024xf32>, %m: index) {
  %p = memref.alloc(%m) : memref<?x1024xf32>
  lnbwd.rowwise @alone domain(m | n) ins(%p[m, n] : memref<?x1024xf32>) outs(%s[n] add : memref<1024xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 8, row_groups = 1, vector_width = 4, rows_per_workgroup = 0,
                                             workgroups_per_compute_unit = 1, column_tile = 32>} {
  ^bb0(%row: vector<1024xf32>):
    lnbwd.yield %row : vector<1024xf32>
  }
  memref.dealloc %p : memref<?x1024xf32>
  return
}
