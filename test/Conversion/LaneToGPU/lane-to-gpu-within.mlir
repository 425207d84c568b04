// RUN: lnbwd-opt %s --pass-pipeline='builtin.module(lnbwd-set-chip{chip=gfx942},gpu.module(gpu.func(lnbwd-convert-lane-to-gpu)),canonicalize,cse)' --split-input-file --allow-unregistered-dialect | FileCheck %s

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// A buffer descriptor that ends with the rows that exist. A wave has one row:
// its first lane loads the number, and all are given it.
// CHECK-LABEL: gpu.func @one_row_a_wave(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x256xf32, strided<[320, 1]>>, %[[S:[a-z0-9]+]]: memref<?xf32>, %[[TILE:[a-z0-9]+]]: index, %[[COUNT:[a-z0-9]+]]: index)
// CHECK-DAG:     %[[GROUPS:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[STRIDE:.*]] = arith.constant 320 : index
// CHECK:         %[[LAYOUT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[GROUPS]] : index
// CHECK:         memref.reinterpret_cast %[[S]] to offset: [%[[TILE]]], sizes: [%[[COUNT]]]
// CHECK:         amdgpu.fat_raw_buffer_cast {{.*}} validBytes({{.*}}) resetOffset
// CHECK:         %[[N:.*]] = memref.load %{{.*}}[%[[LAYOUT]]]
// CHECK:         rocdl.sched.barrier 0
// CHECK:         %[[SIZE:.*]] = arith.muli %[[COUNT]], %[[STRIDE]] : index
// CHECK:         %[[BEGIN:.*]] = arith.muli %[[TILE]], %[[STRIDE]] : index
// CHECK:         memref.reinterpret_cast %[[X]] to offset: [%[[BEGIN]]], sizes: [%[[SIZE]]]
// CHECK:         vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}fat_raw_buffer{{.*}}, vector<4xf32>
// CHECK:         rocdl.readfirstlane %[[N]] : f32
gpu.module @m {
  gpu.func @one_row_a_wave(%x: memref<?x256xf32, strided<[320, 1]>>, %s: memref<?xf32>, %tile: index, %count: index) {
    %layout = lane.layout : !layout
    %n = lane.load_scalar_predicated %s from %tile count %count at %layout : !layout, memref<?xf32>
    rocdl.sched.barrier 0
    %v = lane.load_predicated %x from %tile count %count at %layout access 0 : !layout, memref<?x256xf32, strided<[320, 1]>> -> vector<4xf32>
    %shared = lane.broadcast_scalar %n at %layout : !layout, f32
    "test.use"(%v, %shared) : (vector<4xf32>, f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 256, lanes = 64, groups = 4, width = 4>

// A byte goes through a register.
// CHECK-LABEL: gpu.func @byte
// CHECK:         %[[WIDE:.*]] = arith.extui %[[N:.*]] : i8 to i32
// CHECK:         %[[FIRST:.*]] = rocdl.readfirstlane %[[WIDE]] : i32
// CHECK:         %[[SHARED:.*]] = arith.trunci %[[FIRST]] : i32 to i8
// CHECK:         "test.use"(%[[SHARED]])
gpu.module @m {
  gpu.func @byte(%n: i8) {
    %layout = lane.layout : !layout
    %shared = lane.broadcast_scalar %n at %layout : !layout, i8
    "test.use"(%shared) : (i8) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 16, groups = 16, width = 4>

// Of several rows a wave, each lane loads its own number.
// CHECK-LABEL: gpu.func @four_rows_a_wave
// CHECK:         %[[N:.*]] = memref.load
// CHECK-NOT:     rocdl.readfirstlane
// CHECK:         "test.use"(%[[N]])
gpu.module @m {
  gpu.func @four_rows_a_wave(%s: memref<?xf32>, %tile: index, %count: index) {
    %layout = lane.layout : !layout
    %n = lane.load_scalar_predicated %s from %tile count %count at %layout : !layout, memref<?xf32>
    %shared = lane.broadcast_scalar %n at %layout : !layout, f32
    "test.use"(%shared) : (f32) -> ()
    gpu.return
  }
}

// -----

!layout = !lane.layout<row_length = 64, lanes = 16, groups = 16, width = 4>

// Numbers of rows may lie apart, as one part of a sum of each row does.
// CHECK-LABEL: gpu.func @apart(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: memref<?xf32, strided<[3], offset: 2>>, %[[TILE:[a-z0-9]+]]: index, %[[COUNT:[a-z0-9]+]]: index)
// CHECK-DAG:     %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[BEGIN:.*]] = arith.muli %[[TILE]], %[[THREE]] : index
// CHECK-DAG:     %[[SIZE:.*]] = arith.muli %[[COUNT]], %[[THREE]] : index
// CHECK-DAG:     %[[MINE:.*]] = arith.muli %{{.*}}, %[[THREE]] : index
// CHECK-DAG:     memref.reinterpret_cast %[[S]] to offset: [%{{.*}}], sizes: [%[[SIZE]]], strides: [1]
// CHECK:         memref.load %{{.*}}[%[[MINE]]]
gpu.module @m {
  gpu.func @apart(%s: memref<?xf32, strided<[3], offset: 2>>, %tile: index, %count: index) {
    %layout = lane.layout : !layout
    %n = lane.load_scalar_predicated %s from %tile count %count at %layout : !layout, memref<?xf32, strided<[3], offset: 2>>
    "test.use"(%n) : (f32) -> ()
    gpu.return
  }
}
