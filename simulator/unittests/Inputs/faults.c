/*===- faults.c - Kernels with faults of all other classes --------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* data and flags have 4096 elements, element k is k; data must not be written.
|* out has as many that nobody has written. CheckerFaultTest says with how many
|* waves each one runs, and what is said of it. What is read from data is not
|* known to the compiler, which therefore leaves the faults alone.
|*
\*===----------------------------------------------------------------------===*/

#include "pairs.h"

#define SIZE 4096
#define CONSTANT __attribute__((address_space(4)))
#define PRIVATE __attribute__((address_space(5)))
#define VOLATILE(P) (*(volatile GLOBAL u32 *)(P))
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

/* The compiler has to keep an array in scratch, and what is in it. */
#define HIDE(A) __asm__ volatile("" : : "v"((PRIVATE void *)(A)) : "memory")

/* A value that was never set, where fault is 1. */
INLINE u32 value(gptr data, int fault) {
  u32 a[4] = {1, 2, 3};
  u32 b[4];
  b[0] = a[0];
  b[1] = a[1];
  b[2] = a[2];
  if (!fault)
    b[3] = 7;
  HIDE(b);
  return b[data[3]];
}

/* ---- Memory -------------------------------------------------------------- */

PAIR(read_past_end) { out[ITEM] = data[SIZE - ITEMS + ITEM + fault]; }
PAIR(read_before_begin) { out[ITEM] = data[(int)ITEM - fault]; }
PAIR(write_past_end) { flags[SIZE - ITEMS + ITEM + fault] = 1; }
PAIR(wide_read_past_end) {
  typedef u32x4 u32x4_a4 __attribute__((aligned(4)));
  const GLOBAL u32x4_a4 *p =
      (const GLOBAL u32x4_a4 *)(data + SIZE - 4 - 4 * ITEM + fault);
  out[ITEM] = (*p).x + (*p).w;
}
PAIR(uniform_read_past_end) {
  const CONSTANT u32 *p = (const CONSTANT u32 *)(unsigned long)data;
  out[ITEM] = p[SIZE - 1 + fault];
}
PAIR(index_from_memory) {
  out[ITEM] = data[flags[ITEM] + (fault ? flags[SIZE - 1] : 0)];
}
PAIR(row_too_long) {
  /* 64 rows of 64; the last one has one element more. */
  for (u32 k = ITEM; k < SIZE / 64; k += ITEMS)
    for (u32 n = 0; n < 64 + (u32)fault; ++n)
      flags[k * 64 + n] = VOLATILE(&flags[k * 64 + n]) + (n == 64);
}
PAIR(null_from_memory) {
  gptr p = fault ? (gptr)(unsigned long)flags[0] : out;
  p[ITEM] = 1;
}
PAIR(input_overwritten) {
  if (fault)
    data[ITEM] = 1;
  else
    flags[ITEM] = 1;
}
PAIR(arguments_overwritten) {
  gptr p = (gptr)(unsigned long)__builtin_amdgcn_kernarg_segment_ptr();
  if (!fault)
    p = flags;
  p[ITEM % 2] = 1;
}
static const CONSTANT u32 constants[8] = {1, 2, 3, 4, 5, 6, 7, 8};
PAIR(constants_overwritten) {
  gptr p = (gptr)(unsigned long)constants;
  /* Else the compiler drops the store, which no program may make. */
  __asm__ volatile("" : "+s"(p));
  if (!fault)
    flags[0] = p[1];
  else
    p[1] = data[1];
}
PAIR(output_read_first) {
  if (!fault)
    VOLATILE(&out[ITEM]) = 1;
  out[ITEM] = VOLATILE(&out[ITEM]) + 1;
}
PAIR(row_not_filled) {
  if (ITEM + (u32)fault < ITEMS)
    VOLATILE(&out[ITEM]) = 1;
  barrier();
  flags[ITEM] = VOLATILE(&out[ITEMS - 1 - ITEM]);
}
PAIR(misaligned_atomic) {
  ADD((gptr)((GLOBAL char *)flags + 2 * fault + 4 * ITEM), 1, RELAXED, DEVICE);
}

/* ---- LDS and scratch, where it ends -------------------------------------- */

