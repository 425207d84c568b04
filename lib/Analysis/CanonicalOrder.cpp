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

/// A chain has 8 rows, or 16 long ones, so that a batch of 4096
/// rows, or fewer long ones, has chains for all workgroups of a chip. In a
/// larger batch they add up leaves before they store them.
static constexpr LeafShape leafShapes[] = {
    {1024, 64, 8},
    {2048, 32, 4},
    {4096, 32, 2},
    {std::numeric_limits<int64_t>::max(), 16, 1}};

static const LeafShape &getLeafShape(int64_t rowLength) {
  return *llvm::find_if(leafShapes, [&](const LeafShape &shape) {
    return rowLength <= shape.mostColumns;
  });
}

bool lnbwd::hasLeaves(RowwiseOp op) {
  return op.getCanonical() && !op.getAllSums().empty();
}

int64_t lnbwd::countLeafParts(RowwiseOp op, int64_t groups) {
  return op.getCanonical() ? getLeafParts(op.getRowLength(), groups) : 0;
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

int64_t lnbwd::countLeavesTogether(int64_t rowLength,
                                   int64_t rowsPerWorkgroup) {
  return std::max<int64_t>(1, rowsPerWorkgroup / getLeafRows(rowLength));
}

int64_t lnbwd::countWaitingLevels(int64_t rowLength, int64_t rowsPerWorkgroup) {
  constexpr int64_t levelsOfAll = 20;
  return rowsPerWorkgroup
             ? int64_t(llvm::Log2_64(
                   uint64_t(countLeavesTogether(rowLength, rowsPerWorkgroup))))
             : levelsOfAll;
}

SharedAccesses lnbwd::shareAccesses(int64_t groups, int64_t width,
                                    int64_t accesses) {
  int64_t even = groups & -groups;
  int64_t parts = std::min(width, even);
  return {parts, std::min(even / parts,
                          int64_t(llvm::PowerOf2Ceil(uint64_t(accesses))))};
}

int64_t lnbwd::countSharedSums(int64_t sums, int64_t groups, int64_t columns) {
  bool fit = sums * groups * columns * int64_t(sizeof(float)) <= combineBytes;
  return fit ? sums : 1;
}

int64_t lnbwd::getSliceColumns(int64_t rowLength) {
  // Workgroups that share a row have whole slices, and lanes have an access to
  // each, or a power of two of them: whole waves, of a workgroup that exists.
  constexpr int64_t unit = 512, mostColumns = 4096;
  auto slices = int64_t(
      llvm::PowerOf2Ceil(llvm::divideCeil(uint64_t(rowLength), mostColumns)));
  if (rowLength > 2048)
    slices = std::max<int64_t>(2, slices);
  return int64_t(llvm::alignTo(llvm::divideCeil(rowLength, slices), unit));
}

int64_t lnbwd::countSlices(int64_t rowLength, int64_t columns) {
  return llvm::divideCeil(columns, getSliceColumns(rowLength));
}

int64_t lnbwd::getSharedSlices(int64_t rowLength, int64_t split) {
  auto each = llvm::divideCeil(uint64_t(countSlices(rowLength, rowLength)),
                               uint64_t(split));
  return getSliceColumns(rowLength) * int64_t(llvm::PowerOf2Ceil(each));
}

int64_t lnbwd::countCanonicalSlots(int64_t rowLength, int64_t columns,
                                   int64_t lanes, int64_t waveSize,
                                   int64_t workgroups) {
  int64_t ofLanes =
      lanes > waveSize ? countSlices(rowLength, columns) * lanes : 0;
  int64_t waves = llvm::divideCeil(lanes, waveSize);
  return ofLanes + (workgroups > 1 ? waves * workgroups : 0);
}
