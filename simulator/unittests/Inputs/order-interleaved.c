/*===- order-interleaved.c - Workgroups that overlap in time ------------*- C
-*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Kernels with a fault that does not show where one workgroup or wave runs
|* after the other, and twins without; and kernels without a fault whose
|* workgroups release more in such an order than in the usual one.
|*
\*===----------------------------------------------------------------------===*/

#include "order.h"

/* ---- Where workgroups overlap in time ----------------------------------- */

/* Both have arrived if the one that waits comes last. */
PAIR(one_of_two_arrivals) {
  if (GROUP != 0) {
    data[GROUP * ITEMS + ITEM] = ITEM + 1;
    ADD(flags, ITEM == 0, RELEASE, DEVICE);
    return;
  }
  while (LOAD(flags, ACQUIRE, DEVICE) < (fault ? 1 : 2))
    __builtin_amdgcn_s_sleep(1);
  out[ITEM] = data[ITEMS + ITEM] + data[2 * ITEMS + ITEM];
}

/* A count that goes up when a workgroup begins, and when it is done. */
PAIR(arrivals_counted_twice) {
  ADD(flags, ITEM == 0, RELEASE, DEVICE);
  data[GROUP * ITEMS + ITEM] = ITEM + GROUP;
  ADD(flags, ITEM == 0, RELEASE, DEVICE);
  while (LOAD(flags, ACQUIRE, DEVICE) < (fault ? GROUPS : 2 * GROUPS))
    __builtin_amdgcn_s_sleep(1);
  out[GROUP * ITEMS + ITEM] = data[(GROUP + 1) % GROUPS * ITEMS + ITEM];
}

PAIR(mailbox_overwritten) {
  for (u32 k = 1; k <= 4; ++k)
    if (GROUP == 0) {
      if (!fault)
        WAIT_FOR(&flags[32], k - 1, ACQUIRE, DEVICE);
      data[ITEM] = ITEM * k;
      STORE(flags, k, RELEASE, DEVICE);
    } else {
      while (LOAD(flags, ACQUIRE, DEVICE) < k)
        __builtin_amdgcn_s_sleep(1);
      out[k * ITEMS + ITEM] = data[ITEM];
      STORE(&flags[32], k, RELEASE, DEVICE);
    }
}

/* Two slots, so that the producer may be two ahead, not three. */
PAIR(ring_credit_off_by_one) {
  const u32 ahead = fault ? 3 : 2;
  for (u32 k = 1; k <= 6; ++k)
    if (GROUP == 0) {
      while (LOAD(&flags[32], ACQUIRE, DEVICE) + ahead < k)
        __builtin_amdgcn_s_sleep(1);
      data[k % 2 * ITEMS + ITEM] = ITEM * k;
      STORE(flags, k, RELEASE, DEVICE);
    } else {
      while (LOAD(flags, ACQUIRE, DEVICE) < k)
        __builtin_amdgcn_s_sleep(1);
      out[k * ITEMS + ITEM] = data[k % 2 * ITEMS + ITEM];
      STORE(&flags[32], k, RELEASE, DEVICE);
    }
}

/* Filled again without a look at who is reading; all who come later find it
   full. */
PAIR(refilled_without_asking) {
  if (GROUP == 0) {
    for (u32 k = 1; k <= 2; ++k) {
      data[ITEM] = ITEM + k;
      STORE(flags, k, RELEASE, DEVICE);
      if (!fault && k == 1)
        while (LOAD(&flags[32], ACQUIRE, DEVICE) < GROUPS - 1)
          __builtin_amdgcn_s_sleep(1);
    }
    return;
  }
  while (LOAD(flags, ACQUIRE, DEVICE) == 0)
    __builtin_amdgcn_s_sleep(1);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
  ADD(&flags[32], ITEM == 0, RELEASE, DEVICE);
  if (!fault) {
    WAIT_FOR(flags, 2, ACQUIRE, DEVICE);
    out[GROUP * ITEMS + ITEM] += data[ITEM];
  }
}

/* Begun is not done. */
PAIR(initialised_by_the_first) {
  u32 state = 0;
  if (ITEM != 0)
    return;
  if (__scoped_atomic_compare_exchange_n(flags, &state, 1, 0, ACQUIRE, ACQUIRE,
                                         DEVICE)) {
    data[0] = 17;
    __scoped_atomic_exchange_n(flags, 2, RELEASE, DEVICE);
  } else {
    while (LOAD(flags, ACQUIRE, DEVICE) < (fault ? 1 : 2))
      __builtin_amdgcn_s_sleep(1);
  }
  out[GROUP] = data[0];
}

