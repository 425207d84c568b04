//===- ProductTiling.cpp - Tiles of products of matrices ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two sizes of tiles are tried: large ones read less memory for each product,
// small ones are more workgroups.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ProductTiling.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Work-items of a workgroup, and the sides of tiles.
static constexpr int64_t threads = 256, largeTile = 128, smallTile = 64;
/// Rows M that tiles are chosen for where nothing is known of them.
static constexpr int64_t usualRows = 4096;
/// More parts of a sum than this cost more memory than they save time.
static constexpr int64_t maxSplits = 16;
/// Tiles along the sum that a part has at least.
static constexpr int64_t minPartTiles = 4;

Type lnbwd::getMultipliedType(ProductOp op) {
  Type lhs = cast<MemRefType>(op.getLhs().getType()).getElementType();
  Type rhs = cast<MemRefType>(op.getRhs().getType()).getElementType();
  if (lhs == rhs)
    return lhs;
  return Float32Type::get(op.getContext());
}

std::optional<MatrixInstruction>
lnbwd::getMatrixInstruction(const ChipInfo &chip, Type element) {
  bool isWide = element.isF32();
  switch (chip.matrixUnit) {
  case MatrixUnit::None:
    return std::nullopt;
  case MatrixUnit::MFMA:
    return MatrixInstruction{16, 16, isWide ? 4 : 16};
  case MatrixUnit::WideMFMA:
    return MatrixInstruction{16, 16, isWide ? 4 : 32};
  case MatrixUnit::ReplicatedWMMA:
  case MatrixUnit::WMMA:
    if (isWide)
      return std::nullopt;
    return MatrixInstruction{16, 16, 16};
  case MatrixUnit::MmaSync:
    // float32 would be rounded to tf32.
    if (isWide)
      return std::nullopt;
    return MatrixInstruction{16, 8, 16};
  }
  llvm_unreachable("all kinds are listed");
}

TilingAttr lnbwd::chooseTiling(ProductOp op, const ChipInfo &chip,
                               int64_t rows) {
  Type element = getMultipliedType(op);
  std::optional<MatrixInstruction> instruction =
      getMatrixInstruction(chip, element);
  if (!instruction)
    return TilingAttr();
  ProductOp::Sizes sizes = op.getSizes();
  bool isKnown = rows != 0;
  if (!ShapedType::isDynamic(sizes.rows))
    rows = sizes.rows;
  else if (!isKnown)
    rows = usualRows;
  auto getTile = [](int64_t size) {
    return size > smallTile ? largeTile : smallTile;
  };
  int64_t tileRows = getTile(rows), tileColumns = getTile(sizes.columns);
  int64_t depth = tileRowBytes * 8 / element.getIntOrFloatBitWidth();
  auto getMissing = [&] {
    return chip.computeUnits /
           int64_t(llvm::divideCeil(rows, tileRows) *
                   llvm::divideCeil(sizes.columns, tileColumns));
  };
  int64_t splits = 1;
  if (op.getLhsTransposed()) {
    splits = std::clamp<int64_t>(getMissing(), 1, maxSplits);
  } else if (getMissing() > 0) {
    tileRows = tileColumns = smallTile;
    // Each part is a few tiles, so that its first one is worth the wait.
    int64_t most = std::min(maxSplits, sizes.depth / (minPartTiles * depth));
    if (isKnown && getMissing() > 1 && most > 1)
      splits = std::min(getMissing(), most);
  }
  // Waves stand in two rows.
  int64_t waves = threads / chip.waveSize;
  return TilingAttr::get(op.getContext(), tileRows, tileColumns, depth,
                         tileRows / 2, tileColumns / (waves / 2),
                         instruction->rows, instruction->columns,
                         instruction->depth, splits);
}

LogicalResult lnbwd::checkTiling(ProductOp op, const ChipInfo &chip) {
  TilingAttr tiling = *op.getTiling();
  Type element = getMultipliedType(op);
  std::optional<MatrixInstruction> instruction =
      getMatrixInstruction(chip, element);
  if (!instruction)
    return op.emitOpError("cannot have a tiling: ")
           << chip.name << " has no matrix instruction for " << element
           << "; leave it out, and the kernel uses fused multiply-adds";
  if (tiling.getInstructionRows() != instruction->rows ||
      tiling.getInstructionColumns() != instruction->columns ||
      tiling.getInstructionDepth() != instruction->depth)
    return op.emitOpError("expected a tiling with the instruction that ")
           << chip.name << " has for " << element << ", " << instruction->rows
           << " x " << instruction->columns << " x " << instruction->depth
           << ", got " << tiling.getInstructionRows() << " x "
           << tiling.getInstructionColumns() << " x "
           << tiling.getInstructionDepth();
  int64_t depth = tileRowBytes * 8 / element.getIntOrFloatBitWidth();
  if (tiling.getDepth() != depth)
    return op.emitOpError("expected a tiling of depth ")
           << depth << ", " << tileRowBytes << " bytes of " << element
           << ", got " << tiling.getDepth();
  struct {
    StringRef name;
    int64_t size;
  } sizes[] = {{"rows", tiling.getRows()},
               {"columns", tiling.getColumns()},
               {"wave_rows", tiling.getWaveRows()},
               {"wave_columns", tiling.getWaveColumns()}};
  for (const auto &entry : sizes)
    if (!llvm::isPowerOf2_64(uint64_t(entry.size)) || entry.size < fragmentSize)
      return op.emitOpError("expected ")
             << entry.name << " of the tiling to be a power of two of at least "
             << fragmentSize << ", got " << entry.size;
  int64_t workItems = tiling.getWaves() * chip.waveSize;
  if (workItems > chip.maxThreadsPerWorkgroup)
    return op.emitOpError("expected a tiling of at most ")
           << chip.maxThreadsPerWorkgroup << " work-items, got "
           << tiling.getWaves() << " waves of " << chip.waveSize;
  // A lane brings 1, 2 or 4 blocks of a tile.
  for (const auto &entry : ArrayRef(sizes).take_front(2)) {
    int64_t blocks = entry.size * blocksPerTileRow;
    if (blocks < workItems || blocks > 4 * workItems)
      return op.emitOpError("expected ")
             << entry.name << " of the tiling to be from "
             << workItems / blocksPerTileRow << " to "
             << 4 * workItems / blocksPerTileRow << " for " << workItems
             << " work-items, got " << entry.size;
  }
  int64_t bytes = (tiling.getRows() + tiling.getColumns()) * tileRowBytes;
  if (bytes > chip.sharedMemoryBytes)
    return op.emitOpError("expected tiles of at most ")
           << chip.sharedMemoryBytes << " bytes, the shared memory of "
           << chip.name << ", got " << bytes;
  return success();
}
