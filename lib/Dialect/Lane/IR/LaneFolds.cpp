//===- LaneFolds.cpp - Folds and canonical forms --------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `lane.row` has none, not even of a single group: passes know the loads of a
// row by it.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace lnbwd::lane;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The one index below `count`, if there is but one.
static OpFoldResult foldIndex(Operation *op, int64_t count) {
  return count == 1 ? OpFoldResult(Builder(op).getIndexAttr(0))
                    : OpFoldResult();
}

OpFoldResult GroupOp::fold(FoldAdaptor) {
  return foldIndex(*this, getLayout().getType().getGroups());
}

OpFoldResult LaneOp::fold(FoldAdaptor) {
  return foldIndex(*this, getLayout().getType().getLanes());
}

OpFoldResult InBoundsOp::fold(FoldAdaptor) {
  if (getLayout().getType().mayExceed(int64_t(getAccess())))
    return {};
  return BoolAttr::get(getContext(), true);
}

//===----------------------------------------------------------------------===//
// Rows out of bounds
//===----------------------------------------------------------------------===//

/// Loads of a tile that has no row.
template <typename Op>
static LogicalResult dropLoads(Op op, PatternRewriter &rewriter) {
  if (!matchPattern(op.getCount(), m_Zero()))
    return failure();
  SmallVector<Value> undefined;
  for (Type type : op->getResultTypes())
    undefined.push_back(UndefinedRowOp::create(rewriter, op.getLoc(), type));
  rewriter.replaceOp(op, undefined);
  return success();
}

namespace {
/// A condition that is known.
struct DecidePredicate : OpInterfaceRewritePattern<PredicatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(PredicatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    MutableOperandRange inBounds = op.getInBoundsMutable();
    if (inBounds.empty())
      return failure();
    if (matchPattern(inBounds[0].get(), m_One()))
      rewriter.modifyOpInPlace(op, [&] { inBounds.clear(); });
    else if (matchPattern(inBounds[0].get(), m_Zero()) && op->use_empty())
      rewriter.eraseOp(op);
    else
      return failure();
    return success();
  }
};
} // namespace

void LaneDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<DecidePredicate>(getContext());
  patterns.add(dropLoads<LoadPredicatedOp>);
  patterns.add(dropLoads<LoadScalarPredicatedOp>);
}

OpFoldResult AccumulateOp::fold(FoldAdaptor adaptor) {
  auto inBounds = dyn_cast_or_null<BoolAttr>(adaptor.getInBounds());
  return inBounds && !inBounds.getValue() ? getSum() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Lanes that cooperate
//===----------------------------------------------------------------------===//

/// The sums of one group.
LogicalResult CombineGroupsOp::fold(FoldAdaptor,
                                    SmallVectorImpl<OpFoldResult> &totals) {
  if (getLayout().getType().getGroups() > 1)
    return failure();
  totals.assign(getSums().begin(), getSums().end());
  return success();
}
