//===- DerivativeRules.cpp - Derivatives of upstream's ops ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a derivative can be written with the operation's result (tanh, exp, a
// quotient), it is: the result is there, and it may be saved from the forward
// pass.
//
// At a kink the derivative is one that lies between those of the two sides:
// docs/math.md lists which. Row sums and the other rules are tested in
// test/EndToEnd/test_differentiate.py, each against finite differences.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

#include "StableExponentials.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace lnbwd;

using Predicate = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// Arithmetic. In each rule g is the adjoint of the result.
//===----------------------------------------------------------------------===//

static void addFactors(AdjointBuilder &b) {
  Value g = b.getAdjoint();
  if (b.isActive(0))
    b.addToAdjoint(0, b.mul(g, b.y()));
  if (b.isActive(1))
    b.addToAdjoint(1, b.mul(g, b.x()));
}

static void addProduct(AdjointBuilder &b) {
  if (b.getOperand(0) != b.getOperand(1))
    return addFactors(b);
  Value twice = b.mul(b.getAdjoint(), b.constant(2));
  b.addToAdjoint(0, b.mul(b.x(), twice));
}

/// 1 / (1 + e), e = exp(u): -g s (1 - s) goes to u itself, s being the quotient
/// and 1 - s = e s, of which e may be infinite where s is 0.
static bool addLogistic(AdjointBuilder &b) {
  Value exponential = getLogisticExponential(b.getOperand(0), b.getOperand(1));
  if (!exponential)
    return false;
  Value s = b.result();
  Value finite =
      arith::MinimumFOp::create(b.getBuilder(), exponential,
                                b.constant(std::numeric_limits<float>::max()));
  Value slope = b.mul(b.mul(b.getAdjoint(), s), b.mul(finite, s));
  b.addToAdjoint(exponential.getDefiningOp()->getOperand(0), b.negate(slope));
  return true;
}

static void addQuotient(AdjointBuilder &b) {
  if (addLogistic(b))
    return;
  Value g = b.getAdjoint();
  if (b.isActive(0))
    b.addToAdjoint(0, b.div(g, b.y()));
  if (b.isActive(1)) {
    Value divisor = b.y();
    b.addToAdjoint(1, b.negate(b.div(b.mul(g, b.result()), divisor)));
  }
}

/// Of two operands g goes to the one that is the result, half of it to each
/// where they are equal. `loses` says that the first one is not the result; a
/// NaN among them is the result, or with `passesNaNsOver`, not.
template <Predicate loses, bool passesNaNsOver>
static void addExtremum(AdjointBuilder &b) {
  Value g = b.getAdjoint(), operands[] = {b.x(), b.y()};
  Value half = b.mul(g, b.constant(0.5));
  Value areEqual = b.compare(Predicate::OEQ, operands[0], operands[1]);
  Value share = b.select(areEqual, half, g);
  for (unsigned i : {0, 1}) {
    if (!b.isActive(i))
      continue;
    Value isOut = passesNaNsOver
                      ? b.compare(Predicate::UNE, operands[i], b.result())
                      : b.compare(loses, operands[i], operands[1 - i]);
    b.addToAdjoint(i, b.select(isOut, b.constant(0), share));
  }
}

/// g times the sign of x, which is 0 for 0 and for a NaN.
static void addMagnitude(AdjointBuilder &b) {
  Value x = b.x(), zero = b.constant(0);
  Value isNegative = b.compare(Predicate::OLT, x, zero);
  Value sign = b.select(isNegative, b.constant(-1), zero);
  Value isPositive = b.compare(Predicate::OGT, x, zero);
  sign = b.select(isPositive, b.constant(1), sign);
  b.addToAdjoint(0, b.mul(b.getAdjoint(), sign));
}

