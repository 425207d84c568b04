//===- ScheduleCandidates.cpp - Schedules that are tried ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole rows and tiles of columns have thousands of schedules, which the model
// ranks. Long rows, partial sums and their like have a few, which follow from
// rules: no sweep has enough programs of them.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleCandidates.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <utility>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Whole rows, and tiles of columns
//===----------------------------------------------------------------------===//

/// Columns of a workgroup, at least, where several share a row, and where lanes
/// go across rows as well.
static constexpr int64_t leastPartColumns = 1024, leastPartColumnsAcross = 64;
/// Columns of a lane, and idle lanes over busy ones, beyond which nothing is
/// good. In the canonical order slices leave more of them idle, and on AMD's
/// chips some rows of a wave have nothing better.
static constexpr int64_t mostLaneColumns = 64;
static constexpr double mostIdle = 0.34, mostIdleOfSlices = 0.5;
/// Work-items of a compute unit where workgroups are persistent, at most, and
/// those for which a workgroup has rows at once, at least.
static constexpr int64_t mostComputeUnitThreads = 2048, leastThreads = 32;
/// Columns of a lane, at most, where each tile of rows has a workgroup of its
/// own.
static constexpr int64_t mostUnboundedColumns = 48;
/// What is tried, in this order: iterations of a workgroup at least, workgroups
/// of a compute unit.
static constexpr int64_t triedIterations[] = {2, 1, 4, 8, 16};
static constexpr std::array<int64_t, 8> triedWorkgroups = {1, 2, 3,  4,
                                                           6, 8, 12, 16};
/// Ways to keep rows in flight that are tried: `stages`, `prefetch`, `unroll`.
/// Rows of a multi-buffer are loaded to registers ahead and one by one, and two
/// tiles an iteration are tried only with prefetched ones.
static constexpr std::array<int64_t, 3> pipelineDepths[] = {
    {0, 0, 1}, {0, 1, 1}, {0, 1, 2}, {2, 1, 1}, {3, 1, 1},
    {4, 1, 1}, {5, 1, 1}, {6, 1, 1}, {8, 1, 1}};
/// Columns of a lane in narrow column tiles.
static constexpr int64_t narrowTileWidth = 2;
/// Rows, or rows of a group, up to which a workgroup may have all rows of its
/// columns, and where it writes row blocks as well.
static constexpr int64_t mostRowsOfTile = 8192, mostRowsOfWrittenTile = 256;
void ScheduleSpace::forEachOfWholeRows(int64_t mostBytes, Visitor visit) {
  int64_t length = op.getRowLength(), bits = op.getRowElementBits();
  int64_t width = std::min(chooseAccessWidth(op, chip),
                           std::max<int64_t>(mostBytes * 8 / bits, 1));
  int64_t leastColumns = leastPartColumns, leastGroups = 1;
  Schedule fields;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  if (op.hasRowSums() && mayTakeLanesAcross(op)) {
    fields.lanesAcross = width = 1;
    leastColumns = leastPartColumnsAcross;
    leastGroups = sectorBytes * 8 / bits;
  }
  fields.vectorWidth = width;
  // A leaf of the canonical order bounds the rows side by side.
  int64_t mostGroups = hasLeaves ? getLeafChains(length)
                       : isInOrder
                           ? chip.maxThreadsPerWorkgroup
                           : int64_t(llvm::bit_floor(uint64_t(mostRows)));
  double idle = isInOrder ? mostIdleOfSlices : mostIdle;
  double idleOfWave = isAMD ? mostIdleOfSlices : idle;
  for (int64_t most = 1; most <= chip.workgroups.clusterWorkgroups; most *= 2) {
    if (most > 1 && (!op.hasRowSums() || length / most < leastColumns))
      break;
    // In the canonical order as many as get some of the slices.
    int64_t split = most;
    if (isInOrder && most > 1)
      split = llvm::divideCeil(length, getSharedSlices(length, most));
    if (split == std::exchange(fields.workgroupsPerRow, split) && most > 1)
      continue;
    int64_t columns = getWorkgroupColumns(op, fields);
    int64_t accessesBefore = 0;
    for (int64_t threads = split > 1 && !fields.lanesAcross ? chip.waveSize : 1;
         threads <= chip.maxThreadsPerWorkgroup;
         threads += threads < chip.waveSize ? threads : chip.waveSize) {
      int64_t accesses = llvm::divideCeil(columns, threads * width);
      // More lanes for as many accesses would only idle, but in the canonical
      // order they may have to divide a slice.
      bool isOfOrder =
          isInOrder && getSliceColumns(length) % (threads * width) == 0;
      if ((accesses == std::exchange(accessesBefore, accesses) && !isOfOrder) ||
          (accesses > 1 && accesses * width > mostLaneColumns) ||
          double(accesses * width * threads * split) >
              double(length) *
                  (1 + (threads <= chip.waveSize ? idleOfWave : idle)))
        continue;
      fields.threadsPerRow = threads;
      for (int64_t groups = std::max<int64_t>(1, leastThreads / threads);
           threads * groups <= chip.maxThreadsPerWorkgroup; groups *= 2) {
        fields.rowGroups = std::min(groups, mostGroups);
        if (fields.rowGroups >= leastGroups)
          forEachGrid(fields, accesses * width, visit);
        if (groups >= mostGroups)
          break;
      }
    }
  }
}

