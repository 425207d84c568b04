/*===- order-tricky.c - An order that is hard to see --------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Kernels without a fault.
|*
\*===----------------------------------------------------------------------===*/

#include "order.h"

/* ---- Without a fault ---------------------------------------------------- */

ALONE(sense_reversing_barrier) {
  u32 sense = 0;
  for (u32 k = 0; k < 3; ++k) {
    data[GROUP * ITEMS + ITEM] = k + ITEM;
    barrier();
    sense = !sense;
    if (ITEM == 0) {
      if (ADD(flags, 1, ACQ_REL, DEVICE) == GROUPS - 1) {
        STORE(flags, 0, RELAXED, DEVICE);
        STORE(&flags[32], sense, RELEASE, DEVICE);
      } else {
        WAIT_FOR(&flags[32], sense, ACQUIRE, DEVICE);
      }
    }
    barrier();
    u32 x = data[(GROUP + 1) % GROUPS * ITEMS + ITEM];
    grid_barrier(&flags[64], k + 1);
    out[GROUP * ITEMS + ITEM] = x;
  }
}

/* Twice only: nearly all of its instructions poll, and the one above has more
   rounds. */
ALONE(many_arrive) {
  data[GROUP * ITEMS + ITEM] = ITEM;
  grid_barrier(flags, 1);
  out[GROUP * ITEMS + ITEM] = data[(GROUP + 1) % GROUPS * ITEMS + ITEM];
  grid_barrier(flags, 2);
  data[GROUP * ITEMS + ITEM] = 0;
}

SHARED static double doubles[8];
ALONE(lds_add_of_doubles) {
  if (ITEM < 8)
    doubles[ITEM] = 0;
  barrier();
  __scoped_atomic_fetch_add(&doubles[ITEM % 8], 1.0, RELAXED, WORKGROUP);
  barrier();
  out[ITEM] = (u32)doubles[ITEM % 8];
}

ALONE(global_add_of_floats) {
  __scoped_atomic_fetch_add((GLOBAL float *)&data[ITEM % 8], 1.0f, RELAXED,
                            DEVICE);
  __scoped_atomic_fetch_add((GLOBAL double *)&data[32 + ITEM % 8 * 2], 1.0,
                            RELAXED, DEVICE);
}

struct __attribute__((packed)) odd {
  unsigned char a;
  u32 b;
  unsigned short c;
};
SHARED static struct odd packed[256];
ALONE(packed_in_lds) {
  packed[ITEM].a = (unsigned char)ITEM;
  packed[ITEM].b = ITEM * 3;
  packed[ITEM].c = (unsigned short)(ITEM + 1);
  out[ITEM] = packed[ITEM].a + packed[ITEM].b + packed[ITEM].c;
}
ALONE(bytes_in_global) {
  ((GLOBAL unsigned char *)out)[GROUP * ITEMS + ITEM] = (unsigned char)GROUP;
}
struct __attribute__((packed)) odd_global {
  unsigned char a;
  u32 b;
};
ALONE(packed_in_global) {
  GLOBAL struct odd_global *p = (GLOBAL struct odd_global *)out;
  p[GROUP * ITEMS + ITEM].b = GROUP;
  p[GROUP * ITEMS + ITEM].a = 1;
}

ALONE(same_value) {
  flags[0] = 1;
  if (GROUP % 2)
    data[ITEM] = 5;
  else
    data[ITEM] = 2 + 3;
}
ALONE(same_values_by_many) {
  /* In turns whole rows and single elements, in opposite directions. */
  typedef u32 u32x4 __attribute__((ext_vector_type(4)));
  for (u32 k = 0; k < 8; ++k) {
    u32 row = GROUP % 2 ? k : 7 - k;
    if ((GROUP + k) % 4 < 2)
      ((GLOBAL u32x4 *)data)[row * 64 + ITEM] = (u32x4)(row + 1);
    else
      for (u32 n = 0; n < 4; ++n)
        data[row * 256 + ITEM * 4 + n] = row + 1;
  }
}
ALONE(same_value_read_back) {
  /* One wave reads what another of its workgroup has stored, and other
     workgroups with it. */
  if (MYWAVE == 0)
    flags[ITEM % 4] = 1;
  barrier();
  if (MYWAVE == 1)
    out[GROUP * WAVE + ITEM % WAVE] = flags[ITEM % 4];
}
ALONE(same_value_in_lds) {
  tile[ITEM % 32] = 9;
  barrier();
  out[ITEM] = tile[ITEM % 32];
}

