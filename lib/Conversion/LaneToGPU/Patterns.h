//===- Patterns.h - Operations of the lane level, one by one ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the patterns of lnbwd-convert-lane-to-gpu share.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_LANETOGPU_PATTERNS_H
#define LNBWD_LIB_CONVERSION_LANETOGPU_PATTERNS_H

#include "LaneLayout.h"
#include "StageMemory.h"

#include "lnbwd/Conversion/LaneToGPU.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd {

/// A pattern that asks where lanes stand.
template <typename Op> class LayoutPattern : public mlir::OpRewritePattern<Op> {
public:
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  llvm::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const final {
    std::optional<LaneLayout> layout = lookupLayout(op.getLayout());
    if (!layout)
      return rewriter.notifyMatchFailure(
          op, "expected its layout in numbers, as of computeLayouts");
    return lower(op, *layout, rewriter);
  }

protected:
  virtual llvm::LogicalResult lower(Op op, const LaneLayout &layout,
                                    mlir::PatternRewriter &rewriter) const = 0;
};

/// A constant of the type index.
mlir::Value emitIndex(mlir::ImplicitLocOpBuilder &b, int64_t value);
/// Emits `body` under `condition`, or plainly where that is null for true. Of
/// the workgroup's groups `groups` meet the condition, or an unknown number
/// (0).
void emitIf(mlir::ImplicitLocOpBuilder &b, mlir::Value condition,
            llvm::function_ref<void()> body, int64_t groups = 0);
/// The conjunction of two conditions, each of which may be null for true.
mlir::Value emitBoth(mlir::ImplicitLocOpBuilder &b, mlir::Value lhs,
                     mlir::Value rhs);
/// Whether a lane is of the first group; null where there is no other.
mlir::Value emitIsFirstGroup(mlir::ImplicitLocOpBuilder &b,
                             const LaneLayout &layout);
/// Loads a value of this type from the buffer at the indices.
using BufferLoad =
    llvm::function_ref<mlir::Value(mlir::Type, mlir::Value, mlir::ValueRange)>;
/// A lane's vector, or a scalar, of `memory` at `indices`: of a view by as few
/// calls of `load` as bring the elements, else by one.
mlir::Value emitLoadBy(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                       mlir::Value memory, mlir::ValueRange indices,
                       BufferLoad load);
/// As `emitLoadBy`, by plain loads.
mlir::Value emitLoad(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                     mlir::Value memory, mlir::ValueRange indices);
void emitStore(mlir::ImplicitLocOpBuilder &b, mlir::Value vector,
               mlir::Value memory, mlir::ValueRange indices);
/// `offset`, counted in elements from the first one of `memory`, from where its
/// allocation begins: a workgroup's group of rows lies within the whole.
mlir::Value emitOffsetInAllocation(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value memory, mlir::Value offset);
/// The address of an element of rows, which may lie apart, as NVVM's operations
/// take it.
mlir::Value emitAddress(mlir::ImplicitLocOpBuilder &b, mlir::Value memory,
                        mlir::ValueRange indices,
                        mlir::NVVM::NVVMMemorySpace space);
/// Notes for the report that so many groups do what is in `op`.
void notePartOfGroups(mlir::Operation *op, int64_t groups);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_LANETOGPU_PATTERNS_H
