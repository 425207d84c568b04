//===- SelectSchedule.cpp - Choose schedules ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the learned model for the schedule of each row program, lets the user's
// fields win, and checks the outcome against the chip. Beside it, what the
// model is trained on: bench/chooser/train.py has the features of schedules
// printed.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Analysis/CanonicalOrder.h"
#include "lnbwd/Analysis/FollowingFields.h"
#include "lnbwd/Analysis/ScheduleChoice.h"
#include "lnbwd/Analysis/ScheduleFeatures.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

namespace lnbwd {
#define GEN_PASS_DEF_PRINTSCHEDULEFEATURESPASS
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Reports that `op` has no schedule that can run, and what helps.
static LogicalResult reportNone(RowwiseOp op, const ChipInfo &info) {
  if (hasLeaves(op) && op.hasGroups() && !op.getColumnSums().empty())
    return op.emitOpError("expected no sums over all rows beside groups of "
                          "rows in the canonical order, got ")
           << op.getOperandName(op.getColumnSums().getBeginOperandIndex())
           << "; compute them in a program of their own";
  // A half of two passes, which cannot be split any more.
  bool isOfColumns =
      op.getRowOuts().empty() && op.getScalarOuts().empty() && !op.hasRowSums();
  return op.emitOpError("row length ")
         << op.getRowLength() << " does not fit the registers of " << info.name
         << (op.getCanonical()
                 ? " in the canonical order; compile it with order=default"
             : op.getAllSums().empty()
                 ? ", not even where rows are read again for each row sum; "
                   "split the program into ones with fewer row blocks"
             : isOfColumns
                 ? ", nor its grid as tiles of columns; split the rows into "
                   "shorter ones"
                 : " in one pass; run lnbwd-split-two-pass before");
}

namespace {
struct SelectSchedule : lnbwd::impl::SelectSchedulePassBase<SelectSchedule> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChip(getOperation());
    if (failed(found) ||
        failed(checkCountOption(getOperation(), "rows", rows)) ||
        failed(checkCountOption(getOperation(), "candidates", candidates)))
      return signalPassFailure();
    if (StringRef error = getModelError(**found); !error.empty()) {
      getOperation()->emitError() << error;
      return signalPassFailure();
    }
    bool hasPrograms = false;
    WalkResult result = getOperation()->walk([&](RowwiseOp op) {
      // Products have one schedule, which their kernels are written by.
      if (op.getProduct())
        return WalkResult::advance();
      hasPrograms = true;
      return succeeded(select(op, **found)) ? WalkResult::advance()
                                            : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!schedule.empty() && !hasPrograms) {
      emitError(getOptionLoc(&getContext(), "schedule"))
          << "expected row programs whose schedules '" << schedule
          << "' can be set in, got none; leave schedule out";
      signalPassFailure();
    }
  }

private:
  LogicalResult select(RowwiseOp op, const ChipInfo &info) {
    if (failed(checkNoContractions(op)))
      return failure();
    auto emitOpError = [&] { return op.emitOpError(); };
    std::optional<Schedule> selected = op.getSchedule();
    for (RankedSchedule ranked : rankSchedules({op, info, rows}, candidates))
      op.emitRemark(
          llvm::formatv("predicted {0:f2} us: ", ranked.microseconds).str())
          << ScheduleAttr::get(
                 op.getContext(),
                 followOthers(op, ranked.schedule, schedule, info));
    if (!selected) {
      selected = getAnalysis<ScheduleChoices>().choose(
          {op, info, rows,
           findOverride(schedule, field::rowSplits).value_or(0)});
      if (!selected)
        return reportNone(op, info);
      ++numSelected;
    }
    FailureOr<Schedule> overridden =
        overrideSchedule(*selected, schedule, emitOpError);
    if (failed(overridden))
      return failure();
    // A leaf of the order bounds the rows side by side.
    if (!op.getScheduleAttr() && !schedule.empty() && hasLeaves(op)) {
      if (!findOverride(schedule, field::rowGroups))
        overridden->rowGroups = selected->rowGroups;
      if (!findOverride(schedule, field::rowsPerWorkgroup) &&
          !overridden->rowSplits)
        overridden->rowsPerWorkgroup =
            getLeastLeafRows(op.getRowLength(), overridden->rowGroups);
      // A part of a leaf is no grid's tile of rows.
      if (!findOverride(schedule, field::workgroupsPerComputeUnit) &&
          !overridden->rowSplits &&
          countLeafParts(op, overridden->rowGroups) > 1)
        overridden->workgroupsPerComputeUnit =
            std::max<int64_t>(1, overridden->workgroupsPerComputeUnit);
    }
    // The rules are for the schedule that it comes to, whoever chose which
    // field.
    if (!op.getScheduleAttr())
      overridden = followOthers(op, *overridden, schedule, info);
    if (failed(checkSchedule(op, *overridden, info, emitOpError)))
      return failure();
    op.setScheduleAttr(ScheduleAttr::get(op.getContext(), *overridden));
    // On the chip's usual device the grid is what it would be anyway. That of
    // rows whose number no launch chooses is a constant. A grid without a bound
    // depends on no device.
    int64_t bound = overridden->workgroupsPerComputeUnit;
    bool hasSums = !op.getAllSums().empty();
    if (bound && ((reproducible && hasSums) || op.getOwnRows()))
      op.setFixedWorkgroups(std::max<int64_t>(
          1, bound * info.computeUnits / overridden->workgroupsPerRow));
    return success();
  }
};

struct PrintScheduleFeatures
    : lnbwd::impl::PrintScheduleFeaturesPassBase<PrintScheduleFeatures> {
  using PrintScheduleFeaturesPassBase::PrintScheduleFeaturesPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChip(getOperation());
    if (failed(found) || failed(checkCountOption(getOperation(), "rows", rows)))
      return signalPassFailure();
    auto buffer = llvm::MemoryBuffer::getFile(schedules, /*IsText=*/true);
    if (!buffer) {
      emitError(getOptionLoc(&getContext(), "schedules"))
          << "cannot read '" << schedules
          << "': " << buffer.getError().message();
      return signalPassFailure();
    }
    SmallVector<StringRef> lines;
    (*buffer)->getBuffer().split(lines, '\n', /*MaxSplit=*/-1,
                                 /*KeepEmpty=*/false);
    llvm::outs() << "roofline_us,launch_us," << scheduleFeatureNames << "\n";
    WalkResult result = getOperation()->walk([&](RowwiseOp op) {
      if (op.getProduct())
        return WalkResult::advance();
      ProgramFacts program = ProgramFacts::of(op, rows);
      for (StringRef line : lines) {
        FailureOr<Schedule> schedule = overrideSchedule(
            Schedule(), line, [&] { return op.emitOpError(); });
        if (failed(schedule))
          return WalkResult::interrupt();
        llvm::outs() << program.getRooflineMicroseconds(**found) << ','
                     << launchMicroseconds;
        for (float value : getFeatures(program, *schedule, **found))
          llvm::outs() << ',' << value;
        llvm::outs() << '\n';
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
