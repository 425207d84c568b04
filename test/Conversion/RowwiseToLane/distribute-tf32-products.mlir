// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=gfx942 | FileCheck %s --check-prefix=MFMA
// RUN: lnbwd-opt %s --lnbwd-gpu-pipeline=chip=sm_80 | FileCheck %s --check-prefix=CUDA
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=isa | FileCheck %s --check-prefix=ISA
// RUN: lnbwd-opt %s --lnbwd-pipeline=chip=sm_80 --emit=ptx | FileCheck %s --check-prefix=PTX

// The instruction rounds.
// MFMA-LABEL: gpu.func @f(
// MFMA-SAME:    product = <sum = 4096, step = 32, parts = 1, multiplied = tf32>
// MFMA:         amdgpu.mfma 16x16x8 {{.*}}reducePrecision{{.*}} : vector<2xf32>, vector<2xf32>, vector<4xf32>
// ISA: v_mfma_f32_16x16x8_xf32
// ISA: .vgpr_spill_count: 0

// It takes what was rounded.
// CUDA-LABEL: gpu.func @f(
// CUDA:         vector.load %{{.*}} : memref<2048xf32, {{.*}}>, vector<4xf32>
// CUDA:         nvvm.convert.float.to.tf32 %{{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// CUDA:         nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>
// PTX: ld.shared.v4.b32
// PTX: cvt.rna.tf32.f32
// PTX: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
func.func @f(%x: memref<?x4096xf32>, %w: memref<4096x4096xf32>, %y: memref<?x4096xf32>) {
  lnbwd.product @f lhs(%x : memref<?x4096xf32>) rhs(%w : memref<4096x4096xf32>) outs(%y : memref<?x4096xf32>)
      attributes {rhs_transposed, precision = #lnbwd.precision<tf32>}
  return
}
