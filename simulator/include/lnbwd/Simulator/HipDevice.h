//===- HipDevice.h - HIP programs without ROCm's libraries ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included in front of a HIP program (-include), for a clang and HIP headers
// that are not of one age, and without ROCm's device library (-nogpulib): the
// functions of that library which HIP's own header calls. Of the library's
// mathematics there is only what clang has no built-in function for and is
// short. The linker names what is missing.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_SIMULATOR_HIPDEVICE_H
#define LNBWD_SIMULATOR_HIPDEVICE_H

// HIP's header makes its constant warpSize of this, which clang 22 has no more.
#ifndef __AMDGCN_WAVEFRONT_SIZE
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif

#ifdef __HIP_DEVICE_COMPILE__
#define LNBWD_DEVICE extern "C" __device__ inline __attribute__((always_inline))
#define LNBWD_CONST LNBWD_DEVICE __attribute__((const))

#define LNBWD_BY_DIMENSION(NAME, X, Y, Z)                                      \
  LNBWD_CONST __SIZE_TYPE__ NAME(unsigned Dimension) {                         \
    return Dimension == 0 ? X : Dimension == 1 ? Y : Z;                        \
  }
LNBWD_BY_DIMENSION(__ockl_get_local_id, __builtin_amdgcn_workitem_id_x(),
                   __builtin_amdgcn_workitem_id_y(),
                   __builtin_amdgcn_workitem_id_z())
LNBWD_BY_DIMENSION(__ockl_get_group_id, __builtin_amdgcn_workgroup_id_x(),
                   __builtin_amdgcn_workgroup_id_y(),
                   __builtin_amdgcn_workgroup_id_z())
LNBWD_BY_DIMENSION(__ockl_get_local_size, __builtin_amdgcn_workgroup_size_x(),
                   __builtin_amdgcn_workgroup_size_y(),
                   __builtin_amdgcn_workgroup_size_z())
LNBWD_BY_DIMENSION(__ockl_get_global_size, __builtin_amdgcn_grid_size_x(),
                   __builtin_amdgcn_grid_size_y(),
                   __builtin_amdgcn_grid_size_z())
#undef LNBWD_BY_DIMENSION
// HIP's grids are whole workgroups.
LNBWD_CONST __SIZE_TYPE__ __ockl_get_num_groups(unsigned Dimension) {
  return __ockl_get_global_size(Dimension) / __ockl_get_local_size(Dimension);
}

LNBWD_CONST unsigned __ockl_lane_u32() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
// What all active lanes compare: equal 32, not equal 33.
LNBWD_CONST bool __ockl_wfany_i32(int X) {
  return __builtin_amdgcn_uicmp(unsigned(X), 0u, 33) != 0;
}
LNBWD_CONST bool __ockl_wfall_i32(int X) {
  return __builtin_amdgcn_uicmp(unsigned(X), 0u, 32) == 0;
}
LNBWD_DEVICE void __ockl_atomic_add_noret_f32(float *Place, float X) {
  __hip_atomic_fetch_add(Place, X, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

LNBWD_CONST unsigned __ockl_clz_u32(unsigned X) {
  return X ? __builtin_clz(X) : 32;
}
LNBWD_CONST __UINT64_TYPE__ __ockl_clz_u64(__UINT64_TYPE__ X) {
  return X ? __builtin_clzll(X) : 64;
}
LNBWD_CONST int __ockl_mul_hi_i32(int X, int Y) {
  return int((long long)X * Y >> 32);
}
LNBWD_CONST unsigned __ockl_mul_hi_u32(unsigned X, unsigned Y) {
  return unsigned((unsigned long long)X * Y >> 32);
}
LNBWD_CONST int __ockl_mul24_i32(int X, int Y) {
  return int(unsigned(X) << 8) / 256 * (int(unsigned(Y) << 8) / 256);
}
LNBWD_CONST unsigned __ockl_mul24_u32(unsigned X, unsigned Y) {
  return (X & 0xffffff) * (Y & 0xffffff);
}

#define LNBWD_ROUNDING(NAME)                                                   \
  LNBWD_CONST float __ocml_##NAME##_f32(float X) {                             \
    return __builtin_##NAME##f(X);                                             \
  }                                                                            \
  LNBWD_CONST double __ocml_##NAME##_f64(double X) {                           \
    return __builtin_##NAME(X);                                                \
  }
