//===- Steps.h - The steps of a simplification ------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a row program to forms, to equal forms that cost less, and to the
// program that computes these.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_STEPS_H
#define LNBWD_LIB_GRADIENTALGEBRA_STEPS_H

#include "MakeForms.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "llvm/ADT/MapVector.h"

namespace lnbwd {

/// Whether all operations of the region are of the kind that readForms reads:
/// with one result and no regions.
bool canReadForms(RowwiseOp op);

/// The forms of all values of a row program's region, in the order in which it
/// computes them.
llvm::MapVector<mlir::Value, const Form *> readForms(RowForms &forms,
                                                     RowwiseOp op);

/// The row of float32 that a row sum adds up; null if `op` is none.
mlir::Value getRowOfSum(mlir::Operation *op);

/// Replaces `outputs`, the forms of what a program puts out, by equal ones that
/// cost no more. The candidates are among `values`, the forms of all that the
/// program computes, and `summedRows`, those of the rows that it sums.
void shareForms(RowForms &forms, llvm::SmallVectorImpl<const Form *> &outputs,
                llvm::ArrayRef<const Form *> values,
                llvm::ArrayRef<const Form *> summedRows);

/// Puts what computes `outputs`, a form for each output of `op`, in the place
/// of the region's operations. The atoms are those of the region.
void writeForms(RowForms &forms, RowwiseOp op,
                llvm::ArrayRef<const Form *> outputs);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_STEPS_H
