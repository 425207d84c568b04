//===- RowSplits.cpp - Rows in splits -------------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules of rows in splits follow from rules, not fitted: of the kernel
// that sums splits, a workgroup has one split of one row in flight at once, and
// the kernel after it has to fill the chip evenly with tiles of the columns.
// The sweeps that the learned model is trained on have too few of them.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleCandidates.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

std::optional<Schedule> lnbwd::getSplitSchedule(RowwiseOp op, int64_t splits,
                                                const ChipInfo &chip) {
  int64_t width = chooseVectorWidth(op), length = op.getRowLength();
  // In the canonical order a split has a power of two of whole slices, of which
  // each lane has one access, or of a power of two of lanes each has several.
  bool isInOrder = op.getCanonical();
  uint64_t slice = isInOrder ? getSliceColumns(length) : 1;
  uint64_t columns = llvm::alignTo(
      llvm::divideCeil(uint64_t(length), uint64_t(splits)), slice);
  if (isInOrder && !llvm::isPowerOf2_64(columns / slice))
    return {};
  // Four accesses of 16 bytes to each row block keep enough in flight, and few
  // waves have little to exchange. Those of rows of odd lengths are no wider
  // than an element.
  auto most =
      isInOrder
          ? int64_t(llvm::divideCeil(columns, uint64_t(largeWorkgroup * width)))
          : 1;
  for (int64_t accesses :
       {accessesAtOnce, accessesAtOnce / 2, int64_t(1), most}) {
    auto threads = int64_t(
        llvm::alignTo(llvm::divideCeil(columns, uint64_t(accesses * width)),
                      uint64_t(chip.waveSize)));
    int64_t tile = threads * accesses * width;
    if ((accesses > 1 &&
         (threads < smallWorkgroup || threads > largeWorkgroup)) ||
        threads > chip.maxThreadsPerWorkgroup ||
        int64_t(llvm::divideCeil(length, tile)) != splits ||
        (isInOrder &&
         (uint64_t(tile) != columns || slice % uint64_t(threads * width) ||
          (slice > uint64_t(threads * width) &&
           !llvm::isPowerOf2_64(uint64_t(threads))))))
      continue;
    Schedule fields;
    fields.threadsPerRow = threads;
    fields.lateColumns = threads > chip.waveSize;
    fields.rowGroups = 1;
    fields.vectorWidth = width;
    fields.rowsPerWorkgroup = 1;
    fields.workgroupsPerComputeUnit = 0;
    fields.columnTile = tile;
    fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
    return fields;
  }
  return {};
}

/// Splits of a row, which each tile adds up, at most.
static constexpr int64_t mostUsualSplits = 8;
/// Narrower tiles, as halvings of a wave's, and how much more evenly each of
/// them has to fill the chip.
static constexpr int64_t narrowerTiles = 2;
static constexpr double narrowShare = 0.1;
/// In the canonical order, of rows of odd lengths, groups of a tile, at least.
static constexpr int64_t fewestOddGroups = 4;
/// In the canonical order, narrower tiles as above; and the share of the hinted
/// rows by which tiles have room for more, unless those of a compute unit are
/// wider than a wave: the next hint is up to half as many away.
static constexpr int64_t narrowerTilesInOrder = 3, hintedLeaves = 4;

/// The share of the chip that works while so many workgroups of equal length
/// run, all at once.
static double getFilledShare(int64_t workgroups, const ChipInfo &chip) {
  double each = double(workgroups) / double(chip.computeUnits);
  return each / std::ceil(each);
}

/// As many splits as have `partColumns`, or fewer, down to none, where a
/// workgroup cannot hold those.
static int64_t chooseSplits(RowwiseOp op, const ChipInfo &chip) {
  int64_t splits =
      std::clamp<int64_t>(op.getRowLength() / partColumns, 1, mostUsualSplits);
  while (splits && !getSplitSchedule(op, splits, chip))
    --splits;
  return splits;
}

/// Lanes of a row in a tile: those of a wave, or fewer, in the canonical order
/// whatever fills the chip best, since each tile has all rows.
static int64_t chooseTileLanes(int64_t length, int64_t width, bool isInOrder,
                               const ChipInfo &chip) {
  int64_t best = 0;
  double bestShare = -1;
  // There, rows of odd lengths, whose lanes have one element at a time, take
  // whole waves.
  int64_t most = !isInOrder  ? narrowerTiles
                 : width > 1 ? narrowerTilesInOrder
                             : 0;
  for (int64_t halvings = 0; halvings <= most; ++halvings) {
    int64_t lanes = chip.waveSize >> halvings;
    int64_t tiles = llvm::divideCeil(length, lanes * width);
    double share = getFilledShare(tiles, chip) -
                   (isInOrder ? 0 : narrowShare * double(halvings));
    if (share > bestShare) {
      best = lanes;
      bestShare = share;
    }
  }
  return best;
}

/// Where splits were measured to be faster on an H200: columns of a row, at
/// least; bytes of all row blocks that are read, and rows for each compute
/// unit, at most. Seven programs of shorter rows took 0.93 times as long in two
/// passes, one of 16384 columns 1.12 times.
static constexpr int64_t leastSplitColumns = 16384, mostRowsOfComputeUnit = 2;
static constexpr double mostSplitBytes = 24.0 * 1024 * 1024;
/// The same in the canonical order, for all types, of rows that are not short:
/// compute units for which there are chains of rows, at most. A compute unit
/// would add up each chain, one row after another. With the best tiles 12
/// of 15 shapes took 0.4 to 0.86 of the time on an H200, the others 0.92 to 1;
/// four with chains for more units took longer.
static constexpr double mostUnitsInOrder = 0.75;
/// Compute units that a chain of rows of an odd length counts for: of such rows
/// 178 of 2001 took 0.4 times as long in splits on an H200, 1014 of 1465 took
/// 1.6 times as long.
static constexpr int64_t unitsOfOddRows = 2;

