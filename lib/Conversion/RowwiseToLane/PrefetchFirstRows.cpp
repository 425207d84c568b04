//===- PrefetchFirstRows.cpp - Bring rows near while a kernel waits -------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dependent launch may not read what the preceding kernel still writes, and
// loads nothing before it has waited, while memory is idle. A prefetch to the
// L2 cache, where all writes of the chip meet, is valid at any time.
//
//===----------------------------------------------------------------------===//

#include "KernelWriters.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace lnbwd;

/// The tiles of rows that a workgroup has in flight before its first iteration
/// is done.
static uint64_t countFirstTiles(lane::ForRowsOp loop) {
  if (loop.getOnce())
    return 1;
  if (loop.getStages())
    return *loop.getStages();
  return std::max<uint64_t>(loop.getUnroll().value_or(1),
                            loop.getPrefetch() ? 2 : 1);
}

/// The operation after which the loads of `loop` see what the preceding kernel
/// has written, or null: a loop that waits within an iteration loads its rows
/// before.
static NVVM::GriddepcontrolOp getAwaitBefore(lane::ForRowsOp loop) {
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode())
    if (auto await = dyn_cast<NVVM::GriddepcontrolOp>(op))
      if (await.getKind() == NVVM::GridDepActionKind::wait)
        return await;
  return {};
}

void lnbwd::prefetchFirstRows(lane::ForRowsOp loop) {
  NVVM::GriddepcontrolOp await = getAwaitBefore(loop);
  if (!await)
    return;
  llvm::SetVector<Value> memories;
  // What a view repeats has come before.
  for (auto load : loop.getBody().getOps<lane::LoadOp>())
    memories.insert_range(
        llvm::make_filter_range(load.getMemories(), [](Value memory) {
          return !memory.getDefiningOp<lane::ViewOp>();
        }));
  SmallVector<Value> needed(memories.getArrayRef());
  needed.append(
      {loop.getBegin(), loop.getEnd(), loop.getStep(), loop.getLayout()});
  IRRewriter rewriter(loop.getContext());
  if (memories.empty() || failed(moveValueDefinitions(rewriter, needed, await)))
    return;
  IndexBuilder b(loop.getLoc(), await);
  Value tile = loop.getBegin();
  for (uint64_t i = 0, count = countFirstTiles(loop); i < count; ++i) {
    if (i)
      tile = b(tile) + loop.getStep();
    lane::PrefetchRowsOp::create(b, memories.getArrayRef(), tile, loop.getEnd(),
                                 loop.getLayout());
  }
}
