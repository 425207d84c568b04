//===- butterflies.cl - Transforms and sorts in strided pairs -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// One step of the Walsh-Hadamard transform: sum and difference of elements
/// `step` apart.
KERNEL walsh(global float *x, uint step) {
  uint i = globalX();
  uint low = 2 * step * (i / step) + i % step, high = low + step;
  float a = x[low], b = x[high];
  x[low] = a + b;
  x[high] = a - b;
}

/// One pass of a stage of a bitonic sort: compares elements `distance` apart,
/// a power of two.
KERNEL bitonic(global uint *x, uint distance, uint stage) {
  uint i = globalX();
  uint low = (i / distance) * 2 * distance + i % distance;
  uint high = low + distance;
  uint a = x[low], b = x[high];
  bool up = ((i >> stage) & 1) == 0;
  x[low] = up == (a < b) ? a : b;
  x[high] = up == (a < b) ? b : a;
}

/// A complex product.
static float2 times(float2 a, float2 b) {
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/// Sine or cosine (a quarter turn ahead) to float's precision, as a library
/// without shortcuts does it: the angle is reduced to an eighth of a turn with
/// pi/2 in three parts, both polynomials are evaluated, one is chosen.
static float sine(float angle, uint quarters) {
  float count = __builtin_rintf(angle * 0.636619772f);
  float x = __builtin_fmaf(count, -1.57079601f, angle);
  x = __builtin_fmaf(count, -3.13916473e-7f, x);
  x = __builtin_fmaf(count, -5.39030253e-15f, x);
  float square = x * x;
  float odd = __builtin_fmaf(square, -1.95152959e-4f, 8.33216087e-3f);
  odd = __builtin_fmaf(square, odd, -1.66666546e-1f);
  odd = __builtin_fmaf(square * x, odd, x);
  float even = __builtin_fmaf(square, 2.44331571e-5f, -1.38873162e-3f);
  even = __builtin_fmaf(square, even, 4.16666457e-2f);
  even = __builtin_fmaf(square, even, -0.5f);
  even = __builtin_fmaf(square, even, 1.0f);
  uint quadrant = (uint)(int)count + quarters;
  float value = quadrant & 1 ? even : odd;
  value = quadrant & 2 ? -value : value;
  return __builtin_isfinite(angle) ? value : __builtin_nanf("");
}

/// e to the power of -2 pi i times the argument.
static float2 root(float turns) {
  float angle = -6.28318531f * turns;
  return (float2)(sine(angle, 1), sine(angle, 0));
}

/// The transform of 8 complex numbers, in place; result k is at the place with
/// k's bits reversed.
static void transform8(float2 a[8]) {
#pragma unroll
  for (uint gap = 4; gap > 0; gap /= 2)
#pragma unroll
    for (uint i = 0; i < 8; ++i)
      if (!(i & gap)) {
        float2 low = a[i], high = a[i + gap];
        // Each component by itself: clang would negate both with a packed
        // addition to a constant, which the simulator does not know.
        float x = low.x - high.x, y = low.y - high.y, back = high.x - low.x;
        a[i] = low + high;
        uint eighth = (i & (gap - 1)) * (4 / gap);
        if (eighth == 0)
          a[i + gap] = (float2)(x, y);
        else if (eighth == 1)
          a[i + gap] = 0.70710678f * (float2)(x + y, y - x);
        else if (eighth == 2)
          a[i + gap] = (float2)(y, back);
        else
          a[i + gap] = 0.70710678f * (float2)(y - x, back - y);
      }
}

/// Rows of 72 leave room so that neighbouring banks are met both ways.
#define ROW 72

/// Each work-item gives its 8 numbers to others of its wave and takes 8, real
/// parts first. `to` and `from` are places in LDS of number k.
#define EXCHANGE(to, from)                                                     \
  _Pragma("unroll") for (uint k = 0; k < 8; ++k) numbers[to] =                 \
      a[reversed[k]].x;                                                        \
  synchronize();                                                               \
  _Pragma("unroll") for (uint k = 0; k < 8; ++k) b[k].x = numbers[from];       \
  synchronize();                                                               \
  _Pragma("unroll") for (uint k = 0; k < 8; ++k) numbers[to] =                 \
      a[reversed[k]].y;                                                        \
  synchronize();                                                               \
  _Pragma("unroll") for (uint k = 0; k < 8; ++k) b[k].y = numbers[from];       \
  synchronize();

/// The transform of 512 complex numbers by 64 work-items, in place: three steps
/// of radix 8 and two exchanges through LDS.
KERNEL transform512(global float2 *x) {
  local float numbers[8 * ROW];
  const uint reversed[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  uint item = localX();
  global float2 *mine = x + groupX() * 512 + item;
  float2 a[8], b[8];
#pragma unroll
  for (uint k = 0; k < 8; ++k)
    a[k] = mine[64 * k];
  transform8(a);
#pragma unroll
  for (uint k = 1; k < 8; ++k)
    a[reversed[k]] = times(a[reversed[k]], root((float)(item * k) / 512));
  // From (item; k) to (8 k + item % 8; item / 8).
  EXCHANGE(k * ROW + item + item / 8, (item / 8) * ROW + item % 8 + 9 * k)
  transform8(b);
#pragma unroll
  for (uint k = 0; k < 8; ++k)
    a[k] = b[k];
#pragma unroll
  for (uint k = 1; k < 8; ++k)
    a[reversed[k]] = times(a[reversed[k]], root((float)(item % 8 * k) / 64));
  // From (8 p + q; k) to (8 k + p; q).
  EXCHANGE((item / 8) * ROW + 9 * (item % 8) + k,
           (item % 8) * ROW + 9 * k + item / 8)
  transform8(b);
#pragma unroll
  for (uint k = 0; k < 8; ++k)
    mine[64 * k] = b[reversed[k]];
}
