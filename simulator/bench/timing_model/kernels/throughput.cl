//===- throughput.cl - Arithmetic and shuffles of one wave a SIMD ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four independent accumulators, a loop with one operation on each.
//
//===----------------------------------------------------------------------===//

#include "device.h"

#define LOOP(type, factor, addend)                                             \
  type a = (type)(localX()), b = a + (type)(1), c = a + (type)(2),             \
       d = a + (type)(3);                                                      \
  _Pragma("unroll 1") for (uint i = 0; i < operations; i += 4) {               \
    a = a * factor + addend;                                                   \
    b = b * factor + addend;                                                   \
    c = c * factor + addend;                                                   \
    d = d * factor + addend;                                                   \
  }                                                                            \
  result[globalX()] = a + b + c + d;

KERNEL fma_f32(global float *result,
               uint operations){LOOP(float, 0.999f, 0.001f)}

KERNEL
    fma_f64(global double *result, uint operations){LOOP(double, 0.999, 0.001)}

KERNEL fma_f16(global half2_t *result, uint operations){
    LOOP(half2_t, (half2_t)(0.5h), (half2_t)(0.25h))}

KERNEL mad_i32(global uint *result, uint operations){LOOP(uint, 3u, 1u)}

/// Each step moves the value of another lane here.
#define SHUFFLE(source)                                                        \
  int from = (int)(source) << 2;                                               \
  int value = (int)globalX();                                                  \
  _Pragma("unroll 1") for (uint i = 0; i < operations; ++i) value =            \
      __builtin_amdgcn_ds_bpermute(from, value);                               \
  result[globalX()] = value;

KERNEL shuffle_any(global int *result,
                   uint operations){SHUFFLE((laneOfWave() + 1) & 63)} KERNEL
    shuffle_up(global int *result, uint operations) {
  uint lane = laneOfWave();
  SHUFFLE(lane < 1 ? lane : lane - 1)
}
KERNEL shuffle_down(global int *result, uint operations) {
  uint lane = laneOfWave();
  SHUFFLE(lane > 62 ? lane : lane + 1)
}
KERNEL shuffle_xor(global int *result, uint operations) {
  SHUFFLE(laneOfWave() ^ 1)
}
