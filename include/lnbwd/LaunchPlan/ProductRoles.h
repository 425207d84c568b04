//===- ProductRoles.h - What a product's arguments are for ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside ArgumentRoles.h, which has the same for row programs.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LAUNCHPLAN_PRODUCTROLES_H
#define LNBWD_LAUNCHPLAN_PRODUCTROLES_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"

namespace lnbwd {

/// Notes name and kind on those arguments of the enclosing function that are
/// operands of `op`. A matrix is a column to the launcher: what no launch
/// chooses the size of.
mlir::LogicalResult recordProductRoles(ProductOp op);

} // namespace lnbwd

#endif // LNBWD_LAUNCHPLAN_PRODUCTROLES_H
