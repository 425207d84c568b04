//===- ScheduleSearch.cpp - The schedule that the cost model finds fastest ===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through the schedules of whole rows, weighs each by the fitted cost
// model of the chip, and takes the fastest that can run.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleSearch.h"

#include "lnbwd/Analysis/CostModel.h"
#include "lnbwd/Analysis/IterationModel.h"
#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Analysis/ScheduleLegality.h"
#include "lnbwd/Analysis/ScheduleWeights.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>
#include <utility>

using namespace mlir;
using namespace lnbwd;

/// Rows of an operand whose number is not known: as many as move so many bytes.
static constexpr double usualBytes = 128 * 1024 * 1024;

/// Bytes of an access where those of `accessBytes` leave too many lanes idle.
static constexpr int64_t narrowBytes = 4;
/// Columns of a workgroup, at least, where several share a row.
static constexpr int64_t leastPartColumns = 1024;
/// Columns of a lane, and idle lanes over busy ones, beyond which nothing is
/// good; and idle lanes where nothing else can run.
static constexpr int64_t mostLaneColumns = 64;
static constexpr double mostIdle = 0.34, mostIdleAtAll = 1;
/// Work-items of a compute unit where workgroups are persistent.
static constexpr int64_t leastComputeUnitThreads = 128,
                         mostComputeUnitThreads = 2048;
/// Cluster size from which on, with several workgroups on a compute unit and
/// column sums to add up, the kernel is launched when the preceding one has
/// ended.
static constexpr int64_t leastLateSplit = 4;
/// What is tried, in this order: cluster sizes, work-items of a workgroup at
/// most, its iterations at least, workgroups of a compute unit (0: as many as
/// there are tiles of rows).
static constexpr int64_t triedSplits[] = {1, 2, 4, 8, 16};
static constexpr int64_t triedThreads[] = {32,  64,  96,  128, 192, 256,
                                           384, 512, 640, 768, 1024};
static constexpr int64_t triedIterations[] = {2, 1, 4, 8, 16};
static constexpr int64_t triedWorkgroups[] = {1, 2, 3, 4, 6, 8, 12, 16, 0};
/// Ways to keep rows in flight that are tried: `stages`, `prefetch`, `unroll`.
/// Rows of a multi-buffer are loaded to registers ahead and one by one, and two
/// tiles an iteration are tried only with prefetched ones.
static constexpr std::array<int64_t, 3> pipelineDepths[] = {
    {0, 0, 1}, {0, 1, 1}, {0, 1, 2}, {2, 1, 1}, {3, 1, 1},
    {4, 1, 1}, {5, 1, 1}, {6, 1, 1}, {8, 1, 1}};
/// Registers by which the estimate stays below those that a lane has.
static constexpr double registerMargin = 8;
/// Times are compared in steps of a tenth of a nanosecond.
static constexpr double stepsPerMicrosecond = 1e4;

int64_t lnbwd::getExpectedRows(RowwiseOp op, int64_t rows) {
  if (std::optional<int64_t> count = op.getStaticRowCount())
    return std::max<int64_t>(1, *count);
  if (rows > 0)
    return rows;
  double rowBytes =
      double(getColumnBits(op.getRows()) + getColumnBits(op.getRowOuts())) / 8 *
      double(op.getRowLength());
  return std::max<int64_t>(1, int64_t(usualBytes / rowBytes));
}

namespace {
/// Which schedules are tried, beside persistent workgroups as the table of
/// fields has them.
struct TriedSchedules {
  /// Idle lanes over busy ones, and bytes of an access, at most.
  double idle = mostIdle;
  int64_t bytes = accessBytes;
  /// Work-items of a workgroup and columns of a lane, at most, where each tile
  /// of rows has a workgroup of its own; 0: none has. And columns where several
  /// waves share a row, and where several rows with accesses of one element lie
  /// side by side.
  double apartThreads = 0, apartColumns = 0, lateLoadColumns = 0,
         apartNarrowColumns = 0;
  /// Whether to try grids in which every workgroup has the same number of
  /// tiles, but for the last one.
  bool isEvenTried = false;

  /// Columns of a lane, at most, where each tile of rows of `fields` has a
  /// workgroup of its own.
  double getMostApartColumns(const ScheduleFields &fields,
                             const ChipInfo &chip) const {
    if (fields.vectorWidth == 1 && fields.rowGroups > 1)
      return apartNarrowColumns;
    return fields.threadsPerRow > chip.waveSize ? lateLoadColumns
                                                : apartColumns;
  }
};
} // namespace

