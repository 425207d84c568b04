//===- WarpGroupProduct.cpp - Products by instructions of four waves ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma multiplies tiles where they lie in workgroup memory, and a tensor copy
// brings a whole tile there for one work-item. So four waves do nothing but
// have tiles copied, as far ahead as there is memory, and the others nothing
// but multiply and store:
//
//   the copying waves                       the multiplying ones
//     for each tile of the result:            for each tile of the result:
//       for each turn:                          for each turn:
//         wait until its stage was read           wait until its stage arrived
//         start its copies                        multiply it
//                                                 say that it was read
//                                               store the sums
//
// A workgroup makes tile after tile, so that copies go on while sums are
// stored. Each element of the result is a sum in the order of these turns, and
// in a turn in that of the instructions.
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"
#include "TensorTile.h"

#include "lnbwd/Analysis/ProductTiling.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

/// Registers of a work-item of the copying and of the multiplying waves.
static constexpr uint32_t copyRegisters = 40, productRegisters = 232;
/// Rows of tiles that are made next to each other, so that what they read of
/// both matrices stays in the L2.
static constexpr int64_t groupRows = 16;

namespace {
class WarpGroupProduct : public MatrixProduct {
public:
  WarpGroupProduct(ProductOp op, gpu::GPUModuleOp module, const ChipInfo &chip)
      : MatrixProduct(op, module, chip, getWarpGroupBytes(*op.getTiling()),
                      {waveGroupSize, warpGroupThreads, chip.computeUnits}) {}

protected:
  void addMemory() override {}
  MemRefType getScratchType() override;
  void writeBody() override;
  SmallVector<ResultRun> getRuns(ValueRange fragment) override;

private:
  /// The stage of a turn, and how often all were used, modulo 2.
  struct Turn {
    Value stage, phase;
  };

  void placeMemory();
  void initBarriers();
  /// Goes over the workgroup's tiles. `makeTile` gets the first turn of a
  /// tile, and returns the one behind its last.
  void forEachTile(function_ref<Turn(Turn)> makeTile);
  /// Finds the place of a tile, and the part of the sum.
  void placeTile(Value tile);
  Turn getNext(Turn turn);
  void copyTile();
  void copyTiles();
  void multiplyTiles();
  Value makeSums();
  Value multiplyStage(Value stage, Value sums);

  Value getBarrier(Value barriers, Value stage) {
    return tiles.getPointer(b.add(barriers, b.multiply(stage, barrierBytes)));
  }
  void wait(Value barriers, Turn turn, bool isForBefore);

  static constexpr int64_t barrierBytes = 8;

  /// Of a stage, those that say that it has arrived and that it was read.
  Value arrived, wasRead;
  TensorTile tiles{b};
  TensorTile::Matrix matrixA, matrixB;
  /// Where the tiles of the first stage begin.
  Value firstStage;
  Value rowTiles;
  int64_t columnTiles = 0;
  Value waveInGroup;
};
} // namespace

MemRefType WarpGroupProduct::getScratchType() {
  return MemRefType::get({chip.computeUnits, 2 * TensorTile::mapBytes / 4},
                         b.getF32Type());
}

/// Behind the stages are the barriers, and what tensor maps are made in. The
/// swizzle goes by the bits of addresses.
void WarpGroupProduct::placeMemory() {
  Value memory = tiles.getLaunchedMemory();
  firstStage = b.multiply(
      b.divide(b.add(memory, swizzleBytes - 1), swizzleBytes), swizzleBytes);
  int64_t stages = tiling.getStages();
  arrived = b.add(firstStage, stages * getStageBytes(tiling));
  wasRead = b.add(arrived, stages * barrierBytes);
  auto getMatrix = [&](const ProductSource &source, int64_t side,
                       int64_t index) {
    TensorTile::Matrix matrix{source, side, element, Value()};
    Value parameter = kernel.getArgument(3);
    Value global = memref::ExtractAlignedPointerAsIndexOp::create(b, parameter);
    Value own = b.add(
        b.multiply(b.blockId(gpu::Dimension::x), 2 * TensorTile::mapBytes),
        index * TensorTile::mapBytes);
    matrix.map = b.add(global, own);
    return matrix;
  };
  matrixA = getMatrix(lhs, tiling.getRows(), 0);
  matrixB = getMatrix(rhs, tiling.getColumns(), 1);
}

