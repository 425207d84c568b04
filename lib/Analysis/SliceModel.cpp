//===- SliceModel.cpp - Schedules of rows in slices -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules, not fitted: each of the two kernels has to fill the chip evenly, the
// first one with slices of rows, the second one with tiles of the columns.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/SliceModel.h"

#include "lnbwd/Analysis/RowSlices.h"
#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Analysis/ScheduleLegality.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Analysis/ScheduleSearch.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

/// Slices of a row, at most, that are tried, and what each costs, as a share of
/// the chip that would idle: its sums are read in each tile.
static constexpr int64_t mostTriedSlices = 16;
static constexpr double sliceShare = 0.005;
/// Narrower tiles, as halvings of a wave's, and how much more evenly each of
/// them has to fill the chip.
static constexpr int64_t narrowerTiles = 2;
static constexpr double narrowShare = 0.1;
/// Work-items of a workgroup that has a tile of the columns, and sets of rows
/// that it loads at once.
static constexpr int64_t tileThreads = 512;
static constexpr int64_t tileRows = 4;

/// The share of the chip that works while so many workgroups of equal length
/// run, all at once.
static double getFilledShare(int64_t workgroups, const ChipInfo &chip) {
  double each = double(workgroups) / double(chip.computeUnits);
  return each / std::ceil(each);
}

/// The slices that fill the chip best, or 0.
static int64_t chooseSlices(RowwiseOp op, const ChipInfo &chip, int64_t rows) {
  int64_t best = 0;
  double bestShare = 0;
  for (int64_t slices = 1; slices <= mostTriedSlices; ++slices) {
    double share =
        getFilledShare(rows * slices, chip) - sliceShare * double(slices);
    if (getSliceSchedule(op, slices, chip) && (!best || share > bestShare)) {
      best = slices;
      bestShare = share;
    }
  }
  return best;
}

/// Lanes of a row in a tile: those of a wave, or fewer.
static int64_t chooseTileLanes(int64_t length, int64_t width,
                               const ChipInfo &chip) {
  int64_t best = chip.waveSize;
  double bestShare = 0;
  for (int64_t halvings = 0; halvings <= narrowerTiles; ++halvings) {
    int64_t lanes = chip.waveSize >> halvings;
    double share =
        getFilledShare(llvm::divideCeil(length, lanes * width), chip) -
        narrowShare * double(halvings);
    if (halvings == 0 || share > bestShare) {
      best = lanes;
      bestShare = share;
    }
  }
  return best;
}

ScheduleAttr lnbwd::chooseSlicedSchedule(RowwiseOp op, int64_t slices,
                                         const ChipInfo &chip, int64_t rows) {
  rows = getExpectedRows(op, rows);
  ScheduleFields fields;
  fields.rowSlices = slices ? slices : chooseSlices(op, chip, rows);
  if (!fields.rowSlices)
    return {};
  fields.vectorWidth = chooseVectorWidth(op);
  fields.threadsPerRow =
      chooseTileLanes(op.getRowLength(), fields.vectorWidth, chip);
  fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  fields.rowGroups = int64_t(llvm::bit_floor(uint64_t(
      std::clamp<int64_t>(rows, 1, tileThreads / fields.threadsPerRow))));
  fields.unroll = int64_t(llvm::bit_floor(
      uint64_t(std::clamp<int64_t>(rows / fields.rowGroups, 1, tileRows))));
  fields.workgroupsPerComputeUnit = 1;
  fields.earlyStart = chip.workgroups.hasEarlyStart;
  // All rows of its columns are one workgroup's, whose sums are whole.
  bool hasSums = !op.getAllSums().empty();
  while (true) {
    fields.rowsPerWorkgroup = hasSums ? 0 : fields.unroll * fields.rowGroups;
    ScheduleFields rest = fields;
    rest.rowSlices = 0;
    if (fields.unroll == 1 || !isRejected(op, rest.get(op.getContext())))
      return fields.get(op.getContext());
    fields.unroll /= 2;
  }
}
