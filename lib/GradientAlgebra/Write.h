//===- Write.h - From forms to a row program --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program that computes forms.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_WRITE_H
#define LNBWD_LIB_GRADIENTALGEBRA_WRITE_H

#include "MakeForms.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// Puts what computes `outputs`, a form for each output of `op`, in the place
/// of the region's operations. The atoms are those of the region.
void writeForms(RowForms &forms, RowwiseOp op,
                llvm::ArrayRef<const Form *> outputs);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_WRITE_H
