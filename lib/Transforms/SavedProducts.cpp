//===- SavedProducts.cpp - Row sums of a product that was saved -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/layer-norm-linear.md derives it.
//
//===----------------------------------------------------------------------===//

#include "SavedProducts.h"
#include "ContractionTerms.h"
#include "RowReader.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace lnbwd;

namespace {
/// y = W (t + d) + b: the value, its parts, and what the row t is made of.
struct SavedProduct {
  Value value;
  LinearOp product;
  SmallVector<Value> bias, offsets;
  Factors row;
};
} // namespace

/// Rounding aside, what was rounded.
static Value lookThroughRounding(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The summands of `value`: the one that varies from row to row, and the
/// others.
static Value splitOff(const ContractionTerms &terms, Value value,
                      SmallVectorImpl<Value> &invariants) {
  while (auto add = value.getDefiningOp<arith::AddFOp>()) {
    int which = terms.isInvariant(add.getLhs()) ? 0 : 1;
    if (!terms.isInvariant(add->getOperand(which)))
      break;
    invariants.push_back(add->getOperand(which));
    value = add->getOperand(1 - which);
  }
  return value;
}

/// What the one summand of `row` is made of that varies from row to row. The
/// others become `offsets`.
static Factors takeVaryingPart(const ContractionTerms &terms, Value row,
                               SmallVectorImpl<Value> &offsets) {
  row = splitOff(terms, lookThroughRounding(row), offsets);
  auto fma = row.getDefiningOp<vector::FMAOp>();
  if (!fma || !terms.isInvariant(fma.getAcc()))
    return terms.getFactors(row);
  offsets.push_back(fma.getAcc());
  return terms.getFactors({fma.getLhs(), fma.getRhs()});
}

static std::optional<SavedProduct> analyse(const ContractionTerms &terms,
                                           Value saved) {
  SavedProduct result;
  result.value = saved;
  result.product =
      splitOff(terms, saved, result.bias).getDefiningOp<LinearOp>();
  if (!result.product)
    return std::nullopt;
  result.row = takeVaryingPart(terms, result.product.getRow(), result.offsets);
  return result;
}

/// Rewrites one sum with one saved product, if it is the one.
static bool rewriteSum(IRRewriter &rewriter, const ContractionTerms &terms,
                       vector::ReductionOp sum, SavedProduct saved) {
  Value row = getRowOfSum(sum);
  if (!row)
    return false;
  Factors factors = terms.getFactors(row);
  LinearOp product;
  for (Value factor : factors.rows)
    if (auto linear = factor.getDefiningOp<LinearOp>();
        linear && linear.getMatrix() == saved.product.getMatrix() &&
        linear.getTransposed() != saved.product.getTransposed())
      product = linear;
  if (!product)
    return false;
  llvm::erase(factors.rows, product.getResult());
  // An invariant row needs no saved product.
  if (factors.isInvariant() || !factors.hasSameRow(saved.row) ||
      !std::is_permutation(factors.invariants.begin(), factors.invariants.end(),
                           saved.row.invariants.begin(),
                           saved.row.invariants.end()) ||
      saved.row.coefficient == 0)
    return false;
  // The value may stand after the sum, but not depend on it.
  if (failed(moveValueDefinitions(rewriter, saved.value, sum)))
    return false;

  Location loc = sum.getLoc();
  rewriter.setInsertionPoint(sum);
  Value rest = saved.value;
  RowBuilder rows(rewriter, loc, product.getRow().getType().getDimSize(0));
  auto subtract = [&](Value value) {
    rest = rows.add(rest, rows.negate(value));
  };
  for (Value bias : saved.bias)
    subtract(bias);
  for (Value offset : saved.offsets)
    subtract(LinearOp::create(rewriter, loc, offset, product.getMatrix(),
                              !product.getTransposed()));
  Value result = rows.rowSum(rows.mul(rows.widen(product.getRow()), rest));
  double scale = factors.coefficient / saved.row.coefficient;
  if (scale != 1)
    result = rows.mul(result, rows.constant(scale));
  rewriter.replaceOp(sum, result);
  return true;
}

void lnbwd::useSavedProducts(RowwiseOp op, ArrayRef<Value> saved) {
  IRRewriter rewriter(op.getContext());
  ContractionTerms terms(op);
  for (Value value : saved) {
    std::optional<SavedProduct> product = analyse(terms, value);
    if (!product)
      continue;
    for (auto sum : llvm::make_early_inc_range(
             op.getBody().front().getOps<vector::ReductionOp>()))
      (void)rewriteSum(rewriter, terms, sum, *product);
  }
}
