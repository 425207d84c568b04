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

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

namespace {
struct LeafShape {
  int64_t mostColumns, rows, chains;
};
} // namespace

/// A chain has 16 or 32 rows, so that its sum is worth being written and read,
/// and a batch of 4096 rows, or fewer long ones, has chains for all workgroups
/// of a chip.
static constexpr LeafShape leafShapes[] = {
    {512, 256, 8},
    {2048, 128, 8},
    {16384, 64, 4},
    {std::numeric_limits<int64_t>::max(), 16, 1}};

static const LeafShape &getLeafShape(int64_t rowLength) {
  return *llvm::find_if(leafShapes, [&](const LeafShape &shape) {
    return rowLength <= shape.mostColumns;
  });
}

int64_t lnbwd::getLeafRows(int64_t rowLength) {
  return getLeafShape(rowLength).rows;
}

int64_t lnbwd::getLeafChains(int64_t rowLength) {
  return getLeafShape(rowLength).chains;
}

int64_t lnbwd::getLeafParts(int64_t rowLength, int64_t groups) {
  return llvm::divideCeil(getLeafChains(rowLength), groups);
}

int64_t lnbwd::getLeastLeafRows(int64_t rowLength, int64_t groups) {
  return getLeafParts(rowLength, groups) > 1 ? groups : getLeafRows(rowLength);
}

int64_t lnbwd::getSliceColumns(int64_t rowLength) {
  // Workgroups that share a row have whole slices, and lanes have an access to
  // each, or a power of two of them.
  uint64_t unit = rowLength <= 8192 ? 512 : 1024;
  if (rowLength > 16384)
    return rowLength > 32768 ? 8192 : 4096;
  uint64_t slices = rowLength <= 2048 ? 1 : rowLength <= 4096 ? 2 : 4;
  return int64_t(llvm::alignTo(llvm::divideCeil(rowLength, slices), unit));
}

int64_t lnbwd::countSlices(int64_t rowLength, int64_t columns) {
  return llvm::divideCeil(columns, getSliceColumns(rowLength));
}

int64_t lnbwd::countCanonicalSlots(int64_t rowLength, int64_t columns,
                                   int64_t lanes, int64_t waveSize,
                                   int64_t workgroups) {
  int64_t ofLanes =
      lanes > waveSize ? countSlices(rowLength, columns) * lanes : 0;
  int64_t waves = llvm::divideCeil(lanes, waveSize);
  return ofLanes + (workgroups > 1 ? waves * workgroups : 0);
}
