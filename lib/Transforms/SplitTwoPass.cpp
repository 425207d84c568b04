//===- SplitTwoPass.cpp - The textbook's two passes -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two copies of a row program, each keeping some of the outputs;
// canonicalisation then removes what only the others needed.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Passes.h"
#include "lnbwd/Transforms/ScheduleModel.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_SPLITTWOPASSPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class SplitTwoPass : public lnbwd::impl::SplitTwoPassPassBase<SplitTwoPass> {
public:
  using SplitTwoPassPassBase::SplitTwoPassPassBase;

  void runOnOperation() override {
    if (mode != "auto" && mode != "always" && mode != "never") {
      emitError(getOperation()->getLoc())
          << "expected the option mode to be auto, always or never, got '"
          << mode << "'";
      return signalPassFailure();
    }
    if (mode == "never")
      return;
    const ChipInfo *info = nullptr;
    if (mode == "auto") {
      FailureOr<const ChipInfo *> found =
          lookupChip(chip, [&] { return emitError(getOperation()->getLoc()); });
      if (failed(found))
        return signalPassFailure();
      info = *found;
    }

    SmallVector<RowwiseOp> programs;
    getOperation()->walk([&](RowwiseOp op) {
      bool hasBoth =
          (!op.getRowOuts().empty() || !op.getScalarOuts().empty()) &&
          !op.getColumnSums().empty();
      if (op.hasPureBufferSemantics() && hasBoth && !op.getSchedule() &&
          (!info || !chooseSchedule(op, *info)))
        programs.push_back(op);
    });

    // Rows may be written over rows that both passes read, so the columns come
    // first. What they write, the second pass must not read.
    for (RowwiseOp op : programs)
      for (Value output : op.getColumnSums())
        for (OpOperand *input : op.getDpsInputOperands())
          if (input->get() == output) {
            op.emitOpError("cannot be split into two passes: operand ")
                << input->getOperandNumber() << " ("
                << op.getOperandName(input->getOperandNumber())
                << ") is an output as well; give the output a buffer of its "
                   "own";
            return signalPassFailure();
          }

    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> halves;
    for (RowwiseOp op : programs) {
      rewriter.setInsertionPoint(op);
      llvm::BitVector inputs(op.getNumDpsInputs(), true);
      llvm::BitVector rows(op.getNumDpsInits());
      rows.set(0, op.getRowOuts().size() + op.getScalarOuts().size());
      llvm::BitVector columns = rows;
      columns.flip();
      RowwiseOp columnHalf = cloneWithOperands(rewriter, op, inputs, columns);
      columnHalf.setEntry((op.getEntry() + "_columns").str());
      RowwiseOp rowHalf = cloneWithOperands(rewriter, op, inputs, rows);
      rowHalf.setEntry((op.getEntry() + "_rows").str());
      halves.append({rowHalf, columnHalf});
      rewriter.eraseOp(op);
      ++numSplit;
    }
    if (halves.empty())
      return;
    RewritePatternSet patterns(&getContext());
    RowwiseOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
