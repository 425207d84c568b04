// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-lower-row-reductions)),canonicalize)' --split-input-file | FileCheck %s

// The elements of a lane by halves, then the lanes of a wave; no memory, so
// that an iteration is nothing.
// CHECK-LABEL: gpu.func @one_wave(
// CHECK-SAME:    %[[X:.*]]: vector<4xf32>)
// CHECK-NOT:     workgroup(
// CHECK:         %[[LOW:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [2]
// CHECK:         %[[HIGH:.*]] = vector.extract_strided_slice %[[X]] {offsets = [2], sizes = [2]
// CHECK:         %[[PAIR:.*]] = arith.addf %[[LOW]], %[[HIGH]] fastmath<contract> : vector<2xf32>
// CHECK:         %[[ONE:.*]] = vector.extract %{{.*}}[0] : f32 from vector<1xf32>
// CHECK:         %[[SUM:.*]] = gpu.subgroup_reduce add %[[ONE]] : (f32) -> f32
// CHECK-NOT:     lane.barrier
// CHECK-NOT:     iteration
// CHECK:         "test.use"(%[[SUM]])
gpu.module @m {
  gpu.func @one_wave(%x: vector<4xf32>) {
    %layout = lane.layout : !lane.layout<row_length = 256, lanes = 64, groups = 2, width = 4>
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0
        : !lane.layout<row_length = 256, lanes = 64, groups = 2, width = 4>, vector<4xf32> -> f32
    %next = lane.next_iteration %iteration : !lane.iteration
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @part_of_a_wave
// CHECK:         gpu.subgroup_reduce maximumf %{{.*}} cluster(size = 16) : (f32) -> f32
gpu.module @m {
  gpu.func @part_of_a_wave(%x: f32) {
    %layout = lane.layout : !lane.layout<row_length = 256, lanes = 16, groups = 4, width = 4>
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<maximumf>] %x at %layout iteration %iteration phase 0
        : !lane.layout<row_length = 256, lanes = 16, groups = 4, width = 4>, f32 -> f32
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @one_lane(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK-NOT:     gpu.subgroup_reduce
// CHECK:         "test.use"(%[[X]])
gpu.module @m {
  gpu.func @one_lane(%x: f32) {
    %layout = lane.layout : !lane.layout<row_length = 4, lanes = 1, groups = 64, width = 4>
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0
        : !lane.layout<row_length = 4, lanes = 1, groups = 64, width = 4>, f32 -> f32
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1024, lanes = 256, groups = 2, width = 4>

// Four waves: each writes to its slot, and all lanes combine the slots in order,
// each sum in its way. Two phases of two groups, two sums and one: a half has 24
// numbers, and the next row takes the other.
// CHECK-LABEL: gpu.func @four_waves(
// CHECK-SAME:    workgroup(%[[MEMORY:.*]] : memref<48xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[OFFSET:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[HALF:.*]] = arith.constant 24 : index
// CHECK:         lane.for_rows {{.*}} carrying(%[[ITERATION:.*]] = %[[ZERO]]) attributes {whole} : !layout, index {
// CHECK:           gpu.subgroup_reduce add
// CHECK:           gpu.subgroup_reduce maximumf
// CHECK:           %[[GROUP:.*]] = lane.group
// CHECK:           arith.addi %[[ITERATION]], %{{.*}} : index
// CHECK:           %[[MINE:.*]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK:           %[[LANE:.*]] = lane.lane
// CHECK:           arith.divui %[[LANE]], %{{.*}} : index
// CHECK:           vector.store %[[MINE]], %[[MEMORY]][%{{.*}}] {alignment = 8 : i64}
// CHECK:           lane.barrier
// CHECK-COUNT-4:   vector.load %[[MEMORY]][%{{.*}}] {alignment = 8 : i64} : {{.*}}, vector<2xf32>
// CHECK:           arith.addf {{.*}} fastmath<contract> : vector<2xf32>
// CHECK:           arith.maximumf {{.*}} : vector<2xf32>
// CHECK:           vector.extract %{{.*}}[0] : f32 from vector<2xf32>
// CHECK:           vector.extract %{{.*}}[1] : f32 from vector<2xf32>
// CHECK:           arith.addi %[[ITERATION]], %[[OFFSET]] : index
// CHECK:           lane.barrier
// CHECK:           %[[NEXT:.*]] = arith.subi %[[HALF]], %[[ITERATION]] : index
// CHECK:           lane.yield %[[NEXT]] : index
gpu.module @m {
  gpu.func @four_waves(%x: f32, %y: f32, %i: index) {
    %layout = lane.layout : !layout
    %first = lane.first_iteration : !lane.iteration
    %last = lane.for_rows %tile = %i to %i step %i at %layout carrying(%iteration = %first) attributes {whole} : !layout, !lane.iteration {
      %s:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %x, %y at %layout iteration %iteration phase 0 : !layout, f32, f32 -> f32, f32
      %t = arith.addf %s#0, %s#1 : f32
      %u = lane.reduce [#vector.kind<add>] %t at %layout iteration %iteration phase 1 : !layout, f32 -> f32
      "test.use"(%u) : (f32) -> ()
      %next = lane.next_iteration %iteration : !lane.iteration
      lane.yield %next : !lane.iteration
    }
    gpu.return
  }
}

// -----

!column_tile = !lane.layout<row_length = 700, lanes = 128, groups = 1, width = 4, columns = 512>

// The sums of a workgroup's own columns are those of its two waves: nobody else
// is met.
// CHECK-LABEL: gpu.func @own_columns(
// CHECK-NOT:     peers
// CHECK:         gpu.subgroup_reduce add
// CHECK:         lane.barrier
// CHECK-COUNT-2: vector.load %{{.*}} : {{.*}}, vector<1xf32>
// CHECK-NOT:     vector.load
// CHECK:         "test.use"
gpu.module @m {
  gpu.func @own_columns(%x: f32, %first: index) {
    %layout = lane.layout from %first : !column_tile
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 own_columns : !column_tile, f32 -> f32
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1024, lanes = 32, groups = 16, width = 1, across = true>

// Lanes across rows: a wave of 64 has four lanes of each of sixteen rows, 16
// apart, and a row is in eight waves. Their sums lie [slot][group][number], so
// that neighbouring lanes read neighbours.
// CHECK-LABEL: gpu.func @across(
// CHECK-SAME:    workgroup(%[[MEMORY:.*]] : memref<512xf32, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[SLOT:.*]] = arith.constant 32 : index
// CHECK:         gpu.subgroup_reduce add %{{.*}} cluster(size = 4, stride = 16) : (f32) -> f32
// CHECK:         gpu.subgroup_reduce add %{{.*}} cluster(size = 4, stride = 16) : (f32) -> f32
// CHECK:         %[[GROUP:.*]] = lane.group
// CHECK:         arith.muli %[[GROUP]], %[[ONE]] : index
// CHECK:         %[[LANE:.*]] = lane.lane
// CHECK:         %[[NUMBER:.*]] = arith.divui %[[LANE]], %[[FOUR]] : index
// CHECK:         arith.muli %[[NUMBER]], %[[SLOT]] : index
// CHECK:         vector.store %{{.*}}, %[[MEMORY]]
// CHECK:         lane.barrier
// CHECK-COUNT-8: vector.load %[[MEMORY]]
gpu.module @m {
  gpu.func @across(%x: f32, %y: f32) {
    %layout = lane.layout : !layout
    %iteration = lane.first_iteration : !lane.iteration
    %s:2 = lane.reduce [#vector.kind<add>, #vector.kind<add>] %x, %y at %layout iteration %iteration phase 0 : !layout, f32, f32 -> f32, f32
    "test.use"(%s#0, %s#1) : (f32, f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 4, groups = 64, width = 1, across = true>

// Each lane of a row is in another wave.
// CHECK-LABEL: gpu.func @no_lanes_of_a_wave(
// CHECK-NOT:     gpu.subgroup_reduce
// CHECK:         lane.barrier
// CHECK-COUNT-4: vector.load
gpu.module @m {
  gpu.func @no_lanes_of_a_wave(%x: f32) {
    %layout = lane.layout : !layout
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}
