//===- Adjoints.cpp - Reverse mode over one row ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a derivative can be written with the operation's result (tanh, exp, a
// quotient), it is: the result is there, and it may be saved from the forward
// pass. What operands and results of narrower types stand for is widened where
// a formula uses it.
//
// At a kink the derivative is one that lies between those of the two sides:
// docs/derivation.md lists which. Row sums and the other rules are tested in
// test/EndToEnd/test_differentiate.py, each against finite differences.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

#include "StableExponentials.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

llvm::DenseSet<Value> lnbwd::findActiveValues(Block &block, ValueRange inputs) {
  llvm::DenseSet<Value> active(inputs.begin(), inputs.end());
  for (Operation &op : block)
    if (!op.hasAttr(detachAttr) &&
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return active.contains(value); }))
      active.insert(op.result_begin(), op.result_end());
  return active;
}

Adjoints::Adjoints(OpBuilder &builder, Block &block, int64_t rowLength,
                   ValueRange inputs, bool annotate)
    : b(builder), rowType(VectorType::get({rowLength}, b.getF32Type())),
      annotate(annotate), active(findActiveValues(block, inputs)) {}

void Adjoints::add(Value value, Value adjoint) {
  if (!active.contains(value))
    return;
  Value &known = adjoints[value];
  known = known
              ? Value(arith::AddFOp::create(b, adjoint.getLoc(), known, adjoint,
                                            arith::FastMathFlags::contract))
              : adjoint;
}

Value Adjoints::zero(Value like) {
  Type type =
      isa<VectorType>(like.getType()) ? Type(rowType) : Type(b.getF32Type());
  return arith::ConstantOp::create(b, like.getLoc(), b.getZeroAttr(type));
}

Value Adjoints::get(Value value) {
  Value known = adjoints.lookup(value);
  return known ? known : zero(value);
}

LogicalResult Adjoints::propagate(ArrayRef<Operation *> operations) {
  for (Operation *op : llvm::reverse(operations)) {
    if (op->getNumResults() != 1 || !adjoints.contains(op->getResult(0)))
      continue;
    Block *block = b.getInsertionBlock();
    Operation *last = block->empty() ? nullptr : &block->back();
    if (failed(visit(op)))
      return failure();
    if (!annotate)
      continue;
    auto name = b.getStringAttr(op->getName().getStringRef());
    for (auto it = last ? std::next(last->getIterator()) : block->begin();
         it != block->end(); ++it)
      it->setAttr(adjointAttr, name);
  }
  return success();
}

