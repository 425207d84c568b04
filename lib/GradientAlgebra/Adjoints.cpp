//===- Adjoints.cpp - Reverse mode over one row ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk over a row program; what each operation does to adjoints is its
// rule's (DerivativeRules.cpp).
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

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

Type lnbwd::getAdjointType(Value value) {
  Type element = Float32Type::get(value.getContext());
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
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

Value Adjoints::get(Value value) {
  if (Value known = adjoints.lookup(value))
    return known;
  return arith::ConstantOp::create(b, value.getLoc(),
                                   b.getZeroAttr(getAdjointType(value)));
}

/// Says which operations have a derivative, of those that are loaded here.
static LogicalResult emitNoDerivative(Operation *op,
                                      const DerivativeRules &rules) {
  SmallVector<StringRef> names(rules.keys());
  llvm::sort(names);
  InFlightDiagnostic diag =
      op->emitOpError("cannot be differentiated: expected one of ");
  llvm::interleaveComma(names, diag);
  return diag;
}

LogicalResult Adjoints::propagate(ArrayRef<Operation *> operations) {
  for (Operation *op : llvm::reverse(operations)) {
    if (op->getNumResults() != 1 || !adjoints.contains(op->getResult(0)))
      continue;
    if (failed(visit(op)))
      return failure();
  }
  return success();
}

LogicalResult Adjoints::visit(Operation *op) {
  // Adjoints are float32: wider arithmetic would lose what it is wider for.
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
        element && element.getWidth() > 32)
      return op->emitOpError("cannot be differentiated: expected arithmetic of "
                             "float32 or narrower, got ")
             << element << "; gradients are computed in float32";

  DerivativeRule rule = rules.lookup(op->getName().getStringRef());
  if (!rule)
    return emitNoDerivative(op, rules);
  if (isa<vector::ReductionOp, vector::ExtractOp>(op) && !getSummedRow(op))
    return op->emitOpError("cannot be differentiated: expected the sum or the "
                           "largest element of a row of float32, "
                           "vector.reduction <add> or <maximumf>");
  AdjointBuilder builder(b, op, *this);
  rule(builder);
  return success();
}
