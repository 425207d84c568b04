//===- MatrixTiles.cpp - Fragments and tiles of matrices ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Lane/MatrixTiles.h"

using namespace mlir;
using namespace lnbwd;

lane::MatrixWave lane::MatrixWave::get(Type element, const ChipInfo &chip) {
  MatrixUnit unit = chip.matrixUnit;
  bool isMFMA = unit == MatrixUnit::MFMA || unit == MatrixUnit::WideMFMA;
  constexpr int64_t size = fragmentSize;
  // A lane has one element. The other units would round float32 to tf32.
  if (unit == MatrixUnit::None || (element.isF32() && !isMFMA))
    return {MatrixUnit::None,
            /*lanes=*/size * size,
            /*blocks=*/1,
            /*digit=*/size,
            /*lhs=*/{/*isRowHigh=*/true, /*stride=*/0, {{0, 0}}},
            /*rhs=*/{/*isRowHigh=*/false, /*stride=*/0, {{0, 0}}},
            /*result=*/{/*isRowHigh=*/true, /*stride=*/1, {{0, 0}}}};
  // A block of each of two rows 8 apart; of the result two neighbours in each
  // quarter.
  if (unit == MatrixUnit::MmaSync) {
    FragmentPlaces matrix{/*isRowHigh=*/true, /*stride=*/1, {{0, 0}, {8, 0}}};
    return {unit,
            chip.waveSize,
            /*blocks=*/4,
            /*digit=*/4,
            matrix,
            matrix, /*result=*/
            {/*isRowHigh=*/true,
             /*stride=*/2,
             {{0, 0}, {8, 0}, {0, 8}, {8, 8}}}};
  }
  // Two lanes have the same row; of the result a column's even or odd rows.
  if (unit == MatrixUnit::ReplicatedWMMA) {
    FragmentPlaces matrix{/*isRowHigh=*/false, /*stride=*/0, {{0, 0}, {0, 1}}};
    FragmentPlaces result{/*isRowHigh=*/true, /*stride=*/1, {}};
    for (int64_t row = 0; row < size; row += chip.waveSize / size)
      result.offsets.emplace_back(row, 0);
    return {unit, chip.waveSize, /*blocks=*/2, size, matrix, matrix, result};
  }
  // A block of a row, or two; neighbours of a row of the result.
  FragmentPlaces matrix{/*isRowHigh=*/false, /*stride=*/1, {{0, 0}}};
  FragmentPlaces result{
      /*isRowHigh=*/false, size * size / chip.waveSize, {{0, 0}}};
  int64_t blocks = chip.waveSize / size;
  if (unit == MatrixUnit::WideWMMA) {
    matrix = {/*isRowHigh=*/false, blocks, {{0, 0}, {0, 1}}};
    blocks *= 2;
  }
  return {unit, chip.waveSize, blocks, size, matrix, matrix, result};
}

std::pair<Value, Value>
lane::MatrixWave::locate(IndexBuilder &b, const FragmentPlaces &places) const {
  Value lane = b(gpu::ThreadIdOp::create(b, gpu::Dimension::x)) % lanes;
  Value row = places.isRowHigh ? b(lane) / digit : b(lane) % digit;
  Value column = places.isRowHigh ? b(lane) % digit : b(lane) / digit;
  return {row, places.stride ? b(column) * places.stride : b.index(0)};
}

// Both of these compute the same. With x = row ^ (row >> 3), a block's number
// in its row is exclusive-ored with the low 3 bits of x, rotated right by one;
// and the row's lowest bit with its fifth, where all banks hold two rows; with
// its sixth, too, where the rows of an access to these lie 4 apart.
Value lane::MatrixWave::getTilePlace(IndexBuilder &b, Value row,
                                     Value block) const {
  Value mixed = b(row) ^ (b(row) / 8);
  Value lowest = b(mixed) % 2 * 4;
  Value rotated = b(mixed) / 2 % 4 + lowest;
  Value high = b(row) / 16;
  if (unit == MatrixUnit::WideWMMA)
    high = b(high) ^ (b(row) / 32);
  Value moved = b(row) ^ (b(high) % 2);
  Value first = b(moved) * rowBlocks;
  return b(first) + (b(block) ^ rotated);
}

Value lane::MatrixWave::getTileElement(IndexBuilder &b, Value place,
                                       int64_t row, int64_t block,
                                       int64_t blockElements) const {
  int64_t mixed = row ^ (row / 8), rotated = mixed / 2 % 4 + mixed % 2 * 4;
  int64_t high = row / 16;
  if (unit == MatrixUnit::WideWMMA)
    high ^= row / 32;
  int64_t offset = (row ^ (high % 2)) * rowBlocks + (block ^ rotated);
  // What the banks do not see is added: it becomes the offset of an access.
  int64_t low = offset % (2 * rowBlocks);
  return (b(place) ^ b.index(low)) * blockElements +
         (offset - low) * blockElements;
}
