//===- LNBwdLinear.cpp - A row times a matrix -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Type, verifier and canonicalisations of `lnbwd.linear`. What a row program
// may do with matrices is in its own verifier, in LNBwdRowwise.cpp.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace lnbwd;

LogicalResult LinearOp::inferReturnTypes(MLIRContext *context,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto matrix = dyn_cast<VectorType>(adaptor.getMatrix().getType());
  if (!matrix || matrix.getRank() != 2)
    return emitOptionalError(location,
                             "expected a matrix, a vector of two "
                             "dimensions, got ",
                             adaptor.getMatrix().getType());
  results.push_back(VectorType::get(
      {matrix.getDimSize(adaptor.getTransposed())}, Float32Type::get(context)));
  return success();
}

LogicalResult LinearOp::verify() {
  int64_t expected = getMatrix().getType().getDimSize(getTransposed() ? 0 : 1);
  int64_t length = getRow().getType().getDimSize(0);
  if (length != expected)
    return emitOpError("expected a row of ")
           << expected << " elements, one for each "
           << (getTransposed() ? "row" : "column") << " of the matrix "
           << getMatrix().getType() << (getTransposed() ? " (transposed)" : "")
           << ", got " << getRow().getType();
  if (!isa<BlockArgument>(getMatrix()))
    return emitOpError("expected the matrix to be one of the row program's "
                       "matrices, got a result of ")
           << getMatrix().getDefiningOp()->getName();
  return success();
}

namespace {
/// Products widen their operands: what was widened before is the same.
struct TakeNarrowRow : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp op,
                                PatternRewriter &rewriter) const override {
    auto widened = op.getRow().getDefiningOp<arith::ExtFOp>();
    if (!widened)
      return failure();
    Type element = cast<VectorType>(widened.getIn().getType()).getElementType();
    if (!element.isF16() && !element.isBF16())
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getRowMutable().assign(widened.getIn()); });
    return success();
  }
};

/// A row of zeros gives one. (So an infinite element of the matrix would not
/// count: a gradient that is 0 stays 0.)
struct MultiplyZeros : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp op,
                                PatternRewriter &rewriter) const override {
    if (!matchPattern(op.getRow(), m_AnyZeroFloat()))
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getZeroAttr(op.getType()));
    return success();
  }
};
} // namespace

void LinearOp::getCanonicalizationPatterns(RewritePatternSet &results,
                                           MLIRContext *context) {
  results.add<TakeNarrowRow, MultiplyZeros>(context);
}
