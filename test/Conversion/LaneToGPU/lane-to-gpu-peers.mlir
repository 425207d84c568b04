// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize,cse)' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 2048, lanes = 64, groups = 1, width = 8, columns = 512>
!barriers = memref<2xi64, #gpu.address_space<workgroup>>
!memory = memref<32xf32, #gpu.address_space<workgroup>>

// One thread prepares barriers and announces bytes; four lanes of each wave send
// to a peer each, and all wait.
// CHECK-LABEL: gpu.func @exchange(
// CHECK:         %[[THREAD:.*]] = gpu.thread_id x
// CHECK:         %[[IS_FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %{{.*}} : index
// CHECK:         scf.if %[[IS_FIRST]] {
// CHECK-COUNT-2:   nvvm.mbarrier.init
// CHECK:           nvvm.fence.mbarrier.init
// CHECK:         }
// CHECK:         nvvm.cluster.arrive {aligned}
// CHECK:         nvvm.cluster.wait {aligned}
// CHECK:         scf.if %{{.*}} {
// CHECK:           nvvm.mbarrier.arrive.expect_tx
// CHECK:         }
// CHECK:         %[[PEER:.*]] = arith.remui %[[THREAD]], %{{.*}} : index
// CHECK:         %[[SENDS:.*]] = arith.cmpi ult, %[[PEER]], %{{.*}} : index
// CHECK:         scf.if %[[SENDS]] {
// CHECK:           %[[RANK:.*]] = arith.index_cast %[[PEER]] : index to i32
// CHECK:           %[[BARRIER:.*]] = nvvm.mapa %{{.*}}, %[[RANK]]
// CHECK:           %[[SLOT:.*]] = nvvm.mapa %{{.*}}, %[[RANK]]
// CHECK:           nvvm.inline_ptx "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 {{.*}}" ro(%[[SLOT]], %[[BARRIER]],
// CHECK:         }
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK-NOT:     lane.
gpu.module @m {
  gpu.func @exchange(%i: index, %s: vector<2xf32>, %phase: i32) workgroup(%m : !memory, %b : !barriers) {
    %layout = lane.layout from %i : !layout
    lane.init_byte_barriers %b : !barriers
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    lane.expect_bytes %b[%i], 128 : !barriers
    lane.send_to_peers %s to %m[%i] counted by %b[%i] at %layout : !layout, vector<2xf32>, !memory, !barriers
    lane.await_bytes %b[%i] phase %phase : !barriers
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 2048, lanes = 64, groups = 1, width = 8, columns = 512>

// Of the workgroups that share a row, the one with its first columns stores its
// number.
// CHECK-LABEL: gpu.func @scalar(
// CHECK-SAME:    %[[FIRST:.*]]: index, %[[M:.*]]: memref<?xf32>, %[[S:.*]]: f32)
// CHECK:         %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK:         %[[WORKGROUP:.*]] = arith.cmpi eq, %[[FIRST]], %{{.*}} : index
// CHECK:         %[[STORES:.*]] = arith.andi %[[LANE]], %[[WORKGROUP]] : i1
// CHECK:         scf.if %[[STORES]] {
// CHECK:           memref.store %[[S]], %[[M]]
gpu.module @m {
  gpu.func @scalar(%first: index, %m: memref<?xf32>, %s: f32) {
    %layout = lane.layout from %first : !layout
    lane.store_scalar %s, %m[%first] at %layout : !layout, memref<?xf32>
    gpu.return
  }
}
