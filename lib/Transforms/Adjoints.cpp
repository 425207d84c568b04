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
// pass.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

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

Adjoints::Adjoints(OpBuilder &builder, Block &block, int64_t rowLength,
                   ValueRange inputs, bool annotate)
    : b(builder), rowType(VectorType::get({rowLength}, b.getF32Type())),
      annotate(annotate) {
  active.insert(inputs.begin(), inputs.end());
  for (Operation &op : block)
    if (!op.hasAttr(detachAttr) &&
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return active.contains(value); }))
      active.insert(op.result_begin(), op.result_end());
}

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
      it->setAttr("lnbwd.adjoint", name);
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

  Value g = adjoints.lookup(op->getResult(0));
  Value result = op->getResult(0);
  auto operand = [&](unsigned i) { return op->getOperand(i); };
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
          this->add(operand(0),
                    mul(operand(0), mul(g, constant(2, g.getType()))));
          return success();
        }
        if (active.contains(operand(0)))
          this->add(operand(0), mul(g, operand(1)));
        if (active.contains(operand(1)))
          this->add(operand(1), mul(g, operand(0)));
        return success();
      })
      .Case<arith::DivFOp>([&](auto) {
        if (active.contains(operand(0)))
          this->add(operand(0), div(g, operand(1)));
        if (active.contains(operand(1)))
          this->add(operand(1), negate(div(mul(g, result), operand(1))));
        return success();
      })
      .Case<vector::FMAOp, math::FmaOp>([&](auto) {
        if (active.contains(operand(0)))
          this->add(operand(0), mul(g, operand(1)));
        if (active.contains(operand(1)))
          this->add(operand(1), mul(g, operand(0)));
        this->add(operand(2), g);
        return success();
      })
      // Adjoints are of float32 on both sides of a conversion.
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        this->add(operand(0), g);
        return success();
      })
      .Case<arith::SelectOp>([&](auto) {
        Value none = constant(0, g.getType());
        this->add(operand(1), arith::SelectOp::create(at, operand(0), g, none));
        this->add(operand(2), arith::SelectOp::create(at, operand(0), none, g));
        return success();
      })
      .Case<vector::BroadcastOp>([&](auto) {
        this->add(operand(0), vector::ReductionOp::create(
                                  at, vector::CombiningKind::ADD, g));
        return success();
      })
      .Case<math::ExpOp>([&](auto) {
        this->add(operand(0), mul(g, result));
        return success();
      })
      .Case<math::Exp2Op>([&](auto) {
        this->add(operand(0),
                  mul(mul(g, result), constant(std::log(2.0), g.getType())));
        return success();
      })
      .Case<math::LogOp>([&](auto) {
        this->add(operand(0), div(g, operand(0)));
        return success();
      })
      .Case<math::SqrtOp>([&](auto) {
        this->add(operand(0), div(mul(g, constant(0.5, g.getType())), result));
        return success();
      })
      // (v^-1/2)' = -1/2 (v^-1/2)^3
      .Case<math::RsqrtOp>([&](auto) {
        Value cube = mul(mul(result, result), result);
        this->add(operand(0), mul(g, mul(cube, constant(-0.5, g.getType()))));
        return success();
      })
      .Case<math::TanhOp>([&](auto) {
        Value slope =
            add(constant(1, g.getType()), negate(mul(result, result)));
        this->add(operand(0), mul(g, slope));
        return success();
      })
      .Case<math::ErfOp>([&](auto) {
        Value x = operand(0);
        Value bell = math::ExpOp::create(at, negate(mul(x, x)));
        this->add(
            x, mul(g, mul(bell, constant(2 / std::sqrt(M_PI), g.getType()))));
        return success();
      })
      .Case<math::AbsFOp>([&](auto) {
        Value isNegative =
            arith::CmpFOp::create(at, arith::CmpFPredicate::OLT, operand(0),
                                  constant(0, g.getType()));
        this->add(operand(0),
                  arith::SelectOp::create(at, isNegative, negate(g), g));
        return success();
      })
      .Default([&](Operation *) {
        InFlightDiagnostic diag = op->emitOpError(
            "cannot be differentiated: expected addf, subf, mulf, divf, negf, "
            "extf, truncf, select, fma, vector.broadcast, vector.reduction "
            "<add>, exp, exp2, log, sqrt, rsqrt, tanh, erf or absf");
        if (isRowMaximum(op))
          diag << "; a row's largest element can be declared constant with the "
                  "attribute "
               << detachAttr;
        return diag;
      });
}
