//===- ProgramOperands.h - A row program put together -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of a row program while a pass decides which there are.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_PROGRAMOPERANDS_H
#define LNBWD_LIB_TRANSFORMS_PROGRAMOPERANDS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/Builders.h"

#include <array>
#include <string>

namespace lnbwd {

/// The groups of a row program's operands, in their order.
struct OperandGroups {
  enum Group {
    Rows,
    Columns,
    GroupColumns,
    Scalars,
    Matrices,
    RowOuts,
    ScalarOuts,
    ColumnSums,
    GroupSums,
    OuterSums
  };
  static constexpr size_t groupCount = OuterSums + 1;

  /// The group of operand `index` of `op`.
  static Group getGroup(RowwiseOp op, unsigned index);
};

/// Buffers and their names, group by group.
class ProgramOperands : public OperandGroups {
public:
  /// An operand to be: its place in its group.
  struct Place {
    Group group;
    unsigned index;
  };

  /// Adds an operand. A buffer that is in an input group already is there once.
  Place add(Group group, mlir::Value buffer, llvm::StringRef name);
  /// Adds all operands of `op`, inputs or outputs, that are set in `keep`.
  void addInputs(RowwiseOp op);
  void addOutputs(RowwiseOp op, llvm::function_ref<bool(unsigned)> keep);

  /// A row program on memrefs of one row dimension, with an empty block that
  /// has its arguments.
  RowwiseOp create(mlir::OpBuilder &b, mlir::Location loc,
                   llvm::StringRef entry) const;
  /// The argument of `program`'s region for an input.
  mlir::Value getArgument(RowwiseOp program, Place place) const;
  /// Where an output's value is among those that the region yields.
  unsigned getOutput(Place place) const;
  unsigned countOutputs() const;

private:
  unsigned getOperand(Place place) const;
  llvm::SmallVector<std::string> getNames() const;

  std::array<llvm::SmallVector<mlir::Value>, groupCount> buffers;
  std::array<llvm::SmallVector<std::string>, groupCount> names;
};

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_PROGRAMOPERANDS_H
