// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(lnbwd-stage-rows)))' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>

// Three tiles are in flight before the loop. An iteration waits for its own,
// and at its end, after a barrier, has the tile three steps later brought to
// its stage.
// CHECK-LABEL: gpu.func @sums(
// CHECK-SAME:    %[[BEGIN:[^:]*]]: index, %[[END:[^:]*]]: index, %[[STEP:[^:]*]]: index, %[[XS:[^:]*]]: memref<?x256xf32>
// CHECK:         %[[STAGES:.*]] = lane.stages at %[[LAYOUT:.*]] : !layout, !stages
// CHECK:         lane.start_copies %[[XS]] from %[[BEGIN]] below %[[END]] to %[[STAGES]][%{{.*}}] at %[[LAYOUT]]
// CHECK:         %[[TILE1:.*]] = arith.addi %[[BEGIN]], %[[STEP]]
// CHECK:         lane.start_copies %[[XS]] from %[[TILE1]] below %[[END]]
// CHECK:         %[[D2:.*]] = arith.muli %[[STEP]],
// CHECK:         %[[TILE2:.*]] = arith.addi %[[BEGIN]], %[[D2]]
// CHECK:         lane.start_copies %[[XS]] from %[[TILE2]] below %[[END]]
// CHECK:         %[[LEFT:.*]]:4 = lane.for_rows %[[TILE:.*]] = %[[BEGIN]] to %[[END]] {{.*}} sums(%[[SUM:.*]] = %{{.*}}) carrying(%[[ITERATION:.*]] = %{{.*}}, %[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) attributes {sum_block = 8 : i64, whole} : !layout, vector<1x8xf32>, !lane.iteration, index, i32 {
// CHECK-NEXT:      lane.row %[[TILE]]
// CHECK-NEXT:      lane.await_stage %[[STAGES]][%[[STAGE]]] phase %[[PHASE]]
// CHECK-NEXT:      %[[X:.*]] = lane.receive %[[TILE]] from %[[STAGES]][%[[STAGE]]] at %[[LAYOUT]]
// CHECK-NOT:       lane.load
// CHECK:           lane.reduce
// CHECK:           %[[NEXT_TURN:.*]] = lane.next_iteration %[[ITERATION]]
// CHECK-NEXT:      lane.barrier
// CHECK:           %[[AHEAD:.*]] = arith.muli %[[STEP]], %{{.*}} : index
// CHECK:           %[[LATER:.*]] = arith.addi %[[TILE]], %[[AHEAD]]
// CHECK:           lane.start_copies %[[XS]] from %[[LATER]] below %[[END]] to %[[STAGES]][%[[STAGE]]]
// CHECK:           %[[FOLLOWING:.*]] = arith.addi %[[STAGE]],
// CHECK:           %[[WRAPS:.*]] = arith.cmpi eq, %[[FOLLOWING]],
// CHECK:           %[[NEXT:.*]] = arith.select %[[WRAPS]], %{{.*}}, %[[FOLLOWING]]
// CHECK:           %[[FLIP:.*]] = arith.extui %[[WRAPS]]
// CHECK:           %[[NEXT_PHASE:.*]] = arith.xori %[[PHASE]], %[[FLIP]]
// CHECK:           lane.yield %{{.*}}, %[[NEXT_TURN]], %[[NEXT]], %[[NEXT_PHASE]]
// CHECK:         "test.use"(%[[LEFT]]#0, %[[LEFT]]#1)
gpu.module @m {
  gpu.func @sums(%begin: index, %end: index, %step: index, %xs: memref<?x256xf32>) {
    %layout = lane.layout : !layout
    %zero = arith.constant dense<0.0> : vector<1x8xf32>
    %first = lane.first_iteration : !lane.iteration
    %left:2 = lane.for_rows %tile = %begin to %end step %step at %layout sums(%sum = %zero) carrying(%iteration = %first)
        attributes {whole, sum_block = 8 : i64, stages = 3} : !layout, vector<1x8xf32>, !lane.iteration {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x8xf32>
      %partial = lane.fold [#vector.kind<add>] %x at %layout : !layout, vector<1x8xf32> -> vector<8xf32>
      %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : !layout, vector<8xf32> -> f32
      %added = lane.accumulate %sum, %x : vector<1x8xf32>
      %next = lane.next_iteration %iteration : !lane.iteration
      lane.yield %added, %next : vector<1x8xf32>, !lane.iteration
    }
    "test.use"(%left#0, %left#1) : (vector<1x8xf32>, !lane.iteration) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>

// Without row sums the stage is free ahead of the arithmetic. Copies start
// before what is loaded to registers for the first iteration, and after what is
// waited for.
// CHECK-LABEL: gpu.func @no_sums(
// CHECK:         nvvm.griddepcontrol wait
// CHECK-NEXT:    lane.stages
// CHECK-COUNT-2: lane.start_copies
// CHECK:         %[[EXISTS:.*]] = arith.cmpi ult
// CHECK:         %[[FIRST:.*]] = scf.if %[[EXISTS]] -> (f32)
// CHECK:         lane.for_rows {{.*}} carrying(%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}, %[[AHEAD:.*]] = %[[FIRST]])
// CHECK:           lane.receive
// CHECK-NEXT:      lane.barrier
// CHECK:           lane.start_copies
// CHECK:           arith.negf
// CHECK:           lane.store
// CHECK-NOT:       lane.start_copies
gpu.module @m {
  gpu.func @no_sums(%begin: index, %end: index, %step: index, %xs: memref<?x256xf32>, %ms: memref<?xf32>) {
    %layout = lane.layout : !layout
    nvvm.griddepcontrol wait
    %in_bounds = arith.cmpi ult, %begin, %end : index
    %first = scf.if %in_bounds -> (f32) {
      %m = lane.load_scalar %ms[%begin] : memref<?xf32>
      scf.yield %m : f32
    } else {
      %none = lane.undefined_row : f32
      scf.yield %none : f32
    }
    %left = lane.for_rows %tile = %begin to %end step %step at %layout carrying(%m = %first) attributes {whole, stages = 2} : !layout, f32 {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x8xf32>
      %y = arith.negf %x : vector<1x8xf32>
      lane.store %y, %xs[%row] at %layout : !layout, vector<1x8xf32>, memref<?x256xf32>
      lane.yield %m : f32
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 2, width = 8>

// Kernels of other schedules are left alone.
// CHECK-LABEL: gpu.func @plain(
// CHECK-NOT:     lane.stages
// CHECK:         lane.load
gpu.module @m {
  gpu.func @plain(%i: index, %xs: memref<?x256xf32>) {
    %layout = lane.layout : !layout
    lane.for_rows %tile = %i to %i step %i at %layout attributes {whole} : !layout {
      %row = lane.row %tile at %layout : !layout
      %x = lane.load %xs[%row] at %layout : !layout, memref<?x256xf32> -> vector<1x8xf32>
      lane.store %x, %xs[%row] at %layout : !layout, vector<1x8xf32>, memref<?x256xf32>
    }
    gpu.return
  }
}
