//===- Share.h - What a program computes once -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses which scaled rows, sums and row sums a program computes once, as
// values of their own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_SHARE_H
#define LNBWD_LIB_GRADIENTALGEBRA_SHARE_H

#include "MakeForms.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace lnbwd {

/// Replaces `outputs`, the forms of what a program puts out, by equal ones that
/// cost no more. The candidates are among `values`, the forms of all that the
/// program computes, and `summedRows`, those of the rows that it sums.
void shareForms(RowForms &forms, llvm::SmallVectorImpl<const Form *> &outputs,
                llvm::ArrayRef<const Form *> values,
                llvm::ArrayRef<const Form *> summedRows);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_SHARE_H
