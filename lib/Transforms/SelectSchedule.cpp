//===- SelectSchedule.cpp - Choose schedules ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the cost model for a schedule of each row program, lets the user's
// fields win, and checks the outcome against the chip.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Passes.h"
#include "lnbwd/Transforms/ScheduleModel.h"

namespace lnbwd {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class SelectSchedule
    : public lnbwd::impl::SelectSchedulePassBase<SelectSchedule> {
public:
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found =
        lookupChip(chip, [&] { return emitError(getOperation()->getLoc()); });
    if (failed(found))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](RowwiseOp op) {
      return succeeded(select(op, **found)) ? WalkResult::advance()
                                            : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult select(RowwiseOp op, const ChipInfo &info) {
    auto emitOpError = [&] { return op.emitOpError(); };
    ScheduleAttr selected = op.getScheduleAttr();
    if (!selected) {
      selected = chooseSchedule(op, info);
      // Where all that can run have been rejected, the best of them it is.
      if (!selected)
        selected = chooseSchedule(op, info, /*allowRejected=*/true);
      if (!selected)
        return op.emitOpError("row length ")
               << op.getRowLength() << " does not fit the registers of "
               << info.name << " in one pass; run lnbwd-split-two-pass before";
      ++numSelected;
    }
    FailureOr<ScheduleAttr> overridden =
        overrideSchedule(selected, schedule, emitOpError);
    if (failed(overridden) ||
        failed(checkSchedule(op, *overridden, info, emitOpError)))
      return failure();
    op.setScheduleAttr(*overridden);
    return success();
  }
};
} // namespace
