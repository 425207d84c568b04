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
  if (b.isActive(0))
    b.addToAdjoint(0, b.adjoint * b.y());
  if (b.isActive(1))
    b.addToAdjoint(1, b.adjoint * b.x());
}

static void addProduct(AdjointBuilder &b) {
  if (b.getOperand(0) != b.getOperand(1))
    return addFactors(b);
  RowValue twice = b.adjoint * 2;
  b.addToAdjoint(0, b.x() * twice);
}

/// 1 / (1 + e), e = exp(u): -g s (1 - s) goes to u itself, s being the quotient
/// and 1 - s = e s, of which e may be infinite where s is 0.
static bool addLogistic(AdjointBuilder &b) {
  Value exponential = getLogisticExponential(b.getOperand(0), b.getOperand(1));
  if (!exponential)
    return false;
  RowValue s = b.result();
  RowValue most = b.constant(std::numeric_limits<float>::max());
  RowValue finite = b.make<arith::MinimumFOp>(exponential, most);
  RowValue share = b.adjoint * s;
  b.addToAdjoint(exponential.getDefiningOp()->getOperand(0),
                 -(share * (finite * s)));
  return true;
}

static void addQuotient(AdjointBuilder &b) {
  if (addLogistic(b))
    return;
  if (b.isActive(0))
    b.addToAdjoint(0, b.adjoint / b.y());
  if (b.isActive(1)) {
    RowValue divisor = b.y();
    b.addToAdjoint(1, -(b.adjoint * b.result() / divisor));
  }
}

/// Of two operands g goes to the one that is the result, half of it to each
/// where they are equal. `loses` says that the first one is not the result; a
/// NaN among them is the result, or with `passesNaNsOver`, not.
template <Predicate loses, bool passesNaNsOver>
static void addExtremum(AdjointBuilder &b) {
  RowValue operands[] = {b.x(), b.y()};
  RowValue half = b.adjoint * 0.5;
  Value areEqual = compare(Predicate::OEQ, operands[0], operands[1]);
  RowValue share = select(areEqual, half, b.adjoint);
  for (unsigned i : {0, 1}) {
    if (!b.isActive(i))
      continue;
    Value isOut = passesNaNsOver
                      ? compare(Predicate::UNE, operands[i], b.result())
                      : compare(loses, operands[i], operands[1 - i]);
    b.addToAdjoint(i, select(isOut, b.constant(0), share));
  }
}

/// g times the sign of x, which is 0 for 0 and for a NaN.
static void addMagnitude(AdjointBuilder &b) {
  RowValue x = b.x(), zero = b.constant(0);
  Value isNegative = x < zero;
  RowValue sign = select(isNegative, b.constant(-1), zero);
  Value isPositive = compare(Predicate::OGT, x, zero);
  sign = select(isPositive, b.constant(1), sign);
  b.addToAdjoint(0, b.adjoint * sign);
}

