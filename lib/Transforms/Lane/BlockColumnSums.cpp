//===- BlockColumnSums.cpp - Add up column sums in blocks of iterations ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lnbwd {
#define GEN_PASS_DEF_BLOCKCOLUMNSUMSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Puts `loop`, of so many iterations, into a loop over blocks that adds up
/// their sums.
static void block(lane::ForRowsOp loop, int64_t iterations) {
  IndexBuilder b(loop.getLoc(), loop);
  SmallVector<Value> zeros;
  for (Type type : loop.getSums().getTypes())
    zeros.push_back(b.zero(type));
  Value end = loop.getEnd(), step = b(loop.getStep()) * iterations;
  lane::ForRowsOp blocks =
      lane::makeLoopLike(b, loop, step, /*sums=*/ValueRange(), loop.getInits());
  blocks.removeSumBlockAttr();
  loop.getResults().replaceAllUsesWith(blocks.getResults());
  b.setInsertionPointToStart(&blocks.getBody().front());
  Value first = blocks.getTile();
  Value last = b.atMost(b(first) + step, end);
  ValueRange before(blocks.getRegionIterArgs());
  loop->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  loop.getBeginMutable().assign(first);
  loop.getEndMutable().assign(last);
  loop.getSumsMutable().assign(zeros);
  loop.getCarriedMutable().assign(before.drop_front(zeros.size()));
  loop.removeSumBlockAttr();
  SmallVector<Value> after(loop.getResults());
  for (auto [total, sum] :
       llvm::zip(before, MutableArrayRef(after).take_front(zeros.size())))
    sum = arith::AddFOp::create(b, total, sum, arith::FastMathFlags::contract);
  lane::YieldOp::create(b, after);
}

/// The wait for the staged rows of an iteration of `loop`, or null if its rows
/// are not staged.
static lane::AwaitStageOp getAwaitStage(lane::ForRowsOp loop) {
  auto waits = loop.getBody().getOps<lane::AwaitStageOp>();
  return waits.empty() ? lane::AwaitStageOp() : *waits.begin();
}

/// Adds the sums of an iteration to `totals` and begins new ones, where
/// `iteration` is the last of a block. Returns the sums, the next iteration of
/// the block and the totals.
static SmallVector<Value> addInLastIteration(IndexBuilder &b, Value iteration,
                                             int64_t iterations,
                                             ValueRange sums,
                                             ValueRange totals) {
  Value one = b.int32(1);
  Value next = b(iteration) + one;
  Value count = b.int32(iterations);
  Value isLast = b(next) == count;
  SmallVector<Value> kept(sums);
  kept.push_back(next);
  llvm::append_range(kept, totals);
  auto add = [&] {
    // Zeros that come of the branch: constants would be selected in every
    // iteration. An infinite sum leaves NaN, as its column's infinite total may
    // be, too.
    SmallVector<Value> added;
    for (Value sum : sums)
      added.push_back(arith::SubFOp::create(b, sum, sum));
    added.push_back(b.int32(0));
    for (auto [sum, total] : llvm::zip_equal(sums, totals))
      added.push_back(
          arith::AddFOp::create(b, total, sum, arith::FastMathFlags::contract));
    return added;
  };
  return b.choose(isLast, add, [&] { return kept; });
}

/// Adds sums to totals in a branch of the one loop over staged rows, once in
/// `iterations`: a loop around it would cost the alignment of what is
/// exchanged, and have the next row's scalars waited for before the next copies
/// start. What was a sum is carried, after the stage and its phase the
/// iteration of the block and the totals.
static void blockInIterations(lane::ForRowsOp loop, lane::AwaitStageOp wait,
                              int64_t iterations) {
  IndexBuilder b(loop.getLoc(), loop);
  size_t numSums = loop.getSums().size();
  // Of the state: the region has the tile before.
  size_t behind = cast<BlockArgument>(wait.getPhase()).getArgNumber();
  SmallVector<Value> inserted{b.int32(0)};
  llvm::append_range(inserted, loop.getSums());
  lane::ForRowsOp blocked =
      lane::insertCarried(b, loop, /*sums=*/ValueRange(), behind, inserted);
  blocked.removeSumBlockAttr();
  lane::YieldOp yield = blocked.getYield();
  b.setInsertionPoint(yield);
  SmallVector<Value> yielded(yield.getValues());
  ValueRange state(blocked.getRegionIterArgs());
  SmallVector<Value> next = addInLastIteration(
      b, state[behind], iterations, ArrayRef(yielded).take_front(numSums),
      state.slice(behind + 1, numSums));
  llvm::copy(ArrayRef(next).take_front(numSums), yielded.begin());
  yielded.insert(yielded.begin() + behind, next.begin() + numSums, next.end());
  yield.getValuesMutable().assign(yielded);

  b.setInsertionPointAfter(blocked);
  for (size_t i = 0; i < numSums; ++i) {
    Value left = blocked.getResult(i);
    auto sum = arith::AddFOp::create(b, blocked.getResult(behind + 1 + i), left,
                                     arith::FastMathFlags::contract);
    left.replaceAllUsesExcept(sum, sum);
  }
}

namespace {
struct BlockColumnSums : lnbwd::impl::BlockColumnSumsPassBase<BlockColumnSums> {
  void runOnOperation() override {
    for (lane::ForRowsOp loop :
         lane::collectLoops(getOperation(), &lane::ForRowsOp::getSumBlock)) {
      if (!loop.getWhole()) {
        loop.emitOpError("expected full tiles; run lnbwd-pipeline-rows before");
        return signalPassFailure();
      }
      auto iterations = int64_t(*loop.getSumBlock());
      if (lane::AwaitStageOp wait = getAwaitStage(loop))
        blockInIterations(loop, wait, iterations);
      else
        block(loop, iterations);
      ++numBlocked;
    }
  }
};
} // namespace
