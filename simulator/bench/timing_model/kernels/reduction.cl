//===- reduction.cl - Sums and running sums through LDS -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// Each workgroup of 256 adds up 512 elements, in a tree with a barrier a step.
KERNEL reduce(global float *partials, global const float *x, uint count) {
  local float sums[256];
  uint item = localX(), i = groupX() * 512 + item;
  float sum = i < count ? x[i] : 0;
  if (i + 256 < count)
    sum += x[i + 256];
  sums[item] = sum;
  synchronize();
  for (uint step = 128; step > 0; step >>= 1) {
    if (item < step)
      sums[item] += sums[item + step];
    synchronize();
  }
  if (item == 0)
    partials[groupX()] = sums[0];
}

/// Exclusive sums within 512 elements a workgroup: up the tree, and down again.
/// The strides are powers of two, so that banks conflict. `totals` may be null.
#define SCAN(type, result, x)                                                  \
  local type tree[512];                                                        \
  uint item = localX(), first = groupX() * 512;                                \
  uint low = first + 2 * item, high = low + 1, stride = 1;                     \
  tree[2 * item] = low < count ? x[low] : 0;                                   \
  tree[2 * item + 1] = high < count ? x[high] : 0;                             \
  for (uint pairs = 256; pairs > 0; pairs >>= 1) {                             \
    synchronize();                                                             \
    if (item < pairs)                                                          \
      tree[stride * (2 * item + 2) - 1] += tree[stride * (2 * item + 1) - 1];  \
    stride *= 2;                                                               \
  }                                                                            \
  if (item == 0) {                                                             \
    if (totals)                                                                \
      totals[groupX()] = tree[511];                                            \
    tree[511] = 0;                                                             \
  }                                                                            \
  for (uint pairs = 1; pairs <= 256; pairs *= 2) {                             \
    stride >>= 1;                                                              \
    synchronize();                                                             \
    if (item < pairs) {                                                        \
      uint left = stride * (2 * item + 1) - 1, right = left + stride;          \
      type value = tree[left];                                                 \
      tree[left] = tree[right];                                                \
      tree[right] += value;                                                    \
    }                                                                          \
  }                                                                            \
  synchronize();                                                               \
  if (low < count)                                                             \
    result[low] = tree[2 * item];                                              \
  if (high < count)                                                            \
    result[high] = tree[2 * item + 1];

/// What comes before a workgroup's 512 elements is added to each of them.
#define ADD_TOTALS                                                             \
  uint item = localX(), first = groupX() * 512;                                \
  if (first + item < count)                                                    \
    x[first + item] += totals[groupX()];                                       \
  if (first + item + 256 < count)                                              \
    x[first + item + 256] += totals[groupX()];

KERNEL scan_f32(global float *result, global const float *x,
                global float *totals, uint count){SCAN(float, result, x)} KERNEL
    scan_add_f32(global float *x, global const float *totals,
                 uint count){ADD_TOTALS} /// In place.
KERNEL scan_u32(global uint *x, global uint *totals,
                uint count){SCAN(uint, x, x)} KERNEL
    scan_add_u32(global uint *x, global const uint *totals, uint count) {
  ADD_TOTALS
}
