//===- ProductToLane.cpp - Products of matrices to the lane level ---------===//
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
//     multiply the fragments that the wave has of the tiles
//
// A wave's part of the result is fragments of 16 x 16 elements, of each of
// which a lane has a vector: what the region does after the product is done to
// these vectors.
//
// Each element of the result is a sum in the order of these tiles, and in a
// tile in that of the instructions. Where sums over the rows are taken apart, a
// workgroup has the tiles of one part.
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/LaunchPlan/LaunchNotes.h"
#include "lnbwd/Transforms/Lane/MatrixTiles.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace lnbwd;
using lane::blockBytes, lane::rowBlocks, lane::fragmentSize;
using lane::FragmentPlaces, lane::MatrixWave;

static constexpr int64_t tileSize = RowwiseOp::productTile;
/// Waves of a workgroup, with matrix instructions: two rows of two.
static constexpr int64_t numWaves = 4;

static Type getElement(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

/// The type that the elements of both matrices are multiplied as: by an
/// instruction of `chip` that adds in float32 and rounds nothing else, or as
/// float32. It is their own where that is the same type of 16 bits, else f32.
/// f16 is multiplied as f32, too, where instructions of f16 flush subnormal
/// numbers: those of f16 begin at 6e-5, where gradients are. Those of bf16,
/// below 1e-38, are left to them.
static Type getMultipliedType(const RowwiseOp::Product &product,
                              const ChipInfo &chip) {
  Type lhs = getElement(product.lhs), rhs = getElement(product.rhs);
  bool isFlushed = lhs.isF16() && chip.matrix.flushesSubnormals;
  bool isNarrow = lhs == rhs && !lhs.isF32() && !isFlushed &&
                  chip.matrixUnit != MatrixUnit::None;
  return isNarrow ? lhs : Float32Type::get(lhs.getContext());
}

//===----------------------------------------------------------------------===//
// A tile of a matrix in workgroup memory
//===----------------------------------------------------------------------===//

static Value countRows(IndexBuilder &b, Value matrix) {
  return b.createOrFold<memref::DimOp>(matrix, int64_t(0));
}

/// One vector of the elements of all.
static Value join(IndexBuilder &b, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  SmallVector<Value> elements;
  for (Value vector : vectors)
    llvm::append_range(elements,
                       vector::ToElementsOp::create(b, vector).getResults());
  auto type = VectorType::get({int64_t(elements.size())},
                              getElementTypeOrSelf(vectors.front()));
  return vector::FromElementsOp::create(b, type, elements);
}

namespace {
/// What both tiles of a workgroup share.
struct Workgroup {
  IndexBuilder &b;
  const MatrixWave &wave;
  int64_t threads;
  /// The number of this work-item, in a kernel.
  Value thread;
  /// Rows and columns of a wave's part of the result.
  int64_t waveSize;
};

/// A matrix as a kernel reads it, element (i, l) of A, or (j, l) of B. A
/// work-item brings as many blocks as it takes for all to bring a tile. Of a
/// matrix whose rows go along the sum they are loaded as they are; of another
/// one they lie side by side, an access has elements of some, and the work-item
/// transposes.
///
/// No access is left out where a matrix ends: it is moved to where there is
/// one. Rows and columns of the result that are not there are not stored,
/// whatever they are; what lies beyond the depth is replaced by 0. So loads
/// need no branches.
class OperandTile {
public:
  /// A tile of `matrix`, with so many rows, from i or j `first` on. `isAlong`
  /// says whether l counts the columns.
  OperandTile(const Workgroup &group, Value matrix, bool isAlong,
              Value rowCount, Value first, Value memory);

  /// Loads the work-item's blocks of the tile that begins with `depth`.
  SmallVector<Value> load(Value depth);
  void store(ValueRange blocks);
  /// Says that the wave multiplies the rows from `row` of the tile on, which
  /// lie in lanes as `places` says.
  void setPart(Value row, const FragmentPlaces &places);
  /// The lane's blocks of each of its fragments, those from `block` on.
  SmallVector<Value> readFragments(int64_t block);

private:
  Value loadPiece(Value side, Value sum, int64_t width);

  const Workgroup &group;
  IndexBuilder &b;
  Value matrix;
  bool isAlong;
  Value rowCount, memory;
  VectorType blockType;
  int64_t blockElements, columns, numBlocks, blockStep;
  /// The work-item's first i and l, and the place of its first block.
  Value firstSide, firstDepth, place;
  /// The place of the first block that the lane reads.
  Value partPlace;
  ArrayRef<std::pair<int64_t, int64_t>> partOffsets;
};
} // namespace

OperandTile::OperandTile(const Workgroup &group, Value matrix, bool isAlong,
                         Value rowCount, Value first, Value memory)
    : group(group), b(group.b), matrix(matrix), isAlong(isAlong),
      rowCount(rowCount), memory(memory),
      blockElements(blockBytes * 8 /
                    getElement(memory).getIntOrFloatBitWidth()),
      columns(cast<MemRefType>(matrix.getType()).getDimSize(1)),
      numBlocks(tileSize * rowBlocks / group.threads),
      blockStep(isAlong ? group.threads / rowBlocks : 1) {
  blockType = VectorType::get({blockElements}, getElement(memory));
  int64_t groups = tileSize / numBlocks;
  Value thread = group.thread;
  Value row = isAlong ? b(thread) / rowBlocks : b(thread) % groups * numBlocks;
  Value block = isAlong ? b(thread) % rowBlocks : b(thread) / groups;
  firstSide = b(first) + row;
  firstDepth = b(block) * blockElements;
  place = group.wave.getTilePlace(b, row, block);
}

Value OperandTile::loadPiece(Value side, Value sum, int64_t width) {
  Value columnCount = b.index(columns);
  Value depth = isAlong ? columnCount : rowCount;
  std::optional<int64_t> known = getConstantIntValue(depth);
  bool isWhole = known && *known % (rowBlocks * blockElements) == 0;
  auto clamp = [&](Value at, Value size, int64_t elements) {
    return b.make<arith::MinSIOp>(at, b(size) - elements);
  };
  Value read = isWhole ? sum : clamp(sum, depth, isAlong ? width : 1);
  Value kept =
      clamp(side, isAlong ? rowCount : columnCount, isAlong ? 1 : width);
  Value row = isAlong ? kept : read, column = isAlong ? read : kept;
  auto type = VectorType::get({width}, getElement(matrix));
  Value piece = vector::LoadOp::create(b, type, matrix, ValueRange{row, column},
                                       /*nontemporal=*/false,
                                       lane::getAccessAlignment(type));
  if (isWhole)
    return piece;
  Value exists = b.less(sum, depth);
  return b.select(exists, piece, b.zero(piece.getType()));
}

SmallVector<Value> OperandTile::load(Value depth) {
  Value begin = b(depth) + firstDepth;
  int64_t count = isAlong ? numBlocks : blockElements;
  int64_t length = isAlong ? blockElements : numBlocks;
  int64_t access = std::gcd(length, columns);
  SmallVector<Value> elements(size_t(numBlocks * blockElements));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t part = 0; part < length; part += access) {
      Value side = b(firstSide) + (isAlong ? i * blockStep : part);
      Value piece = loadPiece(side, b(begin) + (isAlong ? part : i), access);
      auto list = vector::ToElementsOp::create(b, piece);
      for (auto [j, element] : llvm::enumerate(list.getResults())) {
        int64_t at = part + int64_t(j);
        elements[size_t(isAlong ? i * length + at : at * count + i)] = element;
      }
    }
  SmallVector<Value> blocks;
  auto type = VectorType::get({blockElements}, getElement(matrix));
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
        b, widened, memory,
        group.wave.getTileElement(b, place, int64_t(i) * blockStep, /*block=*/0,
                                  blockElements),
        /*nontemporal=*/false, llvm::MaybeAlign(blockBytes));
  }
}

