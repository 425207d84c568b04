//===- LaneToGPU.cpp - The lane level to upstream's dialects --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the patterns to work.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Lane/MatrixTiles.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace lnbwd {
#define GEN_PASS_DEF_LANETOGPUPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// Whether lanes of `chip` have such vectors of fragments.
static bool areFragments(lane::MultiplyOp op, const ChipInfo &chip) {
  VectorType matrix = op.getLhs().getType();
  auto wave = lane::MatrixWave::get(matrix.getElementType(), chip);
  int64_t bytes = lane::blockBytes * int64_t(wave.lhs.offsets.size());
  return matrix.getNumElements() * matrix.getElementTypeBitWidth() ==
             bytes * 8 &&
         op.getType().getNumElements() == wave.countElements() &&
         (wave.unit != MatrixUnit::None || matrix.getElementType().isF32());
}

/// Says what `op` waits for, if it cannot be converted: a pass, or another
/// chip.
static LogicalResult checkConvertible(Operation *op, const ChipInfo &chip) {
  auto fail = [&](StringRef why) {
    return op->emitOpError("cannot be converted") << why;
  };
  if (auto loop = dyn_cast<lane::ForRowsOp>(op))
    if (!loop.isPlain())
      return op->emitOpError(
          "expected full tiles and no blocks of sums; run "
          "lnbwd-pipeline-rows and lnbwd-block-column-sums before");
  if (isa<lane::ReduceOp, lane::FirstIterationOp, lane::NextIterationOp>(op))
    return fail("; run lnbwd-lower-row-reductions before");
  if (llvm::any_of(op->getOperandTypes(), lane::asFragment) ||
      llvm::any_of(op->getResultTypes(), lane::asFragment))
    return fail("; run lnbwd-split-fragments before");
  if (auto multiply = dyn_cast<lane::MultiplyOp>(op);
      multiply && !areFragments(multiply, chip))
    return fail(": the chip's fragments of such matrices have other elements "
                "in a lane");
  if (isa<lane::LoadPredicatedOp, lane::LoadScalarPredicatedOp,
          lane::BroadcastScalarOp>(op) &&
      !chip.dropsLoads)
    return fail(": the chip cannot drop loads");
  if (chip.workgroups.hasBulkCopy)
    return success();
  if (isa<lane::PrefetchRowsOp>(op))
    return fail(": the chip cannot bring rows to its cache ahead");
  if (isa<lane::InitByteBarriersOp, lane::ExpectBytesOp, lane::AwaitBytesOp,
          lane::SendToPeersOp, lane::StagesOp>(op))
    return fail(": the chip cannot count the bytes that arrive");
  return success();
}

namespace {
struct LaneToGPU : lnbwd::impl::LaneToGPUPassBase<LaneToGPU> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    FailureOr<const ChipInfo *> found = getChip(kernel);
    if (failed(found))
      return signalPassFailure();
    WalkResult result = kernel.walk([&](Operation *op) {
      bool isLaneOp = isa_and_nonnull<lane::LaneDialect>(op->getDialect());
      return WalkResult(
          failure(isLaneOp && failed(checkConvertible(op, **found))));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    LaneTypeConverter converter(kernel, **found);
    ConversionTarget target(getContext());
    target.addIllegalDialect<lane::LaneDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    RewritePatternSet patterns(&getContext());
    populateLanePlacesToGPUPatterns(patterns, converter);
    populateLaneToGPUPatterns(patterns, converter);
    populateLaneSumsToGPUPatterns(patterns, converter);
    populateLaneMatricesToGPUPatterns(patterns, converter);
    if (converter.chip.backend == Backend::AMDGPU)
      populateLaneToAMDPatterns(patterns, converter);
    else
      populateLaneToNVIDIAPatterns(patterns, converter);
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    config.allowPatternRollback = false;
    if (failed(
            applyFullConversion(kernel, target, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
