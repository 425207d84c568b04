// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-prefetch-first-rows)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// As many tiles as there are stages, ahead of the wait, with what says where
// they are; each memory once. Columns are loaded after it, as before.
// CHECK-LABEL: gpu.func @staged(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32>, %[[Y:[a-z0-9]+]]: memref<?x256xbf16>, %[[G:[a-z0-9]+]]: memref<256xf32>, %[[ROWS:[a-z0-9]+]]: index
// CHECK:         %[[LAYOUT:.*]] = lane.layout
// CHECK:         %[[BEGIN:.*]] = arith.muli %[[W:.*]], %{{.*}} : index
// CHECK:         %[[STEP:.*]] = arith.muli
// CHECK:         lane.prefetch_rows %[[X]], %[[Y]] from %[[BEGIN]] below %[[ROWS]] at %[[LAYOUT]] : !layout, memref<?x256xf32>, memref<?x256xbf16>
// CHECK-NEXT:    %[[SECOND:.*]] = arith.addi %[[BEGIN]], %[[STEP]] : index
// CHECK-NEXT:    lane.prefetch_rows %[[X]], %[[Y]] from %[[SECOND]] below
// CHECK-NEXT:    %[[THIRD:.*]] = arith.addi %[[SECOND]], %[[STEP]] : index
// CHECK-NEXT:    lane.prefetch_rows %[[X]], %[[Y]] from %[[THIRD]] below
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK-NEXT:    lane.load_columns %[[G]]
// CHECK-NEXT:    lane.for_rows %{{.*}} = %[[BEGIN]] to %[[ROWS]] step %[[STEP]] at %[[LAYOUT]]
// CHECK:           lane.load %[[X]], %[[Y]], %[[X]][
gpu.module @m {
  gpu.func @staged(%x: memref<?x256xf32>, %y: memref<?x256xbf16>, %g: memref<256xf32>, %rows: index, %ws: index) kernel {
    %w = gpu.block_id x
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    %gamma = lane.load_columns %g at %layout : !layout, memref<256xf32> -> vector<1x4xf32>
    %c4 = arith.constant 4 : index
    %begin = arith.muli %w, %c4 : index
    %step = arith.muli %ws, %c4 : index
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch, prefetch_before_dependency, stages = 3} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v:3 = lane.load %x, %y, %x[%row] at %layout : !layout, memref<?x256xf32>, memref<?x256xbf16>, memref<?x256xf32> -> vector<1x4xf32>, vector<1x4xbf16>, vector<1x4xf32>
      lane.store %v#0, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// One more than are loaded ahead.
// CHECK-LABEL: gpu.func @loaded_ahead(
// CHECK-COUNT-2: lane.prefetch_rows
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NOT:     lane.prefetch_rows
gpu.module @m {
  gpu.func @loaded_ahead(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch, prefetch_before_dependency} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// An iteration of four tiles has four in flight.
// CHECK-LABEL: gpu.func @several_a_turn(
// CHECK-COUNT-4: lane.prefetch_rows
// CHECK-NOT:     lane.prefetch_rows
// CHECK:         nvvm.griddepcontrol wait
gpu.module @m {
  gpu.func @several_a_turn(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch_before_dependency, unroll = 4} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// A workgroup for each tile has no second one.
// CHECK-LABEL: gpu.func @once(
// CHECK:         lane.prefetch_rows
// CHECK-NEXT:    nvvm.griddepcontrol wait
// CHECK-NOT:     lane.prefetch_rows
gpu.module @m {
  gpu.func @once(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {once, prefetch_before_dependency} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// Rows that are loaded before the wait need nobody to bring them near.
// CHECK-LABEL: gpu.func @waits_within(
// CHECK-NOT:     lane.prefetch_rows
// CHECK-LABEL: gpu.func @late(
// CHECK-NOT:     lane.prefetch_rows
gpu.module @m {
  gpu.func @waits_within(%x: memref<?x256xf32>, %p: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch_before_dependency} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      nvvm.griddepcontrol wait
      %q = lane.load_scalar %p[%row] : memref<?xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }

  // A loop without the attribute.
  gpu.func @late(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield
    }
    gpu.return
  }
}