/* Looked at and taken in two steps. */
PAIR(lock_looked_at_then_taken) {
  if (ITEM != 0)
    return;
  if (fault) {
    WAIT_FOR(flags, 0, ACQUIRE, DEVICE);
    STORE(flags, 1, RELAXED, DEVICE);
  } else {
    lock_global(flags);
  }
  data[0] += GROUP + 1;
  STORE(flags, 0, RELEASE, DEVICE);
}

/* Patience ends. */
PAIR(waits_for_a_while) {
  if (GROUP == 0) {
    publish(data, flags);
    return;
  }
  u32 left = 3;
  while (LOAD(flags, ACQUIRE, DEVICE) == 0 && (!fault || --left))
    __builtin_amdgcn_s_sleep(1);
  out[GROUP * ITEMS + ITEM] = data[ITEM];
}

PAIR(lock_tried_a_few_times) {
  if (ITEM != 0)
    return;
  u32 left = 2;
  while (__scoped_atomic_exchange_n(flags, 1, ACQUIRE, DEVICE) != 0 &&
         (!fault || --left))
    __builtin_amdgcn_s_sleep(1);
  data[0] += GROUP + 1;
  STORE(flags, 0, RELEASE, DEVICE);
}

/* Readers come in while the writer thinks that nobody is there. */
PAIR(reader_looks_then_enters) {
  if (ITEM != 0)
    return;
  if (GROUP % 2 == 0) {
    lock_global(flags);
    while (LOAD(&flags[32], ACQUIRE, DEVICE) != 0)
      __builtin_amdgcn_s_sleep(1);
    data[0] += 1;
    STORE(flags, 0, RELEASE, DEVICE);
    return;
  }
  if (fault) {
    WAIT_FOR(flags, 0, ACQUIRE, DEVICE);
    ADD(&flags[32], 1, ACQUIRE, DEVICE);
  } else {
    lock_global(flags);
    ADD(&flags[32], 1, ACQUIRE, DEVICE);
    STORE(flags, 0, RELEASE, DEVICE);
  }
  out[GROUP] = data[0];
  ADD(&flags[32], -1, RELEASE, DEVICE);
}

/* A place in the queue is not yet an element of it. */
PAIR(place_before_element) {
  if (ITEM != 0)
    return;
  if (GROUP % 2 == 0) {
    const u32 place = ADD(flags, 1, ACQ_REL, DEVICE);
    data[place] = GROUP + 1;
    ADD(&flags[32], 1, ACQ_REL, DEVICE);
    return;
  }
  while (LOAD(fault ? flags : &flags[32], ACQUIRE, DEVICE) < GROUPS / 2)
    __builtin_amdgcn_s_sleep(1);
  u32 sum = 0;
  for (u32 k = 0; k < GROUPS / 2; ++k)
    sum += data[k];
  out[GROUP] = sum;
}

/* One copy where the neighbours may still read that of the step before. */
PAIR(one_copy_for_all_steps) {
  for (u32 k = 0; k < 3; ++k) {
    const u32 copy = fault ? 0 : k % 2;
    data[(copy * GROUPS + GROUP) * ITEMS + ITEM] = k + GROUP;
    grid_barrier(flags, k + 1);
    out[GROUP * ITEMS + ITEM] =
        data[(copy * GROUPS + (GROUP + 1) % GROUPS) * ITEMS + ITEM];
  }
}

/* The one that goes last leaves the lock before it is through. */
PAIR(last_one_unlocks_early) {
  if (ITEM != 0)
    return;
  lock_global(flags);
  const u32 sum = data[0] + GROUP + 1;
  const u32 early = fault && GROUP == GROUPS - 1;
  if (early)
    STORE(flags, 0, RELEASE, DEVICE);
  data[0] = sum;
  if (!early)
    STORE(flags, 0, RELEASE, DEVICE);
}

/* The next number is called before the work is done. */
PAIR(ticket_called_too_early) {
  if (ITEM != 0)
    return;
  const u32 mine = ADD(flags, 1, RELAXED, DEVICE);
  WAIT_FOR(&flags[32], mine, ACQUIRE, DEVICE);
  if (fault)
    STORE(&flags[32], mine + 1, RELEASE, DEVICE);
  data[0] += GROUP + 1;
  if (!fault)
    STORE(&flags[32], mine + 1, RELEASE, DEVICE);
}

