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

/// Rows M that tiles are chosen for where nothing is known of them.
inline constexpr int64_t usualProductRows = 4096;

/// Rows and columns of a workgroup's tile where a product has no tiling.
inline constexpr int64_t plainTileSize = 64;

/// What one instruction multiplies: `rows` x `depth` by `depth` x `columns`.
struct MatrixInstruction {
  int64_t rows, columns, depth;
};

/// The type that the elements of both matrices are multiplied as on `chip`:
/// their own where that is the same type of 16 bits, tf32 where they may be
/// rounded to it, else f32. f16 is multiplied as f32, too, where instructions
/// of f16 flush subnormal numbers: those of f16 begin at 6e-5, where gradients
/// are. Those of bf16, below 1e-38, are left to them.
mlir::Type getMultipliedType(ProductOp op, const ChipInfo &chip);

/// The type that tiles and fragments of these have: f32 for tf32, which an
/// instruction rounds, or what stands before it.
mlir::Type getTileType(mlir::Type multiplied);

/// The instruction of `chip` that multiplies `multiplied` and adds in float32
/// without rounding anything else; none if there is none.
std::optional<MatrixInstruction> getMatrixInstruction(const ChipInfo &chip,
                                                      mlir::Type multiplied);

/// Whether there is a kernel of `op` for `chip` that rounds no more than its
/// precision says, and does round so: of tf32 an instruction. An error names
/// the chips that have one.
mlir::LogicalResult checkPrecision(ProductOp op, const ChipInfo &chip);

/// Tiles for `op`, where `rows` is M, or 0 where that is not known; null where
/// `chip` has no instruction for it.
TilingAttr chooseTiling(ProductOp op, const ChipInfo &chip, int64_t rows);

/// Whether a kernel for `chip` can be made with the tiling of `op`, which has
/// one. An error names the limit.
mlir::LogicalResult checkTiling(ProductOp op, const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_PRODUCTTILING_H
