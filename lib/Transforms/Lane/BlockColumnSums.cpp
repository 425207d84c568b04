//===- BlockColumnSums.cpp - Add up column sums in blocks of turns --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd {
#define GEN_PASS_DEF_BLOCKCOLUMNSUMSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

static void block(lane::ForRowsOp loop, int64_t turns) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  size_t numSums = loop.getSums().size();
  SmallVector<Value> zeros;
  for (Type type : loop.getSums().getTypes())
    zeros.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  Value blockStep =
      turns == 1
          ? loop.getStep()
          : Value(arith::MulIOp::create(
                b, loop.getStep(), arith::ConstantIndexOp::create(b, turns)));
  Value end = loop.getEnd();
  auto blocks =
      scf::ForOp::create(b, loop.getBegin(), end, blockStep, loop.getState());
  blocks->setAttr(
      lane::partAttr,
      lane::PartKindAttr::get(b.getContext(), lane::PartKind::SumBlock));
  loop.getResults().replaceAllUsesWith(blocks.getResults());

  b.setInsertionPointToStart(blocks.getBody());
  Value first = blocks.getInductionVar();
  Value next = arith::AddIOp::create(b, first, blockStep);
  Value last = arith::MinUIOp::create(b, next, end);
  loop->moveBefore(blocks.getBody(), blocks.getBody()->end());
  loop.getBeginMutable().assign(first);
  loop.getEndMutable().assign(last);
  loop.getSumsMutable().assign(zeros);
  ValueRange before = blocks.getRegionIterArgs();
  loop.getCarriedMutable().assign(before.drop_front(numSums));
  loop.removeSumBlockAttr();
  b.setInsertionPointAfter(loop);
  SmallVector<Value> after(loop.getResults());
  for (auto [total, sum] :
       llvm::zip(before, MutableArrayRef(after).take_front(numSums)))
    sum = arith::AddFOp::create(b, total, sum, arith::FastMathFlags::contract);
  scf::YieldOp::create(b, after);
}

namespace {
class BlockColumnSums
    : public lnbwd::impl::BlockColumnSumsPassBase<BlockColumnSums> {
public:
  using BlockColumnSumsPassBase::BlockColumnSumsPassBase;

  void runOnOperation() override {
    SmallVector<lane::ForRowsOp> loops;
    getOperation()->walk([&](lane::ForRowsOp loop) {
      if (loop.getSumBlock())
        loops.push_back(loop);
    });
    for (lane::ForRowsOp loop : loops) {
      if (!loop.getWhole()) {
        loop.emitOpError(
            "expected whole sets; run lnbwd-peel-last-rows before");
        return signalPassFailure();
      }
      block(loop, int64_t(*loop.getSumBlock()));
      ++numBlocked;
    }
  }
};
} // namespace
