//===- FollowingFields.cpp - Fields that follow from others ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/FollowingFields.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Analysis/ScheduleFeatures.h"
#include "lnbwd/Analysis/ScheduleLimits.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Rows that are added up before they are added to a total. A lane has 30 to
/// 130 where there are many: the error is least where both sums have as many
/// terms.
static constexpr int64_t sumBlockRows = 8;
/// Registers by which the estimate may fall short where totals are added.
static constexpr int64_t spareTotalRegisters = 8;
/// Staged rows side by side from which on totals were measured to cost nothing,
/// on an H200.
static constexpr int64_t stagedTotalGroups = 4;

Schedule lnbwd::addPrefetchBeforeDependency(RowwiseOp op, Schedule fields) {
  bool isShared =
      fields.workgroupsPerRow > 1 || fields.columnTile || fields.rowSplits;
  // A workgroup for each tile of rows begins and ends all the time, and where a
  // row has few lanes, the instructions cost more than they bring.
  bool isShort = !fields.workgroupsPerComputeUnit && fields.threadsPerRow <= 32;
  if (fields.dependentLaunch && !fields.reload && !isShared && !isShort &&
      op.getAllSums().empty())
    fields.prefetchBeforeDependency = true;
  return fields;
}

/// A lane has as many rows of 16 bits as fill a block of totals: their sums
/// have totals of twice as many rows. Sums of 6422528 rows of 64 were off by
/// 1e-5 without, and by 4e-7 with them.
bool lnbwd::hasLongNarrowSums(RowwiseOp op, const Schedule &schedule,
                              const ChipInfo &chip) {
  std::optional<int64_t> rows = op.getStaticRowCount();
  int64_t workgroups = chip.computeUnits * schedule.workgroupsPerComputeUnit;
  bool isWide = llvm::all_of(op.getAllSums().getTypes(), [](Type type) {
    return cast<MemRefType>(type).getElementTypeBitWidth() == 32;
  });
  return rows && workgroups && isWide && op.getRowElementBits() < 32 &&
         !op.hasRowSums() && op.getRowOuts().empty() &&
         *rows >= sumBlockRows * sumBlockRows * workgroups * schedule.rowGroups;
}

/// Not where short sums of rows of 16 bits or the few rows of partial sums need
/// no totals, where these would cost a workgroup its registers, or where few
/// staged rows lie side by side: an iteration is short, and the branch at its
/// end was measured to cost (docs/numerics.md).
int64_t lnbwd::chooseSumBlock(RowwiseOp op, const Schedule &schedule,
                              const ChipInfo &chip) {
  bool sumsPartials = schedule.columnTile && !schedule.rowsPerWorkgroup;
  bool isNarrow = op.getRowElementBits() < 32;
  if (op.getAllSums().empty() || op.takesMaxima() || sumsPartials ||
      hasLeaves(op) || (isNarrow && !hasLongNarrowSums(op, schedule, chip)) ||
      schedule.takesOneTile(int64_t(op.getFixedWorkgroups())) ||
      (schedule.stages && schedule.rowGroups < stagedTotalGroups))
    return 0;
  Schedule fields = schedule;
  fields.sumBlock =
      std::max<int64_t>(1, (isNarrow ? 2 : 1) * sumBlockRows / schedule.unroll);
  int64_t registers = getResources(op, fields, chip).registersPerLane;
  int64_t needed = llvm::alignTo(uint64_t(registers + spareTotalRegisters),
                                 chip.limits.registerGranule);
  // With as many workgroups on a compute unit as before.
  int64_t workgroups = std::max<int64_t>(
      1, chip.limits.computeUnitsTogether * schedule.workgroupsPerComputeUnit);
  return needed <= getRegisterLimit(schedule.getThreads(), chip, workgroups)
             ? fields.sumBlock
             : 0;
}

/// The code generator widens columns ahead of the loop in any case, and kept
/// what the rows after it widen for themselves in registers as well. Measured
/// on an H200, fewer registers are of use where a sum waits for another, and
/// columns for both; with one sum, or with column sums, kernels took up to a
/// fourth longer so. AMD's are as they were counted and predicted.
static bool widensColumns(RowwiseOp op, const Schedule &schedule,
                          const ChipInfo &chip) {
  return chip.backend == Backend::NVPTX && op.getAllSums().empty() &&
         keepsRowSums(op, schedule) && RowPhases(op).getCount() > 2 &&
         (schedule.rowGroups > 1 || needsShift(op, schedule));
}

