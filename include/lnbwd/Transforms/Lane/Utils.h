//===- Utils.h - What passes over lanes share -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partial sums of a row, as lane.fold means them, and workgroup memory.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_LANE_UTILS_H
#define LNBWD_TRANSFORMS_LANE_UTILS_H

#include "lnbwd/Analysis/StageLayout.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd::lane {

/// What changes nothing when it is added to, or compared with, a partial sum.
mlir::Value makeNeutralPartial(mlir::ImplicitLocOpBuilder &b, bool isMaximum,
                               mlir::VectorType type);

/// Access `access` at `layout` of what is summed, or what changes nothing where
/// its columns are out of bounds: of aligned rows, those that are not in `row`.
mlir::Value makeTerm(mlir::ImplicitLocOpBuilder &b,
                     mlir::TypedValue<LayoutType> layout, mlir::Value row,
                     int64_t access, bool isMaximum, mlir::Value value);

mlir::Value combinePartials(mlir::ImplicitLocOpBuilder &b, bool isMaximum,
                            mlir::Value lhs, mlir::Value rhs);

/// So many elements of `vector`, which has one dimension, from `begin` on.
mlir::Value takePart(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
                     int64_t begin, int64_t elements);

/// The elements of `vector`, whose number is a power of two, combined by
/// halves: a fixed order, and short dependence chains.
mlir::Value combineElements(mlir::ImplicitLocOpBuilder &b, bool isMaximum,
                            mlir::Value vector);

/// The sums of products of two vectors, of those at even and at odd places, by
/// multiply-adds.
mlir::Value combineProducts(mlir::ImplicitLocOpBuilder &b, mlir::Value lhs,
                            mlir::Value rhs);

/// `values` combined by halves of the next power of two: a tree in which the
/// highest bit of the index comes first.
mlir::Value combineByHalves(mlir::ImplicitLocOpBuilder &b, bool isMaximum,
                            llvm::SmallVector<mlir::Value> values);
/// The same with the lowest bit first: pairs of neighbours.
mlir::Value combineByPairs(mlir::ImplicitLocOpBuilder &b, bool isMaximum,
                           llvm::SmallVector<mlir::Value> values);

/// Elements in workgroup memory.
mlir::MemRefType getWorkgroupType(llvm::ArrayRef<int64_t> shape,
                                  mlir::Type element);
/// Gives `kernel` workgroup memory of so many elements, aligned for the widest
/// access, and returns it.
mlir::Value addWorkgroupMemory(mlir::gpu::GPUFuncOp kernel, int64_t elements,
                               mlir::Type element);

/// The alignment of accesses of `type`, to memory that begins with one and has
/// nothing else.
llvm::MaybeAlign getAccessAlignment(mlir::VectorType type);

/// How tiles of rows at `layout`, of such elements, lie in stages.
StageLayout getStageLayout(LayoutType layout,
                           llvm::ArrayRef<mlir::Type> elements);

} // namespace lnbwd::lane

#endif // LNBWD_TRANSFORMS_LANE_UTILS_H
