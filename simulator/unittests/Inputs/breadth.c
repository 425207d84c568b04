/*===- breadth.c - Ordinary kernels, for instructions of all kinds -*- C
-*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What others' code does beside that of kernels.c: scans, products of matrices
|* on the matrix units, packed arithmetic, buffer loads, wide integers, loops
|* that lanes leave early, calls through memory. Compiled by clang for every
|* chip, without any library.
|*
\*===----------------------------------------------------------------------===*/

#define KERNEL __attribute__((amdgpu_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef short short4_ __attribute__((ext_vector_type(4)));
typedef short short8_ __attribute__((ext_vector_type(8)));
typedef short short16_ __attribute__((ext_vector_type(16)));
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef float float8_ __attribute__((ext_vector_type(8)));
typedef float float16_ __attribute__((ext_vector_type(16)));
typedef double double4_ __attribute__((ext_vector_type(4)));
typedef int int2_ __attribute__((ext_vector_type(2)));
typedef int int4_ __attribute__((ext_vector_type(4)));
typedef int int8_ __attribute__((ext_vector_type(8)));

static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* Inclusive scan of 256 elements of each workgroup. */
static SHARED unsigned ScanSpace[2][256];
KERNEL void scan(const unsigned GLOBAL *x, unsigned GLOBAL *y) {
  unsigned i = ITEM, from = 0;
  ScanSpace[0][i] = x[GROUP * 256 + i];
  barrier();
  for (unsigned step = 1; step < 256; step *= 2) {
    unsigned v = ScanSpace[from][i];
    if (i >= step)
      v += ScanSpace[from][i - step];
    ScanSpace[1 - from][i] = v;
    from = 1 - from;
    barrier();
  }
  y[GROUP * 256 + i] = ScanSpace[from][i];
}

/* f16 and bf16 in pairs: y = max(a * x + b, 0), and a Newton step of 1 / x. */
KERNEL void packed(const half2 GLOBAL *x, const bf16x2 GLOBAL *z,
                   half2 GLOBAL *y, bf16x2 GLOBAL *w) {
  half2 v = x[ITEM];
  half2 r = v * (half2){1.5f16, -0.5f16} + (half2){0.25f16, 2.0f16};
  y[ITEM] = __builtin_elementwise_max(r, (half2){0.0f16, 0.0f16});
  bf16x2 s = z[ITEM];
  w[ITEM] = s * s + s;
}

/* A buffer whose descriptor ends before the last items: these read 0 and write
   nothing. */
KERNEL void buffers(const float GLOBAL *x, float GLOBAL *y, int bytes) {
  __amdgpu_buffer_rsrc_t in =
      __builtin_amdgcn_make_buffer_rsrc((void *)x, 0, bytes, RSRC_FLAGS);
  __amdgpu_buffer_rsrc_t out =
      __builtin_amdgcn_make_buffer_rsrc((void *)y, 0, bytes, RSRC_FLAGS);
  int offset = (GROUP * 64 + ITEM) * 16;
  int4_ v = __builtin_amdgcn_raw_buffer_load_b128(in, offset, 0, 0);
  int one = __builtin_amdgcn_raw_buffer_load_b32(in, offset, 4, 0);
  v.x += one;
  __builtin_amdgcn_raw_buffer_store_b128(v, out, offset, 0, 0);
}

/* 64-bit integers: products, quotients, shifts, a greatest common divisor whose
   loop every lane leaves when it is done. */
KERNEL void integers64(const unsigned long GLOBAL *a,
                       const unsigned long GLOBAL *b, unsigned long GLOBAL *y) {
  unsigned long x = a[ITEM], z = b[ITEM];
  unsigned long product = x * z + (x >> (z & 63)) - (x << (x & 31));
  unsigned long quotient = x / (z | 1);
  long remainder = (long)x % ((long)z | 1);
  unsigned long p = x | 1, q = z | 1;
  while (q) {
    unsigned long t = p % q;
    p = q;
    q = t;
  }
  y[4 * ITEM] = product;
  y[4 * ITEM + 1] = quotient;
  y[4 * ITEM + 2] = (unsigned long)remainder;
  y[4 * ITEM + 3] = p;
}

/* Lanes leave at different turns, by return, break and continue. */
KERNEL void early_exit(const int GLOBAL *x, int GLOBAL *y, int n) {
  int key = (int)ITEM % 7, found = -1, seen = 0;
  if (ITEM >= 200)
    return;
  for (int i = 0; i < n; ++i) {
    int v = x[i];
    if (v < 0)
      continue;
    ++seen;
    if (v % 7 == key && v > (int)ITEM) {
      found = i;
      break;
    }
    if (seen > 40)
      break;
  }
  y[2 * ITEM] = found;
  y[2 * ITEM + 1] = seen;
}

/* A call through an array in memory, whose place is known only at run time. */
__attribute__((noinline)) static int mix(int *table, int n, int depth) {
  int local[8];
  for (int i = 0; i < 8; ++i)
    local[i] = table[(i * 3 + depth) % n];
  if (depth == 0)
    return local[n & 7];
  local[depth & 7] += depth;
  return mix(local, 8, depth - 1) + local[n & 7];
}
KERNEL void calls_scratch(int GLOBAL *x, int n) {
  int table[16];
  for (int i = 0; i < 16; ++i)
    table[i] = x[ITEM] * i + i;
  x[ITEM] = mix(table, 16, n);
}