ALONE(waves_leave) {
  if (MYWAVE == 1)
    return;
  tile[ITEM] = ITEM;
  barrier();
  out[ITEM] = tile[ITEM ^ 1];
}
ALONE(waves_leave_behind_a_barrier) {
  tile[ITEM] = ITEM;
  barrier();
  if (MYWAVE >= 1)
    return;
  u32 sum = tile[ITEM] + tile[ITEM + WAVE];
  barrier();
  tile[ITEM] = sum;
  barrier();
  out[ITEM] = tile[WAVE - 1 - ITEM];
}
ALONE(waves_leave_with_their_results) {
  tile[ITEM] = ITEM;
  barrier();
  if (MYWAVE >= 1) {
    out[ITEM] = tile[ITEM ^ 1];
    return;
  }
  barrier();
  out[ITEM] = tile[ITEM] + tile[ITEM + WAVE];
}
/* Some waves have one row less, and pass a barrier less often. */
ALONE(waves_with_rows_of_their_own) {
  const u32 wave = MYWAVE;
  for (u32 row = wave; row < 10; row += ITEMS / WAVE) {
    tile2[wave] = row * 3;
    barrier();
    data[row * WAVE + ITEM % WAVE] = tile2[wave];
    barrier();
  }
  out[GROUP * ITEMS + ITEM] = 1;
}
/* What they say when they are through is no older than that. */
ALONE(flags_of_waves_with_fewer_rows) {
  const u32 wave = MYWAVE, rows = wave ? 2 : 4;
  tile2[wave] = 0;
  for (u32 k = 0; k < rows; ++k) {
    tile[ITEM] = ITEM + k;
    barrier();
    data[ITEM] = tile[ITEM];
    barrier();
  }
  if (wave) {
    STORE(&tile2[wave], 1, RELEASE, WORKGROUP);
    return;
  }
  for (u32 k = 1; k < ITEMS / WAVE; ++k)
    WAIT_FOR(&tile2[k], 1, ACQUIRE, WORKGROUP);
  out[ITEM] = data[ITEM];
}

ALONE(spin_lock_by_exchange) {
  if (ITEM != 0)
    return;
  while (__scoped_atomic_exchange_n(flags, 1, ACQUIRE, DEVICE) != 0)
    __builtin_amdgcn_s_sleep(1);
  data[0] += GROUP + 1;
  data[1] ^= GROUP;
  STORE(flags, 0, RELEASE, DEVICE);
}
ALONE(spin_lock_in_lds) {
  zero_lds_flags(2);
  if (ITEM % WAVE == 0) {
    lock_lds(&tile2[0]);
    tile2[1] += MYWAVE + 1;
    STORE(&tile2[0], 0, RELEASE, WORKGROUP);
  }
  barrier();
  out[ITEM] = tile2[1];
}

ALONE(look_back) {
  /* Each workgroup waits for the one before it, and adds its own. */
  if (ITEM != 0)
    return;
  u32 before = 0;
  if (GROUP) {
    WAIT_FOR(&flags[GROUP - 1], 1, ACQUIRE, DEVICE);
    before = data[GROUP - 1];
  }
  data[GROUP] = before + GROUP + 1;
  STORE(&flags[GROUP], 1, RELEASE, DEVICE);
}

ALONE(last_one_reads_volatile) {
  if (ITEM != 0)
    return;
  data[GROUP] = GROUP + 1;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  if (ADD(flags, 1, RELAXED, DEVICE) != GROUPS - 1)
    return;
  u32 sum = 0;
  for (u32 k = 0; k < GROUPS; ++k)
    sum += ((volatile GLOBAL u32 *)data)[k];
  out[0] = sum;
  flags[0] = 0;
}

ALONE(queue_by_atomics) {
  u32 place = ADD(flags, 1, RELAXED, DEVICE);
  out[place] = GROUP * ITEMS + ITEM;
}

ALONE(producer_consumer_ring) {
  zero_lds_flags(8);
  for (u32 k = 1; k <= 6; ++k) {
    u32 slot = k % 2;
    if (MYWAVE == 0) {
      WAIT_FOR(&tile2[2 + slot], (k - 1) / 2, ACQUIRE, WORKGROUP);
      tile[slot * WAVE + ITEM] = ITEM * k;
      STORE(&tile2[slot], (k + 1) / 2, RELEASE, WORKGROUP);
    } else if (MYWAVE == 1) {
      WAIT_FOR(&tile2[slot], (k + 1) / 2, ACQUIRE, WORKGROUP);
      out[k * WAVE + ITEM % WAVE] = tile[slot * WAVE + ITEM % WAVE];
      STORE(&tile2[2 + slot], (k + 1) / 2, RELEASE, WORKGROUP);
    }
  }
}

ALONE(double_buffer) {
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    tile[(k % 2) * ITEMS + ITEM] = ITEM + k;
    barrier();
    sum += tile[(k % 2) * ITEMS + (ITEM + WAVE) % ITEMS];
  }
  out[ITEM] = sum;
}

