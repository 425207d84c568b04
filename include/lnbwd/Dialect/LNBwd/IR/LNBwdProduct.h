//===- LNBwdProduct.h - Products of matrices as kernels ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares what stands beside row programs once their products of matrices have
// been taken out of them: the products, and programs over the rows of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_H
#define LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#define GET_OP_CLASSES
#include "lnbwd/Dialect/LNBwd/IR/LNBwdProductOps.h.inc"

namespace lnbwd {

/// The attribute of a row program whose rows are those of a matrix, a weight
/// say: their number is static, and no launch chooses it.
inline constexpr llvm::StringLiteral ownRowsAttr = "lnbwd.own_rows";

inline bool hasOwnRows(RowwiseOp op) { return op->hasAttr(ownRowsAttr); }
inline void setOwnRows(RowwiseOp op) {
  op->setAttr(ownRowsAttr, mlir::UnitAttr::get(op.getContext()));
}

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDPRODUCT_H
