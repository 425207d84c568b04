//===- RowAlgebra.h - What holds of sums over a row -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Algebra on the regions of row programs, which derivatives need to become as
// short as what one would write by hand. It treats float32 numbers as real
// ones: sums are taken apart, products regrouped and zeros struck out.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWALGEBRA_H
#define LNBWD_LIB_TRANSFORMS_ROWALGEBRA_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// Simplifies the region of `op` until nothing changes: upstream's
/// canonicalisations, common subexpressions, and, with `algebra`, the rewrites
/// of this file. Returns failure, without a message, if that takes too many
/// rounds or rewrites; the region is then right, but not simplified to the end.
mlir::LogicalResult simplifyRowProgram(RowwiseOp op, bool algebra);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWALGEBRA_H
