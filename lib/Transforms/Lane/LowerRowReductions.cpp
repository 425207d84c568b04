//===- LowerRowReductions.cpp - Elements, wave, workgroup memory ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pattern for each step of a sum over a row. The last one shares memory
// between the reductions of a kernel, which is laid out before.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/WorkgroupMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERROWREDUCTIONSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

static Value combine(ImplicitLocOpBuilder &b, bool isMaximum, Value lhs,
                     Value rhs) {
  if (isMaximum)
    return arith::MaximumFOp::create(b, lhs, rhs);
  return arith::AddFOp::create(b, lhs, rhs, arith::FastMathFlags::contract);
}

/// All that a reduction is but what it reduces.
static lane::ReduceOp replaceShares(PatternRewriter &rewriter,
                                    lane::ReduceOp op, ValueRange shares) {
  return rewriter.replaceOpWithNewOp<lane::ReduceOp>(
      op, op.getResultTypes(), op.getKinds(), shares, op.getPlace(),
      op.getTurn(), op.getPhase());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// Combines the elements of a lane's vectors by halves: a fixed order, and
/// short dependence chains.
struct ReduceElements : OpRewritePattern<lane::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(lane::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (llvm::none_of(op.getShares().getTypes(), llvm::IsaPred<VectorType>))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> shares(op.getShares());
    for (auto [i, share] : llvm::enumerate(shares))
      if (isa<VectorType>(share.getType()))
        share = reduce(b, lane::isMaximum(op.getKinds(), i), share);
    replaceShares(rewriter, op, shares);
    return success();
  }

private:
  static Value reduce(ImplicitLocOpBuilder &b, bool isMaximum, Value vector) {
    int64_t width = cast<VectorType>(vector.getType()).getNumElements();
    while (width > 1) {
      width /= 2;
      Value low = vector::ExtractStridedSliceOp::create(
          b, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width},
          ArrayRef<int64_t>{1});
      Value high = vector::ExtractStridedSliceOp::create(
          b, vector, ArrayRef<int64_t>{width}, ArrayRef<int64_t>{width},
          ArrayRef<int64_t>{1});
      vector = combine(b, isMaximum, low, high);
    }
    return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
  }
};

//===----------------------------------------------------------------------===//
// Lanes of a wave
//===----------------------------------------------------------------------===//

/// Combines numbers of lanes that lie in one wave, or of each wave of a row.
struct WaveReduction {
  int64_t waveSize;

  SmallVector<Value> reduce(ImplicitLocOpBuilder &b, lane::ReduceOp op) const {
    int64_t lanes = std::min(op.getPlace().getType().getLanes(), waveSize);
    SmallVector<Value> reduced(op.getShares());
    if (lanes == 1)
      return reduced;
    std::optional<uint32_t> size;
    if (lanes < waveSize)
      size = uint32_t(lanes);
    for (auto [i, value] : llvm::enumerate(reduced))
      value = gpu::SubgroupReduceOp::create(
          b, value,
          lane::isMaximum(op.getKinds(), i) ? gpu::AllReduceOperation::MAXIMUMF
                                            : gpu::AllReduceOperation::ADD,
          /*uniform=*/false, size, /*clusterStride=*/1);
    return reduced;
  }
};

/// A row that lies in one wave.
struct ReduceInWave : OpRewritePattern<lane::ReduceOp> {
  ReduceInWave(MLIRContext *context, WaveReduction wave)
      : OpRewritePattern(context), wave(wave) {}

  LogicalResult matchAndRewrite(lane::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (llvm::any_of(op.getShares().getTypes(), llvm::IsaPred<VectorType>) ||
        op.getPlace().getType().getLanes() > wave.waveSize)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, wave.reduce(b, op));
    return success();
  }

  WaveReduction wave;
};

//===----------------------------------------------------------------------===//
// Waves
//===----------------------------------------------------------------------===//

/// Workgroup memory for the sums of all phases of a kernel, in two halves: of
/// each phase and group a slot for each wave.
class ExchangeMemory {
public:
  /// Lays out what the reductions of `kernel` need, if they need any.
  LogicalResult layOut(gpu::GPUFuncOp kernel, int64_t waveSize);

