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
// memory. So loads need no branches, and nothing waits for them but that way. A
// prologue is done before that, to whatever was loaded.
//
//===----------------------------------------------------------------------===//

#include "OperandTile.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
int64_t OperandTile::getOffset(int64_t row, int64_t block) const {
  unsigned bits = getBankBits(layout.banks);
  int64_t moved = row ^ (row >> bits);
  int64_t rowsOfBanks = (1 << bits) / blocksPerTileRow;
  int64_t rowOut = row ^ ((row >> bits) & (rowsOfBanks - 1));
  int64_t blockOut = block ^ ((moved / rowsOfBanks) % blocksPerTileRow);
  return rowOut * blocksPerTileRow + blockOut;
}

Value OperandTile::getOffset(Value row, Value block) {
  unsigned bits = getBankBits(layout.banks);
  Value shifted = b.divide(row, int64_t(1) << bits);
  Value moved = b.exclusiveOr(row, shifted);
  int64_t rowsOfBanks = (1 << bits) / blocksPerTileRow;
  Value rowOut = b.exclusiveOr(row, b.remainder(shifted, rowsOfBanks));
  Value blockOut = b.exclusiveOr(
      block, b.remainder(b.divide(moved, rowsOfBanks), blocksPerTileRow));
  return b.add(b.multiply(rowOut, blocksPerTileRow), blockOut);
}

Value OperandTile::getElement(Value place, int64_t row, int64_t block) {
  // What the banks do not see is added: it becomes the offset of an access.
  int64_t offset = getOffset(row, block);
  int64_t low = offset & ((int64_t(1) << getBankBits(layout.banks)) - 1);
  Value moved = b.exclusiveOr(place, b.index(low));
  return b.add(b.multiply(moved, getBlockElements()),
               (offset - low) * getBlockElements());
}

