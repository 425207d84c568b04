/*===- defined.c - Kernels that have something undefined ----------*- C -*-===*\
|*
|* Part of the lnbwd project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Correct kernels in which a register, a part of one or a part of memory is not
|* defined, and not used either; those whose name ends in _bad use it. Compiled
|* for several chips by clang.
|*
\*===----------------------------------------------------------------------===*/

#define KERNEL __attribute__((amdgpu_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define ITEM __builtin_amdgcn_workitem_id_x()

typedef float float3 __attribute__((ext_vector_type(3)));
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef unsigned char uchar;

/* A value that clang knows nothing of, in a register that nobody wrote; without
   optimisation every variable begins as such a thing on the stack. */
#ifdef __OPTIMIZE__
#define UNKNOWN(X) __asm__ volatile("" : "=v"(X))
#else
#define UNKNOWN(X)
#endif

struct Padded {
  short Kind;
  int Count;
  double Weight;
};

/* Structures whose padding nobody has written, copied whole. */
KERNEL void copy_padded(const struct Padded GLOBAL *x, struct Padded GLOBAL *y,
                        int GLOBAL *z) {
  struct Padded P = x[ITEM];
  y[ITEM] = P;
  z[ITEM] = P.Kind + P.Count + (int)P.Weight;
}

/* Through an array that is indexed at run time, that is, scratch memory. */
KERNEL void padded_in_scratch(struct Padded GLOBAL *y, int GLOBAL *z, int n) {
  struct Padded List[4];
  for (int K = 0; K < 4; ++K) {
    List[K].Kind = (short)(K + n);
    List[K].Count = K * n;
    List[K].Weight = K;
  }
  struct Padded P = List[(ITEM + n) & 3];
  y[ITEM] = P;
  z[ITEM] = P.Kind + P.Count + (int)P.Weight;
}

/* Vectors of three lie four apart. */
KERNEL void vectors_of_three(const float3 GLOBAL *x, float GLOBAL *y,
                             float3 GLOBAL *w) {
  float3 V = x[ITEM];
  y[ITEM] = V.x + V.y + V.z;
  w[ITEM] = V * 2.0f;
}

struct Fields {
  unsigned A : 5, B : 9, C : 18;
};
/* One field after the other into a word that starts as anything. */
KERNEL void bit_fields(unsigned GLOBAL *y, int n) {
  union {
    struct Fields F;
    unsigned Word;
  } U;
  UNKNOWN(U.Word);
  U.F.A = ITEM;
  U.F.B = (unsigned)n;
  U.F.C = ITEM + (unsigned)n;
  y[ITEM] = U.Word;
}
KERNEL void bit_fields_bad(unsigned GLOBAL *y, int n) {
  union {
    struct Fields F;
    unsigned Word;
  } U;
  UNKNOWN(U.Word);
  U.F.A = ITEM;
  U.F.C = ITEM + (unsigned)n;
  y[ITEM] = U.Word;
}

/* Halves put beside each other, bytes likewise. */
KERNEL void halves(const _Float16 GLOBAL *x, half2 GLOBAL *y) {
  half2 V;
  UNKNOWN(V);
  V.x = x[ITEM];
  V.y = x[ITEM + 1] * (_Float16)2;
  y[ITEM] = V + V;
}
KERNEL void halves_bad(const _Float16 GLOBAL *x, half2 GLOBAL *y) {
  half2 V;
  UNKNOWN(V);
  V.x = x[ITEM];
  y[ITEM] = V + V;
}
KERNEL void bytes(const uchar GLOBAL *x, unsigned GLOBAL *y) {
  unsigned V;
  UNKNOWN(V);
  for (int K = 0; K < 4; ++K)
    V = (V & ~(0xffu << 8 * K)) | (unsigned)x[ITEM * 4 + K] << 8 * K;
  y[ITEM] = V;
}

/* What is set only where it is wanted. */
KERNEL void chosen(const float GLOBAL *x, float GLOBAL *y, int n) {
  float V;
  UNKNOWN(V);
  if ((int)ITEM < n)
    V = x[ITEM];
  y[ITEM] = (int)ITEM < n ? V : 0;
}
KERNEL void chosen_bad(const float GLOBAL *x, float GLOBAL *y, int n) {
  float V;
  UNKNOWN(V);
  if ((int)ITEM < n)
    V = x[ITEM];
  y[ITEM] = (int)ITEM <= n ? V : 0;
}

/* The first that is found, in a loop that lanes leave one by one. */
KERNEL void search(const int GLOBAL *x, int GLOBAL *y, int n) {
  int Found, Have = 0;
  UNKNOWN(Found);
  for (int K = 0; K < n && !Have; ++K)
    if (x[K] == (int)ITEM) {
      Found = K;
      Have = 1;
    }
  y[ITEM] = Have ? Found : -1;
}
KERNEL void search_bad(const int GLOBAL *x, int GLOBAL *y, int n) {
  int Found;
  UNKNOWN(Found);
  for (int K = 0; K < n; ++K)
    if (x[K] == (int)ITEM)
      Found = K;
  y[ITEM] = Found;
}

/* 64-bit products of which one half is wanted; the upper half of an addend is
   anything. */
KERNEL void wide_products(const unsigned GLOBAL *x, unsigned GLOBAL *y,
                          unsigned long n) {
  unsigned long Junk;
  UNKNOWN(Junk);
  unsigned long Add = (Junk << 32) | (unsigned)n;
  y[ITEM] = (unsigned)(x[ITEM] * 5ul + Add);
}

/* A neighbour that is not there is not asked. */
KERNEL void neighbours(const int GLOBAL *x, int GLOBAL *y, int n) {
  if ((int)ITEM < n) {
    int V = x[ITEM];
    int Next = __builtin_amdgcn_ds_bpermute(((int)ITEM + 1) * 4, V);
    y[ITEM] = (int)ITEM + 1 < n ? Next : V;
  }
}
KERNEL void neighbours_bad(const int GLOBAL *x, int GLOBAL *y, int n) {
  if ((int)ITEM < n) {
    int V = x[ITEM];
    y[ITEM] = __builtin_amdgcn_ds_bpermute(((int)ITEM + 1) * 4, V);
  }
}

/* A value that all lanes know is read from one that is not active. */
KERNEL void from_a_lane(const int GLOBAL *x, int GLOBAL *y) {
  int V = x[ITEM & 31];
  int First = __builtin_amdgcn_readfirstlane(V);
  if (ITEM & 1)
    y[ITEM] = First + __builtin_amdgcn_readfirstlane(V * 3);
  else
    y[ITEM] = First;
}
