//===- atomics.cl - Atomic operations, and histograms of them -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device.h"

/// All work-items add to one counter, again and again.
KERNEL count_up(global uint *counter, uint operations) {
#pragma unroll 1
  for (uint i = 0; i < operations; ++i)
    ATOMIC_ADD(counter, 1u);
}

/// Random updates of a table whose size is a power of two.
KERNEL random_updates(global ulong *table, ulong entries, uint updates) {
  ulong state = globalX() * 0x9e3779b97f4a7c15ul + 1;
#pragma unroll 1
  for (uint i = 0; i < updates; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    ATOMIC_XOR(table + (state & (entries - 1)), state);
  }
}

/// An element a work-item, counted in 256 global counters.
KERNEL histogram(global uint *counters, global const uint *x, uint count) {
  uint i = globalX();
  if (i < count)
    ATOMIC_ADD(counters + (x[i] & 255), 1u);
}

/// Bytes, counted in 256 LDS counters, which are added to the global ones.
KERNEL histogram_bytes(global uint *counters, global const uchar *x,
                       uint count) {
  local uint here[256];
  here[localX()] = 0;
  synchronize();
  for (uint i = globalX(); i < count; i += groupsX() * sizeX())
    __scoped_atomic_fetch_add(here + x[i], 1u, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_WRKGRP);
  synchronize();
  ATOMIC_ADD(counters + localX(), here[localX()]);
}
