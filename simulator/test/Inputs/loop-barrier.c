/*===- loop-barrier.c - A store under way at a barrier -----------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The kernel has no fault: both barriers have their fences. LLVM 22.1.8 drops
|* the first one's wait for gfx90a, gfx942, gfx950, gfx1030 and gfx1100.
|* loop-barrier.s is what it makes for gfx942.
|*
\*===----------------------------------------------------------------------===*/

#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
typedef unsigned u32;

SHARED static u32 tile[256];

static inline __attribute__((always_inline)) void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__attribute__((amdgpu_kernel)) void rotate(GLOBAL u32 *out, u32 n) {
  u32 item = __builtin_amdgcn_workitem_id_x(), x = item;
  tile[item] = x;
  for (u32 k = 0; k < n; ++k) {
    barrier(); /* for the store above and for the one at the end of the loop */
    x = tile[(item + 64) % 256];
    barrier();
    tile[item] = x + 1;
  }
  out[item] = x;
}
