/*===- kernels.c - Kernels for the simulator's tests --------------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Ordinary kernels in C, which the tests compile with clang for every chip and
|* compare with host code. No device libraries: only clang's built-ins.
|*
\*===----------------------------------------------------------------------===*/

#define KERNEL __attribute__((amdgpu_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

SHARED float Partial[256];

/* y[g] = sum of x[g * n + i]^2 / n, by a tree in LDS; 256 work-items. */
KERNEL void reduce_lds(const float GLOBAL *x, float GLOBAL *y, int n) {
  int t = ITEM;
  float sum = 0;
  for (long i = (long)GROUP * n + t; i < (long)(GROUP + 1) * n; i += 256)
    sum += x[i] * x[i];
  Partial[t] = sum;
  barrier();
  for (int k = 128; k > 0; k >>= 1) {
    if (t < k)
      Partial[t] += Partial[t + k];
    barrier();
  }
  if (t == 0)
    y[GROUP] = Partial[0] / n;
}

/* Sum over a row of 16 lanes with DPP; every lane gets the total. */
#define DPP_ADD(V, CONTROL)                                                    \
  (V) += __builtin_bit_cast(                                                   \
      float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, V),        \
                                         CONTROL, 0xf, 0xf, 1))
KERNEL void reduce_dpp(const float GLOBAL *x, float GLOBAL *y) {
  float v = x[GROUP * 64 + ITEM];
  DPP_ADD(v, 0x121); /* row_ror:1 */
  DPP_ADD(v, 0x122);
  DPP_ADD(v, 0x124);
  DPP_ADD(v, 0x128);
  y[GROUP * 64 + ITEM] = v;
}

/* Products in f32, stored as f32, f16 and bf16; f16 arithmetic. */
KERNEL void convert(const _Float16 GLOBAL *x, const __bf16 GLOBAL *z,
                    float GLOBAL *y, _Float16 GLOBAL *w, __bf16 GLOBAL *q,
                    int n) {
  long i = (long)GROUP * 256 + ITEM;
  if (i < n) {
    float f = (float)x[i] * (float)z[i];
    y[i] = f;
    w[i] = (_Float16)f;
    q[i] = (__bf16)f;
    _Float16 h = x[i];
    w[i + n] = h * h + h;
  }
}

typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));

/* Sixteen bytes at a time: a * s + b in f32, and packed f16 arithmetic. */
KERNEL void vectors(const bf16x8 GLOBAL *a, const half8 GLOBAL *b,
                    bf16x8 GLOBAL *out, half8 GLOBAL *squares, float s) {
  long i = (long)GROUP * 64 + ITEM;
  float8 f = __builtin_convertvector(a[i], float8) * s +
             __builtin_convertvector(b[i], float8);
  out[i] = __builtin_convertvector(f, bf16x8);
  squares[i] = b[i] * b[i];
}

/* Collatz steps: every lane loops a different number of times. */
KERNEL void divergent(const unsigned GLOBAL *x, unsigned GLOBAL *y, int n) {
  int i = GROUP * 256 + ITEM;
  if (i >= n)
    return;
  unsigned v = x[i], steps = 0;
  while (v != 1) {
    if (steps > 200)
      break;
    v = v & 1 ? 3 * v + 1 : v >> 1;
    ++steps;
  }
  y[i] = steps;
}

/* f64 and 64-bit integers, division included. */
KERNEL void wide(double GLOBAL *x, long GLOBAL *l, unsigned long GLOBAL *u,
                 int n) {
  long i = (long)GROUP * 256 + ITEM;
  if (i < n) {
    x[i] = x[i] / (x[i] + 1.0);
    l[i] = (l[i] * 12345 >> 3) / 7;
    u[i] = (u[i] << (i & 31)) % (unsigned long)(i + 3) +
           (unsigned long)__builtin_popcountl(u[i]) +
           (unsigned long)__builtin_clzl(u[i] | 1);
  }
}

