// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-lower-row-reductions)),canonicalize)' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 8192, lanes = 64, groups = 2, width = 8, columns = 1024>

// Eight workgroups of two waves a row: sixteen slots of two numbers for each of
// two groups and two rows alternately. A wave's first lanes read them, the
// others take what changes nothing, and the wave adds up. An iteration is the
// row's number.
// CHECK-LABEL: gpu.func @peers(
// CHECK-SAME:    workgroup(%[[MEMORY:.*]] : memref<128xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %[[BARRIERS:.*]] : memref<4xi64, #gpu.address_space<workgroup>>
// CHECK:         %[[NEUTRAL:.*]] = arith.constant dense<[0.000000e+00, 0xFF800000]> : vector<2xf32>
// CHECK:         %[[LAYOUT:.*]] = lane.layout from
// CHECK-NEXT:    lane.init_byte_barriers %[[BARRIERS]]
// CHECK-NEXT:    nvvm.cluster.arrive {aligned}
// CHECK-NEXT:    "test.other"
// CHECK-NEXT:    nvvm.cluster.wait {aligned}
// CHECK-NEXT:    lane.for_rows {{.*}} carrying(%[[ITERATION:.*]] = %{{.*}}) attributes
// CHECK:           gpu.subgroup_reduce add %{{.*}} : (f32) -> f32
// CHECK:           gpu.subgroup_reduce maximumf %{{.*}} : (f32) -> f32
// CHECK:           %[[MINE:.*]] = vector.from_elements
// CHECK:           %[[W:.*]] = gpu.block_id y
// CHECK:           %[[OF_W:.*]] = arith.muli %[[W]], %{{.*}} : index
// CHECK:           lane.expect_bytes %[[BARRIERS]][%[[BARRIER:.*]]], 256 :
// CHECK-NEXT:      lane.send_to_peers %[[MINE]] to %[[MEMORY]][%{{.*}}] counted by %[[BARRIERS]][%[[BARRIER]]] at %[[LAYOUT]]
// CHECK:           lane.await_bytes %[[BARRIERS]][%[[BARRIER]]] phase
// CHECK:           %[[READ:.*]] = vector.load %[[MEMORY]]
// CHECK:           arith.select %{{.*}}, %[[READ]], %[[NEUTRAL]] : vector<2xf32>
// CHECK:           gpu.subgroup_reduce add
// CHECK:           gpu.subgroup_reduce maximumf
// CHECK:           %[[NEXT:.*]] = arith.addi %[[ITERATION]], %{{.*}} : index
// CHECK:           lane.yield %[[NEXT]] : index
gpu.module @m {
  gpu.func @peers(%x: f32, %y: f32, %i: index) {
    %layout = lane.layout from %i : !layout
    "test.other"() : () -> ()
    %first = lane.first_iteration : !lane.iteration
    %last = lane.for_rows %tile = %i to %i step %i at %layout carrying(%iteration = %first) attributes {whole} : !layout, !lane.iteration {
      %s:2 = lane.reduce [#vector.kind<add>, #vector.kind<maximumf>] %x, %y at %layout iteration %iteration phase 0 : !layout, f32, f32 -> f32, f32
      "test.use"(%s#0, %s#1) : (f32, f32) -> ()
      %next = lane.next_iteration %iteration : !lane.iteration
      lane.yield %next : !lane.iteration
    }
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 65536, lanes = 256, groups = 1, width = 8, columns = 8192>

// Sixty-four slots: each lane reads two.
// CHECK-LABEL: gpu.func @two_slots_a_lane(
// CHECK:         lane.await_bytes
// CHECK-NOT:     arith.select
// CHECK-COUNT-2: vector.load
// CHECK:         arith.addf {{.*}} : vector<1xf32>
// CHECK:         gpu.subgroup_reduce add
gpu.module @m {
  gpu.func @two_slots_a_lane(%x: f32, %i: index) {
    %layout = lane.layout from %i : !layout
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1024, lanes = 16, groups = 16, width = 1, columns = 256, across = true>

// Lanes across rows: the workgroup adds up its eight waves before, and sends one
// sum for each of its rows to each of four workgroups, all of which read four.
// CHECK-LABEL: gpu.func @across(
// CHECK-SAME:    workgroup(%[[MEMORY:.*]] : memref<384xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.subgroup_reduce add %{{.*}} cluster(size = 2, stride = 16) : (f32) -> f32
// CHECK:         lane.barrier
// CHECK-COUNT-8: vector.load %[[MEMORY]]
// CHECK:         %[[W:.*]] = gpu.block_id y
// CHECK:         arith.muli %[[W]], %{{.*}} : index
// CHECK:         lane.expect_bytes %{{.*}}, 256 :
// CHECK-NEXT:    lane.send_to_peers
// CHECK:         lane.await_bytes
// CHECK-COUNT-4: vector.load %[[MEMORY]]
// CHECK-NOT:     gpu.subgroup_reduce
gpu.module @m {
  gpu.func @across(%x: f32, %i: index) {
    %layout = lane.layout from %i : !layout
    %iteration = lane.first_iteration : !lane.iteration
    %s = lane.reduce [#vector.kind<add>] %x at %layout iteration %iteration phase 0 : !layout, f32 -> f32
    "test.use"(%s) : (f32) -> ()
    gpu.return
  }
}
