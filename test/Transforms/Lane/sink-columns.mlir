// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-sink-columns{chip=sm_90})))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 4>

// What the row needs after the sum is loaded there, by each group for itself;
// what the sum needs stays where it was.
// CHECK-LABEL: gpu.func @behind_sum(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x512xf32>, %[[W:[a-z0-9]+]]: memref<512xf32>, %[[G:[a-z0-9]+]]: memref<512xbf16>
// CHECK:         %[[LAYOUT:.*]] = lane.layout
// CHECK:         %[[WEIGHT:.*]] = lane.load_columns %[[W]] at %[[LAYOUT]] : !layout, memref<512xf32> -> vector<2x4xf32>
// CHECK-NOT:     lane.load_columns
// CHECK:         lane.for_rows
// CHECK:           arith.mulf %{{.*}}, %[[WEIGHT]]
// CHECK:           lane.reduce
// CHECK:           %[[GAMMA:.*]] = lane.load_columns %[[G]] at %[[LAYOUT]] each : !layout, memref<512xbf16> -> vector<2x4xbf16>
// CHECK-NEXT:      arith.extf %[[GAMMA]]
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @behind_sum(%x: memref<?x512xf32>, %w: memref<512xf32>, %g: memref<512xbf16>, %begin: index, %rows: index, %step: index, %id: index, %ids: index, %iteration: !lane.iteration)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 512, schedule = <threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>>} {
    %layout = lane.layout : !layout
    %weight, %gamma = lane.load_columns %w, %g at %layout : !layout, memref<512xf32>, memref<512xbf16> -> vector<2x4xf32>, vector<2x4xbf16>
    lane.for_rows %tile = %begin to %rows step %step at %layout for %id of %ids attributes {once} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
      %term = arith.mulf %v, %weight : vector<2x4xf32>
      %partial = lane.fold [#vector.kind<add>] %term at %layout : !layout, vector<2x4xf32> -> vector<4xf32>
      %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : !layout, vector<4xf32> -> f32
      %sv = vector.broadcast %s : f32 to vector<2x4xf32>
      %wide = arith.extf %gamma : vector<2x4xbf16> to vector<2x4xf32>
      %scaled = arith.mulf %sv, %wide : vector<2x4xf32>
      %y = arith.addf %scaled, %wide : vector<2x4xf32>
      lane.store %y, %x[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 4>

// A loop with further iterations has its vectors once for all of them.
// CHECK-LABEL: gpu.func @further_rows(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @further_rows(%x: memref<?x512xf32>, %g: memref<512xf32>, %begin: index, %rows: index, %step: index, %id: index, %ids: index, %iteration: !lane.iteration)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 512, schedule = <threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 2>>} {
    %layout = lane.layout : !layout
    %gamma = lane.load_columns %g at %layout : !layout, memref<512xf32> -> vector<2x4xf32>
    lane.for_rows %tile = %begin to %rows step %step at %layout for %id of %ids : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
      %partial = lane.fold [#vector.kind<add>] %v at %layout : !layout, vector<2x4xf32> -> vector<4xf32>
      %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : !layout, vector<4xf32> -> f32
      %sv = vector.broadcast %s : f32 to vector<2x4xf32>
      %y = arith.mulf %sv, %gamma : vector<2x4xf32>
      lane.store %y, %x[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 128, lanes = 32, groups = 4, width = 4>

// A wave that has its row to itself does not wait long for the sum.
// CHECK-LABEL: gpu.func @one_wave(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @one_wave(%x: memref<?x128xf32>, %g: memref<128xf32>, %begin: index, %rows: index, %step: index, %id: index, %ids: index, %iteration: !lane.iteration)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 128, schedule = <threads_per_row = 32, row_groups = 4, vector_width = 4, rows_per_workgroup = 4, workgroups_per_compute_unit = 0>>} {
    %layout = lane.layout : !layout
    %gamma = lane.load_columns %g at %layout : !layout, memref<128xf32> -> vector<1x4xf32>
    lane.for_rows %tile = %begin to %rows step %step at %layout for %id of %ids attributes {once} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x128xf32> -> vector<1x4xf32>
      %partial = lane.fold [#vector.kind<add>] %v at %layout : !layout, vector<1x4xf32> -> vector<4xf32>
      %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : !layout, vector<4xf32> -> f32
      %sv = vector.broadcast %s : f32 to vector<1x4xf32>
      %y = arith.mulf %sv, %gamma : vector<1x4xf32>
      lane.store %y, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x128xf32>
      lane.yield
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 4>

// Without a sum there is nothing to wait for.
// CHECK-LABEL: gpu.func @no_sum(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @no_sum(%x: memref<?x512xf32>, %g: memref<512xf32>, %begin: index, %rows: index, %step: index, %id: index, %ids: index)
      kernel attributes {lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", row_length = 512, schedule = <threads_per_row = 64, row_groups = 2, vector_width = 4, rows_per_workgroup = 2, workgroups_per_compute_unit = 0>>} {
    %layout = lane.layout : !layout
    %gamma = lane.load_columns %g at %layout : !layout, memref<512xf32> -> vector<2x4xf32>
    lane.for_rows %tile = %begin to %rows step %step at %layout for %id of %ids attributes {once} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
      %y = arith.mulf %v, %gamma : vector<2x4xf32>
      lane.store %y, %x[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.yield
    }
    gpu.return
  }
}
