// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-sink-columns)))' --split-input-file | FileCheck %s

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
  gpu.func @behind_sum(%x: memref<?x512xf32>, %w: memref<512xf32>, %g: memref<512xbf16>, %begin: index, %rows: index, %step: index, %id: index, %ids: index, %iteration: !lane.iteration) kernel {
    %layout = lane.layout : !layout
    %weight, %gamma = lane.load_columns %w, %g at %layout : !layout, memref<512xf32>, memref<512xbf16> -> vector<2x4xf32>, vector<2x4xbf16>
    lane.for_rows %tile = %begin to %rows step %step at %layout for %id of %ids attributes {once, late_columns} : !layout {
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

// A loop without late_columns has its vectors once for all of its rows.
// CHECK-LABEL: gpu.func @further_rows(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @further_rows(%x: memref<?x512xf32>, %g: memref<512xf32>, %begin: index, %rows: index, %step: index, %id: index, %ids: index, %iteration: !lane.iteration) kernel {
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

!layout = !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 4>

// Without a sum there is nothing to wait for.
// CHECK-LABEL: gpu.func @no_sum(
// CHECK:         lane.load_columns
// CHECK:         lane.for_rows
// CHECK-NOT:       lane.load_columns
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @no_sum(%x: memref<?x512xf32>, %g: memref<512xf32>, %begin: index, %rows: index, %step: index, %id: index, %ids: index) kernel {
    %layout = lane.layout : !layout
    %gamma = lane.load_columns %g at %layout : !layout, memref<512xf32> -> vector<2x4xf32>
    lane.for_rows %tile = %begin to %rows step %step at %layout for %id of %ids attributes {once, late_columns} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x512xf32> -> vector<2x4xf32>
      %y = arith.mulf %v, %gamma : vector<2x4xf32>
      lane.store %y, %x[%row] at %layout : !layout, vector<2x4xf32>, memref<?x512xf32>
      lane.yield
    }
    gpu.return
  }
}
