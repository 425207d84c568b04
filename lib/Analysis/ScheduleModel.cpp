//===- ScheduleModel.cpp - Which schedule for which row program -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules that choose a schedule where the fitted cost model (ScheduleSearch)
// does not. A row program is bound by memory, so they look for few idle lanes,
// 16-byte accesses, and enough bytes in flight without running out of
// registers. What differs between chips is in the chip table; what is a
// constant here was measured on an H200, or counted. What they propose is
// ranked by ScheduleWeights.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleModel.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowSplitModel.h"
#include "lnbwd/Analysis/RowSplits.h"
#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Analysis/ScheduleLegality.h"
#include "lnbwd/Analysis/ScheduleSearch.h"
#include "lnbwd/Analysis/ScheduleWeights.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lnbwd;

/// Work-items of all workgroups of a compute unit that the rules aim at where
/// rows are staged.
static constexpr int64_t stagedComputeUnitThreads = 768;
/// Bytes that staging keeps in flight on a compute unit, at least and at most:
/// fewer leave the memory idle, more crowd each other out of the cache.
/// Measured on an H200 with rows of 3 to 32 KB.
static constexpr int64_t leastStagedBytes = 48 * 1024;
static constexpr int64_t stagedBytesInFlight = 128 * 1024;
/// Tiles of rows in flight, at least and at most, and the shortest row, in
/// bytes over all row operands, that is worth a bulk copy.
static constexpr int64_t minStages = 2;
static constexpr int64_t maxStages = 4;
static constexpr int64_t minStagedBytes = 3072;
/// Workgroups that share a row, times those that share a compute unit: more
/// wait for each other.
static constexpr int64_t mostPeers = 8;
/// Lanes of all workgroups of a compute unit where there are no row sums: what
/// such programs do to a row is arithmetic, which needs lanes, and no workgroup
/// waits for its own sums.
static constexpr int64_t independentComputeUnitThreads = 1024;
/// Accesses of a lane to its part of a row, at most, in such programs; longer
/// rows go tile by tile.
static constexpr int64_t independentAccesses = 4;
/// Tiles of rows that a program without row sums loads at once.
static constexpr int64_t independentRows = 4;
/// Work-items that finalise a few column sums, at least, and at most as long as
/// `independentRows` partial rows for each suffice.
static constexpr int64_t minFinalizeThreads = 128;
static constexpr int64_t finalizeThreads = 512;
/// Columns of a workgroup that finalises column sums: two to four cache lines.
static constexpr int64_t finalizeColumns = 32;
/// Elements of a lane that are tried, in this order, for rows
/// with column sums in the canonical order.
static constexpr int64_t triedElements[] = {32, 16, 64, 8};
/// Columns of a workgroup that adds partial sums which are leaves of a tree,
/// and leaves side by side.
static constexpr int64_t leavesColumns = 16, leavesGroups = 32;
/// Groups of rows, where nothing says how many there are.
static constexpr int64_t usualGroups = 8;

namespace {
/// What a candidate varies, before the fields that follow from it.
struct Candidate {
  ScheduleFields fields;
  /// Rows side by side that are given up, as halvings, to find room for others.
  int64_t fewerGroups = 0;
  /// Work-items of a compute unit where rows are staged.
  int64_t stagedAtOnce = stagedComputeUnitThreads;
  /// Work-items of a compute unit where rows are not staged; 0: what the chip's
  /// model says.
  int64_t atOnce = 0;
  /// Tiles of rows of a workgroup, at least: partial sums, which are written
  /// and read once a workgroup, have to stay small beside the rows.
  int64_t leastSets = 2;
  /// Rows side by side, at most: a workgroup stays within a group of rows, of
  /// which there are so many.
  int64_t mostGroups;

  Candidate(RowwiseOp op, int64_t threadsPerRow, int64_t vectorWidth)
      : mostGroups(std::numeric_limits<int64_t>::max()) {
    fields.threadsPerRow = threadsPerRow;
    fields.vectorWidth = vectorWidth;
    if (op.hasGroups())
      if (std::optional<int64_t> rows = op.getStaticGroupRows())
        mostGroups = std::max<int64_t>(1, *rows);
  }

