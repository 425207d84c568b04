// RUN: lnbwd-opt %s --split-input-file --lnbwd-select-tiling="chip=sm_90 rows=8192" --lnbwd-convert-products-to-gpu=chip=sm_90 --canonicalize --cse | FileCheck %s

// The module asks for the target that has the instructions. Waves that copy give
// registers to those that multiply.
// CHECK:       gpu.module @{{.*}} attributes {lnbwd.target = "sm_90a"}
// CHECK-LABEL: gpu.func @whole(
// CHECK:         nvvm.mbarrier.init
// CHECK:         gpu.barrier
// CHECK:         nvvm.setmaxregister decrease 40
// Tensor maps of both matrices, from fields that are 0, by an instruction that has
// no operation.
// CHECK:         nvvm.inline_ptx "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [{$r0}], [{$r1}], 128;"
// CHECK:         nvvm.fence.proxy.acquire <gpu>
// CHECK:         nvvm.inline_ptx "tensormap.cp_fenceproxy
// CHECK:         nvvm.fence.proxy.acquire <gpu>
// One copy a matrix and turn: rows of both go along the sum.
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             nvvm.mbarrier.try_wait.parity
// CHECK:             nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2:     nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT:         nvvm.cp.async.bulk.tensor
// CHECK:         nvvm.setmaxregister increase 232
// CHECK:         scf.for
// Nothing may write the sums between the fence and the first product.
// CHECK:           %[[ZEROS:.*]] = llvm.inline_asm has_side_effects "", "=f,=f,{{.*}},0,1,{{.*}}"
// CHECK:           scf.for {{.*}} = %[[ZEROS]])
// CHECK:             nvvm.mbarrier.try_wait.parity
// CHECK:             nvvm.wgmma.fence.aligned
// CHECK-COUNT-4:     nvvm.wgmma.mma_async {{.*}} <m = 64, n = 256, k = 16>{{.*}} <row>], B[{{.*}} <col>]
// CHECK:             nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:             nvvm.mbarrier.arrive
// As many workgroups as compute units, and a tensor map for each of both matrices.
// CHECK:         memref.alloc() : memref<132x64xf32>
// CHECK:         gpu.launch_func @{{.*}} blocks in (%c132, %c1, %c1) threads in (%c384, %c1, %c1)
func.func @f(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<?x4096xf32>) {
  lnbwd.product @whole lhs(%x : memref<?x4096xbf16>) rhs(%w : memref<4096x4096xbf16>) outs(%y : memref<?x4096xf32>)
      attributes {rhs_transposed}
  return
}

// -----

// Both matrices lie across the sum: boxes of 64 columns, which the instruction
// turns around.
// CHECK-LABEL: gpu.func @outer(
// CHECK-COUNT-6: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT:     nvvm.cp.async.bulk.tensor
// CHECK:         nvvm.wgmma.mma_async {{.*}} <col>], B[{{.*}} <row>]
func.func @outer_sum(%dy: memref<?x4096xf16>, %x: memref<?x4096xf16>, %dw: memref<4096x4096xf32>) {
  lnbwd.product @outer lhs(%dy : memref<?x4096xf16>) rhs(%x : memref<?x4096xf16>) outs(%dw : memref<4096x4096xf32>)
      attributes {lhs_transposed}
  return
}
