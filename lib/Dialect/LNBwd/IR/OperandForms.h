//===- OperandForms.h - What the operands of a program are ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives #lnbwd.operand_form from the maps and the types of the operands.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_DIALECT_LNBWD_IR_OPERANDFORMS_H
#define LNBWD_LIB_DIALECT_LNBWD_IR_OPERANDFORMS_H

#include "OperandChecks.h"

namespace lnbwd::detail {

/// A dimension of the domain that an operand has, at indices moved by `by`: `d`
/// or `d + 64`.
struct MappedDim {
  unsigned dim;
  int64_t by = 0;
};

/// The dimension that a result of a map is; none of a symbol.
std::optional<MappedDim> getMappedDim(mlir::AffineExpr result);

/// How many dimensions of the domain from `begin` to `end` a map has.
unsigned countDims(mlir::AffineMap map, int64_t begin, int64_t end);
/// How many row dimensions it has.
unsigned countRowDims(RowwiseOp op, mlir::AffineMap map);

/// Operands come in the order of this number, the inputs and the outputs.
int getAccessOrder(Access access, bool isOutput);

/// The maps, reductions and types of a program's operands, and what follows
/// from them.
struct OperandForms {
  OperandForms(int64_t numRowDims, llvm::ArrayRef<mlir::Attribute> maps,
               llvm::ArrayRef<mlir::Attribute> reductions,
               mlir::TypeRange types)
      : numRowDims(numRowDims), maps(maps), reductions(reductions),
        types(types) {}
  explicit OperandForms(RowwiseOp op)
      : OperandForms(int64_t(op.getNumRowDims()),
                     op.getIndexingMaps().getValue(),
                     op.getReductions().getValue(), op->getOperandTypes()) {}

  mlir::AffineMap getMap(unsigned index) const {
    return mlir::cast<mlir::AffineMapAttr>(maps[index]).getValue();
  }
  mlir::ShapedType getType(unsigned index) const {
    return mlir::cast<mlir::ShapedType>(types[index]);
  }
  unsigned countRows(unsigned index) const {
    return countDims(getMap(index), 0, numRowDims);
  }
  unsigned countColumns(unsigned index) const {
    return countDims(getMap(index), numRowDims, getMap(index).getNumDims());
  }
  Access getAccess(unsigned index) const;
  int64_t getNumGroupDims() const;
  llvm::SmallVector<int64_t> getDimSizes() const;
  /// The form of each operand; empty where maps do not fit the operands, which
  /// the verifier reports.
  mlir::ArrayAttr get(mlir::MLIRContext *context) const;

  int64_t numRowDims;
  llvm::ArrayRef<mlir::Attribute> maps, reductions;
  mlir::TypeRange types;
};

} // namespace lnbwd::detail

#endif // LNBWD_LIB_DIALECT_LNBWD_IR_OPERANDFORMS_H