/* Data that are read while they may change, and looked at only then. */
PAIR(sequence_lock_of_plain_data) {
  if (ITEM != 0)
    return;
  if (GROUP == 0) {
    for (u32 k = 0; k < 3; ++k) {
      if (!fault)
        lock_global(&flags[32]);
      ADD(flags, 1, ACQ_REL, DEVICE);
      data[0] = k;
      data[1] = k;
      ADD(flags, 1, ACQ_REL, DEVICE);
      if (!fault)
        STORE(&flags[32], 0, RELEASE, DEVICE);
    }
    return;
  }
  u32 before, x, y;
  do {
    if (!fault)
      lock_global(&flags[32]);
    before = LOAD(flags, ACQUIRE, DEVICE);
    x = data[0];
    y = data[1];
    if (!fault)
      STORE(&flags[32], 0, RELEASE, DEVICE);
  } while ((before & 1) || ADD(flags, 0, ACQ_REL, DEVICE) != before);
  out[GROUP] = x + y;
}

/* Who finds nothing makes it by himself, in the same place. */
PAIR(made_by_whoever_finds_nothing) {
  if (ITEM != 0)
    return;
  if (LOAD(flags, ACQUIRE, DEVICE) == 0) {
    if (!fault)
      lock_global(&flags[32]);
    if (fault || LOAD(flags, RELAXED, DEVICE) == 0) {
      data[0] = data[0] + GROUP + 5;
      STORE(flags, 1, RELEASE, DEVICE);
    }
    if (!fault)
      STORE(&flags[32], 0, RELEASE, DEVICE);
  }
  out[GROUP] = data[0];
}

/* The slot is given back before it has been read. */
PAIR(slot_given_back_too_early) {
  for (u32 k = 1; k <= 3; ++k)
    if (GROUP == 0) {
      WAIT_FOR(flags, 0, ACQUIRE, DEVICE);
      data[ITEM] = ITEM * k;
      STORE(flags, 1, RELEASE, DEVICE);
    } else {
      WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
      u32 x = 0;
      if (!fault)
        x = data[ITEM];
      STORE(flags, 0, RELEASE, DEVICE);
      if (fault)
        x = data[ITEM];
      out[k * ITEMS + ITEM] = x;
    }
}

/* Who is done says so, and then adds what it has forgotten. */
PAIR(afterthought_behind_the_flag) {
  data[GROUP * ITEMS + ITEM] = ITEM;
  STORE(&flags[GROUP], 1, RELEASE, DEVICE);
  if (GROUP < GROUPS - 1) {
    if (fault)
      data[GROUP * ITEMS + ITEM] = ITEM + 1;
    return;
  }
  u32 sum = 0;
  for (u32 k = 0; k < GROUPS; ++k) {
    WAIT_FOR(&flags[k], 1, ACQUIRE, DEVICE);
    sum += data[k * ITEMS + ITEM];
  }
  out[ITEM] = sum;
}

/* ---- Where waves of one workgroup do ------------------------------------ */

PAIR(lds_one_of_two_arrivals) {
  zero_lds_flags(1);
  if (MYWAVE != 0) {
    tile[ITEM] = ITEM + 1;
    ADD(&tile2[0], ITEM % WAVE == 0, RELEASE, WORKGROUP);
    return;
  }
  while (LOAD(&tile2[0], ACQUIRE, WORKGROUP) < (fault ? 1 : ITEMS / WAVE - 1))
    __builtin_amdgcn_s_sleep(1);
  u32 sum = 0;
  for (u32 k = 1; k < ITEMS / WAVE; ++k)
    sum += tile[k * WAVE + ITEM];
  out[ITEM] = sum;
}

PAIR(lds_unlocked_too_early) {
  zero_lds_flags(2);
  if (ITEM % WAVE == 0) {
    lock_lds(&tile2[0]);
    const u32 sum = tile2[1] + MYWAVE + 1;
    if (fault)
      STORE(&tile2[0], 0, RELEASE, WORKGROUP);
    tile2[1] = sum;
    if (!fault)
      STORE(&tile2[0], 0, RELEASE, WORKGROUP);
  }
  barrier();
  out[ITEM] = tile2[1];
}

