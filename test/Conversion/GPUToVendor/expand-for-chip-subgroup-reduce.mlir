// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx90a --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,GFX9
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx950 --lnbwd-expand-for-chip | FileCheck %s --check-prefix=CHECK
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1100 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,RDNA
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx1201 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,RDNA
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_80 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,NVIDIA
// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=sm_90 --lnbwd-expand-for-chip | FileCheck %s --check-prefixes=CHECK,NVIDIA

// A whole wave: DPP moves on AMD, one shuffle a halving on NVIDIA.
// CHECK-LABEL:    gpu.func @wave(
// CHECK-NOT:        gpu.subgroup_reduce
// GFX9-COUNT-4:     amdgpu.dpp %{{.*}} {{quad_perm|row_shr|row_half_mirror|row_mirror}}
// GFX9:             amdgpu.dpp %{{.*}} row_bcast_15(unit) {bound_ctrl = true}
// GFX9:             amdgpu.dpp %{{.*}} row_bcast_31
// GFX9:             rocdl.readlane
// RDNA:             amdgpu.dpp
// RDNA:             rocdl.permlanex16
// NVIDIA-COUNT-5:   gpu.shuffle xor
// NVIDIA-NOT:       gpu.shuffle
// CHECK:            gpu.return
gpu.module @kernels {
  gpu.func @wave(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %s = gpu.subgroup_reduce add %v : (f32) -> f32
    memref.store %s, %out[%c0] : memref<1xf32>
    gpu.return
  }
}

// A part of a wave: as many halvings as its lanes have.
// CHECK-LABEL:    gpu.func @cluster(
// CHECK-NOT:        gpu.subgroup_reduce
// GFX9-COUNT-3:     amdgpu.dpp
// GFX9-NOT:         amdgpu.dpp
// NVIDIA-COUNT-3:   gpu.shuffle xor
// NVIDIA-NOT:       gpu.shuffle
// CHECK:            gpu.return
gpu.module @clusters {
  gpu.func @cluster(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %s = gpu.subgroup_reduce add %v cluster(size = 8) : (f32) -> f32
    memref.store %s, %out[%c0] : memref<1xf32>
    gpu.return
  }
}

// Half a wave: what its last lane has is read, which the move to all rows of 16 lanes does not change.
// CHECK-LABEL:    gpu.func @half(
// CHECK-NOT:        gpu.subgroup_reduce
// GFX9:             amdgpu.dpp %{{.*}} row_bcast_15(unit) {bound_ctrl = true}
// GFX9:             amdgpu.swizzle_bitmode %{{.*}} 0 31 0
// CHECK:            gpu.return
gpu.module @halves {
  gpu.func @half(%out: memref<1xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %s = gpu.subgroup_reduce maximumf %v cluster(size = 32) : (f32) -> f32
    memref.store %s, %out[%c0] : memref<1xf32>
    gpu.return
  }
}
