//===- WaveProduct.h - What matrix instructions expect ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which instruction a chip has for a product, which lane of a wave holds what,
// and how it is multiplied. A wave's piece of a tile consists of fragments: 16
// rows of a matrix, and of the sum as much as the lanes read at a time.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_WAVEPRODUCT_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_WAVEPRODUCT_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include <memory>

namespace lnbwd {

/// Rows and columns of a fragment of the result.
inline constexpr int64_t fragmentSize = 16;

/// The type that the elements of both matrices are multiplied as by an
/// instruction of `chip` that adds in float32 and rounds nothing else; null if
/// there is none. It is their own where that is the same type of 16 bits, tf32
/// where they may be rounded to it, else f32. f16 is multiplied as f32, too,
/// where instructions of f16 flush subnormal numbers: those of f16 begin at
/// 6e-5, where gradients are. Those of bf16, below 1e-38, are left to them.
mlir::Type getMultipliedType(ProductOp op, const ChipInfo &chip);

/// Neighbouring elements of a row of the result that are in a lane, a vector,
/// and where they are.
struct ResultRun {
  mlir::Value sums, row, column;
};

class WaveProduct {
public:
  virtual ~WaveProduct() = default;

  /// For `lane` of a wave, and elements that are multiplied as `multiplied`;
  /// null for fused multiply-adds of float32, by `fmaLanes` lanes.
  static std::unique_ptr<WaveProduct> make(IndexBuilder &b,
                                           const ChipInfo &chip,
                                           mlir::Type multiplied,
                                           mlir::Value lane);
  static constexpr int64_t fmaLanes = fragmentSize * fragmentSize;

  /// Blocks of 16 bytes of a row that a fragment has.
  virtual int64_t getFragmentBlocks() = 0;
  /// The row and the block that the lane reads first of a fragment.
  virtual std::pair<mlir::Value, mlir::Value> getFirstBlock(bool isRhs) = 0;
  /// The blocks that it reads, as rows and blocks after that one.
  virtual llvm::SmallVector<std::pair<int64_t, int64_t>, 2> getBlocks() {
    return {{0, 0}};
  }
  /// A fragment of the result that is 0.
  virtual llvm::SmallVector<mlir::Value> makeZeros() = 0;
  /// Adds the product of the blocks of two fragments to one of the result.
  virtual llvm::SmallVector<mlir::Value> multiply(mlir::ValueRange lhs,
                                                  mlir::ValueRange rhs,
                                                  mlir::ValueRange sums) = 0;
  /// What of a fragment of the result is in the lane.
  virtual llvm::SmallVector<ResultRun> getRuns(mlir::ValueRange sums) = 0;
  /// Has all work-items wait for each other and for their accesses to workgroup
  /// memory.
  virtual void emitBarrier() { mlir::gpu::BarrierOp::create(b); }

protected:
  WaveProduct(IndexBuilder &b, mlir::Value lane) : b(b), lane(lane) {}

  IndexBuilder &b;
  mlir::Value lane;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_WAVEPRODUCT_H