SHARED static u32 tile[256];
INLINE void fill_tile(u32 count) {
  for (u32 k = ITEM; k < count; k += ITEMS)
    tile[k] = k;
  barrier();
}

PAIR(lds_partly_set) {
  if (!fault || MYWAVE == 0)
    tile[ITEM] = ITEM;
  barrier();
  out[ITEM] = tile[ITEMS - 1 - ITEM];
}
PAIR(lds_filled_too_short) {
  fill_tile(256 - fault);
  out[ITEM] = tile[255 - ITEM];
}
PAIR(lds_one_too_many) {
  fill_tile(256);
  out[ITEM] = tile[255 - ITEM + fault];
}
PAIR(lds_index_from_memory) {
  fill_tile(256);
  out[ITEM] = tile[data[ITEM + (fault ? 1000 : 0)]];
}
PAIR(scratch_partly_set) {
  u32 a[16];
  for (u32 k = 0; k < 16 - (u32)fault; ++k)
    a[k] = k * ITEM;
  HIDE(a);
  out[ITEM] = a[data[ITEM % 16]];
}
PAIR(scratch_past_end) {
  u32 a[16];
  for (u32 k = 0; k < 16; ++k)
    a[k] = k * ITEM;
  HIDE(a);
  out[ITEM] = a[data[fault ? 4000 : 4]];
}

/* ---- Undefined values ---------------------------------------------------- */

PAIR(undefined_stored) { out[ITEM] = value(data, fault); }
PAIR(undefined_address) { out[ITEM] = data[value(data, fault) & 63]; }
PAIR(undefined_branch) {
  if (value(data, fault) > 3)
    out[ITEM] = 1;
}
PAIR(undefined_loop_count) {
  u32 n = __builtin_amdgcn_readfirstlane(value(data, fault)), sum = 0;
  for (u32 k = 0; k < (n & 15); ++k)
    sum += VOLATILE(&data[k]);
  out[ITEM] = sum;
}
PAIR(undefined_in_a_sum) { out[ITEM] = data[ITEM] + 2 * value(data, fault); }
PAIR(undefined_in_a_product) {
  float x = __builtin_bit_cast(float, value(data, fault)), y = (float)ITEM;
  out[ITEM] = __builtin_bit_cast(u32, __builtin_fmaf(x, y, 1.0f));
}
PAIR(undefined_choice) { out[ITEM] = value(data, fault) == 7 ? 1 : ITEM; }
PAIR(undefined_added_by_atomic) {
  ADD(&flags[ITEM], value(data, fault), RELAXED, DEVICE);
}
PAIR(undefined_through_lds) {
  tile[ITEM] = value(data, fault);
  barrier();
  out[ITEM] = tile[ITEMS - 1 - ITEM];
}
PAIR(undefined_upper_half) {
  unsigned short a[8];
  for (u32 k = 0; k < 4; ++k)
    a[2 * k] = (unsigned short)(k + ITEM);
  HIDE(a);
  u32 x = ((u32 *)a)[data[ITEM % 4]];
  out[ITEM] = fault ? x + 1 : (x & 0xffff) + 1;
}
PAIR(undefined_in_one_lane_of_a_shuffle) {
  u32 x = ITEM;
  if (fault ? ITEM % WAVE != 5 : 1)
    x = (u32)__builtin_amdgcn_ds_bpermute((int)((ITEM + 1) % WAVE * 4),
                                          (int)data[ITEM]);
  out[ITEM] = x;
}

/* ---- Waits --------------------------------------------------------------- */

#ifdef __GFX12__
#define WAIT_LOADS(N) "s_wait_loadcnt " #N
#define WAIT_LDS "s_wait_dscnt 0"
#define WAIT_SCALARS "s_wait_kmcnt 0"
#else
#define WAIT_LOADS(N) "s_waitcnt vmcnt(" #N ")"
#define WAIT_LDS "s_waitcnt lgkmcnt(0)"
#define WAIT_SCALARS "s_waitcnt lgkmcnt(0)"
#endif
/* All of a kernel's arguments are there before: no wait for them helps. */
#define BEGIN __asm__ volatile("" : : "s"(data), "s"(flags), "s"(out))