/// Whether a workgroup for each tile of rows is tried, instead of persistent
/// ones: where there are column sums, each workgroup would have partial ones.
static bool takesUnboundedGrid(RowwiseOp op) {
  return op.getAllSums().empty() && !hasOwnRows(op);
}

/// Whether the kernel of `op` may start before the one before it has ended.
/// Where several workgroups of clusters lie on a compute unit and the kernel
/// that adds up partial sums comes between, not all clusters find a place among
/// what is about to end, and those left over start when the others have done
/// all the work (docs/schedules.md).
static bool usesDependentLaunch(RowwiseOp op, const ChipInfo &chip,
                                int64_t split, int64_t workgroups) {
  return chip.workgroups.hasDependentLaunch &&
         (split < leastLateSplit || workgroups == 1 || op.getAllSums().empty());
}

/// Calls `visit` with each schedule for `rows` rows that are whole in a
/// workgroup or a cluster, but for those that are hopeless.
static void forEachSchedule(RowwiseOp op, const ChipInfo &chip,
                            const TriedSchedules &toTry, int64_t rows,
                            function_ref<void(const ScheduleFields &)> visit) {
  int64_t length = op.getRowLength();
  int64_t width =
      std::min(chooseVectorWidth(op), toTry.bytes * 8 / op.getRowElementBits());
  bool hasRowSums = op.hasRowSums();
  bool isUnboundedTried = takesUnboundedGrid(op);
  for (int64_t split : triedSplits) {
    if (split > chip.workgroups.clusterWorkgroups ||
        (split > 1 && (!hasRowSums || length / split < leastPartColumns)))
      break;
    int64_t accessesBefore = 0;
    for (int64_t threads = split > 1 ? chip.waveSize : 1;
         threads <= chip.maxThreadsPerWorkgroup;
         threads += threads < chip.waveSize ? threads : chip.waveSize) {
      int64_t columns = getSharedColumns(length, split, width);
      int64_t accesses = llvm::divideCeil(columns, threads * width);
      // More lanes for as many accesses would only idle.
      if (accesses == std::exchange(accessesBefore, accesses) ||
          (split - 1) * columns >= length ||
          (accesses > 1 && accesses * width > mostLaneColumns) ||
          double(accesses * width * threads * split) >
              double(length) * (1 + toTry.idle))
        continue;
      ScheduleFields fields;
      fields.threadsPerRow = threads;
      fields.vectorWidth = width;
      fields.workgroupsPerRow = split;
      int64_t groupsBefore = 0;
      for (int64_t together : triedThreads) {
        if (together < threads)
          continue;
        fields.rowGroups =
            int64_t(llvm::bit_floor(uint64_t(together / threads)));
        if (fields.rowGroups == std::exchange(groupsBefore, fields.rowGroups))
          continue;
        int64_t workgroup = threads * fields.rowGroups;
        for (auto [stages, prefetch, unroll] : pipelineDepths) {
          if (stages && !chip.workgroups.hasBulkCopy)
            continue;
          fields.stages = stages;
          fields.prefetch = prefetch;
          fields.unroll = unroll;
          SmallVector<int64_t, 16> grids;
          for (int64_t workgroups : triedWorkgroups) {
            fields.workgroupsPerComputeUnit = workgroups;
            fields.dependentLaunch =
                usesDependentLaunch(op, chip, split, workgroups);
            if (!workgroups) {
              // One tile of rows has no others to keep in flight.
              if (isUnboundedTried && split == 1 && !stages && !prefetch &&
                  double(workgroup) <= toTry.apartThreads &&
                  double(accesses * width) <=
                      toTry.getMostApartColumns(fields, chip)) {
                fields.rowsPerWorkgroup = fields.rowGroups;
                visit(fields);
              }
              continue;
            }
            if (workgroup * workgroups < leastComputeUnitThreads ||
                workgroup * workgroups > mostComputeUnitThreads)
              continue;
            auto visitIterations = [&](int64_t iterations) {
              fields.rowsPerWorkgroup = iterations * fields.rowGroups;
              int64_t grid =
                  std::min(llvm::divideCeil(rows, fields.rowsPerWorkgroup),
                           uint64_t(workgroups * chip.computeUnits / split));
              // Of those with the same grid the first.
              if (llvm::is_contained(grids, grid))
                return;
              grids.push_back(grid);
              visit(fields);
            };
            for (int64_t iterations : triedIterations)
              visitIterations(iterations);
            if (toTry.isEvenTried)
              visitIterations(llvm::divideCeil(
                  rows, fields.rowGroups * workgroups * chip.computeUnits));
          }
        }
      }
    }
  }
}