void OperandTile::setPart(Value row, const FragmentPlaces &places) {
  auto [ofLane, block] = group.wave.locate(b, places);
  partPlace = group.wave.getTilePlace(b, b(row) + ofLane, block);
  partOffsets = places.offsets;
}

SmallVector<Value> OperandTile::readFragments(int64_t block) {
  SmallVector<Value> fragments;
  for (int64_t row = 0; row < group.waveSize; row += fragmentSize) {
    SmallVector<Value> blocks;
    for (auto [rows, columns] : partOffsets) {
      Value at = group.wave.getTileElement(b, partPlace, row + rows,
                                           block + columns, blockElements);
      blocks.push_back(vector::LoadOp::create(b, blockType, memory, at,
                                              /*nontemporal=*/false,
                                              llvm::MaybeAlign(blockBytes)));
    }
    fragments.push_back(join(b, blocks));
  }
  return fragments;
}

//===----------------------------------------------------------------------===//
// Kernels and their launches
//===----------------------------------------------------------------------===//

namespace {
class ProductKernel {
public:
  ProductKernel(RowwiseOp op, const ChipInfo &chip);

  /// Writes the kernel, and its launch before the operation.
  void write(SymbolTable &symbols);

private:
  /// Adds the kernel without its body, and the launch.
  void addKernel(SymbolTable &symbols);
  Value getIndex(int64_t size) {
    return ShapedType::isDynamic(size) ? launched : b.index(size);
  }
  /// Parameter `index` with its true number of rows, which begin with
  /// `firstRow` if that is given.
  Value getBuffer(unsigned index, int64_t rows, Value firstRow = {});
  /// The result's pieces of the part of it from `row` and `column` on, which
  /// is the wave's: neighbours of a row, which one access to `columns` of them
  /// brings. Of each fragment.
  struct Pieces {
    int64_t width;
    SmallVector<SmallVector<std::pair<Value, Value>>> fragments;
  };
  Pieces locatePieces(int64_t columns, Value row, Value column);
  /// What parameter `index`, which `map` places, has for each fragment of that
  /// part; where the result ends anything else, which is not stored.
  SmallVector<Value> readPart(unsigned index, AffineMap map, Value row,
                              Value column);
  /// What the region makes of the lane's `sums`.
  SmallVector<Value> applyRegion(ValueRange sums, Value row, Value column);
  void writePart(ValueRange fragments, Value result, Value row, Value column);
  /// The lane's sums of part `part` of the depth: of rows and columns of the
  /// tiles from `waveRow` and `waveColumn` on.
  SmallVector<Value> sumTiles(OperandTile &tileA, OperandTile &tileB,
                              Value waveRow, Value waveColumn, Value depth,
                              Value part);

