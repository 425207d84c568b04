// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-expand-for-chip | FileCheck %s

// A move from each row of 16 lanes to the next that leaves the first and the third as they were
// goes to all of them where nothing reads these two afterwards, and only there.

// CHECK-LABEL: gpu.func @last_lane(
// CHECK:         amdgpu.dpp %{{.*}} row_bcast_15(unit) {bound_ctrl = true}
// CHECK-LABEL: gpu.func @first_lane(
// CHECK:         amdgpu.dpp %{{.*}} row_bcast_15(unit) {row_mask = 10 : i32}
// CHECK-LABEL: gpu.func @each_lane(
// CHECK:         amdgpu.dpp %{{.*}} row_bcast_15(unit) {row_mask = 10 : i32}
// CHECK-LABEL: gpu.func @other_move(
// CHECK:         amdgpu.dpp %{{.*}} row_bcast_15(unit) {row_mask = 10 : i32}
// CHECK-LABEL: gpu.func @third_row_alone(
// CHECK:         amdgpu.dpp %{{.*}} row_bcast_15(unit) {row_mask = 4 : i32}
gpu.module @kernels {
  gpu.func @last_lane(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %lane = arith.constant 31 : i32
    %moved = amdgpu.dpp %v %v row_bcast_15(unit) {row_mask = 10 : i32} : f32
    %sum = arith.addf %v, %moved : f32
    %read = rocdl.readlane %sum, %lane : (f32, i32) -> f32
    memref.store %read, %out[%c0] : memref<1xf32>
    gpu.return
  }
  gpu.func @first_lane(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %lane = arith.constant 32 : i32
    %moved = amdgpu.dpp %v %v row_bcast_15(unit) {row_mask = 10 : i32} : f32
    %sum = arith.addf %v, %moved : f32
    %read = rocdl.readlane %sum, %lane : (f32, i32) -> f32
    memref.store %read, %out[%c0] : memref<1xf32>
    gpu.return
  }
  gpu.func @each_lane(%out: memref<64xf32>, %v: f32) kernel {
    %lane = gpu.lane_id
    %moved = amdgpu.dpp %v %v row_bcast_15(unit) {row_mask = 10 : i32} : f32
    %sum = arith.addf %v, %moved : f32
    memref.store %sum, %out[%lane] : memref<64xf32>
    gpu.return
  }
  gpu.func @other_move(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %lane = arith.constant 63 : i32
    %moved = amdgpu.dpp %v %v row_bcast_15(unit) {row_mask = 10 : i32} : f32
    %sum = arith.addf %v, %moved : f32
    %mirrored = amdgpu.dpp %sum %sum row_mirror(unit) {bound_ctrl = true} : f32
    %read = rocdl.readlane %mirrored, %lane : (f32, i32) -> f32
    memref.store %read, %out[%c0] : memref<1xf32>
    gpu.return
  }
  gpu.func @third_row_alone(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %lane = arith.constant 63 : i32
    %moved = amdgpu.dpp %v %v row_bcast_15(unit) {row_mask = 4 : i32} : f32
    %sum = arith.addf %v, %moved : f32
    %read = rocdl.readlane %sum, %lane : (f32, i32) -> f32
    memref.store %read, %out[%c0] : memref<1xf32>
    gpu.return
  }
}
