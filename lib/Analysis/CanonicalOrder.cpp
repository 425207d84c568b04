//===- CanonicalOrder.cpp - Sums that no schedule changes -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements CanonicalOrder.h.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/CanonicalOrder.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace lnbwd;

/// Elements of a leaf, and of its rows that lie side by side: as many as a
/// workgroup has registers for, and enough to be worth a partial sum.
static constexpr int64_t leafElements = 32768, groupedElements = 8192;
static constexpr int64_t leastLeafRows = 32, mostLeafRows = 512, mostGroups = 8;

int64_t lnbwd::getLeafRows(int64_t rowLength) {
  return std::clamp(
      int64_t(llvm::bit_floor(uint64_t(leafElements / rowLength))),
      leastLeafRows, mostLeafRows);
}

int64_t lnbwd::getLeafGroups(int64_t rowLength) {
  return std::clamp<int64_t>(
      int64_t(llvm::bit_floor(uint64_t(groupedElements / rowLength))), 1,
      mostGroups);
}

int64_t lnbwd::countSlices(int64_t columns) {
  return llvm::divideCeil(columns, sliceColumns);
}

int64_t lnbwd::countCanonicalSlots(int64_t columns, int64_t lanes,
                                   int64_t waveSize, int64_t workgroups) {
  int64_t ofLanes = lanes > waveSize ? countSlices(columns) * lanes : 0;
  int64_t waves = llvm::divideCeil(lanes, waveSize);
  return ofLanes + (workgroups > 1 ? waves * workgroups : 0);
}