PAIR(lds_ring_credit_off_by_one) {
  const u32 ahead = fault ? 3 : 2;
  zero_lds_flags(2);
  for (u32 k = 1; k <= 6; ++k)
    if (MYWAVE == 0) {
      while (LOAD(&tile2[1], ACQUIRE, WORKGROUP) + ahead < k)
        __builtin_amdgcn_s_sleep(1);
      tile[k % 2 * WAVE + ITEM] = ITEM * k;
      STORE(&tile2[0], k, RELEASE, WORKGROUP);
    } else if (MYWAVE == 1) {
      while (LOAD(&tile2[0], ACQUIRE, WORKGROUP) < k)
        __builtin_amdgcn_s_sleep(1);
      out[k * WAVE + ITEM % WAVE] = tile[k % 2 * WAVE + ITEM % WAVE];
      STORE(&tile2[1], k, RELEASE, WORKGROUP);
    }
}

/* ---- In turns, without a fault ------------------------------------------ */

ALONE(ticket_lock) {
  if (ITEM != 0)
    return;
  for (u32 k = 0; k < 3; ++k) {
    const u32 mine = ADD(flags, 1, RELAXED, DEVICE);
    WAIT_FOR(&flags[32], mine, ACQUIRE, DEVICE);
    data[0] += GROUP + 1;
    STORE(&flags[32], mine + 1, RELEASE, DEVICE);
  }
}

/* Each waits for a flag of its own, which the one before it sets. */
ALONE(queue_lock) {
  if (ITEM != 0)
    return;
  gptr next = &flags[64], locked = &flags[128];
  STORE(&next[GROUP], 0, RELAXED, DEVICE);
  STORE(&locked[GROUP], 1, RELAXED, DEVICE);
  const u32 before =
      __scoped_atomic_exchange_n(flags, GROUP + 1, ACQ_REL, DEVICE);
  if (before) {
    STORE(&next[before - 1], GROUP + 1, RELEASE, DEVICE);
    WAIT_FOR(&locked[GROUP], 0, ACQUIRE, DEVICE);
  }
  data[0] += GROUP + 1;
  u32 self = GROUP + 1;
  if (LOAD(&next[GROUP], ACQUIRE, DEVICE) == 0) {
    if (__scoped_atomic_compare_exchange_n(flags, &self, 0, 0, RELEASE, RELAXED,
                                           DEVICE))
      return;
    while (LOAD(&next[GROUP], ACQUIRE, DEVICE) == 0)
      __builtin_amdgcn_s_sleep(1);
  }
  STORE(&locked[LOAD(&next[GROUP], RELAXED, DEVICE) - 1], 0, RELEASE, DEVICE);
}

ALONE(readers_and_writers) {
  if (ITEM != 0)
    return;
  /* The count of readers, or 1000 for a writer. */
  u32 seen = 0;
  if (GROUP % 2 == 0) {
    while (!__scoped_atomic_compare_exchange_n(flags, &seen, 1000, 0, ACQUIRE,
                                               RELAXED, DEVICE))
      seen = 0;
    data[0] += 1;
    ADD(flags, -1000, RELEASE, DEVICE);
    return;
  }
  for (;;) {
    seen = LOAD(flags, RELAXED, DEVICE);
    if (seen < 1000 && __scoped_atomic_compare_exchange_n(
                           flags, &seen, seen + 1, 0, ACQUIRE, RELAXED, DEVICE))
      break;
    __builtin_amdgcn_s_sleep(1);
  }
  out[GROUP] = data[0];
  ADD(flags, -1, RELEASE, DEVICE);
}

ALONE(ring_between_workgroups) {
  for (u32 k = 1; k <= 6; ++k)
    if (GROUP == 0) {
      while (LOAD(&flags[32], ACQUIRE, DEVICE) + 2 < k)
        __builtin_amdgcn_s_sleep(1);
      data[k % 2 * ITEMS + ITEM] = ITEM * k;
      STORE(flags, k, RELEASE, DEVICE);
    } else if (GROUP == 1) {
      while (LOAD(flags, ACQUIRE, DEVICE) < k)
        __builtin_amdgcn_s_sleep(1);
      out[k * ITEMS + ITEM] = data[k % 2 * ITEMS + ITEM];
      STORE(&flags[32], k, RELEASE, DEVICE);
    }
}

/* Many producers and consumers; each slot has the number of its turn. */
ALONE(slots_with_turns) {
  if (ITEM != 0)
    return;
  const u32 place = ADD(&flags[GROUP % 2], 1, RELAXED, DEVICE);
  gptr turn = &flags[64 + place % 2];
  if (GROUP % 2 == 0) {
    WAIT_FOR(turn, place / 2 * 2, ACQUIRE, DEVICE);
    data[place % 2] = GROUP + 1;
    STORE(turn, place / 2 * 2 + 1, RELEASE, DEVICE);
  } else {
    WAIT_FOR(turn, place / 2 * 2 + 1, ACQUIRE, DEVICE);
    out[GROUP] = data[place % 2];
    STORE(turn, place / 2 * 2 + 2, RELEASE, DEVICE);
  }
}

