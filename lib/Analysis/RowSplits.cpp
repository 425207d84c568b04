//===- RowSplits.cpp - Rows in splits -------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workgroup has one split of one row, and all of it is in flight at once:
// nothing is left to choose but how many lanes share it.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/RowSplits.h"

#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

namespace {
/// Accesses of a lane to its part of a split, and work-items of a workgroup
/// that go with them.
struct SplitShape {
  int64_t accesses, least, most;
};
} // namespace

/// In the order in which they are tried: four accesses of 16 bytes to each row
/// block keep enough in flight, and few waves have little to exchange.
static constexpr SplitShape splitShapes[] = {
    {4, 128, 512}, {2, 128, 512}, {1, 1, 512}};

SmallVector<Operation *> lnbwd::getFirstRowSums(RowwiseOp op) {
  SmallVector<Operation *> sums;
  DenseSet<Value> behindSum;
  for (Operation &bodyOp : op.getBody().front()) {
    bool depends = llvm::any_of(bodyOp.getOperands(), [&](Value operand) {
      return behindSum.contains(operand);
    });
    bool isSum = bool(getSummedRow(&bodyOp));
    if (isSum && !depends)
      sums.push_back(&bodyOp);
    if (isSum || depends)
      behindSum.insert(bodyOp.result_begin(), bodyOp.result_end());
  }
  return sums;
}

ScheduleAttr lnbwd::getSplitSchedule(RowwiseOp op, int64_t splits,
                                     const ChipInfo &chip) {
  int64_t width = chooseVectorWidth(op), length = op.getRowLength();
  for (SplitShape shape : splitShapes) {
    uint64_t columns = llvm::divideCeil(uint64_t(length), uint64_t(splits));
    auto threads = int64_t(llvm::alignTo(
        llvm::divideCeil(columns, uint64_t(shape.accesses * width)),
        uint64_t(chip.waveSize)));
    int64_t tile = threads * shape.accesses * width;
    if (threads < shape.least ||
        threads > std::min(shape.most, chip.maxThreadsPerWorkgroup) ||
        int64_t(llvm::divideCeil(length, tile)) != splits)
      continue;
    ScheduleFields fields;
    fields.threadsPerRow = threads;
    fields.rowGroups = 1;
    fields.vectorWidth = width;
    fields.rowsPerWorkgroup = 1;
    fields.workgroupsPerComputeUnit = 0;
    fields.columnTile = tile;
    fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
    return fields.get(op.getContext());
  }
  return {};
}
