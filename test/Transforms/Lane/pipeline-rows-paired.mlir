// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-pipeline-rows{chip=gfx942})))' --split-input-file | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-pipeline-rows{chip=sm_80})))' --split-input-file | FileCheck %s --check-prefixes=CHECK,NVIDIA

!place = !lane.place<row_length = 256, lanes = 64, groups = 1, width = 4>

// Two sets a turn, each on its way while the other is worked on: what the first
// brought is free when the turn's third set is loaded. The loop is one that is
// surely entered, below a condition; so is the second set.
// CHECK-LABEL: gpu.func @pairs(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[ROWS:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index)
// CHECK:         %[[ANY:.*]] = arith.cmpi ult, %[[BEGIN]], %[[ROWS]] : index
// CHECK:         %[[IF:.*]] = scf.if %[[ANY]] -> (vector<1x4xf32>) {
// AMD-NEXT:        lane.keep_order
// AMD:             %[[A:.*]] = lane.load_within %[[X]] from %[[BEGIN]] {{.*}} {lane.part = #lane.part<first_load>}
// AMD-NEXT:        lane.keep_order
// NVIDIA:          %[[A:.*]] = scf.if
// NVIDIA:          } {lane.part = #lane.part<first_load>}
// CHECK-NEXT:      %[[SECOND:.*]] = arith.addi %[[BEGIN]], %[[STEP]] : index
// AMD:             %[[B:.*]] = lane.load_within %[[X]] from %[[SECOND]] {{.*}} {lane.part = #lane.part<first_second_load>}
// NVIDIA:          %[[B:.*]] = scf.if
// NVIDIA:          } {lane.part = #lane.part<first_second_load>}
// CHECK:           %[[STRIDE:.*]] = arith.muli %[[STEP]], %{{.*}} : index
// CHECK-NEXT:      %[[LOOP:.*]]:3 = lane.for_rows %[[SET:.*]] = %[[BEGIN]] to %[[ROWS]] step %[[STRIDE]] at %{{.*}} sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[V:.*]] = %[[A]], %[[W:.*]] = %[[B]]) attributes {entered, whole}
// CHECK-NEXT:        %[[SET2:.*]] = arith.addi %[[SET]], %[[STEP]] : index
// CHECK-NEXT:        %[[SET3:.*]] = arith.addi %[[SET]], %[[STRIDE]] : index
// CHECK-NEXT:        %[[ROW:.*]] = lane.row %[[SET]]
// CHECK-NEXT:        %[[ADDED:.*]] = lane.accumulate %[[SUM]], %[[V]]
// CHECK-NEXT:        lane.store %[[V]], %[[X]][%[[ROW]]]
// AMD-NEXT:          lane.keep_order
// AMD:               %[[C:.*]] = lane.load_within %[[X]] from %[[SET3]] {{.*}} {lane.part = #lane.part<next_load>}
// AMD-NEXT:          lane.keep_order
// NVIDIA:            %[[C:.*]] = scf.if
// NVIDIA:            } {lane.part = #lane.part<next_load>}
// CHECK-NEXT:        %[[HAS2:.*]] = arith.cmpi ult, %[[SET2]], %[[ROWS]] : index
// CHECK-NEXT:        %[[BOTH:.*]] = scf.if %[[HAS2]] -> (vector<1x4xf32>) {
// CHECK-NEXT:          %[[ROW2:.*]] = lane.row %[[SET2]]
// CHECK-NEXT:          %[[ADDED2:.*]] = lane.accumulate %[[ADDED]], %[[W]]
// CHECK-NEXT:          lane.store %[[W]], %[[X]][%[[ROW2]]]
// CHECK-NEXT:          scf.yield %[[ADDED2]]
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %[[ADDED]]
// CHECK-NEXT:        } {lane.part = #lane.part<second_row>}
// CHECK-NEXT:        %[[SET4:.*]] = arith.addi %[[SET2]], %[[STRIDE]] : index
// AMD:               %[[D:.*]] = lane.load_within %[[X]] from %[[SET4]] {{.*}} {lane.part = #lane.part<second_load>}
// NVIDIA:            %[[D:.*]] = scf.if
// NVIDIA:            } {lane.part = #lane.part<second_load>}
// CHECK:             lane.yield %[[BOTH]], %[[C]], %[[D]]
// CHECK:           scf.yield %[[LOOP]]#0
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %{{.*}} : vector<1x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    lane.store_sum %[[IF]]
gpu.module @m {
  gpu.func @pairs(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 1, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>>} {
    %place = lane.place : !place
    %zero = arith.constant dense<0.0> : vector<1x4xf32>
    %sum = lane.for_rows %set = %begin to %rows step %step at %place sums(%a = %zero) : !place, vector<1x4xf32> {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      %b = lane.accumulate %a, %v : vector<1x4xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield %b : vector<1x4xf32>
    }
    lane.store_sum %sum, %x[%begin] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// Nothing summed: no values leave the condition. The set that is not whole comes
// behind it.
// CHECK-LABEL: gpu.func @no_sums(
// CHECK:         scf.if %{{.*}} {
// CHECK:           lane.for_rows
// CHECK:             scf.if
// CHECK:         scf.if
// CHECK:         } {lane.part = #lane.part<tail>}
gpu.module @m {
  gpu.func @no_sums(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, unroll = 2>>} {
    %place = lane.place : !place
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
    }
    gpu.return
  }
}
