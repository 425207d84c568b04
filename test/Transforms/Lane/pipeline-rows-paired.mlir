// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefixes=CHECK,AMD
// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_80},gpu.module(gpu.func(lnbwd-pipeline-rows)))' --split-input-file | FileCheck %s --check-prefixes=CHECK,NVIDIA

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 1, width = 4>

// Two tiles an iteration, each in flight while the other is worked on: what the
// first brought is free when the iteration's third tile is loaded. The loop is
// one that is surely entered, below a condition; so is the second tile.
// CHECK-LABEL: gpu.func @pairs(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[ROWS:[a-z0-9]+]]: index, %[[STEP:[a-z0-9]+]]: index)
// CHECK:         %[[ANY:.*]] = arith.cmpi ult, %[[BEGIN]], %[[ROWS]] : index
// CHECK:         %[[IF:.*]] = scf.if %[[ANY]] -> (vector<1x4xf32>) {
// AMD-NEXT:        rocdl.sched.barrier 0
// AMD:             %[[A:.*]] = lane.load_predicated %[[X]] from %[[BEGIN]] {{.*}}
// AMD-NEXT:        rocdl.sched.barrier 0
// NVIDIA:          %[[A:.*]] = scf.if
// NVIDIA:          {{^ *[}]$}}
// CHECK-NEXT:      %[[SECOND:.*]] = arith.addi %[[BEGIN]], %[[STEP]] : index
// AMD:             %[[B:.*]] = lane.load_predicated %[[X]] from %[[SECOND]] {{.*}}
// NVIDIA:          %[[B:.*]] = scf.if
// NVIDIA:          {{^ *[}]$}}
// CHECK:           %[[STRIDE:.*]] = arith.muli %[[STEP]], %{{.*}} : index
// CHECK-NEXT:      %[[LOOP:.*]]:3 = lane.for_rows %[[TILE:.*]] = %[[BEGIN]] to %[[ROWS]] step %[[STRIDE]] at %{{.*}} sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[V:.*]] = %[[A]], %[[W:.*]] = %[[B]]) attributes {entered, whole}
// CHECK-NEXT:        %[[TILE2:.*]] = arith.addi %[[TILE]], %[[STEP]] : index
// CHECK-NEXT:        %[[TILE3:.*]] = arith.addi %[[TILE]], %[[STRIDE]] : index
// CHECK-NEXT:        %[[ROW:.*]] = lane.row %[[TILE]]
// CHECK-NEXT:        %[[ADDED:.*]] = lane.accumulate %[[SUM]], %[[V]]
// CHECK-NEXT:        lane.store %[[V]], %[[X]][%[[ROW]]]
// AMD-NEXT:          rocdl.sched.barrier 0
// AMD:               %[[C:.*]] = lane.load_predicated %[[X]] from %[[TILE3]] {{.*}}
// AMD-NEXT:          rocdl.sched.barrier 0
// NVIDIA:            %[[C:.*]] = scf.if
// NVIDIA:            {{^ *[}]$}}
// CHECK-NEXT:        %[[HAS2:.*]] = arith.cmpi ult, %[[TILE2]], %[[ROWS]] : index
// CHECK-NEXT:        %[[BOTH:.*]] = scf.if %[[HAS2]] -> (vector<1x4xf32>) {
// CHECK-NEXT:          %[[ROW2:.*]] = lane.row %[[TILE2]]
// CHECK-NEXT:          %[[ADDED2:.*]] = lane.accumulate %[[ADDED]], %[[W]]
// CHECK-NEXT:          lane.store %[[W]], %[[X]][%[[ROW2]]]
// CHECK-NEXT:          scf.yield %[[ADDED2]]
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %[[ADDED]]
// CHECK-NEXT:        {{^ *[}]$}}
// CHECK-NEXT:        %[[TILE4:.*]] = arith.addi %[[TILE2]], %[[STRIDE]] : index
// AMD:               %[[D:.*]] = lane.load_predicated %[[X]] from %[[TILE4]] {{.*}}
// NVIDIA:            %[[D:.*]] = scf.if
// NVIDIA:            {{^ *[}]$}}
// CHECK:             lane.yield %[[BOTH]], %[[C]], %[[D]]
// CHECK:           scf.yield %[[LOOP]]#0
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %{{.*}} : vector<1x4xf32>
// CHECK-NEXT:    {{^ *[}]$}}
// CHECK-NEXT:    lane.store_sum %[[IF]]
gpu.module @m {
  gpu.func @pairs(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index) kernel {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<1x4xf32>
    %sum = lane.for_rows %tile = %begin to %rows step %step at %layout sums(%a = %zero) attributes {prefetch, unroll = 2} : !layout, vector<1x4xf32> {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      %b = lane.accumulate %a, %v : vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
      lane.yield %b : vector<1x4xf32>
    }
    lane.store_sum %sum, %x[%begin] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// Nothing summed: no values leave the condition. The partial tile comes
// after it.
// CHECK-LABEL: gpu.func @no_sums(
// CHECK:         scf.if %{{.*}} {
// CHECK:           lane.for_rows
// CHECK:             scf.if
// CHECK:         scf.if
// CHECK:         {{^ *[}]$}}
gpu.module @m {
  gpu.func @no_sums(%x: memref<?x256xf32>, %begin: index, %rows: index, %step: index, %w: index, %ws: index) kernel {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %begin to %rows step %step at %layout for %w of %ws attributes {prefetch, unroll = 2} : !layout {
      %row = lane.row %tile at %layout : !layout
      %v = lane.load %x[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x4xf32>
      lane.store %v, %x[%row] at %layout : !layout, vector<1x4xf32>, memref<?x256xf32>
    }
    gpu.return
  }
}