  ScheduleAttr get(MLIRContext *context, const ChipInfo &chip) const {
    int64_t computeUnit = fields.stages ? stagedAtOnce
                          : atOnce      ? atOnce
                                        : chip.model.computeUnitThreads;
    ScheduleFields whole = fields;
    whole.rowGroups = getGroups(chip);
    whole.rowsPerWorkgroup = leastSets * whole.rowGroups;
    // All rows of a group are one workgroup's: its sums are the group's.
    if (mostGroups <= whole.rowsPerWorkgroup)
      whole.rowsPerWorkgroup = 0;
    whole.workgroupsPerComputeUnit = std::max<int64_t>(
        1, computeUnit / (whole.threadsPerRow * whole.rowGroups));
    whole.dependentLaunch = chip.workgroups.hasDependentLaunch;
    return whole.get(context);
  }

  /// Rows side by side, a power of two; 0 if none is left.
  int64_t getGroups(const ChipInfo &chip) const {
    int64_t workgroup =
        fields.stages ? stagedThreads : chip.model.workgroupThreads;
    auto groups =
        uint64_t(std::max<int64_t>(1, workgroup / fields.threadsPerRow));
    groups = std::min(groups, uint64_t(mostGroups));
    return int64_t(llvm::bit_floor(groups)) >> fewerGroups;
  }
};
} // namespace

/// A starved `schedule` with as many workgroups on a compute unit as it takes,
/// or as there are registers for.
static ScheduleAttr addWorkgroups(RowwiseOp op, ScheduleAttr schedule,
                                  const ChipInfo &chip) {
  while (isStarved(op, schedule, chip) &&
         double(schedule.getWorkgroupsPerComputeUnit()) <
             getResident(op, schedule, chip)) {
    ScheduleFields fields(schedule);
    ++fields.workgroupsPerComputeUnit;
    schedule = fields.get(op.getContext());
  }
  return schedule;
}

/// A staged `schedule` with no more workgroups on a compute unit than have
/// registers there, since those that wait for a place start when the others
/// have ended, and no more than keep the bytes in flight that are best.
static ScheduleAttr fitWorkgroups(RowwiseOp op, ScheduleAttr schedule,
                                  const ChipInfo &chip) {
  if (!schedule.getStages())
    return schedule;
  ScheduleResources resources = getResources(op, schedule, chip);
  int64_t fitting =
      std::min({chip.registersPerComputeUnit /
                    (resources.registersPerLane * resources.threads),
                stagedBytesInFlight / resources.stagingBytes,
                mostPeers / schedule.getWorkgroupsPerRow()});
  ScheduleFields fields(schedule);
  fields.workgroupsPerComputeUnit =
      std::clamp<int64_t>(fitting, 1, schedule.getWorkgroupsPerComputeUnit());
  return fields.get(op.getContext());
}

/// Whether a row sum is made of another one, so that a row is worked through
/// more than twice. With two stages, the next row is late then.
static bool hasDependentRowSums(RowwiseOp op) {
  SmallVector<Operation *> first = getFirstRowSums(op);
  return llvm::any_of(op.getBody().front(), [&](Operation &bodyOp) {
    return getSummedRow(&bodyOp) && !llvm::is_contained(first, &bodyOp);
  });
}

/// Bytes of rows that staging keeps in flight on a compute unit.
static int64_t getStagedBytes(RowwiseOp op, ScheduleAttr schedule) {
  return schedule.getWorkgroupsPerComputeUnit() * schedule.getStages() *
         getStageBytes(op, schedule);
}

