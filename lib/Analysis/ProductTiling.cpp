//===- ProductTiling.cpp - Tiles of products of matrices ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large tiles read less memory for each product, small ones are more
// workgroups. Where tiles wait in registers there are two sizes; where they are
// copied past these, the time of each of three is estimated.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/ProductTiling.h"

#include "lnbwd/Target/WarpGroupTarget.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Work-items of a workgroup, and the sides of tiles.
static constexpr int64_t threads = 256, largeTile = 128, smallTile = 64;
/// More parts of a sum than this cost more memory than they save time.
static constexpr int64_t maxSplits = 16;
/// Blocks of a tile that a lane brings, at most: where they wait in registers,
/// and where they are copied past those.
static constexpr int64_t mostHeldBlocks = 4, mostCopiedBlocks = 16;
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

//===----------------------------------------------------------------------===//
// Tiles that are copied past the registers
//===----------------------------------------------------------------------===//

/// Elements of the shortest copy past the registers that cp.async fills up.
static constexpr int64_t copiedElements = 8;

static bool hasTileCopies(const ChipInfo &chip) {
  return chip.matrixUnit == MatrixUnit::MmaSync;
}

static int64_t getRowLength(Value matrix) {
  return cast<MemRefType>(matrix.getType()).getDimSize(1);
}

/// Whether elements are of the width that instructions can turn around on
/// their way from shared memory, so that a tile may lie there as in its matrix.
static bool hasCopiedWidth(Type multiplied) {
  return multiplied.isBF16() || multiplied.isF16();
}

/// Whether the rows of both matrices are of whole copies, of what is there.
static bool canCopyTiles(ProductOp op, const ChipInfo &chip) {
  return hasTileCopies(chip) && !op.hasPrologue() &&
         hasCopiedWidth(getMultipliedType(op, chip)) &&
         getRowLength(op.getLhs()) % copiedElements == 0 &&
         getRowLength(op.getRhs()) % copiedElements == 0;
}

/// Rows of an instruction of four waves.
static constexpr int64_t warpGroupRows = waveGroupSize * fragmentSize;

static bool hasWarpGroupProducts(const ChipInfo &chip) {
  return !getWarpGroupTarget(chip).empty();
}

/// Bytes of shared memory that a launch asks for.
static int64_t getCopiedBytes(TilingAttr tiling) {
  return hasWarpGroups(tiling) ? getWarpGroupBytes(tiling)
                               : getStageBytes(tiling) * tiling.getStages();
}

namespace {
/// Tiles to choose from: their sides, those of a wave's piece or 0 where waves
/// multiply in groups, how many there are in shared memory, and how fast a
/// compute unit is with them, in percent.
struct CopiedShape {
  int64_t rows, columns, waveSide, stages, speed;

  TilingAttr getTiling(MLIRContext *context, int64_t splits) const {
    constexpr int64_t depth = tileRowBytes / 2, instructionDepth = 16;
    if (waveSide)
      return TilingAttr::get(context, rows, columns, depth, waveSide, waveSide,
                             /*instruction_rows=*/16, /*instruction_columns=*/8,
                             instructionDepth, splits, stages);
    return TilingAttr::get(context, rows, columns, depth, warpGroupRows,
                           columns, warpGroupRows, columns, instructionDepth,
                           splits, stages);
  }
};
} // namespace

/// Relative to the fastest of each list. Those of single waves are of shared
/// memory: a wave's piece of 64 by 64 reads half as much for each product as
/// one of 32 by 32; none was measured. Those of groups of waves were, by a bT
/// of 8192 x 4096 x 4096.
static constexpr CopiedShape waveShapes[] = {
    {128, 256, 64, 4, 100},
    {128, 256, 64, 3, 95},
    {128, 128, 64, 3, 85},
    {64, 64, 32, 4, 45},
};

static constexpr CopiedShape warpGroupShapes[] = {
    {128, 256, 0, 4, 100},
    {128, 128, 0, 6, 92},
    {64, 128, 0, 6, 60},
    {64, 64, 0, 8, 45},
};

/// What storing an element of a part of a sum and adding it costs, in
/// multiply-adds of a compute unit.
static constexpr int64_t partCost = 6;

static TilingAttr chooseCopiedTiling(ProductOp op, const ChipInfo &chip,
                                     int64_t rows) {
  ProductOp::Sizes sizes = op.getSizes();
  bool isKnown = rows != 0;
  auto size = [&](int64_t known) {
    if (!ShapedType::isDynamic(known))
      return known;
    return isKnown ? rows : usualProductRows;
  };
  int64_t m = size(sizes.rows), n = sizes.columns, depth = size(sizes.depth);
  int64_t tileDepth = tileRowBytes / 2;
  TilingAttr best;
  double least = 0;
  ArrayRef<CopiedShape> shapes(waveShapes);
  if (hasWarpGroupProducts(chip))
    shapes = warpGroupShapes;
  for (const CopiedShape &shape : shapes) {
    TilingAttr whole = shape.getTiling(op.getContext(), /*splits=*/1);
    if (getCopiedBytes(whole) > chip.dynamicSharedMemoryBytes)
      continue;
    int64_t tiles = int64_t(llvm::divideCeil(m, shape.rows) *
                            llvm::divideCeil(n, shape.columns));
    for (int64_t splits = 1; splits <= maxSplits; splits *= 2) {
      // A part is a few tiles; and of rows that nothing is known of, a sum
      // over columns stays whole.
      if (splits > 1 && (splits * minPartTiles * tileDepth > depth ||
                         (!isKnown && !op.getLhsTransposed())))
        break;
      auto perUnit =
          double(llvm::divideCeil(tiles * splits, chip.computeUnits));
      double time = perUnit * double(shape.rows * shape.columns) *
                    (double(depth) / double(splits)) * 100 /
                    double(shape.speed);
      if (splits > 1)
        time += double(partCost * splits) * double(m) * double(n);
      if (best && time >= least)
        continue;
      least = time;
      best = shape.getTiling(op.getContext(), splits);
    }
  }
  return best;
}