void WarpGroupProduct::initBarriers() {
  auto isFirst = scf::IfOp::create(b, b.less(thread, b.index(1)),
                                   /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isFirst.thenBlock());
    auto init = [&](Value barriers, int64_t i, int64_t count) {
      NVVM::MBarrierInitOp::create(b, getBarrier(barriers, b.index(i)),
                                   tiles.getI32(count), /*predicate=*/Value());
    };
    for (int64_t i = 0; i < tiling.getStages(); ++i) {
      init(arrived, i, 1);
      init(wasRead, i, tiling.getWaves() * waveGroupSize);
    }
    NVVM::FenceMbarrierInitOp::create(b);
  }
  gpu::BarrierOp::create(b);
}

void WarpGroupProduct::placeTile(Value tile) {
  Value all = arith::MulIOp::create(b, rowTiles, b.index(columnTiles));
  if (frame.splits > 1) {
    part = arith::DivUIOp::create(b, tile, all);
    tile = arith::RemUIOp::create(b, tile, all);
  } else {
    part = b.index(0);
  }
  int64_t groupTiles = groupRows * columnTiles;
  Value groupRow = b.multiply(b.divide(tile, groupTiles), groupRows);
  Value inGroup = b.remainder(tile, groupTiles);
  Value groupHeight =
      b.smaller(b.subtract(rowTiles, groupRow), b.index(groupRows));
  Value row = arith::RemUIOp::create(b, inGroup, groupHeight);
  Value column = arith::DivUIOp::create(b, inGroup, groupHeight);
  firstRow = b.multiply(b.add(groupRow, row), tiling.getRows());
  firstColumn = b.multiply(column, tiling.getColumns());
}

WarpGroupProduct::Turn WarpGroupProduct::getNext(Turn turn) {
  Value next = b.add(turn.stage, 1);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next,
                                       b.index(tiling.getStages()));
  return {arith::SelectOp::create(b, isLast, b.index(0), next),
          arith::SelectOp::create(
              b, isLast, b.exclusiveOr(turn.phase, b.index(1)), turn.phase)};
}

void WarpGroupProduct::wait(Value barriers, Turn turn, bool isForBefore) {
  Value phase = turn.phase;
  if (isForBefore)
    phase = b.exclusiveOr(phase, b.index(1));
  phase = arith::IndexCastOp::create(b, b.getI32Type(), phase);
  constexpr int64_t nanoseconds = 10000000;
  NVVM::MBarrierTryWaitParityOp::create(b, getBarrier(barriers, turn.stage),
                                        phase, tiles.getI32(nanoseconds));
}

