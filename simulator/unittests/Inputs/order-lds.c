/*===- order-lds.c - No order in LDS ------------------------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Kernels with a fault, and twins without.
|*
\*===----------------------------------------------------------------------===*/

#include "order.h"

/* ---- LDS ---------------------------------------------------------------- */

PAIR(lds_no_barrier) {
  tile[ITEM] = ITEM;
  if (!fault)
    barrier();
  out[ITEM] = tile[ITEMS - 1 - ITEM];
}

/* As HIP has it: the pointer is a generic one, and volatile. */
PAIR(lds_volatile_tree) {
  volatile u32 *sums = (u32 *)tile;
  sums[ITEM] = ITEM;
  barrier();
  for (u32 step = ITEMS / 2; step > 0; step /= 2) {
    if (ITEM < step)
      sums[ITEM] = sums[ITEM] + sums[ITEM + step];
    if (!fault)
      barrier();
  }
  if (ITEM == 0)
    out[0] = sums[0];
}

PAIR(lds_overwritten_too_early) {
  for (u32 k = 0; k < 3; ++k) {
    tile[ITEM] = ITEM + k;
    barrier();
    out[k * ITEMS + ITEM] = tile[ITEMS - 1 - ITEM];
    if (!fault)
      barrier();
  }
}

PAIR(lds_store_under_way) {
  tile[ITEM] = ITEM;
  if (!fault)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[ITEM] = tile[ITEMS - 1 - ITEM];
}

PAIR(lds_zeroed_while_others_add) {
  if (ITEM < 64)
    tile[ITEM] = 0;
  if (!fault)
    barrier();
  ADD(&tile[ITEM % 64], 1, RELAXED, WORKGROUP);
  barrier();
  out[ITEM] = tile[ITEM % 64];
}

PAIR(lds_atomic_behind_own_store) {
  /* Each wave zeroes a part, adds to it itself, and then to the next one. */
  tile[ITEM] = 0;
  ADD(&tile[ITEM], 1, RELAXED, WORKGROUP);
  if (!fault)
    barrier();
  ADD(&tile[(ITEM + WAVE) % ITEMS], 1, RELAXED, WORKGROUP);
  barrier();
  out[ITEM] = tile[ITEM];
}

PAIR(lds_flag_before_data) {
  zero_lds_flags(1);
  if (MYWAVE == 0) {
    if (fault)
      STORE(&tile2[0], 1, RELEASE, WORKGROUP);
    tile[ITEM] = ITEM + 1;
    if (!fault)
      STORE(&tile2[0], 1, RELEASE, WORKGROUP);
  } else {
    WAIT_FOR(&tile2[0], 1, ACQUIRE, WORKGROUP);
    out[ITEM] = tile[ITEM % WAVE];
  }
}

PAIR(lds_sum_read_too_early) {
  zero_lds_flags(1);
  ADD(&tile2[0], 1, RELAXED, WORKGROUP);
  if (!fault)
    barrier();
  out[ITEM] = tile2[0];
}

PAIR(lds_sort_step) {
  /* The values decide where the waves go; that makes no order. */
  tile[ITEM] = ITEM * 7 % 64;
  if (!fault)
    barrier();
  u32 x = tile[ITEM], y = tile[ITEM ^ WAVE];
  barrier();
  if (x > y)
    tile[ITEM] = y;
  barrier();
  out[ITEM] = tile[ITEM];
}

PAIR(lds_global_data_behind_lds_flag) {
  zero_lds_flags(1);
  if (MYWAVE == 0) {
    if (fault)
      STORE(&tile2[0], 1, RELEASE, WORKGROUP);
    data[ITEM] = ITEM + 1;
    if (!fault)
      STORE(&tile2[0], 1, RELEASE, WORKGROUP);
  } else {
    WAIT_FOR(&tile2[0], 1, ACQUIRE, WORKGROUP);
    out[ITEM] = data[ITEM % WAVE];
  }
}

/* The producer does not look whether its last value has been taken. */
PAIR(lds_ring_overrun) {
  zero_lds_flags(2);
  for (u32 k = 1; k <= 4; ++k)
    if (MYWAVE == 0) {
      if (!fault)
        WAIT_FOR(&tile2[1], k - 1, ACQUIRE, WORKGROUP);
      tile[ITEM] = ITEM + k;
      STORE(&tile2[0], k, RELEASE, WORKGROUP);
    } else if (MYWAVE == 1) {
      while (LOAD(&tile2[0], ACQUIRE, WORKGROUP) < k)
        __builtin_amdgcn_s_sleep(1);
      out[k * WAVE + ITEM % WAVE] = tile[ITEM % WAVE];
      STORE(&tile2[1], k, RELEASE, WORKGROUP);
    }
}

/* Waves that have ended hold up no barrier; what they have left behind is of
   an earlier round. */
PAIR(barriers_passed_less_often) {
  const u32 rounds = fault ? MYWAVE + 2 : 3;
  u32 sum = 0;
  for (u32 k = 0; k < rounds; ++k) {
    tile[ITEM] = ITEM + k;
    barrier();
    sum += tile[ITEMS - 1 - ITEM];
    barrier();
  }
  out[ITEM] = sum;
}

PAIR(barrier_missed) {
  tile[ITEM] = ITEM;
  if (!fault || MYWAVE != 1)
    barrier();
  out[ITEM] = tile[ITEMS - 1 - ITEM];
}
