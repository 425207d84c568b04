//===- Verifiers.h - What verifiers of several files ask --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_DIALECT_LANE_IR_VERIFIERS_H
#define LNBWD_LIB_DIALECT_LANE_IR_VERIFIERS_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

namespace lnbwd::lane {

/// Says through `op` if `fragment` is not a fragment of rows of `element` at
/// `layout`, or its one access where `access` is given.
mlir::LogicalResult verifyFragment(mlir::Operation *op, mlir::Type fragment,
                                   LayoutType layout, mlir::Type element,
                                   std::optional<int64_t> access);

} // namespace lnbwd::lane

#endif // LNBWD_LIB_DIALECT_LANE_IR_VERIFIERS_H
