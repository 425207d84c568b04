//===- ProductToGPU.cpp - Products of matrices to kernels -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for each product. A workgroup makes a tile of the result, and goes
// along the sum, tile by tile of the matrices:
//
//   for each 128 bytes of what is summed over:
//     load the blocks that the work-item brings
//     wait until nobody reads the tiles before
//     blocks to workgroup memory
//     wait until all have written
//     multiply fragment by fragment
//
// Each element of the result is a sum in the order of these tiles, and in a
// tile in that of the instructions. Where sums over the rows are taken apart,
// the parts are matrices side by side in a workspace, and a second kernel adds
// them in their order.
//
//===----------------------------------------------------------------------===//

#include "WaveProduct.h"

#include "../KernelFrame.h"

#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/LaunchPlan/LaunchNotes.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace lnbwd {
#define GEN_PASS_DEF_PRODUCTTOGPUPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Rows and columns of a workgroup's tile of the result.
static constexpr int64_t tileSize = 64;
/// A tile of a matrix has a row for each i (of A) or j (of B), and in it 8
/// blocks of 16 bytes, of neighbouring l, which is what is summed over.
static constexpr int64_t blockBytes = 16, rowBlocks = 8;
/// Waves of a workgroup, with matrix instructions: two rows of two.
static constexpr int64_t numWaves = 4;
/// Work-items of a workgroup that adds parts, an element each.
static constexpr int64_t sumThreads = 256;
/// Workgroups of a sum in parts for each compute unit, which run at once there;
/// more parts than the maximum cost more memory than they save time.
static constexpr int64_t workgroupsOfUnit = 4, maxParts = 16;

static Type getElement(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

static Value loadVector(IndexBuilder &b, Value buffer, ValueRange position,
                        int64_t width) {
  auto type = VectorType::get({width}, getElement(buffer));
  return vector::LoadOp::create(b, type, buffer, position,
                                /*nontemporal=*/false,
                                lane::getAccessAlignment(type));
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

namespace {
/// The epilogue of a product in its kernel. It is written for a row, and may be
/// done to any part of it: its operations are copied with shorter vectors.
/// Without a region it is none.
struct Epilogue {
  Region *region = nullptr;
  /// Of the arguments after the first.
  SmallVector<Value> buffers;

  /// What the region makes of `sums`, a vector of them in `row` from `column`
  /// on.
  Value apply(IndexBuilder &b, Value sums, Value row, Value column) const;
};
} // namespace

Value Epilogue::apply(IndexBuilder &b, Value sums, Value row,
                      Value column) const {
  int64_t width = cast<VectorType>(sums.getType()).getNumElements();
  auto shorten = [&](Type type) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get({width}, vector.getElementType()) : type;
  };
  Block &body = region->front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), sums);
  for (auto [argument, buffer] :
       llvm::zip_equal(body.getArguments().drop_front(), buffers)) {
    SmallVector<Value> position{row, column};
    if (cast<MemRefType>(buffer.getType()).getRank() == 1)
      position.erase(position.begin());
    if (isa<VectorType>(argument.getType()))
      mapping.map(argument, loadVector(b, buffer, position, width));
    else
      mapping.map(argument, memref::LoadOp::create(b, buffer, row).getResult());
  }
  for (Operation &bodyOp : body.without_terminator())
    lane::cloneForPart(b, &bodyOp, mapping, shorten);
  return mapping.lookup(cast<ProductYieldOp>(body.getTerminator()).getRow());
}

//===----------------------------------------------------------------------===//
// A tile of a matrix in workgroup memory
//===----------------------------------------------------------------------===//

namespace {
/// A matrix as a kernel reads it: element (i, l) of A, or (j, l) of B.
struct Matrix {
  Value buffer;
  /// Whether l counts the columns of the buffer.
  bool isAlongSum;
  Value rowCount;
};

/// A work-item brings as many blocks as it takes for all to bring a tile. Of a
/// matrix whose rows go along the sum they are loaded as they are; of another
/// one they lie side by side, an access has elements of some, and the work-item
/// transposes.
///
/// No access is left out where a matrix ends: it is moved to where there is
/// one. Rows and columns of the result that are not there are not stored,
/// whatever they are; what lies beyond the depth is replaced by 0. So loads
/// need no branches.
///
/// A block's place is permuted, so that lanes of one access meet in no bank of
/// memory, whether they read 16 rows of one column of blocks or 2 rows of 4,
/// write the 8 blocks of a row, or, where a matrix is transposed on its way,
/// write rows that lie 2 or 4 apart. All this is linear over bits: the place of
/// a sum whose terms have no bit in common is the exclusive or of their places.
class OperandTile {
public:
  /// A tile from row `first` on, of elements that are widened to `element`,
  /// brought by so many work-items, of which `thread` is one.
  OperandTile(IndexBuilder &b, const Matrix &matrix, Value first, Value memory,
              Value thread, int64_t threads);

