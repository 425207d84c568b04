//===- OperandTile.cpp - A tile of a matrix in workgroup memory -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A work-item brings as many blocks as it takes for all to bring a tile. Of a
// matrix whose rows go along the sum each is an access; of another one the
// blocks lie side by side, an access has an element of each, and the work-item
// transposes.
//
// No access is left out where a matrix ends: it is moved to where there is one.
// Rows and columns of the result that are not there are not stored, whatever
// they are; what lies beyond the depth is replaced by 0 on its way to workgroup
// memory. So loads need no branches, and nothing waits for them but that way.
//
//===----------------------------------------------------------------------===//

#include "OperandTile.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;

int64_t OperandTile::getBlockElements() const {
  return tileBlockBytes * 8 / layout.element.getIntOrFloatBitWidth();
}

int64_t OperandTile::getItemBlocks() const {
  return layout.size * blocksPerTileRow / layout.threads;
}

int64_t OperandTile::getAccess() const {
  int64_t most = source.isAlongRows ? getBlockElements() : getItemBlocks();
  return std::gcd(most, source.getType().getDimSize(1));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The binary logarithm of how many blocks all banks hold.
static unsigned getBankBits(int64_t banks) {
  constexpr int64_t bankBytes = 4;
  return llvm::Log2_64(uint64_t(banks * bankBytes / tileBlockBytes));
}

// Both of these compute the same, the class's comment says what.
int64_t OperandTile::getPlace(int64_t row, int64_t block) const {
  unsigned bits = getBankBits(layout.banks);
  int64_t moved = row ^ (row >> bits);
  int64_t rowsOfBanks = (1 << bits) / blocksPerTileRow;
  int64_t rowOut = row ^ ((row >> bits) & (rowsOfBanks - 1));
  int64_t blockOut = block ^ ((moved / rowsOfBanks) % blocksPerTileRow);
  return rowOut * blocksPerTileRow + blockOut;
}

Value OperandTile::getPlace(Value row, Value block) {
  unsigned bits = getBankBits(layout.banks);
  Value shifted = b.divide(row, int64_t(1) << bits);
  Value moved = b.exclusiveOr(row, shifted);
  int64_t rowsOfBanks = (1 << bits) / blocksPerTileRow;
  Value rowOut = b.exclusiveOr(row, b.remainder(shifted, rowsOfBanks));
  Value blockOut = b.exclusiveOr(
      block, b.remainder(b.divide(moved, rowsOfBanks), blocksPerTileRow));
  return b.add(b.multiply(rowOut, blocksPerTileRow), blockOut);
}

Value OperandTile::getElement(Value from, int64_t row, int64_t block) {
  // What the banks do not see is added: it becomes the offset of an access.
  int64_t offset = getPlace(row, block);
  int64_t low = offset & ((int64_t(1) << getBankBits(layout.banks)) - 1);
  Value moved = b.exclusiveOr(from, b.index(low));
  return b.add(b.multiply(moved, getBlockElements()),
               (offset - low) * getBlockElements());
}

Value OperandTile::readBlock(Value from, int64_t row, int64_t block) {
  auto type = VectorType::get({getBlockElements()}, layout.element);
  return vector::LoadOp::create(b, type, memory, getElement(from, row, block),
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(tileBlockBytes));
}

//===----------------------------------------------------------------------===//
// From the matrix to registers
//===----------------------------------------------------------------------===//

void OperandTile::setSource(const ProductSource &from, Value first,
                            Value thread) {
  source = from;
  int64_t blocks = getItemBlocks(), access = getAccess();
  Value block, row;
  int64_t numSides, sideStep;
  if (source.isAlongRows) {
    block = b.remainder(thread, blocksPerTileRow);
    row = b.divide(thread, blocksPerTileRow);
    numSides = blocks;
    sideStep = layout.threads / blocksPerTileRow;
  } else {
    int64_t groups = layout.size / blocks;
    block = b.divide(thread, groups);
    row = b.multiply(b.remainder(thread, groups), blocks);
    numSides = blocks / access;
    sideStep = access;
  }
  firstDepth = b.multiply(block, getBlockElements());
  place = getPlace(row, block);
  Value last =
      b.subtract(source.size, b.index(source.isAlongRows ? 1 : access));
  for (int64_t i = 0; i < numSides; ++i)
    sides.push_back(b.smaller(b.add(b.add(first, row), i * sideStep), last));
}

SmallVector<Type> OperandTile::getLoadedTypes() const {
  Type element = source.getType().getElementType();
  int64_t blocks = getItemBlocks(), blockElements = getBlockElements();
  if (source.isAlongRows)
    return SmallVector<Type>(size_t(blocks),
                             VectorType::get({blockElements}, element));
  return SmallVector<Type>(size_t(blockElements),
                           VectorType::get({blocks}, element));
}

bool OperandTile::isDepthWhole() const {
  std::optional<int64_t> depth = getConstantIntValue(source.depth);
  return depth && *depth % (blocksPerTileRow * getBlockElements()) == 0;
}

Value OperandTile::clampDepth(Value depth, int64_t elements) {
  if (isDepthWhole())
    return depth;
  return b.smaller(depth, b.subtract(source.depth, b.index(elements)));
}

Value OperandTile::loadVector(int64_t elements, Value row, Value column) {
  auto type = VectorType::get({elements}, source.getType().getElementType());
  return vector::LoadOp::create(b, type, source.buffer, ValueRange{row, column},
                                /*nontemporal=*/false,
                                lane::getAccessAlignment(type));
}

SmallVector<Value> OperandTile::load(Value depth) {
  int64_t access = getAccess();
  Value begin = b.add(depth, firstDepth);
  SmallVector<Value> loaded;
  for (auto [i, type] : llvm::enumerate(getLoadedTypes())) {
    int64_t elements = cast<VectorType>(type).getNumElements();
    Value whole;
    for (int64_t part = 0; part < elements; part += access) {
      Value vector;
      if (source.isAlongRows) {
        Value column = clampDepth(b.add(begin, part), access);
        vector = loadVector(access, sides[i], column);
      } else {
        Value row = clampDepth(b.add(begin, int64_t(i)), 1);
        vector = loadVector(access, row, sides[size_t(part / access)]);
      }
      if (access == elements) {
        whole = vector;
        continue;
      }
      if (!whole)
        whole = b.zero(type);
      whole = vector::InsertStridedSliceOp::create(
          b, vector, whole, ArrayRef<int64_t>{part}, ArrayRef<int64_t>{1});
    }
    loaded.push_back(whole);
  }
  return loaded;
}

//===----------------------------------------------------------------------===//
// From registers to workgroup memory
//===----------------------------------------------------------------------===//

Value OperandTile::keepWhere(Value vector, Value depth) {
  if (isDepthWhole())
    return vector;
  return arith::SelectOp::create(b, b.less(depth, source.depth), vector,
                                 b.zero(vector.getType()));
}

void OperandTile::storeBlock(Value block, int64_t row) {
  auto type = VectorType::get({getBlockElements()}, layout.element);
  if (block.getType() != type)
    block = arith::ExtFOp::create(b, type, block);
  vector::StoreOp::create(b, block, memory, getElement(place, row, 0),
                          /*nontemporal=*/false,
                          llvm::MaybeAlign(tileBlockBytes));
}

void OperandTile::store(ValueRange loaded, Value depth) {
  int64_t access = getAccess();
  int64_t blocks = getItemBlocks(), blockElements = getBlockElements();
  Value begin = b.add(depth, firstDepth);
  if (source.isAlongRows) {
    for (auto [i, vector] : llvm::enumerate(loaded)) {
      Value whole = vector;
      if (access == blockElements) {
        whole = keepWhere(vector, begin);
      } else if (!isDepthWhole()) {
        for (int64_t part = 0; part < blockElements; part += access) {
          Value piece = vector::ExtractStridedSliceOp::create(
              b, vector, ArrayRef<int64_t>{part}, ArrayRef<int64_t>{access},
              ArrayRef<int64_t>{1});
          whole = vector::InsertStridedSliceOp::create(
              b, keepWhere(piece, b.add(begin, part)), whole,
              ArrayRef<int64_t>{part}, ArrayRef<int64_t>{1});
        }
      }
      storeBlock(whole, int64_t(i) * (layout.threads / blocksPerTileRow));
    }
    return;
  }
  SmallVector<Value> elements;
  for (auto [i, vector] : llvm::enumerate(loaded)) {
    Value kept = keepWhere(vector, b.add(begin, int64_t(i)));
    auto list = vector::ToElementsOp::create(b, kept);
    llvm::append_range(elements, list.getResults());
  }
  auto type = VectorType::get(
      {blockElements}, cast<VectorType>(loaded[0].getType()).getElementType());
  for (int64_t block = 0; block < blocks; ++block) {
    SmallVector<Value> column;
    for (int64_t i = 0; i < blockElements; ++i)
      column.push_back(elements[size_t(i * blocks + block)]);
    storeBlock(vector::FromElementsOp::create(b, type, column), block);
  }
}
