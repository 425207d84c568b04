//===- HoistCopies.cpp - Have stages filled again when they are free ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage is free when all lanes have loaded their fragments from it. A barrier
// says so, and where sums go through workgroup memory there is one already.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace lnbwd {
#define GEN_PASS_DEF_HOISTCOPIESPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

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

namespace {
struct HoistCopies : lnbwd::impl::HoistCopiesPassBase<HoistCopies> {
  void runOnOperation() override {
    SmallVector<lane::StartCopiesOp> all;
    getOperation()->walk([&](lane::StartCopiesOp copies) {
      if (isa<lane::ForRowsOp>(copies->getParentOp()))
        all.push_back(copies);
    });
    IRRewriter rewriter(&getContext());
    for (lane::StartCopiesOp copies : all) {
      auto barrier = getLastBarrier(copies);
      if (!barrier) {
        copies.emitOpError(
            "expected a lane.barrier before it in its iteration, "
            "after which its stage is free");
        return signalPassFailure();
      }
      Operation *synchronization = getFirstSynchronization(copies, barrier);
      if (!synchronization)
        continue;
      Operation *behind = synchronization->getNextNode();
      if (failed(moveOperationDependencies(rewriter, copies, behind)))
        continue;
      copies->moveBefore(behind);
      if (isa<lane::BarrierOp>(synchronization)) {
        barrier.erase();
        ++numMerged;
      } else {
        // The tile is computed on the way to the copies.
        barrier->moveAfter(synchronization);
      }
      ++numHoisted;
    }
  }
};
} // namespace
