//===- RowAlgebra.cpp - What holds of sums over a row ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites are patterns of one fact each, in the terms of RowTerms.h.
//
//===----------------------------------------------------------------------===//

#include "RowAlgebra.h"
#include "RowTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// The rewrites
//===----------------------------------------------------------------------===//

namespace {

/// x - y is x + (-y), and x * y + z a product and a sum: one form for each.
struct SplitFma : OpRewritePattern<vector::FMAOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(vector::FMAOp op,
                                PatternRewriter &rewriter) const override {
    Value product = makeMul(rewriter, op.getLoc(), op.getLhs(), op.getRhs());
    rewriter.replaceOp(op,
                       makeAdd(rewriter, op.getLoc(), product, op.getAcc()));
    return success();
  }
};

struct SubtractionToAddition : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SubFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Value negated = arith::NegFOp::create(rewriter, op.getLoc(), op.getRhs());
    rewriter.replaceOp(op,
                       makeAdd(rewriter, op.getLoc(), op.getLhs(), negated));
    return success();
  }
};

/// row / even is row * (1 / even).
struct DivisionByEven : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isRow(op.getResult()) || !isEven(op.getRhs()) || isEven(op.getLhs()))
      return failure();
    Location loc = op.getLoc();
    Value inverse = makeDiv(rewriter, loc, makeScalar(rewriter, loc, 1),
                            getScalar(rewriter, loc, op.getRhs()));
    rewriter.replaceOp(
        op, makeMul(rewriter, loc, op.getLhs(),
                    makeSpread(rewriter, loc, inverse, op.getType())));
    return success();
  }
};

/// An operation on even rows is one on scalars.
struct ScalarOfEven : RewritePattern {
  ScalarOfEven(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<arith::AddFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             math::SqrtOp, math::RsqrtOp, math::ExpOp>(op) ||
        !isRow(op->getResult(0)) || !llvm::all_of(op->getOperands(), isEven) ||
        llvm::all_of(op->getOperands(),
                     [](Value value) { return bool(getConstant(value)); }))
      return failure();
    Location loc = op->getLoc();
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands())
      scalars.push_back(getScalar(rewriter, loc, operand));
    OperationState state(loc, op->getName(), scalars, rewriter.getF32Type(),
                         op->getAttrs());
    Value scalar = rewriter.create(state)->getResult(0);
    rewriter.replaceOp(
        op, makeSpread(rewriter, loc, scalar, op->getResult(0).getType()));
    return success();
  }
};

/// The scalar factors of a row of products are one.
struct MergeScales : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    auto outer = matchScaled(op.getResult());
    if (!outer || !outer->first.hasOneUse())
      return failure();
    auto inner = matchScaled(outer->first);
    if (!inner)
      return failure();
    Location loc = op.getLoc();
    Value scale =
        makeMul(rewriter, loc, getScalar(rewriter, loc, inner->second),
                getScalar(rewriter, loc, outer->second));
    rewriter.replaceOp(op,
                       makeMul(rewriter, loc, inner->first,
                               makeSpread(rewriter, loc, scale, op.getType())));
    return success();
  }
};

/// A negated product is a product with a negated scalar.
struct NegateScale : OpRewritePattern<arith::NegFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::NegFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (auto inner = op.getOperand().getDefiningOp<arith::NegFOp>()) {
      rewriter.replaceOp(op, inner.getOperand());
      return success();
    }
    auto scaled = matchScaled(op.getOperand());
    if (!scaled || !op.getOperand().hasOneUse())
      return failure();
    Value scale = arith::NegFOp::create(
        rewriter, loc, getScalar(rewriter, loc, scaled->second));
    rewriter.replaceOp(op,
                       makeMul(rewriter, loc, scaled->first,
                               makeSpread(rewriter, loc, scale, op.getType())));
    return success();
  }
};