  /// Loads the work-item's blocks of the tile that begins with `depth`.
  SmallVector<Value> load(Value depth);
  void store(ValueRange blocks);
  /// The place of block `block` of row `row`.
  Value getPlace(Value row, Value block);
  /// The block that lies so many rows and blocks after `place`, with no bit in
  /// common.
  Value read(Value place, int64_t row, int64_t block);

private:
  Value loadPiece(Value side, Value sum, int64_t width);
  Value getElementAt(Value place, int64_t row, int64_t block);

  IndexBuilder &b;
  Matrix matrix;
  Value memory;
  VectorType blockType;
  int64_t blockElements, columns, numBlocks, blockStep;
  /// The work-item's first i and l, and the place of its first block.
  Value firstSide, firstDepth, place;
};
} // namespace

OperandTile::OperandTile(IndexBuilder &b, const Matrix &matrix, Value first,
                         Value memory, Value thread, int64_t threads)
    : b(b), matrix(matrix), memory(memory),
      blockElements(blockBytes * 8 /
                    getElement(memory).getIntOrFloatBitWidth()),
      columns(cast<MemRefType>(matrix.buffer.getType()).getDimSize(1)),
      numBlocks(tileSize * rowBlocks / threads),
      blockStep(matrix.isAlongSum ? threads / rowBlocks : 1) {
  blockType = VectorType::get({blockElements}, getElement(memory));
  int64_t groups = tileSize / numBlocks;
  Value row = matrix.isAlongSum
                  ? b.divide(thread, rowBlocks)
                  : b.multiply(b.remainder(thread, groups), numBlocks);
  Value block = matrix.isAlongSum ? b.remainder(thread, rowBlocks)
                                  : b.divide(thread, groups);
  firstSide = b.add(first, row);
  firstDepth = b.multiply(block, blockElements);
  place = getPlace(row, block);
}

// Both of these compute the same. With x = row ^ (row >> 3), a block's number
// in its row is exclusive-ored with the low 3 bits of x, rotated right by one;
// and the row's lowest bit with its fifth, where all banks hold two rows.
Value OperandTile::getPlace(Value row, Value block) {
  Value mixed = b.exclusiveOr(row, b.divide(row, 8));
  Value lowest = b.multiply(b.remainder(mixed, 2), 4);
  Value rotated = b.add(b.remainder(b.divide(mixed, 2), 4), lowest);
  Value moved = b.exclusiveOr(row, b.remainder(b.divide(row, 16), 2));
  Value first = b.multiply(moved, rowBlocks);
  return b.add(first, b.exclusiveOr(block, rotated));
}

static int64_t getPlace(int64_t row, int64_t block) {
  int64_t mixed = row ^ (row / 8), rotated = mixed / 2 % 4 + mixed % 2 * 4;
  return (row ^ (row / 16 % 2)) * rowBlocks + (block ^ rotated);
}

Value OperandTile::getElementAt(Value place, int64_t row, int64_t block) {
  // What the banks do not see is added: it becomes the offset of an access.
  int64_t offset = ::getPlace(row, block), low = offset % (2 * rowBlocks);
  return b.add(b.multiply(b.exclusiveOr(place, b.index(low)), blockElements),
               (offset - low) * blockElements);
}

Value OperandTile::read(Value place, int64_t row, int64_t block) {
  return vector::LoadOp::create(
      b, blockType, memory, getElementAt(place, row, block),
      /*nontemporal=*/false, llvm::MaybeAlign(blockBytes));
}

