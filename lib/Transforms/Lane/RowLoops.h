//===- RowLoops.h - Copies of a row loop's body -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes share that write the body of a lane.for_rows anew for some rows.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_LANE_ROWLOOPS_H
#define LNBWD_LIB_TRANSFORMS_LANE_ROWLOOPS_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd::lane {

/// Maps the row that the body of `loop` works on to `row`.
void mapRow(ForRowsOp loop, mlir::IRMapping &mapping, mlir::Value row);

/// Writes a copy of the body of `loop`, but for the operations whose results
/// are mapped already; the region's arguments have to be. Stores and column
/// sums keep nothing where `exists`, if given, is false. Returns what the copy
/// yields.
llvm::SmallVector<mlir::Value> writeBody(mlir::ImplicitLocOpBuilder &b,
                                         ForRowsOp loop,
                                         mlir::IRMapping &mapping,
                                         mlir::Value exists);

} // namespace lnbwd::lane

#endif // LNBWD_LIB_TRANSFORMS_LANE_ROWLOOPS_H