/// The parameters that `op` is weighed by on `chip`, or null where rules
/// choose.
static const CostParameters *getParametersFor(RowwiseOp op,
                                              const ChipInfo &chip) {
  bool needsWholeRows =
      op.hasRowSums() || !op.getScalarOuts().empty() ||
      !op.getRowOuts().empty() ||
      op.getRowLength() <= chip.waveSize * chooseVectorWidth(op);
  return op.hasGroups() || !needsWholeRows ? nullptr : getCostParameters(chip);
}

/// `fields` with early rows where kernels of `op` have them. It may have them
/// already.
static ScheduleFields addPrefetchBeforeDependency(RowwiseOp op,
                                                  const ChipInfo &chip,
                                                  ScheduleFields fields) {
  bool isShared =
      fields.workgroupsPerRow > 1 || fields.columnTile || fields.rowSplits;
  // A workgroup for each tile of rows begins and ends all the time, and where a
  // wave has its row by itself, the instructions cost more than they bring.
  bool isShort =
      !fields.workgroupsPerComputeUnit && fields.threadsPerRow <= chip.waveSize;
  if (fields.dependentLaunch && !fields.reload && !isShared && !isShort &&
      op.getAllSums().empty())
    fields.prefetchBeforeDependency = fields.earlyTrigger = true;
  return fields;
}

namespace {
/// A schedule and its predicted time.
using Weighed = std::pair<double, ScheduleFields>;
} // namespace

/// Calls `visit` with those of `found` that can run, the fastest first, until
/// it returns false. Returns whether there was any.
static bool visitByTime(RowwiseOp op, const ChipInfo &chip, RegisterBound bound,
                        SmallVectorImpl<Weighed> &found,
                        function_ref<bool(RankedSchedule)> visit) {
  // Of those that are as good the first, whatever the last bits say.
  llvm::stable_sort(found, [](const Weighed &one, const Weighed &other) {
    return std::round(one.first * stepsPerMicrosecond) <
           std::round(other.first * stepsPerMicrosecond);
  });
  bool isAnyVisited = false;
  for (const auto &[time, fields] : found) {
    ScheduleAttr schedule = fields.get(op.getContext());
    if (!getObstacle(op, schedule, chip, bound).empty())
      continue;
    isAnyVisited = true;
    if (!visit({time, schedule}))
      break;
  }
  return isAnyVisited;
}

/// Whether the iteration model weighs `op`: programs that sum rows and
/// columns, whose rows are whole in a workgroup that stays for further ones, if
/// their number is known.
static const IterationParameters *
getIterationParametersFor(RowwiseOp op, const ChipInfo &chip, int64_t rows) {
  bool isKnown = rows > 0 || op.getStaticRowCount().value_or(0) > 0;
  return isKnown && op.hasRowSums() && !op.getAllSums().empty() &&
                 !op.hasGroups()
             ? getIterationParameters(chip)
             : nullptr;
}

static IterationNeeds getIterationNeeds(RowwiseOp op, ScheduleAttr schedule,
                                        const ChipInfo &chip) {
  ScheduleResources resources = getResources(op, schedule, chip);
  double room = std::floor(getResident(op, schedule, chip));
  if (resources.sharedMemoryBytes)
    room = std::min(room, double(chip.limits.computeUnitSharedMemoryBytes /
                                 resources.sharedMemoryBytes));
  return {double(op.getScalars().size() + op.getScalarOuts().size()),
          double(resources.registersPerLane), std::max(1.0, room)};
}

