//===- MatrixProduct.cpp - Products by matrix instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waves stand in rows, and each has a rectangle of fragments.
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"

#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;

MatrixProduct::MatrixProduct(ProductOp op, gpu::GPUModuleOp module,
                             const ChipInfo &chip, int64_t launchedBytes,
                             const Extras &extras)
    : ProductKernel(
          op, module,
          {op.getTiling()->getWaves() * extras.waveGroup * chip.waveSize +
               extras.threads,
           op.getTiling()->getRows(), op.getTiling()->getColumns(),
           op.getTiling()->getSplits(), op.getTiling()->getDepth(),
           launchedBytes, extras.workgroups, getMultipliedType(op, chip)}),
      chip(chip), tiling(*op.getTiling()),
      element(getTileType(frame.multiplied)),
      waveRows(tiling.getWaveRows() / extras.waveGroup),
      wave(WaveProduct::make(b, chip, frame.multiplied)) {}

void MatrixProduct::placeWave() {
  lane = b.remainder(thread, chip.waveSize);
  Value waveId = b.divide(thread, chip.waveSize);
  int64_t waveColumns = tiling.getColumns() / tiling.getWaveColumns();
  waveRow = b.multiply(b.divide(waveId, waveColumns), waveRows);
  waveColumn =
      b.multiply(b.remainder(waveId, waveColumns), tiling.getWaveColumns());
}

MatrixProduct::Range MatrixProduct::getRange() {
  Value begin = b.index(0), end = depth;
  int64_t step = tiling.getDepth();
  auto countTiles = [&](Value size) {
    return b.divide(b.add(size, step - 1), step);
  };
  if (frame.splits > 1) {
    Value tiles =
        b.divide(b.add(countTiles(depth), frame.splits - 1), frame.splits);
    Value size = b.multiply(tiles, step);
    if (!part)
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

SmallVector<Value> MatrixProduct::makeZeroSums() {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < getRowFragments() * getColumnFragments(); ++i)
    llvm::append_range(sums, wave->makeZeros());
  return sums;
}

void MatrixProduct::multiplyFragments(ArrayRef<Value> as, ArrayRef<Value> bs,
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

/// The widest access has 4 elements.
int64_t MatrixProduct::getAccessWidth(int64_t elements) const {
  return std::gcd(std::min<int64_t>(elements, 4), sizes.columns);
}

Value MatrixProduct::takeElements(Value vector, int64_t begin, int64_t count) {
  if (cast<VectorType>(vector.getType()).getNumElements() == count)
    return vector;
  return vector::ExtractStridedSliceOp::create(
      b, vector, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

void MatrixProduct::storeRun(const ResultRun &run, Value row, Value column) {
  int64_t elements = cast<VectorType>(run.vector.getType()).getNumElements();
  int64_t access = getAccessWidth(elements);
  auto type = VectorType::get({access}, b.getF32Type());
  for (int64_t i = 0; i < elements; i += access) {
    Value begin = b.add(column, i);
    Value exists = b.both(b.less(row, rows), b.less(begin, columns));
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value vector = takeElements(run.vector, i, access);
    Value at = begin;
    if (frame.splits > 1)
      at = b.add(at, b.multiply(part, sizes.columns));
    vector::StoreOp::create(b, vector, result, ValueRange{row, at},
                            /*nontemporal=*/false,
                            lane::getAccessAlignment(type));
  }
}

ValueRange MatrixProduct::getFragment(ValueRange sums, int64_t i, int64_t j) {
  int64_t columnFragments = getColumnFragments();
  size_t perFragment =
      sums.size() / size_t(getRowFragments() * columnFragments);
  return sums.slice(size_t(i * columnFragments + j) * perFragment, perFragment);
}

Value MatrixProduct::getRow(const ResultRun &run, int64_t i) {
  return b.add(b.add(firstRow, waveRow), b.add(run.row, i * fragmentSize));
}

Value MatrixProduct::getColumn(const ResultRun &run, int64_t j) {
  return b.add(b.add(firstColumn, waveColumn),
               b.add(run.column, j * fragmentSize));
}

/// Fragments of a row are finished a few at a time: enough for their loads to
/// wait together, and not so many that these take all registers.
void MatrixProduct::finishResult(ValueRange sums) {
  constexpr int64_t fragmentsAtOnce = 4;
  int64_t rowFragments = getRowFragments();
  int64_t columnFragments = getColumnFragments();
  OpBuilder::InsertionGuard guard(b);
  enterIfRows();
  // Where in a fragment its runs are is the same in all.
  SmallVector<ResultRun> layout = getRuns(getFragment(sums, 0, 0));
  int64_t elements =
      cast<VectorType>(layout.front().vector.getType()).getNumElements();
  int64_t width = getAccessWidth(elements);
  // What several rows of fragments need of columns is loaded once.
  using Vectors = SmallVector<Value>;
  SmallVector<Vectors> columnVectors;
  if (rowFragments > 1)
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
      scalars.push_back(epilogue->computeScalars(rowsOfRuns.back()));
    }
    SmallVector<ResultPiece> pieces;
    size_t number = 0;
    for (int64_t j = 0; j < columnFragments; ++j) {
      SmallVector<ResultRun> runs = getRuns(getFragment(sums, i, j));
      for (size_t run = 0; run < layout.size(); ++run)
        for (int64_t at = 0; at < elements; at += width, ++number)
          pieces.push_back(
              {takeElements(runs[run].vector, at, width), rowsOfRuns[run],
               b.add(getColumn(layout[run], j), at), &scalars[run],
               rowFragments > 1 ? &columnVectors[number] : nullptr});
      if ((j + 1) % fragmentsAtOnce == 0 || j + 1 == columnFragments) {
        finishPieces(pieces);
        pieces.clear();
      }
    }
  }
}

void MatrixProduct::storeResult(ValueRange sums) {
  if (epilogue)
    return finishResult(sums);
  for (int64_t i = 0; i < getRowFragments(); ++i)
    for (int64_t j = 0; j < getColumnFragments(); ++j)
      for (const ResultRun &run : getRuns(getFragment(sums, i, j))) {
        Value row = getRow(run, i);
        Value column = getColumn(run, j);
        storeRun(run, row, column);
      }
}
