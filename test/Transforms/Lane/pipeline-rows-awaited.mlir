// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// An iteration of several tiles awaits the kernel before once, after all loads
// of all tiles that do not need it.
// CHECK-LABEL: gpu.func @tiles(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32>, %[[S:[a-z0-9]+]]: memref<?xf32>, %[[P:[a-z0-9]+]]: memref<?xf32>,
// CHECK:         lane.for_rows
// CHECK:           %[[V:.*]] = lane.load %[[X]]
// CHECK-NEXT:      lane.load_scalar %[[S]]
// CHECK:           %[[V2:.*]] = lane.load %[[X]]
// CHECK-NEXT:      lane.load_scalar %[[S]]
// CHECK-NEXT:      nvvm.griddepcontrol wait
// CHECK-NEXT:      %[[A:.*]] = lane.load_scalar %[[P]]
// CHECK-NEXT:      %[[B:.*]] = lane.load_scalar %[[P]]
// CHECK:           lane.store_scalar %[[A]]
// CHECK:           lane.store_scalar %[[B]]
// CHECK-NOT:       nvvm.griddepcontrol wait
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @tiles(%x: memref<?x256xf32>, %s: memref<?xf32>, %p: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {unroll = 2} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      %n = lane.load_scalar %s[%row] : memref<?xf32>
      nvvm.griddepcontrol wait
      %q = lane.load_scalar %p[%row] : memref<?xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.store_scalar %q, %s[%row] at %layout : !layout, memref<?xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// What is loaded an iteration ahead needs it ahead of the loop.
// CHECK-LABEL: gpu.func @ahead(
// CHECK:         nvvm.griddepcontrol wait
// CHECK:         scf.if
// CHECK:           lane.load
// CHECK:         lane.for_rows
// CHECK-NOT:     nvvm.griddepcontrol wait
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @ahead(%x: memref<?x256xf32>, %p: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      nvvm.griddepcontrol wait
      %q = lane.load_scalar %p[%row] : memref<?xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.store_scalar %q, %p[%row] at %layout : !layout, memref<?xf32>
      lane.yield
    }
    gpu.return
  }
}
