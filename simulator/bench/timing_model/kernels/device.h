//===- device.h - What the calibration kernels share ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices, barriers and atomics of OpenCL C without a device library. The sizes
// of the launch are read from the hidden arguments, as HIP's compiler does it,
// so that a kernel begins with the same scalar loads.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_BENCH_TIMING_MODEL_DEVICE_H
#define LNBWD_BENCH_TIMING_MODEL_DEVICE_H

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

/// HIP's default: any block of up to 1024 work-items.
#define KERNEL __attribute__((amdgpu_flat_work_group_size(1, 1024))) kernel void

typedef half half2_t __attribute__((ext_vector_type(2)));

static inline uint localX(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline uint localY(void) { return __builtin_amdgcn_workitem_id_y(); }
static inline uint groupX(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline uint groupY(void) { return __builtin_amdgcn_workgroup_id_y(); }
static inline uint sizeX(void) { return __builtin_amdgcn_workgroup_size_x(); }
static inline uint sizeY(void) { return __builtin_amdgcn_workgroup_size_y(); }

/// The number of workgroups, the first of the hidden arguments.
static inline uint groupsX(void) {
  return ((constant const uint *)__builtin_amdgcn_implicitarg_ptr())[0];
}

static inline uint globalX(void) { return groupX() * sizeX() + localX(); }
static inline uint globalY(void) { return groupY() * sizeY() + localY(); }

/// All waves arrive, and see each other's LDS and global memory.
static inline void synchronize(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/// The number of this lane in its wave of 64.
static inline uint laneOfWave(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

#define ATOMIC_ADD(pointer, value)                                             \
  __scoped_atomic_fetch_add(pointer, value, __ATOMIC_RELAXED,                  \
                            __MEMORY_SCOPE_DEVICE)
#define ATOMIC_XOR(pointer, value)                                             \
  __scoped_atomic_fetch_xor(pointer, value, __ATOMIC_RELAXED,                  \
                            __MEMORY_SCOPE_DEVICE)

#endif // LNBWD_BENCH_TIMING_MODEL_DEVICE_H