Value OperandTile::loadPiece(Value side, Value sum, int64_t width) {
  bool isAlong = matrix.isAlongSum;
  Value rowCount = matrix.rowCount, columnCount = b.index(columns);
  Value depth = isAlong ? columnCount : rowCount;
  std::optional<int64_t> known = getConstantIntValue(depth);
  bool isWhole = known && *known % (rowBlocks * blockElements) == 0;
  auto clamp = [&](Value at, Value size, int64_t elements) {
    return b.smaller(at, b.subtract(size, b.index(elements)));
  };
  Value read = isWhole ? sum : clamp(sum, depth, isAlong ? width : 1);
  Value kept =
      clamp(side, isAlong ? rowCount : columnCount, isAlong ? 1 : width);
  Value row = isAlong ? kept : read, column = isAlong ? read : kept;
  Value piece = loadVector(b, matrix.buffer, {row, column}, width);
  if (isWhole)
    return piece;
  Value exists = b.less(sum, depth);
  return b.select(exists, piece, b.zero(piece.getType()));
}

SmallVector<Value> OperandTile::load(Value depth) {
  bool isAlong = matrix.isAlongSum;
  Value begin = b.add(depth, firstDepth);
  int64_t count = isAlong ? numBlocks : blockElements;
  int64_t length = isAlong ? blockElements : numBlocks;
  int64_t access = std::gcd(length, columns);
  SmallVector<Value> elements(size_t(numBlocks * blockElements));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t part = 0; part < length; part += access) {
      Value side = b.add(firstSide, isAlong ? i * blockStep : part);
      Value piece = loadPiece(side, b.add(begin, isAlong ? part : i), access);
      auto list = vector::ToElementsOp::create(b, piece);
      for (auto [j, element] : llvm::enumerate(list.getResults())) {
        int64_t at = part + int64_t(j);
        elements[size_t(isAlong ? i * length + at : at * count + i)] = element;
      }
    }
  SmallVector<Value> blocks;
  auto type = VectorType::get({blockElements}, getElement(matrix.buffer));
  for (int64_t i = 0; i < numBlocks; ++i)
    blocks.push_back(vector::FromElementsOp::create(
        b, type,
        ArrayRef(elements).slice(size_t(i * blockElements),
                                 size_t(blockElements))));
  return blocks;
}

void OperandTile::store(ValueRange blocks) {
  for (auto [i, block] : llvm::enumerate(blocks)) {
    Value widened = block;
    if (block.getType() != blockType)
      widened = arith::ExtFOp::create(b, blockType, block);
    vector::StoreOp::create(
        b, widened, memory, getElementAt(place, int64_t(i) * blockStep, 0),
        /*nontemporal=*/false, llvm::MaybeAlign(blockBytes));
  }
}

//===----------------------------------------------------------------------===//
// Kernels and their launches
//===----------------------------------------------------------------------===//

namespace {
class ProductKernel {
public:
  ProductKernel(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip);

  /// Writes the kernel, and its launch before the operation. Returns the number
  /// of kernels.
  unsigned convert();

private:
  /// Adds a kernel of such parameters, and of the number of rows, whose
  /// workgroups make tiles of so many rows and columns.
  gpu::GPUFuncOp addKernel(const Twine &name, ProductLoopAttr loop,
                           int64_t threads, int64_t tileRows,
                           int64_t tileColumns, int64_t gridDepth,
                           ValueRange buffers);
  void writeProduct(gpu::GPUFuncOp kernel);
  void writeSum(gpu::GPUFuncOp kernel);
  /// Finds the sizes in a kernel; before anything else in its body.
  void enter(gpu::GPUFuncOp kernel);
  Value getIndex(int64_t size) {
    return ShapedType::isDynamic(size) ? launched : b.index(size);
  }
  /// Parameter `index` with its true number of rows.
  Value getBuffer(gpu::GPUFuncOp kernel, size_t index, int64_t rows);
  /// The epilogue, whose operands are parameters from `first` on.
  Epilogue getEpilogue(gpu::GPUFuncOp kernel, size_t first);
  /// The wave's sums of part `part` of the depth: of rows and columns of the
  /// tiles from `waveRow` and `waveColumn` on.
  ValueRange sumTiles(OperandTile &tileA, OperandTile &tileB, Value waveRow,
                      Value waveColumn, Value depth, Value part);
  /// Adds to `sums` the products of all fragments in the tiles.
  SmallVector<Value> multiplyTiles(OperandTile &tileA, Value placeA,
                                   OperandTile &tileB, Value placeB,
                                   ValueRange sums);
  /// What of the wave's sums, which begin there, is in the lane.
  SmallVector<ResultRun> getRuns(ValueRange sums, Value firstRow,
                                 Value firstColumn);
  /// Stores what the epilogue, if there is one, makes of `runs`, or of those
  /// that the result has: elements `firstColumn` and more of rows of `result`.
  void storeRuns(ArrayRef<ResultRun> runs, Value result, Value firstColumn,
                 const Epilogue &epilogue);