  RowwiseOp op;
  RowwiseOp::Product product;
  /// The sizes of the result's rows and columns, and of what is summed over;
  /// that which is the number of rows is dynamic.
  int64_t rows = ShapedType::kDynamic, columns, depth = ShapedType::kDynamic;
  IndexBuilder b;
  /// The buffers that the kernel takes: the matrices, the output, and what the
  /// region reads beside the product.
  SmallVector<Value> buffers;
  SmallVector<BlockArgument> read;
  /// What elements are multiplied as, which a tile has.
  Type element;
  MatrixWave wave;
  int64_t threads, parts;
  /// How much of the sum a tile of a matrix has.
  int64_t step;
  /// Rows and columns of a wave's part of the result.
  int64_t waveSize;
  gpu::GPUFuncOp kernel;
  /// In the kernel, the number of rows that it is launched for.
  Value launched;
};
} // namespace

ProductKernel::ProductKernel(RowwiseOp op, const ChipInfo &chip)
    : op(op), product(*op.getProduct()), b(op.getLoc(), op.getContext()),
      buffers{product.lhs, product.rhs, op.getOutputs()[0]},
      element(getMultipliedType(product, chip)),
      wave(MatrixWave::get(element, chip)) {
  auto result = cast<VectorType>(product.value.getType()).getShape();
  auto lhs = cast<MemRefType>(product.lhs.getType());
  auto out = cast<MemRefType>(op.getOutputs()[0].getType());
  columns = result.back();
  (product.sumsRows ? rows : depth) = lhs.getDimSize(1);
  parts = out.getRank() > 2 ? out.getDimSize(0) : 1;
  step = rowBlocks * blockBytes * 8 / element.getIntOrFloatBitWidth();
  bool hasInstruction = wave.unit != MatrixUnit::None;
  threads = wave.lanes * (hasInstruction ? numWaves : 1);
  waveSize = tileSize / (hasInstruction ? 2 : 1);
  for (BlockArgument argument : op.getBody().getArguments())
    if (!product.sumsRows &&
        llvm::any_of(argument.getUsers(),
                     [](Operation *user) { return !isa<LinearOp>(user); })) {
      read.push_back(argument);
      buffers.push_back(op.getOperand(argument.getArgNumber()));
    }
}

