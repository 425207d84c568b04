//===- Read.h - From a row program to forms ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms of what a row program computes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_READ_H
#define LNBWD_LIB_GRADIENTALGEBRA_READ_H

#include "MakeForms.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "llvm/ADT/MapVector.h"

namespace lnbwd {

/// The forms of all values of a row program's region, in the order in which it
/// computes them. The region's operations have one result and no regions, as
/// canReadForms checks.
llvm::MapVector<mlir::Value, const Form *> readForms(RowForms &forms,
                                                     RowwiseOp op);

/// Whether all operations of the region are of the kind that readForms reads.
bool canReadForms(RowwiseOp op);

/// The row of float32 that a row sum adds up; null if `op` is none.
mlir::Value getRowOfSum(mlir::Operation *op);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_READ_H
