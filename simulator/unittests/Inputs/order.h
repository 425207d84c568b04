/*===- order.h - What the kernels of order share ------------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* LDS for all, and a barrier of all workgroups. data, flags and out are all
|* zeros before the launch. CheckerOrderTest says with how many workgroups and
|* waves each kernel runs.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LNBWD_UNITTESTS_SIMULATOR_INPUTS_ORDER_H
#define LNBWD_UNITTESTS_SIMULATOR_INPUTS_ORDER_H

#include "pairs.h"

SHARED static u32 tile[1024];
SHARED static u32 tile2[64];

/* What most of them begin with: data and a flag that says so; a lock; flags in
   LDS. The scopes stand here, so that code without optimisation has them, too.
 */
INLINE void publish(gptr data, gptr flag) {
  data[ITEM] = ITEM + 1;
  STORE(flag, 1, RELEASE, DEVICE);
}
INLINE void lock_global(gptr lock) {
  u32 open = 0;
  while (!__scoped_atomic_compare_exchange_n(lock, &open, 1, 0, ACQUIRE,
                                             RELAXED, DEVICE))
    open = 0;
}
INLINE void lock_lds(lptr lock) {
  u32 open = 0;
  while (!__scoped_atomic_compare_exchange_n(lock, &open, 1, 0, ACQUIRE,
                                             RELAXED, WORKGROUP))
    open = 0;
}
INLINE void zero_lds_flags(u32 count) {
  if (ITEM < count)
    tile2[ITEM] = 0;
  barrier();
}

/* The n-th barrier of all workgroups: arrive, then poll. */
INLINE void grid_barrier(gptr count, u32 n) {
  barrier();
  if (ITEM == 0) {
    ADD(count, 1, RELEASE, DEVICE);
    while (LOAD(count, ACQUIRE, DEVICE) < n * GROUPS)
      __builtin_amdgcn_s_sleep(1);
  }
  barrier();
}

#endif // LNBWD_UNITTESTS_SIMULATOR_INPUTS_ORDER_H