void WarpGroupProduct::forEachTile(function_ref<Turn(Turn)> makeTile) {
  Value count =
      arith::MulIOp::create(b, rowTiles, b.index(columnTiles * frame.splits));
  auto loop = scf::ForOp::create(b, b.blockId(gpu::Dimension::x), count,
                                 b.index(frame.workgroups),
                                 ValueRange{b.index(0), b.index(0)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  placeTile(loop.getInductionVar());
  Turn last =
      makeTile({loop.getRegionIterArgs()[0], loop.getRegionIterArgs()[1]});
  scf::YieldOp::create(b, ValueRange{last.stage, last.phase});
}

void WarpGroupProduct::copyTiles() {
  int64_t bytesA = tiling.getRows() * tileRowBytes;
  forEachTile([&](Turn first) -> Turn {
    Range range = getRange();
    auto loop = scf::ForOp::create(b, range.begin, range.end,
                                   b.index(tiling.getDepth()),
                                   ValueRange{first.stage, first.phase});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Turn turn{loop.getRegionIterArgs()[0], loop.getRegionIterArgs()[1]};
    wait(wasRead, turn, /*isForBefore=*/true);
    Value barrier = getBarrier(arrived, turn.stage);
    NVVM::MBarrierArriveExpectTxOp::create(
        b, /*res=*/Type(), barrier, tiles.getI32(getStageBytes(tiling)),
        NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
    Value stage =
        b.add(firstStage, b.multiply(turn.stage, getStageBytes(tiling)));
    Value at = loop.getInductionVar();
    tiles.copy(matrixA, firstRow, at, stage, barrier);
    tiles.copy(matrixB, firstColumn, at, b.add(stage, bytesA), barrier);
    Turn next = getNext(turn);
    scf::YieldOp::create(b, ValueRange{next.stage, next.phase});
    markLoop(loop);
    return {loop.getResult(0), loop.getResult(1)};
  });
}

Value WarpGroupProduct::multiplyStage(Value stage, Value sums) {
  int64_t bytesA = tiling.getRows() * tileRowBytes;
  Value group = b.divide(waveInGroup, waveGroupSize);
  Value inA = b.add(
      stage, b.multiply(group, tiling.getInstructionRows() * tileRowBytes));
  Value inB = b.add(stage, bytesA);
  auto type = element.isF16() ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
  auto getLayout = [](bool isRow) {
    return isRow ? NVVM::MMALayout::row : NVVM::MMALayout::col;
  };
  auto shape = NVVM::MMAShapeAttr::get(
      b.getContext(), int(tiling.getInstructionRows()),
      int(tiling.getInstructionColumns()), int(tiling.getInstructionDepth()));
  NVVM::WgmmaFenceAlignedOp::create(b);
  Value descriptorA = tiles.getDescriptor(matrixA, inA);
  Value descriptorB = tiles.getDescriptor(matrixB, inB);
  for (int64_t i = 0; i < tiling.getDepth() / tiling.getInstructionDepth(); ++i)
    sums = NVVM::WgmmaMmaAsyncOp::create(
        b, sums.getType(), sums, tiles.advance(matrixA, descriptorA, i),
        tiles.advance(matrixB, descriptorB, i), shape, type, type,
        NVVM::WGMMATypes::f32, NVVM::WGMMAScaleOut::one,
        NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one,
        getLayout(lhs.isAlongRows), getLayout(!rhs.isAlongRows),
        NVVM::MMAIntOverflowAttr());
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
  NVVM::WgmmaWaitGroupSyncOp::create(b, uint64_t(0));
  return sums;
}

/// Registers that are 0 before the first instruction's fence: nothing may write
/// them behind it. The assembly is empty: LLVM has nothing else that ties
/// values to registers at a place.
Value WarpGroupProduct::makeSums() {
  SmallVector<Value> zeros = makeZeroSums();
  SmallVector<Type> types(zeros.size(), b.getF32Type());
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  std::string results, operands;
  for (size_t i = 0; i < zeros.size(); ++i) {
    results += "=f,";
    operands += std::to_string(i) + (i + 1 < zeros.size() ? "," : "");
  }
  return LLVM::InlineAsmOp::create(
             b, type, zeros, StringRef(), StringRef(results + operands),
             /*has_side_effects=*/true,
             /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
             /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

/// Neighbouring lanes exchange pairs, so that each stores 4 elements of a row:
/// the even one of the fragment's first 8 columns, the odd one of the others.
SmallVector<ResultRun> WarpGroupProduct::getRuns(ValueRange fragment) {
  Value isOdd = b.less(b.index(0), b.remainder(lane, 2));
  auto select = [&](Value ifOdd, Value ifEven) -> Value {
    return arith::SelectOp::create(b, isOdd, ifOdd, ifEven);
  };
  auto exchange = [&](Value value) -> Value {
    return gpu::ShuffleOp::create(b, value, /*offset=*/1,
                                  int32_t(chip.waveSize), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  auto four = VectorType::get({4}, b.getF32Type());
  Value row = b.divide(lane, 4);
  Value column = b.add(b.multiply(b.divide(b.remainder(lane, 4), 2), 4),
                       b.multiply(b.remainder(lane, 2), 8));
  SmallVector<ResultRun> runs;
  for (size_t half : {0, 1}) {
    ValueRange first = fragment.slice(half * 2, 2);
    ValueRange second = fragment.slice(4 + half * 2, 2);
    SmallVector<Value> own, others;
    for (size_t i : {0, 1}) {
      own.push_back(select(second[i], first[i]));
      others.push_back(exchange(select(first[i], second[i])));
    }
    SmallVector<Value> values{
        select(others[0], own[0]), select(others[1], own[1]),
        select(own[0], others[0]), select(own[1], others[1])};
    runs.push_back({vector::FromElementsOp::create(b, four, values),
                    b.add(row, int64_t(half) * 8), column});
  }
  return runs;
}

void WarpGroupProduct::multiplyTiles() {
  Value isFirstLane = b.less(lane, b.index(1));
  forEachTile([&](Turn first) -> Turn {
    Range range = getRange();
    Value sums = makeSums();
    auto loop = scf::ForOp::create(b, range.begin, range.end,
                                   b.index(tiling.getDepth()),
                                   ValueRange{first.stage, first.phase, sums});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Turn turn{loop.getRegionIterArgs()[0], loop.getRegionIterArgs()[1]};
      wait(arrived, turn, /*isForBefore=*/false);
      Value stage =
          b.add(firstStage, b.multiply(turn.stage, getStageBytes(tiling)));
      sums = multiplyStage(stage, loop.getRegionIterArgs()[2]);
      auto branch = scf::IfOp::create(b, isFirstLane, /*withElseRegion=*/false);
      {
        OpBuilder::InsertionGuard inBranch(b);
        b.setInsertionPointToStart(branch.thenBlock());
        NVVM::MBarrierArriveOp::create(b, b.getI64Type(),
                                       getBarrier(wasRead, turn.stage),
                                       /*count=*/Value());
      }
      Turn next = getNext(turn);
      scf::YieldOp::create(b, ValueRange{next.stage, next.phase, sums});
    }
    markLoop(loop);
    SmallVector<Value> results;
    auto type = cast<LLVM::LLVMStructType>(sums.getType());
    for (size_t i = 0; i < type.getBody().size(); ++i)
      results.push_back(
          LLVM::ExtractValueOp::create(b, loop.getResult(2), int64_t(i)));
    storeResult(results);
    return {loop.getResult(0), loop.getResult(1)};
  });
}

void WarpGroupProduct::writeBody() {
  placeMemory();
  initBarriers();
  rowTiles = b.divide(b.add(rows, tiling.getRows() - 1), tiling.getRows());
  columnTiles = int64_t(llvm::divideCeil(sizes.columns, tiling.getColumns()));
  auto role = scf::IfOp::create(b, b.less(thread, b.index(warpGroupThreads)),
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(role.thenBlock());
  // One group that multiplies has enough as it is.
  bool sharesRegisters = tiling.getWaves() > 1;
  if (sharesRegisters)
    NVVM::SetMaxRegisterOp::create(b, copyRegisters,
                                   NVVM::SetMaxRegisterAction::decrease);
  auto firstWave = scf::IfOp::create(b, b.less(thread, b.index(chip.waveSize)),
                                     /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard inBranch(b);
    b.setInsertionPointToStart(firstWave.thenBlock());
    Value scratch = b.add(arrived, getBarrierBytes(tiling));
    tiles.makeMap(matrixA, scratch, thread);
    tiles.makeMap(matrixB, b.add(scratch, TensorTile::mapBytes), thread);
    auto isFirst = scf::IfOp::create(b, b.less(thread, b.index(1)),
                                     /*withElseRegion=*/false);
    b.setInsertionPointToStart(isFirst.thenBlock());
    copyTiles();
  }
  b.setInsertionPointToStart(role.elseBlock());
  if (sharesRegisters)
    NVVM::SetMaxRegisterOp::create(b, productRegisters,
                                   NVVM::SetMaxRegisterAction::increase);
  thread = b.subtract(thread, b.index(warpGroupThreads));
  placeWave();
  waveInGroup = b.divide(thread, chip.waveSize);
  multiplyTiles();
}

std::unique_ptr<ProductKernel>
lnbwd::makeWarpGroupKernel(ProductOp op, gpu::GPUModuleOp module,
                           const ChipInfo &chip) {
  return std::make_unique<WarpGroupProduct>(op, module, chip);
}