/* Whether there is more is asked before whether it is ready. */
ALONE(asks_for_the_end_first) {
  if (ITEM != 0)
    return;
  if (GROUP == 0) {
    for (u32 k = 0; k < 4; ++k) {
      data[k] = k + 7;
      STORE(&flags[32 + k], 1, RELEASE, DEVICE);
    }
    return;
  }
  u32 sum = 0;
  for (;;) {
    const u32 taken = LOAD(flags, RELAXED, DEVICE);
    const u32 ready = LOAD(&flags[32 + (taken & 3)], ACQUIRE, DEVICE);
    if (taken >= 4)
      break;
    if (!ready)
      continue;
    u32 expected = taken;
    if (__scoped_atomic_compare_exchange_n(flags, &expected, taken + 1, 0,
                                           RELAXED, RELAXED, DEVICE))
      sum += data[taken];
  }
  out[GROUP] = sum;
}

/* A sum of its own, or one of all before: as one finds it. */
ALONE(look_back_over_sums) {
  if (ITEM != 0)
    return;
  gptr own = data, all = &data[64];
  own[GROUP] = GROUP + 1;
  if (GROUP == 0)
    all[0] = 1;
  STORE(&flags[GROUP], GROUP == 0 ? 2 : 1, RELEASE, DEVICE);
  if (GROUP == 0)
    return;
  u32 sum = GROUP + 1;
  for (u32 at = GROUP - 1;;) {
    const u32 state = LOAD(&flags[at], ACQUIRE, DEVICE);
    if (state == 2) {
      sum += all[at];
      break;
    }
    if (state == 1)
      sum += own[at--];
    else
      __builtin_amdgcn_s_sleep(1);
  }
  all[GROUP] = sum;
  STORE(&flags[GROUP], 2, RELEASE, DEVICE);
}

ALONE(made_once) {
  u32 state = 0;
  if (ITEM != 0)
    return;
  if (LOAD(flags, ACQUIRE, DEVICE) != 2) {
    if (__scoped_atomic_compare_exchange_n(flags, &state, 1, 0, RELAXED,
                                           RELAXED, DEVICE)) {
      data[0] = 17;
      STORE(flags, 2, RELEASE, DEVICE);
    } else {
      WAIT_FOR(flags, 2, ACQUIRE, DEVICE);
    }
  }
  out[GROUP] = data[0];
}

ALONE(lock_tried_once) {
  if (ITEM != 0)
    return;
  if (__scoped_atomic_exchange_n(flags, 1, ACQUIRE, DEVICE) == 0) {
    data[0] += GROUP + 1;
    __scoped_atomic_exchange_n(flags, 0, RELEASE, DEVICE);
  } else {
    out[GROUP] = 1;
  }
}

ALONE(rows_drawn_by_number) {
  SHARED static u32 drawn;
  for (;;) {
    barrier();
    if (ITEM == 0)
      drawn = ADD(flags, 1, RELAXED, DEVICE);
    barrier();
    const u32 row = drawn;
    if (row >= 10)
      break;
    out[row * ITEMS + ITEM] = row + ITEM;
  }
}

/* In each round a workgroup waits for another one, twice as far away. */
ALONE(rounds_of_flags) {
  data[GROUP * ITEMS + ITEM] = ITEM + GROUP;
  barrier();
  for (u32 step = 1, round = 0; step < GROUPS; step *= 2, ++round) {
    if (ITEM == 0) {
      STORE(&flags[round * 32 + (GROUP + step) % GROUPS], 1, RELEASE, DEVICE);
      WAIT_FOR(&flags[round * 32 + GROUP], 1, ACQUIRE, DEVICE);
    }
    barrier();
  }
  u32 sum = 0;
  for (u32 k = 0; k < GROUPS; ++k)
    sum += data[k * ITEMS + ITEM];
  out[GROUP * ITEMS + ITEM] = sum;
}

