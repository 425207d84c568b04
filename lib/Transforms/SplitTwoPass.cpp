//===- SplitTwoPass.cpp - The textbook's two passes -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two copies of a row program, each keeping some of the outputs;
// canonicalisation then removes what only the others needed. Row sums that the
// columns need come out first, into a program of their own, also where there
// are no other outputs.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"

#include "lnbwd/Analysis/ScheduleChoice.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITTWOPASSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Takes the row sums that the column sums of `op` need out of it, into a
/// program of its own before it. A pass over the columns could not compute
/// them: it holds a part of a row. Returns `op` without those sums.
static RowwiseOp hoistNeededSums(IRRewriter &rewriter, RowwiseOp op,
                                 SmallVectorImpl<Value> &allocations) {
  auto numSums = unsigned(op.getAllSums().size());
  Block &body = op.getBody().front();
  llvm::DenseSet<Value> needed;
  walkBack(body.getTerminator()->getOperands().take_back(numSums),
           [&](Value value) { return needed.insert(value).second; });
  SmallVector<Operation *> sums;
  for (Operation &bodyOp : body)
    if (getSummedRow(&bodyOp) && needed.contains(bodyOp.getResult(0)))
      sums.push_back(&bodyOp);
  if (sums.empty())
    return op;
  return hoistRowSums(rewriter, op, sums, "_statistics", /*parts=*/0,
                      allocations)
      .rest;
}

/// Whether `op` has an output with something of each row.
static bool hasRowsOut(RowwiseOp op) {
  return !op.getRowOuts().empty() || !op.getScalarOuts().empty();
}

/// Splits `op` into halves. What needs no row sum is one already: returns
/// whether it was split.
static bool splitIntoHalves(IRRewriter &rewriter, RowwiseOp op) {
  rewriter.setInsertionPoint(op);
  SmallVector<Value> allocations;
  op = hoistNeededSums(rewriter, op, allocations);
  rewriter.setInsertionPointAfter(op);
  if (!hasRowsOut(op) && allocations.empty())
    return false;
  for (Value allocation : allocations)
    memref::DeallocOp::create(rewriter, op.getLoc(), allocation);
  rewriter.setInsertionPointAfter(op);
  if (!hasRowsOut(op)) {
    op.setEntry((op.getEntry() + "_columns").str());
    return true;
  }
  llvm::BitVector inputs(op.getNumDpsInputs(), true);
  llvm::BitVector rows(op.getNumDpsInits());
  rows.set(0, op.getRowOuts().size() + op.getScalarOuts().size());
  llvm::BitVector columns = rows;
  columns.flip();
  RowwiseOp columnHalf = cloneWithOperands(rewriter, op, inputs, columns);
  columnHalf.setEntry((op.getEntry() + "_columns").str());
  RowwiseOp rowHalf = cloneWithOperands(rewriter, op, inputs, rows);
  rowHalf.setEntry((op.getEntry() + "_rows").str());
  rowHalf.setIndependent(true);
  rewriter.eraseOp(op);
  return true;
}

namespace {
struct SplitTwoPass : lnbwd::impl::SplitTwoPassPassBase<SplitTwoPass> {
  using SplitTwoPassPassBase::SplitTwoPassPassBase;

  void runOnOperation() override {
    if (failed(checkModeOption(getOperation(), "two-pass (mode)", mode)))
      return signalPassFailure();
    if (mode == "never")
      return;
    const ChipInfo *info = nullptr;
    if (mode == "auto") {
      FailureOr<const ChipInfo *> found = getChip(getOperation());
      if (failed(found))
        return signalPassFailure();
      info = *found;
    }

    auto &choices = getAnalysis<ScheduleChoices>();
    FailureOr<SmallVector<RowwiseOp>> programs =
        collectPrograms(getOperation(), [&](RowwiseOp op) -> FailureOr<bool> {
          if (failed(checkNoContractions(op)))
            return failure();
          bool hasHalves =
              !op.getAllSums().empty() && (hasRowsOut(op) || op.hasRowSums());
          // Each half needs one.
          bool readsRowBlock =
              llvm::is_contained(op.getRows(), op.getRowBlock());
          return op.hasPureBufferSemantics() && hasHalves && readsRowBlock &&
                 !op.getSchedule() && !op.getOwnRows() &&
                 (!info ||
                  choices.takesTwoPasses({op, *info, rows},
                                         /*mayBeFaster=*/schedule.empty()));
        });
    if (failed(programs))
      return signalPassFailure();

    // Schedules of programs that stay as they are.
    if (programs->empty())
      return markAnalysesPreserved<ScheduleChoices>();

    // Rows may be written over rows that both passes read, so the columns come
    // first. What they write, the second pass must not read.
    for (RowwiseOp op : *programs)
      if (failed(checkNotRead(op, op.getAllSums(), "into two passes")))
        return signalPassFailure();

    IRRewriter rewriter(&getContext());
    for (RowwiseOp op : *programs)
      numSplit += unsigned(splitIntoHalves(rewriter, op));
    if (failed(dropUnneeded(getOperation())))
      signalPassFailure();
  }
};
} // namespace
