//===- LowerContractions.cpp - Contractions of waves to instructions ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wave's vectors of two and three dimensions become vectors of its lanes, one
// for each fragment. Which elements of the sum an instruction multiplies does
// not matter as long as they are the same ones of both matrices: so lanes read
// whole blocks, and take them apart for as many instructions as they are enough
// for.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/MatrixTiles.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"

#include <numeric>

namespace lnbwd {
#define GEN_PASS_DEF_LOWERCONTRACTIONSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;
using lane::fragmentSize;
using lane::MatrixWave;

/// Elements of the widest access to device memory.
static constexpr int64_t accessElements = 4;

static Value takePart(IndexBuilder &b, Value vector, int64_t begin,
                      int64_t elements) {
  return vector::ExtractStridedSliceOp::create(b, vector, begin, elements,
                                               /*strides=*/1);
}

static int64_t countElements(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

/// One vector of the elements of all.
static Value join(IndexBuilder &b, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  SmallVector<Value> elements;
  for (Value vector : vectors)
    llvm::append_range(elements,
                       vector::ToElementsOp::create(b, vector).getResults());
  auto type = cast<VectorType>(vectors.front().getType());
  return vector::FromElementsOp::create(
      b, VectorType::get({int64_t(elements.size())}, type.getElementType()),
      elements);
}

//===----------------------------------------------------------------------===//
// What lanes hold
//===----------------------------------------------------------------------===//

static Value getLane(IndexBuilder &b, const MatrixWave &wave) {
  return b.remainder(gpu::ThreadIdOp::create(b, gpu::Dimension::x), wave.lanes);
}

/// The row and the block that a lane reads first of a fragment of a matrix.
static std::pair<Value, Value>
getFirstBlock(IndexBuilder &b, const MatrixWave &wave, bool isRhs) {
  Value lane = getLane(b, wave);
  if (wave.unit == MatrixUnit::MmaSync)
    return {b.divide(lane, 4), b.remainder(lane, 4)};
  Value inRow = b.remainder(lane, fragmentSize);
  Value group = b.divide(lane, fragmentSize);
  if (wave.unit == MatrixUnit::None)
    return {isRhs ? inRow : group, b.index(0)};
  return {inRow, wave.unit == MatrixUnit::ReplicatedWMMA ? b.index(0) : group};
}

/// The blocks that it reads, as rows and blocks after that one.
static SmallVector<std::pair<int64_t, int64_t>>
getBlocks(const MatrixWave &wave) {
  if (wave.unit == MatrixUnit::ReplicatedWMMA)
    return {{0, 0}, {0, 1}};
  if (wave.unit == MatrixUnit::MmaSync)
    return {{0, 0}, {8, 0}};
  return {{0, 0}};
}

/// Elements of a fragment of the result in each lane.
static int64_t getResultElements(const MatrixWave &wave) {
  return fragmentSize * fragmentSize / wave.lanes;
}

namespace {
/// Where neighbouring elements of a row of a fragment of the result are.
struct ResultRun {
  Value row, column;
};
} // namespace

/// The runs that the elements of a lane are, all of one length.
static SmallVector<ResultRun> getRuns(IndexBuilder &b, const MatrixWave &wave) {
  Value lane = getLane(b, wave);
  Value inRow = b.remainder(lane, fragmentSize);
  Value group = b.divide(lane, fragmentSize);
  if (wave.unit == MatrixUnit::None)
    return {{group, inRow}};
  int64_t elements = getResultElements(wave);
  SmallVector<ResultRun> runs;
  if (wave.unit == MatrixUnit::MmaSync)
    for (int64_t i = 0; i < 4; ++i)
      runs.push_back({b.add(b.divide(lane, 4), i % 2 * 8),
                      b.add(b.multiply(b.remainder(lane, 4), 2), i / 2 * 8)});
  else if (wave.unit == MatrixUnit::ReplicatedWMMA)
    for (int64_t i = 0; i < elements; ++i)
      runs.push_back({b.add(group, i * (fragmentSize / elements)), inRow});
  else
    runs.push_back({inRow, b.multiply(group, elements)});
  return runs;
}

/// A wave's vector of two dimensions, a part of the result, becomes a lane's
/// elements of each fragment, row by row; one of three, blocks of rows of a
/// matrix, the blocks of each 16 rows.
static std::optional<LogicalResult>
convertWaveVector(VectorType type, SmallVectorImpl<Type> &results,
                  const MatrixWave &wave) {
  if (type.getRank() < 2)
    return std::nullopt;
  int64_t fragments = type.getDimSize(0) / fragmentSize;
  int64_t elements = getResultElements(wave);
  Type element = type.getElementType();
  if (type.getRank() == 3)
    elements = int64_t(getBlocks(wave).size()) * type.getDimSize(2);
  else
    fragments *= type.getDimSize(1) / fragmentSize;
  results.append(size_t(fragments), VectorType::get({elements}, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
/// Adds the product of a lane's elements of two fragments to those of the
/// result. `element` is what they are multiplied as.
using Multiply = Value (*)(IndexBuilder &b, const MatrixWave &wave,
                           Type element, Value lhs, Value rhs, Value sum);
} // namespace

/// AMD's instructions. A lane holds neighbours along the sum, of one row.
///
/// The matrices change places, so that a lane has neighbours of a row of the
/// result and not of a column; but not where lanes hold the same twice, whose
/// results are neighbours of neither.
static Value multiplyOnAMD(IndexBuilder &b, const MatrixWave &wave,
                           Type element, Value lhs, Value rhs, Value sum) {
  bool isReplicated = wave.unit == MatrixUnit::ReplicatedWMMA;
  bool hasMFMA = !isReplicated && wave.unit != MatrixUnit::WMMA;
  if (!isReplicated)
    std::swap(lhs, rhs);
  // How much of the sum an instruction multiplies.
  int64_t depth = wave.unit == MatrixUnit::WideMFMA ? 32 : 16;
  if (element.isF32())
    depth = 4;
  int64_t elements = isReplicated ? depth : depth / wave.blocks;
  constexpr auto size = uint32_t(fragmentSize);
  for (int64_t part = 0; part < countElements(lhs); part += elements) {
    auto take = [&](Value vector) -> Value {
      if (elements == 1)
        return vector::ExtractOp::create(b, vector, part);
      return takePart(b, vector, part, elements);
    };
    Value ofRhs = take(rhs);
    Value ofLhs = take(lhs);
    if (hasMFMA)
      sum = amdgpu::MFMAOp::create(
          b, sum.getType(), size, size, uint32_t(depth), /*blocks=*/uint32_t(1),
          ofLhs, ofRhs, sum, /*cbsz=*/uint32_t(0), /*abid=*/uint32_t(0),
          amdgpu::MFMAPermB::none);
    else
      sum = amdgpu::WMMAOp::create(b, sum.getType(), size, size,
                                   uint32_t(depth), ofLhs, ofRhs, sum);
  }
  return sum;
}

/// The four registers of a block, as mma.sync has them: of f16 vectors.
static SmallVector<Value> getRegisters(IndexBuilder &b, Value block,
                                       Type element) {
  SmallVector<Value> registers;
  for (int64_t i = 0; i < 4; ++i) {
    Value value = takePart(b, block, i * 2, 2);
    if (element.isBF16())
      value = LLVM::BitcastOp::create(b, b.getI32Type(), value);
    registers.push_back(value);
  }
  return registers;
}

/// mma.sync. Of either matrix a lane has two registers of each of two rows, 8
/// apart, that it multiplies at a time, and a block is two times two of them.
/// An instruction makes 8 columns, so that there are two for a fragment.
/// nvgpu.mma.sync knows no bf16, so that this is what it would become.
static Value multiplyByMmaSync(IndexBuilder &b, const MatrixWave & /*wave*/,
                               Type element, Value lhs, Value rhs, Value sum) {
  auto getHalves = [&](Value vector) {
    int64_t half = countElements(vector) / 2;
    return std::array{
        getRegisters(b, takePart(b, vector, 0, half), element),
        getRegisters(b, takePart(b, vector, half, half), element)};
  };
  auto as = getHalves(lhs), bs = getHalves(rhs);
  Type f32 = b.getF32Type();
  Type four =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  NVVM::MMATypes type =
      element.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  auto sums = llvm::to_vector_of<Value>(
      vector::ToElementsOp::create(b, sum).getResults());
  for (size_t half : {0, 1})
    for (size_t i : {0, 2}) {
      Value part = NVVM::MmaOp::create(
          b, four, {as[0][i], as[1][i], as[0][i + 1], as[1][i + 1]},
          ArrayRef<Value>(bs[half]).slice(i, 2),
          ArrayRef<Value>(sums).slice(half * 4, 4),
          ArrayRef<int64_t>{16, 8, 16},
          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
          std::array<NVVM::MMATypes, 2>{type, type},
          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                         NVVM::MMALayout::col});
      for (int64_t of = 0; of < 4; ++of)
        sums[half * 4 + size_t(of)] = LLVM::ExtractValueOp::create(b, part, of);
    }
  return vector::FromElementsOp::create(b, cast<VectorType>(sum.getType()),
                                        sums);
}

static Value multiplyByFMA(IndexBuilder &b, const MatrixWave & /*wave*/,
                           Type /*element*/, Value lhs, Value rhs, Value sum) {
  auto as = vector::ToElementsOp::create(b, lhs);
  auto bs = vector::ToElementsOp::create(b, rhs);
  Value added = vector::ExtractOp::create(b, sum, 0);
  for (auto [x, y] : llvm::zip_equal(as.getResults(), bs.getResults()))
    added = math::FmaOp::create(b, x, y, added);
  return vector::FromElementsOp::create(b, cast<VectorType>(sum.getType()),
                                        added);
}

static Multiply getMultiply(const MatrixWave &wave) {
  if (wave.unit == MatrixUnit::None)
    return multiplyByFMA;
  return wave.unit == MatrixUnit::MmaSync ? multiplyByMmaSync : multiplyOnAMD;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// What a lane has of each fragment of an operation's result; none of one that
/// has no result.
using Fragments = FailureOr<SmallVector<Value>>;

template <typename Op>
using Adaptor = typename OpConversionPattern<Op>::OneToNOpAdaptor;

namespace {
/// A pattern by a function, which knows the wave.
template <auto lower> struct WavePattern;
template <typename Op, Fragments (*lower)(IndexBuilder &, const MatrixWave &,
                                          Op, Adaptor<Op>)>
struct WavePattern<lower> : OpConversionPattern<Op> {
  WavePattern(const TypeConverter &converter, MLIRContext *context,
              const MatrixWave &wave)
      : OpConversionPattern<Op>(converter, context), wave(wave) {}

  LogicalResult
  matchAndRewrite(Op op, Adaptor<Op> adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    IndexBuilder b(op.getLoc(), rewriter);
    Fragments fragments = lower(b, wave, op, adaptor);
    if (failed(fragments))
      return failure();
    if constexpr (Op::template hasTrait<OpTrait::OneResult>())
      rewriter.replaceOpWithMultiple(op, ArrayRef{*fragments});
    else
      rewriter.eraseOp(op);
    return success();
  }

  const MatrixWave &wave;
};
} // namespace

static Fragments lowerContraction(IndexBuilder &b, const MatrixWave &wave,
                                  vector::ContractionOp op,
                                  Adaptor<vector::ContractionOp> adaptor) {
  // Of rows, blocks and their elements of either tile.
  AffineExpr i, j, k, l;
  bindDims(b.getContext(), i, j, k, l);
  if (op.getKind() != vector::CombiningKind::ADD ||
      op.getIndexingMapsArray() !=
          AffineMap::inferFromExprList(
              ArrayRef<ArrayRef<AffineExpr>>{{i, k, l}, {j, k, l}, {i, j}},
              b.getContext()))
    return failure();
  Type element = op.getLhsType().getElementType();
  SmallVector<Value> sums(adaptor.getAcc());
  auto *sum = sums.begin();
  for (Value lhs : adaptor.getLhs())
    for (Value rhs : adaptor.getRhs()) {
      *sum = getMultiply(wave)(b, wave, element, lhs, rhs, *sum);
      ++sum;
    }
  return sums;
}

static Fragments lowerLoadTile(IndexBuilder &b, const MatrixWave &wave,
                               lane::LoadTileOp op, Adaptor<lane::LoadTileOp>) {
  Value tile = op.getTile();
  VectorType type = op.getType();
  bool isRhs = llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto contraction = dyn_cast<vector::ContractionOp>(use.getOwner());
    return contraction && &use == &contraction.getRhsMutable();
  });
  // Ahead of a loop that loads tiles.
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (loop && loop.isDefinedOutsideOfLoop(op.getRow()))
    b.setInsertionPoint(loop);
  auto [row, block] = getFirstBlock(b, wave, isRhs);
  Value place = lane::getTilePlace(b, b.add(op.getRow(), row), block);
  b.setInsertionPoint(op);
  int64_t elements = type.getDimSize(2);
  auto blockType = VectorType::get(
      {elements}, cast<MemRefType>(tile.getType()).getElementType());
  SmallVector<Value> fragments;
  for (int64_t first = 0; first < type.getDimSize(0); first += fragmentSize) {
    SmallVector<Value> blocks;
    for (auto [rows, columns] : getBlocks(wave))
      blocks.push_back(vector::LoadOp::create(
          b, blockType, tile,
          lane::getTileElement(b, place, first + rows,
                               int64_t(op.getBlock()) + columns, elements),
          /*nontemporal=*/false, llvm::MaybeAlign(lane::blockBytes)));
    fragments.push_back(join(b, blocks));
  }
  return fragments;
}

namespace {
/// Pieces of a lane's part of the result, of neighbouring elements of a row
/// that one access brings.
struct ResultPieces {
  int64_t width = 0;
  /// Of each fragment.
  SmallVector<SmallVector<ResultRun>> fragments;
};
} // namespace

/// Those of a part of the result with so many columns, `type`, that begins with
/// `row` and `column`.
static ResultPieces getPieces(IndexBuilder &b, const MatrixWave &wave,
                              VectorType type, int64_t columns, Value row,
                              Value column) {
  ResultPieces pieces;
  SmallVector<ResultRun> runs = getRuns(b, wave);
  int64_t length = getResultElements(wave) / int64_t(runs.size());
  pieces.width = std::gcd(std::min(length, accessElements), columns);
  for (int64_t i = 0; i < type.getDimSize(0); i += fragmentSize)
    for (int64_t j = 0; j < type.getDimSize(1); j += fragmentSize) {
      auto &ofFragment = pieces.fragments.emplace_back();
      for (ResultRun run : runs)
        for (int64_t part = 0; part < length; part += pieces.width)
          ofFragment.push_back(
              {b.add(b.add(row, i), run.row),
               b.add(b.add(b.add(column, j), run.column), part)});
    }
  return pieces;
}

/// The sizes of a matrix; the number of columns is static.
static std::pair<Value, int64_t> getSizes(IndexBuilder &b, Value matrix) {
  return {b.createOrFold<memref::DimOp>(matrix, int64_t(0)),
          cast<MemRefType>(matrix.getType()).getShape().back()};
}

/// Reads what the result has, or where that ends anything else, which is not
/// stored.
static Fragments lowerRead(IndexBuilder &b, const MatrixWave &wave,
                           vector::TransferReadOp op,
                           Adaptor<vector::TransferReadOp>) {
  Value source = op.getBase(), zero = b.index(0);
  // What lacks rows or columns is the same in all of them.
  ArrayRef<AffineExpr> map = op.getPermutationMap().getResults();
  bool hasRows = isa<AffineDimExpr>(map[0]);
  bool hasColumns = isa<AffineDimExpr>(map[1]);
  auto [rows, columns] =
      hasRows || hasColumns ? getSizes(b, source) : std::pair(zero, int64_t(0));
  ResultPieces pieces =
      getPieces(b, wave, op.getVectorType(), hasColumns ? columns : 0,
                hasRows ? op.getIndices().front() : zero,
                hasColumns ? op.getIndices().back() : zero);
  auto type =
      VectorType::get({pieces.width}, op.getVectorType().getElementType());
  SmallVector<Value> fragments;
  for (ArrayRef<ResultRun> ofFragment : pieces.fragments) {
    SmallVector<Value> vectors;
    for (auto [row, column] : ofFragment) {
      SmallVector<Value> position;
      if (hasRows)
        position.push_back(b.smaller(row, b.subtract(rows, b.index(1))));
      if (!hasColumns) {
        Value scalar = memref::LoadOp::create(b, source, position);
        vectors.push_back(vector::BroadcastOp::create(b, type, scalar));
        continue;
      }
      position.push_back(b.smaller(column, b.index(columns - pieces.width)));
      vectors.push_back(vector::LoadOp::create(b, type, source, position,
                                               /*nontemporal=*/false,
                                               lane::getAccessAlignment(type)));
    }
    fragments.push_back(join(b, vectors));
  }
  return fragments;
}

static Fragments lowerWrite(IndexBuilder &b, const MatrixWave &wave,
                            vector::TransferWriteOp op,
                            Adaptor<vector::TransferWriteOp> adaptor) {
  Value result = op.getBase();
  auto [rows, columns] = getSizes(b, result);
  ResultPieces pieces =
      getPieces(b, wave, op.getVectorType(), columns, op.getIndices().front(),
                op.getIndices().back());
  for (auto [fragment, ofFragment] :
       llvm::zip_equal(adaptor.getValueToStore(), pieces.fragments))
    for (auto [i, piece] : llvm::enumerate(ofFragment)) {
      Value part =
          takePart(b, fragment, int64_t(i) * pieces.width, pieces.width);
      Value isColumn = b.less(piece.column, b.index(columns));
      Value exists = b.both(b.less(piece.row, rows), isColumn);
      SmallVector<Value> place{piece.row, piece.column};
      b.when(exists, [&] {
        vector::StoreOp::create(
            b, part, result, place, /*nontemporal=*/false,
            lane::getAccessAlignment(cast<VectorType>(part.getType())));
      });
    }
  return SmallVector<Value>();
}

namespace {
/// Does the same to each fragment; what is not of fragments is one for all.
struct SplitElementwise : ConversionPattern {
  SplitElementwise(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1,
                          context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    bool isSplit = isa<arith::ConstantOp, vector::FMAOp>(op) ||
                   OpTrait::hasElementwiseMappableTraits(op);
    SmallVector<Type> types;
    if (!isSplit || op->getNumResults() != 1 ||
        failed(typeConverter->convertType(op->getResultTypes()[0], types)))
      return failure();
    SmallVector<Value> fragments;
    for (size_t i = 0; i < types.size(); ++i) {
      IRMapping mapping;
      for (auto [operand, parts] : llvm::zip_equal(op->getOperands(), operands))
        mapping.map(operand, parts[parts.size() == 1 ? 0 : i]);
      fragments.push_back(lane::cloneForPart(rewriter, op, mapping, [&](Type) {
                            return types[i];
                          })->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }
};

class LowerContractions
    : public lnbwd::impl::LowerContractionsPassBase<LowerContractions> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found = getChip(kernel);
    if (failed(found))
      return signalPassFailure();
    // All of a kernel are of matrices of the same types.
    vector::ContractionOp first;
    kernel.walk([&](vector::ContractionOp op) {
      first = op;
      ++numLowered;
    });
    if (!first)
      return;
    auto wave = MatrixWave::get(first.getLhsType().getElementType(), **found);
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [&](VectorType type, SmallVectorImpl<Type> &results) {
          return convertWaveVector(type, results, wave);
        });
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal(
        [&](Operation *op) { return converter.isLegal(op); });
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    patterns.add<WavePattern<lowerContraction>, WavePattern<lowerLoadTile>,
                 WavePattern<lowerRead>, WavePattern<lowerWrite>>(
        converter, context, wave);
    patterns.add<SplitElementwise>(converter, context);
    if (failed(applyFullConversion(kernel, target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
