// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 255, lanes = 32, groups = 1, width = 1>

// Of rows that are staged the scalars alone are loaded ahead. The last row stays
// apart, and the loop still says that it is.
// CHECK-LABEL: gpu.func @scalars(
// CHECK:         %[[FIRST:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:         lane.for_rows {{.*}} carrying(%[[AHEAD:.*]] = %[[FIRST]]) attributes {last_row_apart, stages = 2 : i64, whole} : !layout, f32 {
// CHECK:           %[[NEXT:.*]] = lane.load_scalar
// CHECK:           %[[X:.*]] = lane.load
// CHECK:           "test.use"(%[[X]], %[[AHEAD]])
// CHECK:           lane.yield %[[NEXT]]
// CHECK:         scf.if
// CHECK:           lane.load %
// CHECK:           lane.load_scalar
gpu.module @m {
  gpu.func @scalars(%begin: index, %rows: index, %step: index, %w: index, %ws: index, %xs: memref<?x255xf32>, %ms: memref<?xf32>) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {last_row_apart, prefetch, stages = 2} : !layout {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x255xf32> -> vector<8x1xf32>
      %m = lane.load_scalar %ms[%row] : memref<?xf32>
      "test.use"(%x, %m) : (vector<8x1xf32>, f32) -> ()
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>

// Without scalars there is nothing to load ahead.
// CHECK-LABEL: gpu.func @rows_alone(
// CHECK:         lane.for_rows {{.*}} attributes {prefetch, stages = 2 : i64, whole} : !layout {
gpu.module @m {
  gpu.func @rows_alone(%begin: index, %rows: index, %step: index, %w: index, %ws: index, %xs: memref<?x256xf32>) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch, stages = 2} : !layout {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x8xf32>
      lane.store %x, %xs[%row] at %layout : !layout, vector<1x8xf32>, memref<?x256xf32>
    }
    gpu.return
  }
}
