//===- AsyncTile.cpp - Tiles that are copied past registers ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async copies 16 bytes, or fewer, and fills the rest with 0. Rows of both
// matrices are whole blocks, so that a block is in its matrix or is not.
//
//===----------------------------------------------------------------------===//

#include "AsyncTile.h"

#include "lnbwd/Analysis/ProductTiling.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace lnbwd;

/// Rows that ldmatrix reads a block of for one of its four matrices.
static constexpr int64_t matrixRows = 8;

void AsyncTile::setSource(const ProductSource &from, Value tiles, Value first,
                          Value thread) {
  source = from;
  memory = tiles;
  int64_t rowBlocks = getRowBlocks();
  copyRow = b.divide(thread, rowBlocks);
  copyBlock = b.remainder(thread, rowBlocks);
  Value copyColumn = b.multiply(copyBlock, blockElements);
  Value last =
      b.subtract(source.size, b.index(isAlongRows() ? 1 : blockElements));
  if (!isAlongRows()) {
    sides.push_back(b.smaller(b.add(first, copyColumn), last));
    return;
  }
  for (int64_t i = 0; i < getNumCopies(); ++i) {
    Value row = b.add(copyRow, i * getRowsAtOnce());
    sides.push_back(b.smaller(b.add(first, row), last));
  }
}

void AsyncTile::copy(Value depth, Value end, Value stage) {
  Value whole = b.index(blockElements), none = b.index(0);
  for (int64_t i = 0; i < getNumCopies(); ++i) {
    Value row = b.add(copyRow, i * getRowsAtOnce());
    Value swizzled = b.exclusiveOr(copyBlock, b.remainder(row, matrixRows));
    Value place = b.add(b.multiply(row, getRowElements()),
                        b.multiply(swizzled, blockElements));
    Value along = isAlongRows() ? b.multiply(copyBlock, blockElements) : row;
    along = b.add(depth, along);
    SmallVector<Value> from{sides[isAlongRows() ? size_t(i) : 0], along};
    if (!isAlongRows())
      std::swap(from[0], from[1]);
    Value count = arith::SelectOp::create(b, b.less(along, end), whole, none);
    nvgpu::DeviceAsyncCopyOp::create(
        b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), memory,
        ValueRange{b.add(stage, place)}, source.buffer, from,
        b.getIndexAttr(blockElements), count, /*bypassL1=*/b.getUnitAttr());
  }
}

void AsyncTile::setFragments(Value row, Value lane, int64_t count) {
  // The four matrices in the order of the instruction's registers: of A rows
  // first, of B blocks of the sum first.
  Value inMatrix = b.remainder(lane, matrixRows);
  Value side = b.remainder(b.divide(lane, matrixRows), 2);
  Value deep = b.divide(lane, 2 * matrixRows);
  if (isRhs)
    std::swap(side, deep);
  // Blocks of a fragment are two, and differ in the lowest bit.
  if (isAlongRows()) {
    Value inTile = b.add(b.add(row, inMatrix), b.multiply(side, matrixRows));
    Value begin = b.multiply(inTile, getRowElements());
    Value block = b.exclusiveOr(deep, inMatrix);
    for (int64_t step = 0; step < layout.depth / fragmentSize; ++step)
      places.push_back(
          b.add(begin, b.multiply(b.exclusiveOr(block, b.index(2 * step)),
                                  blockElements)));
    return;
  }
  Value inTile = b.add(inMatrix, b.multiply(deep, matrixRows));
  Value begin = b.multiply(inTile, getRowElements());
  Value block = b.exclusiveOr(b.exclusiveOr(side, inMatrix),
                              b.divide(row, blockElements));
  for (int64_t fragment = 0; fragment < count; ++fragment)
    places.push_back(
        b.add(begin, b.multiply(b.exclusiveOr(block, b.index(2 * fragment)),
                                blockElements)));
}

Value AsyncTile::load(int64_t fragment, int64_t step, Value stage) {
  auto type = VectorType::get({4, 2}, layout.element);
  bool alongRows = isAlongRows();
  Value place = places[size_t(alongRows ? step : fragment)];
  int64_t apart = (alongRows ? fragment : step) * fragmentSize;
  Value at = b.add(b.add(stage, place), apart * getRowElements());
  return nvgpu::LdMatrixOp::create(b, type, memory, at,
                                   /*transpose=*/!alongRows, /*numTiles=*/4);
}
