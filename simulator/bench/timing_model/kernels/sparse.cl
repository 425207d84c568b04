//===- sparse.cl - Sparse matrices, and shortest paths --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// A row a work-item, in compressed rows.
KERNEL sparse_rows(global float *y, global const float *values,
                   global const int *columns, global const int *starts,
                   global const float *x, uint rows) {
  uint i = globalX();
  if (i >= rows)
    return;
  float sum = 0;
  for (int k = starts[i]; k < starts[i + 1]; ++k)
    sum += values[k] * x[columns[k]];
  y[i] = sum;
}

/// A row a wave: lanes stride over it, and add up in LDS without a barrier.
KERNEL page_rank(global float *ranks, global const float *values,
                 global const int *columns, global const int *starts,
                 global const float *x, uint rows) {
  local volatile float sums[64];
  uint item = localX(), row = groupX();
  float sum = 0;
  for (int k = starts[row] + (int)item; k < starts[row + 1]; k += 64)
    sum += values[k] * x[columns[k]];
  sums[item] = sum;
  for (uint step = 32; step > 0; step >>= 1)
    if (item < step)
      sums[item] = sums[item] + sums[item + step];
  if (item == 0)
    ranks[row] = sums[0];
}

/// Paths from row to column over `through`, where that is shorter.
KERNEL shorter_paths(global uint *distances, global uint *over, uint n,
                     uint through) {
  uint column = globalX(), row = globalY();
  uint old = distances[row * n + column];
  uint way = distances[row * n + through] + distances[through * n + column];
  if (way < old) {
    distances[row * n + column] = way;
    over[row * n + column] = through;
  }
}
