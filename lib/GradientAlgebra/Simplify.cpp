//===- Simplify.cpp - Row programs in normal form -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads forms, chooses what is computed once, and writes the program anew.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/GradientAlgebra/Simplify.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lnbwd;

RowSimplifier::RowSimplifier(MLIRContext *context) {
  RewritePatternSet patterns(context);
  for (StringRef name : {"arith", "math", "vector"})
    if (Dialect *dialect = context->getLoadedDialect(name))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (llvm::is_contained<StringRef>({"arith", "vector"},
                                      name.getDialectNamespace()))
      name.getCanonicalizationPatterns(patterns, context);
  canonicalizations = std::move(patterns);
}

void RowSimplifier::canonicalize(RowwiseOp op) const {
  // Upstream's patterns and what they leave twice; what they do not finish in
  // their own bounds is right all the same.
  (void)applyPatternsGreedily(op.getBody(), canonicalizations);
  IRRewriter rewriter(op.getContext());
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);
}

unsigned lnbwd::getRowCost(RowwiseOp op) {
  // A change of sign is mostly a part of what uses it.
  constexpr unsigned rowCost = 64, divisionCost = 8 * rowCost,
                     rowSumCost = 2 * rowCost, signCost = 16, scalarCost = 4;
  unsigned cost = 0;
  for (Operation &bodyOp : op.getBody().front().without_terminator()) {
    if (isa<arith::ConstantOp, vector::BroadcastOp>(bodyOp))
      continue;
    if (getSummedRow(&bodyOp))
      cost += rowSumCost;
    else if (!isa<VectorType>(bodyOp.getResult(0).getType()))
      cost += scalarCost;
    else if (isa<arith::DivFOp>(bodyOp))
      cost += divisionCost;
    else
      cost += isa<arith::NegFOp>(bodyOp) ? signCost : rowCost;
  }
  return cost;
}

void RowSimplifier::rewrite(RowwiseOp op) const {
  RowForms forms;
  llvm::MapVector<Value, const Form *> known = readForms(forms, op);
  SmallVector<const Form *> values(llvm::make_second_range(known));
  SmallVector<const Form *> summedRows, outputs;
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    if (Value row = getRowOfSum(&bodyOp))
      summedRows.push_back(known.lookup(row));
  for (Value output : op.getBody().front().getTerminator()->getOperands())
    outputs.push_back(known.lookup(output));
  shareForms(forms, outputs, values, summedRows);
  writeForms(forms, op, outputs);
  canonicalize(op);
}

void RowSimplifier::normalize(RowwiseOp op) const {
  canonicalize(op);
  if (!canReadForms(op))
    return;
  // What was written may show another thing to share. Costs are natural
  // numbers, so that this ends.
  for (unsigned cost = getRowCost(op);;) {
    IRRewriter rewriter(op.getContext());
    rewriter.setInsertionPointAfter(op);
    auto rewritten = cast<RowwiseOp>(rewriter.clone(*op));
    rewrite(rewritten);
    unsigned rewrittenCost = getRowCost(rewritten);
    bool isCheaper = rewrittenCost < cost;
    if (isCheaper)
      op.getBody().takeBody(rewritten.getBody());
    rewriter.eraseOp(rewritten);
    if (!isCheaper)
      return;
    cost = rewrittenCost;
  }
}
