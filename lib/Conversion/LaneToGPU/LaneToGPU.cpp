//===- LaneToGPU.cpp - The lane level to upstream's dialects --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notes where lanes stand, and puts the patterns to work.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_LANETOGPUPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// What is to be lowered in `kernel`, in order; places are not.
static SmallVector<Operation *> getLaneOps(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa_and_nonnull<lane::LaneDialect>(op->getDialect()) &&
        !isa<lane::LayoutOp, lane::StagesOp, lane::YieldOp>(op))
      ops.push_back(op);
  });
  return ops;
}

/// Asynchronous transfers to workgroup memory, and waits for them.
static bool isTransfer(Operation *op) {
  return isa<lane::InitByteBarriersOp, lane::ExpectBytesOp, lane::AwaitBytesOp,
             lane::SendToPeersOp, lane::StartCopiesOp, lane::AwaitStageOp>(op);
}

/// Whether nothing of the lane level is left. Says what is, and which pass
/// removes it.
static LogicalResult checkConverted(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](Operation *op) {
    // Places and stages that stay have users that do.
    if (isa_and_nonnull<lane::LaneDialect>(op->getDialect()) &&
        !isa<lane::LayoutOp, lane::StagesOp>(op)) {
      auto diagnostic = op->emitOpError("cannot be converted");
      if (isa<lane::ReduceOp, lane::FirstIterationOp, lane::NextIterationOp>(
              op))
        diagnostic << "; run lnbwd-lower-row-reductions before";
      else if (isa<lane::LoadScalarPredicatedOp, lane::BroadcastScalarOp>(op))
        diagnostic << ": the chip cannot drop loads";
      else if (isa<lane::PrefetchRowsOp>(op))
        diagnostic << ": the chip cannot bring rows to its cache ahead";
      else if (isTransfer(op))
        diagnostic << ": the chip cannot count the bytes that arrive";
      else
        diagnostic << "; run lnbwd-split-fragments before";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
class LaneToGPU : public lnbwd::impl::LaneToGPUPassBase<LaneToGPU> {
public:
  using LaneToGPUPassBase::LaneToGPUPassBase;

  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found = getChipOption(kernel, chip);
    if (failed(found))
      return signalPassFailure();
    WalkResult isReady = kernel.walk([](lane::ForRowsOp loop) {
      if (loop.getWhole() && !loop.getSumBlock())
        return WalkResult::advance();
      loop.emitOpError("expected full tiles and no sum_block; run "
                       "lnbwd-peel-last-rows and lnbwd-block-column-sums "
                       "before");
      return WalkResult::interrupt();
    });
    if (isReady.wasInterrupted())
      return signalPassFailure();

    if (getLaneOps(kernel).empty())
      return;
    Places places(kernel, **found);
    SmallVector<Operation *> lowered = getLaneOps(kernel);
    // These operations, and what they become, alone: the numbers of places wait
    // for those who ask.
    GreedyRewriteConfig config;
    config.enableFolding(false);
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    std::reverse(lowered.begin(), lowered.end()); // The last goes first.
    if (failed(applyOpPatternsGreedily(
            lowered, makePatterns(&getContext(), places), config)))
      return signalPassFailure();
    // Stages go first: they have layouts.
    kernel.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isa<lane::LayoutOp, lane::StagesOp>(op) && op->use_empty())
        op->erase();
    });
    if (failed(checkConverted(kernel)))
      return signalPassFailure();
  }

private:
  static RewritePatternSet makePatterns(MLIRContext *context,
                                        const Places &places) {
    const ChipInfo &info = places.chip;
    RewritePatternSet patterns(context);
    populateLaneToGPUPatterns(patterns, places);
    populateLaneSumsToGPUPatterns(patterns, places);
    if (info.backend == Backend::AMDGPU)
      populateLaneToAMDPatterns(patterns, places);
    else
      populateLaneToNVIDIAPatterns(patterns, places);
    if (info.workgroups.hasBulkCopy)
      populateLaneTransfersToNVIDIAPatterns(patterns, places);
    return patterns;
  }
};
} // namespace
