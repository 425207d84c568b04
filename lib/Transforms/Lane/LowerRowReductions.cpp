//===- LowerRowReductions.cpp - Elements, wave, workgroup memory ----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each step of a sum over a row. The last ones, for several
// waves and, in PeerReductions.cpp, for several workgroups, share memory
// between the reductions of a kernel, which is laid out before.
//
//===----------------------------------------------------------------------===//

#include "RowReductions.h"

#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/Passes.h"
#include "lnbwd/Transforms/Lane/Utils.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/RegionUtils.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERROWREDUCTIONSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combines the sums of waves where a row takes several: all go through one
/// exchange with one barrier.
static SmallVector<Value> reduceOverWaves(IndexBuilder &b, lane::ReduceOp op,
                                          const lane::ExchangeMemory &exchange,
                                          ValueRange sums) {
  auto count = int64_t(sums.size());
  Value base = exchange.getSlots(b, op);
  Value mine = lane::makeSlot(b, sums);
  Value laneOfRow = lane::LaneOp::create(b, b.getIndexType(), op.getLayout());
  lane::LayoutType layout = op.getLayout().getType();
  Value number = b(laneOfRow) / layout.getLanesInWave(exchange.chip.waveSize);
  int64_t ofPeers = op.isShared() ? op.getPeers() : 0;
  lane::Slots slots{exchange.slots - ofPeers, count,
                    exchange.getSlotDistance(op, count),
                    exchange.getAlignment(op.getPhase(), count)};
  Value place = b(base) + b(number) * slots.distance;
  lane::exchangeSlot(b, exchange, mine, place, slots);
  return lane::combineSlots(b, op, lane::loadSlots(b, exchange, base, slots));
}

/// What replaces `op`: first the elements of a lane's vectors are combined.
static SmallVector<Value> reduce(IndexBuilder &b, lane::ReduceOp op,
                                 const lane::ExchangeMemory &exchange) {
  if (op.getSlices())
    return lane::reduceSlices(b, op, exchange);
  SmallVector<Value> sums(op.getPartials());
  for (auto [i, sum] : llvm::enumerate(sums))
    if (isa<VectorType>(sum.getType()))
      sum = lane::combineElements(b, lane::isMaximum(op.getKinds(), i), sum);
  int64_t waveSize = exchange.chip.waveSize;
  sums = lane::reduceInWave(b, op, waveSize, sums);
  lane::LayoutType layout = op.getLayout().getType();
  if (layout.getLanes() > layout.getLanesInWave(waveSize) &&
      (layout.getAcross() || !op.isShared()))
    sums = reduceOverWaves(b, op, exchange, sums);
  if (op.isShared())
    sums = lane::reduceOverPeers(b, op, exchange, sums);
  return sums;
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

namespace {
/// Whatever has an iteration, by the number that this has become: the place
/// where its half begins, or, where workgroups share rows, the rows before; 0
/// where no memory is used.
struct LowerIterations : ConversionPattern {
  LowerIterations(const TypeConverter &converter, MLIRContext *context,
                  const lane::ExchangeMemory &exchange)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1,
                          context),
        exchange(exchange) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    IndexBuilder b(op->getLoc(), rewriter);
    if (isa<lane::FirstIterationOp>(op)) {
      rewriter.replaceOp(op, b.index(0).value);
    } else if (isa<lane::NextIterationOp>(op)) {
      Value next = operands.front();
      if (exchange.barriers)
        next = b(next) + 1;
      else if (exchange.isNeeded())
        next = b.index(exchange.half) - next;
      rewriter.replaceOp(op, next);
    } else if (auto ofPhase = dyn_cast<lane::ReduceOp>(op)) {
      lane::ExchangeMemory ofRow = exchange;
      ofRow.iteration = operands.back();
      rewriter.replaceOp(op, reduce(b, ofPhase, ofRow));
    } else {
      rewriter.modifyOpInPlace(op, [&] {
        op->setOperands(operands);
        for (Value result : op->getResults())
          result.setType(getTypeConverter()->convertType(result.getType()));
      });
      for (Region &region : op->getRegions())
        if (failed(rewriter.convertRegionTypes(&region, *getTypeConverter())))
          return failure();
    }
    return success();
  }

  const lane::ExchangeMemory &exchange;
};

} // namespace

//===----------------------------------------------------------------------===//
// Copies to stages
//===----------------------------------------------------------------------===//

/// The last barrier before `op` in its block, or null.
static lane::BarrierOp getLastBarrier(Operation *op) {
  while (op && !isa<lane::BarrierOp>(op))
    op = op->getPrevNode();
  return dyn_cast_or_null<lane::BarrierOp>(op);
}

/// The first barrier or send of sums in the iteration of `copies`
/// after the loads from the stage and before `barrier`, or null.
static Operation *getFirstSynchronization(lane::StartCopiesOp copies,
                                          lane::BarrierOp barrier) {
  Operation *synchronization = nullptr;
  for (Operation *op = barrier->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto receive = dyn_cast<lane::ReceiveOp>(op);
        receive && receive.getStages() == copies.getStages())
      break;
    if (isa<lane::BarrierOp, lane::SendToPeersOp>(op))
      synchronization = op;
  }
  return synchronization;
}

/// Starts `copies` where its stage is free: when all lanes have loaded their
/// fragments from it, which a barrier of the exchange may say.
static LogicalResult hoist(lane::StartCopiesOp copies, RewriterBase &rewriter) {
  auto barrier = getLastBarrier(copies);
  if (!barrier)
    return copies.emitOpError("expected a lane.barrier before it in its "
                              "iteration, after which its stage is free");
  Operation *synchronization = getFirstSynchronization(copies, barrier);
  if (!synchronization)
    return success();
  Operation *behind = synchronization->getNextNode();
  if (failed(moveOperationDependencies(rewriter, copies, behind)))
    return success();
  copies->moveBefore(behind);
  if (isa<lane::BarrierOp>(synchronization))
    barrier.erase();
  else // The tile is computed on the way to the copies.
    barrier->moveAfter(synchronization);
  return success();
}

namespace {
struct LowerRowReductions
    : lnbwd::impl::LowerRowReductionsPassBase<LowerRowReductions> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found = getChip(kernel);
    if (failed(found))
      return signalPassFailure();
    lane::ExchangeMemory exchange(**found);
    if (failed(exchange.layOut(kernel)))
      return signalPassFailure();
    kernel.walk([&](lane::ReduceOp op) {
      ++numLowered;
      numShared += op.isShared();
    });
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](lane::IterationType type) -> Type {
      return IndexType::get(type.getContext());
    });
    ConversionTarget target(getContext());
    target.addIllegalOp<lane::FirstIterationOp, lane::NextIterationOp,
                        lane::ReduceOp>();
    target.markUnknownOpDynamicallyLegal(
        [&](Operation *op) { return converter.isLegal(op); });
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerIterations>(converter, &getContext(), exchange);
    if (failed(applyFullConversion(kernel, target, std::move(patterns))))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    if (kernel
            .walk([&](lane::StartCopiesOp copies) {
              bool isInLoop = isa<lane::ForRowsOp>(copies->getParentOp());
              return WalkResult(isInLoop ? hoist(copies, rewriter) : success());
            })
            .wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