Value ProductKernel::getBuffer(unsigned index, int64_t rows, Value firstRow) {
  Value parameter = kernel.getArgument(index);
  OpFoldResult count = launched;
  if (!ShapedType::isDynamic(rows))
    count = b.getIndexAttr(rows);
  int64_t length = cast<MemRefType>(parameter.getType()).getShape().back();
  return fromParameter(b, parameter, count, length, firstRow);
}

ProductKernel::Pieces ProductKernel::locatePieces(int64_t columns, Value row,
                                                  Value column) {
  auto [ofRow, ofColumn] = wave.locate(b, wave.result);
  SmallVector<std::pair<Value, Value>> runs;
  for (auto [rows, columns] : wave.result.offsets)
    runs.emplace_back(b(ofRow) + rows, b(ofColumn) + columns);
  int64_t length = wave.getRunLength(), access = accessBytes / sizeof(float);
  Pieces pieces{std::gcd(std::min(length, access), columns), {}};
  for (int64_t i = 0; i < waveSize; i += fragmentSize)
    for (int64_t j = 0; j < waveSize; j += fragmentSize) {
      auto &ofFragment = pieces.fragments.emplace_back();
      for (auto [ofRow, ofColumn] : runs)
        for (int64_t part = 0; part < length; part += pieces.width) {
          Value at = b(row) + i + ofRow;
          Value first = b(column) + j + ofColumn;
          ofFragment.emplace_back(at, b(first) + part);
        }
    }
  return pieces;
}

SmallVector<Value> ProductKernel::readPart(unsigned index, AffineMap map,
                                           Value row, Value column) {
  // What lacks rows or columns is the same in all of them.
  bool hasRows = map.isFunctionOfDim(0);
  bool hasColumns = map.getNumResults() > unsigned(hasRows);
  Value source = hasRows ? getBuffer(index, rows) : kernel.getArgument(index);
  Value zero = b.index(0), size = hasRows ? countRows(b, source) : zero;
  Pieces pieces = locatePieces(hasColumns ? columns : 0, hasRows ? row : zero,
                               hasColumns ? column : zero);
  auto type = VectorType::get({pieces.width}, getElement(source));
  SmallVector<Value> fragments;
  for (const auto &ofFragment : pieces.fragments) {
    SmallVector<Value> vectors;
    for (auto [row, column] : ofFragment) {
      SmallVector<Value> position;
      if (hasRows)
        position.push_back(b.make<arith::MinSIOp>(row, b(size) - 1));
      if (!hasColumns) {
        Value scalar = memref::LoadOp::create(b, source, position);
        vectors.push_back(vector::BroadcastOp::create(b, type, scalar));
        continue;
      }
      position.push_back(
          b.make<arith::MinSIOp>(column, b.index(columns - pieces.width)));
      vectors.push_back(vector::LoadOp::create(b, type, source, position,
                                               /*nontemporal=*/false,
                                               lane::getAccessAlignment(type)));
    }
    fragments.push_back(join(b, vectors));
  }
  return fragments;
}

