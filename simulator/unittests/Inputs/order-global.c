/*===- order-global.c - No order through global memory ------------*- C -*-===*\
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

/* ---- Global memory, between workgroups ---------------------------------- */

PAIR(flag_before_data) {
  if (GROUP == 0) {
    if (fault && ITEM == 0)
      STORE(flags, 1, RELEASE, DEVICE);
    data[ITEM] = ITEM + 1;
    if (!fault && ITEM == 0)
      STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}

PAIR(ticket_before_sums) {
  u32 ticket;
  if (fault)
    ticket = ADD(flags, ITEM == 0, ACQ_REL, DEVICE);
  if (ITEM == 0)
    data[GROUP] = GROUP + 5;
  if (!fault)
    ticket = ADD(flags, ITEM == 0, ACQ_REL, DEVICE);
  if (ITEM == 0 && ticket == GROUPS - 1) {
    u32 sum = 0;
    for (u32 k = 0; k < GROUPS; ++k)
      sum += data[k];
    out[0] = sum;
  }
}

PAIR(second_grid_barrier) {
  data[GROUP * ITEMS + ITEM] = GROUP + ITEM;
  grid_barrier(flags, 1);
  u32 other = data[(GROUP + 1) % GROUPS * ITEMS + ITEM];
  if (!fault)
    grid_barrier(flags, 2);
  data[GROUP * ITEMS + ITEM] = other + 1;
}

PAIR(ticket_without_barrier) {
  data[GROUP * ITEMS + ITEM] = ITEM + 1;
  SHARED static u32 ticket;
  if (!fault)
    barrier();
  if (ITEM == 0)
    ticket = ADD(flags, 1, ACQ_REL, DEVICE);
  barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  if (ticket == GROUPS - 1)
    out[ITEM] = data[ITEM] + data[ITEMS + ITEM] + data[2 * ITEMS + ITEM];
}

PAIR(unlock_too_early) {
  if (ITEM != 0)
    return;
  lock_global(flags);
  data[0] += GROUP + 1;
  if (fault)
    STORE(flags, 0, RELAXED, DEVICE);
  else
    STORE(flags, 0, RELEASE, DEVICE);
}

PAIR(flag_too_early) {
  if (GROUP == 0) {
    data[ITEM] = ITEM + 1;
    if (fault)
      STORE(flags, 1, RELAXED, DEVICE);
    else
      STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}

/* A barrier waits for nothing by itself. */
PAIR(flag_behind_a_barrier_too_early) {
  if (GROUP == 0) {
    data[ITEM] = ITEM + 1;
    __builtin_amdgcn_s_barrier();
    if (ITEM == 0 && fault)
      STORE(flags, 1, RELAXED, DEVICE);
    else if (ITEM == 0)
      STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  if (ITEM < WAVE)
    out[GROUP * ITEMS + ITEM] = data[ITEM];
}

PAIR(zeroed_while_others_add) {
  if (GROUP == 0) {
    data[ITEM] = 0;
    STORE(flags, 1, RELEASE, DEVICE);
  } else if (!fault) {
    WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  }
  ADD(&data[ITEM], 1, RELAXED, DEVICE);
}

PAIR(atomic_behind_own_store) {
  if (!fault)
    ADD(&data[GROUP], ITEM == 0, RELAXED, DEVICE);
  else if (ITEM == 0)
    data[GROUP] = 1;
  ADD(&data[GROUP], 1, RELAXED, DEVICE);
  ADD(&data[(GROUP + 1) % GROUPS], 1, RELAXED, DEVICE);
}

PAIR(volatile_data) {
  if (GROUP == 0) {
    publish(data, flags);
    return;
  }
  if (!fault)
    WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  out[GROUP * ITEMS + ITEM] = *(volatile GLOBAL u32 *)&data[ITEM];
}

PAIR(stale_read) {
  if (GROUP == 0) {
    publish(data, flags);
    return;
  }
  if (fault)
    WAIT_FOR(flags, 1, RELAXED, DEVICE);
  else
    WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}

/* A new version is written beside the old one; its number says where it lies,
   and decides nothing else. Readers take either of the two, without waiting. */
INLINE void write_version(gptr data) {
  gptr version = data + ITEMS;
  version[ITEM] = ITEM + 1;
}
INLINE void read_version(gptr data, u32 number, gptr out) {
  gptr version = data + number * ITEMS;
  out[GROUP * ITEMS + ITEM] = version[ITEM];
}

PAIR(version_without_release) {
  if (GROUP != 0) {
    read_version(data, LOAD(flags, ACQUIRE, DEVICE), out);
    return;
  }
  write_version(data);
  if (fault)
    STORE(flags, 1, RELAXED, DEVICE);
  else
    STORE(flags, 1, RELEASE, DEVICE);
}

PAIR(version_without_acquire) {
  if (GROUP == 0) {
    write_version(data);
    STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  if (fault)
    read_version(data, LOAD(flags, RELAXED, DEVICE), out);
  else
    read_version(data, LOAD(flags, ACQUIRE, DEVICE), out);
}

PAIR(scope_too_narrow) {
  if (GROUP == 0) {
    publish(data, flags);
    return;
  }
  WAIT_FOR(flags, 1, RELAXED, DEVICE);
  if (fault)
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  else
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}

/* Sums that only atomics have made: whoever reads them plainly needs an
   acquire, too. */
PAIR(sums_read_without_acquire) {
  ADD(&data[ITEM], ITEM + 1, RELAXED, DEVICE);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  u32 ticket = ADD(flags, ITEM == 0, RELAXED, DEVICE);
  if (ITEM == 0 && ticket == GROUPS - 1) {
    if (!fault)
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    out[0] = data[0] + data[1];
  }
}

/* Where the bits of a store say that it is atomic. */
PAIR(flag_stored_plainly) {
  if (GROUP == 0) {
    data[ITEM] = ITEM + 1;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    if (fault)
      flags[0] = 1;
    else
      STORE(flags, 1, RELAXED, DEVICE);
    return;
  }
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}
PAIR(flag_overwritten_plainly) {
  if (GROUP == 0) {
    publish(data, flags);
    if (fault)
      flags[0] = 2;
    else
      STORE(flags, 2, RELAXED, DEVICE);
    return;
  }
  while (LOAD(flags, ACQUIRE, DEVICE) < 1)
    __builtin_amdgcn_s_sleep(1);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}
PAIR(lock_opened_plainly) {
  if (ITEM != 0)
    return;
  lock_global(flags);
  data[0] += GROUP + 1;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  if (fault)
    flags[0] = 0;
  else
    STORE(flags, 0, RELAXED, DEVICE);
}

/* Where the bits of an atomic say for whom it is one. */
PAIR(atomics_of_one_workgroup) {
  if (fault)
    ADD(&data[ITEM % 8], 1, RELAXED, WORKGROUP);
  else
    ADD(&data[ITEM % 8], 1, RELAXED, DEVICE);
}

/* A load through the cache of scalar loads, of a place that is the same for
   all, and what empties that cache. */
INLINE u32 scalar_load(gptr p) {
  const unsigned long long at = (unsigned long long)p;
  u32 x;
#if defined(__GFX12__)
  __asm__ volatile(
      "s_load_b32 %0, %1, 0x0\n\ts_wait_kmcnt 0x0"
#elif defined(__GFX11__)
  __asm__ volatile(
      "s_load_b32 %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)"
#else
  __asm__ volatile(
      "s_load_dword %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)"
#endif
      : "=s"(x)
      : "s"((unsigned long long)__builtin_amdgcn_readfirstlane((u32)(at >> 32))
                << 32 |
            (u32)__builtin_amdgcn_readfirstlane((u32)at))
      : "memory");
  return x;
}
INLINE void drop_scalar_cache(void) {
#if defined(__GFX12__)
  __asm__ volatile("s_dcache_inv\n\ts_wait_kmcnt 0x0" ::: "memory");
#else
  __asm__ volatile("s_dcache_inv\n\ts_waitcnt lgkmcnt(0)" ::: "memory");
#endif
}

/* No acquire empties it. */
PAIR(stale_scalar_read) {
  if (GROUP == 0) {
    publish(data, flags);
    return;
  }
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  if (!fault)
    drop_scalar_cache();
  out[GROUP * ITEMS + ITEM] = scalar_load(&data[3]);
}

/* Nor do the workgroup's own stores and barriers. */
PAIR(scalar_read_behind_own_stores) {
  data[GROUP * ITEMS + ITEM] = ITEM;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  barrier();
  if (!fault)
    drop_scalar_cache();
  out[GROUP * ITEMS + ITEM] = scalar_load(&data[GROUP * ITEMS + 5]);
}

PAIR(compare_swap_as_store) {
  if (GROUP == 0) {
    u32 old = 0;
    __scoped_atomic_compare_exchange_n(&data[ITEM], &old, ITEM + 1, 0, RELAXED,
                                       RELAXED, DEVICE);
    return;
  }
  out[GROUP * ITEMS + ITEM] =
      fault ? data[ITEM] : LOAD(&data[ITEM], RELAXED, DEVICE);
}

PAIR(read_beside_atomics) {
  ADD(&data[ITEM % 8], 1, RELAXED, DEVICE);
  out[GROUP * ITEMS + ITEM] =
      fault ? data[ITEM % 8] : LOAD(&data[ITEM % 8], RELAXED, DEVICE);
}

PAIR(chain_of_three) {
  if (GROUP == 0) {
    publish(data, flags);
  } else if (GROUP == 1) {
    if (!fault)
      WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
    STORE(&flags[32], 1, RELEASE, DEVICE);
  } else {
    WAIT_FOR(&flags[32], 1, ACQUIRE, DEVICE);
    out[GROUP * ITEMS + ITEM] = data[ITEM];
  }
}

PAIR(read_before_it_is_overwritten) {
  if (GROUP == 0) {
    out[ITEM] = data[ITEM];
    if (!fault)
      STORE(flags, 1, RELEASE, DEVICE);
  } else {
    if (!fault)
      WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
    data[ITEM] = ITEM + 7;
  }
}

PAIR(flag_polled_too_late) {
  if (GROUP == 0) {
    publish(data, flags);
    return;
  }
  u32 x = 0;
  if (fault)
    x = data[ITEM];
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  if (!fault)
    x = data[ITEM];
  out[GROUP * ITEMS + ITEM] = x;
}

PAIR(two_flags_one_waited) {
  if (GROUP < 2) {
    data[GROUP * ITEMS + ITEM] = ITEM + 1;
    STORE(&flags[GROUP * 32], 1, RELEASE, DEVICE);
    return;
  }
  WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  if (!fault)
    WAIT_FOR(&flags[32], 1, ACQUIRE, DEVICE);
  out[GROUP * ITEMS + ITEM] = data[ITEM] + data[ITEMS + ITEM];
}

PAIR(neighbours_without_order) {
  data[GROUP * ITEMS + ITEM] = GROUP + ITEM;
  if (!fault)
    grid_barrier(flags, 1);
  out[GROUP * ITEMS + ITEM] = data[(GROUP + 1) % GROUPS * ITEMS + ITEM];
}

PAIR(everybody_stores_its_number) {
  if (fault)
    out[ITEM] = GROUP;
  else
    out[ITEM] = 3;
}

PAIR(other_waves_atomics) {
  ADD(&data[ITEM % 16], 1, RELAXED, DEVICE);
  SHARED static u32 ticket;
  if (!fault)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __builtin_amdgcn_s_barrier();
  if (ITEM == 0)
    ticket = ADD(flags, 1, ACQ_REL, DEVICE);
  barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  if (ticket == GROUPS - 1 && ITEM < 16)
    out[ITEM] = data[ITEM];
}

PAIR(one_value_differs) { flags[ITEM % 8] = fault && GROUP == 2 ? 3 : 1; }

/* The sum is read by an atomic load, but others may still be on the way. */
PAIR(other_waves_atomics_read_by_a_load) {
  ADD(data, ITEM + 1, RELAXED, DEVICE);
  if (!fault)
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __builtin_amdgcn_s_barrier();
  if (ITEM == 0 && ADD(flags, 1, ACQ_REL, DEVICE) == GROUPS - 1)
    out[0] = LOAD(data, RELAXED, DEVICE);
}

/* Volatile accesses have the bits of atomic ones, but are two. */
PAIR(volatile_counter) {
  if (ITEM != 0)
    return;
  if (fault)
    *(volatile GLOBAL u32 *)flags = *(volatile GLOBAL u32 *)flags + GROUP;
  else
    ADD(flags, GROUP, RELAXED, DEVICE);
}

/* The same through a pointer that may be to anything, as HIP's are. */
PAIR(volatile_counter_anywhere) {
  u32 *count = (u32 *)flags;
  if (ITEM != 0)
    return;
  if (fault)
    *(volatile u32 *)count = *(volatile u32 *)count + GROUP;
  else
    ADD(count, GROUP, RELAXED, DEVICE);
}

/* ---- Waves of one workgroup, through global memory ---------------------- */

PAIR(waves_through_global) {
  data[ITEM] = ITEM + 1;
  if (!fault)
    barrier();
  out[ITEM] = data[ITEM ^ WAVE];
}

PAIR(waves_overwrite_global) {
  u32 x = data[ITEM ^ WAVE];
  if (!fault)
    barrier();
  data[ITEM] = x + 1;
}

PAIR(wave_flag_in_global) {
  if (MYWAVE == 0) {
    data[ITEM] = ITEM + 1;
    if (!fault)
      STORE(flags, 1, RELEASE, WORKGROUP);
  } else {
    if (!fault)
      WAIT_FOR(flags, 1, ACQUIRE, WORKGROUP);
    out[ITEM] = data[ITEM % WAVE];
  }
}

/* ---- Lanes of one wave -------------------------------------------------- */

PAIR(lanes_count) {
  if (fault)
    data[ITEM % 8]++;
  else
    ADD(&data[ITEM % 8], 1, RELAXED, DEVICE);
}

SHARED static u32 bins[64];
PAIR(lanes_count_in_lds) {
  bins[ITEM % 64] = 0;
  barrier();
  if (fault)
    bins[ITEM / 4]++;
  else
    ADD(&bins[ITEM / 4], 1, RELAXED, WORKGROUP);
  barrier();
  out[ITEM] = bins[ITEM % 64];
}

PAIR(lanes_store_different_values) { out[ITEM / 2] = fault ? ITEM : 3; }
