//===- HoistCopies.cpp - Have stages filled again as early as they are free
//===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage is free when all lanes have taken their parts out of it. A barrier
// says so, and where sums go through workgroup memory there is one already.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Transforms/Lane/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace lnbwd {
#define GEN_PASS_DEF_HOISTCOPIESPASS
#include "lnbwd/Transforms/Lane/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The last operation `Op` before `op` in its block, or null.
template <typename Op> static Op getLastBefore(Operation *op) {
  while ((op = op->getPrevNode()))
    if (auto found = dyn_cast<Op>(op))
      return found;
  return {};
}

/// Where in the turn of `copies` lanes meet, or their sums set off, first,
/// behind what is received and before `barrier`; or null.
static Operation *getFirstMeeting(lane::StartCopiesOp copies,
                                  lane::BarrierOp barrier) {
  Operation *meeting = nullptr;
  for (Operation *op = barrier->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto receive = dyn_cast<lane::ReceiveOp>(op);
        receive && receive.getStages() == copies.getStages())
      break;
    if (isa<lane::BarrierOp, lane::SendToPeersOp>(op))
      meeting = op;
  }
  return meeting;
}

namespace {
class HoistCopies : public lnbwd::impl::HoistCopiesPassBase<HoistCopies> {
public:
  using HoistCopiesPassBase::HoistCopiesPassBase;

  void runOnOperation() override {
    SmallVector<lane::StartCopiesOp> all;
    getOperation()->walk([&](lane::StartCopiesOp copies) {
      if (isa<lane::ForRowsOp>(copies->getParentOp()))
        all.push_back(copies);
    });
    IRRewriter rewriter(&getContext());
    for (lane::StartCopiesOp copies : all) {
      auto barrier = getLastBefore<lane::BarrierOp>(copies);
      if (!barrier) {
        copies.emitOpError("expected a lane.barrier before it in its turn, "
                           "behind which its stage is free");
        return signalPassFailure();
      }
      Operation *meeting = getFirstMeeting(copies, barrier);
      if (!meeting)
        continue;
      Operation *behind = meeting->getNextNode();
      if (failed(moveOperationDependencies(rewriter, copies, behind)))
        continue;
      copies->moveBefore(behind);
      if (isa<lane::BarrierOp>(meeting)) {
        barrier.erase();
        ++numMerged;
      } else {
        // The set is computed on the way to the copies.
        barrier->moveAfter(meeting);
      }
      ++numHoisted;
    }
  }
};
} // namespace