/// In the canonical order workgroups that stay have their leaves from the
/// start, so that those that do not fit beside the others wait until these end;
/// the model's registers, by which they fit, are no bound. On an H200
/// 9466x5944 took 1.11 times the default order's time so, and 1.42 times
/// without; in the mean of 60 shapes 0.98 times as long. With a bound by which
/// a kernel has spilled it has none.
static int64_t chooseMostRegisters(RowwiseOp op, const Schedule &schedule,
                                   const ChipInfo &chip) {
  if (chip.backend != Backend::NVPTX || !hasLeaves(op) || op.getLeaves() ||
      schedule.columnTile || schedule.rowSplits)
    return 0;
  int64_t workgroups = schedule.workgroupsPerComputeUnit;
  if (!workgroups)
    workgroups = countResidentWorkgroups(op, schedule, chip);
  int64_t most = getRegisterLimit(schedule.getThreads(), chip, workgroups);
  Schedule bounded = schedule;
  bounded.mostRegisters = most;
  return workgroups > 1 && most < chip.maxRegistersPerLane &&
                 !isRejected(op, bounded)
             ? most
             : 0;
}

Schedule lnbwd::followOthers(RowwiseOp op, const Schedule &schedule,
                             StringRef overrides, const ChipInfo &chip) {
  auto isFree = [&](StringRef name) { return !findOverride(overrides, name); };
  Schedule fields = schedule;
  if (isFree(field::prefetchBeforeDependency))
    fields = addPrefetchBeforeDependency(op, fields);
  if (isFree(field::combineRadix))
    fields.combineRadix = chooseCombineRadix(op, fields);
  if (isFree(field::sumBlock))
    fields.sumBlock = chooseSumBlock(op, fields, chip);
  // Workgroups that stay load columns once for all rows, and where a wave has a
  // row to itself, its sums are too short to hide a load.
  bool isOneTile = fields.takesOneTile(int64_t(op.getFixedWorkgroups()));
  if (isFree(field::lateColumns))
    fields.lateColumns = isOneTile && fields.threadsPerRow > chip.waveSize;
  if (isFree(field::widenColumns))
    fields.widenColumns = !isOneTile && widensColumns(op, fields, chip);
  if (isFree(field::mostRegisters))
    fields.mostRegisters = chooseMostRegisters(op, fields, chip);
  return fields;
}

/// The fields that `overrides` names, and to what it sets each.
static auto splitOverrides(StringRef overrides) {
  SmallVector<StringRef> texts;
  overrides.split(texts, ',', -1, /*KeepEmpty=*/false);
  return llvm::map_to_vector(
      texts, [](StringRef text) { return text.trim().split('='); });
}

std::optional<int64_t> lnbwd::findOverride(StringRef overrides,
                                           StringRef field) {
  int64_t value = 0;
  for (auto [name, text] : splitOverrides(overrides))
    if (name == field && !text.getAsInteger(10, value))
      return value;
  return {};
}

FailureOr<Schedule>
lnbwd::overrideSchedule(const Schedule &schedule, StringRef overrides,
                        function_ref<InFlightDiagnostic()> emitError) {
  Schedule fields = schedule;
  SmallPtrSet<const int64_t *, 4> set;
  for (auto [name, text] : splitOverrides(overrides)) {
    const ScheduleFieldInfo *info = findScheduleField(name);
    if (!info) {
      InFlightDiagnostic diag = emitError() << "unknown schedule field '"
                                            << name << "', expected one of: ";
      llvm::interleaveComma(
          llvm::map_range(kScheduleFields,
                          [](const auto &known) { return known.name; }),
          diag);
      return diag;
    }
    int64_t *value = &(fields.*info->member);
    if (text.getAsInteger(10, *value))
      return emitError() << "expected schedule field '" << name
                         << "' to be a whole number, got '" << text << "'";
    if (!set.insert(value).second)
      return emitError() << "expected schedule field '" << name
                         << "' once, got it twice";
  }
  bool setThreads = set.contains(&fields.threadsPerRow);
  bool setGroups = set.contains(&fields.rowGroups);
  // Fields that nobody set follow the ones that somebody did.
  if (setThreads && !setGroups && fields.threadsPerRow > 0)
    fields.rowGroups = int64_t(llvm::bit_floor(uint64_t(
        std::max<int64_t>(1, schedule.getThreads() / fields.threadsPerRow))));
  if ((setThreads || setGroups) && !set.contains(&fields.rowsPerWorkgroup) &&
      fields.rowsPerWorkgroup)
    fields.rowsPerWorkgroup =
        std::max(fields.rowsPerWorkgroup, fields.rowGroups);
  if (fields.reload && !set.contains(&fields.prefetch))
    fields.prefetch = 0;
  if (!set.contains(&fields.unroll) &&
      (fields.prefetch != schedule.prefetch || fields.stages || fields.reload))
    fields.unroll = 1;
  if (!set.contains(&fields.prefetchBeforeDependency) &&
      (!fields.dependentLaunch || fields.reload))
    fields.prefetchBeforeDependency = 0;
  if (fields.columnTile && !set.contains(&fields.columnTile) &&
      (setThreads || set.contains(&fields.vectorWidth)) &&
      fields.threadsPerRow > 0 && fields.vectorWidth > 0)
    fields.columnTile = fields.threadsPerRow * fields.vectorWidth;
  if (failed(ScheduleAttr::verify(emitError, fields)))
    return failure();
  return fields;
}