  ProductOp op;
  ProductOp::Sizes sizes;
  gpu::GPUModuleOp module;
  const ChipInfo &chip;
  IndexBuilder b;
  /// What matrix instructions multiply; null: there are none.
  Type multiplied;
  /// What a tile has.
  Type element;
  int64_t lanes, threads, parts = 1;
  /// How much of the sum a tile of a matrix has.
  int64_t step;
  /// Fragments of a wave's tile, in either direction.
  int64_t fragments;

  std::unique_ptr<WaveProduct> wave;
  /// In a kernel, the number of rows that it is launched for.
  Value launched;
};
} // namespace

ProductKernel::ProductKernel(ProductOp op, gpu::GPUModuleOp module,
                             const ChipInfo &chip)
    : op(op), sizes(op.getSizes()), module(module), chip(chip),
      b(op.getLoc(), op.getContext()), multiplied(getMultipliedType(op, chip)) {
  bool isHalf = multiplied && multiplied.getIntOrFloatBitWidth() == 16;
  element = isHalf ? multiplied : b.getF32Type();
  step = rowBlocks * blockBytes * 8 / element.getIntOrFloatBitWidth();
  lanes = multiplied ? chip.waveSize : WaveProduct::fmaLanes;
  threads = multiplied ? numWaves * lanes : lanes;
  fragments = tileSize / fragmentSize / (multiplied ? 2 : 1);
  if (!op.getLhsTransposed())
    return;
  int64_t tiles = llvm::divideCeil(sizes.rows, tileSize) *
                  llvm::divideCeil(sizes.columns, tileSize);
  parts = std::clamp<int64_t>(workgroupsOfUnit * chip.computeUnits / tiles, 1,
                              maxParts);
}

/// The buffer with its true number of rows, of which `launched` is the one that
/// is dynamic.
Value ProductKernel::getBuffer(gpu::GPUFuncOp kernel, size_t index,
                               int64_t rows) {
  Value parameter = kernel.getArgument(unsigned(index));
  OpFoldResult count = launched;
  if (!ShapedType::isDynamic(rows))
    count = b.getIndexAttr(rows);
  int64_t length = cast<MemRefType>(parameter.getType()).getShape().back();
  return fromParameter(b, b.getLoc(), parameter, count, length);
}

Epilogue ProductKernel::getEpilogue(gpu::GPUFuncOp kernel, size_t first) {
  if (!op.hasEpilogue())
    return {};
  Epilogue result{&op.getEpilogue(), {}};
  for (BlockArgument argument : op.getEpilogue().getArguments().drop_front()) {
    auto type = cast<MemRefType>(kernel.getArgument(unsigned(first)).getType());
    bool isColumn = isa<VectorType>(argument.getType()) && type.getRank() == 1;
    result.buffers.push_back(isColumn ? kernel.getArgument(unsigned(first))
                                      : getBuffer(kernel, first, sizes.rows));
    ++first;
  }
  return result;
}

void ProductKernel::enter(gpu::GPUFuncOp kernel) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  b.setInsertionPoint(gpu::ReturnOp::create(b));
  launched = arith::IndexCastOp::create(
      b, b.getIndexType(), kernel.getArgument(kernel.getNumArguments() - 1));
}

void ProductKernel::storeRuns(ArrayRef<ResultRun> runs, Value result,
                              Value firstColumn, const Epilogue &epilogue) {
  Value rows = getIndex(sizes.rows), columns = b.index(sizes.columns);
  SmallVector<ResultRun> pieces;
  for (const ResultRun &run : runs) {
    int64_t length = cast<VectorType>(run.sums.getType()).getNumElements();
    // The widest access has 4 elements.
    int64_t width = std::gcd(std::min<int64_t>(length, 4), sizes.columns);
    for (int64_t part = 0; part < length; part += width) {
      Value vector = vector::ExtractStridedSliceOp::create(
          b, run.sums, part, width, /*strides=*/1);
      Value column = b.add(run.column, part);
      // All is loaded before anything is stored, and so without branches.
      if (epilogue.region) {
        Value row = b.smaller(run.row, b.subtract(rows, b.index(1)));
        Value from = b.smaller(column, b.index(sizes.columns - width));
        vector = epilogue.apply(b, vector, row, from);
      }
      pieces.push_back({vector, run.row, column});
    }
  }
  for (const ResultRun &piece : pieces) {
    Value isColumn = b.less(piece.column, columns);
    Value exists = b.both(b.less(piece.row, rows), isColumn);
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    vector::StoreOp::create(
        b, piece.sums, result,
        ValueRange{piece.row, b.add(piece.column, firstColumn)},
        /*nontemporal=*/false,
        lane::getAccessAlignment(cast<VectorType>(piece.sums.getType())));
  }
}

