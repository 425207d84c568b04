//===- DerivativeRules.h - Derivatives of upstream's ops --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_DERIVATIVERULES_H
#define LNBWD_LIB_TRANSFORMS_DERIVATIVERULES_H

#include "mlir/IR/DialectRegistry.h"

namespace lnbwd {

/// Gives the operations of arith, math and vector that row programs are made of
/// the interface DifferentiableOpInterface.
void registerDerivativeRules(mlir::DialectRegistry &registry);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_DERIVATIVERULES_H
