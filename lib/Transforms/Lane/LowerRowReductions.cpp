//===- LowerRowReductions.cpp - Elements, wave, workgroup memory ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pattern for each step of a sum over a row. The last ones, for several
// waves and, in PeerReductions.cpp, for several workgroups, share memory
// between the reductions of a kernel, which is laid out before.
//
//===----------------------------------------------------------------------===//

#include "RowReductions.h"

#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERROWREDUCTIONSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// All that a reduction is but what it reduces.
static lane::ReduceOp replacePartials(PatternRewriter &rewriter,
                                      lane::ReduceOp op, ValueRange partials) {
  return rewriter.replaceOpWithNewOp<lane::ReduceOp>(
      op, op.getResultTypes(), op.getKinds(), partials, op.getLayout(),
      op.getIteration(), op.getPhase(), op.getOwnColumns(), op.getSlicesAttr());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// Combines the elements of a lane's vectors.
struct ReduceElements : OpRewritePattern<lane::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(lane::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (llvm::none_of(op.getPartials().getTypes(), llvm::IsaPred<VectorType>))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> partials(op.getPartials());
    for (auto [i, partial] : llvm::enumerate(partials))
      if (isa<VectorType>(partial.getType()))
        partial = lane::combineElements(b, lane::isMaximum(op.getKinds(), i),
                                        partial);
    replacePartials(rewriter, op, partials);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Lanes of a wave
//===----------------------------------------------------------------------===//

/// A row that lies in one wave.
struct ReduceInWave : OpRewritePattern<lane::ReduceOp> {
  ReduceInWave(MLIRContext *context, int64_t waveSize)
      : OpRewritePattern(context), wave{waveSize} {}

  LogicalResult matchAndRewrite(lane::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (llvm::any_of(op.getPartials().getTypes(), llvm::IsaPred<VectorType>) ||
        op.getLayout().getType().getLanes() > wave.waveSize || op.isShared() ||
        op.getSlices())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, wave.reduce(b, op, op.getPartials()));
    return success();
  }

  lane::WaveReduction wave;
};

//===----------------------------------------------------------------------===//
// Waves
//===----------------------------------------------------------------------===//

/// A row that takes several waves: all sums go through one exchange with one
/// barrier.
struct ReduceOverWaves : lane::ExchangePattern {
  using ExchangePattern::ExchangePattern;

  LogicalResult matchAndRewrite(lane::ReduceOp op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

LogicalResult
ReduceOverWaves::matchAndRewrite(lane::ReduceOp op,
                                 PatternRewriter &rewriter) const {
  lane::LayoutType layout = op.getLayout().getType();
  if (llvm::any_of(op.getPartials().getTypes(), llvm::IsaPred<VectorType>) ||
      layout.getLanes() <= wave.waveSize || op.isShared() || op.getSlices())
    return failure();
  IndexBuilder b(op.getLoc(), rewriter);
  SmallVector<Value> reduced = wave.reduce(b, op, op.getPartials());
  auto count = int64_t(reduced.size());
  // The iteration is where its half begins, from here on.
  Value iteration =
      UnrealizedConversionCastOp::create(b, b.getIndexType(), op.getIteration())
          .getResult(0);
  Value group = lane::GroupOp::create(b, b.getIndexType(), op.getLayout());
  Value ofGroup = b.multiply(group, exchange.slots * count);
  Value base =
      b.add(b.add(iteration, exchange.getOffset(op.getPhase())), ofGroup);
  auto slotType = VectorType::get({count}, b.getF32Type());
  Value mine = vector::FromElementsOp::create(b, slotType, reduced);
  Value laneOfRow = lane::LaneOp::create(b, b.getIndexType(), op.getLayout());
  Value number = b.divide(laneOfRow, wave.waveSize);
  llvm::MaybeAlign aligned = exchange.getAlignment(op.getPhase(), count);
  vector::StoreOp::create(b, mine, exchange.memory,
                          ValueRange{b.add(base, b.multiply(number, count))},
                          /*nontemporal=*/false, aligned);
  lane::BarrierOp::create(b);
  SmallVector<Value> slots;
  for (int64_t i = 0; i < exchange.slots; ++i)
    slots.push_back(vector::LoadOp::create(b, slotType, exchange.memory,
                                           ValueRange{b.add(base, i * count)},
                                           /*nontemporal=*/false, aligned));

  rewriter.replaceOp(op, lane::combineSlots(b, op, slots));
  return success();
}

void lane::populateRowReductionPatterns(RewritePatternSet &patterns,
                                        const ExchangeMemory &exchange,
                                        int64_t waveSize) {
  patterns.add<ReduceElements>(patterns.getContext());
  patterns.add<ReduceInWave>(patterns.getContext(), waveSize);
  patterns.add<ReduceOverWaves>(patterns.getContext(), exchange, waveSize);
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// Iterations become the places where their halves begin, or, where workgroups
/// share rows, the number of rows before; 0 where no memory is used.
static void lowerIterations(gpu::GPUFuncOp kernel,
                            const lane::ExchangeMemory &exchange) {
  SmallVector<Operation *> asked;
  auto lower = [&](ValueRange values) {
    for (Value value : values)
      if (isa<lane::IterationType>(value.getType()))
        value.setType(IndexType::get(kernel.getContext()));
  };
  kernel.walk([&](Operation *op) {
    lower(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        lower(ValueRange(block.getArguments()));
    if (isa<lane::FirstIterationOp, lane::NextIterationOp,
            UnrealizedConversionCastOp>(op))
      asked.push_back(op);
  });
  for (Operation *op : asked) {
    IndexBuilder b(op->getLoc(), op);
    Value result;
    if (isa<lane::FirstIterationOp>(op))
      result = b.index(0);
    else if (isa<lane::NextIterationOp>(op) && exchange.barriers)
      result = b.add(op->getOperand(0), 1);
    else if (isa<lane::NextIterationOp>(op) && exchange.isNeeded())
      result = b.subtract(b.index(exchange.half), op->getOperand(0));
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
    FailureOr<const ChipInfo *> found = getChipOption(kernel, chip);
    if (failed(found))
      return signalPassFailure();
    kernel.walk([&](lane::ReduceOp op) {
      ++numLowered;
      numShared += op.isShared();
    });
    lane::ExchangeMemory exchange;
    if (failed(exchange.layOut(kernel, (*found)->waveSize)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    lane::populateRowReductionPatterns(patterns, exchange, (*found)->waveSize);
    lane::populatePeerReductionPatterns(patterns, exchange, (*found)->waveSize);
    lane::populateCanonicalReductionPatterns(patterns, exchange, **found);
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(applyPatternsGreedily(kernel, std::move(patterns), config)))
      return signalPassFailure();
    lowerIterations(kernel, exchange);
  }
};
} // namespace
