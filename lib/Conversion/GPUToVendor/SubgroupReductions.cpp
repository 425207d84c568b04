//===- SubgroupReductions.cpp - Reductions within a wave ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts upstream's patterns to work with the chip's wave size. Upstream exports
// the patterns; the pass that runs them there is a test pass. One of our own
// lets LLVM merge a move that they leave with the operation after it.
//
//===----------------------------------------------------------------------===//

#include "SubgroupReductions.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lnbwd;

/// Moves of DPP can leave each of the four rows of a wave, and each of the four
/// banks of a row, as it was.
static constexpr unsigned allRows = 0xf;
/// The second row and the fourth.
static constexpr unsigned oddRows = 0xa;

/// Whether nothing depends on what lanes of the first and the third row have of
/// `value`.
static bool isReadInOddRows(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (auto read = dyn_cast<ROCDL::ReadlaneOp>(user)) {
      APInt lane;
      return matchPattern(read.getSrc1(), m_ConstantInt(&lane)) &&
             lane.getZExtValue() / dppRowLanes % 2 == 1;
    }
    // What the last lane of each half of a wave has, for all of them.
    if (auto swizzle = dyn_cast<amdgpu::SwizzleBitModeOp>(user))
      return swizzle.getAndMask() == 0 && swizzle.getXorMask() == 0 &&
             swizzle.getOrMask() / dppRowLanes % 2 == 1;
    // What lane 31 has goes on to the third row and the fourth.
    if (auto move = dyn_cast<amdgpu::DPPOp>(user))
      return move.getKind() == amdgpu::DPPPerm::row_bcast_31 &&
             isReadInOddRows(move.getResult());
    return OpTrait::hasElementwiseMappableTraits(user) &&
           isReadInOddRows(user->getResult(0));
  });
}

/// Upstream moves the sums of the first and the third row to the rows after
/// them and leaves these two as they were. LLVM makes a move and the operation
/// on its result one instruction where the move is to all rows, so it becomes
/// one to all rows where nobody looks at these two afterwards.
static LogicalResult moveToAllRows(amdgpu::DPPOp op,
                                   PatternRewriter &rewriter) {
  if (op.getKind() != amdgpu::DPPPerm::row_bcast_15 ||
      op.getRowMask() != oddRows || !isReadInOddRows(op.getResult()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.setRowMask(allRows);
    op.setBoundCtrl(true);
  });
  return success();
}

FailureOr<int64_t> lnbwd::lowerSubgroupReductions(Operation *root,
                                                  const ChipInfo &chip) {
  int64_t numReductions = 0;
  bool hasMoves = false;
  root->walk([&](Operation *op) {
    numReductions += isa<gpu::SubgroupReduceOp>(op);
    hasMoves |= isa<gpu::ShuffleOp, amdgpu::DPPOp>(op);
  });
  if (numReductions == 0 && !hasMoves)
    return 0;
  RewritePatternSet patterns(root->getContext());
  populateGpuBreakDownSubgroupReducePatterns(
      patterns, /*maxShuffleBitwidth=*/32, PatternBenefit(3));
  std::optional<amdgpu::Chipset> chipset;
  if (chip.backend == Backend::AMDGPU) {
    FailureOr<amdgpu::Chipset> parsed = amdgpu::Chipset::parse(chip.name);
    assert(succeeded(parsed) && "the chip table has a name LLVM cannot read");
    chipset = *parsed;
    populateGpuLowerSubgroupReduceToDPPPatterns(patterns, chip.waveSize,
                                                *chipset, PatternBenefit(2));
    populateGpuLowerClusteredSubgroupReduceToDPPPatterns(
        patterns, chip.waveSize, *chipset, PatternBenefit(2));
    patterns.add(moveToAllRows);
  }
  populateGpuLowerSubgroupReduceToShufflePatterns(patterns, chip.waveSize);
  populateGpuLowerClusteredSubgroupReduceToShufflePatterns(patterns,
                                                           chip.waveSize);
  if (chipset)
    populateGpuPromoteShuffleToAMDGPUPatterns(patterns, chipset);
  if (failed(applyPatternsGreedily(root, std::move(patterns))))
    return failure();
  return numReductions;
}
