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

/// Makes `loop` one over the rows from `first` up to `next`, or `end`, which
/// begins with zeros and goes on from `before`: totals, and what it carries.
/// Returns the same behind it.
static SmallVector<Value> addBlock(ImplicitLocOpBuilder &b,
                                   lane::ForRowsOp loop, ValueRange zeros,
                                   Value first, Value next, Value end,
                                   ValueRange before) {
  Value last = arith::MinUIOp::create(b, next, end);
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
  return after;
}

/// A loop over blocks in the place of `loop`, which goes into it.
static void block(lane::ForRowsOp loop, int64_t turns) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  SmallVector<Value> zeros;
  for (Type type : loop.getSums().getTypes())
    zeros.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  Value step =
      turns == 1
          ? loop.getStep()
          : Value(arith::MulIOp::create(
                b, loop.getStep(), arith::ConstantIndexOp::create(b, turns)));
  Value begin = loop.getBegin(), end = loop.getEnd();
  auto part = lane::PartKindAttr::get(b.getContext(), lane::PartKind::SumBlock);
  if (!loop.getEntered()) {
    auto blocks = scf::ForOp::create(b, begin, end, step, loop.getState());
    blocks->setAttr(lane::partAttr, part);
    loop.getResults().replaceAllUsesWith(blocks.getResults());
    b.setInsertionPointToStart(blocks.getBody());
    Value first = blocks.getInductionVar();
    Value next = arith::AddIOp::create(b, first, step);
    scf::YieldOp::create(b, addBlock(b, loop, zeros, first, next, end,
                                     blocks.getRegionIterArgs()));
    return;
  }
  SmallVector<Value> state{begin};
  llvm::append_range(state, loop.getState());
  TypeRange types{ValueRange(state)};
  auto blocks = scf::WhileOp::create(b, types, state);
  blocks->setAttr(lane::partAttr, part);
  loop.getResults().replaceAllUsesWith(blocks.getResults().drop_front());
  SmallVector<Location> locations(state.size(), b.getLoc());
  Block *again = b.createBlock(&blocks.getAfter(), {}, types, locations);
  scf::YieldOp::create(b, again->getArguments());
  Block *body = b.createBlock(&blocks.getBefore(), {}, types, locations);
  Value first = body->getArgument(0);
  Value next = arith::AddIOp::create(b, first, step);
  SmallVector<Value> after{next};
  llvm::append_range(after,
                     addBlock(b, loop, zeros, first, next, end,
                              ValueRange(body->getArguments()).drop_front()));
  Value isNext = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, next, end);
  scf::ConditionOp::create(b, isNext, after);
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