/// The size of operand 0 with the sign of operand 1: constant in that, but
/// where it changes its sign.
static void addCopiedSign(AdjointBuilder &b) {
  if (!b.isActive(0))
    return;
  auto signOf = [&](Value value) -> Value {
    return math::CopySignOp::create(b.getBuilder(), b.constant(1), value);
  };
  Value signOfY = signOf(b.y());
  Value sign = b.mul(signOf(b.x()), signOfY);
  Value none = b.constant(0);
  Value isKink = b.compare(Predicate::OEQ, b.x(), none);
  Value slope = b.mul(b.getAdjoint(), sign);
  b.addToAdjoint(0, b.select(isKink, b.constant(0), slope));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// A row sum spreads its adjoint over the row. (That of a row of one element
/// folds to the element.)
static void addSumOfRow(AdjointBuilder &b) {
  b.addToAdjoint(0, vector::BroadcastOp::create(
                        b.getBuilder(),
                        AdjointBuilder::getAdjointType(b.getOperand(0)),
                        b.getAdjoint()));
}

/// The elements that are the largest of a row share its adjoint evenly. The
/// largest is taken again: a saved one may have been rounded in another way
/// than the elements are here, and would equal none of them. The attribute
/// keeps it apart from the forward pass's, which a saved value may replace.
static void addMaximumOfRow(AdjointBuilder &b) {
  ImplicitLocOpBuilder &builder = b.getBuilder();
  Value row = b.x();
  auto type = cast<VectorType>(row.getType());
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(
        builder, DenseElementsAttr::get(type, ArrayRef<float>(value)));
  };
  Value largest = vector::ReductionOp::create(
      builder, vector::CombiningKind::MAXIMUMF, row);
  largest.getDefiningOp()->setAttr(detachAttr, builder.getUnitAttr());
  Value spread = vector::BroadcastOp::create(builder, type, largest);
  Value isLargest = b.compare(Predicate::OEQ, row, spread);
  Value one = number(1);
  Value shares = b.select(isLargest, one, number(0));
  Value share = b.div(b.getAdjoint(), b.rowSum(shares));
  // Of a NaN there are no shares, and 0 / 0 is NaN again.
  b.addToAdjoint(
      0, b.mul(shares, vector::BroadcastOp::create(builder, type, share)));
}

static void addRowSum(AdjointBuilder &b) {
  if (isRowMaximum(b.getOperation()))
    addMaximumOfRow(b);
  else
    addSumOfRow(b);
}

/// `g` rounded to the element of `row`, and widened again; itself if it is of
/// that type already.
static Value roundLike(OpBuilder &b, Value g, Value row) {
  Type element = getElementTypeOrSelf(row.getType());
  auto widened = g.getDefiningOp<arith::ExtFOp>();
  if (element.isF32() ||
      (widened && getElementTypeOrSelf(widened.getIn().getType()) == element))
    return g;
  Type wide = g.getType();
  Type narrow = cast<VectorType>(wide).clone(element);
  Value rounded = arith::TruncFOp::create(b, g.getLoc(), narrow, g);
  return arith::ExtFOp::create(b, g.getLoc(), wide, rounded);
}