/// Whether the program is of the kind and the size that were measured: row sums
/// of one phase, whose second reading is the whole cost of splits, and column
/// sums, whose partial sums and finalising kernel are the gain. Rows of 32
/// bits, which are twice the bytes to read again, took 1.03 times what other
/// schedules take in the mean of eight programs on an H200, 16-bit ones 0.88 of
/// sixteen.
static bool areFasterInSplits(const ScheduleSpace &space) {
  RowwiseOp op = space.op;
  const ChipInfo &chip = space.chip;
  const ProgramFacts &program = space.program;
  if (!chip.workgroups.hasBulkCopy || program.phases != 1 ||
      op.getColumnSums().empty() || op.getRowOuts().empty() || op.hasGroups() ||
      op.getOwnRows() ||
      program.rows * program.length * program.bytesRead > mostSplitBytes)
    return false;
  int64_t length = op.getRowLength();
  if (space.hasLeaves) {
    int64_t chains =
        getLeafChains(length) *
        int64_t(std::ceil(program.rows / double(getLeafRows(length))));
    int64_t slices = std::min(countSlices(length, length),
                              chip.workgroups.clusterWorkgroups);
    int64_t units = chooseVectorWidth(op) > 1 ? 1 : unitsOfOddRows;
    return length >= shortRowInOrder &&
           double(chains * slices * units) <=
               mostUnitsInOrder * double(chip.computeUnits);
  }
  return op.getRowElementBits() < 32 && length >= leastSplitColumns &&
         program.rows <= double(mostRowsOfComputeUnit * chip.computeUnits);
}

void lnbwd::forEachOfSplits(ScheduleSpace &space, int64_t splits,
                            ScheduleVisitor visit) {
  if (!splits && !areFasterInSplits(space))
    return;
  RowwiseOp op = space.op;
  const ChipInfo &chip = space.chip;
  auto rows = int64_t(space.program.rows);
  Schedule fields;
  fields.rowSplits = splits ? splits : chooseSplits(op, chip);
  if (!fields.rowSplits)
    return;
  fields.vectorWidth = chooseVectorWidth(op);
  fields.threadsPerRow = chooseTileLanes(op.getRowLength(), fields.vectorWidth,
                                         space.hasLeaves, chip);
  fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  int64_t tilesOfComputeUnit =
      llvm::divideCeil(llvm::divideCeil(op.getRowLength(), fields.columnTile),
                       chip.computeUnits);
  auto mostGroups = int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(
      space.hasLeaves && fields.vectorWidth == 1 ? fewestOddGroups : 1,
      largeWorkgroup / (tilesOfComputeUnit * fields.threadsPerRow)))));
  // A lane loads two tiles of rows at once, and four where there are too many
  // rows for one iteration, but for several sums beside the registers that all
  // work-items of a large workgroup leave. On an H200 four tiles took 1.17
  // times as long there as two (nine shapes), with one sum 0.97, and with fewer
  // work-items 0.88.
  int64_t tileRows = accessesAtOnce / 2;
  bool isFull =
      op.getAllSums().size() > 1 &&
      tilesOfComputeUnit * fields.threadsPerRow * mostGroups == largeWorkgroup;
  bool hasMost = rows > mostGroups * tileRows && (space.hasLeaves || !isFull);
  fields.unroll = hasMost ? accessesAtOnce : rows >= tileRows ? tileRows : 1;
  fields.rowGroups = std::min(
      mostGroups,
      int64_t(llvm::bit_ceil(uint64_t(llvm::divideCeil(rows, fields.unroll)))));
  // As many leaves side by side as there are.
  if (space.hasLeaves) {
    int64_t length = op.getRowLength(), chains = getLeafChains(length);
    bool isExact = op.getStaticRowCount() ||
                   tilesOfComputeUnit * fields.threadsPerRow > chip.waveSize;
    int64_t hinted = isExact ? rows : rows + rows / hintedLeaves;
    auto leaves = int64_t(llvm::bit_ceil(
        llvm::divideCeil(uint64_t(hinted), uint64_t(getLeafRows(length)))));
    fields.rowGroups = std::max(chains, std::min(mostGroups, chains * leaves));
    // A lane has a whole chain, unless there are fewer rows.
    if (rows > chains * accessesAtOnce)
      fields.unroll = 2 * accessesAtOnce;
    while (getResources(op, fields, chip).sharedMemoryBytes >
           chip.sharedMemoryBytes) {
      fields.threadsPerRow /= 2;
      fields.columnTile /= 2;
    }
  }
  fields.combineRadix = chooseCombineRadix(op, fields);
  fields.workgroupsPerComputeUnit = 1;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  // All rows of its columns are one workgroup's, whose sums are whole. What
  // spills holds fewer rows at once.
  for (; fields.unroll; fields.unroll /= 2) {
    fields.rowsPerWorkgroup =
        space.hasSums ? 0 : fields.unroll * fields.rowGroups;
    if (visit(fields))
      return;
  }
}
