//===- ProgramOperands.h - A row program put together -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row program has its operands in the order of what they are, and its region
// the arguments and results in that order. Whoever makes one adds operands in
// any order, and refers to them by what was returned then.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_PROGRAMOPERANDS_H
#define LNBWD_DIALECT_LNBWD_IR_PROGRAMOPERANDS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/Builders.h"

#include <string>

namespace lnbwd {

/// The operands of a row program that is to be made, and what its region
/// yields.
class ProgramOperands {
public:
  /// An operand: which of the inputs, or of the outputs.
  struct Place {
    bool isOutput = false;
    unsigned index = 0;
  };

  explicit ProgramOperands(unsigned numRowDims = 1) : numRowDims(numRowDims) {}

  /// Adds an operand, named `name` in the launch plan, whose dimensions are
  /// those of `map`.
  Place addInput(mlir::Value buffer, mlir::AffineMap map, llvm::StringRef name);
  Place addOutput(mlir::Value buffer, mlir::AffineMap map, llvm::StringRef name,
                  Reduction reduction);
  /// Adds one of a program with one row dimension, and a column dimension for
  /// each length: a row block or a row scalar if it `hasRows`, else a column, a
  /// matrix, or a sum. An input that is there already is there once.
  Place addInput(mlir::Value buffer, bool hasRows, llvm::StringRef name);
  Place addOutput(mlir::Value buffer, bool hasRows, llvm::StringRef name);
  /// Adds one whose buffer `create` is to make, of this type. An output that
  /// lacks row dimensions is a sum if `reduction` does not say otherwise.
  Place add(bool isOutput, mlir::Type type, mlir::AffineMap map,
            llvm::StringRef name, Reduction reduction = Reduction::None);

  /// A row program with an empty block that has its arguments. `makeBuffer`
  /// makes the buffers that are yet to come, in the order of the operands.
  RowwiseOp
  create(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef entry,
         mlir::TypeRange results = {},
         llvm::function_ref<mlir::Value(mlir::Type)> makeBuffer = nullptr);

  /// The argument of the region for an input.
  mlir::Value getArgument(Place place);
  /// What the region yields for an output. All are set before `yield`.
  void setResult(Place place, mlir::Value value);
  void yield(mlir::OpBuilder &b, mlir::Location loc);
  /// The index of an output among those of the program.
  unsigned getOutput(Place place) const;

private:
  struct Operand {
    mlir::Value buffer;
    mlir::Type type;
    mlir::AffineMap map;
    std::string name;
    Reduction reduction;
  };
  llvm::SmallVector<std::string> makeNames() const;

  unsigned numRowDims;
  llvm::SmallVector<int64_t> lengths;
  llvm::SmallVector<Operand> inputs, outputs;
  /// Once the program is there, where each is among the inputs or outputs.
  llvm::SmallVector<unsigned> inputOrder, outputOrder;
  llvm::SmallVector<mlir::Value> results;
  RowwiseOp program;
};

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_PROGRAMOPERANDS_H