/// The best way to keep rows in flight for so many lanes a row: staged, with as
/// few stages as keep the memory busy; else prefetched to registers; else
/// neither. Null if the row does not fit the registers at all.
static ScheduleAttr fillCandidate(RowwiseOp op, Candidate candidate,
                                  const ChipInfo &chip, RegisterBound bound,
                                  bool allowRejected) {
  int64_t rowBytes = getColumnBits(op.getRows()) * op.getRowLength() / 8;
  auto tryCandidate = [&]() -> ScheduleAttr {
    ScheduleAttr schedule = candidate.get(op.getContext(), chip);
    if (!getObstacle(op, schedule, chip, bound).empty())
      return {};
    schedule = addWorkgroups(op, fitWorkgroups(op, schedule, chip), chip);
    return !allowRejected && isRejected(op, schedule) ? ScheduleAttr()
                                                      : schedule;
  };
  candidate.fields.prefetch = 1;
  if (chip.workgroups.hasBulkCopy && rowBytes >= minStagedBytes) {
    ScheduleAttr best;
    for (; candidate.getGroups(chip) > 0; ++candidate.fewerGroups) {
      ScheduleAttr schedule;
      for (candidate.fields.stages = hasDependentRowSums(op) ? maxStages
                                                             : minStages;
           !schedule && candidate.fields.stages >= minStages;
           --candidate.fields.stages)
        schedule = tryCandidate();
      candidate.fields.stages = schedule ? schedule.getStages() : minStages;
      // More stages where a few keep too little in flight.
      while (schedule && candidate.fields.stages < maxStages &&
             getStagedBytes(op, schedule) < leastStagedBytes) {
        ++candidate.fields.stages;
        ScheduleAttr more = tryCandidate();
        if (!more)
          break;
        schedule = more;
      }
      // Fewer rows side by side leave room for more workgroups.
      if (schedule &&
          (!best || getCost(op, schedule, chip) < getCost(op, best, chip)))
        best = schedule;
    }
    if (best)
      return best;
  }
  candidate.fields.stages = 0;
  candidate.fewerGroups = 0;
  if (modelsIterations(op, chip)) {
    // The fewer rows at once, the less is left over in the last iteration.
    ScheduleAttr best;
    for (candidate.atOnce = 2 * fewItems; candidate.atOnce >= fewItems;
         candidate.atOnce /= 2)
      for (candidate.fewerGroups = 0; candidate.getGroups(chip) > 0;
           ++candidate.fewerGroups)
        for (candidate.fields.prefetch = 1; candidate.fields.prefetch >= 0;
             --candidate.fields.prefetch)
          for (candidate.fields.unroll =
                   candidate.fields.prefetch ? chip.model.prefetchUnroll : 1;
               candidate.fields.unroll >= 1; --candidate.fields.unroll)
            if (ScheduleAttr schedule = tryCandidate())
              if (!best ||
                  getCost(op, schedule, chip) <= getCost(op, best, chip))
                best = schedule;
    return best;
  }
  for (candidate.fields.prefetch = 1; candidate.fields.prefetch >= 0;
       --candidate.fields.prefetch) {
    // The first that keeps enough in flight, else the first.
    ScheduleAttr first;
    // With all groups of rows side by side, then with half of them.
    for (candidate.fewerGroups = 0;
         candidate.fewerGroups <= 1 && candidate.getGroups(chip) > 0;
         ++candidate.fewerGroups) {
      for (candidate.fields.unroll =
               candidate.fields.prefetch ? chip.model.prefetchUnroll : 1;
           candidate.fields.unroll >= 1; --candidate.fields.unroll)
        if (ScheduleAttr schedule = tryCandidate()) {
          if (!isStarved(op, schedule, chip))
            return schedule;
          if (!first)
            first = schedule;
        }
    }
    if (first)
      return first;
  }
  return {};
}

/// A schedule for rows that wait for no sum: a lane takes one access of its row
/// where a workgroup is long enough, so that few registers are taken and many
/// lanes share the arithmetic. Null if rows are too long.
static ScheduleAttr chooseIndependentRows(RowwiseOp op, int64_t width,
                                          const ChipInfo &chip,
                                          bool allowRejected) {
  for (int64_t accesses = 1; accesses <= independentAccesses; ++accesses) {
    auto threads = int64_t(llvm::alignTo(
        uint64_t(llvm::divideCeil(op.getRowLength(), accesses * width)),
        uint64_t(chip.waveSize)));
    if (threads > stagedThreads)
      continue;
    Candidate candidate(op, threads, width);
    candidate.stagedAtOnce = independentComputeUnitThreads;
    if (!op.getAllSums().empty())
      candidate.leastSets = independentRows;
    if (ScheduleAttr schedule = fillCandidate(
            op, candidate, chip, RegisterBound::Estimate, allowRejected))
      return schedule;
  }
  return {};
}

