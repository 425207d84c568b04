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

#ifndef LNBWD_LIB_TRANSFORMS_ADJOINTS_H
#define LNBWD_LIB_TRANSFORMS_ADJOINTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace lnbwd {

/// The values of the straight-line code `block` that depend on `inputs`,
/// arguments of it, but for what is detached.
llvm::DenseSet<mlir::Value> findActiveValues(mlir::Block &block,
                                             mlir::ValueRange inputs);

class Adjoints {
public:
  /// Of the straight-line code `block`, with respect to `inputs`, arguments of
  /// it. New operations are made at `builder`'s insertion point; with
  /// `annotate`, each says in the attribute `lnbwd.adjoint` which operation it
  /// comes from.
  Adjoints(mlir::OpBuilder &builder, mlir::Block &block,
           mlir::ValueRange inputs, bool annotate);

  /// Adds to a value's adjoint: how the block's outputs are seeded.
  void add(mlir::Value value, mlir::Value adjoint);
  /// Goes from the last of `operations` to the first. Fails, with an error that
  /// names the operation, if one cannot be differentiated.
  mlir::LogicalResult propagate(llvm::ArrayRef<mlir::Operation *> operations);
  /// The adjoint of `value`; zero if nothing depends on it.
  mlir::Value get(mlir::Value value);

private:
  mlir::LogicalResult visit(mlir::Operation *op);

  mlir::OpBuilder &b;
  bool annotate;
  /// The values that depend on the inputs.
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
};

/// Gives the operations of arith, math and vector that row programs are made of
/// the interface DifferentiableOpInterface.
void registerDerivativeRules(mlir::DialectRegistry &registry);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ADJOINTS_H