/// The size of operand 0 with the sign of operand 1: constant in that, but
/// where it changes its sign.
static void addCopiedSign(AdjointBuilder &b) {
  if (!b.isActive(0))
    return;
  auto signOf = [&](RowValue value) {
    return b.make<math::CopySignOp>(b.constant(1), value);
  };
  RowValue signOfY = signOf(b.y());
  RowValue sign = signOf(b.x()) * signOfY;
  RowValue none = b.constant(0);
  Value isKink = compare(Predicate::OEQ, b.x(), none);
  RowValue slope = b.adjoint * sign;
  b.addToAdjoint(0, select(isKink, b.constant(0), slope));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// A row sum spreads its adjoint over the row. (That of a row of one element
/// folds to the element.)
static void addSumOfRow(AdjointBuilder &b) {
  b.addToAdjoint(0, b.make<vector::BroadcastOp>(getAdjointType(b.getOperand(0)),
                                                b.adjoint));
}

/// The elements that are the largest of a row share its adjoint evenly. The
/// largest is taken again: a saved one may have been rounded in another way
/// than the elements are here, and would equal none of them. The attribute
/// keeps it apart from the forward pass's, which a saved value may replace.
static void addMaximumOfRow(AdjointBuilder &b) {
  RowValue row = b.x();
  RowValue largest =
      b.make<vector::ReductionOp>(vector::CombiningKind::MAXIMUMF, row);
  largest.value.getDefiningOp()->setAttr(detachAttr, b.b.getUnitAttr());
  int64_t length = cast<VectorType>(row.value.getType()).getNumElements();
  RowValue largestInRow = spread(largest, length);
  Value isLargest = compare(Predicate::OEQ, row, largestInRow);
  RowValue one = row.like(1);
  RowValue shares = select(isLargest, one, row.like(0));
  RowValue share = b.adjoint / rowSum(shares);
  // Of a NaN there are no shares, and 0 / 0 is NaN again.
  b.addToAdjoint(0, shares * spread(share, length));
}

static void addRowSum(AdjointBuilder &b) {
  if (isRowMaximum(b.op))
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
  bool isTransposed = cast<LinearOp>(b.op).getTransposed();
  Value g = roundLike(b.b, b.adjoint, b.getOperand(0));
  if (b.isActive(0))
    b.addToAdjoint(0, LinearOp::create(b.b, g, b.getOperand(1), !isTransposed));
  if (!b.isActive(1))
    return;
  Value x = b.x();
  b.addToAdjoint(1, b.make<vector::OuterProductOp>(
                        getAdjointType(b.getOperand(1)), isTransposed ? x : g,
                        isTransposed ? g : x, Value()));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// g times the exponential `slope` of operand 0. What does not depend on the
/// exponential, g = 0, does not even where the exponential is infinite.
static void addExponentialWith(AdjointBuilder &b, RowValue slope) {
  RowValue product = b.adjoint * slope;
  if (!isSmallExponent(b.getOperand(0))) {
    RowValue none = b.constant(0);
    Value isFlat = compare(Predicate::OEQ, b.adjoint, b.constant(0));
    product = select(isFlat, none, product);
  }
  b.addToAdjoint(0, product);
}

/// (x^y)' = y x^(y-1) dx + x^y log(x) dy, 0 where y is 0 and where x is.
static void addPower(AdjointBuilder &b) {
  RowValue base = b.x(), exponent = b.y();
  if (b.isActive(0)) {
    RowValue less = exponent - b.constant(1);
    RowValue slope = exponent * b.make<math::PowFOp>(base, less);
    Value isFlat = compare(Predicate::OEQ, exponent, b.constant(0));
    slope = b.adjoint * slope;
    b.addToAdjoint(0, select(isFlat, b.constant(0), slope));
  }
  if (b.isActive(1)) {
    RowValue log = b.make<math::LogOp>(base);
    RowValue slope = b.result() * log;
    Value isFlatLater = compare(Predicate::OGE, exponent, b.constant(0));
    Value isZero = compare(Predicate::OEQ, base, b.constant(0));
    Value isFlat = arith::AndIOp::create(b.b, isZero, isFlatLater);
    slope = b.adjoint * slope;
    b.addToAdjoint(1, select(isFlat, b.constant(0), slope));
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
    RowValue factor = b.constant(std::log(2.0));
    addExponentialWith(b, b.result() * factor);
  });
  give<math::ExpM1Op>(rules, [](AdjointBuilder &b) {
    RowValue one = b.constant(1);
    addExponentialWith(b, b.result() + one);
  });
  give<math::LogOp>(
      rules, [](AdjointBuilder &b) { b.addToAdjoint(0, b.adjoint / b.x()); });
  give<math::Log2Op>(rules, [](AdjointBuilder &b) {
    RowValue x = b.x();
    b.addToAdjoint(0, b.adjoint * (1 / std::log(2.0)) / x);
  });
  give<math::Log1pOp>(rules, [](AdjointBuilder &b) {
    RowValue x = b.x();
    b.addToAdjoint(0, b.adjoint / (b.constant(1) + x));
  });
  give<math::SqrtOp>(rules, [](AdjointBuilder &b) {
    RowValue root = b.result();
    b.addToAdjoint(0, b.adjoint * 0.5 / root);
  });
  // (v^-1/2)' = -1/2 (v^-1/2)^3
  give<math::RsqrtOp>(rules, [](AdjointBuilder &b) {
    RowValue root = b.result();
    RowValue slope = root * root * root * b.constant(-0.5);
    b.addToAdjoint(0, b.adjoint * slope);
  });
  give<math::TanhOp>(rules, [](AdjointBuilder &b) {
    RowValue t = b.result();
    RowValue minusSquare = -(t * t);
    b.addToAdjoint(0, b.adjoint * (b.constant(1) + minusSquare));
  });
  give<math::SinOp>(rules, [](AdjointBuilder &b) {
    b.addToAdjoint(0, b.adjoint * b.make<math::CosOp>(b.x()));
  });
  give<math::CosOp>(rules, [](AdjointBuilder &b) {
    b.addToAdjoint(0, b.adjoint * -b.make<math::SinOp>(b.x()));
  });
  give<math::ErfOp>(rules, [](AdjointBuilder &b) {
    RowValue x = b.x();
    RowValue bell = b.make<math::ExpOp>(-(x * x));
    RowValue slope = bell * b.constant(2 / std::sqrt(M_PI));
    b.addToAdjoint(0, b.adjoint * slope);
  });
}

//===----------------------------------------------------------------------===//
// Which rule is whose
//===----------------------------------------------------------------------===//

const DerivativeRules &lnbwd::getDerivativeRules() {
  static const auto all = [] {
    DerivativeRules rules;
    give<arith::AddFOp>(rules, [](AdjointBuilder &b) {
      b.addToAdjoint(0, b.adjoint);
      b.addToAdjoint(1, b.adjoint);
    });
    give<arith::SubFOp>(rules, [](AdjointBuilder &b) {
      b.addToAdjoint(0, b.adjoint);
      b.addToAdjoint(1, -b.adjoint);
    });
    give<arith::NegFOp>(
        rules, [](AdjointBuilder &b) { b.addToAdjoint(0, -b.adjoint); });
    give<arith::MulFOp>(rules, addProduct);
    give<arith::DivFOp>(rules, addQuotient);
    give<math::FmaOp, vector::FMAOp>(rules, [](AdjointBuilder &b) {
      addFactors(b);
      b.addToAdjoint(2, b.adjoint);
    });
    // Adjoints are of float32 on both sides of a conversion.
    give<arith::ExtFOp, arith::TruncFOp>(
        rules, [](AdjointBuilder &b) { b.addToAdjoint(0, b.adjoint); });
    // Steps are constant but where they jump.
    give<arith::UIToFPOp, arith::SIToFPOp, math::FloorOp, math::CeilOp,
         math::RoundOp, math::RoundEvenOp, math::TruncOp>(
        rules, [](AdjointBuilder &) {});
    give<arith::SelectOp>(rules, [](AdjointBuilder &b) {
      RowValue none = b.constant(0);
      b.addToAdjoint(1, select(b.getOperand(0), b.adjoint, none));
      b.addToAdjoint(2, select(b.getOperand(0), none, b.adjoint));
    });
    give<arith::MaximumFOp>(rules, addExtremum<Predicate::OLT, false>);
    give<arith::MinimumFOp>(rules, addExtremum<Predicate::OGT, false>);
    give<arith::MaxNumFOp>(rules, addExtremum<Predicate::OLT, true>);
    give<arith::MinNumFOp>(rules, addExtremum<Predicate::OGT, true>);
    addFunctions(rules);
    give<math::PowFOp>(rules, addPower);
    give<math::AbsFOp>(rules, addMagnitude);
    give<math::CopySignOp>(rules, addCopiedSign);
    give<vector::BroadcastOp>(
        rules, [](AdjointBuilder &b) { b.addToAdjoint(0, rowSum(b.adjoint)); });
    give<vector::ReductionOp, vector::ExtractOp>(rules, addRowSum);
    give<LinearOp>(rules, addLinear);
    return rules;
  }();
  return all;
}
