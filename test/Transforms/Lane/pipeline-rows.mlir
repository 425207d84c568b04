// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_80},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefixes=CHECK,NVIDIA

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// Two tiles an iteration: both are loaded before the first is worked on, and
// what does not exist keeps nothing. AMD's loads of such rows are dropped, the
// scalars' first; NVIDIA's go to the last row.
// CHECK-LABEL: gpu.func @tiles(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32>, %[[S:[a-z0-9]+]]: memref<?xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[ROWS:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index,
// CHECK:         %[[STRIDE:.*]] = arith.muli %[[STEP]], %{{.*}} : index
// CHECK:         lane.for_rows %[[TILE:.*]] = %[[BEGIN]] to %[[ROWS]] step %[[STRIDE]] at %[[LAYOUT:.*]] sums(%[[SUM:.*]] = %{{.*}}) attributes {whole}
// CHECK:           %[[LAST:.*]] = arith.subi %[[ROWS]], %{{.*}} : index
// CHECK:           %[[ROW:.*]] = lane.row %[[TILE]] at %[[LAYOUT]]
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]], %[[ROWS]] : index
// AMD:             %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[TILE]] : index
// AMD:             %[[FEW:.*]] = arith.minui %[[LEFT]], %{{.*}} : index
// AMD:             %[[ANY:.*]] = arith.cmpi ult, %[[TILE]], %[[ROWS]] : index
// AMD:             %[[COUNT:.*]] = arith.select %[[ANY]], %[[FEW]], %{{.*}} : index
// AMD:             %[[N:.*]] = lane.load_scalar_predicated %[[S]] from %[[TILE]] count %[[COUNT]] at %[[LAYOUT]]
// AMD:             rocdl.sched.barrier 0
// AMD:             %[[V:.*]] = lane.load_predicated %[[X]] from %[[TILE]] count %[[COUNT]] at %[[LAYOUT]]
// AMD:             lane.broadcast_scalar %[[N]] at %[[LAYOUT]]
// NVIDIA:          %[[CLAMPED:.*]] = arith.minui %[[ROW]], %[[LAST]] : index
// NVIDIA:          %[[V:.*]] = lane.load %[[X]][%[[CLAMPED]]]
// NVIDIA:          lane.load_scalar %[[S]][%[[CLAMPED]]]
// CHECK:           %[[TILE2:.*]] = arith.addi %[[TILE]], %[[STEP]] : index
// CHECK:           %[[ROW2:.*]] = arith.addi %[[ROW]], %[[STEP]] : index
// CHECK:           %[[EXISTS2:.*]] = arith.cmpi ult, %[[ROW2]], %[[ROWS]] : index
// AMD:             %[[V2:.*]] = lane.load_predicated %[[X]] from %[[TILE2]]
// NVIDIA:          %[[V2:.*]] = lane.load %[[X]]
// CHECK:           %[[A:.*]] = lane.accumulate %[[SUM]], %[[V]] if %[[EXISTS]]
// CHECK:           lane.store %[[V]], %[[X]][%[[ROW]]] at %[[LAYOUT]] if %[[EXISTS]]
// CHECK:           %[[B:.*]] = lane.accumulate %[[A]], %[[V2]] if %[[EXISTS2]]
// CHECK:           lane.store %[[V2]], %[[X]][%[[ROW2]]] at %[[LAYOUT]] if %[[EXISTS2]]
// CHECK-NEXT:      lane.yield %[[B]]
// CHECK:         gpu.return
gpu.module @m {
  gpu.func @tiles(%x: memref<?x256xf32>, %s: memref<?xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<1x4xf32>
    %sum = lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws sums(%a = %zero) attributes {unroll = 2} : !layout, vector<1x4xf32> {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      %n = lane.load_scalar %s[%row] : memref<?xf32>
      %b = lane.accumulate %a, %v : vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield %b : vector<1x4xf32>
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// A loop that is not unrolled has its last tile peeled.
// CHECK-LABEL: gpu.func @plain(
// CHECK-SAME:    %[[BEGIN:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %[[STEP:[a-z0-9]+]]: index,
// CHECK:         lane.for_rows %{{.*}} = %[[BEGIN]] to %{{.*}} step %[[STEP]] at %{{.*}} attributes {whole} : !layout {
gpu.module @m {
  gpu.func @plain(%begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws : !layout {
    }
    gpu.return
  }
}
