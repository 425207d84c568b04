//===- TiledProduct.cpp - Products of matrices by their unit --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waves stand in rows, and each has a rectangle of fragments of the workgroup's
// tile. The workgroup goes along the sum, tile by tile. What the next tile
// needs is loaded into registers while the present one, in workgroup memory, is
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

/// Work-items of a kernel of fused multiply-adds: an element of a fragment
/// each.
static constexpr int64_t plainThreads = fragmentSize * fragmentSize;

/// The tiling of a product that has none: one wave, which is the workgroup, and
/// an instruction that multiplies two numbers.
static TilingAttr getPlainTiling(MLIRContext *context) {
  return TilingAttr::get(context, plainTileSize, plainTileSize,
                         /*depth=*/tileRowBytes / 4, plainTileSize,
                         plainTileSize, /*instruction_rows=*/1,
                         /*instruction_columns=*/1, /*instruction_depth=*/1,
                         /*splits=*/1);
}

namespace {
class TiledProduct : public ProductKernel {
public:
  TiledProduct(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip)
      : TiledProduct(op, module, chip,
                     op.getTiling().value_or(getPlainTiling(op.getContext())),
                     op.getTiling() ? chip.waveSize : plainThreads) {}

protected:
  void addMemory() override;
  void writeBody() override;

private:
  TiledProduct(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip,
               TilingAttr tiling, int64_t lanes)
      : ProductKernel(op, module,
                      {tiling.getWaves() * lanes, tiling.getRows(),
                       tiling.getColumns(), tiling.getSplits(),
                       tiling.getDepth(),
                       op.getTiling() ? getMultipliedType(op, chip) : Type()}),
        chip(chip), tiling(tiling), lanes(lanes),
        element(frame.multiplied ? getTileType(frame.multiplied)
                                 : b.getF32Type()),
        wave(WaveProduct::make(b, chip, frame.multiplied)) {}

  /// What the loop over the sum goes over.
  struct Range {
    Value begin, end, lastTile;
  };

  /// Finds the wave's piece of the tile; before anything else in the body.
  void placeWave();
  /// The part of the sum that is the workgroup's.
  Range getRange();

  SmallVector<Value> loadTiles(Value at);
  void storeTiles(ValueRange loaded, Value at);
  SmallVector<Value> loadFirstTiles(const Range &range);
  SmallVector<Value> multiplyTiles(ValueRange sums);

  int64_t getRowFragments() const {
    return tiling.getWaveRows() / fragmentSize;
  }
  int64_t getColumnFragments() const {
    return tiling.getWaveColumns() / fragmentSize;
  }
  /// The wave's sums before anything is added.
  SmallVector<Value> makeZeroSums();
  /// Adds to `sums` the products of all fragments of A with all of B.
  void multiplyFragments(ArrayRef<Value> as, ArrayRef<Value> bs,
                         MutableArrayRef<Value> sums);

  void storeResult(ValueRange sums);
  /// Elements of an access to the result, of a run of so many.
  int64_t getAccessWidth(int64_t elements) const;
  Value takeElements(Value vector, int64_t begin, int64_t count);
  ValueRange getFragment(ValueRange sums, int64_t i, int64_t j);
  /// The first row and column of a run of that fragment.
  Value getRow(const ResultRun &run, int64_t i);
  Value getColumn(const ResultRun &run, int64_t j);