/// y = W x: W^T g for x, and for W the outer product of g and x; of W^T x the
/// other way round. Where x is narrow, so that the program multiplies numbers
/// of that type, its gradient does, too: g is rounded to it.
static void addLinear(AdjointBuilder &b) {
  bool isTransposed = cast<LinearOp>(b.getOperation()).getTransposed();
  Value g = roundLike(b.getBuilder(), b.getAdjoint(), b.getOperand(0));
  if (b.isActive(0))
    b.addToAdjoint(
        0, LinearOp::create(b.getBuilder(), g, b.getOperand(1), !isTransposed));
  if (!b.isActive(1))
    return;
  Value x = b.x();
  Type matrix = AdjointBuilder::getAdjointType(b.getOperand(1));
  b.addToAdjoint(1, vector::OuterProductOp::create(
                        b.getBuilder(), matrix, isTransposed ? x : g,
                        isTransposed ? g : x, Value()));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// g times the exponential `slope` of operand 0. What does not depend on the
/// exponential, g = 0, does not even where the exponential is infinite.
static void addExponentialWith(AdjointBuilder &b, Value slope) {
  Value product = b.mul(b.getAdjoint(), slope);
  if (!isSmallExponent(b.getOperand(0))) {
    Value none = b.constant(0);
    Value isFlat = b.compare(Predicate::OEQ, b.getAdjoint(), b.constant(0));
    product = b.select(isFlat, none, product);
  }
  b.addToAdjoint(0, product);
}

/// (x^y)' = y x^(y-1) dx + x^y log(x) dy, 0 where y is 0 and where x is.
static void addPower(AdjointBuilder &b) {
  Value g = b.getAdjoint(), base = b.x(), exponent = b.y();
  if (b.isActive(0)) {
    Value less = b.sub(exponent, b.constant(1));
    Value power = math::PowFOp::create(b.getBuilder(), base, less);
    Value slope = b.mul(exponent, power);
    Value isFlat = b.compare(Predicate::OEQ, exponent, b.constant(0));
    slope = b.mul(g, slope);
    b.addToAdjoint(0, b.select(isFlat, b.constant(0), slope));
  }
  if (b.isActive(1)) {
    Value log = math::LogOp::create(b.getBuilder(), base);
    Value slope = b.mul(b.result(), log);
    Value isFlatLater = b.compare(Predicate::OGE, exponent, b.constant(0));
    Value isZero = b.compare(Predicate::OEQ, base, b.constant(0));
    Value isFlat = arith::AndIOp::create(b.getBuilder(), isZero, isFlatLater);
    slope = b.mul(g, slope);
    b.addToAdjoint(1, b.select(isFlat, b.constant(0), slope));
  }
}

template <typename... Ops>
static void give(DerivativeRules &rules, DerivativeRule rule) {
  ((rules[Ops::getOperationName()] = rule), ...);
}

/// Rules of functions of one number.
static void addFunctions(DerivativeRules &rules) {
  give<math::ExpOp>(
      rules, [](AdjointBuilder &b) { addExponentialWith(b, b.result()); });
  give<math::Exp2Op>(rules, [](AdjointBuilder &b) {
    Value factor = b.constant(std::log(2.0));
    addExponentialWith(b, b.mul(b.result(), factor));
  });
  give<math::ExpM1Op>(rules, [](AdjointBuilder &b) {
    Value one = b.constant(1);
    addExponentialWith(b, b.add(b.result(), one));
  });
  give<math::LogOp>(rules, [](AdjointBuilder &b) {
    b.addToAdjoint(0, b.div(b.getAdjoint(), b.x()));
  });
  give<math::Log2Op>(rules, [](AdjointBuilder &b) {
    Value x = b.x();
    Value g = b.mul(b.getAdjoint(), b.constant(1 / std::log(2.0)));
    b.addToAdjoint(0, b.div(g, x));
  });
  give<math::Log1pOp>(rules, [](AdjointBuilder &b) {
    Value x = b.x();
    b.addToAdjoint(0, b.div(b.getAdjoint(), b.add(b.constant(1), x)));
  });
  give<math::SqrtOp>(rules, [](AdjointBuilder &b) {
    Value root = b.result();
    b.addToAdjoint(0, b.div(b.mul(b.getAdjoint(), b.constant(0.5)), root));
  });
  // (v^-1/2)' = -1/2 (v^-1/2)^3
  give<math::RsqrtOp>(rules, [](AdjointBuilder &b) {
    Value root = b.result();
    Value cube = b.mul(b.mul(root, root), root);
    Value slope = b.mul(cube, b.constant(-0.5));
    b.addToAdjoint(0, b.mul(b.getAdjoint(), slope));
  });
  give<math::TanhOp>(rules, [](AdjointBuilder &b) {
    Value t = b.result();
    Value minusSquare = b.negate(b.mul(t, t));
    Value slope = b.add(b.constant(1), minusSquare);
    b.addToAdjoint(0, b.mul(b.getAdjoint(), slope));
  });
  give<math::SinOp>(rules, [](AdjointBuilder &b) {
    Value slope = math::CosOp::create(b.getBuilder(), b.x());
    b.addToAdjoint(0, b.mul(b.getAdjoint(), slope));
  });
  give<math::CosOp>(rules, [](AdjointBuilder &b) {
    Value slope = b.negate(math::SinOp::create(b.getBuilder(), b.x()));
    b.addToAdjoint(0, b.mul(b.getAdjoint(), slope));
  });
  give<math::ErfOp>(rules, [](AdjointBuilder &b) {
    Value x = b.x();
    Value bell = math::ExpOp::create(b.getBuilder(), b.negate(b.mul(x, x)));
    Value slope = b.mul(bell, b.constant(2 / std::sqrt(M_PI)));
    b.addToAdjoint(0, b.mul(b.getAdjoint(), slope));
  });
}

//===----------------------------------------------------------------------===//
// Which rule is whose
//===----------------------------------------------------------------------===//

const DerivativeRules &lnbwd::getDerivativeRules() {
  static const auto all = [] {
    DerivativeRules rules;
    give<arith::AddFOp>(rules, [](AdjointBuilder &b) {
      b.addToAdjoint(0, b.getAdjoint());
      b.addToAdjoint(1, b.getAdjoint());
    });
    give<arith::SubFOp>(rules, [](AdjointBuilder &b) {
      b.addToAdjoint(0, b.getAdjoint());
      b.addToAdjoint(1, b.negate(b.getAdjoint()));
    });
    give<arith::NegFOp>(rules, [](AdjointBuilder &b) {
      b.addToAdjoint(0, b.negate(b.getAdjoint()));
    });
    give<arith::MulFOp>(rules, addProduct);
    give<arith::DivFOp>(rules, addQuotient);
    give<math::FmaOp, vector::FMAOp>(rules, [](AdjointBuilder &b) {
      addFactors(b);
      b.addToAdjoint(2, b.getAdjoint());
    });
    // Adjoints are of float32 on both sides of a conversion.
    give<arith::ExtFOp, arith::TruncFOp>(
        rules, [](AdjointBuilder &b) { b.addToAdjoint(0, b.getAdjoint()); });
    // Steps are constant but where they jump.
    give<arith::UIToFPOp, arith::SIToFPOp, math::FloorOp, math::CeilOp,
         math::RoundOp, math::RoundEvenOp, math::TruncOp>(
        rules, [](AdjointBuilder &) {});
    give<arith::SelectOp>(rules, [](AdjointBuilder &b) {
      Value g = b.getAdjoint(), none = b.constant(0), is = b.getOperand(0);
      b.addToAdjoint(1, b.select(is, g, none));
      b.addToAdjoint(2, b.select(is, none, g));
    });
    give<arith::MaximumFOp>(rules, addExtremum<Predicate::OLT, false>);
    give<arith::MinimumFOp>(rules, addExtremum<Predicate::OGT, false>);
    give<arith::MaxNumFOp>(rules, addExtremum<Predicate::OLT, true>);
    give<arith::MinNumFOp>(rules, addExtremum<Predicate::OGT, true>);
    addFunctions(rules);
    give<math::PowFOp>(rules, addPower);
    give<math::AbsFOp>(rules, addMagnitude);
    give<math::CopySignOp>(rules, addCopiedSign);
    give<vector::BroadcastOp>(rules, [](AdjointBuilder &b) {
      b.addToAdjoint(0, b.rowSum(b.getAdjoint()));
    });
    give<vector::ReductionOp, vector::ExtractOp>(rules, addRowSum);
    give<LinearOp>(rules, addLinear);
    return rules;
  }();
  return all;
}
