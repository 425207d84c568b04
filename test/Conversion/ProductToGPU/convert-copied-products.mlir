// RUN: lnbwd-opt %s --split-input-file --lnbwd-select-tiling="chip=sm_80 rows=8192" --lnbwd-convert-products-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s

// Two of three stages are on their way before the first is waited for; each turn
// waits once, and starts the copies of the stage that was multiplied before.
// CHECK-LABEL: gpu.func @whole(
// CHECK:         gpu.dynamic_shared_memory
// CHECK:         nvgpu.device_async_copy {{.*}}, 8, %{{.*}} {bypassL1}
// CHECK:         nvvm.cp.async.commit.group
// CHECK:         nvvm.cp.async.commit.group
// CHECK-NOT:     nvvm.cp.async.commit.group
// CHECK:         scf.for
// CHECK-NEXT:      nvvm.cp.async.wait.group 1
// CHECK-NEXT:      gpu.barrier
// CHECK:           nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = false}
// CHECK:           nvgpu.device_async_copy
// CHECK:           nvvm.cp.async.commit.group
// CHECK-COUNT-128: nvvm.mma.sync
// CHECK-NOT:       gpu.barrier
// CHECK:           scf.yield
// CHECK:         gpu.launch_func {{.*}} dynamic_shared_memory_size
func.func @f(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<?x4096xf32>) {
  lnbwd.product @whole lhs(%x : memref<?x4096xbf16>) rhs(%w : memref<4096x4096xbf16>) outs(%y : memref<?x4096xf32>)
      attributes {rhs_transposed}
  return
}

// -----

// Both matrices lie across the sum, and ldmatrix turns them around.
// CHECK-LABEL: gpu.func @outer(
// CHECK:         nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = true}
// CHECK-NOT:     transpose = false
// CHECK:         nvvm.mma.sync
func.func @outer_sum(%dy: memref<?x768xbf16>, %x: memref<?x768xbf16>, %dw: memref<768x768xf32>) {
  lnbwd.product @outer lhs(%dy : memref<?x768xbf16>) rhs(%x : memref<?x768xbf16>) outs(%dw : memref<768x768xf32>)
      attributes {lhs_transposed}
  return
}
