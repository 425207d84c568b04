//===- LaneToGPU.h - Patterns from lanes to upstream's dialects -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of lnbwd-convert-lane-to-gpu: those that all targets share, and
// those of each vendor, which go before. They know nothing of a kernel but what
// its operations say: where lanes stand, and where stages lie, is noted at
// places and stages first, by what prepares a kernel here.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_CONVERSION_LANETOGPU_H
#define LNBWD_CONVERSION_LANETOGPU_H

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd {

/// Computes for each `lane.layout` of `kernel` where lanes stand, and has an
/// `unrealized_conversion_cast` of these numbers represent it.
void computeLayouts(mlir::gpu::GPUFuncOp kernel, const ChipInfo &chip);
/// Lays out the memory and the barriers of each `lane.stages` of `kernel`, and
/// has a cast of these represent it.
void layOutStages(mlir::gpu::GPUFuncOp kernel);
/// Erases the casts of places and stages that nothing asks for any more.
void eraseUnusedCasts(mlir::gpu::GPUFuncOp kernel);

/// Places, loads and stores, loops, and additions to sums.
void populateLaneToGPUPatterns(mlir::RewritePatternSet &patterns);
/// Column sums over the groups of a workgroup, and their stores.
void populateLaneSumsToGPUPatterns(mlir::RewritePatternSet &patterns);
/// Column operands that one group reads for all, loads that are dropped,
/// barriers of LDS alone. `chip` has to outlive the patterns.
void populateLaneToAMDPatterns(mlir::RewritePatternSet &patterns,
                               const ChipInfo &chip);
/// Kernels that start before the one before them has ended, and rows that no
/// cache need keep.
void populateLaneToNVIDIAPatterns(mlir::RewritePatternSet &patterns);
/// Bytes that are counted as they arrive, workgroups that share rows, and rows
/// that are staged. `chip` has to outlive the patterns.
void populateLaneTransfersToNVIDIAPatterns(mlir::RewritePatternSet &patterns,
                                           const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_CONVERSION_LANETOGPU_H
