//===- MatrixTiles.cpp - Tiles of matrices in workgroup memory ------------===//
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
  // The other units would round float32 to tf32.
  if (unit == MatrixUnit::None || (element.isF32() && !isMFMA))
    return {MatrixUnit::None, fragmentSize * fragmentSize, /*blocks=*/1};
  if (unit == MatrixUnit::MmaSync)
    return {unit, chip.waveSize, /*blocks=*/4};
  bool isReplicated = unit == MatrixUnit::ReplicatedWMMA;
  return {unit, chip.waveSize, isReplicated ? 2 : chip.waveSize / fragmentSize};
}

// Both of these compute the same. With x = row ^ (row >> 3), a block's number
// in its row is exclusive-ored with the low 3 bits of x, rotated right by one;
// and the row's lowest bit with its fifth, where all banks hold two rows.
Value lane::getTilePlace(IndexBuilder &b, Value row, Value block) {
  Value mixed = b.exclusiveOr(row, b.divide(row, 8));
  Value lowest = b.multiply(b.remainder(mixed, 2), 4);
  Value rotated = b.add(b.remainder(b.divide(mixed, 2), 4), lowest);
  Value moved = b.exclusiveOr(row, b.remainder(b.divide(row, 16), 2));
  Value first = b.multiply(moved, rowBlocks);
  return b.add(first, b.exclusiveOr(block, rotated));
}

static int64_t getTilePlace(int64_t row, int64_t block) {
  int64_t mixed = row ^ (row / 8), rotated = mixed / 2 % 4 + mixed % 2 * 4;
  return (row ^ (row / 16 % 2)) * lane::rowBlocks + (block ^ rotated);
}

Value lane::getTileElement(IndexBuilder &b, Value place, int64_t row,
                           int64_t block, int64_t blockElements) {
  // What the banks do not see is added: it becomes the offset of an access.
  int64_t offset = ::getTilePlace(row, block), low = offset % (2 * rowBlocks);
  return b.add(b.multiply(b.exclusiveOr(place, b.index(low)), blockElements),
               (offset - low) * blockElements);
}