/* The number of rounds is looked at before one arrives. */
ALONE(barrier_of_generations) {
  for (u32 k = 0; k < 3; ++k) {
    data[GROUP * ITEMS + ITEM] = k + GROUP;
    barrier();
    if (ITEM == 0) {
      const u32 round = LOAD(&flags[32], RELAXED, DEVICE);
      if (ADD(flags, 1, ACQ_REL, DEVICE) == GROUPS - 1) {
        STORE(flags, 0, RELAXED, DEVICE);
        ADD(&flags[32], 1, RELEASE, DEVICE);
      } else {
        while (LOAD(&flags[32], ACQUIRE, DEVICE) == round)
          __builtin_amdgcn_s_sleep(1);
      }
    }
    barrier();
    const u32 x = data[(GROUP + 1) % GROUPS * ITEMS + ITEM];
    grid_barrier(&flags[64], k + 1);
    out[GROUP * ITEMS + ITEM] = x;
  }
}

ALONE(two_may_enter) {
  if (ITEM != 0)
    return;
  /* Places that are taken; each has memory of its own. */
  u32 place = 0;
  for (;; place = 1 - place) {
    u32 open = 0;
    if (__scoped_atomic_compare_exchange_n(&flags[place], &open, 1, 0, ACQUIRE,
                                           RELAXED, DEVICE))
      break;
    __builtin_amdgcn_s_sleep(1);
  }
  data[place] += GROUP + 1;
  ADD(&flags[place], -1, RELEASE, DEVICE);
}

/* Value and flag in one word of 64 bits. */
ALONE(value_with_its_flag) {
  GLOBAL unsigned long long *cell = (GLOBAL unsigned long long *)flags;
  if (ITEM != 0)
    return;
  if (GROUP == 0) {
    STORE(cell, 1ull << 32 | 99, RELAXED, DEVICE);
    return;
  }
  unsigned long long x;
  while (!((x = LOAD(cell, RELAXED, DEVICE)) >> 32))
    __builtin_amdgcn_s_sleep(1);
  out[GROUP] = (u32)x;
}

ALONE(works_until_told_to_stop) {
  u32 sum = 0;
  if (GROUP == 0) {
    data[ITEM] = ITEM;
    STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  while (LOAD(flags, ACQUIRE, DEVICE) == 0)
    sum += ITEM;
  out[GROUP * ITEMS + ITEM] = data[ITEM] + (sum > 1);
}

/* Row k of a workgroup needs row k of the one before it. */
ALONE(wave_front) {
  for (u32 k = 0; k < 4; ++k) {
    u32 above = 0;
    if (GROUP != 0) {
      if (ITEM == 0)
        while (LOAD(&flags[GROUP - 1], ACQUIRE, DEVICE) <= k)
          __builtin_amdgcn_s_sleep(1);
      barrier();
      above = data[((GROUP - 1) * 4 + k) * ITEMS + ITEM];
    }
    data[(GROUP * 4 + k) * ITEMS + ITEM] = above + 1;
    barrier();
    if (ITEM == 0)
      STORE(&flags[GROUP], k + 1, RELEASE, DEVICE);
  }
}

ALONE(two_locks_in_order) {
  if (ITEM != 0)
    return;
  const u32 one = GROUP % 3, two = (GROUP + 1) % 3;
  const u32 low = one < two ? one : two, high = one < two ? two : one;
  lock_global(&flags[low * 32]);
  lock_global(&flags[high * 32]);
  data[low] += 1;
  data[high] += 2;
  STORE(&flags[high * 32], 0, RELEASE, DEVICE);
  STORE(&flags[low * 32], 0, RELEASE, DEVICE);
}

ALONE(highest_as_a_flag) {
  if (GROUP != GROUPS - 1) {
    data[GROUP * ITEMS + ITEM] = ITEM;
    while (LOAD(flags, ACQUIRE, DEVICE) != GROUP)
      __builtin_amdgcn_s_sleep(1);
    __scoped_atomic_fetch_max(flags, GROUP + 1, ACQ_REL, DEVICE);
    return;
  }
  WAIT_FOR(flags, GROUPS - 1, ACQUIRE, DEVICE);
  u32 sum = 0;
  for (u32 k = 0; k < GROUPS - 1; ++k)
    sum += data[k * ITEMS + ITEM];
  out[ITEM] = sum;
}

/* The last of each pair goes on with what both have left. */
ALONE(tree_of_pairs) {
  if (ITEM != 0)
    return;
  data[GROUP] = GROUP + 1;
  u32 at = GROUP;
  for (u32 step = 1; step < GROUPS; step *= 2) {
    at &= ~step;
    if (at + step < GROUPS) {
      if (ADD(&flags[step * 32 + at], 1, ACQ_REL, DEVICE) == 0)
        return;
      data[at] += data[at + step];
    }
  }
  out[0] = data[0];
}