ALONE(slot_in_lds) {
  /* A ring of one slot: full and empty flags. */
  zero_lds_flags(2);
  for (u32 k = 1; k <= 3; ++k)
    if (MYWAVE == 0) {
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

ALONE(counter_reset_by_the_last) {
  SHARED static u32 ticket;
  data[GROUP * ITEMS + ITEM] = ITEM;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  barrier();
  if (ITEM == 0)
    ticket = ADD(flags, 1, ACQ_REL, DEVICE);
  barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  if (ticket != GROUPS - 1)
    return;
  out[ITEM] = data[ITEM] + data[(GROUPS - 1) * ITEMS + ITEM];
  if (ITEM == 0)
    flags[0] = 0;
}

ALONE(flags_of_all_lanes) {
  /* Each lane waits for a workgroup of its own. */
  if (GROUP == GROUPS - 1) {
    u32 sum = 0;
    if (ITEM < GROUPS - 1) {
      WAIT_FOR(&flags[ITEM], 1, ACQUIRE, DEVICE);
      sum = data[ITEM];
    }
    out[ITEM] = sum;
    return;
  }
  if (ITEM == 0) {
    data[GROUP] = GROUP + 1;
    STORE(&flags[GROUP], 1, RELEASE, DEVICE);
  }
}

ALONE(progress_counter) {
  /* Looked at from time to time, for nothing that depends on it. */
  ADD(flags, 1, RELAXED, DEVICE);
  out[GROUP * ITEMS + ITEM] = LOAD(flags, RELAXED, DEVICE);
}

/* Each wave makes what it has stored arrive; the ticket orders nothing more. */
ALONE(ticket_behind_fences) {
  SHARED static u32 ticket;
  data[GROUP * ITEMS + ITEM] = ITEM + 1;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  barrier();
  if (ITEM == 0)
    ticket = ADD(flags, 1, RELAXED, DEVICE);
  barrier();
  if (ticket != GROUPS - 1)
    return;
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  u32 sum = 0;
  for (u32 k = 0; k < GROUPS; ++k)
    sum += data[k * ITEMS + ITEM];
  out[ITEM] = sum;
}

/* Nobody waits: who finds nothing does without. */
ALONE(flag_tried_once) {
  if (ITEM != 0)
    return;
  if (GROUP == 0) {
    STORE(&data[0], 11, RELAXED, DEVICE);
    STORE(&data[1], 12, RELAXED, DEVICE);
    STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  out[3 * GROUP] = LOAD(flags, ACQUIRE, DEVICE);
  out[3 * GROUP + 1] = LOAD(&data[0], RELAXED, DEVICE);
  out[3 * GROUP + 2] = LOAD(&data[1], RELAXED, DEVICE);
}

ALONE(any_of_many_atomic_stores) {
  STORE(&out[ITEM & 15], GROUP * ITEMS + ITEM, RELAXED, DEVICE);
}

/* More waves than a few release through one word of LDS: by a count that the
   last one takes, and by one that the first one polls. */
ALONE(many_waves_count_in_lds) {
  zero_lds_flags(2);
  if (ITEM % WAVE)
    return;
  tile[MYWAVE] = MYWAVE + GROUP;
  const u32 before = ADD(&tile2[0], 1, ACQ_REL, WORKGROUP);
  if (before == ITEMS / WAVE - 1) {
    u32 sum = 0;
    for (u32 k = 0; k < ITEMS / WAVE; ++k)
      sum += tile[k];
    out[2 * GROUP] = sum;
  }
  tile[ITEMS / 2 + MYWAVE] = MYWAVE;
  ADD(&tile2[1], 1, RELEASE, WORKGROUP);
  if (MYWAVE == 0) {
    u32 sum = 0;
    WAIT_FOR(&tile2[1], ITEMS / WAVE, ACQUIRE, WORKGROUP);
    for (u32 k = 0; k < ITEMS / WAVE; ++k)
      sum += tile[ITEMS / 2 + k];
    out[2 * GROUP + 1] = sum;
  }
}

/* One flag a wave, all of which the first wave waits for. */
ALONE(flags_of_many_waves_in_lds) {
  zero_lds_flags(32);
  if (ITEM % WAVE)
    return;
  tile[MYWAVE] = MYWAVE + GROUP;
  STORE(&tile2[MYWAVE], 1, RELEASE, WORKGROUP);
  if (MYWAVE != 0)
    return;
  u32 sum = 0;
  for (u32 k = 0; k < ITEMS / WAVE; ++k) {
    WAIT_FOR(&tile2[k], 1, ACQUIRE, WORKGROUP);
    sum += tile[k];
  }
  out[GROUP] = sum;
}

/* One place for all: where LLVM makes a loop of compare-and-swap of it, that
   begins with a scalar load. */
ALONE(one_sum_of_floats) {
  if (ITEM == 0)
    __scoped_atomic_fetch_add((GLOBAL float *)data, 1.0f + GROUP, RELAXED,
                              DEVICE);
}
