//===- latency.cl - Chains of loads, from memory and from LDS -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// One work-item follows a cycle through an array: each load's address is the
/// last load's result. All lanes that run are the same one, so that the loads
/// are scalar.
KERNEL chase(global uint *last, global const uint *next, uint loads) {
  uint at = 0;
  for (uint i = 0; i < loads; ++i)
    at = next[at];
  *last = at;
}

#define CELLS 12288

/// Each of 256 work-items walks its 48 cells of an array of 48 KiB: reads one,
/// adds it to the sum so far, stores that back.
KERNEL lds_chain(global float *sums, uint rounds) {
  local float cells[CELLS];
  for (uint i = localX(); i < CELLS; i += 256)
    cells[i] = 1;
  synchronize();
  float sum = 0;
  for (uint round = 0; round < rounds; ++round)
#pragma unroll 1
    for (uint i = localX(); i < CELLS; i += 256) {
      sum += cells[i];
      cells[i] = sum;
    }
  sums[localX()] = sum;
}
