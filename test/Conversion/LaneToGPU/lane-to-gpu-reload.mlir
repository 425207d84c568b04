// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)))' | FileCheck %s

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 4, width = 4>
!tile = !lane.layout<row_length = 512, lanes = 64, groups = 4, width = 4, columns = 256>

// Columns that each group loads by itself take no barrier. A layout within a
// loop has the lanes of the kernel's own. The loop stays what it is for the
// report.
// CHECK-LABEL: gpu.func @tiles
// CHECK:         %[[LANE:.*]] = arith.remui %thread_id_x, %{{.*}} : index
// CHECK:         scf.for %[[FIRST:.*]] =
// CHECK-NOT:       gpu.thread_id
// CHECK:           %[[OF_LANE:.*]] = arith.muli %[[LANE]], %{{.*}} : index
// CHECK:           arith.addi %[[FIRST]], %[[OF_LANE]] : index
// CHECK-NOT:       amdgpu.lds_barrier
// CHECK:           vector.load
// CHECK:           vector.store
// CHECK:         }
gpu.module @m {
  gpu.func @tiles(%g: memref<512xf32>, %x: memref<?x512xf32>, %i: index) {
    %layout = lane.layout : !layout
    scf.for %first = %i to %i step %i {
      %tile = lane.layout from %first : !tile
      %c = lane.load_columns %g at %tile each : !tile, memref<512xf32> -> vector<4xf32>
      lane.store %c, %x[%i] at %tile access 0 : !tile, vector<4xf32>, memref<?x512xf32>
    }
    gpu.return
  }
}