  bool isNeeded() const { return slots != 0; }
  int64_t getHalf() const { return half; }
  int64_t getSlots() const { return slots; }
  Value getMemory() const { return memory; }
  /// Where the slots of a phase begin in a half.
  int64_t getOffset(unsigned phase) const {
    int64_t offset = 0;
    for (unsigned before = 0; before < phase; ++before)
      offset += getLength(before);
    return offset;
  }
  /// What a slot of `count` numbers is aligned to: it lies at a multiple of
  /// what divides its length, the half's, and the slots of each phase.
  llvm::MaybeAlign getAlignment(int64_t count) const {
    auto unit = uint64_t(count | half);
    for (unsigned phase = 0; phase < sumsOfPhase.size(); ++phase)
      unit |= uint64_t(getLength(phase));
    return llvm::MaybeAlign(std::min<uint64_t>(16, 4 * (unit & -unit)));
  }

private:
  int64_t getLength(unsigned phase) const {
    return sumsOfPhase[phase] * groups * slots;
  }

  SmallVector<int64_t> sumsOfPhase;
  int64_t groups = 0;
  int64_t slots = 0;
  int64_t half = 0;
  Value memory;
};

/// A row that takes several waves: all sums go through one exchange with one
/// barrier.
struct ReduceOverWaves : OpRewritePattern<lane::ReduceOp> {
  ReduceOverWaves(MLIRContext *context, WaveReduction wave,
                  const ExchangeMemory &exchange)
      : OpRewritePattern(context), wave(wave), exchange(exchange) {}

  LogicalResult matchAndRewrite(lane::ReduceOp op,
                                PatternRewriter &rewriter) const override;

  WaveReduction wave;
  const ExchangeMemory &exchange;
};
} // namespace

