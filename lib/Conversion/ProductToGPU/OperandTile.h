//===- OperandTile.h - A tile of a matrix in workgroup memory ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How tiles of A and B come to workgroup memory, and where in it they lie.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_OPERANDTILE_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_OPERANDTILE_H

#include "ProductKernel.h"

namespace lnbwd {

/// In workgroup memory a tile has a row for each i (of A) or j (of B), and in
/// it 8 blocks of 16 bytes, of neighbouring l.
///
/// A block's place is permuted, so that lanes of one access meet in no bank of
/// memory, whether they read 16 rows of one column of blocks, write the 8
/// blocks of a row, or, where a matrix is transposed on its way, write rows
/// that lie 2 or 4 apart. With 2^s blocks to all banks, and x = i ^ (i >> s),
/// the low s bits of the block's number are those of x, but for the block's
/// number in its row, with which they are exclusive-ored. All this is linear
/// over bits: the place of a sum whose terms have no bit in common is the
/// exclusive or of their places.
class OperandTile {
public:
  struct Layout {
    /// i or j of a tile, and what they are multiplied as.
    int64_t size;
    mlir::Type element;
    /// Work-items that bring it, and banks that the memory has.
    int64_t threads, banks;
    /// Whether fragments leave few registers: then columns of a prologue are
    /// not loaded an iteration ahead, so that about half as many are spilled.
    bool hasFewRegisters = false;
  };

  OperandTile(IndexBuilder &b, const Layout &layout, mlir::Value memory)
      : b(b), layout(layout), memory(memory) {}

  /// Elements of a block.
  int64_t getBlockElements() const;

  /// Where this work-item's part is; before `load`. `first`: the tile's first
  /// i.
  void setSource(const ProductSource &from, mlir::Value first,
                 mlir::Value thread);
  /// What a work-item loads: vectors.
  llvm::SmallVector<mlir::Type> getLoadedTypes() const;
  /// Loads the work-item's part of the tile that begins with `depth`. What lies
  /// beyond the matrix is something that is there.
  llvm::SmallVector<mlir::Value> load(mlir::Value depth);
  /// Writes what was loaded to the memory, what lies beyond the depth as 0.
  void store(mlir::ValueRange loaded, mlir::Value depth);

  /// The place of block `block` of row `row`.
  mlir::Value getOffset(mlir::Value row, mlir::Value block);
  /// The element in the memory that begins the block that lies so many rows and
  /// blocks after `place`, with no bit in common.
  mlir::Value getElement(mlir::Value place, int64_t row, int64_t block);
  mlir::Value readBlock(mlir::Value place, int64_t row, int64_t block);

  mlir::Value getMemory() const { return memory; }

private:
  int64_t getOffset(int64_t row, int64_t block) const;
  /// What of the loaded is the matrix'; the prologue's follows it.
  llvm::SmallVector<mlir::Type> getMatrixTypes() const;
  /// Adds a piece of a vector of `type` that begins with element `part`.
  mlir::Value addPiece(mlir::Value whole, mlir::Value piece, int64_t part,
                       mlir::Type type);
  /// Loads what the prologue needs in all tiles.
  void loadPrologue();
  /// What the prologue makes of what was loaded.
  llvm::SmallVector<mlir::Value> applyPrologue(mlir::ValueRange loaded,
                                               mlir::Value depth);
  /// Its columns where they go along the sum, from `begin` on.
  llvm::SmallVector<mlir::Value> loadDepthColumns(mlir::Value begin);
  /// Blocks of a work-item.
  int64_t getItemBlocks() const;
  /// Elements of one access to the matrix.
  int64_t getAccess() const;
  mlir::Value loadVector(int64_t elements, mlir::Value row, mlir::Value column);
  mlir::Value clampDepth(mlir::Value depth, int64_t elements);
  bool isDepthWhole() const;
  /// `vector`, or 0 where the depth ends before.
  mlir::Value keepWhere(mlir::Value vector, mlir::Value depth);
  void storeBlock(mlir::Value block, int64_t row);

  IndexBuilder &b;
  Layout layout;
  mlir::Value memory;
  ProductSource source;
  /// The work-item's first l in a tile, and the place of its first block.
  mlir::Value firstDepth, place;
  /// The i of each of its accesses, none of them beyond the matrix.
  llvm::SmallVector<mlir::Value> sides;
  /// Of the prologue: what is computed of the numbers of each i where the
  /// matrix' rows go along the sum; else its columns, whole.
  llvm::SmallVector<mlir::IRMapping> sideScalars;
  llvm::SmallVector<mlir::Value> sideColumns;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_OPERANDTILE_H
