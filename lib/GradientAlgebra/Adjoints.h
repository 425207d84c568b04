//===- Adjoints.h - Reverse mode over one row -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derivatives of the operations that row programs are made of. The adjoint of a
// value is the derivative of the loss with respect to it, of float32 whatever
// the value's type.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_ADJOINTS_H
#define LNBWD_LIB_GRADIENTALGEBRA_ADJOINTS_H

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace lnbwd {

/// The values of the straight-line code `block` that depend on `inputs`,
/// arguments of it, but for what is detached.
llvm::DenseSet<mlir::Value> findActiveValues(mlir::Block &block,
                                             mlir::ValueRange inputs);

class AdjointBuilder;
/// Writes the derivative of one operation with a builder for it.
using DerivativeRule = void (*)(AdjointBuilder &);
using DerivativeRules = llvm::StringMap<DerivativeRule>;
/// The rule of each operation that can be differentiated, by its name.
const DerivativeRules &getDerivativeRules();

class Adjoints {
public:
  /// Of the straight-line code `block`, with respect to `inputs`, arguments of
  /// it. New operations are made at `builder`'s insertion point.
  Adjoints(mlir::OpBuilder &builder, const DerivativeRules &rules,
           mlir::Block &block, mlir::ValueRange inputs)
      : b(builder), rules(rules), active(findActiveValues(block, inputs)) {}

  /// Adds to a value's adjoint: how the block's outputs are seeded.
  void add(mlir::Value value, mlir::Value adjoint);
  /// Goes from the last of `operations` to the first. Fails, with an error that
  /// names the operation, if one cannot be differentiated.
  mlir::LogicalResult propagate(llvm::ArrayRef<mlir::Operation *> operations);
  /// The adjoint of `value`; zero if nothing depends on it.
  mlir::Value get(mlir::Value value);
  /// Whether `value` depends on the inputs: of others no adjoint is kept.
  bool isActive(mlir::Value value) const { return active.contains(value); }

private:
  mlir::LogicalResult visit(mlir::Operation *op);

  mlir::OpBuilder &b;
  const DerivativeRules &rules;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
};

/// The type of the adjoint of `value`: that of `value`, of float32.
mlir::Type getAdjointType(mlir::Value value);

/// The derivative of one operation. Operands and results of narrower types are
/// widened to float32 where a formula uses them.
class AdjointBuilder {
public:
  /// For `op`, whose result has an adjoint among `adjoints`.
  AdjointBuilder(mlir::OpBuilder &builder, mlir::Operation *op,
                 Adjoints &adjoints)
      : b(op->getLoc(), builder), op(op),
        adjoint{&b, adjoints.get(op->getResult(0))}, adjoints(adjoints) {}
  AdjointBuilder(const AdjointBuilder &) = delete;

  /// Operand `index`, as it is.
  mlir::Value getOperand(unsigned index) const { return op->getOperand(index); }
  /// Operands 0 and 1, and the result, as float32.
  RowValue x() { return widen(b, getOperand(0)); }
  RowValue y() { return widen(b, getOperand(1)); }
  RowValue result() { return widen(b, op->getResult(0)); }
  template <typename Op, typename... Args> RowValue make(Args... args) {
    return {&b, Op::create(b, args...)};
  }
  /// A number, in all elements of a value of the adjoint's type.
  RowValue constant(double number) { return adjoint.like(number); }

  /// Whether the adjoint of operand `index` is wanted: of others nothing need
  /// be computed.
  bool isActive(unsigned index) const {
    return adjoints.isActive(getOperand(index));
  }
  /// Adds `value` to the adjoint of operand `index`, if that is wanted.
  void addToAdjoint(unsigned index, mlir::Value value) {
    adjoints.add(getOperand(index), value);
  }
  /// Adds `value` to the adjoint of `of`, from which the operands are computed.
  void addToAdjoint(mlir::Value of, mlir::Value value) {
    adjoints.add(of, value);
  }

  RowBuilder b;
  mlir::Operation *op;
  /// The adjoint of the operation's result.
  RowValue adjoint;

private:
  Adjoints &adjoints;
};

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_ADJOINTS_H