/// A schedule for which workgroups share each row between them, tile by tile.
static ScheduleAttr chooseTiles(RowwiseOp op, int64_t width,
                                const ChipInfo &chip, bool allowRejected) {
  Candidate tile(op, chip.waveSize, width);
  tile.fields.columnTile = chip.waveSize * width;
  tile.fields.unroll = independentRows;
  auto get = [&] {
    ScheduleFields fields(tile.get(op.getContext(), chip));
    // Arithmetic of rows that are not there costs what it costs of others: each
    // lane has a whole iteration of rows. The tiles side by side fill the chip.
    if (!op.getRowOuts().empty()) {
      fields.rowsPerWorkgroup = fields.unroll * fields.rowGroups;
      fields.workgroupsPerComputeUnit = 1;
    }
    return fields.get(op.getContext());
  };
  ScheduleAttr schedule = get();
  // What spills loads fewer rows at once.
  while (tile.fields.unroll > 1 && !allowRejected && isRejected(op, schedule)) {
    tile.fields.unroll /= 2;
    schedule = get();
  }
  return schedule;
}

/// Column sums alone of so few rows that a workgroup takes all of them, of a
/// tile of columns: there are no partial sums, and no kernel that adds them up.
/// Null where the tiles are too few for the rows, or the elements more than
/// were measured. Of the grid of tiles, groups and rows that was measured on an
/// H200, 48 to 6400 rows of 768 to 16384 columns, this is the best or within a
/// tenth of it; the other schedules took up to four times as long.
static ScheduleAttr chooseTilesOfAllRows(RowwiseOp op, const ChipInfo &chip,
                                         bool allowRejected, int64_t rows) {
  bool hasSumsAlone = !op.hasRowSums() && !op.getAllSums().empty() &&
                      op.getRowOuts().empty() && op.getScalarOuts().empty();
  rows = op.getStaticRowCount().value_or(rows);
  if (!hasSumsAlone || op.hasGroups() || rows == 0)
    return {};
  ScheduleFields fields;
  fields.vectorWidth = std::min<int64_t>(chooseVectorWidth(op), 2);
  fields.threadsPerRow = 16;
  fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  int64_t tiles = llvm::divideCeil(op.getRowLength(), fields.columnTile);
  constexpr int64_t mostRowsForEachTile = 44, mostElements = 6400 * 8192,
                    leastRowsForEachGroup = 4, leastGroups = 8;
  if (rows >
      std::min(mostRowsForEachTile * tiles, mostElements / op.getRowLength()))
    return {};
  // Two workgroups of the most threads fill a compute unit.
  int64_t threads = tiles > 2 * chip.computeUnits
                        ? chip.maxThreadsPerWorkgroup / 2
                        : chip.maxThreadsPerWorkgroup;
  fields.rowGroups = std::clamp(int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(
                                    rows, leastRowsForEachGroup))),
                                leastGroups, threads / fields.threadsPerRow);
  fields.unroll = independentRows;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  ScheduleAttr schedule = fields.get(op.getContext());
  bool isLegal =
      getObstacle(op, schedule, chip, RegisterBound::Estimate).empty() &&
      (allowRejected || !isRejected(op, schedule));
  return isLegal ? schedule : ScheduleAttr();
}

