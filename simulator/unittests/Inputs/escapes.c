/*===- escapes.c - Published faults of shipped code, rebuilt ------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The broken and the mended code of what docs/checker.md lists, as far as C
|* can say it. data and flags have 4096 elements that are 0; nobody has written
|* out.
|*
\*===----------------------------------------------------------------------===*/

#include "pairs.h"

/* A barrier that orders accesses to LDS alone. */
INLINE void local_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/* pytorch #183861: a row of 64 sums is stored by the lanes of one wave, which
   is assumed to have 64. */
PAIR(gamma_beta_of_wave_32) {
  static SHARED u32 sums[64];
  if (ITEM < 64)
    sums[ITEM] = data[ITEM] + data[64 + ITEM];
  barrier();
  u32 lane = fault ? ITEM % WAVE : ITEM % 64;
  if (ITEM < 64)
    out[lane] = sums[lane];
}
/* What reads the gradients afterwards. */
ALONE(read_gradients) {
  if (ITEM < 64)
    flags[ITEM] = out[ITEM] + 1;
}

/* ROCm/triton #968: a store to memory that other waves read behind a barrier,
   whose fences are for LDS only. */
PAIR(scratch_behind_a_local_barrier) {
  flags[ITEM] = data[ITEM] + ITEM;
  if (fault)
    local_barrier();
  else
    barrier();
  out[ITEM] = flags[ITEM ^ 64];
}

/* triton #9887: two loops through one buffer in memory, without a barrier. */
PAIR(two_loops_one_buffer) {
  for (u32 k = 0; k < 4; ++k)
    flags[k * ITEMS + ITEM] = data[ITEM] + k;
  if (!fault)
    barrier();
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k)
    sum += flags[k * ITEMS + (ITEM ^ 64)];
  out[ITEM] = sum;
}

/* rocm-libraries #10909, ROCm #6623: all read the diagonal element, and one
   replaces it by its root. */
PAIR(root_of_the_diagonal) {
  static SHARED u32 a[256];
  a[ITEM] = data[ITEM] + 4;
  barrier();
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    u32 diagonal = a[k];
    if (!fault)
      barrier();
    if (ITEM == 0)
      a[k] = diagonal / 2;
    barrier();
    sum += diagonal;
  }
  out[ITEM] = sum;
}

/* llvm-project #207883: everybody sums what the next sweep overwrites. */
PAIR(residual_of_the_last_sweep) {
  static SHARED u32 residual[64];
  u32 sum = 0;
  for (u32 sweep = 0; sweep < 3; ++sweep) {
    if (ITEM < 64)
      residual[ITEM] = data[ITEM] + sweep;
    barrier();
    for (u32 k = 0; k < 64; ++k)
      sum += residual[k];
    if (!fault)
      barrier();
  }
  out[ITEM] = sum;
}

/* pytorch #198208: one wave takes the flag and drops its cache's lines, and all
   waves of the workgroup, of which some use another cache, read the payload. */
PAIR(payload_of_a_look_back) {
  if (GROUP == 0) {
    flags[64 + ITEM] = data[ITEM] + ITEM;
    __builtin_amdgcn_fence(RELEASE, "agent");
    barrier();
    if (ITEM == 0)
      STORE(flags, 1, RELEASE, DEVICE);
    return;
  }
  out[ITEM] = flags[64 + ITEM] & 0;
  if (ITEM == 0)
    WAIT_FOR(flags, 1, ACQUIRE, DEVICE);
  local_barrier();
  if (!fault)
    __builtin_amdgcn_fence(ACQUIRE, "agent");
  out[ITEMS + ITEM] = flags[64 + ITEM];
}

/* hipfire #574: what was broadcast through an element is still being read when
   the next stage uses the array again. */
PAIR(broadcast_then_reuse) {
  static SHARED u32 part[256];
  part[ITEM] = data[ITEM] + ITEM;
  barrier();
  u32 sum = part[0];
  if (!fault)
    barrier();
  part[ITEM] = sum + ITEM;
  barrier();
  out[ITEM] = part[ITEM ^ 64];
}

/* pytorch #177149: a function returns behind its reads of counters, and the
   next one zeroes them. */
PAIR(counters_of_a_radix_select) {
  static SHARED u32 counts[4];
  if (ITEM < 4)
    counts[ITEM] = data[ITEM] + 1;
  barrier();
  u32 sum = counts[0] + counts[1] + counts[2] + counts[3];
  if (!fault)
    barrier();
  if (ITEM < 2)
    counts[ITEM] = 0;
  barrier();
  out[ITEM] = sum + counts[ITEM % 4];
}

/* pytorch #168937: the scalar of a combined kernel is stored without the mask
   of its rows. */
PAIR(scalar_without_mask) {
  u32 value = ITEM == 0 ? data[0] + 7 : data[ITEM];
  if (!fault && ITEM != 0)
    return;
  out[0] = value;
}

/* kokkos #8648: a fence where all have to arrive. */
PAIR(fence_as_a_barrier) {
  static SHARED u32 part[256];
  part[ITEM] = data[ITEM] + ITEM;
  if (fault)
    __builtin_amdgcn_fence(ACQ_REL, "workgroup");
  else
    barrier();
  out[ITEM] = part[ITEM ^ 64];
}

/* rocm-libraries #8263: states of 64 bits in storage aligned to 4 bytes. */
PAIR(look_back_states_misaligned) {
  GLOBAL unsigned long *state =
      (GLOBAL unsigned long *)((GLOBAL char *)flags + (fault ? 4 : 0));
  __scoped_atomic_fetch_add(state + ITEM, 1ul, RELAXED, DEVICE);
}

/* pytorch #193016: the partial sums of two normalized dimensions, 32 x 8, go to
   a buffer whose rows have room for the last dimension only. */
PAIR(partial_sums_of_two_dimensions) {
  u32 pitch = fault ? 32 * 8 : 8;
  for (u32 row = 0; row < 512; ++row)
    if (ITEM < 8)
      out[row * pitch + ITEM] = data[ITEM] + row;
}

/* rocm-libraries #10893: a wait and a barrier without fences, and the compiler
   has moved a store to LDS behind them. */
PAIR(store_moved_behind_a_bare_barrier) {
  static SHARED u32 tile[256];
  u32 value = data[ITEM] + ITEM;
  if (fault)
    __builtin_amdgcn_s_barrier();
  tile[ITEM] = value;
  if (!fault)
    barrier();
  out[ITEM] = tile[ITEM ^ 64];
}
