//===- PrintScheduleFeatures.cpp - What trees are trained on --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the features of schedules, for bench/chooser/train.py.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ScheduleFeatures.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace lnbwd {
#define GEN_PASS_DEF_PRINTSCHEDULEFEATURESPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class PrintScheduleFeatures
    : public lnbwd::impl::PrintScheduleFeaturesPassBase<PrintScheduleFeatures> {
public:
  using PrintScheduleFeaturesPassBase::PrintScheduleFeaturesPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
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
    llvm::outs() << "roofline_us," << scheduleFeatureNames << "\n";
    WalkResult result = getOperation()->walk([&](RowwiseOp op) {
      ProgramFacts program = ProgramFacts::of(op, rows);
      for (StringRef line : lines) {
        FailureOr<ScheduleAttr> schedule =
            overrideSchedule(ScheduleFields().get(&getContext()), line,
                             [&] { return op.emitOpError(); });
        if (failed(schedule))
          return WalkResult::interrupt();
        llvm::outs() << program.getRooflineMicroseconds(**found);
        for (float value :
             getFeatures(program, ScheduleFields(*schedule), **found))
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
