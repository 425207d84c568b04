//===- RowAlgebra.cpp - What holds of sums over a row ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites are patterns of one fact each. A scalar that is a product is
// looked at as a monomial: a number times powers of other scalars. A row that
// is a scalar in all places (vector.broadcast, or a splat constant) is called
// *even* here.
//
//===----------------------------------------------------------------------===//

#include "RowAlgebra.h"

#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

namespace lnbwd {
#define GEN_PASS_DEF_SIMPLIFYROWALGEBRAPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

static constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;

//===----------------------------------------------------------------------===//
// To look at values
//===----------------------------------------------------------------------===//

static bool isRow(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getElementType().isF32();
}

/// The number that a float32 scalar or row is in all places.
static std::optional<double> getConstant(Value value) {
  APFloat number(0.0);
  if (!getElementTypeOrSelf(value.getType()).isF32() ||
      !matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return double(number.convertToFloat());
}

static bool isEven(Value value) {
  return isRow(value) &&
         (value.getDefiningOp<vector::BroadcastOp>() || getConstant(value));
}

/// The scalar that an even row has in all places.
static Value getScalar(OpBuilder &b, Location loc, Value even) {
  if (auto spread = even.getDefiningOp<vector::BroadcastOp>())
    return spread.getSource();
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(float(*getConstant(even))));
}

static Value makeSpread(OpBuilder &b, Location loc, Value scalar, Type row) {
  return vector::BroadcastOp::create(b, loc, row, scalar);
}

static Value makeMul(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::MulFOp::create(b, loc, lhs, rhs, contract);
}

static Value makeAdd(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::AddFOp::create(b, loc, lhs, rhs, contract);
}

static Value makeScalar(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
}

static Value makeSum(OpBuilder &b, Location loc, Value row) {
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, row);
}

/// The row that a row sum adds up; null if `value` is none.
static Value getRowOfSum(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isRowMaximum(op) ? getSummedRow(op) : Value();
}

