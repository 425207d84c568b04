//===- TransferPatterns.cpp - Bytes on their way to workgroup memory ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers that count bytes, workgroups that share rows, bulk copies: NVIDIA's
// chips from sm_90 on.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Transforms/TargetOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lnbwd;

static const TargetOps &getTarget() { return TargetOps::get(Backend::NVPTX); }

static Value emitIsFirstThread(ImplicitLocOpBuilder &b) {
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread,
                               arith::ConstantIndexOp::create(b, 0));
}

namespace {
struct LowerInitByteBarriers : OpRewritePattern<lane::InitByteBarriersOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::InitByteBarriersOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    emitIf(b, emitIsFirstThread(b),
           [&] { getTarget().initByteBarriers(b, op.getBarriers()); });
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerExpectBytes : OpRewritePattern<lane::ExpectBytesOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::ExpectBytesOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    emitIf(b, emitIsFirstThread(b), [&] {
      getTarget().expectBytes(
          b, op.getBarriers(), op.getIndex(),
          arith::ConstantIntOp::create(b, int32_t(op.getBytes()), 32));
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerAwaitBytes : OpRewritePattern<lane::AwaitBytesOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::AwaitBytesOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    getTarget().waitForBytes(b, op.getBarriers(), op.getIndex(), op.getPhase());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerArriveAtPeers : OpRewritePattern<lane::ArriveAtPeersOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::ArriveAtPeersOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    getTarget().arriveAtCluster(b);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerAwaitPeers : OpRewritePattern<lane::AwaitPeersOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(lane::AwaitPeersOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    getTarget().waitForCluster(b);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerSendToPeers : OpRewritePattern<lane::SendToPeersOp> {
  LowerSendToPeers(MLIRContext *context, const PlaceTable &places,
                   const ChipInfo &chip)
      : OpRewritePattern(context), places(places), chip(chip) {}

  LogicalResult matchAndRewrite(lane::SendToPeersOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const Place &place = places.lookup(op.getPlace());
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    Value peer = arith::RemUIOp::create(b, place.lane, index(chip.waveSize));
    Value sends = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, peer,
                                        index(place.type.getPeers()));
    emitIf(b, sends, [&] {
      getTarget().sendToPeer(b, op.getNumbers(), op.getMemory(), op.getSlot(),
                             op.getBarriers(), op.getIndex(), peer);
    });
    rewriter.eraseOp(op);
    return success();
  }

  const PlaceTable &places;
  const ChipInfo &chip;
};

//===----------------------------------------------------------------------===//
// Rows that come through workgroup memory
//===----------------------------------------------------------------------===//

/// The operations that ask where stages lie.
template <typename Op> class StagePattern : public OpRewritePattern<Op> {
public:
  StagePattern(MLIRContext *context, const PlaceTable &places,
               const StageTable &stages)
      : OpRewritePattern<Op>(context), places(places), stages(stages) {}

protected:
  static Value index(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  /// How many elements the first of the set that begins with row `set` lies
  /// behind the copy's first; null where there is no such distance.
  static Value emitShift(ImplicitLocOpBuilder &b, const StageLayout &layout,
                         lane::PlaceType place, int64_t elementBytes,
                         Value set) {
    if (!layout.needsShift())
      return {};
    Value first = arith::MulIOp::create(b, set, index(b, place.getRowLength()));
    return arith::RemUIOp::create(b, first,
                                  index(b, bulkCopyUnit / elementBytes));
  }

  const PlaceTable &places;
  const StageTable &stages;
};

struct LowerStartCopies : StagePattern<lane::StartCopiesOp> {
  using StagePattern::StagePattern;
  LogicalResult matchAndRewrite(lane::StartCopiesOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                          op.getSet(), op.getEnd());
    Value isFirst = emitIsFirstThread(b);
    emitIf(b, emitBoth(b, isFirst, isThere), [&] { emitCopies(b, op); });
    rewriter.eraseOp(op);
    return success();
  }

private:
  void emitCopies(ImplicitLocOpBuilder &b, lane::StartCopiesOp op) const {
    const Stages &target = stages.lookup(op.getStages());
    const StageLayout &layout = target.layout;
    lane::PlaceType place = op.getPlace().getType();
    Value firstColumn = places.lookup(op.getPlace()).first;
    getTarget().expectBytes(
        b, target.barriers, op.getStage(),
        arith::ConstantIntOp::create(b, layout.getStageBytes(), 32));
    for (auto [i, memory] : llvm::enumerate(op.getMemories())) {
      int64_t elementBytes = layout.elementBytes[i];
      int64_t bytes = layout.getCopyBytes(elementBytes);
      Value column = firstColumn ? firstColumn : index(b, 0);
      if (Value shift = emitShift(b, layout, place, elementBytes, op.getSet()))
        column = arith::SubIOp::create(b, column, shift);
      for (int64_t block = 0; block < layout.getBlocks(); ++block) {
        Value to = index(b, block * bytes / elementBytes);
        Value row = op.getSet();
        if (block)
          row = arith::AddIOp::create(b, row, index(b, block));
        getTarget().bulkCopy(b, target.memories[i], {op.getStage(), to}, memory,
                             {row, column},
                             arith::ConstantIntOp::create(b, bytes, 32),
                             target.barriers, op.getStage());
      }
    }
  }
};

struct LowerAwaitStage : StagePattern<lane::AwaitStageOp> {
  using StagePattern::StagePattern;
  LogicalResult matchAndRewrite(lane::AwaitStageOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    getTarget().waitForBytes(b, stages.lookup(op.getStages()).barriers,
                             op.getStage(), op.getPhase());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerReceive : StagePattern<lane::ReceiveOp> {
  using StagePattern::StagePattern;
  LogicalResult matchAndRewrite(lane::ReceiveOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getAccess())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const Stages &source = stages.lookup(op.getStages());
    const Place &place = places.lookup(op.getPlace());
    SmallVector<Value> begins, received;
    for (int64_t elementBytes : source.layout.elementBytes) {
      Value begin = arith::MulIOp::create(b, place.group,
                                          index(b, source.layout.columns));
      if (Value shift = emitShift(b, source.layout, place.type, elementBytes,
                                  op.getSet()))
        begin = arith::AddIOp::create(b, begin, shift);
      begins.push_back(begin);
    }
    Value column = place.accesses[*op.getAccess()].ownColumn;
    for (auto [part, memory, begin] :
         llvm::zip_equal(op.getParts(), source.memories, begins))
      received.push_back(
          emitLoad(b, cast<VectorType>(part.getType()), memory,
                   {op.getStage(), arith::AddIOp::create(b, begin, column)}));
    rewriter.replaceOp(op, received);
    return success();
  }
};
} // namespace

void lnbwd::populateLaneTransfersToNVIDIAPatterns(RewritePatternSet &patterns,
                                                  const PlaceTable &places,
                                                  const StageTable &stages,
                                                  const ChipInfo &chip) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerInitByteBarriers, LowerExpectBytes, LowerAwaitBytes,
               LowerArriveAtPeers, LowerAwaitPeers>(context);
  patterns.add<LowerSendToPeers>(context, places, chip);
  patterns.add<LowerStartCopies, LowerAwaitStage, LowerReceive>(context, places,
                                                                stages);
}
