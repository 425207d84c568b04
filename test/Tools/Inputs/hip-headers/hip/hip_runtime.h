//===- hip_runtime.h - As much of HIP's header as the programs need *- C++
//-*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HIP's own header needs the device libraries of ROCm. The functions of the
// host are those of HIP's API header; of the device's there is what the
// programs beside here use.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TEST_TOOLS_INPUTS_HIP_RUNTIME_H
#define LNBWD_TEST_TOOLS_INPUTS_HIP_RUNTIME_H

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

#define LNBWD_BUILTIN(TYPE, X, Y, Z)                                           \
  struct TYPE {                                                                \
    __declspec(property(get = getX)) unsigned x;                               \
    __declspec(property(get = getY)) unsigned y;                               \
    __declspec(property(get = getZ)) unsigned z;                               \
    static __device__ unsigned getX() { return X; }                            \
    static __device__ unsigned getY() { return Y; }                            \
    static __device__ unsigned getZ() { return Z; }                            \
  }
LNBWD_BUILTIN(ThreadIndex, __builtin_amdgcn_workitem_id_x(),
              __builtin_amdgcn_workitem_id_y(),
              __builtin_amdgcn_workitem_id_z());
LNBWD_BUILTIN(BlockIndex, __builtin_amdgcn_workgroup_id_x(),
              __builtin_amdgcn_workgroup_id_y(),
              __builtin_amdgcn_workgroup_id_z());
LNBWD_BUILTIN(BlockSize, __builtin_amdgcn_workgroup_size_x(),
              __builtin_amdgcn_workgroup_size_y(),
              __builtin_amdgcn_workgroup_size_z());
LNBWD_BUILTIN(
    GridSize,
    __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
    __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
    __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z());
extern const __device__ __attribute__((weak)) ThreadIndex threadIdx;
extern const __device__ __attribute__((weak)) BlockIndex blockIdx;
extern const __device__ __attribute__((weak)) BlockSize blockDim;
extern const __device__ __attribute__((weak)) GridSize gridDim;

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
template <typename T> static inline __device__ T atomicAdd(T *Place, T Value) {
  return __hip_atomic_fetch_add(Place, Value, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}

#endif // LNBWD_TEST_TOOLS_INPUTS_HIP_RUNTIME_H