/// x * 0 is 0, x + 0 is x, and x + x is 2 x.
struct StrikeOutZeros : RewritePattern {
  StrikeOutZeros(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    bool isProduct = isa<arith::MulFOp>(op);
    if (!isProduct && !isa<arith::AddFOp>(op))
      return failure();
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    auto isZero = [](Value value) {
      std::optional<double> number = getConstant(value);
      if (auto spread = value.getDefiningOp<vector::BroadcastOp>())
        number = getConstant(spread.getSource());
      return number == 0.0;
    };
    for (auto [zero, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
      if (isZero(zero)) {
        rewriter.replaceOp(op, isProduct ? zero : other);
        return success();
      }
    if (isProduct || lhs != rhs || !getElementTypeOrSelf(lhs.getType()).isF32())
      return failure();
    Value two = makeScalar(rewriter, op->getLoc(), 2);
    if (isRow(lhs))
      two = makeSpread(rewriter, op->getLoc(), two, lhs.getType());
    rewriter.replaceOp(op, makeMul(rewriter, op->getLoc(), lhs, two));
    return success();
  }
};

/// The sum of a centred row is 0.
struct SumOfCentred : OpRewritePattern<vector::ReductionOp> {
  SumOfCentred(MLIRContext *context) : OpRewritePattern(context, 10) {}
  LogicalResult matchAndRewrite(vector::ReductionOp op,
                                PatternRewriter &rewriter) const override {
    Value row = getRowOfSum(op.getDest());
    if (!row || !isCentred(row))
      return failure();
    rewriter.replaceOp(op, makeScalar(rewriter, op.getLoc(), 0));
    return success();
  }
};

/// With r = rsqrt(c * sum(v^2) + eps), the sum of (v * r)^2 is
/// (1 - eps * r^2) / c; c is 1/N in a normalisation.
struct SumOfNormalisedSquares : OpRewritePattern<vector::ReductionOp> {
  SumOfNormalisedSquares(MLIRContext *context)
      : OpRewritePattern(context, 10) {}
  LogicalResult matchAndRewrite(vector::ReductionOp op,
                                PatternRewriter &rewriter) const override {
    Value row = getRowOfSum(op.getDest());
    auto square = row ? row.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!square || square.getLhs() != square.getRhs())
      return failure();
    auto scaled = matchScaled(square.getLhs());
    auto spread = scaled ? scaled->second.getDefiningOp<vector::BroadcastOp>()
                         : vector::BroadcastOp();
    auto root = spread ? spread.getSource().getDefiningOp<math::RsqrtOp>()
                       : math::RsqrtOp();
    auto add = root ? root.getOperand().getDefiningOp<arith::AddFOp>()
                    : arith::AddFOp();
    if (!add)
      return failure();
    for (int i : {0, 1}) {
      Monomial sum = getMonomial(add->getOperand(i));
      std::optional<double> epsilon = getConstant(add->getOperand(1 - i));
      if (!epsilon || sum.factors.size() != 1 ||
          sum.factors.front().second != 1 || sum.coefficient == 0)
        continue;
      Value terms = getRowOfSum(sum.factors.front().first);
      auto product =
          terms ? terms.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
      if (!product || product.getLhs() != scaled->first ||
          product.getRhs() != scaled->first)
        continue;
      Location loc = op.getLoc();
      Value r = root.getResult();
      Value part =
          makeMul(rewriter, loc, makeMul(rewriter, loc, r, r),
                  makeScalar(rewriter, loc, -*epsilon / sum.coefficient));
      rewriter.replaceOp(
          op, makeAdd(rewriter, loc, part,
                      makeScalar(rewriter, loc, 1 / sum.coefficient)));
      return success();
    }
    return failure();
  }
};

/// Scalar factors leave a row sum, and an even row sums to N times its scalar.
struct FactorOutOfSum : OpRewritePattern<vector::ReductionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(vector::ReductionOp op,
                                PatternRewriter &rewriter) const override {
    Value row = getRowOfSum(op.getDest());
    if (!row)
      return failure();
    Location loc = op.getLoc();
    Product product;
    takeApart(rewriter, loc, row, /*isRoot=*/true, product);
    if (product.scalars.empty() && product.coefficient == 1)
      return failure();
    Value result;
    if (product.rows.empty()) {
      product.coefficient *= double(getLength(row));
    } else {
      Value rest = product.rows.front();
      for (Value factor : ArrayRef(product.rows).drop_front())
        rest = makeMul(rewriter, loc, rest, factor);
      result = makeSum(rewriter, loc, rest);
    }
    if (product.coefficient != 1 || !result) {
      Value number = makeScalar(rewriter, loc, product.coefficient);
      result = result ? makeMul(rewriter, loc, result, number) : number;
    }
    for (Value scalar : product.scalars)
      result = makeMul(rewriter, loc, result, scalar);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// The sum of a + b is two sums, where one of them can then be simplified.
struct SplitSum : OpRewritePattern<vector::ReductionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(vector::ReductionOp op,
                                PatternRewriter &rewriter) const override {
    Value row = getRowOfSum(op.getDest());
    auto add = row ? row.getDefiningOp<arith::AddFOp>() : arith::AddFOp();
    if (!add)
      return failure();
    auto gains = [&](Value term) {
      if (isEven(term) || isCentred(term) || matchScaled(term))
        return true;
      auto nested = term.getDefiningOp<arith::AddFOp>();
      return nested &&
             (isEven(nested.getLhs()) || isEven(nested.getRhs()) ||
              matchScaled(nested.getLhs()) || matchScaled(nested.getRhs()));
    };
    if (!gains(add.getLhs()) && !gains(add.getRhs()))
      return failure();
    Location loc = op.getLoc();
    rewriter.replaceOp(op, makeAdd(rewriter, loc,
                                   makeSum(rewriter, loc, add.getLhs()),
                                   makeSum(rewriter, loc, add.getRhs())));
    return success();
  }
};

/// v * a + v * b is v * (a + b).
struct CommonRow : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    auto lhs = matchScaled(op.getLhs()), rhs = matchScaled(op.getRhs());
    if (!lhs || !rhs || lhs->first != rhs->first)
      return failure();
    Location loc = op.getLoc();
    Value scale = makeAdd(rewriter, loc, getScalar(rewriter, loc, lhs->second),
                          getScalar(rewriter, loc, rhs->second));
    rewriter.replaceOp(op,
                       makeMul(rewriter, loc, lhs->first,
                               makeSpread(rewriter, loc, scale, op.getType())));
    return success();
  }
};

