//===- PlainProduct.cpp - Products of matrices without their unit ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One plain tiled kernel for all chips, types and sizes. A work-item has 4 x 4
// elements of the result that lie 16 apart, so that neighbours read neighbours
// of a tile in workgroup memory, whose rows are one element longer than they
// need to be: then columns of it are in different banks, too.
//
//===----------------------------------------------------------------------===//

#include "ProductKernel.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

/// Elements of a side of a workgroup's tile, of a work-item's, and how many
/// columns of A are in workgroup memory at once.
static constexpr int64_t tileSize = plainTileSize, itemSize = 4, depthSize = 16;
static constexpr int64_t itemsPerSide = tileSize / itemSize;
static constexpr int64_t threads = itemsPerSide * itemsPerSide;
static constexpr int64_t tileStride = tileSize + 1;

namespace {
class PlainProduct : public ProductKernel {
public:
  PlainProduct(ProductOp op, gpu::GPUModuleOp module)
      : ProductKernel(op, module, {threads, tileSize, tileSize, 1, depthSize}) {
  }

protected:
  void addMemory() override {
    for (Value *tile : {&tileA, &tileB})
      *tile = lane::addWorkgroupMemory(kernel, tileStride * depthSize,
                                       b.getF32Type());
  }
  void writeBody() override;

private:
  /// Brings a tile of `tileSize` by `depthSize` elements to `memory`, the part
  /// of all work-items.
  void fillTile(const ProductSource &source, Value memory, Value first,
                Value depthIndex);
  SmallVector<Value> multiplyTiles(ValueRange accumulators);
  void storeResult(ValueRange accumulators);
  void finishResult(ValueRange accumulators);
  /// An element of `source` in float32, or 0 where there is no `condition`.
  Value loadWhere(Value condition, const ProductSource &source,
                  ValueRange position);

  Value itemRow, itemColumn, tileA, tileB;
};
} // namespace

Value PlainProduct::loadWhere(Value condition, const ProductSource &source,
                              ValueRange position) {
  auto branch = scf::IfOp::create(b, b.getF32Type(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value value = memref::LoadOp::create(b, source.buffer, position);
  if (ProductRegion *prologue = source.prologue) {
    auto one = VectorType::get({1}, value.getType());
    SmallVector<Value> ofColumns =
        prologue->loadColumns(position[1], /*width=*/1);
    IRMapping scalars = prologue->computeScalars(position[0]);
    Value vector =
        prologue->apply(vector::BroadcastOp::create(b, one, value), scalars,
                        /*rows=*/{}, ofColumns);
    value = vector::ExtractOp::create(b, vector, int64_t(0));
  }
  if (!value.getType().isF32())
    value = arith::ExtFOp::create(b, b.getF32Type(), value);
  scf::YieldOp::create(b, value);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, b.zero(b.getF32Type()));
  return branch.getResult(0);
}

void PlainProduct::fillTile(const ProductSource &source, Value memory,
                            Value first, Value depthIndex) {
  // Neighbouring work-items take neighbouring elements of the buffer.
  int64_t inner = source.isAlongRows ? depthSize : tileSize;
  for (int64_t part = 0; part < tileSize * depthSize; part += threads) {
    Value element = b.add(thread, part);
    Value fast = b.remainder(element, inner);
    Value slow = b.divide(element, inner);
    Value side = source.isAlongRows ? slow : fast;
    Value along = source.isAlongRows ? fast : slow;
    Value i = b.add(first, side), l = b.add(depthIndex, along);
    Value isInDepth = b.less(l, source.depth);
    Value exists = b.both(b.less(i, source.size), isInDepth);
    SmallVector<Value> position{i, l};
    if (!source.isAlongRows)
      std::swap(position[0], position[1]);
    Value value = loadWhere(exists, source, position);
    memref::StoreOp::create(b, value, memory,
                            b.add(b.multiply(along, tileStride), side));
  }
}

SmallVector<Value> PlainProduct::multiplyTiles(ValueRange accumulators) {
  Value one = b.index(1), end = b.index(depthSize);
  auto loop = scf::ForOp::create(b, b.index(0), end, one, accumulators);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = b.multiply(loop.getInductionVar(), tileStride);
  auto loadSide = [&](Value memory, Value item) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < itemSize; ++i)
      values.push_back(memref::LoadOp::create(
          b, memory, b.add(b.add(row, item), i * itemsPerSide)));
    return values;
  };
  SmallVector<Value> as = loadSide(tileA, itemRow);
  SmallVector<Value> bs = loadSide(tileB, itemColumn);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < itemSize * itemSize; ++i)
    sums.push_back(math::FmaOp::create(b, as[size_t(i / itemSize)],
                                       bs[size_t(i % itemSize)],
                                       loop.getRegionIterArg(unsigned(i))));
  scf::YieldOp::create(b, sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void PlainProduct::finishResult(ValueRange accumulators) {
  OpBuilder::InsertionGuard guard(b);
  enterIfRows();
  auto one = VectorType::get({1}, b.getF32Type());
  SmallVector<Value> itemColumns;
  SmallVector<SmallVector<Value>> columnVectors;
  for (int64_t j = 0; j < itemSize; ++j) {
    itemColumns.push_back(
        b.add(b.add(firstColumn, itemColumn), j * itemsPerSide));
    columnVectors.push_back(
        epilogue->loadColumns(itemColumns.back(), /*width=*/1));
  }
  for (int64_t i = 0; i < itemSize; ++i) {
    Value row = b.add(b.add(firstRow, itemRow), i * itemsPerSide);
    IRMapping scalars = epilogue->computeScalars(row);
    SmallVector<ResultPiece> pieces;
    for (int64_t j = 0; j < itemSize; ++j) {
      Value sum = accumulators[size_t(i * itemSize + j)];
      pieces.push_back({vector::BroadcastOp::create(b, one, sum), row,
                        itemColumns[size_t(j)], &scalars,
                        &columnVectors[size_t(j)]});
    }
    finishPieces(pieces);
  }
}

void PlainProduct::storeResult(ValueRange accumulators) {
  if (epilogue)
    return finishResult(accumulators);
  for (int64_t i = 0; i < itemSize * itemSize; ++i) {
    Value row = b.add(b.add(firstRow, itemRow), i / itemSize * itemsPerSide);
    Value column =
        b.add(b.add(firstColumn, itemColumn), i % itemSize * itemsPerSide);
    Value isColumn = b.less(column, columns);
    Value exists = b.both(b.less(row, rows), isColumn);
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    memref::StoreOp::create(b, accumulators[size_t(i)], result,
                            ValueRange{row, column});
  }
}

void PlainProduct::writeBody() {
  itemRow = b.divide(thread, itemsPerSide);
  itemColumn = b.remainder(thread, itemsPerSide);
  SmallVector<Value> accumulators(itemSize * itemSize, b.zero(b.getF32Type()));
  Value step = b.index(depthSize);
  auto loop = scf::ForOp::create(b, b.index(0), depth, step, accumulators);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    fillTile(lhs, tileA, firstRow, loop.getInductionVar());
    fillTile(rhs, tileB, firstColumn, loop.getInductionVar());
    gpu::BarrierOp::create(b);
    SmallVector<Value> sums = multiplyTiles(loop.getRegionIterArgs());
    gpu::BarrierOp::create(b);
    scf::YieldOp::create(b, sums);
  }
  markLoop(loop);
  storeResult(loop.getResults());
}

std::unique_ptr<ProductKernel> lnbwd::makePlainKernel(ProductOp op,
                                                      gpu::GPUModuleOp module) {
  return std::make_unique<PlainProduct>(op, module);
}
