//===- WaveProduct.h - What matrix instructions expect ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which lane of a wave holds what, and how it is multiplied. A wave's piece of
// a tile is taken apart into fragments: 16 rows of a matrix, and of the sum as
// much as the lanes read at a time.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_WAVEPRODUCT_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_WAVEPRODUCT_H

#include "OperandTile.h"

namespace lnbwd {

/// Neighbouring elements of a row of the result that are in a lane, and where
/// in the fragment they are.
struct ResultRun {
  mlir::Value vector, row, column;
};

class WaveProduct {
public:
  virtual ~WaveProduct() = default;

  /// For fragments that are multiplied as `multiplied`, which `chip` has an
  /// instruction for; null for fused multiply-adds.
  static std::unique_ptr<WaveProduct>
  make(IndexBuilder &b, const ChipInfo &chip, mlir::Type multiplied);

  /// Blocks of a row that a fragment has.
  virtual int64_t getFragmentBlocks() const = 0;
  /// The place where `lane` finds its part of a fragment that begins with
  /// `row`, a multiple of what a wave has.
  virtual mlir::Value getOffset(OperandTile &tile, mlir::Value row,
                                mlir::Value lane, bool isRhs) = 0;
  /// The lane's part of the fragment that lies so many rows and blocks after
  /// `place`.
  virtual mlir::Value load(OperandTile &tile, mlir::Value place, int64_t row,
                           int64_t block) = 0;
  /// A fragment of the result that is 0.
  virtual llvm::SmallVector<mlir::Value> makeZeros() = 0;
  /// Adds the product of two fragments to one of the result.
  virtual llvm::SmallVector<mlir::Value>
  multiply(mlir::Value lhs, mlir::Value rhs, mlir::ValueRange sums) = 0;
  /// What of a fragment of the result is in `lane`.
  virtual llvm::SmallVector<ResultRun> getRuns(mlir::ValueRange sums,
                                               mlir::Value lane) = 0;
  /// Has all work-items wait for each other and for their accesses to workgroup
  /// memory; loads from device memory stay in flight.
  virtual void emitBarrier() = 0;
  /// Keeps code generation from moving anything across.
  virtual void keepOrder() = 0;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_WAVEPRODUCT_H