/// v * (s * t) is w * t, where w = v * s is there already.
struct ReuseScaledRow : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    auto scaled = matchScaled(op.getResult());
    if (!scaled)
      return failure();
    Monomial scale = getMonomialOfEven(scaled->second);
    Value known = findScaled(op, scaled->first, [&](const Monomial &other) {
      return other.divides(scale);
    });
    if (!known)
      return failure();
    Location loc = op.getLoc();
    scale.multiply(getMonomialOfEven(matchScaled(known)->second), -1);
    if (scale.factors.empty() && scale.coefficient == 1) {
      rewriter.replaceOp(op, known);
      return success();
    }
    rewriter.replaceOp(
        op,
        makeMul(rewriter, loc, known,
                makeSpread(rewriter, loc, buildMonomial(rewriter, loc, scale),
                           op.getType())));
    return success();
  }
};

/// sum(a * v) * s is sum(a * w), where w = v * s is there already.
struct ReuseScaledRowInSum : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    // Only whole products: a part of one is looked at with the rest.
    for (Operation *user : op->getUsers())
      if (isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(user) &&
          user->getResult(0).getType().isF32())
        return failure();
    Monomial monomial = getMonomial(op.getResult());
    for (auto [factor, power] : monomial.factors) {
      Value row = getRowOfSum(factor);
      auto product = row ? row.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
      // An even factor is about to leave the sum (FactorOutOfSum), and what it
      // scales would be found to be "there already": sum(v * s) * s would turn
      // into sum((v * s) * s) and back without end.
      if (power != 1 || !product || isEven(product.getLhs()) ||
          isEven(product.getRhs()))
        continue;
      for (int i : {0, 1}) {
        Value v = product->getOperand(i);
        Value known = findScaled(op, v, [&](const Monomial &other) {
          return other.divides(monomial);
        });
        if (!known)
          continue;
        Location loc = op.getLoc();
        Value terms =
            makeMul(rewriter, loc, i == 0 ? known : product->getOperand(0),
                    i == 0 ? product->getOperand(1) : known);
        monomial.multiply(getMonomialOfEven(matchScaled(known)->second), -1);
        Value old = factor;
        monomial.factors.erase(old);
        monomial.factors[makeSum(rewriter, loc, terms)] += 1;
        rewriter.replaceOp(op, buildMonomial(rewriter, loc, monomial));
        return success();
      }
    }
    return failure();
  }
};