/// Visits the ways to keep rows of such lanes and groups in flight, and to
/// share them out among workgroups.
void ScheduleSpace::forEachGrid(Schedule fields, int64_t laneColumns,
                                Visitor visit) {
  int64_t workgroup = fields.threadsPerRow * fields.rowGroups;
  for (auto [stages, prefetch, unroll] : pipelineDepths) {
    if (stages && !chip.workgroups.hasBulkCopy)
      continue;
    fields.stages = stages;
    fields.prefetch = prefetch;
    fields.unroll = unroll;
    SmallVector<int64_t, 16> grids;
    for (int64_t workgroups : triedWorkgroups) {
      // As many as are tried, where a group has few rows.
      int64_t threads = workgroup * workgroups;
      if ((threads < smallWorkgroup && workgroups < triedWorkgroups.back()) ||
          threads > mostComputeUnitThreads)
        continue;
      fields.workgroupsPerComputeUnit = workgroups;
      for (int64_t iterations : triedIterations) {
        if (isAnyCount && iterations != triedIterations[0])
          break;
        // Each workgroup has partial sums for its group of rows.
        if (iterations == 1 && op.hasGroups())
          continue;
        fields.rowsPerWorkgroup = boundRows(iterations * fields.rowGroups);
        int64_t grid = std::min(
            llvm::divideCeil(int64_t(program.rows),
                             std::max<int64_t>(1, fields.rowsPerWorkgroup)),
            uint64_t(workgroups * chip.computeUnits / fields.workgroupsPerRow));
        // Of those with the same grid the first.
        if (llvm::is_contained(grids, grid))
          continue;
        grids.push_back(grid);
        visit(fields);
      }
    }
    // A workgroup for each leaf, or for several, which begins when another
    // ends, if there is one for each compute unit. On an H200 50 shapes took
    // 0.988 times as long so in the mean, the fastest 0.85; longer rows gained
    // nothing.
    int64_t length = op.getRowLength();
    if (hasLeaves && !isAMD && !op.getOwnRows() && length <= shortRowInOrder &&
        program.rows >= double(getLeafRows(length) * chip.computeUnits) &&
        getLeafParts(length, fields.rowGroups) == 1) {
      fields.workgroupsPerComputeUnit = 0;
      visit(fields);
    }
    // A workgroup for each tile of rows, which has no others to keep in flight,
    // and would have partial sums of columns.
    if (!hasSums && !op.getOwnRows() && fields.workgroupsPerRow == 1 &&
        !stages && !prefetch && workgroup <= largeWorkgroup &&
        (laneColumns <= mostUnboundedColumns || tilesTogether)) {
      fields.workgroupsPerComputeUnit = 0;
      fields.rowsPerWorkgroup = fields.rowGroups;
      visit(fields);
    }
  }
}