LNBWD_ROUNDING(floor)
LNBWD_ROUNDING(ceil)
LNBWD_ROUNDING(trunc)
LNBWD_ROUNDING(rint)
#undef LNBWD_ROUNDING
LNBWD_DEVICE __attribute__((pure)) float __ocml_rsqrt_f32(float X) {
  return 1.0f / __builtin_sqrtf(X);
}

// HIP's header declares it with types that there are not yet: memory that is
// meant (all of it is), order and scope, as OpenCL numbers them.
extern "C" __device__ __attribute__((used, always_inline)) inline void
lnbwdFence(unsigned, unsigned Order,
           unsigned Scope) __asm__("__atomic_work_item_fence");
extern "C" __device__ inline void lnbwdFence(unsigned, unsigned Order,
                                             unsigned Scope) {
#define LNBWD_FENCE(SCOPE)                                                     \
  Order == __ATOMIC_ACQUIRE ? __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, SCOPE)  \
  : Order == __ATOMIC_RELEASE                                                  \
      ? __builtin_amdgcn_fence(__ATOMIC_RELEASE, SCOPE)                        \
  : Order == __ATOMIC_ACQ_REL                                                  \
      ? __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, SCOPE)                        \
      : __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, SCOPE)
  if (Scope == __OPENCL_MEMORY_SCOPE_WORK_GROUP)
    LNBWD_FENCE("workgroup");
  else if (Scope == __OPENCL_MEMORY_SCOPE_DEVICE)
    LNBWD_FENCE("agent");
  else if (Scope == __OPENCL_MEMORY_SCOPE_SUB_GROUP)
    LNBWD_FENCE("wavefront");
  else
    LNBWD_FENCE("");
#undef LNBWD_FENCE
}

// assert and printf: the simulator says that they are not simulated where a
// kernel reaches for the buffer of the host's answers, argument 10 of the
// hidden ones. Clang calls those of printf where none of its input does.
#define LNBWD_PRINTS(NAME, ...)                                                \
  LNBWD_DEVICE __attribute__((used)) __UINT64_TYPE__ NAME##_begin(             \
      __VA_ARGS__) {                                                           \
    auto *Hidden =                                                             \
        (unsigned long long volatile **)__builtin_amdgcn_implicitarg_ptr();    \
    return *Hidden[10] = 1;                                                    \
  }
LNBWD_PRINTS(__ockl_fprintf_stderr)
LNBWD_PRINTS(__ockl_printf, __UINT64_TYPE__)
#undef LNBWD_PRINTS
#define LNBWD_PRINTS(NAME)                                                     \
  LNBWD_DEVICE __attribute__((used)) __UINT64_TYPE__ NAME##_append_string_n(   \
      __UINT64_TYPE__ Message, const char *, __UINT64_TYPE__, unsigned) {      \
    return Message;                                                            \
  }                                                                            \
  LNBWD_DEVICE __attribute__((used)) __UINT64_TYPE__ NAME##_append_args(       \
      __UINT64_TYPE__ Message, unsigned, __UINT64_TYPE__, __UINT64_TYPE__,     \
      __UINT64_TYPE__, __UINT64_TYPE__, __UINT64_TYPE__, __UINT64_TYPE__,      \
      __UINT64_TYPE__, unsigned) {                                             \
    return Message;                                                            \
  }
LNBWD_PRINTS(__ockl_fprintf)
LNBWD_PRINTS(__ockl_printf)
#undef LNBWD_PRINTS

#undef LNBWD_CONST
#undef LNBWD_DEVICE
#endif
#endif // LNBWD_SIMULATOR_HIPDEVICE_H
