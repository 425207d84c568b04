/*===- pairs.h - Kernels with a fault, and their twins without ----*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* PAIR(name) is a kernel without a fault, name_clean, and one with it,
|* name_fault, where `fault` is 1. ALONE(name) is one that only looks as if it
|* had one. scripts/fault_kernels.py counts them by the headings between them.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LNBWD_UNITTESTS_SIMULATOR_INPUTS_PAIRS_H
#define LNBWD_UNITTESTS_SIMULATOR_INPUTS_PAIRS_H

typedef unsigned u32;
#define GLOBAL __attribute__((address_space(1)))
#define LOCAL __attribute__((address_space(3)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define INLINE static inline __attribute__((always_inline))
typedef GLOBAL u32 *gptr;
typedef LOCAL u32 *lptr;

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define GROUPS                                                                 \
  (__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x())
#define ITEMS __builtin_amdgcn_workgroup_size_x()
#define WAVE __builtin_amdgcn_wavefrontsize()
#define MYWAVE __builtin_amdgcn_readfirstlane(ITEM / WAVE)

#define ARGUMENTS gptr data, gptr flags, gptr out
#define PAIR(NAME)                                                             \
  INLINE void NAME(ARGUMENTS, int fault);                                      \
  __attribute__((amdgpu_kernel)) void NAME##_fault(ARGUMENTS) {                \
    NAME(data, flags, out, 1);                                                 \
  }                                                                            \
  __attribute__((amdgpu_kernel)) void NAME##_clean(ARGUMENTS) {                \
    NAME(data, flags, out, 0);                                                 \
  }                                                                            \
  INLINE void NAME(ARGUMENTS, int fault)
#define ALONE(NAME) __attribute__((amdgpu_kernel)) void NAME(ARGUMENTS)

#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define ACQ_REL __ATOMIC_ACQ_REL
#define DEVICE __MEMORY_SCOPE_DEVICE
#define WORKGROUP __MEMORY_SCOPE_WRKGRP
#define LOAD(P, ORDER, SCOPE) __scoped_atomic_load_n(P, ORDER, SCOPE)
#define STORE(P, X, ORDER, SCOPE) __scoped_atomic_store_n(P, X, ORDER, SCOPE)
#define ADD(P, X, ORDER, SCOPE) __scoped_atomic_fetch_add(P, X, ORDER, SCOPE)
#define WAIT_FOR(P, X, ORDER, SCOPE)                                           \
  while (LOAD(P, ORDER, SCOPE) != (X))                                         \
  __builtin_amdgcn_s_sleep(1)

INLINE void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif // LNBWD_UNITTESTS_SIMULATOR_INPUTS_PAIRS_H
