//===- StageLayout.h - How tiles of rows lie in stages ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the limits of a schedule count and what its kernel copies has to be the
// same: how many bytes bulk copies bring to a stage, where they begin, and
// where they are put.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_STAGELAYOUT_H
#define LNBWD_ANALYSIS_STAGELAYOUT_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace lnbwd {

/// Bulk copies begin, end and are counted in units of so many bytes.
constexpr int64_t bulkCopyUnit = 16;

/// A copy is slower where its source and its destination have different offsets
/// modulo so many bytes (docs/schedules.md).
constexpr int64_t bulkAlignment = 32;

/// A copy begins where a unit begins. Rows of other lengths are copied from the
/// last such address before the tile to the first after it, and lie as much
/// further on in their stage: they are *shifted*. So are slices of rows, each
/// by itself: it begins anywhere, and its copy reaches into its neighbours.
///
/// In its stage each copy has room that begins at a multiple of bulkAlignment.
/// Where the sources of copies are not all aligned so, each destination gets
/// the same offset in its room: the copy is *offset*. All that are shifted are.
struct StageLayout {
  /// That of tiles of `rows` rows whose workgroup covers so many columns.
  StageLayout(int64_t rowLength, int64_t covered, int64_t rows,
              llvm::ArrayRef<mlir::Type> elements)
      : rowLength(rowLength), columns(std::min(rowLength, covered)),
        rows(rows) {
    for (mlir::Type element : elements)
      elementBytes.push_back(element.getIntOrFloatBitWidth() / 8);
  }

  /// Elements of a whole row.
  int64_t rowLength;
  /// Columns of a row that the workgroup has, and rows of a tile.
  int64_t columns;
  int64_t rows;
  /// Bytes of an element of each row operand.
  llvm::SmallVector<int64_t> elementBytes;

  /// Whether the workgroup has but a slice of the row, so that rows do not lie
  /// side by side and each is copied by itself.
  bool isSlice() const { return columns < rowLength; }
  /// Blocks of memory that the rows of a tile are, for each row operand.
  int64_t getBlocks() const { return isSlice() ? rows : 1; }
  /// Bytes of one of them, of elements of so many bytes.
  int64_t getBlockBytes(int64_t bytes) const {
    return rows / getBlocks() * columns * bytes;
  }
  bool needsShift() const {
    return llvm::any_of(elementBytes, [&](int64_t bytes) {
      return getBlockBytes(bytes) % bulkCopyUnit != 0 ||
             (isSlice() && rowLength * bytes % bulkCopyUnit != 0);
    });
  }
  /// Whether the blocks do not all begin where bulkAlignment bytes do, and
  /// finding out where they do is worth it: not for tiles of rows that only
  /// together are whole copies, whose kernels are bound by their instructions.
  bool needsOffset() const {
    if (needsShift())
      return true;
    return llvm::any_of(elementBytes, [&](int64_t bytes) {
      if (!isSlice() && rowLength * bytes % bulkCopyUnit != 0)
        return false;
      return getBlockBytes(bytes) % bulkAlignment != 0 ||
             (isSlice() && rowLength * bytes % bulkAlignment != 0);
    });
  }
  /// Bytes that the copy of a block takes.
  int64_t getCopyBytes(int64_t bytes) const {
    int64_t block = getBlockBytes(bytes);
    return needsShift()
               ? int64_t(llvm::alignTo(uint64_t(block), bulkCopyUnit)) +
                     bulkCopyUnit
               : block;
  }
  /// Bytes of a stage that the copy of a block has, with those that it leaves
  /// before and after it.
  int64_t getRoomBytes(int64_t bytes) const {
    int64_t most = needsOffset() ? bulkAlignment - bulkCopyUnit : 0;
    return int64_t(
        llvm::alignTo(uint64_t(getCopyBytes(bytes) + most), bulkAlignment));
  }
  /// Elements from a row of a tile to the next one in a stage, of elements
  /// of so many bytes.
  int64_t getRowDistance(int64_t bytes) const {
    return isSlice() ? getRoomBytes(bytes) / bytes : columns;
  }
  /// Bytes that all copies to a stage take.
  int64_t getCopiedBytes() const {
    int64_t sum = 0;
    for (int64_t bytes : elementBytes)
      sum += getBlocks() * getCopyBytes(bytes);
    return sum;
  }
  /// Bytes of a stage.
  int64_t getStageBytes() const {
    int64_t sum = 0;
    for (int64_t bytes : elementBytes)
      sum += getBlocks() * getRoomBytes(bytes);
    return sum;
  }
};

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_STAGELAYOUT_H
