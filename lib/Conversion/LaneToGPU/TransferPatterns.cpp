//===- TransferPatterns.cpp - Bytes on their way to workgroup memory ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers that count bytes, workgroups that share rows: NVIDIA's chips
// from sm_90 on.
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
} // namespace

void lnbwd::populateLaneTransfersToNVIDIAPatterns(RewritePatternSet &patterns,
                                                  const PlaceTable &places,
                                                  const ChipInfo &chip) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerInitByteBarriers, LowerExpectBytes, LowerAwaitBytes,
               LowerArriveAtPeers, LowerAwaitPeers>(context);
  patterns.add<LowerSendToPeers>(context, places, chip);
}