SmallVector<Value> ProductKernel::multiplyTiles(OperandTile &tileA,
                                                Value placeA,
                                                OperandTile &tileB,
                                                Value placeB, ValueRange sums) {
  SmallVector<Value> results(sums);
  auto perFragment = results.size() / size_t(fragments * fragments);
  auto readAll = [&](OperandTile &tile, Value place, int64_t block) {
    auto read = SmallVector<SmallVector<Value>>(size_t(fragments));
    for (auto [i, blocks] : llvm::enumerate(read))
      for (auto [row, column] : wave->getBlocks())
        blocks.push_back(
            tile.read(place, int64_t(i) * fragmentSize + row, block + column));
    return read;
  };
  for (int64_t block = 0; block < rowBlocks;
       block += wave->getFragmentBlocks()) {
    auto as = readAll(tileA, placeA, block);
    auto bs = readAll(tileB, placeB, block);
    auto fragment = MutableArrayRef<Value>(results);
    for (const SmallVector<Value> &row : as)
      for (const SmallVector<Value> &column : bs) {
        llvm::copy(
            wave->multiply(row, column,
                           ArrayRef<Value>(fragment.take_front(perFragment))),
            fragment.begin());
        fragment = fragment.drop_front(perFragment);
      }
  }
  return results;
}

void ProductKernel::writeProduct(gpu::GPUFuncOp kernel) {
  auto addTile = [&] {
    return lane::addWorkgroupMemory(kernel, tileSize * step, element);
  };
  Value memoryA = addTile(), memoryB = addTile();
  OpBuilder::InsertionGuard guard(b);
  enter(kernel);
  bool isLhsAlong = !op.getLhsTransposed(), isRhsAlong = op.getRhsTransposed();
  auto matrix = [&](size_t index, bool isAlong, int64_t size) {
    int64_t rows = isAlong ? size : sizes.depth;
    return Matrix{getBuffer(kernel, index, rows), isAlong, getIndex(rows)};
  };
  Matrix lhs = matrix(0, isLhsAlong, sizes.rows);
  Matrix rhs = matrix(1, isRhsAlong, sizes.columns);
  Value result = getBuffer(kernel, 2, sizes.rows);
  // Of parts the kernel that adds them does it.
  Epilogue epilogue = parts == 1 ? getEpilogue(kernel, 3) : Epilogue();
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value firstRow = b.multiply(b.blockId(gpu::Dimension::x), tileSize);
  Value firstColumn = b.multiply(b.blockId(gpu::Dimension::y), tileSize);
  // Of a matrix without rows nothing may be loaded.
  if (isLhsAlong) {
    auto hasRows = scf::IfOp::create(b, b.less(b.index(0), launched),
                                     /*withElseRegion=*/false);
    b.setInsertionPointToStart(hasRows.thenBlock());
  }
  wave = WaveProduct::make(b, chip, multiplied, b.remainder(thread, lanes));
  int64_t waveSize = fragments * fragmentSize;
  Value waveId = b.divide(thread, lanes);
  Value waveRow = b.multiply(b.divide(waveId, 2), waveSize);
  Value waveColumn = b.multiply(b.remainder(waveId, 2), waveSize);
  Value part = parts > 1 ? b.blockId(gpu::Dimension::z) : Value(b.index(0));
  OperandTile tileA(b, lhs, firstRow, memoryA, thread, threads);
  OperandTile tileB(b, rhs, firstColumn, memoryB, thread, threads);
  ValueRange sums =
      sumTiles(tileA, tileB, waveRow, waveColumn, getIndex(sizes.depth), part);
  Value row = b.add(firstRow, waveRow);
  Value column = b.add(firstColumn, waveColumn);
  SmallVector<ResultRun> runs = getRuns(sums, row, column);
  storeRuns(runs, result, b.multiply(part, sizes.columns), epilogue);
}