void ScheduleSpace::forEachOfTiles(Visitor visit) {
  bool isWritten = !op.getRowOuts().empty();
  bool hasAcross = !getAcrossBlocks(op).empty();
  // Each group has its workgroups: sums of all of them are partial ones.
  int64_t allRows = op.hasGroups() ? mostRows : int64_t(program.rows);
  bool isWhole =
      allRows > 0 && (!op.hasGroups() || op.getColumnSums().empty()) &&
      allRows <= (isWritten ? mostRowsOfWrittenTile : mostRowsOfTile);
  int64_t width = chooseVectorWidth(op);
  SmallVector<int64_t, 2> widths = {width};
  // Groups are workgroups enough.
  if (width > narrowTileWidth && !op.hasGroups())
    widths.push_back(narrowTileWidth);
  Schedule fields;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  for (int64_t lanes = 1; lanes <= smallWorkgroup; lanes *= 2)
    for (int64_t tileWidth : widths) {
      fields.threadsPerRow = lanes;
      fields.vectorWidth = tileWidth;
      fields.columnTile = lanes * tileWidth;
      // A row of a tile fills a sector of memory.
      if (fields.columnTile * op.getRowElementBits() < sectorBytes * 8)
        continue;
      for (int64_t threads = std::max(smallWorkgroup / 2, lanes);
           threads <= chip.maxThreadsPerWorkgroup; threads *= 2) {
        fields.rowGroups = threads / lanes;
        for (int64_t unroll = 2 * accessesAtOnce; unroll; unroll /= 2) {
          fields.unroll = unroll;
          if (isWhole) {
            // All rows of its columns: no partial sums are left.
            fields.rowsPerWorkgroup = fields.workgroupsPerComputeUnit = 0;
            visit(fields);
          }
          // Whole rows of tiles that are transposed are too many at once.
          if (isWritten && !isInOrder && !hasAcross)
            continue;
          for (int64_t workgroups : triedWorkgroups) {
            if (threads * workgroups > mostComputeUnitThreads)
              break;
            fields.workgroupsPerComputeUnit = workgroups;
            fields.rowsPerWorkgroup = boundRows(fields.rowGroups * unroll);
            visit(fields);
          }
        }
      }
    }
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Whether each row is one access, and nothing but rows is read and written.
static bool arePieces(ScheduleSpace &space) {
  RowwiseOp &op = space.op;
  int64_t bits = op.getRowElementBits(), length = op.getRowLength();
  auto isPiece = [&](unsigned operand) {
    return op.getForm(operand).isPlain() &&
           op.getForm(operand).getRowStride() == length;
  };
  return length * bits == accessBytes * 8 && !space.hasSums &&
         !op.hasRowSums() && !op.hasGroups() &&
         int64_t(op.getRowOuts().size()) == op.getNumDpsInits() &&
         int64_t(op.getRows().size()) == op.getNumDpsInputs() &&
         llvm::all_of(getRowOperands(op), isPiece);
}

void lnbwd::forEachOfPieces(ScheduleSpace &space, ScheduleVisitor visit) {
  if (!arePieces(space))
    return;
  Schedule fields;
  fields.dependentLaunch = space.chip.workgroups.hasDependentLaunch;
  fields.threadsPerRow = 1;
  fields.rowGroups = 2 * smallWorkgroup;
  fields.vectorWidth = space.op.getRowLength();
  // On an H200 one for each lane took 0.97 times as long as rows of some 1000
  // columns, 1.02 at most (44 shapes of SwiGLU); two took 1.00, and workgroups
  // that stay 1.04 times. On AMD's chips twelve programs had 0.55 to 1.09 times
  // the instructions of rows of 1024 columns with four, and with one to 1.27.
  for (fields.unroll = space.isAMD ? accessesAtOnce : 1; fields.unroll;
       fields.unroll /= 2) {
    fields.rowsPerWorkgroup = fields.unroll * fields.rowGroups;
    if (visit(fields))
      return;
  }
}

//===----------------------------------------------------------------------===//
// Long rows
//===----------------------------------------------------------------------===//

/// Bytes of a row and row sums of it, at least, with which rows were measured
/// to be faster where small workgroups hold them in registers. The model takes
/// the registers of such kernels for too many. Of 18 cross entropies on an
/// H200, 300 to 12000 rows of 28000 to 256000, with and without their gradient,
/// these took 0.80 times as long, and 1.00 at most. Two sums, without a target,
/// took 0.82 to 1.08 times as long.
static constexpr double leastHeldBytes = 48.0 * 1024, leastHeldSums = 3;

/// Whether rows are better held than staged, by that measurement: one row block
/// that is read, and nothing but that.
static bool areFasterHeld(const ScheduleSpace &space) {
  const ProgramFacts &program = space.program;
  double bytes = program.length * program.bytesRead;
  RowwiseOp op = space.op;
  return space.chip.workgroups.hasBulkCopy && program.rowsRead == 1 &&
         program.rowSums >= leastHeldSums && program.columnBytes == 0 &&
         op.getColumnSums().empty() && !op.hasGroups() && !space.hasLeaves &&
         bytes >= leastHeldBytes && chooseVectorWidth(op) > 1;
}

/// Bytes of a row that a lane holds.
static constexpr int64_t heldRowBytes = 256;
void lnbwd::forEachOfHeldRows(ScheduleSpace &space, ScheduleVisitor visit) {
  if (!areFasterHeld(space))
    return;
  Schedule fields;
  fields.dependentLaunch = space.chip.workgroups.hasDependentLaunch;
  fields.vectorWidth = chooseAccessWidth(space.op, space.chip);
  // As many workgroups of either size as a compute unit has at once.
  fields.rowsPerWorkgroup = triedIterations[0];
  fields.workgroupsPerComputeUnit =
      space.chip.limits.computeUnitThreads / (2 * smallWorkgroup);
  fields.prefetch = 1;
  for (int64_t threads : {smallWorkgroup, 2 * smallWorkgroup})
    for (int64_t split = 2; split <= space.chip.workgroups.clusterWorkgroups;
         split *= 2) {
      bool isHeld = space.program.length * space.program.bytesRead <=
                    double(threads * split * heldRowBytes);
      bool fillsChip =
          space.program.rows * double(split) >= space.chip.computeUnits ||
          2 * split > space.chip.workgroups.clusterWorkgroups;
      fields.threadsPerRow = threads;
      fields.workgroupsPerRow = split;
      if (isHeld && fillsChip && visit(fields))
        return;
    }
}

void lnbwd::forEachOfLongRows(ScheduleSpace &space, ScheduleVisitor visit) {
  if (space.hasSums)
    return;
  RowwiseOp op = space.op;
  const ChipInfo &chip = space.chip;
  Schedule fields;
  auto getNeeded = [&] { return getResources(op, fields, chip); };
  auto getLimit = [&] { return getRegisterLimit(fields.threadsPerRow, chip); };
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  fields.vectorWidth = chooseAccessWidth(op, chip);
  fields.rowsPerWorkgroup = 1;
  // Where no sum needs all of a row, tiles of columns. A lane has several
  // accesses of one row, so that its scalars are loaded once: the gradient of a
  // cross entropy of 50257 bfloat16 took 88 us so on an H100, and 234 with a
  // wave's accesses to each of several rows.
  if (!op.hasRowSums() && op.getScalarOuts().empty()) {
    fields.threadsPerRow = smallWorkgroup;
    fields.columnTile = partColumns;
    visit(fields);
    return;
  }
  // A cluster, where the rows themselves leave registers: the model counts
  // values that are worked through as held, and compiling says whether it
  // spills. Read again, rows of 256000 elements took 1.9 times as long on an
  // H100.
  fields.threadsPerRow = largeWorkgroup;
  fields.workgroupsPerRow = chip.workgroups.clusterWorkgroups;
  if (fields.workgroupsPerRow > 1 &&
      2 * getNeeded().leastRegistersPerLane <= getLimit() && visit(fields))
    return;
  // Rows are read again for each row sum, by as many lanes as have registers
  // for an access to each row block.
  fields.vectorWidth = chooseVectorWidth(op);
  fields.workgroupsPerRow = 1;
  fields.rowsPerWorkgroup = 2;
  fields.reload = 1;
  for (fields.threadsPerRow = chip.maxThreadsPerWorkgroup;
       fields.threadsPerRow >= chip.waveSize; fields.threadsPerRow /= 2)
    if (getNeeded().registersPerLane <= getLimit() && visit(fields))
      return;
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

/// Workgroups of a compute unit that add partial sums which are leaves of a
/// tree, at most: what runs at the same time.
static constexpr int64_t leavesWorkgroups = 2;
/// Workgroups of a product in parts for each compute unit, which run at once
/// there; more parts than the maximum cost more memory than they save time.
static constexpr int64_t productWorkgroups = 4, maxParts = 16;

static void forEachOfLeaves(ScheduleSpace &space, ScheduleVisitor visit) {
  RowwiseOp op = space.op;
  const ChipInfo &chip = space.chip;
  auto groupsOfRows = int64_t(space.program.groups);
  int64_t columns =
      llvm::divideCeil(op.getRowLength() * groupsOfRows,
                       uint64_t(leavesWorkgroups * chip.computeUnits));
  // A sector at least: fewer columns have too little in flight. Rows with too
  // few columns for all compute units have many leaves: half as many columns,
  // twice as many leaves.
  int64_t leavesColumns = sectorBytes / int64_t(sizeof(float));
  int64_t fewer =
      2 * op.getRowLength() <= leavesColumns * chip.computeUnits ? 2 : 1;
  columns = std::clamp(int64_t(llvm::PowerOf2Ceil(uint64_t(columns))),
                       leavesColumns / fewer, largeWorkgroup);
  Schedule fields;
  fields.vectorWidth = 1;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  fields.threadsPerRow = fields.columnTile = columns;
  fields.unroll = fewer * 2 * accessesAtOnce;
  // As many groups as have workgroup memory for what waits.
  for (fields.rowGroups = largeWorkgroup / columns; fields.rowGroups;
       fields.rowGroups /= 2)
    if (visit(fields))
      return;
}

static void forEachOfPartialSums(ScheduleSpace &space, RowwiseOp summed,
                                 ScheduleVisitor visit) {
  RowwiseOp op = space.op;
  const ChipInfo &chip = space.chip;
  const Schedule &writing = summed.getScheduleAttr();
  auto groupsOfRows = int64_t(space.program.groups);
  // Those of the chip's usual number of compute units.
  int64_t partialRows = std::max<int64_t>(
      1, chip.computeUnits * writing.workgroupsPerComputeUnit /
             (writing.workgroupsPerRow * groupsOfRows));
  Schedule fields;
  fields.vectorWidth = chooseVectorWidth(op);
  fields.columnTile = lineBytes / int64_t(sizeof(float));
  fields.threadsPerRow = fields.columnTile / fields.vectorWidth;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  // As many groups as take all partial rows in one iteration.
  int64_t mostGroups = largeWorkgroup / fields.threadsPerRow;
  fields.unroll = accessesAtOnce;
  if (!writing.workgroupsPerComputeUnit ||
      partialRows > mostGroups * fields.unroll)
    fields.unroll *= 2;
  int64_t groups = mostGroups;
  if (writing.workgroupsPerComputeUnit)
    groups = llvm::alignTo(
        llvm::divideCeil(partialRows, fields.unroll),
        std::max<int64_t>(1, chip.waveSize / fields.threadsPerRow));
  fields.rowGroups =
      std::clamp(groups, smallWorkgroup / fields.threadsPerRow,
                 std::min(2 * mostGroups,
                          chip.maxThreadsPerWorkgroup / fields.threadsPerRow));
  fields.combineRadix = chooseCombineRadix(op, fields);
  // What spills, or has no registers for so many sums, holds fewer rows at
  // once.
  for (; fields.unroll; fields.unroll /= 2)
    if (visit(fields))
      return;
}

static void forEachOfProductParts(ScheduleSpace &space, ScheduleVisitor visit) {
  Schedule fields;
  fields.vectorWidth = chooseVectorWidth(space.op);
  fields.threadsPerRow = 2 * smallWorkgroup;
  fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  fields.unroll = accessesAtOnce;
  visit(fields);
}

void lnbwd::forEachOfSummedParts(ScheduleSpace &space, RowwiseOp summed,
                                 ScheduleVisitor visit) {
  if (summed.getProduct())
    return forEachOfProductParts(space, visit);
  if (space.op.getLeaves())
    return forEachOfLeaves(space, visit);
  forEachOfPartialSums(space, summed, visit);
}

int64_t lnbwd::chooseProductParts(RowwiseOp op, const ChipInfo &chip) {
  unsigned first = op.getOuterSums().getBeginOperandIndex();
  int64_t tiles = 1;
  for (int64_t size : cast<VectorType>(op.getRegionType(first)).getShape())
    tiles *= llvm::divideCeil(size, RowwiseOp::productTile);
  return std::clamp<int64_t>(productWorkgroups * chip.computeUnits / tiles, 1,
                             maxParts);
}
