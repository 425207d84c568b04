//===- ProductTiling.h - Tiles of products of matrices ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which matrix instruction a chip has for a product, which tiles are worth
// having, and which the kernels can be made of.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_PRODUCTTILING_H
#define LNBWD_ANALYSIS_PRODUCTTILING_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdProduct.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// Bytes of a row of a tile that are in workgroup memory at a time, and of the
/// blocks that lanes read and write.
inline constexpr int64_t tileRowBytes = 128, tileBlockBytes = 16;
inline constexpr int64_t blocksPerTileRow = tileRowBytes / tileBlockBytes;

/// Rows and columns of the piece of a tile that a wave multiplies at a time;
/// an instruction makes the whole of it, or half of its columns.
inline constexpr int64_t fragmentSize = 16;

/// What one instruction multiplies: `rows` x `depth` by `depth` x `columns`.
struct MatrixInstruction {
  int64_t rows, columns, depth;
};

/// The type that the elements of both matrices are multiplied as: their own
/// where that is the same type of 16 bits, else f32.
mlir::Type getMultipliedType(ProductOp op);

/// The instruction of `chip` that multiplies `element` and adds in float32
/// without rounding anything else; none if there is none.
std::optional<MatrixInstruction> getMatrixInstruction(const ChipInfo &chip,
                                                      mlir::Type element);

/// Bytes of one stage's tiles of both matrices.
inline int64_t getStageBytes(TilingAttr tiling) {
  return (tiling.getRows() + tiling.getColumns()) * tileRowBytes;
}

/// Tiles for `op`, where `rows` is M, or 0 where that is not known; null where
/// `chip` has no instruction for it.
TilingAttr chooseTiling(ProductOp op, const ChipInfo &chip, int64_t rows);

/// Whether a kernel for `chip` can be made with the tiling of `op`, which has
/// one. An error names the limit.
mlir::LogicalResult checkTiling(ProductOp op, const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_PRODUCTTILING_H