Value OperandTile::readBlock(Value place, int64_t row, int64_t block) {
  auto type = VectorType::get({getBlockElements()}, layout.element);
  return vector::LoadOp::create(b, type, memory, getElement(place, row, block),
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
  place = getOffset(row, block);
  Value last =
      b.subtract(source.size, b.index(source.isAlongRows ? 1 : access));
  for (int64_t i = 0; i < numSides; ++i)
    sides.push_back(b.smaller(b.add(b.add(first, row), i * sideStep), last));
  if (source.prologue)
    loadPrologue();
}

SmallVector<Type> OperandTile::getMatrixTypes() const {
  Type element = source.getType().getElementType();
  int64_t blocks = getItemBlocks(), blockElements = getBlockElements();
  if (source.isAlongRows)
    return SmallVector<Type>(size_t(blocks),
                             VectorType::get({blockElements}, element));
  return SmallVector<Type>(size_t(blockElements),
                           VectorType::get({blocks}, element));
}

SmallVector<Type> OperandTile::getLoadedTypes() const {
  SmallVector<Type> types = getMatrixTypes();
  if (!source.prologue)
    return types;
  int64_t blockElements = getBlockElements();
  auto getElement = [](Value buffer) {
    return cast<MemRefType>(buffer.getType()).getElementType();
  };
  if (source.isAlongRows) {
    if (!layout.hasFewRegisters)
      for (Value buffer : source.prologue->getColumnBuffers())
        types.push_back(VectorType::get({blockElements}, getElement(buffer)));
    return types;
  }
  for (int64_t i = 0; i < blockElements; ++i)
    for (Value buffer : source.prologue->getScalarBuffers())
      types.push_back(getElement(buffer));
  return types;
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

Value OperandTile::addPiece(Value whole, Value piece, int64_t part, Type type) {
  if (piece.getType() == type)
    return piece;
  if (!whole)
    whole = b.zero(type);
  return vector::InsertStridedSliceOp::create(
      b, piece, whole, ArrayRef<int64_t>{part}, ArrayRef<int64_t>{1});
}

SmallVector<Value> OperandTile::load(Value depth) {
  int64_t access = getAccess();
  Value begin = b.add(depth, firstDepth);
  SmallVector<Value> loaded;
  for (auto [i, type] : llvm::enumerate(getMatrixTypes())) {
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
      whole = addPiece(whole, vector, part, type);
    }
    loaded.push_back(whole);
  }
  if (!source.prologue)
    return loaded;
  if (!source.isAlongRows) {
    for (int64_t i = 0; i < getBlockElements(); ++i)
      llvm::append_range(loaded, source.prologue->loadScalars(b.add(begin, i)));
    return loaded;
  }
  if (!layout.hasFewRegisters)
    llvm::append_range(loaded, loadDepthColumns(begin));
  return loaded;
}

//===----------------------------------------------------------------------===//
// The prologue
//===----------------------------------------------------------------------===//

SmallVector<Value> OperandTile::loadDepthColumns(Value begin) {
  int64_t blockElements = getBlockElements(), access = getAccess();
  SmallVector<Value> columns(source.prologue->getColumnBuffers().size());
  for (int64_t part = 0; part < blockElements; part += access) {
    SmallVector<Value> pieces =
        source.prologue->loadColumns(b.add(begin, part), access);
    for (auto [i, piece] : llvm::enumerate(pieces)) {
      auto type = VectorType::get(
          {blockElements}, cast<VectorType>(piece.getType()).getElementType());
      columns[i] = addPiece(columns[i], piece, part, type);
    }
  }
  return columns;
}

void OperandTile::loadPrologue() {
  ProductRegion &prologue = *source.prologue;
  int64_t blocks = getItemBlocks(), access = getAccess();
  if (!source.isAlongRows) {
    ValueRange buffers = prologue.getColumnBuffers();
    sideColumns.resize(buffers.size());
    for (auto [part, side] : llvm::enumerate(sides)) {
      SmallVector<Value> pieces = prologue.loadColumns(side, access);
      for (auto [i, piece] : llvm::enumerate(pieces)) {
        auto type = VectorType::get(
            {blocks}, cast<VectorType>(piece.getType()).getElementType());
        sideColumns[i] =
            addPiece(sideColumns[i], piece, int64_t(part) * access, type);
      }
    }
    return;
  }
  // Of a matrix without rows nothing may be loaded.
  size_t count = prologue.getScalarBuffers().size();
  SmallVector<Value> numbers;
  if (count > 0) {
    SmallVector<Type> types;
    for (size_t i = 0; i < sides.size(); ++i)
      for (Value buffer : prologue.getScalarBuffers())
        types.push_back(cast<MemRefType>(buffer.getType()).getElementType());
    auto branch = scf::IfOp::create(b, types, b.less(b.index(0), source.size),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (Value side : sides)
      llvm::append_range(numbers, prologue.loadScalars(side));
    scf::YieldOp::create(b, numbers);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(
        b, llvm::map_to_vector(types, [&](Type type) { return b.zero(type); }));
    numbers = llvm::to_vector_of<Value>(branch.getResults());
  }
  for (size_t i = 0; i < sides.size(); ++i)
    sideScalars.push_back(prologue.computeScalars(
        ValueRange(ArrayRef<Value>(numbers).slice(i * count, count))));
}

SmallVector<Value> OperandTile::applyPrologue(ValueRange loaded, Value depth) {
  ProductRegion &prologue = *source.prologue;
  size_t numVectors = getMatrixTypes().size();
  ValueRange others = loaded.drop_front(numVectors);
  SmallVector<Value> late;
  if (source.isAlongRows && layout.hasFewRegisters) {
    late = loadDepthColumns(b.add(depth, firstDepth));
    others = late;
  }
  SmallVector<Value> results;
  for (size_t i = 0; i < numVectors; ++i) {
    if (source.isAlongRows) {
      results.push_back(
          prologue.apply(loaded[i], sideScalars[i], /*rows=*/{}, others));
      continue;
    }
    size_t count = prologue.getScalarBuffers().size();
    IRMapping scalars = prologue.computeScalars(others.slice(i * count, count));
    results.push_back(
        prologue.apply(loaded[i], scalars, /*rows=*/{}, sideColumns));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// From registers to workgroup memory
//===----------------------------------------------------------------------===//

Value OperandTile::keepWhere(Value vector, Value depth) {
  if (isDepthWhole())
    return vector;
  Value zero = b.zero(vector.getType());
  return arith::SelectOp::create(b, b.less(depth, source.depth), vector, zero);
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
  // Before what is not there becomes 0: of 0 a prologue makes anything.
  SmallVector<Value> made;
  if (source.prologue) {
    made = applyPrologue(loaded, depth);
    loaded = made;
  }
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
