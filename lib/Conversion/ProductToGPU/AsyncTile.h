//===- AsyncTile.h - Tiles that are copied past registers -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How NVIDIA's chips bring tiles of A and B to workgroup memory, several of
// each, and how fragments are read from them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_ASYNCTILE_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_ASYNCTILE_H

#include "ProductKernel.h"

namespace lnbwd {

/// The tiles of one matrix, one for each stage, of elements of 16 bits. A tile
/// lies in workgroup memory as it does in the matrix, in rows along the sum or
/// across it, and ldmatrix turns the latter around.
///
/// A row is of blocks of 16 bytes. ldmatrix reads one block of each of 8
/// neighbouring rows at a time, and a copy brings neighbouring blocks of one
/// row: neither meets itself in a bank, since the number of a block is
/// exclusive-ored with that of its row, of which 3 bits count.
class AsyncTile {
public:
  struct Layout {
    /// i or j, and l of a tile, and its elements.
    int64_t size, depth;
    mlir::Type element;
    int64_t threads;
  };

  AsyncTile(IndexBuilder &b, const Layout &layout, bool isRhs)
      : b(b), layout(layout), isRhs(isRhs) {}

  /// Elements of a tile.
  int64_t getElements() const { return layout.size * layout.depth; }

  /// What is copied, and this work-item's part of it. `tiles`: the memory of
  /// all stages. `first`: the tile's first i.
  void setSource(const ProductSource &from, mlir::Value tiles,
                 mlir::Value first, mlir::Value thread);
  /// Starts the work-item's copies of the tile that begins with `depth`, to
  /// the stage that begins with the element `stage`. What lies at `end` or
  /// behind is 0, without being read.
  void copy(mlir::Value depth, mlir::Value end, mlir::Value stage);

  /// Finds the lane's addresses of fragments that begin with `row`, a multiple
  /// of what a wave has; behind `setSource`.
  void setFragments(mlir::Value row, mlir::Value lane, int64_t count);
  /// The lane's part of fragment `fragment` of the `step`-th 16 l.
  mlir::Value load(int64_t fragment, int64_t step, mlir::Value stage);

private:
  static constexpr int64_t blockElements = 8;

  int64_t getRowElements() const {
    return isAlongRows() ? layout.depth : layout.size;
  }
  int64_t getRowBlocks() const { return getRowElements() / blockElements; }
  bool isAlongRows() const { return source.isAlongRows; }
  /// Rows that all work-items copy at a time, and how often they do.
  int64_t getRowsAtOnce() const { return layout.threads / getRowBlocks(); }
  int64_t getNumCopies() const {
    return getElements() / blockElements / layout.threads;
  }

  IndexBuilder &b;
  Layout layout;
  bool isRhs;
  ProductSource source;
  mlir::Value memory;
  /// The tile's row of the first of the work-item's copies, and its block of
  /// all of them.
  mlir::Value copyRow, copyBlock;
  /// The first i of each copy, or of all of them, none beyond the matrix.
  llvm::SmallVector<mlir::Value> sides;
  /// The elements of a stage where the lane's addresses begin: one for each of
  /// what is exclusive-ored.
  llvm::SmallVector<mlir::Value> places;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_ASYNCTILE_H
