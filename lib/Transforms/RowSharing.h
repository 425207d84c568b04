//===- RowSharing.h - What is computed once ---------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses among equal ways to compute a program's outputs: which scaled rows,
// sums and row sums are atoms of their own. The form of an output stays equal,
// and its cost does not grow.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWSHARING_H
#define LNBWD_LIB_TRANSFORMS_ROWSHARING_H

#include "RowForms.h"

namespace lnbwd {

/// Rewrites `outputs` so that they cost the least. `values` are the values that
/// the program computes, `summedRows` those of them that it has row sums of:
/// what is computed once is one of them, or one that is made of them.
void shareForms(RowForms &forms, llvm::SmallVectorImpl<const Form *> &outputs,
                llvm::ArrayRef<const Form *> values,
                llvm::ArrayRef<const Form *> summedRows);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWSHARING_H