PAIR(load_not_waited_for) {
  u32 x, y;
  BEGIN;
  if (fault)
    __asm__ volatile(
        "global_load_dword %0, %2, off\n\tv_mov_b32 %1, %0\n\t" WAIT_LOADS(0)
        : "=&v"(x), "=&v"(y)
        : "v"(&data[ITEM]));
  else
    __asm__ volatile(
        "global_load_dword %0, %2, off\n\t" WAIT_LOADS(0) "\n\tv_mov_b32 %1, %0"
        : "=&v"(x), "=&v"(y)
        : "v"(&data[ITEM]));
  out[ITEM] = y;
}
PAIR(wait_leaves_one_too_many) {
  u32 x, y, z;
  BEGIN;
  if (fault)
    __asm__ volatile("global_load_dword %0, %3, off\n\t"
                     "global_load_dword %1, %3, off offset:4\n\t" WAIT_LOADS(
                         1) "\n\tv_mov_b32 %2, %1\n\t" WAIT_LOADS(0)
                     : "=&v"(x), "=&v"(y), "=&v"(z)
                     : "v"(&data[ITEM]));
  else
    __asm__ volatile("global_load_dword %0, %3, off\n\t"
                     "global_load_dword %1, %3, off offset:4\n\t" WAIT_LOADS(
                         1) "\n\tv_mov_b32 %2, %0\n\t" WAIT_LOADS(0)
                     : "=&v"(x), "=&v"(y), "=&v"(z)
                     : "v"(&data[ITEM]));
  out[ITEM] = z;
}
PAIR(result_overwritten_too_early) {
  u32 x;
  BEGIN;
  if (fault)
    __asm__ volatile(
        "global_load_dword %0, %1, off\n\tv_mov_b32 %0, 5\n\t" WAIT_LOADS(0)
        : "=&v"(x)
        : "v"(&data[ITEM]));
  else
    __asm__ volatile(
        "global_load_dword %0, %1, off\n\t" WAIT_LOADS(0) "\n\tv_mov_b32 %0, 5"
        : "=&v"(x)
        : "v"(&data[ITEM]));
  out[ITEM] = x;
}
PAIR(lds_load_not_waited_for) {
  u32 x, y;
  BEGIN;
  fill_tile(256);
  if (fault)
    __asm__ volatile("ds_read_b32 %0, %2\n\tv_mov_b32 %1, %0\n\t" WAIT_LDS
                     : "=&v"(x), "=&v"(y)
                     : "v"((LOCAL void *)&tile[ITEM]));
  else
    __asm__ volatile("ds_read_b32 %0, %2\n\t" WAIT_LDS "\n\tv_mov_b32 %1, %0"
                     : "=&v"(x), "=&v"(y)
                     : "v"((LOCAL void *)&tile[ITEM]));
  out[ITEM] = y;
}
PAIR(scalar_load_not_waited_for) {
  u32 x, y;
  BEGIN;
  if (fault)
    __asm__ volatile(
        "s_load_dword %0, %2, 0x0\n\ts_mov_b32 %1, %0\n\t" WAIT_SCALARS
        : "=&s"(x), "=&s"(y)
        : "s"(data));
  else
    __asm__ volatile("s_load_dword %0, %2, 0x0\n\t" WAIT_SCALARS
                     "\n\ts_mov_b32 %1, %0"
                     : "=&s"(x), "=&s"(y)
                     : "s"(data));
  out[ITEM] = y;
}

/* ---- Hazards, on gfx9 ---------------------------------------------------- */

