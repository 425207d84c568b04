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

#include "WaveProduct.h"

#include "lnbwd/Analysis/ProductTiling.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;

namespace {
class TiledProduct : public ProductKernel {
public:
  TiledProduct(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip)
      : ProductKernel(op, module,
                      {op.getTiling()->getWaves() * chip.waveSize,
                       op.getTiling()->getRows(), op.getTiling()->getColumns(),
                       op.getTiling()->getSplits()}),
        chip(chip), tiling(*op.getTiling()), element(getMultipliedType(op)),
        wave(WaveProduct::make(b, chip, element)) {}

private:
  /// What the loop over the sum goes over.
  struct Range {
    Value begin, end, lastTile;
  };

  void addMemory() override;
  void writeBody() override;
  /// The part of the sum that is the workgroup's.
  Range getRange();
  SmallVector<Value> loadTiles(Value at);
  void storeTiles(ValueRange loaded, Value at);
  SmallVector<Value> loadFirstTiles(const Range &range);
  SmallVector<Value> multiplyTiles(ValueRange sums);
  void storeResult(ValueRange sums);
  void storeRun(const ResultRun &run, Value row, Value column);

  int64_t getFragments(int64_t elements) const {
    return elements / fragmentSize;
  }

  const ChipInfo &chip;
  TilingAttr tiling;
  Type element;
  std::unique_ptr<WaveProduct> wave;
  std::optional<OperandTile> tileA, tileB;
  Value lane, waveRow, waveColumn, placeA, placeB;
  unsigned numLoadedOfA = 0;
};
} // namespace

void TiledProduct::addMemory() {
  auto addTile = [&](std::optional<OperandTile> &tile, int64_t size) {
    Value memory =
        lane::addWorkgroupMemory(kernel, size * tiling.getDepth(), element);
    tile.emplace(b,
                 OperandTile::Layout{size, element, frame.threads,
                                     chip.sharedMemoryBanks},
                 memory);
  };
  addTile(tileA, tiling.getRows());
  addTile(tileB, tiling.getColumns());
}

TiledProduct::Range TiledProduct::getRange() {
  Value begin = b.index(0), end = depth;
  int64_t step = tiling.getDepth();
  auto countTiles = [&](Value size) {
    return b.divide(b.add(size, step - 1), step);
  };
  if (frame.splits > 1) {
    Value tiles =
        b.divide(b.add(countTiles(depth), frame.splits - 1), frame.splits);
    Value size = b.multiply(tiles, step);
    begin = arith::MulIOp::create(b, b.blockId(gpu::Dimension::z), size);
    begin = b.smaller(begin, depth);
    end = b.smaller(b.add(begin, size), depth);
  }
  // Of a matrix without rows nothing may be loaded.
  if (ShapedType::isDynamic(sizes.rows))
    end = arith::SelectOp::create(b, b.less(b.index(0), rows), end, begin);
  Value tiles = countTiles(b.subtract(end, begin));
  Value last = b.add(begin, b.multiply(b.subtract(tiles, b.index(1)), step));
  return {begin, end, last};
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
  int64_t rowFragments = getFragments(tiling.getWaveRows());
  int64_t columnFragments = getFragments(tiling.getWaveColumns());
  SmallVector<Value> results(sums);
  int64_t perFragment =
      int64_t(results.size()) / (rowFragments * columnFragments);
  int64_t blocks = wave->getFragmentBlocks();
  for (int64_t block = 0; block < blocksPerTileRow; block += blocks) {
    SmallVector<Value> as, bs;
    for (int64_t i = 0; i < rowFragments; ++i)
      as.push_back(wave->load(*tileA, placeA, i * fragmentSize, block));
    for (int64_t j = 0; j < columnFragments; ++j)
      bs.push_back(wave->load(*tileB, placeB, j * fragmentSize, block));
    for (int64_t i = 0; i < rowFragments * columnFragments; ++i) {
      MutableArrayRef<Value> fragment = MutableArrayRef<Value>(results).slice(
          size_t(i * perFragment), size_t(perFragment));
      llvm::copy(wave->multiply(as[size_t(i / columnFragments)],
                                bs[size_t(i % columnFragments)],
                                ValueRange(ArrayRef<Value>(fragment))),
                 fragment.begin());
    }
  }
  return results;
}

void TiledProduct::storeRun(const ResultRun &run, Value row, Value column) {
  // The widest access has 4 elements.
  int64_t elements = cast<VectorType>(run.vector.getType()).getNumElements();
  int64_t access = std::gcd(std::min<int64_t>(elements, 4), sizes.columns);
  auto type = VectorType::get({access}, b.getF32Type());
  for (int64_t part = 0; part < elements; part += access) {
    Value begin = b.add(column, part);
    Value exists = b.both(b.less(row, rows), b.less(begin, columns));
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value vector = run.vector;
    if (access != elements)
      vector = vector::ExtractStridedSliceOp::create(
          b, vector, ArrayRef<int64_t>{part}, ArrayRef<int64_t>{access},
          ArrayRef<int64_t>{1});
    Value at = begin;
    if (frame.splits > 1)
      at = b.add(at, b.multiply(b.blockId(gpu::Dimension::z), sizes.columns));
    vector::StoreOp::create(b, vector, result, ValueRange{row, at},
                            /*nontemporal=*/false,
                            lane::getAccessAlignment(type));
  }
}

void TiledProduct::storeResult(ValueRange sums) {
  int64_t rowFragments = getFragments(tiling.getWaveRows());
  int64_t columnFragments = getFragments(tiling.getWaveColumns());
  size_t perFragment = sums.size() / size_t(rowFragments * columnFragments);
  for (int64_t i = 0; i < rowFragments; ++i)
    for (int64_t j = 0; j < columnFragments; ++j) {
      ValueRange fragment = sums.slice(
          size_t(i * columnFragments + j) * perFragment, perFragment);
      for (const ResultRun &run : wave->getRuns(fragment, lane)) {
        Value row =
            b.add(b.add(firstRow, waveRow), b.add(run.row, i * fragmentSize));
        Value column = b.add(b.add(firstColumn, waveColumn),
                             b.add(run.column, j * fragmentSize));
        storeRun(run, row, column);
      }
    }
}

void TiledProduct::writeBody() {
  lane = b.remainder(thread, chip.waveSize);
  Value waveId = b.divide(thread, chip.waveSize);
  int64_t waveColumns = tiling.getColumns() / tiling.getWaveColumns();
  waveRow = b.multiply(b.divide(waveId, waveColumns), tiling.getWaveRows());
  waveColumn =
      b.multiply(b.remainder(waveId, waveColumns), tiling.getWaveColumns());
  placeA = wave->getPlace(*tileA, waveRow, lane, /*isRhs=*/false);
  placeB = wave->getPlace(*tileB, waveColumn, lane, /*isRhs=*/true);
  tileA->setSource(lhs, firstRow, thread);
  tileB->setSource(rhs, firstColumn, thread);

  Range range = getRange();
  SmallVector<Value> carried = loadFirstTiles(range);
  size_t numLoaded = carried.size();
  int64_t fragments = getFragments(tiling.getWaveRows()) *
                      getFragments(tiling.getWaveColumns());
  for (int64_t i = 0; i < fragments; ++i)
    llvm::append_range(carried, wave->makeZeros());

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
  storeResult(loop.getResults().drop_front(numLoaded));
}

std::unique_ptr<ProductKernel> lnbwd::makeTiledKernel(ProductOp op,
                                                      gpu::GPUModuleOp module,
                                                      const ChipInfo &chip) {
  return std::make_unique<TiledProduct>(op, module, chip);
}
