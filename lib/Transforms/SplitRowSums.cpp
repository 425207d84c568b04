//===- SplitRowSums.cpp - Split row sums -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few long rows do not fill a chip with a workgroup for each, and few chips
// have workgroups that meet. So kernels of their own leave the row sums in
// memory, each split of the columns its part, and what is left has no row sums:
// workgroups share its rows column by column.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Analysis/RowPhases.h"
#include "lnbwd/Analysis/ScheduleCandidates.h"
#include "lnbwd/Analysis/ScheduleLimits.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITROWSUMSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
struct SplitRowSums : lnbwd::impl::SplitRowSumsPassBase<SplitRowSums> {
  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChip(getOperation());
    if (failed(found))
      return signalPassFailure();
    FailureOr<SmallVector<RowwiseOp>> programs =
        collectPrograms(getOperation(), [&](RowwiseOp op) -> FailureOr<bool> {
          if (!op.getSchedule() || !op.getScheduleAttr()->rowSplits)
            return false;
          if (!op.hasPureBufferSemantics())
            return op.emitOpError("expected memrefs; run bufferization before");
          if (failed(checkSchedule(op, *op.getSchedule(), **found,
                                   [&] { return op.emitOpError(); })))
            return failure();
          return true;
        });
    if (failed(programs))
      return signalPassFailure();

    IRRewriter rewriter(&getContext());
    for (RowwiseOp op : *programs)
      split(rewriter, op, **found);
    if (!programs->empty() && failed(dropUnneeded(getOperation())))
      signalPassFailure();
  }

  void split(IRRewriter &rewriter, RowwiseOp op, const ChipInfo &info) {
    Schedule fields = *op.getSchedule();
    int64_t splits = std::exchange(fields.rowSplits, 0);
    Schedule ofSums = *getSplitSchedule(op, splits, info);
    // Rows are first read for the first sums. What is left loads its rows ahead
    // of its wait.
    ofSums.prefetchBeforeDependency =
        std::exchange(fields.prefetchBeforeDependency, 0);
    rewriter.setInsertionPoint(op);
    SmallVector<Value> allocations;
    for (unsigned phase = 0; op.hasRowSums(); ++phase) {
      rewriter.setInsertionPoint(op);
      std::string suffix = "_row_sums";
      if (phase)
        suffix += "_" + std::to_string(phase);
      RowSumPrograms programs = hoistRowSums(
          rewriter, op, RowPhases(op).getSums(0), suffix, splits, allocations);
      programs.sums.setScheduleAttr(ScheduleAttr::get(&getContext(), ofSums));
      ofSums.prefetchBeforeDependency = 0;
      op = programs.rest;
      ++numPrograms;
    }
    op.setScheduleAttr(ScheduleAttr::get(&getContext(), fields));
    rewriter.setInsertionPointAfter(op);
    for (Value allocation : allocations)
      memref::DeallocOp::create(rewriter, op.getLoc(), allocation);
    ++numSplit;
  }
};
} // namespace
