//===- RowAlgebra.cpp - Row programs in normal form -----------------------===//
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

#include "RowAlgebra.h"
#include "NeededForms.h"
#include "RowForms.h"
#include "RowReader.h"
#include "RowSubstitutions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cstdlib>
#include <optional>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// What is computed once
//===----------------------------------------------------------------------===//
//
// Chooses among equal ways to compute a program's outputs: which scaled rows,
// sums and row sums are atoms of their own. The form of an output stays equal,
// and its cost does not grow. Each choice is a substitution in all forms at
// once; a list of candidates that the program itself gives is gone through
// once, so that there is an end.
//

namespace {
class Sharing {
public:
  Sharing(RowForms &forms, SmallVectorImpl<const Form *> &outputs,
          ArrayRef<const Form *> values, ArrayRef<const Form *> summedRows)
      : forms(forms), outputs(outputs), values(values), rows(summedRows) {}

  void run() {
    // What is applied replaces elements of the lists, and adds none.
    for (const Form *row : rows)
      shareRowSum(row);
    shareScalars();
    llvm::DenseSet<const Form *> tried;
    for (const Form *value : values)
      if (tried.insert(value).second)
        shareScaledRow(value);
    shareSums();
    NeededForms before(outputs);
    MergeRowSums merge(forms, before);
    apply(merge);
  }

private:
  SmallVector<const Form *> map(Substitution &substitution) {
    SmallVector<const Form *> result;
    for (const Form *form : outputs)
      result.push_back(substitution.map(form));
    return result;
  }
  /// What the outputs need as they are now.
  const NeededForms &getNeeded() {
    if (!needed)
      needed.emplace(outputs);
    return *needed;
  }
  void apply(Substitution &substitution) {
    needed.reset();
    for (const Form *&form : outputs)
      form = substitution.map(form);
    for (auto *list : {&values, &rows})
      for (const Form *&form : *list)
        form = substitution.map(form);
  }

  /// Keeps the sum of a row that is a sum itself whole, if that takes fewer.
  void shareRowSum(const Form *row) {
    if (row->terms.size() < 2 || row->getLength() == 1)
      return;
    UseRowSum use(forms, row);
    if (!use.isUseful(getNeeded()))
      return;
    if (NeededForms(map(use)).countRowSums() < getNeeded().countRowSums())
      apply(use);
  }

  /// An output c * a is computed in any case: what needs a takes it from there.
  /// So a mean that is put out is what the rows' deviations are from.
  void shareScalars() {
    for (const Form *form : outputs) {
      if (!form->isEven() || form->getScalar().size() != 1)
        continue;
      Monomial scale = form->getScalar().front();
      if (scale.factors.size() != 1 || scale.factors.front().second != 1 ||
          std::abs(scale.coefficient) == 1)
        continue;
      const Atom *scalar = scale.factors.front().first;
      scale.factors.clear();
      forms.position = scalar->position;
      UseScaledScalar use(forms, scalar, scale);
      apply(use);
    }
  }

  /// Takes a row with a scale as one thing, if that costs less; or as much, but
  /// exponents get smaller or it has to be computed in any case.
  void shareScaledRow(const Form *form) {
    if (form->isEven())
      return;
    forms.position = form->position;
    auto [scale, row] = forms.split(form);
    if (scale.size() != 1 || scale.front().factors.empty())
      return;
    UseScaledRow use(forms, row, scale.front());
    const NeededForms &before = getNeeded();
    bool isThere = before.contains(form);
    if (!use.isUseful(before, isThere))
      return;
    SmallVector<const Form *> changed = map(use);
    if (ArrayRef(changed) == ArrayRef<const Form *>(outputs))
      return;
    NeededForms after(changed);
    unsigned cost = before.countRowOperations(),
             changedCost = after.countRowOperations();
    bool isBetter = changedCost < cost ||
                    after.countPowers() < before.countPowers() || isThere;
    if (after.countRowSums() <= before.countRowSums() &&
        after.countPowers() <= before.countPowers() && changedCost <= cost &&
        isBetter)
      apply(use);
  }

  /// Takes a sum as one thing, if it is a part of others and that is cheaper;
  /// longer ones first.
  void shareSums() {
    llvm::SetVector<const Form *> sums;
    for (const Form *form : values)
      if (!form->isEven() && form->terms.size() > 1)
        sums.insert(form);
    SmallVector<const Form *> sorted(sums.begin(), sums.end());
    llvm::stable_sort(sorted, [](const Form *lhs, const Form *rhs) {
      return lhs->terms.size() > rhs->terms.size();
    });
    for (const Form *sum : sorted) {
      forms.position = 0;
      for (const Term &term : sum->terms)
        if (term.row)
          forms.position = std::max(forms.position, term.row->position);
      UseSum use(forms, sum);
      if (!use.isUseful(getNeeded()))
        continue;
      SmallVector<const Form *> changed = map(use);
      if (NeededForms(changed).countRowOperations() <
          getNeeded().countRowOperations()) {
        outputs.assign(changed.begin(), changed.end());
        needed.reset();
      }
    }
  }

  RowForms &forms;
  SmallVectorImpl<const Form *> &outputs;
  SmallVector<const Form *> values, rows;
  std::optional<NeededForms> needed;
};

} // namespace

/// Rewrites `outputs` so that they cost the least. `values` are the values that
/// the program computes, `summedRows` those of them that it has row sums of:
/// what is computed once is one of them, or one that is made of them.
static void shareForms(RowForms &forms, SmallVectorImpl<const Form *> &outputs,
                       ArrayRef<const Form *> values,
                       ArrayRef<const Form *> summedRows) {
  Sharing(forms, outputs, values, summedRows).run();
}

//===----------------------------------------------------------------------===//
// From a program to forms and back
//===----------------------------------------------------------------------===//

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
