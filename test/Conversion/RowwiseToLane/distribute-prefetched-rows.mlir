// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-distribute-rows --split-input-file | FileCheck %s

// As many tiles as there are stages, ahead of the wait, with what says where
// they are; each memory once. Columns are loaded after it, as before.
// CHECK-LABEL: gpu.func @staged(
// CHECK:         %[[LAYOUT:.*]] = lane.layout
// CHECK:         %[[BEGIN:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK:         %[[STEP:.*]] = arith.muli
// CHECK:         lane.prefetch_rows %[[X:.*]], %[[Y:.*]] from %[[BEGIN]] below %[[ROWS:.*]] at %[[LAYOUT]] : !layout{{[0-9]*}}, memref<?x256xf32, {{.*}}>, memref<?x256xbf16, {{.*}}>
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi %[[BEGIN]], %[[STEP]] : index
// CHECK-NEXT:    lane.prefetch_rows %[[X]], %[[Y]] from %[[SECOND]] below
// CHECK-NEXT:    %[[THIRD:.*]] = arith.addi %[[SECOND]], %[[STEP]] : index
// CHECK-NEXT:    lane.prefetch_rows %[[X]], %[[Y]] from %[[THIRD]] below
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows %{{.*}} = %[[BEGIN]] to %[[ROWS]] step %[[STEP]] at %[[LAYOUT]]
// CHECK:           lane.load %[[X]], %[[Y]]
func.func @f(%x: memref<?x256xf32>, %y: memref<?x256xbf16>, %g: memref<256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @staged domain(m | n) ins(%x[m, n] : memref<?x256xf32>, %y[m, n] : memref<?x256xbf16>, %g[n] : memref<256xf32>)
      outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                             workgroups_per_compute_unit = 4, prefetch = 1, stages = 3, dependent_launch = true,
                                             prefetch_before_dependency = true>} {
  ^row(%xr: vector<256xf32>, %yr: vector<256xbf16>, %gr: vector<256xf32>):
    %wide = arith.extf %yr : vector<256xbf16> to vector<256xf32>
    %sum = vector.fma %xr, %gr, %wide : vector<256xf32>
    lnbwd.yield %sum : vector<256xf32>
  }
  return
}

// -----

// One more than are loaded ahead.
// CHECK-LABEL: gpu.func @loaded_ahead(
// CHECK-COUNT-2: lane.prefetch_rows
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         gpu.return
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @loaded_ahead domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1,
                                             dependent_launch = true, prefetch_before_dependency = true>} {
  ^row(%xr: vector<256xf32>):
    %twice = arith.addf %xr, %xr : vector<256xf32>
    lnbwd.yield %twice : vector<256xf32>
  }
  return
}

// -----

// An iteration of four tiles has four in flight.
// CHECK-LABEL: gpu.func @several_a_turn(
// CHECK-COUNT-4: lane.prefetch_rows
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         nvvm.griddepcontrol wait
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @several_a_turn domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 16, workgroups_per_compute_unit = 4, unroll = 4,
                                             dependent_launch = true, prefetch_before_dependency = true>} {
  ^row(%xr: vector<256xf32>):
    %twice = arith.addf %xr, %xr : vector<256xf32>
    lnbwd.yield %twice : vector<256xf32>
  }
  return
}

// -----

// A workgroup for each tile has no second one.
// CHECK-LABEL: gpu.func @once(
// CHECK:         lane.prefetch_rows
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         gpu.return
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @once domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 0,
                                             dependent_launch = true, prefetch_before_dependency = true>} {
  ^row(%xr: vector<256xf32>):
    %twice = arith.addf %xr, %xr : vector<256xf32>
    lnbwd.yield %twice : vector<256xf32>
  }
  return
}

// -----

// Without the field nothing is prefetched.
// CHECK-LABEL: gpu.func @late(
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         gpu.return
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @late domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4,
                                             dependent_launch = true>} {
  ^row(%xr: vector<256xf32>):
    %twice = arith.addf %xr, %xr : vector<256xf32>
    lnbwd.yield %twice : vector<256xf32>
  }
  return
}

// -----

// Rows that are loaded before the wait need nobody to bring them near.
// CHECK-LABEL: gpu.func @waits_within(
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         lane.for_rows
// CHECK:           lane.load
// CHECK:           nvvm.griddepcontrol wait
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         gpu.return
func.func @f(%x: memref<?x256xf32>, %o: memref<?x256xf32>) {
  lnbwd.rowwise @waits_within domain(m | n) ins(%x[m, n] : memref<?x256xf32>) outs(%o[m, n] : memref<?x256xf32>)
      attributes {independent, schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8,
                                                          workgroups_per_compute_unit = 4, prefetch = 1, dependent_launch = true,
                                                          prefetch_before_dependency = true>} {
  ^row(%xr: vector<256xf32>):
    %twice = arith.addf %xr, %xr : vector<256xf32>
    lnbwd.yield %twice : vector<256xf32>
  }
  return
}
