//===- RowReductions.h - What steps of a row's sum share --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of lnbwd-lower-row-reductions for rows over several waves, and
// for rows over several workgroups, have this in common.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_LANE_ROWREDUCTIONS_H
#define LNBWD_LIB_TRANSFORMS_LANE_ROWREDUCTIONS_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace lnbwd::lane {

/// `slots`, vectors of a number for each sum of `op`, combined: the numbers.
llvm::SmallVector<mlir::Value> combineSlots(mlir::ImplicitLocOpBuilder &b,
                                            ReduceOp op,
                                            mlir::ValueRange slots);

/// Combines numbers of lanes that lie in one wave, or of each wave of a row.
struct WaveReduction {
  int64_t waveSize;

  /// Of each of `values`, one for each sum of `op`.
  llvm::SmallVector<mlir::Value> reduce(mlir::ImplicitLocOpBuilder &b,
                                        ReduceOp op,
                                        mlir::ValueRange values) const;
};

/// Workgroup memory for the sums of all phases of a kernel, in two halves: of
/// each phase and group a slot for each wave of the row, in whichever of the
/// workgroups that share it.
struct ExchangeMemory {
  /// Lays out what the reductions of `kernel` need, if they need any. Where
  /// workgroups share rows, it also has them wait for each other before the
  /// first reduction.
  llvm::LogicalResult layOut(mlir::gpu::GPUFuncOp kernel, int64_t waveSize);

  bool isNeeded() const { return slots != 0; }
  /// Where the slots of a phase begin in a half.
  int64_t getOffset(uint64_t phase) const;
  /// What a slot of `count` numbers is aligned to: it lies at a multiple of
  /// what divides its length, the half's, and where its phase begins.
  llvm::MaybeAlign getAlignment(uint64_t phase, int64_t count) const;
  /// Barriers of one row: one for each of its phases, so also for what is
  /// after the last sum, as lnbwd::getResources counts them.
  int64_t getBarriersOfRow() const { return int64_t(sumsOfPhase.size()) + 1; }

  llvm::SmallVector<int64_t> sumsOfPhase;
  int64_t groups = 0;
  /// Slots of a group: one for each wave of the row.
  int64_t slots = 0;
  /// Numbers of a half.
  int64_t half = 0;
  mlir::Value memory;
  /// What counts the bytes that peers send, for two rows alternately, by phase;
  /// null where rows are not shared.
  mlir::Value barriers;

private:
  void meetPeers(mlir::gpu::GPUFuncOp kernel, ReduceOp first);
};

/// A pattern for reductions whose numbers go through the exchange memory.
struct ExchangePattern : mlir::OpRewritePattern<ReduceOp> {
  ExchangePattern(mlir::MLIRContext *context, const ExchangeMemory &exchange,
                  int64_t waveSize)
      : OpRewritePattern(context), exchange(exchange), wave{waveSize} {}

  const ExchangeMemory &exchange;
  WaveReduction wave;
};

/// Sums over the elements of a lane's vectors, over a wave of `waveSize` lanes,
/// and over the waves of a workgroup.
void populateRowReductionPatterns(mlir::RewritePatternSet &patterns,
                                  const ExchangeMemory &exchange,
                                  int64_t waveSize);
/// The order of docs/batch-invariance.md: slices.
void populateCanonicalReductionPatterns(mlir::RewritePatternSet &patterns,
                                        const ExchangeMemory &exchange,
                                        const ChipInfo &chip);
/// Where the slots of peers begin, and the lane of its wave.
struct PeerSlots {
  mlir::Value base, laneOfWave;
};
/// Sends the numbers of each wave of `op` to its slot of all workgroups that
/// share the row, and waits for theirs. The slots, one for each wave of each
/// workgroup, begin `first` numbers after those of the group.
PeerSlots exchangeWithPeers(IndexBuilder &b, ReduceOp op,
                            const ExchangeMemory &exchange, int64_t waveSize,
                            mlir::ValueRange numbers, int64_t first);
/// The pattern for rows that several workgroups share.
void populatePeerReductionPatterns(mlir::RewritePatternSet &patterns,
                                   const ExchangeMemory &exchange,
                                   int64_t waveSize);

} // namespace lnbwd::lane

#endif // LNBWD_LIB_TRANSFORMS_LANE_ROWREDUCTIONS_H
