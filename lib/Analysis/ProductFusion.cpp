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

FusionBytes lnbwd::getEpilogueBytes(ProductOp product, RowwiseOp program,
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
  // fused, each tile reads it. Of a split sum the kernel that adds them has
  // the epilogue, and a row's number is read for each element.
  FusionBytes bytes;
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

/// Whether elements are multiplied as 16 bits, and rows of both matrices are
/// whole blocks of them.
static bool hasWholeBlocks(ProductOp product, const ChipInfo &chip) {
  constexpr int64_t halfBits = 16,
                    blockElements = tileBlockBytes * 8 / halfBits;
  auto isWhole = [](Value matrix) {
    return cast<MemRefType>(matrix.getType()).getDimSize(1) % blockElements ==
           0;
  };
  return getMultipliedType(product, chip).getIntOrFloatBitWidth() == halfBits &&
         isWhole(product.getLhs()) && isWhole(product.getRhs());
}

bool lnbwd::isEpilogueFaster(ProductOp product, RowwiseOp program,
                             const ChipInfo &chip, int64_t rows) {
  if (chip.backend != Backend::AMDGPU && !hasWholeBlocks(product, chip))
    return false;
  FusionBytes bytes = getEpilogueBytes(product, program, chip, rows);
  return bytes.fused < bytes.apart;
}

//===----------------------------------------------------------------------===//
// Prologues
//===----------------------------------------------------------------------===//

/// An element's operations in a prologue take a compute unit about as long as
/// its part in a tile of 128 columns takes the matrix unit, an eighth of a
/// cycle; writing it or reading it back, about a quarter of a cycle's share of
/// the memory. A prologue may so run twice for each pass saved; half of that is
/// left for what else may be slower.
static constexpr int64_t prologuesPerPass = 1;

/// How often an element goes through memory less where the made rows do not:
/// they are written, and what they are made of is read for them; but for row
/// sums it is read all the same.
static int64_t countSavedPasses(size_t numNumbers) {
  return numNumbers > 0 ? 1 : 2;
}

SmallVector<Value> lnbwd::getRowNumbers(RowwiseOp program) {
  llvm::DenseSet<Value> behindSum;
  for (Operation &op : program.getBody().front())
    if (getSummedRow(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return behindSum.contains(operand);
        }))
      behindSum.insert(op.result_begin(), op.result_end());
  SmallVector<Value> numbers;
  llvm::DenseSet<Value> visited;
  SmallVector<Value> pending{program.getYielded(0)};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!behindSum.contains(value) || !visited.insert(value).second)
      continue;
    if (value.getType().isF32())
      numbers.push_back(value);
    else
      llvm::append_range(pending,
                         llvm::reverse(value.getDefiningOp()->getOperands()));
  }
  return numbers;
}

namespace {
/// Tiles of the result.
struct TileCounts {
  int64_t rows, columns;
};
} // namespace

static int64_t getRowCount(int64_t size, int64_t rows) {
  if (!ShapedType::isDynamic(size))
    return size;
  return rows ? rows : usualProductRows;
}

static TileCounts countTiles(ProductOp product, const ChipInfo &chip,
                             int64_t rows) {
  TilingAttr tiling = getTiling(product, chip, rows);
  ProductOp::Sizes sizes = product.getSizes();
  auto count = [](int64_t size, int64_t tile) {
    return int64_t(llvm::divideCeil(size, tile));
  };
  return {count(getRowCount(sizes.rows, rows),
                tiling ? tiling.getRows() : plainTileSize),
          count(sizes.columns, tiling ? tiling.getColumns() : plainTileSize)};
}

int64_t lnbwd::countOperandReads(ProductOp product, const ChipInfo &chip,
                                 int64_t rows) {
  TileCounts tiles = countTiles(product, chip, rows);
  return product.getLhsTransposed() ? tiles.rows : tiles.columns;
}

FusionBytes lnbwd::getPrologueBytes(ProductOp product, RowwiseOp program,
                                    const ChipInfo &chip, int64_t rows) {
  TileCounts tiles = countTiles(product, chip, rows);
  auto type = cast<MemRefType>(product.getRowOperand().getType());
  auto numRows = double(rows ? rows : usualProductRows);
  auto numColumns = double(type.getDimSize(1));
  double scalars = getBytes(program.getScalars()) * numRows;
  double columns = getBytes(program.getColumns()) * numColumns;
  size_t numNumbers = getRowNumbers(program).size();
  double numbers = 4 * double(numNumbers) * numRows;
  // What is multiplied is read by the tiles in both forms.
  FusionBytes bytes;
  bytes.apart = double(countSavedPasses(numNumbers)) * numRows * numColumns *
                    double(type.getElementTypeBitWidth()) / 8. +
                scalars + columns;
  // Of the operand's two sides the one that is summed over is read by all
  // tiles, the other by those that share it.
  auto all = double(tiles.rows * tiles.columns);
  auto reads = double(product.getLhsTransposed() ? tiles.rows : tiles.columns);
  scalars += numbers;
  if (product.getLhsTransposed())
    bytes.fused = scalars * all + columns * reads;
  else
    bytes.fused = scalars * reads + columns * all;
  bytes.fused += numbers;
  return bytes;
}

bool lnbwd::isPrologueFaster(ProductOp product, RowwiseOp program,
                             const ChipInfo &chip, int64_t rows) {
  // Where fragments take twice the registers, code with a prologue spills.
  if (chip.backend != Backend::AMDGPU ||
      chip.matrixUnit == MatrixUnit::ReplicatedWMMA ||
      countOperandReads(product, chip, rows) >
          prologuesPerPass * countSavedPasses(getRowNumbers(program).size()))
    return false;
  FusionBytes bytes = getPrologueBytes(product, program, chip, rows);
  return bytes.fused < bytes.apart;
}
