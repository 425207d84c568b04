//===- ProgramAttr.h - What a function computes -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The name of the attribute that carries a function's programs to its launch
// plan.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_PROGRAMATTR_H
#define LNBWD_DIALECT_LNBWD_IR_PROGRAMATTR_H

#include "llvm/ADT/StringRef.h"

namespace lnbwd {

/// The attribute of a function that says what it computes operation by
/// operation, where operationAttr does not: the key `program` of the launch
/// plan, a string of JSON.
inline constexpr llvm::StringLiteral programAttr = "lnbwd.program";

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_PROGRAMATTR_H
