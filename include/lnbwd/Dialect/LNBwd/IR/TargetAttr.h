//===- TargetAttr.h - The attribute of a module's target --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The name of the attribute by which a GPU module asks for a target of its own.
// lnbwd/Target/WarpGroupTarget.h sets and reads it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_TARGETATTR_H
#define LNBWD_DIALECT_LNBWD_IR_TARGETATTR_H

#include "llvm/ADT/StringRef.h"

namespace lnbwd {

/// On a `gpu.module`: what it is compiled for in place of its chip, a string.
inline constexpr llvm::StringLiteral moduleTargetAttr = "lnbwd.target";

} // namespace lnbwd

#endif // LNBWD_DIALECT_LNBWD_IR_TARGETATTR_H
