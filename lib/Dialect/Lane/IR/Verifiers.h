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

/// Says through `op` if `part` is not a part of rows of `element` at `place`,
/// or its one access where `access` is given.
mlir::LogicalResult verifyPart(mlir::Operation *op, mlir::Type part,
                               PlaceType place, mlir::Type element,
                               std::optional<int64_t> access);

} // namespace lnbwd::lane

#endif // LNBWD_LIB_DIALECT_LANE_IR_VERIFIERS_H
