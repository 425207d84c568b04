//===- StableExponentials.cpp - Quotients without overflow ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numerators and denominators are taken apart into terms, each a product of
// factors and of one exponential. What cannot be taken apart is a factor.
//
//===----------------------------------------------------------------------===//

#include "StableExponentials.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// What is known of a value's size
//===----------------------------------------------------------------------===//

/// float32 has exp(88.7) and 2^127.
static constexpr double largestExponent = 80;
/// Operations that are looked through, one after the other.
static constexpr unsigned mostSteps = 8;

static std::optional<double> getNumber(Value value) {
  APFloat number(0.0);
  if (!getElementTypeOrSelf(value.getType()).isF32() ||
      !matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return double(number.convertToFloat());
}

/// Whether `largest` is the largest of some values, `value` (or, if that is
/// null, 0) among them.
static bool isLargestOf(Value largest, Value value, unsigned steps) {
  if (value ? largest == value : getNumber(largest) == 0.0)
    return true;
  Operation *op = largest.getDefiningOp();
  if (!op || steps == 0)
    return false;
  if (isa<arith::MaxNumFOp, arith::MaximumFOp>(op))
    return isLargestOf(op->getOperand(0), value, steps - 1) ||
           isLargestOf(op->getOperand(1), value, steps - 1);
  // What is detached is multiplied by 1.
  if (isa<vector::BroadcastOp>(op) ||
      (isa<arith::MulFOp>(op) && getNumber(op->getOperand(1)) == 1.0))
    return isLargestOf(op->getOperand(0), value, steps - 1);
  return value && isRowMaximum(op) && getSummedRow(op) == value;
}

/// Whether `sign` times `value` is at most `bound`, for all that is known.
static bool isAtMost(Value value, double bound, unsigned steps,
                     double sign = 1) {
  if (std::optional<double> number = getNumber(value))
    return sign * *number <= bound;
  Operation *op = value.getDefiningOp();
  if (!op || steps == 0)
    return false;
  auto isOperandAtMost = [&](unsigned i, double itsSign) {
    return isAtMost(op->getOperand(i), bound, steps - 1, itsSign);
  };
  if (isa<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(op))
    return bound >= 1;
  if (sign > 0 ? isa<arith::MinNumFOp, arith::MinimumFOp>(op)
               : isa<arith::MaxNumFOp, arith::MaximumFOp>(op))
    return isOperandAtMost(0, sign) || isOperandAtMost(1, sign);
  if (isa<arith::NegFOp>(op))
    return isOperandAtMost(0, -sign);
  if (isa<vector::BroadcastOp>(op))
    return isOperandAtMost(0, sign);
  if (bound < 0)
    return false;
  if (sign < 0)
    return isa<math::AbsFOp, math::ExpOp, math::Exp2Op, math::SqrtOp>(op) ||
           (isa<arith::MulFOp>(op) && op->getOperand(0) == op->getOperand(1));
  // What is less than the largest of several by nothing or more.
  if (isa<arith::SubFOp>(op))
    return isLargestOf(op->getOperand(1), op->getOperand(0), steps);
  if (isa<arith::AddFOp>(op))
    for (unsigned i : {0, 1})
      if (auto negated = op->getOperand(i).getDefiningOp<arith::NegFOp>())
        if (isLargestOf(negated.getOperand(), op->getOperand(1 - i), steps))
          return true;
  return false;
}

bool lnbwd::isSmallExponent(Value value) {
  return isAtMost(value, largestExponent, mostSteps);
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// Terms of one sum, at most: a longer one is a factor.
static constexpr size_t mostTerms = 6;

namespace {
/// A product of factors (none: 1) and of the exponential of `exponent` (null:
/// 0), negated or not.
struct PowerTerm {
  SmallVector<Value, 2> factors;
  Value exponent;
  bool isNegative = false;
};
using Terms = SmallVector<PowerTerm, 4>;

/// Takes values apart, and puts them together again.
class ExponentialSums {
public:
  explicit ExponentialSums(ImplicitLocOpBuilder &builder) : b(builder) {}

  /// The terms of `value`; itself, as a factor, where there is nothing to see.
  Terms split(Value value, unsigned steps = mostSteps) {
    Terms terms = splitOrNone(value, steps);
    if (terms.empty())
      terms.push_back({{value}, Value(), false});
    return terms;
  }
  /// The sum of the terms, each divided by the exponential of `shift`.
  Value join(ArrayRef<PowerTerm> terms, Value shift);
  /// exp or 2^, as the sums have it.
  Value exponential(Value exponent) {
    if (base == Base::Two)
      return math::Exp2Op::create(b, exponent);
    return math::ExpOp::create(b, exponent);
  }
  /// The largest exponent of all terms, as a constant of differentiation.
  Value getShift(ArrayRef<PowerTerm> terms, Value largest = {});
  bool isNatural() const { return base != Base::Two; }

private:
  enum class Base { Unknown, E, Two };

  Terms splitOrNone(Value value, unsigned steps);
  Terms product(const Terms &lhs, const Terms &rhs);
  bool isOf(Base wanted) {
    if (base == Base::Unknown)
      base = wanted;
    return base == wanted;
  }

  ImplicitLocOpBuilder &b;
  Base base = Base::Unknown;
};
} // namespace

static bool hasExponential(ArrayRef<PowerTerm> terms) {
  return llvm::any_of(terms,
                      [](const PowerTerm &term) { return term.exponent; });
}

Terms ExponentialSums::product(const Terms &lhs, const Terms &rhs) {
  Terms result;
  for (const PowerTerm &x : lhs)
    for (const PowerTerm &y : rhs) {
      PowerTerm term = x;
      llvm::append_range(term.factors, y.factors);
      term.isNegative ^= y.isNegative;
      if (term.exponent && y.exponent)
        term.exponent = arith::AddFOp::create(b, term.exponent, y.exponent);
      else if (y.exponent)
        term.exponent = y.exponent;
      result.push_back(term);
    }
  return result;
}

/// Empty if `value` has no exponential that can be seen, or too many terms.
Terms ExponentialSums::splitOrNone(Value value, unsigned steps) {
  Operation *op = value.getDefiningOp();
  if (!op || steps == 0 || !getElementTypeOrSelf(value.getType()).isF32())
    return {};
  auto splitOperand = [&](unsigned i) {
    return split(op->getOperand(i), steps - 1);
  };
  auto negate = [](Terms &terms) {
    for (PowerTerm &term : terms)
      term.isNegative = !term.isNegative;
  };
  Terms result;
  if (isa<math::ExpOp>(op) && isOf(Base::E)) {
    result.push_back({{}, op->getOperand(0), false});
  } else if (isa<math::Exp2Op>(op) && isOf(Base::Two)) {
    result.push_back({{}, op->getOperand(0), false});
  } else if (isa<arith::NegFOp>(op)) {
    result = splitOperand(0);
    negate(result);
  } else if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    result = splitOperand(0);
    Terms more = splitOperand(1);
    if (isa<arith::SubFOp>(op))
      negate(more);
    llvm::append_range(result, more);
  } else if (isa<arith::MulFOp>(op)) {
    Terms factor = splitOperand(1);
    result = product(splitOperand(0), factor);
  } else if (isa<vector::FMAOp, math::FmaOp>(op)) {
    Terms factor = splitOperand(1);
    result = product(splitOperand(0), factor);
    llvm::append_range(result, splitOperand(2));
  } else if (isa<arith::DivFOp>(op)) {
    // Divided by a lone exponential.
    Terms divisor = splitOperand(1);
    if (divisor.size() != 1 || !divisor.front().factors.empty())
      return {};
    divisor.front().exponent =
        arith::NegFOp::create(b, divisor.front().exponent);
    result = product(splitOperand(0), divisor);
  }
  if (result.size() > mostTerms || !hasExponential(result))
    return {};
  return result;
}

Value ExponentialSums::getShift(ArrayRef<PowerTerm> terms, Value largest) {
  auto include = [&](Value exponent) {
    if (largest && isLargestOf(largest, exponent, mostSteps))
      return;
    // The largest of one value is that value, as a constant.
    auto larger =
        arith::MaximumFOp::create(b, largest ? largest : exponent, exponent);
    larger->setAttr(detachAttr, b.getUnitAttr());
    largest = larger;
  };
  Type type;
  for (const PowerTerm &term : terms) {
    if (term.exponent) {
      include(term.exponent);
      type = term.exponent.getType();
    }
  }
  for (const PowerTerm &term : terms)
    if (!term.exponent && !isLargestOf(largest, Value(), mostSteps))
      include(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  return largest;
}

Value ExponentialSums::join(ArrayRef<PowerTerm> terms, Value shift) {
  constexpr auto contract = arith::FastMathFlags::contract;
  Value sum;
  for (const PowerTerm &term : terms) {
    Value exponent = term.exponent
                         ? Value(arith::SubFOp::create(b, term.exponent, shift))
                         : Value(arith::NegFOp::create(b, shift));
    Value product = exponential(exponent);
    for (Value factor : term.factors)
      product = arith::MulFOp::create(b, product, factor, contract);
    if (!sum)
      sum =
          term.isNegative ? Value(arith::NegFOp::create(b, product)) : product;
    else if (term.isNegative)
      sum = arith::SubFOp::create(b, sum, product, contract);
    else
      sum = arith::AddFOp::create(b, sum, product, contract);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// exp(u), if `value` is a row 1 + exp(u). Of row scalars the quotients are
/// joined later, n / d * e / d to n e / (d d), and those products overflow.
static Value getExponentialAboveOne(Value value) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  for (unsigned i : {0, 1})
    if (sum && isa<VectorType>(value.getType()) &&
        getNumber(sum->getOperand(1 - i)) == 1.0 &&
        sum->getOperand(i).getDefiningOp<math::ExpOp>())
      return sum->getOperand(i);
  return {};
}

Value lnbwd::getLogisticExponential(Value numerator, Value divisor) {
  return getNumber(numerator) == 1.0 ? getExponentialAboveOne(divisor)
                                     : Value();
}

/// `op` in other words; null if it is right as it is.
static Value stabilise(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  ExponentialSums sums(b);
  bool isQuotient = isa<arith::DivFOp>(op);
  Terms inner = sums.split(op->getOperand(isQuotient ? 1 : 0));
  // A lone exponential overflows with what is made of it.
  size_t fewest = isa<math::Log1pOp>(op) ? 1 : 2;
  bool mayOverflow = llvm::any_of(inner, [&](const PowerTerm &term) {
    return term.exponent && !isSmallExponent(term.exponent);
  });
  if (inner.size() < fewest || !mayOverflow)
    return {};
  if (isQuotient) {
    Value divisor = op->getOperand(1);
    if (getLogisticExponential(op->getOperand(0), divisor))
      return {};
    Terms outer = sums.split(op->getOperand(0));
    if (Value exponential = getExponentialAboveOne(divisor);
        exponential && !hasExponential(outer)) {
      // The sum's 1 is at hand.
      auto sum = divisor.getDefiningOp<arith::AddFOp>();
      Value one = sum.getLhs() == exponential ? sum.getRhs() : sum.getLhs();
      auto flags = cast<arith::DivFOp>(op).getFastmath();
      Value quotient = arith::DivFOp::create(b, one, divisor, flags);
      return arith::MulFOp::create(b, op->getOperand(0), quotient, flags);
    }
    Terms all = inner;
    llvm::append_range(all, outer);
    Value shift = sums.getShift(all);
    Value numerator = sums.join(outer, shift);
    return arith::DivFOp::create(b, numerator, sums.join(inner, shift),
                                 cast<arith::DivFOp>(op).getFastmath());
  }
  // The logarithm that undoes the exponential, and no other.
  if (!sums.isNatural())
    return {};
  constexpr auto contract = arith::FastMathFlags::contract;
  Value zero =
      arith::ConstantOp::create(b, b.getZeroAttr(op->getResult(0).getType()));
  if (isa<math::Log1pOp>(op)) {
    Value shift = sums.getShift(inner, zero);
    Value rest = math::ExpM1Op::create(b, arith::NegFOp::create(b, shift));
    rest = arith::AddFOp::create(b, rest, sums.join(inner, shift), contract);
    return arith::AddFOp::create(b, shift, math::Log1pOp::create(b, rest),
                                 contract);
  }
  Value shift = sums.getShift(inner);
  Value rest = math::LogOp::create(b, sums.join(inner, shift));
  return arith::AddFOp::create(b, shift, rest, contract);
}

void lnbwd::stabiliseExponentials(Block &block, const DenseSet<Value> &active) {
  SmallVector<Operation *> candidates;
  for (Operation &op : block)
    if (isa<arith::DivFOp, math::LogOp, math::Log1pOp>(op) &&
        active.contains(op.getResult(0)) &&
        getElementTypeOrSelf(op.getResult(0).getType()).isF32())
      candidates.push_back(&op);
  if (candidates.empty())
    return;
  for (Operation *op : candidates)
    if (Value stable = stabilise(op)) {
      op->getResult(0).replaceAllUsesWith(stable);
      op->erase();
    }
  // What was looked at and not used, and what is not needed any more.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