static int64_t getLength(Value row) {
  return cast<VectorType>(row.getType()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Monomials
//===----------------------------------------------------------------------===//

namespace {
/// coefficient * product of factor^exponent.
struct Monomial {
  double coefficient = 1;
  llvm::SmallMapVector<Value, int, 4> factors;

  void multiply(const Monomial &other, int exponent) {
    coefficient *= std::pow(other.coefficient, exponent);
    for (auto [factor, power] : other.factors)
      factors[factor] += power * exponent;
    factors.remove_if([](const auto &entry) { return entry.second == 0; });
  }
  /// Whether it divides `other` without turning an exponent around.
  bool divides(const Monomial &other) const {
    return llvm::all_of(factors, [&](const auto &entry) {
      auto known = other.factors.find(entry.first);
      if (known == other.factors.end())
        return false;
      int mine = entry.second, others = known->second;
      return (mine > 0) == (others > 0) && std::abs(mine) <= std::abs(others);
    });
  }
  bool hasSameFactors(const Monomial &other) const {
    return factors.size() == other.factors.size() && divides(other) &&
           other.divides(*this);
  }
};
} // namespace

static Monomial getMonomial(Value scalar) {
  Monomial result;
  if (std::optional<double> number = getConstant(scalar)) {
    result.coefficient = *number;
    return result;
  }
  Operation *op = scalar.getDefiningOp();
  if (isa_and_nonnull<arith::MulFOp>(op)) {
    result.multiply(getMonomial(op->getOperand(0)), 1);
    result.multiply(getMonomial(op->getOperand(1)), 1);
  } else if (isa_and_nonnull<arith::DivFOp>(op)) {
    result.multiply(getMonomial(op->getOperand(0)), 1);
    result.multiply(getMonomial(op->getOperand(1)), -1);
  } else if (isa_and_nonnull<arith::NegFOp>(op)) {
    result.multiply(getMonomial(op->getOperand(0)), 1);
    result.coefficient = -result.coefficient;
  } else {
    result.factors[scalar] = 1;
  }
  return result;
}

/// Writes a monomial down: what is known before the row's sums first, with the
/// number, so that sums which share it need one multiplication each.
static Value build(OpBuilder &b, Location loc, const Monomial &monomial) {
  SmallVector<Value> early, late, below;
  for (auto [factor, power] : monomial.factors) {
    auto &list = power < 0 ? below : getRowOfSum(factor) ? late : early;
    list.append(size_t(std::abs(power)), factor);
  }
  auto product = [&](Value start, ArrayRef<Value> factors) {
    for (Value factor : factors)
      start = start ? makeMul(b, loc, start, factor) : factor;
    return start;
  };
  Value result = product(Value(), early);
  bool isNegated = monomial.coefficient == -1;
  if ((monomial.coefficient != 1 && !isNegated) || (!result && late.empty())) {
    isNegated = false;
    Value number = makeScalar(b, loc, monomial.coefficient);
    result = result ? makeMul(b, loc, result, number) : number;
  }
  result = product(result, late);
  if (isNegated)
    result = arith::NegFOp::create(b, loc, result);
  if (Value divisor = product(Value(), below))
    result = arith::DivFOp::create(b, loc, result, divisor, contract);
  return result;
}

/// A row that is a product, taken apart: rows and one scalar.
namespace {
struct Product {
  SmallVector<Value> rows;
  SmallVector<Value> scalars;
  double coefficient = 1;
};
} // namespace

/// Goes into a factor only if nothing else uses it: a product that is needed
/// anyway stays whole.
static void takeApart(OpBuilder &b, Location loc, Value value, bool isRoot,
                      Product &product) {
  if (std::optional<double> number = getConstant(value)) {
    product.coefficient *= *number;
    return;
  }
  if (isEven(value)) {
    product.scalars.push_back(getScalar(b, loc, value));
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op && (isRoot || op->hasOneUse())) {
    if (isa<arith::MulFOp>(op)) {
      takeApart(b, loc, op->getOperand(0), false, product);
      takeApart(b, loc, op->getOperand(1), false, product);
      return;
    }
    if (isa<arith::NegFOp>(op)) {
      product.coefficient = -product.coefficient;
      takeApart(b, loc, op->getOperand(0), false, product);
      return;
    }
  }
  product.rows.push_back(value);
}

/// `value` as row * even, where one operand of a multiplication is even.
static std::optional<std::pair<Value, Value>> matchScaled(Value value) {
  auto mul = value.getDefiningOp<arith::MulFOp>();
  if (!mul || !isRow(value))
    return std::nullopt;
  for (int i : {0, 1}) {
    Value row = mul->getOperand(i), even = mul->getOperand(1 - i);
    if (isEven(even) && !isEven(row))
      return std::pair(row, even);
  }
  return std::nullopt;
}

static Monomial getMonomialOfEven(Value even) {
  if (std::optional<double> number = getConstant(even)) {
    Monomial result;
    result.coefficient = *number;
    return result;
  }
  return getMonomial(even.getDefiningOp<vector::BroadcastOp>().getSource());
}

/// Whether the region's outputs need `op`. What was replaced a moment ago may
/// still be there, and must not count as a use: it would bring itself back.
static bool isNeeded(Operation *op, SmallPtrSetImpl<Operation *> &visited) {
  if (isa<YieldOp>(op))
    return true;
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return visited.insert(user).second && isNeeded(user, visited);
  });
}

/// A product `row * even` other than `op`, computed before it, whose even
/// factor satisfies `accepts`.
static Value findScaled(Operation *op, Value row,
                        function_ref<bool(const Monomial &)> accepts) {
  for (Operation *user : row.getUsers()) {
    if (user == op || user->getBlock() != op->getBlock() ||
        !user->isBeforeInBlock(op) || !isa<arith::MulFOp>(user))
      continue;
    Value result = user->getResult(0);
    // A product that is only added to something is a part of a fused
    // multiply-add, and not there by itself.
    auto scaled = matchScaled(result);
    bool isFused = llvm::all_of(result.getUsers(), [&](Operation *other) {
      SmallPtrSet<Operation *, 16> visited;
      return isa<arith::AddFOp>(other) || other == op ||
             !isNeeded(other, visited);
    });
    if (!scaled || scaled->first != row || isFused)
      continue;
    Monomial scale = getMonomialOfEven(scaled->second);
    if (!scale.factors.empty() && accepts(scale))
      return result;
  }
  return {};
}

