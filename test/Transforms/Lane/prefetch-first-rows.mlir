// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-prefetch-first-rows)))' --split-input-file | FileCheck %s

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// As many sets as there are stages, ahead of the wait, with what says where
// they are; each memory once. Columns are loaded behind it, as before.
// CHECK-LABEL: gpu.func @staged(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32>, %[[Y:[a-z0-9]+]]: memref<?x256xbf16>, %[[G:[a-z0-9]+]]: memref<256xf32>, %[[ROWS:[a-z0-9]+]]: index
// CHECK:         %[[PLACE:.*]] = lane.place
// CHECK:         %[[BEGIN:.*]] = arith.muli %[[W:.*]], %{{.*}} : index
// CHECK:         %[[STEP:.*]] = arith.muli
// CHECK:         lane.prefetch_rows %[[X]], %[[Y]] from %[[BEGIN]] below %[[ROWS]] at %[[PLACE]] : !place, memref<?x256xf32>, memref<?x256xbf16>
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi %[[BEGIN]], %[[STEP]] : index
// CHECK-NEXT:    lane.prefetch_rows %[[X]], %[[Y]] from %[[SECOND]] below
// CHECK-NEXT:    %[[THIRD:.*]] = arith.addi %[[SECOND]], %[[STEP]] : index
// CHECK-NEXT:    lane.prefetch_rows %[[X]], %[[Y]] from %[[THIRD]] below
// CHECK-NEXT:    lane.await_previous_kernel
// CHECK-NEXT:    lane.load_columns %[[G]]
// CHECK-NEXT:    lane.for_rows %{{.*}} = %[[BEGIN]] to %[[ROWS]] step %[[STEP]] at %[[PLACE]]
// CHECK:           lane.load %[[X]], %[[Y]], %[[X]][
gpu.module @m {
  gpu.func @staged(%x: memref<?x256xf32>, %y: memref<?x256xbf16>, %g: memref<256xf32>, %rows: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, stages = 3, early_start = true, early_rows = true>>} {
    %w = gpu.block_id x
    %place = lane.place : !place
    lane.await_previous_kernel
    %gamma = lane.load_columns %g at %place : !place, memref<256xf32> -> vector<1x4xf32>
    %c4 = arith.constant 4 : index
    %begin = arith.muli %w, %c4 : index
    %step = arith.muli %ws, %c4 : index
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : !place {
      %row = lane.row %set at %place : !place
      %v:3 = lane.load %x, %y, %x[%row] at %place : !place, memref<?x256xf32>, memref<?x256xbf16>, memref<?x256xf32> -> vector<1x4xf32>, vector<1x4xbf16>, vector<1x4xf32>
      lane.store %v#0, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// One more than are loaded ahead.
// CHECK-LABEL: gpu.func @loaded_ahead(
// CHECK-COUNT-2: lane.prefetch_rows
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         lane.await_previous_kernel
// CHECK-NOT:     lane.prefetch_rows
gpu.module @m {
  gpu.func @loaded_ahead(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, prefetch = 1, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// A turn of four sets has four on their way.
// CHECK-LABEL: gpu.func @several_a_turn(
// CHECK-COUNT-4: lane.prefetch_rows
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         lane.await_previous_kernel
gpu.module @m {
  gpu.func @several_a_turn(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, unroll = 4, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// A workgroup for each set has no second one.
// CHECK-LABEL: gpu.func @once(
// CHECK:         lane.prefetch_rows
// CHECK-NEXT:    lane.await_previous_kernel
// CHECK-NOT:     lane.prefetch_rows
gpu.module @m {
  gpu.func @once(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 0, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws attributes {once} : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!place = !lane.place<row_length = 256, lanes = 64, groups = 4, width = 4>

// Rows that are loaded before the wait need nobody to bring them near.
// CHECK-LABEL: gpu.func @waits_within(
// CHECK-NOT:     lane.prefetch_rows
// CHECK-LABEL: gpu.func @late(
// CHECK-NOT:     lane.prefetch_rows
gpu.module @m {
  gpu.func @waits_within(%x: memref<?x256xf32>, %p: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, early_start = true, early_rows = true>>} {
    %place = lane.place : !place
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.await_previous_kernel
      %q = lane.load_scalar %p[%row] : memref<?xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }

  // Of a schedule without the field.
  gpu.func @late(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 256, schedule = <threads_per_row = 64, row_groups = 4, vector_width = 4, rows_per_workgroup = 8, workgroups_per_compute_unit = 4, early_start = true>>} {
    %place = lane.place : !place
    lane.await_previous_kernel
    lane.for_rows %set = %begin to %rows step %step at %place for %w of %ws : !place {
      %row = lane.row %set at %place : !place
      %v = lane.load %x[%row] at %place : !place, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %place : !place, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}