/// The best schedule known for `op`, which has column sums, in the canonical
/// order; null if none can run.
static ScheduleAttr chooseCanonicalSchedule(RowwiseOp op, const ChipInfo &chip,
                                            bool allowRejected) {
  ScheduleFields fields;
  int64_t length = op.getRowLength();
  fields.vectorWidth = chooseVectorWidth(op);
  fields.rowGroups = getLeafGroups(length);
  fields.rowsPerWorkgroup = getLeafRows(length);
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  bool hasRowSums = op.hasRowSums();
  for (RegisterBound bound :
       {RegisterBound::Estimate, RegisterBound::Hope, RegisterBound::Least})
    for (int64_t split = 1; split <= chip.workgroups.clusterWorkgroups;
         split *= 2) {
      if (split > 1 && (!hasRowSums || split > countSlices(length)))
        break;
      fields.workgroupsPerRow = split;
      for (int64_t elements : triedElements) {
        auto lanes = int64_t(llvm::PowerOf2Ceil(
            llvm::divideCeil(length, uint64_t(split * elements))));
        fields.threadsPerRow = std::clamp(
            lanes, split > 1 ? chip.waveSize : 1,
            std::min(sliceColumns / fields.vectorWidth,
                     chip.maxThreadsPerWorkgroup / fields.rowGroups));
        for (int64_t stages = chip.workgroups.hasBulkCopy ? 3 : 0; stages >= 0;
             stages -= stages > 1 ? 1 : 2)
          for (fields.prefetch = 1; fields.prefetch >= 0; --fields.prefetch) {
            fields.stages = stages;
            int64_t atOnce = stages ? stagedComputeUnitThreads
                                    : chip.model.computeUnitThreads;
            fields.workgroupsPerComputeUnit = std::max<int64_t>(
                1, atOnce / (fields.threadsPerRow * fields.rowGroups));
            ScheduleAttr schedule = fields.get(op.getContext());
            if (!getObstacle(op, schedule, chip, bound).empty())
              continue;
            schedule = fitWorkgroups(op, schedule, chip);
            if (allowRejected || !isRejected(op, schedule))
              return schedule;
          }
      }
    }
  // Column sums alone have no need of a whole row.
  if (hasRowSums || !op.getScalarOuts().empty())
    return {};
  fields.workgroupsPerRow = 1;
  fields.stages = fields.prefetch = 0;
  fields.unroll = 4;
  fields.threadsPerRow = chip.waveSize;
  fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  return fields.get(op.getContext());
}

ScheduleAttr lnbwd::chooseSchedule(RowwiseOp op, const ChipInfo &chip,
                                   bool allowRejected, int64_t rows) {
  MLIRContext *context = op.getContext();
  int64_t length = op.getRowLength();
  int64_t width = chooseVectorWidth(op);
  bool inOrder = isCanonical(op);
  if (inOrder && !op.getAllSums().empty())
    return chooseCanonicalSchedule(op, chip, allowRejected);
  if (ScheduleAttr schedule =
          chooseTilesOfAllRows(op, chip, allowRejected, rows))
    return schedule;
  if (ScheduleAttr schedule =
          inOrder ? ScheduleAttr()
                  : chooseSplitsWhereFaster(op, chip, allowRejected, rows))
    return schedule;
  if (ScheduleAttr schedule = chooseByCost(op, chip, allowRejected, rows))
    return schedule;

  // Without row sums, workgroups can share a row between them. Column sums
  // alone take few registers and little arithmetic, and tiles leave the fewest
  // idle lanes; but a tile of a workgroup has few rows, and those that it has
  // not, beside the last, cost the arithmetic of rows that are there.
  if (!op.hasRowSums() && op.getScalarOuts().empty() &&
      length > chip.waveSize * width) {
    if (!op.getRowOuts().empty())
      if (ScheduleAttr whole =
              chooseIndependentRows(op, width, chip, allowRejected))
        return whole;
    return chooseTiles(op, width, chip, allowRejected);
  }

  // Lanes a row: powers of two up to a wave, then multiples of it.
  ScheduleAttr best;
  double bestCost = 0;
  auto consider = [&](int64_t threadsPerRow, int64_t workgroupsPerRow,
                      RegisterBound bound) {
    Candidate candidate(op, threadsPerRow, width);
    candidate.fields.workgroupsPerRow = workgroupsPerRow;
    ScheduleAttr schedule =
        fillCandidate(op, candidate, chip, bound, allowRejected);
    if (!schedule)
      return;
    double cost = getCost(op, schedule, chip);
    if (!best || cost < bestCost) {
      best = schedule;
      bestCost = cost;
    }
  };
  auto considerAll = [&](RegisterBound bound) {
    for (int64_t threads = 1; threads <= chip.waveSize; threads *= 2)
      consider(threads, 1, bound);
    // Without column sums, what is shared gains nothing but room.
    for (int64_t split = 1; split <= chip.workgroups.clusterWorkgroups &&
                            (!best || !op.getAllSums().empty());
         split *= 2)
      for (int64_t threads = 2 * chip.waveSize;
           threads <= chip.maxThreadsPerWorkgroup; threads += chip.waveSize)
        consider(threads, split, bound);
  };
  considerAll(RegisterBound::Estimate);
  // Two passes read everything twice.
  if (!best && !op.getAllSums().empty() && chip.model.alwaysReportsSpills)
    considerAll(RegisterBound::Hope);
  if (best || !op.getAllSums().empty())
    return best;

  // Rows too long for the registers of a workgroup are read once a phase, by as
  // many lanes as have registers for an access to each row block.
  for (int64_t threads = chip.maxThreadsPerWorkgroup; threads >= chip.waveSize;
       threads /= 2) {
    Candidate reload(op, threads, width);
    reload.fields.reload = 1;
    while (reload.getGroups(chip) > 1)
      ++reload.fewerGroups;
    ScheduleAttr schedule = reload.get(context, chip);
    if (getObstacle(op, schedule, chip, RegisterBound::Estimate).empty() &&
        (allowRejected || !isRejected(op, schedule)))
      return schedule;
  }
  return {};
}