/* Sums over all lanes of a wave, whatever its size, by ballots and swizzles. */
KERNEL void ballots(const unsigned GLOBAL *x, unsigned GLOBAL *y) {
  unsigned v = x[ITEM];
#if WAVE == 64
  unsigned long odd = __builtin_amdgcn_ballot_w64(v & 1);
  unsigned count = __builtin_popcountl(odd);
#else
  unsigned odd = __builtin_amdgcn_ballot_w32(v & 1);
  unsigned count = __builtin_popcount(odd);
#endif
  unsigned sum = v;
  for (int step = 1; step < WAVE; step *= 2)
    sum += (unsigned)__builtin_amdgcn_ds_bpermute(
        4 * (int)((ITEM % WAVE) ^ (unsigned)step), (int)sum);
  y[2 * ITEM] = count;
  y[2 * ITEM + 1] = sum;
}

/* Atomics that return: every item takes a ticket, and the largest value stays.
 */
KERNEL void tickets(unsigned GLOBAL *counter, unsigned GLOBAL *taken,
                    int GLOBAL *largest, float GLOBAL *sum) {
  unsigned t = __scoped_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED,
                                         __MEMORY_SCOPE_DEVICE);
  taken[GROUP * 64 + ITEM] = t;
  __scoped_atomic_fetch_max(largest, (int)(GROUP * 64 + ITEM), __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_add(sum, 0.5f, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* C (SIZE x SIZE) = A (SIZE x K) * B (K x SIZE), a wave for all of it; A is
   row-major, B column-major. DEPTH of K at once, of which a lane has EACH in a
   FACTOR; PRODUCT adds that of A and B to sum; element r is of that ROW. */
#define GEMM(NAME, SIZE, DEPTH, EACH, FACTOR, SUM, RESULT, PRODUCT, ROW)       \
  KERNEL void NAME(const FACTOR GLOBAL *a, const FACTOR GLOBAL *b,             \
                   RESULT GLOBAL *c, int k) {                                  \
    int i = ITEM % SIZE, part = ITEM / SIZE;                                   \
    SUM sum = 0;                                                               \
    for (int step = 0; step < k; step += DEPTH) {                              \
      int place = (i * k + step) / EACH + part % (DEPTH / EACH);               \
      FACTOR A = a[place], B = b[place];                                       \
      sum = PRODUCT;                                                           \
    }                                                                          \
    for (int r = 0; r < (int)(sizeof(SUM) / sizeof(RESULT)); ++r)              \
      c[(ROW) * SIZE + i] = sum[r];                                            \
  }
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define MFMA(TYPES) __builtin_amdgcn_mfma_##TYPES(A, B, sum, 0, 0, 0)
GEMM(gemm_f16, 16, 16, 4, half4, float4_, float, MFMA(f32_16x16x16f16),
     4 * part + r)
GEMM(gemm_bf16, 16, 16, 4, short4_, float4_, float, MFMA(f32_16x16x16bf16_1k),
     4 * part + r)
GEMM(gemm_f32, 16, 4, 1, float, float4_, float, MFMA(f32_16x16x4f32),
     4 * part + r)
GEMM(gemm_f64, 16, 4, 1, double, double4_, double, MFMA(f64_16x16x4f64),
     4 * r + part)
GEMM(gemm_f16_32, 32, 8, 4, half4, float16_, float, MFMA(f32_32x32x8f16),
     8 * (r / 4) + 4 * part + r % 4)
#if defined(__gfx90a__)
GEMM(gemm_i8, 16, 16, 4, int, int4_, int, MFMA(i32_16x16x16i8), 4 * part + r)
#else
GEMM(gemm_i8, 16, 32, 8, long, int4_, int, MFMA(i32_16x16x32_i8), 4 * part + r)
#endif
/* Sixteen products of 4 x 4 by 4 x 4 each. */
KERNEL void gemm_blocks(const half4 GLOBAL *a, const half4 GLOBAL *b,
                        float GLOBAL *c) {
  int i = ITEM % 4, block = ITEM / 4;
  float4_ sum = __builtin_amdgcn_mfma_f32_4x4x4f16(
      a[block * 4 + i], b[block * 4 + i], (float4_)0, 0, 0, 0);
  for (int r = 0; r < 4; ++r)
    c[block * 16 + r * 4 + i] = sum[r];
}
#endif
#if defined(__gfx950__)
GEMM(gemm_f16_deep, 16, 32, 8, half8, float4_, float, MFMA(f32_16x16x32_f16),
     4 * part + r)
GEMM(gemm_bf16_deep, 16, 32, 8, bf16x8, float4_, float, MFMA(f32_16x16x32_bf16),
     4 * part + r)
#endif
#define WMMA(TYPES) __builtin_amdgcn_wmma_f32_16x16x16_##TYPES(A, B, sum)
#define WMMA_I8(WAVE)                                                          \
  __builtin_amdgcn_wmma_i32_16x16x16_iu8_##WAVE(1, A, 1, B, sum, 0)
#if defined(__gfx1100__) && WAVE == 32
GEMM(gemm_f16, 16, 16, 16, half16, float8_, float, WMMA(f16_w32), 2 * r + part)
GEMM(gemm_bf16, 16, 16, 16, short16_, float8_, float, WMMA(bf16_w32),
     2 * r + part)
GEMM(gemm_i8, 16, 16, 16, int4_, int8_, int, WMMA_I8(w32), 2 * r + part)
#endif
#if defined(__gfx1100__) && WAVE == 64
GEMM(gemm_f16, 16, 16, 16, half16, float4_, float, WMMA(f16_w64), 4 * r + part)
#endif
#if defined(__gfx1201__) && WAVE == 32
GEMM(gemm_f16, 16, 16, 8, half8, float8_, float, WMMA(f16_w32_gfx12),
     r + 8 * part)
GEMM(gemm_bf16, 16, 16, 8, short8_, float8_, float, WMMA(bf16_w32_gfx12),
     r + 8 * part)
GEMM(gemm_i8, 16, 16, 8, int2_, int8_, int, WMMA_I8(w32_gfx12), r + 8 * part)
#endif
