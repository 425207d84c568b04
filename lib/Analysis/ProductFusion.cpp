//===- ProductFusion.cpp - When a product takes a row program -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts bytes. What both forms move alike, the rows that the program reads and
// writes, is left out.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ProductFusion.h"

#include "lnbwd/Analysis/ProductTiling.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

static double getBytes(OperandRange operands) {
  double bytes = 0;
  for (Value operand : operands)
    bytes += cast<ShapedType>(operand.getType()).getElementTypeBitWidth() / 8.;
  return bytes;
}

/// The tiles that `product` has, or will have; null for none.
static TilingAttr getTiling(ProductOp product, const ChipInfo &chip,
                            int64_t rows) {
  TilingAttr tiling = product.getTiling().value_or(TilingAttr());
  return tiling ? tiling : chooseTiling(product, chip, rows);
}

EpilogueBytes lnbwd::getEpilogueBytes(ProductOp product, RowwiseOp program,
                                      const ChipInfo &chip, int64_t rows) {
  TilingAttr tiling = getTiling(product, chip, rows);
  ProductOp::Sizes sizes = product.getSizes();
  if (!ShapedType::isDynamic(sizes.rows))
    rows = sizes.rows;
  else if (!rows)
    rows = usualProductRows;
  int64_t tileRows = tiling ? tiling.getRows() : plainTileSize;
  int64_t tileColumns = tiling ? tiling.getColumns() : plainTileSize;
  bool isSplit = tiling && tiling.getSplits() > 1;

  constexpr double floatBytes = 4;
  double scalars = getBytes(program.getScalars()) * double(rows);
  double columns = getBytes(program.getColumns()) * double(sizes.columns);
  // The result goes to memory and back, and what the rows share is read once;
  // fused, each tile reads it. Of a sum in parts the kernel that adds them has
  // the epilogue, and a row's number is read for each element.
  EpilogueBytes bytes;
  bytes.apart =
      2 * floatBytes * double(rows) * double(sizes.columns) + scalars + columns;
  double rowTiles = double(llvm::divideCeil(rows, tileRows));
  double columnTiles = double(llvm::divideCeil(sizes.columns, tileColumns));
  if (isSplit) {
    rowTiles = double(rows);
    columnTiles = 1;
  }
  bytes.fused = scalars * columnTiles + columns * rowTiles;
  return bytes;
}

bool lnbwd::isEpilogueFaster(ProductOp product, RowwiseOp program,
                             const ChipInfo &chip, int64_t rows) {
  if (chip.backend != Backend::AMDGPU) {
    // Kernels with copied tiles were measured, and were faster.
    TilingAttr tiling = getTiling(product, chip, rows);
    if (!tiling || tiling.getStages() == 1)
      return false;
  }
  EpilogueBytes bytes = getEpilogueBytes(product, program, chip, rows);
  return bytes.fused < bytes.apart;
}