/* The byte offset of p[i * stride] is beyond 32 bits. */
KERNEL void far_index(const float GLOBAL *p, float GLOBAL *y, long base,
                      long stride) {
  long i = ITEM;
  y[i] = p[base + (i + 1) * stride];
}

/* An array on the stack with indices known only at run time. */
KERNEL void stack(int GLOBAL *x, int n) {
  volatile int a[64];
  int t = ITEM;
  for (int i = 0; i < 64; i++)
    a[i] = i * t;
  x[t] = a[(t * n) & 63];
}

/* Real calls, recursion included. */
__attribute__((noinline)) static int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
KERNEL void calls(int GLOBAL *x) { x[ITEM] = fibonacci(ITEM & 7); }

SHARED float Tile[32 * 33];

/* out = in^T, tiles of 32 x 32 through LDS; 256 work-items. */
KERNEL void transpose(const float GLOBAL *in, float GLOBAL *out, int n) {
  int tx = ITEM & 31, ty = ITEM >> 5;
  int bx = GROUP % (n / 32), by = GROUP / (n / 32);
  for (int k = 0; k < 32; k += 8)
    Tile[(ty + k) * 33 + tx] = in[(by * 32 + ty + k) * n + bx * 32 + tx];
  barrier();
  for (int k = 0; k < 32; k += 8)
    out[(bx * 32 + ty + k) * n + by * 32 + tx] = Tile[tx * 33 + ty + k];
}

SHARED unsigned Bins[64];

/* Counts of the low six bits, first in LDS, then in memory. */
KERNEL void histogram(const unsigned GLOBAL *x, unsigned GLOBAL *bins, int n) {
  if (ITEM < 64)
    Bins[ITEM] = 0;
  barrier();
  for (int i = GROUP * 256 + ITEM; i < n; i += 1024)
    __atomic_fetch_add(&Bins[x[i] & 63], 1, __ATOMIC_RELAXED);
  barrier();
  if (ITEM < 64)
    __atomic_fetch_add(&bins[ITEM], Bins[ITEM], __ATOMIC_RELAXED);
}

/* Running maximum and sum of exponentials over one row of 64, as softmax does;
   the lanes talk through ds_bpermute. */
KERNEL void softmax64(const float GLOBAL *x, float GLOBAL *y) {
  int t = ITEM;
  float v = x[GROUP * 64 + t], top = v;
  Partial[t] = v;
  barrier();
  for (int i = 0; i < 64; ++i)
    top = __builtin_fmaxf(top, Partial[i]);
  float e = __builtin_amdgcn_exp2f((v - top) * 1.4426950408889634f);
  barrier();
  Partial[t] = e;
  barrier();
  float sum = 0;
  for (int i = 0; i < 64; ++i)
    sum += Partial[i];
  y[GROUP * 64 + t] = e / sum;
}

typedef float float16v __attribute__((ext_vector_type(16)));

/* A vector indexed at run time, with the same index in all lanes and with
   different ones: register indexing or a loop over the indices. */
KERNEL void dynamic_vector(const float GLOBAL *x, float GLOBAL *y, int n) {
  float16v v = 0;
  for (int i = 0; i < 16; ++i)
    v[i] = x[ITEM + i];
  v[n & 15] = 100;
  v[ITEM & 15] += 1;
  y[ITEM] = v[(n + 3) & 15] + v[(ITEM >> 2) & 15];
}

#ifdef __GFX12__
unsigned wave_id(void) __asm__("llvm.amdgcn.wave.id");
#else
static unsigned wave_id(void) {
  return ITEM / __builtin_amdgcn_wavefrontsize();
}
#endif

/* Of each work-item, its wave's number in the workgroup. */
KERNEL void wave_numbers(unsigned GLOBAL *y, int n) {
  y[GROUP * n + ITEM] = wave_id();
}

/* Counts the workgroups of each row of the grid, by its second dimension alone:
   those of the third one are the same to it. */
KERNEL void rows_of_groups(unsigned GLOBAL *y) {
  if (ITEM == 0)
    __atomic_fetch_add(&y[__builtin_amdgcn_workgroup_id_y()], 1,
                       __ATOMIC_RELAXED);
}