/// Whether `row` is some x - mean(x): then it sums to 0.
static bool isCentred(Value row) {
  auto add = row.getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  for (int i : {0, 1}) {
    Value x = add->getOperand(i);
    auto spread = add->getOperand(1 - i).getDefiningOp<vector::BroadcastOp>();
    if (!spread)
      continue;
    Monomial shift = getMonomial(spread.getSource());
    if (shift.factors.size() != 1)
      continue;
    auto [factor, power] = shift.factors.front();
    if (power == 1 && getRowOfSum(factor) == x &&
        std::abs(shift.coefficient * double(getLength(row)) + 1) < 1e-6)
      return true;
  }
  return false;
}

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
    Value inverse =
        arith::DivFOp::create(rewriter, loc, makeScalar(rewriter, loc, 1),
                              getScalar(rewriter, loc, op.getRhs()), contract);
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
        op, makeMul(rewriter, loc, known,
                    makeSpread(rewriter, loc, build(rewriter, loc, scale),
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
        rewriter.replaceOp(op, build(rewriter, loc, monomial));
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
        Value inner =
            makeAdd(rewriter, loc, scaled->first,
                    makeSpread(rewriter, loc, build(rewriter, loc, offset),
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

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// The terms of a chain of additions, whose inner ones nothing else uses.
static void collectTerms(Value value, bool isRoot,
                         SmallVectorImpl<Value> &terms) {
  auto add = value.getDefiningOp<arith::AddFOp>();
  if (!add || (!isRoot && !value.hasOneUse())) {
    terms.push_back(value);
    return;
  }
  collectTerms(add.getLhs(), false, terms);
  collectTerms(add.getRhs(), false, terms);
}

/// A chain of fused multiply-adds that begins with what is no product; the
/// even terms become one.
static void fuseAdditions(IRRewriter &rewriter, arith::AddFOp add) {
  SmallVector<Value> terms, products, others;
  collectTerms(add.getResult(), /*isRoot=*/true, terms);
  Value scalar;
  Location loc = add.getLoc();
  rewriter.setInsertionPoint(add);
  for (Value term : terms) {
    if (term.getDefiningOp<vector::BroadcastOp>()) {
      Value next = getScalar(rewriter, loc, term);
      scalar = scalar ? makeAdd(rewriter, loc, scalar, next) : next;
    } else if (term.getDefiningOp<arith::MulFOp>() && term.hasOneUse()) {
      products.push_back(term);
    } else {
      others.push_back(term);
    }
  }
  if (products.empty())
    return;
  Value result;
  if (scalar)
    result = makeSpread(rewriter, loc, scalar, add.getType());
  for (Value other : others)
    result = result ? makeAdd(rewriter, loc, result, other) : other;
  // Later products first: what was accumulated first ends outermost.
  for (Value product : llvm::reverse(products)) {
    auto mul = product.getDefiningOp<arith::MulFOp>();
    result = result ? Value(vector::FMAOp::create(rewriter, loc, mul.getLhs(),
                                                  mul.getRhs(), result))
                    : product;
  }
  rewriter.replaceOp(add, result);
}

void lnbwd::shapeRowProgram(RowwiseOp op) {
  IRRewriter rewriter(op.getContext());
  Block &body = op.getBody().front();

  // Products of scalars that end in something else than a product.
  SmallVector<Operation *> roots;
  for (Operation &bodyOp : body)
    if (isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(bodyOp) &&
        bodyOp.getResult(0).getType().isF32() &&
        !llvm::any_of(bodyOp.getUsers(), [](Operation *user) {
          return isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(user) &&
                 user->getResult(0).getType().isF32();
        }))
      roots.push_back(&bodyOp);
  for (Operation *root : roots) {
    Monomial monomial = getMonomial(root->getResult(0));
    if (monomial.factors.empty())
      continue;
    rewriter.setInsertionPoint(root);
    rewriter.replaceOp(root, build(rewriter, root->getLoc(), monomial));
  }

  SmallVector<arith::AddFOp> additions;
  for (Operation &bodyOp : body) {
    auto add = dyn_cast<arith::AddFOp>(bodyOp);
    if (!add || !isRow(add.getResult()))
      continue;
    bool isInner = add->hasOneUse() && isa<arith::AddFOp>(*add->user_begin());
    if (!isInner)
      additions.push_back(add);
  }
  for (arith::AddFOp add : additions)
    fuseAdditions(rewriter, add);
  (void)simplifyRowProgram(op, /*algebra=*/false);
}

namespace {
class SimplifyRowAlgebra
    : public lnbwd::impl::SimplifyRowAlgebraPassBase<SimplifyRowAlgebra> {
public:
  using SimplifyRowAlgebraPassBase::SimplifyRowAlgebraPassBase;

  void runOnOperation() override {
    SmallVector<RowwiseOp> programs;
    getOperation()->walk([&](RowwiseOp op) { programs.push_back(op); });
    for (RowwiseOp op : programs) {
      if (failed(simplifyRowProgram(op, /*algebra=*/true))) {
        op.emitOpError("cannot be simplified: the rewrites do not come to an "
                       "end");
        return signalPassFailure();
      }
      if (shape)
        shapeRowProgram(op);
      ++numSimplified;
    }
  }
};
} // namespace
