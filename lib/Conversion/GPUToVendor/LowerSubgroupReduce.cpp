//===- LowerSubgroupReduce.cpp - Reductions within a wave -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts upstream's patterns to work with the chip's wave size. Upstream exports
// the patterns; the pass that runs them there is a test pass.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_LOWERSUBGROUPREDUCEPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class LowerSubgroupReduce
    : public lnbwd::impl::LowerSubgroupReducePassBase<LowerSubgroupReduce> {
public:
  using LowerSubgroupReducePassBase::LowerSubgroupReducePassBase;

  LogicalResult initialize(MLIRContext *context) override {
    // Where the option names no chip, runOnOperation says so.
    if (const ChipInfo *info = lookupChip(chip))
      patterns = makePatterns(context, *info);
    return success();
  }

  void runOnOperation() override {
    if (failed(getChipOption(getOperation(), chip)))
      return signalPassFailure();
    getOperation()->walk([&](gpu::SubgroupReduceOp) { ++numReductions; });
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      signalPassFailure();
  }

private:
  static RewritePatternSet makePatterns(MLIRContext *context,
                                        const ChipInfo &info) {
    RewritePatternSet patterns(context);
    populateGpuBreakDownSubgroupReducePatterns(
        patterns, /*maxShuffleBitwidth=*/32, PatternBenefit(3));
    std::optional<amdgpu::Chipset> chipset;
    if (info.backend == Backend::AMDGPU) {
      FailureOr<amdgpu::Chipset> parsed = amdgpu::Chipset::parse(info.name);
      assert(succeeded(parsed) && "the chip table has a name LLVM cannot read");
      chipset = *parsed;
      populateGpuLowerSubgroupReduceToDPPPatterns(patterns, info.waveSize,
                                                  *chipset, PatternBenefit(2));
      populateGpuLowerClusteredSubgroupReduceToDPPPatterns(
          patterns, info.waveSize, *chipset, PatternBenefit(2));
    }
    populateGpuLowerSubgroupReduceToShufflePatterns(patterns, info.waveSize);
    populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns,
                                                             info.waveSize);
    if (chipset)
      populateGpuPromoteShuffleToAMDGPUPatterns(patterns, chipset);
    return patterns;
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
