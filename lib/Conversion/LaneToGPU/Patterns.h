//===- Patterns.h - Operations of the lane level, one by one ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of lnbwd-convert-lane-to-gpu, those that all targets share and
// those of each vendor, which go before, and what the values of its types
// become.
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
#include "mlir/Transforms/DialectConversion.h"

namespace lnbwd {

/// The columns of one access.
struct AccessColumns {
  /// The first of them.
  mlir::Value column;
  /// `column`, moved to a place in the row where `in_bounds` is false.
  mlir::Value loadColumn;
  /// Whether they are in bounds; null if they always do.
  mlir::Value inBounds;
};

/// A layout in numbers: what a value of its type becomes.
struct LaneLayout {
  LaneLayout() = default;
  /// As `LaneTypeConverter` says, all of them in this order.
  LaneLayout(lane::LayoutType type, mlir::ValueRange numbers);

  lane::LayoutType type;
  /// The lane among those of its row; its group.
  mlir::Value lane;
  mlir::Value group;
  /// The workgroup's first column; null if that is the row's.
  mlir::Value first;
  llvm::SmallVector<AccessColumns> accesses;
};

/// A buffer, or a view of one.
struct Buffer {
  Buffer(mlir::Value memory) : Buffer(memory, memory) {}
  /// `operand`, which has become `values`.
  Buffer(mlir::Value operand, mlir::ValueRange values)
      : type(llvm::cast<mlir::MemRefType>(operand.getType())),
        memory(values[0]), first(values.size() > 1 ? values[1] : nullptr) {}

  /// As operations have it.
  mlir::MemRefType type;
  mlir::Value memory;
  /// The first row of a view, among all; null if it has all.
  mlir::Value first;

  bool isView() const { return first || type != memory.getType(); }
};

/// A layout becomes its numbers, stages their bytes and their barriers, a view
/// its memory and its first row.
struct LaneTypeConverter : mlir::TypeConverter {
  explicit LaneTypeConverter(mlir::gpu::GPUFuncOp kernel, const ChipInfo &chip);

  const ChipInfo &chip;
  /// Bytes of all stages of the kernel.
  int64_t stageBytes = 0;
};

/// What the operands of an operation have become: its layout, if it has one,
/// and others.
struct LaneOperands : LaneLayout {
  LaneOperands(const LaneTypeConverter &converter, mlir::ValueRange before,
               llvm::ArrayRef<mlir::ValueRange> after)
      : converter(converter), before(before), after(after) {
    for (auto [operand, values] : llvm::zip_equal(before, after))
      if (auto type = llvm::dyn_cast<lane::LayoutType>(operand.getType()))
        static_cast<LaneLayout &>(*this) = LaneLayout(type, values);
  }

  mlir::ValueRange get(mlir::Value operand) const {
    return after[size_t(llvm::find(before, operand) - before.begin())];
  }
  Buffer getBuffer(mlir::Value operand) const {
    return {operand, get(operand)};
  }

  const LaneTypeConverter &converter;
  mlir::ValueRange before;
  llvm::ArrayRef<mlir::ValueRange> after;
};

/// Where access `access` to row `row` is. Columns of aligned rows count from
/// the row's first: those of its first access may be less than 0.
AccessColumns locateAccess(IndexBuilder &b, const LaneLayout &layout,
                           int64_t access, mlir::Value row);
/// Loads access `access`, of type `type`, to row `row` of `memory`.
mlir::Value emitAccessLoad(IndexBuilder &b, const LaneLayout &layout,
                           mlir::VectorType type, const Buffer &memory,
                           mlir::Value row, int64_t access);

/// Layouts, stages and views.
void populateLanePlacesToGPUPatterns(mlir::RewritePatternSet &patterns,
                                     const LaneTypeConverter &converter);
/// Loads and stores, loops, and additions to sums.
void populateLaneToGPUPatterns(mlir::RewritePatternSet &patterns,
                               const LaneTypeConverter &converter);
/// Column sums over the groups of a workgroup, and their stores.
void populateLaneSumsToGPUPatterns(mlir::RewritePatternSet &patterns,
                                   const LaneTypeConverter &converter);
/// Products of fragments of matrices, for each kind of instruction.
void populateLaneMatricesToGPUPatterns(mlir::RewritePatternSet &patterns,
                                       const LaneTypeConverter &converter);
/// Column operands that one group reads for all, loads that are dropped,
/// barriers of LDS alone.
void populateLaneToAMDPatterns(mlir::RewritePatternSet &patterns,
                               const LaneTypeConverter &converter);
/// Rows that no cache need keep, bytes that are counted as they arrive,
/// workgroups that share rows, and rows that are staged.
void populateLaneToNVIDIAPatterns(mlir::RewritePatternSet &patterns,
                                  const LaneTypeConverter &converter);

using Values = llvm::SmallVector<mlir::Value>;
/// What replaces an operation, or a failure where a pattern does not match.
using Lowered = llvm::FailureOr<Values>;

/// A pattern by a function, which writes at the operation what replaces it.
template <auto lower> struct LanePattern;
template <typename Op,
          Lowered (*lower)(IndexBuilder &, Op, const LaneOperands &)>
struct LanePattern<lower> : mlir::OpConversionPattern<Op> {
  using mlir::OpConversionPattern<Op>::OpConversionPattern;

  llvm::LogicalResult matchAndRewrite(
      Op op, typename mlir::OpConversionPattern<Op>::OneToNOpAdaptor adaptor,
      mlir::ConversionPatternRewriter &rewriter) const override {
    IndexBuilder b(op.getLoc(), rewriter);
    Lowered replacement =
        lower(b, op,
              {*this->template getTypeConverter<LaneTypeConverter>(),
               op->getOperands(), adaptor.getOperands()});
    if (llvm::failed(replacement))
      return replacement;
    if constexpr (Op::template hasTrait<mlir::OpTrait::OneResult>())
      rewriter.replaceOpWithMultiple(op, llvm::ArrayRef{*replacement});
    else
      rewriter.replaceOp(op, *replacement);
    return llvm::success();
  }
};

/// Adds patterns by the functions.
template <auto... lower>
void addLanePatterns(mlir::RewritePatternSet &patterns,
                     const LaneTypeConverter &converter, unsigned benefit = 1) {
  patterns.add<LanePattern<lower>...>(converter, patterns.getContext(),
                                      benefit);
}

/// From one row of a buffer to the next, in elements.
inline int64_t getStride(mlir::Value memory) {
  return mlir::cast<mlir::MemRefType>(memory.getType())
      .getStridesAndOffset()
      .first.front();
}
/// Whether a lane is of the first group; null where there is no other.
mlir::Value emitIsFirstGroup(IndexBuilder &b, const LaneLayout &layout);
/// Loads a value of this type from the buffer at the indices.
using BufferLoad =
    llvm::function_ref<mlir::Value(mlir::Type, mlir::Value, mlir::ValueRange)>;
/// A lane's vector, or a scalar, of `memory` at `indices`: of a view by as few
/// calls of `load` as bring the elements, else by one.
mlir::Value emitLoadBy(IndexBuilder &b, mlir::Type type, const Buffer &memory,
                       mlir::ValueRange indices, BufferLoad load);
/// As `emitLoadBy`, by plain loads.
mlir::Value emitLoad(IndexBuilder &b, mlir::Type type, const Buffer &memory,
                     mlir::ValueRange indices);
void emitStore(IndexBuilder &b, mlir::Value value, const Buffer &memory,
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