/// What tiles with stages need beside what all need.
static LogicalResult checkCopies(ProductOp op, const ChipInfo &chip) {
  TilingAttr tiling = *op.getTiling();
  if (!hasTileCopies(chip))
    return op.emitOpError("expected a tiling of 1 stage: ")
           << chip.name << " has no copies past the registers; got "
           << tiling.getStages();
  if (Type multiplied = getMultipliedType(op, chip);
      !hasCopiedWidth(multiplied))
    return op.emitOpError("expected a tiling of 1 stage for matrices of ")
           << getTileType(multiplied)
           << ", copies past the registers being of 16-bit elements; got "
           << tiling.getStages();
  if (op.hasPrologue())
    return op.emitOpError("expected a tiling of 1 stage with a prologue, "
                          "which copies past the registers cannot have; got ")
           << tiling.getStages();
  for (unsigned i : {0u, 1u}) {
    int64_t length = getRowLength(op->getOperand(i));
    if (length % copiedElements != 0)
      return op.emitOpError("expected rows of a multiple of ")
             << copiedElements << " elements for a tiling of "
             << tiling.getStages() << " stages, got " << length << " of "
             << op.getOperandName(i) << "; leave stages out";
  }
  int64_t bytes = getCopiedBytes(tiling);
  if (bytes > chip.dynamicSharedMemoryBytes)
    return op.emitOpError("expected tiles of at most ")
           << chip.dynamicSharedMemoryBytes << " bytes, what a workgroup of "
           << chip.name << " can ask for, got " << bytes << " in "
           << tiling.getStages() << " stages";
  return success();
}

/// What tilings of instructions of four waves need beside what all need.
static LogicalResult checkWarpGroups(ProductOp op, const ChipInfo &chip) {
  TilingAttr tiling = *op.getTiling();
  if (!hasWarpGroupProducts(chip))
    return op.emitOpError("expected a tiling with an instruction of one wave: ")
           << chip.name << " has none of " << warpGroupRows << " rows";
  auto expect = [&](StringRef name, int64_t wanted,
                    int64_t got) -> LogicalResult {
    if (wanted == got)
      return success();
    return op.emitOpError("expected ") << name << " of the tiling to be "
                                       << wanted << " with an instruction of "
                                       << warpGroupRows << " rows, got " << got;
  };
  constexpr int64_t instructionDepth = 16;
  if (failed(expect("instruction_depth", instructionDepth,
                    tiling.getInstructionDepth())) ||
      failed(expect("depth", tileRowBytes / 2, tiling.getDepth())) ||
      failed(expect("wave_rows", warpGroupRows, tiling.getWaveRows())) ||
      failed(expect("wave_columns", tiling.getColumns(),
                    tiling.getWaveColumns())) ||
      failed(expect("instruction_columns", tiling.getColumns(),
                    tiling.getInstructionColumns())))
    return failure();
  // 128 registers of a work-item are sums, and two groups share the others.
  constexpr int64_t mostRows = 2 * warpGroupRows, leastColumns = 64,
                    mostColumns = 256;
  if (tiling.getRows() > mostRows)
    return op.emitOpError("expected rows of the tiling to be ")
           << warpGroupRows << " or " << mostRows << " with an instruction of "
           << warpGroupRows << " rows, got " << tiling.getRows();
  if (!llvm::isPowerOf2_64(uint64_t(tiling.getColumns())) ||
      tiling.getColumns() < leastColumns || tiling.getColumns() > mostColumns)
    return op.emitOpError("expected columns of the tiling to be a power of two "
                          "from ")
           << leastColumns << " to " << mostColumns
           << " with an instruction of " << warpGroupRows << " rows, got "
           << tiling.getColumns();
  if (tiling.getStages() < 2)
    return op.emitOpError("expected at least 2 stages with an instruction of ")
           << warpGroupRows << " rows, got " << tiling.getStages();
  return checkCopies(op, chip);
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
  if (canCopyTiles(op, chip))
    return chooseCopiedTiling(op, chip, rows);
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
                         instruction->depth, splits, /*stages=*/1);
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
  if (hasWarpGroups(tiling) && hasCopiedWidth(element))
    return failed(checkWarpGroups(op, chip)) ? failure() : checkSplits(op);
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
  int64_t mostBlocks =
      tiling.getStages() > 1 ? mostCopiedBlocks : mostHeldBlocks;
  for (const auto &entry : ArrayRef(sizes).take_front(2)) {
    int64_t blocks = entry.size * blocksPerTileRow;
    if (blocks < workItems || blocks > mostBlocks * workItems)
      return op.emitOpError("expected ")
             << entry.name << " of the tiling to be from "
             << workItems / blocksPerTileRow << " to "
             << mostBlocks * workItems / blocksPerTileRow << " for "
             << workItems << " work-items, got " << entry.size;
  }
  if (tiling.getStages() > 1)
    return checkCopies(op, chip);
  int64_t bytes = getStageBytes(tiling);
  if (bytes > chip.sharedMemoryBytes)
    return op.emitOpError("expected tiles of at most ")
           << chip.sharedMemoryBytes << " bytes, the shared memory of "
           << chip.name << ", got " << bytes;
  return success();
}
