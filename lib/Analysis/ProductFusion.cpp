//===- ProductFusion.cpp - When a product takes a row program -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that does not go to memory and back saves more than the numbers
// that tiles read again cost: no sizes are asked for. An operand is made again
// by each tile that reads it, so it matters how many do.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ProductFusion.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Analysis/RowPhases.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

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

bool lnbwd::isEpilogueFaster(ProductOp product, const ChipInfo &chip) {
  return chip.backend == Backend::AMDGPU || hasWholeBlocks(product, chip);
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
  RowPhases phases(program);
  SmallVector<Value> numbers;
  llvm::DenseSet<Value> visited;
  SmallVector<Value> pending{program.getYielded(0)};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (phases.getPhase(value) == 0 || !visited.insert(value).second)
      continue;
    if (value.getType().isF32())
      numbers.push_back(value);
    else
      llvm::append_range(pending,
                         llvm::reverse(value.getDefiningOp()->getOperands()));
  }
  return numbers;
}

/// How often the tiles of `product` read its row operand.
static int64_t countOperandReads(ProductOp product, const ChipInfo &chip,
                                 int64_t rows) {
  TilingAttr tiling = product.getTiling().value_or(TilingAttr());
  if (!tiling)
    tiling = chooseTiling(product, chip, rows);
  ProductOp::Sizes sizes = product.getSizes();
  bool isSummed = product.getLhsTransposed();
  int64_t tile = plainTileSize;
  if (tiling)
    tile = isSummed ? tiling.getRows() : tiling.getColumns();
  return int64_t(llvm::divideCeil(isSummed ? sizes.rows : sizes.columns, tile));
}

bool lnbwd::isPrologueFaster(ProductOp product, RowwiseOp program,
                             const ChipInfo &chip, int64_t rows) {
  // Where fragments take twice the registers, code with a prologue spills.
  return chip.backend == Backend::AMDGPU &&
         chip.matrixUnit != MatrixUnit::ReplicatedWMMA &&
         countOperandReads(product, chip, rows) <=
             prologuesPerPass * countSavedPasses(getRowNumbers(program).size());
}
