//===- MatrixTiles.h - Fragments and tiles of matrices ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How fragments of matrices lie in the lanes of a wave, for each kind of matrix
// instruction, and tiles of matrices in workgroup memory.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_LANE_MATRIXTILES_H
#define LNBWD_TRANSFORMS_LANE_MATRIXTILES_H

#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

namespace lnbwd::lane {

/// Rows and columns of a fragment, the part of a product that one instruction
/// of a wave adds to.
inline constexpr int64_t fragmentSize = 16;

/// A row of a tile has 8 blocks of 16 bytes, of neighbours along the sum.
inline constexpr int64_t blockBytes = 16, rowBlocks = 8;

/// Where the runs of neighbours are that a lane has of a fragment. With
/// `lane = high * digit + low`, one of the two is a row and the other one,
/// times `stride`, a column: the lane's first run begins there. The others
/// begin so many rows and columns after it.
struct FragmentPlaces {
  /// Whether `high` is the row.
  bool isRowHigh;
  int64_t stride;
  llvm::SmallVector<std::pair<int64_t, int64_t>, 8> offsets;
};

/// How a wave multiplies, and how fragments lie in it.
struct MatrixWave {
  /// Its instruction; none: fused multiply-adds in float32, for any chip.
  MatrixUnit unit;
  /// Its work-items. With fused multiply-adds the workgroup is one wave, of a
  /// work-item for each element of a fragment.
  int64_t lanes;
  /// The blocks of a row that it multiplies at once.
  int64_t blocks;
  /// Lanes are numbers of two digits, of which the lower one is less than this.
  int64_t digit;
  /// A row of a matrix is of blocks, one of the result of elements.
  FragmentPlaces lhs, rhs, result;

  /// For matrices whose elements `chip` multiplies as `element`.
  static MatrixWave get(mlir::Type element, const ChipInfo &chip);

  /// The row and the column, or block, of this lane's first run.
  std::pair<mlir::Value, mlir::Value>
  locate(IndexBuilder &b, const FragmentPlaces &places) const;
  /// Elements of a fragment of the result that a lane has, and those of a run.
  int64_t countElements() const { return fragmentSize * fragmentSize / lanes; }
  int64_t getRunLength() const {
    return countElements() / int64_t(result.offsets.size());
  }

  /// The place of block `block` of row `row` of a tile, counted in blocks.
  ///
  /// Blocks are permuted, so that lanes of one access meet in no bank of
  /// memory, whether they read 16 rows of one column of blocks or 2 rows of 4,
  /// write the 8 blocks of a row, or, where a matrix is transposed on its way,
  /// write rows that lie 2 or 4 apart. All this is linear over bits: the place
  /// of a sum whose terms have no bit in common is the exclusive or of their
  /// places.
  mlir::Value getTilePlace(IndexBuilder &b, mlir::Value row,
                           mlir::Value block) const;
  /// The number of the first element of the block that lies so many rows and
  /// blocks after `place`, with no bit in common.
  mlir::Value getTileElement(IndexBuilder &b, mlir::Value place, int64_t row,
                             int64_t block, int64_t blockElements) const;
};

} // namespace lnbwd::lane

#endif // LNBWD_TRANSFORMS_LANE_MATRIXTILES_H
