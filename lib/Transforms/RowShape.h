//===- RowShape.h - How a row program is written down -----------*- C++ -*===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of the algebra: it chooses among equal row programs the one
// that has the fewest operations.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWSHAPE_H
#define LNBWD_LIB_TRANSFORMS_ROWSHAPE_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// Writes sums of products as chains of fused multiply-adds, and orders the
/// factors of scalars so that what they have in common is computed once. Last:
/// simplifyRowProgram would take it apart again.
void shapeRowProgram(RowwiseOp op);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWSHAPE_H