/// A row's region, done to each fragment: vectors of a row and numbers become
/// vectors of rows and columns.
SmallVector<Value> ProductKernel::applyRegion(ValueRange sums, Value row,
                                              Value column) {
  auto type = cast<VectorType>(sums.front().getType());
  auto spread = [&](Type ofRow) -> Type {
    return type.clone(getElementTypeOrSelf(ofRow));
  };
  SmallVector<IRMapping> mappings(sums.size());
  auto map = [&](Value value, ValueRange fragments) {
    for (auto [mapping, fragment] : llvm::zip_equal(mappings, fragments))
      mapping.map(value, fragment);
  };
  map(product.value, sums);
  for (auto [i, argument] : llvm::enumerate(read))
    map(argument, readPart(3 + unsigned(i), op.getMap(argument.getArgNumber()),
                           row, column));
  for (Operation &bodyOp : op.getBody().front().without_terminator())
    for (IRMapping &mapping : mappings)
      if (isa<vector::BroadcastOp>(bodyOp))
        mapping.map(bodyOp.getResult(0), mapping.lookup(bodyOp.getOperand(0)));
      else if (!isa<LinearOp>(bodyOp))
        lane::cloneForPart(b, &bodyOp, mapping, spread);
  return llvm::map_to_vector(mappings, [&](IRMapping &mapping) {
    return mapping.lookup(op.getYielded(0));
  });
}

void ProductKernel::writePart(ValueRange fragments, Value result, Value row,
                              Value column) {
  Value rows = countRows(b, result);
  Pieces pieces = locatePieces(columns, row, column);
  auto type = VectorType::get({pieces.width}, getElement(result));
  for (auto [fragment, ofFragment] :
       llvm::zip_equal(fragments, pieces.fragments))
    for (auto [i, piece] : llvm::enumerate(ofFragment)) {
      auto [row, column] = piece;
      Value part =
          lane::takePart(b, fragment, int64_t(i) * pieces.width, pieces.width);
      Value isColumn = b.less(column, b.index(columns));
      Value isRow = b.less(row, rows);
      SmallVector<Value> place{row, column};
      b.when(b.both(isRow, isColumn), [&] {
        vector::StoreOp::create(b, part, result, place, /*nontemporal=*/false,
                                lane::getAccessAlignment(type));
      });
    }
}

void ProductKernel::write(SymbolTable &symbols) {
  addKernel(symbols);
  Value memoryA = lane::addWorkgroupMemory(kernel, tileSize * step, element);
  Value memoryB = lane::addWorkgroupMemory(kernel, tileSize * step, element);
  b.setInsertionPointToEnd(&kernel.getBody().front());
  b.setInsertionPoint(gpu::ReturnOp::create(b));
  launched = arith::IndexCastOp::create(
      b, b.getIndexType(), kernel.getArgument(kernel.getNumArguments() - 1));
  bool isLhsAlong = !product.sumsRows;
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value firstRow = b(gpu::BlockIdOp::create(b, gpu::Dimension::x)) * tileSize;
  Value firstColumn =
      b(gpu::BlockIdOp::create(b, gpu::Dimension::y)) * tileSize;
  // Of a matrix without rows nothing may be loaded.
  if (isLhsAlong) {
    auto hasRows = scf::IfOp::create(b, b.less(b.index(0), launched),
                                     /*withElseRegion=*/false);
    b.setInsertionPointToStart(hasRows.thenBlock());
  }
  Value waveId = b(thread) / wave.lanes;
  Value waveRow = b(waveId) / 2 * waveSize;
  Value waveColumn = b(waveId) % 2 * waveSize;
  Value part = parts > 1 ? gpu::BlockIdOp::create(b, gpu::Dimension::z)
                         : Value(b.index(0));
  Workgroup group{b, wave, threads, thread, waveSize};
  auto tile = [&](unsigned index, bool isAlong, int64_t size, Value first,
                  Value memory) {
    int64_t count = isAlong ? size : depth;
    return OperandTile(group, getBuffer(index, count), isAlong, getIndex(count),
                       first, memory);
  };
  OperandTile tileA = tile(0, isLhsAlong, rows, firstRow, memoryA);
  OperandTile tileB =
      tile(1, product.isTransposed, columns, firstColumn, memoryB);
  SmallVector<Value> sums =
      sumTiles(tileA, tileB, waveRow, waveColumn, getIndex(depth), part);
  Value row = b(firstRow) + waveRow;
  Value column = b(firstColumn) + waveColumn;
  Value result = getBuffer(2, rows, parts > 1 ? b(part) * rows : Value());
  Type element = getElement(result);
  if (!product.sumsRows)
    sums = applyRegion(sums, row, column);
  else if (!element.isF32())
    for (Value &sum : sums)
      sum = arith::TruncFOp::create(
          b, cast<VectorType>(sum.getType()).clone(element), sum);
  writePart(sums, result, row, column);
}

