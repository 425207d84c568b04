//===- RowTerms.cpp - Even rows, row sums and monomials -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads products off the operations of a row program and writes them back.
//
//===----------------------------------------------------------------------===//

#include "RowTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace lnbwd;

static constexpr arith::FastMathFlags contract = arith::FastMathFlags::contract;

//===----------------------------------------------------------------------===//
// To look at values
//===----------------------------------------------------------------------===//

bool lnbwd::isRow(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getElementType().isF32();
}

std::optional<double> lnbwd::getConstant(Value value) {
  APFloat number(0.0);
  if (!getElementTypeOrSelf(value.getType()).isF32() ||
      !matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return double(number.convertToFloat());
}

bool lnbwd::isEven(Value value) {
  return isRow(value) &&
         (value.getDefiningOp<vector::BroadcastOp>() || getConstant(value));
}

Value lnbwd::getScalar(OpBuilder &b, Location loc, Value even) {
  if (auto spread = even.getDefiningOp<vector::BroadcastOp>())
    return spread.getSource();
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(float(*getConstant(even))));
}

Value lnbwd::makeSpread(OpBuilder &b, Location loc, Value scalar, Type row) {
  return vector::BroadcastOp::create(b, loc, row, scalar);
}

Value lnbwd::makeMul(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::MulFOp::create(b, loc, lhs, rhs, contract);
}

Value lnbwd::makeAdd(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::AddFOp::create(b, loc, lhs, rhs, contract);
}

Value lnbwd::makeDiv(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::DivFOp::create(b, loc, lhs, rhs, contract);
}

Value lnbwd::makeScalar(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
}

Value lnbwd::makeSum(OpBuilder &b, Location loc, Value row) {
  return vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, row);
}

Value lnbwd::getRowOfSum(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isRowMaximum(op) ? getSummedRow(op) : Value();
}

int64_t lnbwd::getLength(Value row) {
  return cast<VectorType>(row.getType()).getNumElements();
}

//===----------------------------------------------------------------------===//
// Monomials
//===----------------------------------------------------------------------===//

Monomial lnbwd::getMonomial(Value scalar) {
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

Value lnbwd::buildMonomial(OpBuilder &b, Location loc,
                           const Monomial &monomial) {
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
    result = makeDiv(b, loc, result, divisor);
  return result;
}

void lnbwd::takeApart(OpBuilder &b, Location loc, Value value, bool isRoot,
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

std::optional<std::pair<Value, Value>> lnbwd::matchScaled(Value value) {
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

Monomial lnbwd::getMonomialOfEven(Value even) {
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

Value lnbwd::findScaled(Operation *op, Value row,
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

bool lnbwd::isCentred(Value row) {
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
