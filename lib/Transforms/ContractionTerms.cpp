//===- ContractionTerms.cpp - What products of matrices are made of -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks through multiplications and additions, in the forms that
// differentiation leaves them in.
//
//===----------------------------------------------------------------------===//

#include "ContractionTerms.h"
#include "RowForms.h"
#include "RowPrograms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace lnbwd;

/// Whether two lists have the same values, in whatever order.
static bool haveSameValues(ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
  return lhs.size() == rhs.size() &&
         std::is_permutation(lhs.begin(), lhs.end(), rhs.begin());
}

/// A row that is rounded to a narrower type and widened again, before that: the
/// algebra takes float32 numbers for real ones, and those of bf16 as well.
static Value lookThroughRounding(Value row) {
  while (auto widened = row.getDefiningOp<arith::ExtFOp>()) {
    auto rounded = widened.getIn().getDefiningOp<arith::TruncFOp>();
    if (!rounded || rounded.getIn().getType() != row.getType())
      break;
    row = rounded.getIn();
  }
  return row;
}

bool Factors::hasSameRow(const Factors &other) const {
  return haveSameValues(rows, other.rows) &&
         haveSameValues(scalars, other.scalars);
}

ContractionTerms::ContractionTerms(RowwiseOp op) {
  Block &body = op.getBody().front();
  for (size_t i = 0; i < op.getColumns().size(); ++i)
    invariants.insert(body.getArgument(unsigned(op.getRows().size() + i)));
  for (Operation &bodyOp : body.without_terminator())
    if (isPure(&bodyOp) && !isa<LinearOp, vector::OuterProductOp>(bodyOp) &&
        llvm::all_of(bodyOp.getOperands(),
                     [&](Value value) { return invariants.contains(value); }))
      invariants.insert(bodyOp.result_begin(), bodyOp.result_end());
}

void ContractionTerms::addFactors(Value row, Factors &factors) const {
  row = lookThroughRounding(row);
  APFloat number(0.0);
  if (isRow(row.getType()) && matchPattern(row, m_ConstantFloat(&number))) {
    factors.coefficient *= double(number.convertToFloat());
    return;
  }
  if (isInvariant(row)) {
    factors.invariants.push_back(row);
    return;
  }
  if (auto product = row.getDefiningOp<arith::MulFOp>()) {
    addFactors(product.getLhs(), factors);
    addFactors(product.getRhs(), factors);
    return;
  }
  if (auto negation = row.getDefiningOp<arith::NegFOp>()) {
    factors.coefficient = -factors.coefficient;
    addFactors(negation.getOperand(), factors);
    return;
  }
  if (auto spread = row.getDefiningOp<vector::BroadcastOp>()) {
    factors.scalars.push_back(spread.getSource());
    return;
  }
  factors.rows.push_back(row);
}

Factors ContractionTerms::getFactors(ValueRange rows) const {
  Factors factors;
  for (Value row : rows)
    addFactors(row, factors);
  return factors;
}

SmallVector<Factors> ContractionTerms::getTerms(Value row) const {
  row = lookThroughRounding(row);
  // The two summands, the first of which may be a product of two.
  SmallVector<Value> product;
  Value rest;
  if (auto add = row.getDefiningOp<arith::AddFOp>()) {
    for (int i : {0, 1})
      if (!rest && isInvariant(add->getOperand(i))) {
        rest = add->getOperand(i);
        product = {add->getOperand(1 - i)};
      }
  } else if (auto fma = row.getDefiningOp<vector::FMAOp>()) {
    if (isInvariant(fma.getAcc())) {
      rest = fma.getAcc();
      product = {fma.getLhs(), fma.getRhs()};
    }
  }
  if (!rest || isInvariant(row))
    return {getFactors(row)};
  SmallVector<Factors> terms;
  if (product.size() == 1)
    terms = getTerms(product.front());
  else
    terms.push_back(getFactors(product));
  terms.push_back(getFactors(rest));
  return terms;
}

FailureOr<SmallVector<RowwiseOp>>
lnbwd::getProgramsWithContractions(Operation *root) {
  return collectPrograms(root, [](RowwiseOp op) -> FailureOr<bool> {
    if (!op.hasContractions())
      return false;
    if (!op.hasPureBufferSemantics() || op.getSchedule())
      return op.emitOpError("expected memrefs and no schedule; run "
                            "bufferization before, and lnbwd-select-schedule "
                            "after");
    return true;
  });
}

Value lnbwd::buildRowPart(RowBuilder &rows, const Factors &factors) {
  Value product, scale;
  for (Value factor : factors.rows)
    product = product ? rows.mul(product, factor) : factor;
  for (Value scalar : factors.scalars)
    scale = scale ? rows.mul(scale, scalar) : scalar;
  if (!scale)
    return product;
  Value spread = rows.spread(scale);
  return product ? rows.mul(product, spread) : spread;
}

Value lnbwd::getNarrow(Value row) {
  auto widened = row.getDefiningOp<arith::ExtFOp>();
  return widened ? widened.getIn() : row;
}

Value lnbwd::copySlice(OpBuilder &body, Value value, IRMapping &mapping) {
  if (Value there = mapping.lookupOrNull(value))
    return there;
  Operation *producer = value.getDefiningOp();
  assert(producer && "the arguments that a slice needs have been mapped");
  for (Value operand : producer->getOperands())
    (void)copySlice(body, operand, mapping);
  body.clone(*producer, mapping);
  return mapping.lookup(value);
}
