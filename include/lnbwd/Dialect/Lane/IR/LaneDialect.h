//===- LaneDialect.h - The lane dialect -------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the dialect, its types and its operations.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANEDIALECT_H
#define LNBWD_DIALECT_LANE_IR_LANEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneTypes.h.inc"

#include "lnbwd/Dialect/Lane/IR/LaneInterfaces.h.inc"

#define GET_OP_CLASSES
#include "lnbwd/Dialect/Lane/IR/LaneOps.h.inc"

namespace lnbwd::lane {

/// `type` as that of a fragment, which is the one vector of rank 2 at the lane
/// level; null of others.
mlir::VectorType asFragment(mlir::Type type);

/// Entry `index` of the `kinds` of a reduction: whether it takes the largest
/// element; it adds otherwise.
bool isMaximum(mlir::ArrayAttr kinds, size_t index);

/// A copy of `op`, which does the same with each element of its vectors, for
/// another part of them: of what `mapping` has, with results of the types that
/// `convert` makes of its own. A constant has to be the same in all elements.
mlir::Operation *
cloneForPart(mlir::OpBuilder &b, mlir::Operation *op, mlir::IRMapping &mapping,
             llvm::function_ref<mlir::Type(mlir::Type)> convert);

/// Where in the memory of a view, whose layout is `map`, a column of row 0 is:
/// the last of its indices.
int64_t locateColumn(mlir::AffineMap map, int64_t column);

/// Calls `visit` for all that tells parts of the columns of such a view: a
/// number of columns after which something begins anew, or by which columns
/// are moved.
void forEachCut(mlir::AffineMap map,
                llvm::function_ref<void(int64_t cut, bool isMove)> visit);

/// How far a column is behind the one whose number lacks `bit`, a power of two;
/// none where that is not the same for all columns.
std::optional<int64_t> getStep(mlir::AffineMap map, int64_t bit);

} // namespace lnbwd::lane

#endif // LNBWD_DIALECT_LANE_IR_LANEDIALECT_H
