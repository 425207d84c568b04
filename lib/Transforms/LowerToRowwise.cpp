//===- LowerToRowwise.cpp - Named operations to row programs --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pattern for all named operations: each knows its formula for one row
// (LNBwdNormBodies.cpp). What the function computes is noted before that.
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"
#include "lnbwd/LaunchPlan/LaunchNotes.h"

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERTOROWWISEPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
struct LowerNorm : OpInterfaceRewritePattern<NormOpInterface> {
  LowerNorm(MLIRContext *context, bool textbook)
      : OpInterfaceRewritePattern(context), textbook(textbook) {}

  LogicalResult matchAndRewrite(NormOpInterface op,
                                PatternRewriter &rewriter) const override {
    RowBody::replace(rewriter, op, textbook);
    return success();
  }

  bool textbook;
};
} // namespace

void lnbwd::populateLowerToRowwisePatterns(RewritePatternSet &patterns,
                                           bool textbook) {
  patterns.add<LowerNorm>(patterns.getContext(), textbook);
}

/// The only operation of this dialect in the function, if it is a named one:
/// what several compute together has no name.
static NormOpInterface getOnlyNamedOperation(FunctionOpInterface function) {
  SmallVector<Operation *> operations;
  function->walk([&](Operation *op) {
    if (isa<NormOpInterface, RowwiseOp>(op))
      operations.push_back(op);
  });
  if (operations.size() != 1)
    return nullptr;
  return dyn_cast<NormOpInterface>(operations.front());
}

NamedOperationAttr lnbwd::describeNamedOperation(FunctionOpInterface function) {
  NormOpInterface op = getOnlyNamedOperation(function);
  if (!op)
    return {};
  return NamedOperationAttr::get(
      op.getContext(), op.getNamedOperation(),
      op.computesStatistics() ? op.getEpsilonAttr() : FloatAttr(),
      op.getZeroCentredGamma() && op.getInput(Role::Gamma));
}

/// Has the function of a named operation say which it is.
static LogicalResult recordOperation(FunctionOpInterface function) {
  NamedOperationAttr described = describeNamedOperation(function);
  if (!described)
    return success();
  if (Attribute known = function->getAttr(operationAttr);
      known && known != described)
    return getOnlyNamedOperation(function)->emitOpError(
               "is not what its function's ")
           << operationAttr << " says: expected " << described << ", got "
           << known << "; leave the attribute out, it is set here";
  function->setAttr(operationAttr, described);
  return success();
}

namespace {
struct LowerToRowwise : lnbwd::impl::LowerToRowwisePassBase<LowerToRowwise> {
  using LowerToRowwisePassBase::LowerToRowwisePassBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](FunctionOpInterface function) {
      return WalkResult(recordOperation(function));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([&](NormOpInterface) { ++numLowered; });
    RewritePatternSet patterns(&getContext());
    populateLowerToRowwisePatterns(patterns, textbook);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // Now, before an operand that nothing reads is dropped.
    result = getOperation()->walk(
        [](RowwiseOp op) { return WalkResult(recordArgumentRoles(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