PAIR(base_address_from_the_vector_alu) {
  u32 x, low = (u32)(unsigned long)data;
  u32 high = (u32)((unsigned long)data >> 32);
  __asm__ volatile("" : "+v"(low), "+v"(high));
  if (fault)
    __asm__ volatile("s_nop 1\n\tv_readfirstlane_b32 s40, %1\n\t"
                     "v_readfirstlane_b32 s41, %2\n\t"
                     "global_load_dword %0, %3, s[40:41]\n\t" WAIT_LOADS(0)
                     : "=&v"(x)
                     : "v"(low), "v"(high), "v"(ITEM * 4)
                     : "s40", "s41");
  else
    __asm__ volatile("s_nop 1\n\tv_readfirstlane_b32 s40, %1\n\t"
                     "v_readfirstlane_b32 s41, %2\n\ts_nop 4\n\t"
                     "global_load_dword %0, %3, s[40:41]\n\t" WAIT_LOADS(0)
                     : "=&v"(x)
                     : "v"(low), "v"(high), "v"(ITEM * 4)
                     : "s40", "s41");
  out[ITEM] = x;
}
PAIR(lane_number_from_the_vector_alu) {
  u32 x, lane = data[3];
  if (fault)
    __asm__ volatile("s_nop 1\n\tv_readfirstlane_b32 s40, %1\n\tv_readlane_b32 "
                     "%0, %2, s40\n\ts_nop 1"
                     : "=s"(x)
                     : "v"(lane), "v"(ITEM)
                     : "s40");
  else
    __asm__ volatile("s_nop 1\n\tv_readfirstlane_b32 s40, %1\n\ts_nop 3\n\t"
                     "v_readlane_b32 %0, %2, s40\n\ts_nop 1"
                     : "=s"(x)
                     : "v"(lane), "v"(ITEM)
                     : "s40");
  out[ITEM] = x;
}
PAIR(dpp_of_a_new_value) {
  u32 x, y;
  if (fault)
    __asm__ volatile("v_mov_b32 %0, %2\n\tv_mov_b32_dpp %1, %0 row_ror:1 "
                     "row_mask:0xf bank_mask:0xf"
                     : "=&v"(x), "=&v"(y)
                     : "v"(ITEM));
  else
    __asm__ volatile("v_mov_b32 %0, %2\n\ts_nop 1\n\tv_mov_b32_dpp %1, %0 "
                     "row_ror:1 row_mask:0xf bank_mask:0xf"
                     : "=&v"(x), "=&v"(y)
                     : "v"(ITEM));
  out[ITEM] = y;
}

/* ---- Without a fault ----------------------------------------------------- */

ALONE(inactive_lanes_have_no_address) {
  u32 index = ITEM % 2 ? value(data, 1) : ITEM;
  if (ITEM % 2 == 0)
    out[index] = 1;
}
ALONE(undefined_times_zero) { out[ITEM] = value(data, 1) * data[0] + 5; }
ALONE(null_that_nobody_follows) {
  gptr p = ITEM < ITEMS ? out : (gptr)0;
  if (p)
    p[ITEM] = 1;
}
ALONE(last_elements_at_once) {
  const GLOBAL u32x4 *p = (const GLOBAL u32x4 *)data;
  u32x4 x = p[SIZE / 4 - 1 - ITEM];
  out[ITEM] = x.x + x.w;
}
ALONE(bytes_read_as_words) {
  ((LOCAL unsigned char *)tile)[ITEM] = (unsigned char)ITEM;
  barrier();
  if (ITEM < ITEMS / 4)
    out[ITEM] = tile[ITEM];
}
ALONE(sum_by_shuffles) {
  u32 x = ITEM;
  for (u32 k = 1; k < WAVE; k *= 2)
    x +=
        (u32)__builtin_amdgcn_ds_bpermute((int)((ITEM ^ k) % WAVE * 4), (int)x);
  out[ITEM] = x;
}
ALONE(trips_differ) {
  u32 x = 0;
  for (u32 k = data[ITEM % 7]; k; --k)
    x += VOLATILE(&data[k]);
  out[ITEM] = x;
}
ALONE(barrier_in_a_uniform_branch) {
  tile[ITEM] = ITEM;
  if (data[GROUP] == 1) {
    barrier();
    out[ITEM] = tile[ITEMS - 1 - ITEM];
  } else {
    out[2 * ITEMS + ITEM] = tile[ITEM];
  }
}
ALONE(array_set_by_a_loop) {
  u32 a[16];
  for (u32 k = 0; k < 16; ++k)
    a[data[k]] = k;
  HIDE(a);
  out[ITEM] = a[ITEM % 16];
}
ALONE(only_what_was_set_is_used) {
  u32 a[16];
  for (u32 k = 0; k < 5; ++k)
    a[data[k]] = k;
  HIDE(a);
  out[ITEM] = ITEM % 16 < 5 ? a[ITEM % 16] : 9;
}