LogicalResult Adjoints::visit(Operation *op) {
  ImplicitLocOpBuilder at(op->getLoc(), b);
  at.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
  constexpr auto contract = arith::FastMathFlags::contract;
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(at, x, y, contract);
  };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(at, x, y, contract);
  };
  auto div = [&](Value x, Value y) -> Value {
    return arith::DivFOp::create(at, x, y, contract);
  };
  auto negate = [&](Value x) -> Value { return arith::NegFOp::create(at, x); };
  auto constant = [&](double number, Type type) -> Value {
    auto attr = at.getF32FloatAttr(float(number));
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(
          at, DenseElementsAttr::get(vector, attr.getValue()));
    return arith::ConstantOp::create(at, attr);
  };

  // Adjoints are float32: wider arithmetic would lose what it is wider for.
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
        element && element.getWidth() > 32)
      return op->emitOpError("cannot be differentiated: expected arithmetic of "
                             "float32 or narrower, got ")
             << element << "; gradients are computed in float32";

  Value g = adjoints.lookup(op->getResult(0));
  // What formulas use, as float32.
  auto widen = [&](Value value) -> Value {
    if (getElementTypeOrSelf(value.getType()).isF32())
      return value;
    return arith::ExtFOp::create(at, g.getType(), value);
  };
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  auto x = [&] { return widen(op->getOperand(0)); };
  auto y = [&] { return widen(op->getOperand(1)); };
  auto result = [&] { return widen(op->getResult(0)); };
  auto isActive = [&](unsigned i) { return active.contains(operand(i)); };
  auto one = [&] { return constant(1, g.getType()); };
  auto zero = [&] { return constant(0, g.getType()); };
  auto compare = [&](arith::CmpFPredicate predicate, Value lhs,
                     Value rhs) -> Value {
    return arith::CmpFOp::create(at, predicate, lhs, rhs);
  };
  auto select = [&](Value condition, Value lhs, Value rhs) -> Value {
    return arith::SelectOp::create(at, condition, lhs, rhs);
  };
  // g times the exponential `slope` of operand 0. What does not depend on the
  // exponential, g = 0, does not even where the exponential is infinite.
  auto mulExponential = [&](Value slope) -> Value {
    Value product = mul(g, slope);
    if (isSmallExponent(operand(0)))
      return product;
    return select(compare(arith::CmpFPredicate::OEQ, g, zero()), zero(),
                  product);
  };
  // Between two operands: g to the one that is the result, half of it to each
  // where they are equal. `loses` says that the first one is not the result; a
  // NaN among them is the result, or for the variants that pass NaNs over, not.
  auto visitExtremum = [&](arith::CmpFPredicate loses, bool passesNaNsOver) {
    using P = arith::CmpFPredicate;
    Value lhs = x(), rhs = y();
    Value share = select(compare(P::OEQ, lhs, rhs),
                         mul(g, constant(0.5, g.getType())), g);
    for (unsigned i : {0, 1}) {
      if (!isActive(i))
        continue;
      Value isOut = passesNaNsOver
                        ? compare(P::UNE, i ? rhs : lhs, result())
                        : compare(loses, i ? rhs : lhs, i ? lhs : rhs);
      this->add(operand(i), select(isOut, zero(), share));
    }
    return success();
  };

  // A row sum spreads its adjoint over the row.
  if (Value row = getSummedRow(op); row && !isRowMaximum(op)) {
    this->add(row, vector::BroadcastOp::create(at, rowType, g));
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::AddFOp>([&](auto) {
        this->add(operand(0), g);
        this->add(operand(1), g);
        return success();
      })
      .Case<arith::SubFOp>([&](auto) {
        this->add(operand(0), g);
        this->add(operand(1), negate(g));
        return success();
      })
      .Case<arith::NegFOp>([&](auto) {
        this->add(operand(0), negate(g));
        return success();
      })
      .Case<arith::MulFOp>([&](auto) {
        if (operand(0) == operand(1)) {
          this->add(operand(0), mul(x(), mul(g, constant(2, g.getType()))));
          return success();
        }
        if (isActive(0))
          this->add(operand(0), mul(g, y()));
        if (isActive(1))
          this->add(operand(1), mul(g, x()));
        return success();
      })
      .Case<arith::DivFOp>([&](auto) {
        if (isActive(0))
          this->add(operand(0), div(g, y()));
        if (isActive(1))
          this->add(operand(1), negate(div(mul(g, result()), y())));
        return success();
      })
      .Case<vector::FMAOp, math::FmaOp>([&](auto) {
        if (isActive(0))
          this->add(operand(0), mul(g, y()));
        if (isActive(1))
          this->add(operand(1), mul(g, x()));
        this->add(operand(2), g);
        return success();
      })
      // Adjoints are of float32 on both sides of a conversion.
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        this->add(operand(0), g);
        return success();
      })
      .Case<arith::SelectOp>([&](auto) {
        Value none = zero();
        this->add(operand(1), select(operand(0), g, none));
        this->add(operand(2), select(operand(0), none, g));
        return success();
      })
      .Case<arith::MaximumFOp>(
          [&](auto) { return visitExtremum(arith::CmpFPredicate::OLT, false); })
      .Case<arith::MinimumFOp>(
          [&](auto) { return visitExtremum(arith::CmpFPredicate::OGT, false); })
      .Case<arith::MaxNumFOp>(
          [&](auto) { return visitExtremum(arith::CmpFPredicate::OLT, true); })
      .Case<arith::MinNumFOp>(
          [&](auto) { return visitExtremum(arith::CmpFPredicate::OGT, true); })
      .Case<vector::BroadcastOp>([&](auto) {
        this->add(operand(0), vector::ReductionOp::create(
                                  at, vector::CombiningKind::ADD, g));
        return success();
      })
      .Case<math::ExpOp>([&](auto) {
        this->add(operand(0), mulExponential(result()));
        return success();
      })
      .Case<math::Exp2Op>([&](auto) {
        Value slope = mul(result(), constant(std::log(2.0), g.getType()));
        this->add(operand(0), mulExponential(slope));
        return success();
      })
      .Case<math::ExpM1Op>([&](auto) {
        this->add(operand(0), mulExponential(add(result(), one())));
        return success();
      })
      .Case<math::LogOp>([&](auto) {
        this->add(operand(0), div(g, x()));
        return success();
      })
      .Case<math::Log2Op>([&](auto) {
        this->add(operand(0),
                  div(mul(g, constant(1 / std::log(2.0), g.getType())), x()));
        return success();
      })
      .Case<math::Log1pOp>([&](auto) {
        this->add(operand(0), div(g, add(one(), x())));
        return success();
      })
      .Case<math::SqrtOp>([&](auto) {
        this->add(operand(0),
                  div(mul(g, constant(0.5, g.getType())), result()));
        return success();
      })
      // (v^-1/2)' = -1/2 (v^-1/2)^3
      .Case<math::RsqrtOp>([&](auto) {
        Value root = result();
        Value cube = mul(mul(root, root), root);
        this->add(operand(0), mul(g, mul(cube, constant(-0.5, g.getType()))));
        return success();
      })
      // (x^y)' = y x^(y-1) dx + x^y log(x) dy, 0 where y is 0 and where x is.
      .Case<math::PowFOp>([&](auto) {
        using P = arith::CmpFPredicate;
        Value base = x(), exponent = y();
        if (isActive(0)) {
          Value less = arith::SubFOp::create(at, exponent, one());
          Value slope = mul(exponent, math::PowFOp::create(at, base, less));
          Value isFlat = compare(P::OEQ, exponent, zero());
          this->add(operand(0), select(isFlat, zero(), mul(g, slope)));
        }
        if (isActive(1)) {
          Value slope = mul(result(), math::LogOp::create(at, base));
          Value isFlat =
              arith::AndIOp::create(at, compare(P::OEQ, base, zero()),
                                    compare(P::OGE, exponent, zero()));
          this->add(operand(1), select(isFlat, zero(), mul(g, slope)));
        }
        return success();
      })
      .Case<math::TanhOp>([&](auto) {
        Value t = result();
        this->add(operand(0), mul(g, add(one(), negate(mul(t, t)))));
        return success();
      })
      .Case<math::SinOp>([&](auto) {
        this->add(operand(0), mul(g, math::CosOp::create(at, x())));
        return success();
      })
      .Case<math::CosOp>([&](auto) {
        this->add(operand(0), mul(g, negate(math::SinOp::create(at, x()))));
        return success();
      })
      .Case<math::ErfOp>([&](auto) {
        Value value = x();
        Value bell = math::ExpOp::create(at, negate(mul(value, value)));
        this->add(operand(0), mul(g, mul(bell, constant(2 / std::sqrt(M_PI),
                                                        g.getType()))));
        return success();
      })
      // 0 at 0, and what came for a NaN.
      .Case<math::AbsFOp>([&](auto) {
        using P = arith::CmpFPredicate;
        Value value = x();
        Value side = select(compare(P::OLT, value, zero()), negate(g), g);
        this->add(operand(0),
                  select(compare(P::OEQ, value, zero()), zero(), side));
        return success();
      })
      // The size of operand 0 with the sign of operand 1: constant in that, but
      // where it changes its sign.
      .Case<math::CopySignOp>([&](auto) {
        if (!isActive(0))
          return success();
        Value sign = mul(math::CopySignOp::create(at, one(), x()),
                         math::CopySignOp::create(at, one(), y()));
        Value isKink = compare(arith::CmpFPredicate::OEQ, x(), zero());
        this->add(operand(0), select(isKink, zero(), mul(g, sign)));
        return success();
      })
      // Steps: constant but where they jump.
      .Case<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
            math::TruncOp, arith::UIToFPOp, arith::SIToFPOp>(
          [&](auto) { return success(); })
      .Default([&](Operation *) {
        InFlightDiagnostic diag = op->emitOpError(
            "cannot be differentiated: expected addf, subf, mulf, divf, negf, "
            "maximumf, minimumf, maxnumf, minnumf, extf, truncf, select, fma, "
            "vector.broadcast, vector.reduction <add> of float32, exp, exp2, "
            "expm1, log, log2, log1p, sqrt, rsqrt, powf, tanh, sin, cos, erf, "
            "absf, copysign, floor, ceil, round, roundeven, trunc, uitofp or "
            "sitofp");
        if (isRowMaximum(op))
          diag << "; a row's largest element can be declared constant with the "
                  "attribute "
               << detachAttr;
        return diag;
      });
}
