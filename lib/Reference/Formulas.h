//===- Formulas.h - Each operation's formula --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas that LNBwdNorms.td names as references.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_REFERENCE_FORMULAS_H
#define LNBWD_LIB_REFERENCE_FORMULAS_H

#include "lnbwd/Reference/Rows.h"

namespace lnbwd::reference {

/// A formula for one row. The outputs have their sizes already.
using Formula = void (*)(const RowInputs &in, RowOutputs &out);

/// That of an operation.
Formula formulaOf(NamedOperation operation);

} // namespace lnbwd::reference

#endif // LNBWD_LIB_REFERENCE_FORMULAS_H
