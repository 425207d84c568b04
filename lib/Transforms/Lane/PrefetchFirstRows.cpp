//===- PrefetchFirstRows.cpp - Bring rows near while a kernel waits -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that starts early may not read what the one before it still writes,
// and loads nothing before it has waited. Memory can be idle then: what is in
// the cache where all writes of the chip meet is right whenever it came there.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace lnbwd {
#define GEN_PASS_DEF_PREFETCHFIRSTROWSPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The sets of rows that a workgroup has on their way before its first turn is
/// done.
static int64_t countFirstSets(lane::ForRowsOp loop, ScheduleAttr schedule) {
  if (loop.getOnce())
    return 1;
  if (int64_t stages = schedule.getStages())
    return stages;
  return std::max(schedule.getUnroll(), schedule.getPrefetch() + 1);
}

/// The operation behind which the loads of `loop` see what the kernel before
/// has written, or null: a loop that waits within a turn loads its rows before.
static lane::AwaitPreviousKernelOp getAwaitBefore(lane::ForRowsOp loop) {
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode())
    if (auto await = dyn_cast<lane::AwaitPreviousKernelOp>(op))
      return await;
  return {};
}

/// Has the first sets of `loop` brought near ahead of `await`.
static LogicalResult prefetch(IRRewriter &rewriter, lane::ForRowsOp loop,
                              lane::AwaitPreviousKernelOp await,
                              int64_t count) {
  llvm::SetVector<Value> memories;
  for (auto load : loop.getBody().getOps<lane::LoadOp>()) {
    auto row = load.getRow().getDefiningOp<lane::RowOp>();
    if (!row || row.getSet() != loop.getSet())
      return load.emitOpError("expected to load the row that lane.row gives "
                              "for the set of its loop");
    memories.insert_range(load.getMemories());
  }
  if (memories.empty())
    return success();
  SmallVector<Value> needed(memories.getArrayRef());
  needed.append(
      {loop.getBegin(), loop.getEnd(), loop.getStep(), loop.getPlace()});
  if (failed(moveValueDefinitions(rewriter, needed, await)))
    return loop.emitOpError(
        "expected its bounds, its place and the rows that it loads to be known "
        "before lane.await_previous_kernel");
  ImplicitLocOpBuilder b(loop.getLoc(), await);
  Value set = loop.getBegin();
  for (int64_t i = 0; i < count; ++i) {
    if (i)
      set = arith::AddIOp::create(b, set, loop.getStep());
    lane::PrefetchRowsOp::create(b, memories.getArrayRef(), set, loop.getEnd(),
                                 loop.getPlace());
  }
  return success();
}

namespace {
class PrefetchFirstRows
    : public lnbwd::impl::PrefetchFirstRowsPassBase<PrefetchFirstRows> {
public:
  using PrefetchFirstRowsPassBase::PrefetchFirstRowsPassBase;

  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    auto info = kernel->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
    if (!info || !info.getSchedule().getEarlyRows())
      return;
    SmallVector<lane::ForRowsOp> loops;
    kernel.walk([&](lane::ForRowsOp loop) { loops.push_back(loop); });
    IRRewriter rewriter(&getContext());
    for (lane::ForRowsOp loop : loops) {
      if (loop.getWhole()) {
        loop.emitOpError("expected sets that may not be whole; run "
                         "lnbwd-prefetch-first-rows before "
                         "lnbwd-pipeline-rows and lnbwd-peel-last-rows");
        return signalPassFailure();
      }
      lane::AwaitPreviousKernelOp await = getAwaitBefore(loop);
      if (!await)
        continue;
      if (failed(prefetch(rewriter, loop, await,
                          countFirstSets(loop, info.getSchedule()))))
        return signalPassFailure();
      ++numPrefetched;
    }
  }
};
} // namespace