SmallVector<Value> ProductKernel::sumTiles(OperandTile &tileA,
                                           OperandTile &tileB, Value waveRow,
                                           Value waveColumn, Value depth,
                                           Value part) {
  // All parts but the last ones have as many tiles.
  int64_t stepOfAll = step * parts;
  Value size = (b(depth) + (stepOfAll - 1)) / stepOfAll * step;
  Value begin = b(part) * size;
  Value end = b.make<arith::MinSIOp>(b(begin) + size, depth);
  auto fragments = size_t(waveSize / fragmentSize);
  SmallVector<Value> zeros(
      fragments * fragments,
      b.zero(VectorType::get({wave.countElements()}, b.getF32Type())));
  tileA.setPart(waveRow, wave.lhs);
  tileB.setPart(waveColumn, wave.rhs);
  auto loop = scf::ForOp::create(b, begin, end, b.index(step), zeros);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value at = loop.getInductionVar();
  SmallVector<Value> blocksA = tileA.load(at), blocksB = tileB.load(at);
  lane::BarrierOp::create(b);
  tileA.store(blocksA);
  tileB.store(blocksB);
  lane::BarrierOp::create(b);
  SmallVector<Value> sums(loop.getRegionIterArgs());
  for (int64_t block = 0; block < rowBlocks; block += wave.blocks) {
    SmallVector<Value> lhs = tileA.readFragments(block);
    SmallVector<Value> rhs = tileB.readFragments(block);
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = lane::MultiplyOp::create(b, lhs[i / fragments], rhs[i % fragments],
                                     sum);
  }
  scf::YieldOp::create(b, sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void ProductKernel::addKernel(SymbolTable &symbols) {
  SmallVector<Type> types;
  for (Value buffer : buffers) {
    // The first row of a matrix; of what has one dimension all that is static.
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> shape(type.getShape().take_back(2));
    if (type.getRank() > 1 || !type.hasStaticShape())
      shape.front() = 1;
    types.push_back(getParameterType(buffer, shape));
  }
  // As far as a product has a schedule: the launch needs the rows that a
  // workgroup makes, and the report the columns, which the lanes of a row
  // share.
  Schedule fields;
  fields.threadsPerRow = std::gcd(threads, tileSize);
  fields.rowGroups = threads / fields.threadsPerRow;
  fields.rowsPerWorkgroup = fields.columnTile = tileSize;
  auto schedule = ScheduleAttr::get(b.getContext(), fields);
  int64_t sum = product.sumsRows ? 0 : depth;
  auto loop =
      ProductLoopAttr::get(b.getContext(), sum, step, parts,
                           wave.unit == MatrixUnit::None ? Type() : element);
  // Not noalias, with which the code generators move loads to where they are
  // used, after the barrier.
  kernel = lnbwd::addKernel(
      symbols, op.getLoc(), types, /*numCounts=*/1,
      KernelInfoAttr::get(b.getContext(), op.getEntryAttr(), columns, schedule,
                          loop, /*canonical=*/false,
                          /*no_sinking=*/false));

  IndexBuilder at(op.getLoc(), op);
  Value rowCount = RowCountOp::create(at, product.lhs);
  Value rowTiles =
      product.sumsRows
          ? Value(at.index(llvm::divideCeil(rows, tileSize)))
          : WorkgroupCountOp::create(at, rowCount, Value(), schedule);
  addLaunch(at, kernel, buffers, rowCount,
            {rowTiles, at.index(llvm::divideCeil(columns, tileSize)),
             at.index(parts)});
}

void lnbwd::distributeProduct(RowwiseOp op, SymbolTable &symbols,
                              const ChipInfo &chip) {
  ProductKernel(op, chip).write(symbols);
}