LogicalResult ExchangeMemory::layOut(gpu::GPUFuncOp kernel, int64_t waveSize) {
  WalkResult result = kernel.walk([&](lane::ReduceOp op) {
    lane::PlaceType place = op.getPlace().getType();
    if (place.getLanes() <= waveSize)
      return WalkResult::advance();
    int64_t needed = llvm::divideCeil(place.getLanes(), waveSize);
    auto phase = size_t(op.getPhase());
    if (sumsOfPhase.size() <= phase)
      sumsOfPhase.resize(phase + 1);
    int64_t &sums = sumsOfPhase[phase];
    auto count = int64_t(op.getShares().size());
    if ((slots && (slots != needed || groups != place.getGroups())) ||
        (sums && sums != count)) {
      op.emitOpError("expected the place, and the number of sums, of the "
                     "kernel's other reductions of phase ")
          << phase;
      return WalkResult::interrupt();
    }
    slots = needed;
    groups = place.getGroups();
    sums = count;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!isNeeded())
    return success();
  half = getOffset(unsigned(sumsOfPhase.size()));
  memory = lane::addWorkgroupMemory(kernel, 2 * half,
                                    Float32Type::get(kernel.getContext()));
  return success();
}

LogicalResult
ReduceOverWaves::matchAndRewrite(lane::ReduceOp op,
                                 PatternRewriter &rewriter) const {
  lane::PlaceType place = op.getPlace().getType();
  if (llvm::any_of(op.getShares().getTypes(), llvm::IsaPred<VectorType>) ||
      place.getLanes() <= wave.waveSize)
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto add = [&](Value lhs, Value rhs) -> Value {
    return arith::AddIOp::create(b, lhs, rhs);
  };
  auto multiply = [&](Value lhs, int64_t rhs) -> Value {
    return rhs == 1 ? lhs : arith::MulIOp::create(b, lhs, index(rhs));
  };
  SmallVector<Value> reduced = wave.reduce(b, op);
  auto count = int64_t(reduced.size());
  // The turn is where its half begins, from here on.
  Value turn =
      UnrealizedConversionCastOp::create(b, b.getIndexType(), op.getTurn())
          .getResult(0);
  Value group = lane::GroupOp::create(b, b.getIndexType(), op.getPlace());
  Value base =
      add(add(turn, index(exchange.getOffset(unsigned(op.getPhase())))),
          multiply(group, exchange.getSlots() * count));
  auto slotType = VectorType::get({count}, b.getF32Type());
  Value mine = vector::FromElementsOp::create(b, slotType, reduced);
  Value laneOfRow = lane::LaneOp::create(b, b.getIndexType(), op.getPlace());
  Value number = arith::DivUIOp::create(b, laneOfRow, index(wave.waveSize));
  llvm::MaybeAlign aligned = exchange.getAlignment(count);
  vector::StoreOp::create(b, mine, exchange.getMemory(),
                          ValueRange{add(base, multiply(number, count))},
                          /*nontemporal=*/false, aligned);
  lane::BarrierOp::create(b);
  SmallVector<Value> slots;
  for (int64_t i = 0; i < exchange.getSlots(); ++i)
    slots.push_back(
        vector::LoadOp::create(b, slotType, exchange.getMemory(),
                               ValueRange{add(base, index(i * count))},
                               /*nontemporal=*/false, aligned));

  // Each kind over whole slots, of which each sum takes its element.
  Value total[2];
  for (Value slot : slots)
    for (bool isMaximum : {false, true})
      if (llvm::any_of(llvm::seq<size_t>(0, reduced.size()), [&](size_t i) {
            return lane::isMaximum(op.getKinds(), i) == isMaximum;
          })) {
        Value &known = total[isMaximum];
        known = known ? combine(b, isMaximum, known, slot) : slot;
      }
  SmallVector<Value> results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(vector::ExtractOp::create(
        b, total[lane::isMaximum(op.getKinds(), size_t(i))],
        ArrayRef<int64_t>{i}));
  rewriter.replaceOp(op, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// Turns become the places where their halves begin; 0 where no memory is used.
static void lowerTurns(gpu::GPUFuncOp kernel, const ExchangeMemory &exchange) {
  SmallVector<Operation *> asked;
  auto lower = [&](ValueRange values) {
    for (Value value : values)
      if (isa<lane::TurnType>(value.getType()))
        value.setType(IndexType::get(kernel.getContext()));
  };
  kernel.walk([&](Operation *op) {
    lower(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        lower(ValueRange(block.getArguments()));
  });
  kernel.walk([&](Operation *op) {
    auto cast = dyn_cast<UnrealizedConversionCastOp>(op);
    bool isTurnCast = cast && cast.getOperandTypes() == cast.getResultTypes();
    if (isa<lane::FirstTurnOp, lane::NextTurnOp>(op) || isTurnCast)
      asked.push_back(op);
  });
  for (Operation *op : asked) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value result;
    if (isa<lane::FirstTurnOp>(op))
      result = arith::ConstantIndexOp::create(b, 0);
    else if (isa<lane::NextTurnOp>(op) && exchange.isNeeded())
      result = arith::SubIOp::create(
          b, arith::ConstantIndexOp::create(b, exchange.getHalf()),
          op->getOperand(0));
    else
      result = op->getOperand(0);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}

namespace {
class LowerRowReductions
    : public lnbwd::impl::LowerRowReductionsPassBase<LowerRowReductions> {
public:
  using LowerRowReductionsPassBase::LowerRowReductionsPassBase;

  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found =
        lookupChip(chip, [&] { return emitError(kernel.getLoc()); });
    if (failed(found))
      return signalPassFailure();
    kernel.walk([&](lane::ReduceOp) { ++numLowered; });
    WaveReduction wave{(*found)->waveSize};
    ExchangeMemory exchange;
    if (failed(exchange.layOut(kernel, wave.waveSize)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    patterns.add<ReduceElements>(&getContext());
    patterns.add<ReduceInWave>(&getContext(), wave);
    patterns.add<ReduceOverWaves>(&getContext(), wave, exchange);
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(kernel, std::move(patterns), config)))
      return signalPassFailure();
    lowerTurns(kernel, exchange);
  }
};
} // namespace