/// (a * s + t) * e is (a + t / s) * p, where p = e * s is there already.
struct CommonScale : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    for (int i : {0, 1}) {
      auto add = op->getOperand(i).getDefiningOp<arith::AddFOp>();
      Value e = op->getOperand(1 - i);
      if (!add || !isRow(e) || isEven(e))
        continue;
      for (int j : {0, 1}) {
        auto scaled = matchScaled(add->getOperand(j));
        Value even = add->getOperand(1 - j);
        if (!scaled || !isEven(even))
          continue;
        Monomial scale = getMonomialOfEven(scaled->second);
        Monomial offset = getMonomialOfEven(even);
        if (!scale.divides(offset))
          continue;
        Value known = findScaled(op, e, [&](const Monomial &other) {
          return other.hasSameFactors(scale) &&
                 other.coefficient == scale.coefficient;
        });
        if (!known)
          continue;
        Location loc = op.getLoc();
        offset.multiply(scale, -1);
        Value inner = makeAdd(rewriter, loc, scaled->first,
                              makeSpread(rewriter, loc,
                                         buildMonomial(rewriter, loc, offset),
                                         op.getType()));
        rewriter.replaceOp(op, makeMul(rewriter, loc, inner, known));
        return success();
      }
    }
    return failure();
  }
};

} // namespace

static void populateRowAlgebraPatterns(RewritePatternSet &patterns) {
  patterns.add<SplitFma, SubtractionToAddition, DivisionByEven, ScalarOfEven,
               MergeScales, NegateScale, StrikeOutZeros, SumOfCentred,
               SumOfNormalisedSquares, FactorOutOfSum, SplitSum, CommonRow,
               ReuseScaledRow, ReuseScaledRowInSum, CommonScale>(
      patterns.getContext());
}

LogicalResult lnbwd::simplifyRowProgram(RowwiseOp op, bool algebra) {
  MLIRContext *context = op.getContext();
  RewritePatternSet patterns(context);
  for (StringRef name : {"arith", "math", "vector"})
    if (Dialect *dialect = context->getLoadedDialect(name))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (llvm::is_contained<StringRef>({"arith", "vector"},
                                      name.getDialectNamespace()))
      name.getCanonicalizationPatterns(patterns, context);
  if (algebra)
    populateRowAlgebraPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // Products of sums can be multiplied out without end; what takes that long
  // gets no shorter.
  constexpr int64_t maxRewrites = 1024;
  constexpr int maxRounds = 10;
  GreedyRewriteConfig config;
  config.setMaxNumRewrites(maxRewrites);
  for (int round = 0; round < maxRounds; ++round) {
    bool changed = false, merged = false;
    if (failed(applyPatternsGreedily(op.getBody(), frozen, config, &changed)))
      return failure();
    IRRewriter rewriter(context);
    DominanceInfo dominance(op);
    eliminateCommonSubExpressions(rewriter, dominance, op, &merged);
    if (!changed && !merged)
      break;
  }
  return success();
}
