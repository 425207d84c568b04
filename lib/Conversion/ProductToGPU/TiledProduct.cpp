//===- TiledProduct.cpp - Products of matrices by their unit --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A workgroup goes along the sum, tile by tile. What the next tile needs is
// loaded into registers while the present one, in workgroup memory, is
// multiplied:
//
//   load the first tile
//   for each tile:
//     wait until nobody reads the one before
//     registers to workgroup memory
//     load the next tile
//     wait until all have written
//     multiply fragment by fragment
//
// Each element of the result is a sum in the order of these tiles, and in a
// tile in that of the instructions.
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lnbwd;

namespace {
class TiledProduct : public MatrixProduct {
public:
  TiledProduct(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip)
      : MatrixProduct(op, module, chip, /*launchedBytes=*/0, {}) {}

protected:
  void addMemory() override;
  void writeBody() override;

private:
  SmallVector<Value> loadTiles(Value at);
  void storeTiles(ValueRange loaded, Value at);
  SmallVector<Value> loadFirstTiles(const Range &range);
  SmallVector<Value> multiplyTiles(ValueRange sums);

  std::optional<OperandTile> tileA, tileB;
  Value placeA, placeB;
  unsigned numLoadedOfA = 0;
};
} // namespace

void TiledProduct::addMemory() {
  auto addTile = [&](std::optional<OperandTile> &tile, int64_t size) {
    Value memory =
        lane::addWorkgroupMemory(kernel, size * tiling.getDepth(), element);
    tile.emplace(b,
                 OperandTile::Layout{
                     size, element, frame.threads, chip.sharedMemoryBanks,
                     chip.matrixUnit == MatrixUnit::ReplicatedWMMA},
                 memory);
  };
  addTile(tileA, tiling.getRows());
  addTile(tileB, tiling.getColumns());
}

SmallVector<Value> TiledProduct::loadTiles(Value at) {
  SmallVector<Value> loaded = tileA->load(at);
  numLoadedOfA = unsigned(loaded.size());
  llvm::append_range(loaded, tileB->load(at));
  return loaded;
}

void TiledProduct::storeTiles(ValueRange loaded, Value at) {
  tileA->store(loaded.take_front(numLoadedOfA), at);
  tileB->store(loaded.drop_front(numLoadedOfA), at);
}

SmallVector<Value> TiledProduct::loadFirstTiles(const Range &range) {
  SmallVector<Type> types = tileA->getLoadedTypes();
  llvm::append_range(types, tileB->getLoadedTypes());
  auto branch = scf::IfOp::create(b, types, b.less(range.begin, range.end),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loadTiles(range.begin));
  b.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(b.zero(type));
  scf::YieldOp::create(b, zeros);
  return llvm::to_vector_of<Value>(branch.getResults());
}

SmallVector<Value> TiledProduct::multiplyTiles(ValueRange sums) {
  SmallVector<Value> results(sums);
  int64_t blocks = wave->getFragmentBlocks();
  for (int64_t block = 0; block < blocksPerTileRow; block += blocks) {
    SmallVector<Value> as, bs;
    for (int64_t i = 0; i < getRowFragments(); ++i)
      as.push_back(wave->load(*tileA, placeA, i * fragmentSize, block));
    for (int64_t j = 0; j < getColumnFragments(); ++j)
      bs.push_back(wave->load(*tileB, placeB, j * fragmentSize, block));
    multiplyFragments(as, bs, results);
  }
  return results;
}

void TiledProduct::writeBody() {
  placeWave();
  placeA = wave->getPlace(*tileA, waveRow, lane, /*isRhs=*/false);
  placeB = wave->getPlace(*tileB, waveColumn, lane, /*isRhs=*/true);
  tileA->setSource(lhs, firstRow, thread);
  tileB->setSource(rhs, firstColumn, thread);

  Range range = getRange();
  SmallVector<Value> carried = loadFirstTiles(range);
  size_t numLoaded = carried.size();
  llvm::append_range(carried, makeZeroSums());

  auto loop = scf::ForOp::create(b, range.begin, range.end,
                                 b.index(tiling.getDepth()), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange arguments = loop.getRegionIterArgs();
    Value at = loop.getInductionVar();
    wave->emitBarrier();
    storeTiles(arguments.take_front(numLoaded), at);
    Value next = b.smaller(b.add(at, tiling.getDepth()), range.lastTile);
    wave->keepOrder();
    SmallVector<Value> results = loadTiles(next);
    wave->keepOrder();
    wave->emitBarrier();
    llvm::append_range(results, multiplyTiles(arguments.drop_front(numLoaded)));
    scf::YieldOp::create(b, results);
  }
  markLoop(loop);
  storeResult(loop.getResults().drop_front(numLoaded));
}

std::unique_ptr<ProductKernel> lnbwd::makeTiledKernel(ProductOp op,
                                                      gpu::GPUModuleOp module,
                                                      const ChipInfo &chip) {
  return std::make_unique<TiledProduct>(op, module, chip);
}
