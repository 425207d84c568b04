// RUN: lnbwd-opt %s --split-input-file --lnbwd-gpu-pipeline=chip=gfx942 | FileCheck %s
// RUN: lnbwd-opt %s --split-input-file --lnbwd-gpu-pipeline=chip=gfx950 | FileCheck %s --check-prefix=WIDE
// RUN: lnbwd-opt %s --split-input-file --lnbwd-gpu-pipeline=chip=gfx1100 | FileCheck %s --check-prefix=WMMA
// RUN: lnbwd-opt %s --split-input-file --lnbwd-gpu-pipeline=chip=gfx1201 | FileCheck %s --check-prefix=HALF
// RUN: lnbwd-opt %s --split-input-file --lnbwd-gpu-pipeline=chip=gfx1250 | FileCheck %s --check-prefix=DEEP
// RUN: lnbwd-opt %s --split-input-file --lnbwd-gpu-pipeline=chip=sm_80 | FileCheck %s --check-prefix=CUDA

// All is loaded before the workgroup waits. Of whole tiles nothing is masked.
// CHECK-LABEL: gpu.func @whole(
// CHECK-SAME:    workgroup(%[[A:.*]] : memref<4096xbf16, #gpu.address_space<workgroup>> {{.*}}, %[[B:.*]] : memref<4096xbf16
// CHECK:         scf.for
// CHECK-NOT:       arith.select
// CHECK-COUNT-4:   vector.load %{{.*}} {alignment = 16 : i64} : memref<{{.*}}global
// CHECK:           amdgpu.lds_barrier
// CHECK-COUNT-2:   vector.store %{{.*}}, %[[A]][%{{.*}}] {alignment = 16 : i64}
// CHECK-COUNT-2:   vector.store %{{.*}}, %[[B]][%{{.*}}] {alignment = 16 : i64}
// CHECK-NEXT:      amdgpu.lds_barrier
// CHECK-COUNT-4:   vector.load %{{.*}} {alignment = 16 : i64} : memref<4096xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK-COUNT-16:  amdgpu.mfma 16x16x16
// CHECK:           scf.yield
// A lane has four neighbours of a row of the result.
// CHECK:         scf.if
// CHECK-NEXT:      vector.store %{{.*}} : memref<?x4096xf32, {{.*}}>, vector<4xf32>

// WIDE-COUNT-8: amdgpu.mfma 16x16x32
// WIDE:        scf.yield
// WMMA:        amdgpu.wmma 16x16x16 {{.*}} : vector<16xbf16>, vector<16xbf16>, vector<8xf32>
// Rows of the result two apart, of which each element is stored alone.
// WMMA:        vector.store %{{.*}} : memref<?x4096xf32, {{.*}}>, vector<1xf32>
// HALF:        amdgpu.wmma 16x16x16 {{.*}} : vector<8xbf16>, vector<8xbf16>, vector<8xf32>
// HALF:        vector.store %{{.*}} : memref<?x4096xf32, {{.*}}>, vector<4xf32>
// DEEP:        amdgpu.wmma 16x16x32 {{.*}} : vector<16xbf16>, vector<16xbf16>, vector<8xf32>
// DEEP:        vector.store %{{.*}} : memref<?x4096xf32, {{.*}}>, vector<4xf32>
// CUDA:        gpu.barrier
// CUDA:        vector.load %{{.*}} : memref<4096xbf16, {{.*}}>, vector<8xbf16>
// CUDA:        nvvm.mma.sync A[{{.*}}] B[{{.*}}] C[{{.*}}] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>
func.func @f(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<?x4096xf32>) {
  lnbwd.rowwise @whole domain(m | n0, n1) ins(%x[m, n0] : memref<?x4096xbf16>, %w[n1, n0] : memref<4096x4096xbf16>)
      outs(%y[m, n1] : memref<?x4096xf32>) {
  ^row(%xr: vector<4096xbf16>, %wm: vector<4096x4096xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<4096xbf16>, vector<4096x4096xbf16>
    lnbwd.yield %p : vector<4096xf32>
  }
  return
}

// -----

// A sum over the rows: elements are transposed in flight, what lies beyond
// the last row is 0, and parts of the sum are added after.
// CHECK-LABEL: gpu.func @outer(
// CHECK:         scf.for
// CHECK:           arith.select {{.*}} : vector<2xbf16>
// CHECK:           vector.from_elements
// CHECK-LABEL: gpu.func @outer_finalize(
// CHECK:         arith.addf
// CHECK:         vector.store
// CHECK-LABEL: func.func @outer_sum
// CHECK:         %[[PARTS:.*]] = memref.alloc() : memref<8x768x768xf32>
// CHECK:         gpu.launch_func @outer_sum_kernels::@outer blocks in (%c12, %c12, %c8)
// CHECK:         gpu.launch_func @outer_sum_kernels::@outer_finalize blocks in (%c1, %c576,
// CHECK:         memref.dealloc %[[PARTS]]
func.func @outer_sum(%dy: memref<?x768xbf16>, %x: memref<?x768xbf16>, %dw: memref<768x768xf32>) {
  lnbwd.rowwise @outer domain(m | n0, n1) ins(%dy[m, n0] : memref<?x768xbf16>, %x[m, n1] : memref<?x768xbf16>)
      outs(%dw[n0, n1] add : memref<768x768xf32>) {
  ^row(%dyr: vector<768xbf16>, %xr: vector<768xbf16>):
    %dyrw = arith.extf %dyr : vector<768xbf16> to vector<768xf32>
    %xrw = arith.extf %xr : vector<768xbf16> to vector<768xf32>
    %p = vector.outerproduct %dyrw, %xrw : vector<768xf32>, vector<768xf32>
    lnbwd.yield %p : vector<768x768xf32>
  }
  return
}