/// Calls `visit` with schedules of whole rows that can run, the fastest by the
/// chip's model first, until it returns false.
static void forEachByCost(RowwiseOp op, const ChipInfo &chip, int64_t rows,
                          function_ref<bool(RankedSchedule)> visit) {
  SmallVector<Weighed, 0> found;
  if (const CostParameters *parameters = getParametersFor(op, chip)) {
    rows = getExpectedRows(op, rows);
    ProgramCosts program = ProgramCosts::of(op, rows);
    TriedSchedules toTry;
    toTry.apartThreads = parameters->apartThreads;
    toTry.apartColumns = parameters->apartColumns;
    toTry.lateLoadColumns = parameters->lateLoadColumns;
    toTry.apartNarrowColumns = parameters->apartNarrowColumns;
    // Rows of 17 accesses leave many lanes idle unless a few have all columns,
    // for which there are no registers: then accesses are as wide as a
    // register, and where that is no better, idle lanes cost what the model
    // says.
    for (auto [idle, bytes] :
         {std::pair(mostIdle, accessBytes), std::pair(mostIdle, narrowBytes),
          std::pair(mostIdleAtAll, accessBytes)}) {
      toTry.idle = idle;
      toTry.bytes = bytes;
      found.clear();
      forEachSchedule(op, chip, toTry, rows, [&](const ScheduleFields &fields) {
        RegisterEstimate registers =
            estimateRegisters(program, fields, chip, *parameters);
        if (registers.needed + registerMargin <= registers.limit)
          found.emplace_back(
              predictMicroseconds(program,
                                  addPrefetchBeforeDependency(op, chip, fields),
                                  chip, *parameters),
              fields);
      });
      if (visitByTime(op, chip, RegisterBound::Least, found, visit))
        return;
    }
    return;
  }
  if (const IterationParameters *parameters =
          getIterationParametersFor(op, chip, rows)) {
    rows = getExpectedRows(op, rows);
    ProgramCosts program = ProgramCosts::of(op, rows);
    // Idle lanes only wait longer, and registers are an estimate: where nothing
    // can run within both, more of either is tried. Code emission says whether
    // it spills.
    for (double idle : {mostIdle, mostIdleAtAll}) {
      TriedSchedules toTry;
      toTry.idle = idle;
      toTry.isEvenTried = true;
      found.clear();
      forEachSchedule(op, chip, toTry, rows, [&](const ScheduleFields &fields) {
        if (fields.workgroupsPerComputeUnit)
          found.emplace_back(
              predictMicroseconds(
                  program,
                  getIterationNeeds(op, fields.get(op.getContext()), chip),
                  fields, chip, *parameters),
              fields);
      });
      for (RegisterBound bound :
           {RegisterBound::Estimate, RegisterBound::Hope}) {
        if (bound == RegisterBound::Hope && !chip.model.alwaysReportsSpills)
          continue;
        if (visitByTime(op, chip, bound, found, visit))
          return;
      }
    }
  }
}

ScheduleAttr lnbwd::prefetchRowsBeforeDependency(RowwiseOp op,
                                                 const ChipInfo &chip,
                                                 ScheduleAttr schedule) {
  ScheduleAttr early =
      addPrefetchBeforeDependency(op, chip, ScheduleFields(schedule))
          .get(op.getContext());
  return isRejected(op, early) ? schedule : early;
}

ScheduleAttr lnbwd::chooseByCost(RowwiseOp op, const ChipInfo &chip,
                                 bool allowRejected, int64_t rows) {
  ScheduleAttr best;
  forEachByCost(op, chip, rows, [&](RankedSchedule ranked) {
    if (allowRejected || !isRejected(op, ranked.schedule))
      best = ranked.schedule;
    return !best;
  });
  return best;
}

SmallVector<RankedSchedule> lnbwd::rankSchedules(RowwiseOp op,
                                                 const ChipInfo &chip,
                                                 int64_t count, int64_t rows) {
  SmallVector<RankedSchedule> result;
  if (count <= 0)
    return result;
  auto add = [&](RankedSchedule ranked) {
    ranked.schedule = prefetchRowsBeforeDependency(op, chip, ranked.schedule);
    result.push_back(ranked);
    return int64_t(result.size()) < count;
  };
  forEachByCost(op, chip, rows, add);
  if (!result.empty())
    return result;
  // Where no model weighs it, the rules' weights rank what is tried.
  SmallVector<Weighed, 0> found;
  forEachSchedule(op, chip, TriedSchedules(), getExpectedRows(op, rows),
                  [&](const ScheduleFields &fields) {
                    ScheduleAttr schedule = fields.get(op.getContext());
                    found.emplace_back(getCost(op, schedule, chip), fields);
                  });
  visitByTime(op, chip, RegisterBound::Estimate, found,
              [&](RankedSchedule ranked) {
                ranked.microseconds = std::nullopt;
                return add(ranked);
              });
  return result;
}