ValueRange ProductKernel::sumTiles(OperandTile &tileA, OperandTile &tileB,
                                   Value waveRow, Value waveColumn, Value depth,
                                   Value part) {
  auto getPlace = [&](OperandTile &tile, Value first, bool isRhs) {
    auto [row, block] = wave->getFirstBlock(isRhs);
    return tile.getPlace(b.add(first, row), block);
  };
  Value placeA = getPlace(tileA, waveRow, /*isRhs=*/false);
  Value placeB = getPlace(tileB, waveColumn, /*isRhs=*/true);
  // All parts but the last ones have as many tiles.
  int64_t stepOfAll = step * parts;
  Value size =
      b.multiply(b.divide(b.add(depth, stepOfAll - 1), stepOfAll), step);
  Value begin = b.multiply(part, size);
  Value end = b.smaller(b.add(begin, size), depth);
  SmallVector<Value> zeros;
  for (int64_t i = 0; i < fragments * fragments; ++i)
    llvm::append_range(zeros, wave->makeZeros());
  auto loop = scf::ForOp::create(b, begin, end, b.index(step), zeros);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar();
  SmallVector<Value> blocksA = tileA.load(at), blocksB = tileB.load(at);
  wave->emitBarrier();
  tileA.store(blocksA);
  tileB.store(blocksB);
  wave->emitBarrier();
  scf::YieldOp::create(
      b, multiplyTiles(tileA, placeA, tileB, placeB, loop.getRegionIterArgs()));
  return loop.getResults();
}

SmallVector<ResultRun> ProductKernel::getRuns(ValueRange sums, Value firstRow,
                                              Value firstColumn) {
  SmallVector<ResultRun> runs;
  size_t perFragment = sums.size() / size_t(fragments * fragments);
  for (int64_t i = 0; i < fragments * fragments; ++i) {
    Value row = b.add(firstRow, i / fragments * fragmentSize);
    Value column = b.add(firstColumn, i % fragments * fragmentSize);
    for (const ResultRun &run :
         wave->getRuns(sums.slice(size_t(i) * perFragment, perFragment)))
      runs.push_back(
          {run.sums, b.add(row, run.row), b.add(column, run.column)});
  }
  return runs;
}

/// A work-item adds the parts of an element; a workgroup has some of a row.
void ProductKernel::writeSum(gpu::GPUFuncOp kernel) {
  OpBuilder::InsertionGuard guard(b);
  enter(kernel);
  Value from = getBuffer(kernel, 0, sizes.rows);
  Value row = b.blockId(gpu::Dimension::x);
  Value item = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value column =
      b.add(b.multiply(b.blockId(gpu::Dimension::y), sumThreads), item);
  Value read = b.smaller(column, b.index(sizes.columns - 1));
  Value sum;
  for (int64_t part = 0; part < parts; ++part) {
    Value at = b.add(read, part * sizes.columns);
    Value term = loadVector(b, from, {row, at}, /*width=*/1);
    sum = sum ? Value(arith::AddFOp::create(b, sum, term)) : term;
  }
  Value result = getBuffer(kernel, 1, sizes.rows);
  storeRuns(ResultRun{sum, row, column}, result, b.index(0),
            getEpilogue(kernel, 2));
}

