//===- ProductTiling.cpp - Tiles of products of matrices ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large tiles read less memory for each product, small ones are more
// workgroups. There are two sizes.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ProductTiling.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Work-items of a workgroup, and the sides of tiles.
static constexpr int64_t threads = 256, largeTile = 128, smallTile = 64;
/// More parts of a sum than this cost more memory than they save time.
static constexpr int64_t maxSplits = 16;
/// Blocks of a tile that a lane brings, at most: they wait in registers.
static constexpr int64_t mostHeldBlocks = 4;
/// Tiles along the sum that a part has at least.
static constexpr int64_t minPartTiles = 4;

Type lnbwd::getMultipliedType(ProductOp op, const ChipInfo &chip) {
  Type lhs = cast<MemRefType>(op.getLhs().getType()).getElementType();
  Type rhs = cast<MemRefType>(op.getRhs().getType()).getElementType();
  if (op.getPrecision() == Precision::TF32)
    return FloatTF32Type::get(op.getContext());
  bool isFlushed = lhs.isF16() && chip.matrix.flushesSubnormals;
  if (lhs == rhs && !isFlushed)
    return lhs;
  return Float32Type::get(op.getContext());
}

Type lnbwd::getTileType(Type multiplied) {
  return multiplied.isTF32() ? Float32Type::get(multiplied.getContext())
                             : multiplied;
}

std::optional<MatrixInstruction>
lnbwd::getMatrixInstruction(const ChipInfo &chip, Type multiplied) {
  if (multiplied.isTF32()) {
    if (!chip.matrix.hasTF32Products)
      return std::nullopt;
    return MatrixInstruction{
        16, chip.matrixUnit == MatrixUnit::MmaSync ? 8 : 16, 8};
  }
  bool isWide = multiplied.isF32();
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

LogicalResult lnbwd::checkPrecision(ProductOp op, const ChipInfo &chip) {
  if (op.getPrecision() != Precision::TF32 || chip.matrix.hasTF32Products)
    return success();
  std::string names;
  for (const ChipInfo &other : getChips())
    if (other.matrix.hasTF32Products)
      names += (names.empty() ? "" : ", ") + other.name.str();
  return op.emitOpError("cannot have the precision tf32: ")
         << chip.name
         << " has no matrix instruction that rounds float32 to it, expected "
            "one of "
         << names << "; or leave float32-products=tf32 out";
}

/// Whether the sum can be taken apart so often.
static LogicalResult checkSplits(ProductOp op) {
  TilingAttr tiling = *op.getTiling();
  int64_t sum = op.getSizes().depth;
  int64_t most = int64_t(llvm::divideCeil(sum, tiling.getDepth()));
  if (!ShapedType::isDynamic(sum) && tiling.getSplits() > most)
    return op.emitOpError("expected at most ")
           << most << " splits of the sum over " << sum << " columns of "
           << op.getOperandName(0) << ", of which a tile has "
           << tiling.getDepth() << ", got " << tiling.getSplits();
  return success();
}

TilingAttr lnbwd::chooseTiling(ProductOp op, const ChipInfo &chip,
                               int64_t rows) {
  Type element = getMultipliedType(op, chip);
  std::optional<MatrixInstruction> instruction =
      getMatrixInstruction(chip, element);
  if (!instruction)
    return TilingAttr();
  ProductOp::Sizes sizes = op.getSizes();
  bool isKnown = rows != 0;
  if (!ShapedType::isDynamic(sizes.rows))
    rows = sizes.rows;
  else if (!isKnown)
    rows = usualProductRows;
  auto getTile = [](int64_t size) {
    return size > smallTile ? largeTile : smallTile;
  };
  int64_t tileRows = getTile(rows), tileColumns = getTile(sizes.columns);
  int64_t depth =
      tileRowBytes * 8 / getTileType(element).getIntOrFloatBitWidth();
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
  Type element = getMultipliedType(op, chip);
  if (failed(checkPrecision(op, chip)))
    return failure();
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
  Type tileType = getTileType(element);
  int64_t depth = tileRowBytes * 8 / tileType.getIntOrFloatBitWidth();
  if (tiling.getDepth() != depth)
    return op.emitOpError("expected a tiling of depth ")
           << depth << ", the " << tileRowBytes << " bytes of " << tileType
           << " that a tile has of each row of " << op.getOperandName(0)
           << " and " << op.getOperandName(1) << ", got " << tiling.getDepth();
  if (failed(checkSplits(op)))
    return failure();
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
  // A power of two of them.
  for (const auto &entry : ArrayRef(sizes).take_front(2)) {
    int64_t blocks = entry.size * blocksPerTileRow;
    if (blocks < workItems || blocks > mostHeldBlocks * workItems)
      return op.emitOpError("expected ")
             << entry.name << " of the tiling to be from "
             << workItems / blocksPerTileRow << " to "
             << mostHeldBlocks * workItems / blocksPerTileRow << " for "
             << workItems << " work-items, got " << entry.size;
  }
  int64_t bytes = (tiling.getRows() + tiling.getColumns()) * tileRowBytes;
  if (bytes > chip.sharedMemoryBytes)
    return op.emitOpError("expected tiles of at most ")
           << chip.sharedMemoryBytes << " bytes, the shared memory of "
           << chip.name << ", got " << bytes;
  return success();
}
