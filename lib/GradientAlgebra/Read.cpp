//===- Read.cpp - From a row program to forms -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over the region: each operation is looked at once.
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace lnbwd;

Value lnbwd::getRowOfSum(Operation *op) {
  return isRowMaximum(op) ? Value() : getSummedRow(op);
}

bool lnbwd::canReadForms(RowwiseOp op) {
  return llvm::all_of(
      op.getBody().front().without_terminator(), [](Operation &bodyOp) {
        return bodyOp.getNumResults() == 1 && bodyOp.getNumRegions() == 0;
      });
}

namespace {

class Reader {
public:
  explicit Reader(RowForms &forms) : forms(forms) {}

  llvm::MapVector<Value, const Form *> read(Block &body) {
    for (BlockArgument argument : body.getArguments())
      known[argument] = forms.makeForm(forms.makeArgument(argument));
    for (Operation &op : body)
      for (Type type : op.getOperandTypes())
        if (isRow(type))
          lengths.insert(getLength(type));
    for (Operation &op : body.without_terminator()) {
      ++forms.position;
      const Form *form = readAlgebra(&op);
      known[op.getResult(0)] = form ? form : readOther(&op);
    }
    return std::move(known);
  }

private:
  static int64_t getLength(Type row) {
    return cast<VectorType>(row).getNumElements();
  }

  /// Where a constant is the float32 next to k/N, for the length N of a row,
  /// that is what was meant: then the sum of x - mean(x) is exactly 0.
  double readNumber(double number) const {
    for (int64_t length : lengths) {
      double exact = std::nearbyint(number * double(length)) / double(length);
      if (float(exact) == float(number))
        return exact;
    }
    return number;
  }

  /// The form of an operation of the algebra; null if it is none.
  const Form *readAlgebra(Operation *op) {
    Type type = op->getResult(0).getType();
    // What is detached has to stay what it is.
    if ((!type.isF32() && !isRow(type)) || op->hasAttr(detachAttr))
      return nullptr;
    auto get = [&](unsigned i) { return known.lookup(op->getOperand(i)); };
    APFloat number(0.0);
    if (matchPattern(op, m_ConstantFloat(&number)))
      return number.isFinite()
                 ? forms.makeNumber(readNumber(number.convertToFloat()))
                 : nullptr;
    if (isa<arith::AddFOp>(op))
      return forms.add(get(0), get(1));
    if (isa<arith::SubFOp>(op))
      return forms.add(get(0), forms.negate(get(1)));
    if (isa<arith::MulFOp>(op))
      return forms.multiply(get(0), get(1));
    if (isa<arith::DivFOp>(op))
      return forms.divide(get(0), get(1));
    if (isa<arith::NegFOp>(op))
      return forms.negate(get(0));
    if (isa<vector::FMAOp, math::FmaOp>(op))
      return forms.add(forms.multiply(get(0), get(1)), get(2));
    if (isa<vector::BroadcastOp>(op) && op->getOperand(0).getType().isF32())
      return getLength(type) == 1 ? get(0) : forms.makeScalar(get(0));
    if (Value row = getRowOfSum(op); row && isRow(row.getType()))
      return forms.sumRow(get(0), getLength(row.getType()));
    return nullptr;
  }

  /// An atom; on scalars, where all operands are rows with one scalar in all
  /// places.
  const Form *readOther(Operation *op) {
    SmallVector<const Form *> operands;
    bool isOnScalars = isRow(op->getResult(0).getType()) &&
                       OpTrait::hasElementwiseMappableTraits(op) &&
                       op->getNumOperands() != 0 && !op->hasAttr(detachAttr);
    for (Value operand : op->getOperands()) {
      operands.push_back(known.lookup(operand));
      isOnScalars &= isRow(operand.getType()) && operands.back()->isEven();
    }
    return forms.makeForm(
        forms.makeOperation(op->getResult(0), operands, isOnScalars));
  }

  RowForms &forms;
  /// Of all rows, in the order in which the program has them.
  llvm::SmallSetVector<int64_t, 2> lengths;
  llvm::MapVector<Value, const Form *> known;
};

} // namespace

llvm::MapVector<Value, const Form *> lnbwd::readForms(RowForms &forms,
                                                      RowwiseOp op) {
  return Reader(forms).read(op.getBody().front());
}
