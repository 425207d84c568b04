//===- Wave.cpp - State of a running wave ---------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counting, and the messages of waves that had to be stopped.
//
//===----------------------------------------------------------------------===//

#include "Core/Wave.h"

using namespace lnbwd::sim;

void Wave::flushCounts(uint64_t NewExec) {
  unsigned Active = unsigned(__builtin_popcountll(CountedExec));
  for (unsigned K = 0; K < unsigned(InstClass::Count); ++K) {
    Count.Issued[K] += Count.Pending[K];
    Count.Lanes[K] += Count.Pending[K] * Active;
    Count.Pending[K] = 0;
  }
  CountedExec = NewExec;
}
