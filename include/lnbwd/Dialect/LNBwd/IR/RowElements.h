//===- RowElements.h - What is done element by element ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations on rows can be done on any part of a row: those of a row
// program but for its row sums, and those that may be in a product's epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_ROWELEMENTS_H
#define LNBWD_DIALECT_LNBWD_IR_ROWELEMENTS_H

#include "mlir/IR/Operation.h"

namespace lnbwd {

/// Whether an operation takes or gives rows.
bool hasRows(mlir::Operation &op);

/// Whether `op` is elementwise, a splat constant, `vector.broadcast` of a
/// scalar, or a pure operation on scalars.
bool isRowElementOp(mlir::Operation &op);

/// What isRowElementOp accepts, in the words of an error.
inline constexpr llvm::StringLiteral rowElementOps =
    "an elementwise operation, a splat constant, vector.broadcast of a "
    "scalar, or a pure operation on scalars";

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_ROWELEMENTS_H