gpu::GPUFuncOp ProductKernel::addKernel(const Twine &name, ProductLoopAttr loop,
                                        int64_t threads, int64_t tileRows,
                                        int64_t tileColumns, int64_t gridDepth,
                                        ValueRange buffers) {
  OpBuilder at(op);
  Location loc = op.getLoc();
  SmallVector<Type> types;
  SmallVector<Value> arguments;
  for (Value buffer : buffers) {
    // The first row of a matrix; of what has one dimension all that is static.
    SmallVector<int64_t> shape(cast<MemRefType>(buffer.getType()).getShape());
    if (shape.size() == 2 || ShapedType::isDynamic(shape.front()))
      shape.front() = 1;
    MemRefType type = getParameterType(buffer, shape);
    types.push_back(type);
    arguments.push_back(toParameter(at, loc, buffer, type));
  }
  types.push_back(at.getI64Type());
  Value rowCount = RowCountOp::create(at, loc, op.getLhs());
  arguments.push_back(
      arith::IndexCastOp::create(at, loc, at.getI64Type(), rowCount));

  auto kernel =
      gpu::GPUFuncOp::create(b, name.str(), b.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // As far as a product has a schedule: the launch needs the rows that a
  // workgroup makes, and the report the columns, which the lanes of a row
  // share.
  ScheduleFields fields;
  fields.threadsPerRow = std::gcd(threads, tileColumns);
  fields.rowGroups = threads / fields.threadsPerRow;
  fields.rowsPerWorkgroup = tileRows;
  fields.columnTile = tileColumns;
  ScheduleAttr schedule = fields.get(b.getContext());
  kernel->setAttr(kernelInfoAttr,
                  KernelInfoAttr::get(b.getContext(), kernel.getNameAttr(),
                                      sizes.columns, schedule, loop));
  kernel.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  SymbolTable(module).insert(kernel);

  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(at, loc, value);
  };
  Value rowTiles =
      ShapedType::isDynamic(sizes.rows)
          ? WorkgroupCountOp::create(at, loc, rowCount, Value(), schedule)
          : constant(llvm::divideCeil(sizes.rows, tileRows));
  gpu::KernelDim3 grid{rowTiles,
                       constant(llvm::divideCeil(sizes.columns, tileColumns)),
                       constant(gridDepth)};
  Value one = constant(1);
  gpu::LaunchFuncOp::create(at, loc, kernel, grid,
                            gpu::KernelDim3{constant(threads), one, one},
                            /*dynamicSharedMemorySize=*/Value(), arguments);
  return kernel;
}

unsigned ProductKernel::convert() {
  OpBuilder at(op);
  SmallVector<Value> buffers{op.getLhs(), op.getRhs(), op.getOut()};
  Value workspace;
  if (parts > 1)
    buffers.back() = workspace = memref::AllocOp::create(
        at, op.getLoc(),
        MemRefType::get({sizes.rows, parts * sizes.columns}, at.getF32Type()));
  else
    llvm::append_range(buffers, op.getEpilogueOperands());
  auto getLoop = [&](int64_t step, Type type) {
    int64_t sum = ShapedType::isDynamic(sizes.depth) || !step ? 0 : sizes.depth;
    return ProductLoopAttr::get(at.getContext(), sum, step, parts, type);
  };
  // Not noalias, with which the code generators move loads to where they are
  // used, after the barrier.
  writeProduct(addKernel(op.getEntry(), getLoop(step, multiplied), threads,
                         tileSize, tileSize, parts, buffers));
  if (!workspace)
    return 1;
  buffers = {workspace, op.getOut()};
  llvm::append_range(buffers, op.getEpilogueOperands());
  writeSum(addKernel(op.getEntry() + "_parts", getLoop(0, Type()), sumThreads,
                     /*tileRows=*/1, sumThreads, /*gridDepth=*/1, buffers));
  memref::DeallocOp::create(at, op.getLoc(), workspace);
  return 2;
}

/// Whether there is a kernel of `op` for `chip` that rounds no more than its
/// precision says, and does round so: of tf32 an instruction.
static LogicalResult checkPrecision(ProductOp op, const ChipInfo &chip) {
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

namespace {
class ProductToGPU : public lnbwd::impl::ProductToGPUPassBase<ProductToGPU> {
public:
  using ProductToGPUPassBase::ProductToGPUPassBase;

  void runOnOperation() override {
    FailureOr<const ChipInfo *> found = getChipOption(getOperation(), chip);
    if (failed(found))
      return signalPassFailure();
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(convert(function, **found)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(func::FuncOp function, const ChipInfo &info) {
    SmallVector<ProductOp> products;
    function.walk([&](ProductOp op) { products.push_back(op); });
    if (products.empty())
      return success();
    gpu::GPUModuleOp module;
    function.walk([&](gpu::LaunchFuncOp launch) {
      module = getOperation().lookupSymbol<gpu::GPUModuleOp>(
          launch.getKernelModuleName());
    });
    if (!module)
      module = makeKernelModule(function);
    for (ProductOp op : products) {
      if (op->getParentOp() != function)
        return op.emitOpError("expected to be at the top level of its "
                              "function: a launch plan has no loops or "
                              "branches");
      if (failed(checkPrecision(op, info)) || failed(recordArgumentRoles(op)))
        return failure();
      for (Value operand : op->getOperands())
        recordAccess(operand, operand == op.getOut() ? "write" : "read");
      numKernels += ProductKernel(op, module, info).convert();
      op.erase();
    }
    return success();
  }
};
} // namespace
