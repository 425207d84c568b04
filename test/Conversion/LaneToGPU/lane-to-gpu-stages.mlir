// RUN: lnbwd-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(lnbwd-set-chip{chip=sm_90},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize,cse)' --split-input-file | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 32, groups = 4, width = 8>
!stages = !lane.stages<2 of f32, bf16>

// Two stages of four rows of 1024 and of 512 bytes: one thread announces a
// stage's 6144 bytes and starts a copy for each operand. A group's row lies
// after those of the groups before.
// CHECK-LABEL: gpu.func @rows(
// CHECK-SAME:    workgroup(%[[BARRIERS:.*]] : memref<2xi64, #gpu.address_space<workgroup>>
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 6144 : i32
// CHECK-DAG:     %[[XBYTES:.*]] = arith.constant 4096 : i32
// CHECK-DAG:     %[[YBYTES:.*]] = arith.constant 2048 : i32
// CHECK-DAG:     %[[BEHIND:.*]] = arith.constant 8192 : index
// CHECK-DAG:     %[[COLUMNS:.*]] = arith.constant 256 : index
// CHECK:         %[[GROUP:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK:         %[[MEMORY:.*]] = gpu.dynamic_shared_memory
// CHECK:         scf.if
// CHECK-COUNT-2:   nvvm.mbarrier.init
// CHECK:         gpu.barrier
// CHECK:         %[[COPIES:.*]] = arith.andi
// CHECK:         scf.if %[[COPIES]] {
// CHECK:           nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK:           nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]]
// CHECK:           memref.view %[[MEMORY]][%{{.*}}][] : {{.*}} to memref<2x1024xf32,
// CHECK:           nvvm.cp.async.bulk.shared.cluster.global %{{.*}}, %[[XBYTES]]
// CHECK:           memref.view %[[MEMORY]][%[[BEHIND]]][] : {{.*}} to memref<2x1024xbf16,
// CHECK:           nvvm.cp.async.bulk.shared.cluster.global %{{.*}}, %[[YBYTES]]
// CHECK:         }
// CHECK:         nvvm.mbarrier.try_wait.parity
// CHECK:         %[[FIRST:.*]] = arith.muli %[[GROUP]], %[[COLUMNS]]
// CHECK:         %[[X:.*]] = memref.view %[[MEMORY]][%{{.*}}][] : {{.*}} to memref<2x1024xf32,
// CHECK:         %[[AT:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK:         vector.load %[[X]][%{{.*}}, %[[AT]]] {alignment = 16 : i64}
// CHECK:         %[[Y:.*]] = memref.view %[[MEMORY]][%[[BEHIND]]][] : {{.*}} to memref<2x1024xbf16,
// CHECK:         vector.load %[[Y]][%{{.*}}, %[[AT]]] {alignment = 16 : i64}
// CHECK-NOT:     lane.
gpu.module @m {
  gpu.func @rows(%x: memref<?x256xf32>, %y: memref<?x256xbf16>, %tile: index, %end: index, %stage: index, %phase: i32) {
    %layout = lane.layout : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x, %y from %tile below %end to %stages[%stage] at %layout : !layout, !stages, memref<?x256xf32>, memref<?x256xbf16>
    lane.await_stage %stages[%stage] phase %phase : !stages
    %r:2 = lane.receive %tile from %stages[%stage] at %layout access 0 : !layout, !stages -> vector<8xf32>, vector<8xbf16>
    "test.use"(%r#0, %r#1) : (vector<8xf32>, vector<8xbf16>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 512, lanes = 32, groups = 2, width = 8, columns = 256>
!stages = !lane.stages<2 of f32>

// A slice of each row: a copy for each row, from the workgroup's first column.
// Columns in a stage are counted from there.
// CHECK-LABEL: gpu.func @slices(
// CHECK-SAME:    %[[COLUMN:[^:]*]]: index,
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 2048 : i32
// CHECK-DAG:     %[[ROW:.*]] = arith.constant 1024 : i32
// CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]]
// CHECK-COUNT-2: nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[ROW]]
gpu.module @m {
  gpu.func @slices(%column: index, %x: memref<?x512xf32>, %i: index, %end: index) {
    %layout = lane.layout from %column : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x from %i below %end to %stages[%i] at %layout : !layout, !stages, memref<?x512xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1001, lanes = 1024, groups = 1, width = 1>
!stages = !lane.stages<2 of bf16>

// Rows of 2002 bytes do not all begin where a copy can: it begins as many
// elements before, and takes 2032 bytes. In the stage it lies as many bytes
// after a multiple of 32 as in memory, and the lanes look so much further on.
// CHECK-LABEL: gpu.func @shifted(
// CHECK-SAME:    %[[X:.*]]: memref<?x1001xbf16>, %[[TILE:.*]]: index, %{{.*}}: index)
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 2032 : i32
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 1001 : index
// CHECK-DAG:     %[[UNIT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[LAYOUT:.*]] = arith.constant 16 : index
// CHECK:         memref.view {{.*}} to memref<2x1024xbf16,
// CHECK:         %[[ELEMENT:.*]] = arith.muli %[[TILE]], %[[LENGTH]]
// CHECK:         %[[OFFSET:.*]] = arith.remui %[[ELEMENT]], %[[LAYOUT]]
// CHECK:         %[[SHIFT:.*]] = arith.remui %[[OFFSET]], %[[UNIT]]
// CHECK:         arith.subi %[[OFFSET]], %[[SHIFT]]
// CHECK:         arith.subi %{{.*}}, %[[SHIFT]]
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[BYTES]]
// CHECK:         %[[AT:.*]] = arith.remui %{{.*}}, %[[LAYOUT]]
// CHECK:         arith.addi %[[AT]], %{{.*}}
// CHECK:         vector.load {{.*}} {alignment = 2 : i64}
gpu.module @m {
  gpu.func @shifted(%x: memref<?x1001xbf16>, %tile: index, %stage: index) {
    %layout = lane.layout : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x from %tile below %stage to %stages[%stage] at %layout : !layout, !stages, memref<?x1001xbf16>
    %r = lane.receive %tile from %stages[%stage] at %layout access 0 : !layout, !stages -> vector<1xbf16>
    "test.use"(%r) : (vector<1xbf16>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 472, lanes = 32, groups = 2, width = 8, columns = 256>
!stages = !lane.stages<2 of f32>

// The last workgroup of a row has fewer columns than the first, and announces
// and copies what it has: two rows of 1024 bytes, or of 864.
// CHECK-LABEL: gpu.func @rest(
// CHECK-SAME:    %[[COLUMN:[^:]*]]: index,
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 472 : index
// CHECK-DAG:     %[[MOST:.*]] = arith.constant 256 : index
// CHECK-DAG:     %[[BOTH:.*]] = arith.constant 8 : i32
// CHECK-DAG:     %[[EACH:.*]] = arith.constant 4 : i32
// CHECK:         %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[COLUMN]] : index
// CHECK:         %[[OWN:.*]] = arith.minui %[[LEFT]], %[[MOST]] : index
// CHECK:         %[[COLUMNS:.*]] = arith.index_cast %[[OWN]] : index to i32
// CHECK:         %[[BYTES:.*]] = arith.muli %[[COLUMNS]], %[[BOTH]] : i32
// CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]]
// CHECK:         %[[ROW:.*]] = arith.muli %[[COLUMNS]], %[[EACH]] : i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[ROW]]
gpu.module @m {
  gpu.func @rest(%column: index, %x: memref<?x472xf32>, %i: index, %end: index) {
    %layout = lane.layout from %column : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x from %i below %end to %stages[%i] at %layout : !layout, !stages, memref<?x472xf32>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1001, lanes = 32, groups = 2, width = 1, columns = 512>
!stages = !lane.stages<2 of bf16, f32>

// Slices of rows that begin anywhere: each row has a copy of its own, which
// begins as many elements before the slice as its row lies after a multiple of
// 16 bytes, and reaches into what is beside the slice. The last workgroup's is
// shorter, as is what all announce: two copies of each operand. A row lies 528
// or 520 elements after the one before it in a stage, and a group looks as
// much further on as its own row begins after a multiple of 32 bytes.
// CHECK-LABEL: gpu.func @shifted_slices(
// CHECK-SAME:    %[[COLUMN:[^:]*]]: index, %[[X:.*]]: memref<?x1001xbf16>, %[[Y:.*]]: memref<?x1001xf32>, %[[TILE:[^:]*]]: index,
// CHECK-DAG:     %[[ROUND:.*]] = arith.constant 31 : i32
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 16 : i32
// CHECK-DAG:     %[[TWICE:.*]] = arith.constant 32 : i32
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 1001 : index
// CHECK-DAG:     %[[MOST:.*]] = arith.constant 512 : index
// CHECK-DAG:     %[[XPLACE:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[XUNIT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[XBEHIND:.*]] = arith.constant 528 : index
// CHECK-DAG:     %[[YBEHIND:.*]] = arith.constant 520 : index
// CHECK:         %[[GROUP:.*]] = arith.divui %{{.*}}, %{{.*}} : index
// CHECK:         %[[LEFT:.*]] = arith.subi %[[LENGTH]], %[[COLUMN]] : index
// CHECK:         %[[OWN:.*]] = arith.minui %[[LEFT]], %[[MOST]] : index
// CHECK:         %[[COLUMNS:.*]] = arith.index_cast %[[OWN]] : index to i32
// CHECK:         %[[XOWN:.*]] = arith.muli %[[COLUMNS]], %{{.*}} : i32
// CHECK:         %[[XMORE:.*]] = arith.addi %[[XOWN]], %[[ROUND]] : i32
// CHECK:         %[[XUNITS:.*]] = arith.divui %[[XMORE]], %[[BYTES]] : i32
// CHECK:         %[[XBOTH:.*]] = arith.muli %[[XUNITS]], %[[TWICE]] : i32
// CHECK:         %[[YUNITS:.*]] = arith.divui %{{.*}}, %[[BYTES]] : i32
// CHECK:         %[[YBOTH:.*]] = arith.muli %[[YUNITS]], %[[TWICE]] : i32
// CHECK:         %[[ALL:.*]] = arith.addi %[[XBOTH]], %[[YBOTH]] : i32
// CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[ALL]]
// CHECK:         memref.view {{.*}} to memref<2x1056xbf16,
// CHECK:         %[[FIRST:.*]] = arith.muli %[[TILE]], %[[LENGTH]] : index
// CHECK:         %[[OFFSET:.*]] = arith.remui %[[FIRST]], %[[XPLACE]] : index
// CHECK:         %[[SHIFT:.*]] = arith.remui %[[OFFSET]], %[[XUNIT]] : index
// CHECK:         arith.subi %[[COLUMN]], %[[SHIFT]] : index
// CHECK:         %[[XSIZE:.*]] = arith.muli %[[XUNITS]], %[[BYTES]] : i32
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[XSIZE]]
// CHECK:         %[[NEXT:.*]] = arith.addi %[[TILE]], %{{.*}} : index
// CHECK:         %[[SECOND:.*]] = arith.muli %[[NEXT]], %[[LENGTH]] : index
// CHECK:         %[[LATER:.*]] = arith.remui %[[SECOND]], %[[XPLACE]] : index
// CHECK:         %[[OTHER:.*]] = arith.remui %[[LATER]], %[[XUNIT]] : index
// CHECK:         arith.subi %[[COLUMN]], %[[OTHER]] : index
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[XSIZE]]
// CHECK:         memref.view {{.*}} to memref<2x1040xf32,
// CHECK-COUNT-2: nvvm.cp.async.bulk.shared.cluster.global
// CHECK:         %[[ROW:.*]] = arith.addi %[[TILE]], %[[GROUP]] : index
// CHECK:         %[[XLINE:.*]] = arith.muli %[[GROUP]], %[[XBEHIND]] : index
// CHECK:         %[[ELEMENT:.*]] = arith.muli %[[ROW]], %[[LENGTH]] : index
// CHECK:         %[[XAT:.*]] = arith.remui %[[ELEMENT]], %[[XPLACE]] : index
// CHECK:         arith.addi %[[XLINE]], %[[XAT]] : index
// CHECK:         %[[YLINE:.*]] = arith.muli %[[GROUP]], %[[YBEHIND]] : index
// CHECK:         %[[YAT:.*]] = arith.remui %[[ELEMENT]], %[[XUNIT]] : index
// CHECK:         arith.addi %[[YLINE]], %[[YAT]] : index
gpu.module @m {
  gpu.func @shifted_slices(%column: index, %x: memref<?x1001xbf16>, %y: memref<?x1001xf32>, %tile: index, %end: index, %stage: index) {
    %layout = lane.layout from %column : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x, %y from %tile below %end to %stages[%stage] at %layout : !layout, !stages, memref<?x1001xbf16>, memref<?x1001xf32>
    %r:2 = lane.receive %tile from %stages[%stage] at %layout access 0 : !layout, !stages -> vector<1xbf16>, vector<1xf32>
    "test.use"(%r#0, %r#1) : (vector<1xbf16>, vector<1xf32>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 1002, lanes = 32, groups = 1, width = 1, columns = 501>
!stages = !lane.stages<2 of bf16>

// Where a slice is no whole number of units, the second one does not begin like
// its row.
// CHECK-LABEL: gpu.func @uneven_slices(
// CHECK-SAME:    %[[COLUMN:[^:]*]]: index,
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 1002 : index
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 1024 : i32
// CHECK:         %[[ROW:.*]] = arith.muli %{{.*}}, %[[LENGTH]] : index
// CHECK:         %[[FIRST:.*]] = arith.addi %[[ROW]], %[[COLUMN]] : index
// CHECK:         arith.remui %[[FIRST]]
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global {{.*}}, %[[BYTES]]
gpu.module @m {
  gpu.func @uneven_slices(%column: index, %x: memref<?x1002xbf16>, %i: index, %end: index) {
    %layout = lane.layout from %column : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x from %i below %end to %stages[%i] at %layout : !layout, !stages, memref<?x1002xbf16>
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 4280, lanes = 96, groups = 1, width = 8, columns = 2144>
!stages = !lane.stages<2 of bf16>

// Slices of rows of 8560 bytes begin where a copy can, but at every other row
// in the middle of 32 bytes: the copy is put there too, in room of 4320 bytes,
// and takes what the slice has.
// CHECK-LABEL: gpu.func @offset_slices(
// CHECK-SAME:    %[[COLUMN:[^:]*]]: index, %[[X:.*]]: memref<?x4280xbf16>, %[[TILE:[^:]*]]: index,
// CHECK-DAG:     %[[LENGTH:.*]] = arith.constant 4280 : index
// CHECK-DAG:     %[[LAYOUT:.*]] = arith.constant 16 : index
// CHECK:         memref.view {{.*}} to memref<2x2160xbf16,
// CHECK:         %[[FIRST:.*]] = arith.muli %[[TILE]], %[[LENGTH]] : index
// CHECK:         %[[OFFSET:.*]] = arith.remui %[[FIRST]], %[[LAYOUT]] : index
// CHECK-NOT:     arith.subi
// CHECK:         arith.addi %{{.*}}, %[[OFFSET]] : index
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global
// CHECK:         %[[AGAIN:.*]] = arith.remui %{{.*}}, %[[LAYOUT]] : index
// CHECK:         %[[AT:.*]] = arith.addi %[[AGAIN]], %{{.*}} : index
// CHECK:         vector.load %{{.*}}[%{{.*}}, %[[AT]]] {alignment = 16 : i64}
gpu.module @m {
  gpu.func @offset_slices(%column: index, %x: memref<?x4280xbf16>, %tile: index, %end: index, %stage: index) {
    %layout = lane.layout from %column : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x from %tile below %end to %stages[%stage] at %layout : !layout, !stages, memref<?x4280xbf16>
    %r = lane.receive %tile from %stages[%stage] at %layout access 0 : !layout, !stages -> vector<8xbf16>
    "test.use"(%r) : (vector<8xbf16>) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 167, lanes = 8, groups = 8, width = 1>
!stages = !lane.stages<2 of bf16>

// Eight rows of 334 bytes are whole copies together. They are put where their
// room begins, wherever they begin in memory.
// CHECK-LABEL: gpu.func @together(
// CHECK:         memref.view {{.*}} to memref<2x1344xbf16,
// CHECK-NOT:     arith.remui %{{.*}}, %{{.*}} : index
// CHECK:         nvvm.cp.async.bulk.shared.cluster.global
gpu.module @m {
  gpu.func @together(%x: memref<?x167xbf16>, %tile: index, %end: index, %stage: index) {
    %layout = lane.layout : !layout
    %stages = lane.stages at %layout : !layout, !stages
    lane.start_copies %x from %tile below %end to %stages[%stage] at %layout : !layout, !stages, memref<?x167xbf16>
    gpu.return
  }
}