  const ChipInfo &chip;
  TilingAttr tiling;
  /// Of a wave.
  int64_t lanes;
  Type element;
  std::unique_ptr<WaveProduct> wave;
  Value lane, waveRow, waveColumn;
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

void TiledProduct::placeWave() {
  lane = b.remainder(thread, lanes);
  Value waveId = b.divide(thread, lanes);
  int64_t waveColumns = tiling.getColumns() / tiling.getWaveColumns();
  waveRow = b.multiply(b.divide(waveId, waveColumns), tiling.getWaveRows());
  waveColumn =
      b.multiply(b.remainder(waveId, waveColumns), tiling.getWaveColumns());
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
    part = b.blockId(gpu::Dimension::z);
    begin = arith::MulIOp::create(b, part, size);
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

SmallVector<Value> TiledProduct::makeZeroSums() {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < getRowFragments() * getColumnFragments(); ++i)
    llvm::append_range(sums, wave->makeZeros());
  return sums;
}

void TiledProduct::multiplyFragments(ArrayRef<Value> as, ArrayRef<Value> bs,
                                     MutableArrayRef<Value> sums) {
  size_t perFragment = sums.size() / (as.size() * bs.size());
  for (auto [i, a] : llvm::enumerate(as))
    for (auto [j, column] : llvm::enumerate(bs)) {
      MutableArrayRef<Value> fragment =
          sums.slice((i * bs.size() + j) * perFragment, perFragment);
      llvm::copy(
          wave->multiply(a, column, ValueRange(ArrayRef<Value>(fragment))),
          fragment.begin());
    }
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

/// The widest access has 4 elements.
int64_t TiledProduct::getAccessWidth(int64_t elements) const {
  return std::gcd(std::min<int64_t>(elements, 4), sizes.columns);
}

Value TiledProduct::takeElements(Value vector, int64_t begin, int64_t count) {
  if (cast<VectorType>(vector.getType()).getNumElements() == count)
    return vector;
  return vector::ExtractStridedSliceOp::create(
      b, vector, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

ValueRange TiledProduct::getFragment(ValueRange sums, int64_t i, int64_t j) {
  int64_t columnFragments = getColumnFragments();
  size_t perFragment =
      sums.size() / size_t(getRowFragments() * columnFragments);
  return sums.slice(size_t(i * columnFragments + j) * perFragment, perFragment);
}

Value TiledProduct::getRow(const ResultRun &run, int64_t i) {
  Value inWave = b.add(run.row, i * fragmentSize);
  return b.add(b.add(firstRow, waveRow), inWave);
}

Value TiledProduct::getColumn(const ResultRun &run, int64_t j) {
  Value inWave = b.add(run.column, j * fragmentSize);
  return b.add(b.add(firstColumn, waveColumn), inWave);
}

/// Fragments of a row are stored a few at a time: enough for the loads of an
/// epilogue to wait together, and not so many that these take all registers.
void TiledProduct::storeResult(ValueRange sums) {
  constexpr int64_t fragmentsAtOnce = 4;
  int64_t rowFragments = getRowFragments();
  int64_t columnFragments = getColumnFragments();
  OpBuilder::InsertionGuard guard(b);
  if (epilogue)
    enterIfRows();
  // Where in a fragment its runs are is the same in all.
  SmallVector<ResultRun> layout = wave->getRuns(getFragment(sums, 0, 0), lane);
  int64_t elements =
      cast<VectorType>(layout.front().vector.getType()).getNumElements();
  int64_t width = getAccessWidth(elements);
  // What several rows of fragments need of columns is loaded once.
  using Vectors = SmallVector<Value>;
  SmallVector<Vectors> columnVectors;
  bool areShared = epilogue && rowFragments > 1;
  if (areShared)
    for (int64_t j = 0; j < columnFragments; ++j)
      for (const ResultRun &run : layout)
        for (int64_t at = 0; at < elements; at += width)
          columnVectors.push_back(
              epilogue->loadColumns(b.add(getColumn(run, j), at), width));

  for (int64_t i = 0; i < rowFragments; ++i) {
    SmallVector<Value> rowsOfRuns;
    SmallVector<IRMapping> scalars;
    for (const ResultRun &run : layout) {
      rowsOfRuns.push_back(getRow(run, i));
      scalars.push_back(epilogue ? epilogue->computeScalars(rowsOfRuns.back())
                                 : IRMapping());
    }
    SmallVector<ResultPiece> pieces;
    size_t number = 0;
    for (int64_t j = 0; j < columnFragments; ++j) {
      SmallVector<ResultRun> runs =
          wave->getRuns(getFragment(sums, i, j), lane);
      for (size_t run = 0; run < layout.size(); ++run)
        for (int64_t at = 0; at < elements; at += width, ++number)
          pieces.push_back({takeElements(runs[run].vector, at, width),
                            rowsOfRuns[run],
                            b.add(getColumn(layout[run], j), at), &scalars[run],
                            areShared ? &columnVectors[number] : nullptr});
      if ((j + 1) % fragmentsAtOnce == 0 || j + 1 == columnFragments) {
        storePieces(pieces);
        pieces.clear();
      }
    }
  }
}

void TiledProduct::writeBody() {
  placeWave();
  placeA = wave->getOffset(*tileA, waveRow, lane, /*isRhs=*/false);
  placeB = wave->getOffset(*tileB, waveColumn, lane, /*isRhs=*/true);
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
  storeResult(loop.getResults().drop_front(numLoaded));
}

std::unique_ptr<ProductKernel> lnbwd::makeProductKernel(ProductOp op,
                                                        gpu::GPUModuleOp module,
                                                        const ChipInfo &chip) {
  return std::make_unique<TiledProduct>(op, module, chip);
}
