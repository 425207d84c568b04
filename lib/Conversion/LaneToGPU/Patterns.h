//===- Patterns.h - Operations of the lane level, one by one ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of lnbwd-convert-lane-to-gpu, those that all targets share and
// those of each vendor, which go before. Where lanes stand, and where stages
// lie, is computed first, once for all that ask.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_LANETOGPU_PATTERNS_H
#define LNBWD_LIB_CONVERSION_LANETOGPU_PATTERNS_H

#include "lnbwd/Analysis/StageLayout.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

namespace lnbwd {

/// The columns of one access.
struct AccessColumns {
  /// The first of them.
  mlir::Value column;
  /// `column`, moved to a place in the row where `in_bounds` is false.
  mlir::Value loadColumn;
  /// `loadColumn`, counted from the first column of the workgroup.
  mlir::Value ownColumn;
  /// Whether they are in bounds; null if they always do.
  mlir::Value inBounds;
};

/// A layout in numbers.
struct LaneLayout {
  lane::LayoutType type;
  /// The lane among those of its row; its group.
  mlir::Value lane;
  mlir::Value group;
  /// The workgroup's first column; null if that is the row's.
  mlir::Value first;
  llvm::SmallVector<AccessColumns> accesses;
  const struct Places *places = nullptr;
};

/// The memory of a `lane.stages`.
struct Stages {
  StageLayout stageLayout;
  /// For each row operand the memory of all stages, [stages, elements].
  llvm::SmallVector<mlir::Value> memories;
  /// For each stage a barrier that counts the bytes that arrive.
  mlir::Value barriers;
};

/// Where lanes stand for each `lane.layout` of a kernel, and where its
/// `lane.stages` lie, each by its result.
struct Places {
  const ChipInfo &chip;
  llvm::DenseMap<mlir::Value, LaneLayout> layouts;
  llvm::DenseMap<mlir::Value, Stages> stages;

  /// Computes the numbers at these operations, which stay.
  Places(mlir::gpu::GPUFuncOp kernel, const ChipInfo &chip);
};

/// Where access `access` to row `row` is. Columns of aligned rows count from
/// the row's first: those of its first access may be less than 0.
AccessColumns locateAccess(IndexBuilder &b, const LaneLayout &layout,
                           int64_t access, mlir::Value row);
/// Loads access `access`, of type `type`, to row `row` of `memory`.
mlir::Value emitAccessLoad(IndexBuilder &b, const LaneLayout &layout,
                           mlir::VectorType type, mlir::Value memory,
                           mlir::Value row, int64_t access);

/// Places, loads and stores, loops, and additions to sums.
void populateLaneToGPUPatterns(mlir::RewritePatternSet &patterns,
                               const Places &places);
/// Column sums over the groups of a workgroup, and their stores.
void populateLaneSumsToGPUPatterns(mlir::RewritePatternSet &patterns,
                                   const Places &places);
/// Column operands that one group reads for all, loads that are dropped,
/// barriers of LDS alone.
void populateLaneToAMDPatterns(mlir::RewritePatternSet &patterns,
                               const Places &places);
/// Kernels that start before the one before them has ended, and rows that no
/// cache need keep.
void populateLaneToNVIDIAPatterns(mlir::RewritePatternSet &patterns,
                                  const Places &places);
/// Bytes that are counted as they arrive, workgroups that share rows, and rows
/// that are staged.
void populateLaneTransfersToNVIDIAPatterns(mlir::RewritePatternSet &patterns,
                                           const Places &places);

using Values = llvm::SmallVector<mlir::Value>;
/// What replaces an operation, or a failure where a pattern does not match.
using Lowered = llvm::FailureOr<Values>;

/// A pattern by a function, which writes at the operation what replaces it. The
/// layout is that of the operation, if it has one.
template <typename Op> class LanePattern : public mlir::OpRewritePattern<Op> {
public:
  using Function = Lowered (*)(IndexBuilder &, Op, const LaneLayout &);

  LanePattern(mlir::MLIRContext *context, Function lower, const Places &places,
              unsigned benefit)
      : mlir::OpRewritePattern<Op>(context, benefit), lower(lower),
        places(places) {}

  llvm::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    // What no place gives stays, and is reported.
    for (mlir::Value operand : op->getOperands())
      if (llvm::isa<lane::LayoutType, lane::StagesType>(operand.getType()) &&
          !llvm::isa_and_nonnull<lane::LayoutOp, lane::StagesOp>(
              operand.getDefiningOp()))
        return mlir::failure();
    LaneLayout layout;
    if constexpr (llvm::is_detected<HasLayout, Op>::value) {
      layout = places.layouts.at(op.getLayout());
      // This may have been replaced.
      layout.first =
          op.getLayout().template getDefiningOp<lane::LayoutOp>().getFirst();
    }
    layout.places = &places;
    IndexBuilder b(op.getLoc(), rewriter);
    Lowered replacement = lower(b, op, layout);
    if (llvm::succeeded(replacement))
      rewriter.replaceOp(op, *replacement);
    return replacement;
  }

private:
  template <typename T>
  using HasLayout = decltype(std::declval<T &>().getLayout());

  Function lower;
  const Places &places;
};

/// Adds patterns by the functions.
template <typename... Ops>
void addLanePatterns(mlir::RewritePatternSet &patterns, const Places &places,
                     unsigned benefit,
                     Lowered (*...lower)(IndexBuilder &, Ops,
                                         const LaneLayout &)) {
  (patterns.add<LanePattern<Ops>>(patterns.getContext(), lower, places,
                                  benefit),
   ...);
}

/// From one row of a buffer to the next, in elements.
inline int64_t getStride(mlir::Value memory) {
  return mlir::cast<mlir::MemRefType>(memory.getType())
      .getStridesAndOffset()
      .first.front();
}
/// Emits `body` under `condition`, or plainly where that is null for true.
void emitIf(IndexBuilder &b, mlir::Value condition,
            llvm::function_ref<void()> body);
/// The conjunction of two conditions, each of which may be null for true.
mlir::Value emitBoth(IndexBuilder &b, mlir::Value lhs, mlir::Value rhs);
/// Whether a lane is of the first group; null where there is no other.
mlir::Value emitIsFirstGroup(IndexBuilder &b, const LaneLayout &layout);
/// Loads a value of this type from the buffer at the indices.
using BufferLoad =
    llvm::function_ref<mlir::Value(mlir::Type, mlir::Value, mlir::ValueRange)>;
/// A lane's vector, or a scalar, of `memory` at `indices`: of a view by as few
/// calls of `load` as bring the elements, else by one.
mlir::Value emitLoadBy(IndexBuilder &b, mlir::Type type, mlir::Value memory,
                       mlir::ValueRange indices, BufferLoad load);
/// As `emitLoadBy`, by plain loads.
mlir::Value emitLoad(IndexBuilder &b, mlir::Type type, mlir::Value memory,
                     mlir::ValueRange indices);
void emitStore(IndexBuilder &b, mlir::Value value, mlir::Value memory,
               mlir::ValueRange indices);
/// `offset`, counted in elements from the first one of `memory`, from where its
/// allocation begins: a workgroup's group of rows lies within the whole.
mlir::Value emitOffsetInAllocation(IndexBuilder &b, mlir::Value memory,
                                   mlir::Value offset);
/// The address of an element of rows, which may lie apart, as NVVM's operations
/// take it.
mlir::Value emitAddress(IndexBuilder &b, mlir::Value memory,
                        mlir::ValueRange indices,
                        mlir::NVVM::NVVMMemorySpace space);

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_LANETOGPU_PATTERNS_H
