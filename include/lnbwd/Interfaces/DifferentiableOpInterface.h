//===- DifferentiableOpInterface.h - Derivatives ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an operation must say of itself to be differentiated in reverse, and
// what it says it with: the adjoint of a value is the derivative of the loss
// with respect to it, of float32 whatever the value's type.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define LNBWD_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"

namespace lnbwd {

/// Writes the formulas of one operation's derivative. Whatever it makes is of
/// float32: operands and results of narrower types are widened where a formula
/// uses them.
class AdjointBuilder {
public:
  using IsActive = llvm::function_ref<bool(mlir::Value)>;
  using Add = llvm::function_ref<void(mlir::Value, mlir::Value)>;

  /// For `op`, whose result has the adjoint `adjoint`. `isActive` says of a
  /// value whether its adjoint is wanted, `add` adds to it; both outlive the
  /// builder.
  AdjointBuilder(mlir::OpBuilder &builder, mlir::Operation *op,
                 mlir::Value adjoint, IsActive isActive, Add add)
      : at(op->getLoc(), builder), op(op), adjoint(adjoint),
        isActiveValue(isActive), addTo(add) {
    at.setInsertionPoint(builder.getInsertionBlock(),
                         builder.getInsertionPoint());
  }

  mlir::ImplicitLocOpBuilder &getBuilder() { return at; }

  /// The type that the adjoint of `value` has: that of `value`, of float32.
  static mlir::Type getAdjointType(mlir::Value value);

  /// The adjoint of the operation's result.
  mlir::Value getAdjoint() const { return adjoint; }
  /// Operand `index`, as it is.
  mlir::Value getOperand(unsigned index) const { return op->getOperand(index); }
  /// Operands 0 and 1, and the result, as float32.
  mlir::Value x() { return widen(getOperand(0)); }
  mlir::Value y() { return widen(getOperand(1)); }
  mlir::Value result() { return widen(op->getResult(0)); }

  /// Whether the adjoint of operand `index` is wanted: of others nothing need
  /// be computed.
  bool isActive(unsigned index) const {
    return isActiveValue(getOperand(index));
  }
  /// Adds `value` to the adjoint of operand `index`, if that is wanted.
  void addToAdjoint(unsigned index, mlir::Value value) {
    addTo(getOperand(index), value);
  }
  /// Adds `value` to the adjoint of `of`, from which the operands are computed.
  void addToAdjoint(mlir::Value of, mlir::Value value) { addTo(of, value); }

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value x);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x,
                      mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// A number, in all elements of a value of the adjoint's type.
  mlir::Value constant(double number);

private:
  mlir::Value widen(mlir::Value value);

  mlir::ImplicitLocOpBuilder at;
  mlir::Operation *op;
  mlir::Value adjoint;
  IsActive isActiveValue;
  Add addTo;
};

} // namespace lnbwd

#include "lnbwd/Interfaces/DifferentiableOpInterface.h.inc"

#endif // LNBWD_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
