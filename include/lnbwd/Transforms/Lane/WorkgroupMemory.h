//===- WorkgroupMemory.h - Memory that the lanes share ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_LANE_WORKGROUPMEMORY_H
#define LNBWD_TRANSFORMS_LANE_WORKGROUPMEMORY_H

#include "lnbwd/Analysis/StageLayout.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lnbwd::lane {

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

#endif // LNBWD_TRANSFORMS_LANE_WORKGROUPMEMORY_H
