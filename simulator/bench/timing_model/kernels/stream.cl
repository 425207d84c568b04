//===- stream.cl - Streams of memory, and nothing at all ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

KERNEL empty(void) {}

/// One element a work-item: a = b + factor * c.
KERNEL triad(global float *a, global const float *b, global const float *c,
             float factor, uint count) {
  uint i = globalX();
  if (i < count)
    a[i] = b[i] + factor * c[i];
}

KERNEL vector_add(global float *a, global const float *b, global const float *c,
                  uint count) {
  uint i = globalX();
  if (i < count)
    a[i] = b[i] + c[i];
}

KERNEL relu(global float *result, global const float *x, uint count) {
  uint i = globalX();
  if (i < count)
    result[i] = x[i] > 0 ? x[i] : 0;
}

/// What the runtime's copy between buffers comes to: 16 bytes a step, the grid
/// strides over the rest. `count` is in steps.
KERNEL copy(global uint4 *result, global const uint4 *x, ulong count) {
  ulong stride = (ulong)groupsX() * sizeX();
  for (ulong i = globalX(); i < count; i += stride)
    result[i] = x[i];
}

/// The sum of the elements that a work-item meets striding over the array.
KERNEL read_stream(global float *sums, global const float *x, ulong count) {
  ulong stride = (ulong)groupsX() * sizeX();
  float sum = 0;
  for (ulong i = globalX(); i < count; i += stride)
    sum += x[i];
  sums[globalX()] = sum;
}

KERNEL write_stream(global float *x, float value, ulong count) {
  ulong stride = (ulong)groupsX() * sizeX();
  for (ulong i = globalX(); i < count; i += stride)
    x[i] = value;
}

KERNEL modify_stream(global float *x, float factor, ulong count) {
  ulong stride = (ulong)groupsX() * sizeX();
  for (ulong i = globalX(); i < count; i += stride)
    x[i] = x[i] * factor + 1.0f;
}

/// 16 dependent multiply-adds between a load and a store of the same element.
KERNEL mix(global float *x, float factor, uint count) {
  uint i = globalX();
  if (i >= count)
    return;
  float value = x[i];
#pragma unroll
  for (int k = 0; k < 16; ++k)
    value = value * factor + 0.5f;
  x[i] = value;
}