ScheduleAttr lnbwd::chooseFinalizeSchedule(RowwiseOp op, ScheduleAttr summed,
                                           const ChipInfo &chip) {
  ScheduleFields fields;
  if (op->hasAttr(leavesAttr)) {
    fields.vectorWidth = 1;
    fields.threadsPerRow = fields.columnTile = leavesColumns;
    fields.rowGroups = leavesGroups;
    fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
    return fields.get(op.getContext());
  }
  fields.vectorWidth = chooseVectorWidth(op);
  fields.threadsPerRow = finalizeColumns / fields.vectorWidth;
  fields.columnTile = finalizeColumns;
  fields.dependentLaunch = chip.workgroups.hasDependentLaunch;
  // The next call's rows come meanwhile.
  fields.earlyTrigger =
      summed.getPrefetchBeforeDependency() || summed.getEarlyTrigger();
  // As many groups as take all partial rows of the chip's usual number of
  // compute units in one iteration.
  int64_t partialRows = std::max<int64_t>(
      1, chip.computeUnits * summed.getWorkgroupsPerComputeUnit() /
             (summed.getWorkgroupsPerRow() *
              op.getStaticGroupCount().value_or(usualGroups)));
  int64_t mostGroups = finalizeThreads / fields.threadsPerRow;
  fields.unroll = independentRows;
  if (!summed.getWorkgroupsPerComputeUnit() ||
      partialRows > mostGroups * fields.unroll)
    fields.unroll *= 2;
  int64_t groups = mostGroups;
  if (summed.getWorkgroupsPerComputeUnit())
    groups = llvm::alignTo(
        llvm::divideCeil(partialRows, fields.unroll),
        std::max<int64_t>(1, chip.waveSize / fields.threadsPerRow));
  fields.rowGroups =
      std::clamp(groups, minFinalizeThreads / fields.threadsPerRow,
                 std::min(2 * mostGroups,
                          chip.maxThreadsPerWorkgroup / fields.threadsPerRow));
  // What spills, or has no registers for so many sums, holds fewer rows at
  // once.
  auto fits = [&] {
    ScheduleAttr schedule = fields.get(op.getContext());
    return !isRejected(op, schedule) &&
           getObstacle(op, schedule, chip, RegisterBound::Least).empty();
  };
  while (fields.unroll > 1 && !fits())
    fields.unroll /= 2;
  return fields.get(op.getContext());
}
