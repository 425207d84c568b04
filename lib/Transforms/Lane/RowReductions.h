//===- RowReductions.h - What steps of a row's sum share --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a reduction over a row, and the memory that waves and workgroups
// exchange their sums through.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_LANE_ROWREDUCTIONS_H
#define LNBWD_LIB_TRANSFORMS_LANE_ROWREDUCTIONS_H

#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/Lane/IndexBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lnbwd::lane {

/// Workgroup memory for the sums of all phases of a kernel, in two halves: of
/// each phase and group a slot for each wave of the row, in whichever of the
/// workgroups that share it. Where lanes go across rows, a wave has slots of
/// several groups, which lie side by side, and each workgroup has one slot more
/// of its peers' sums.
struct ExchangeMemory {
  explicit ExchangeMemory(const ChipInfo &chip) : chip(chip) {}

  /// Lays out what the reductions of `kernel` need, if they need any. Where
  /// workgroups share rows, it also has them wait for each other before the
  /// first reduction.
  llvm::LogicalResult layOut(mlir::gpu::GPUFuncOp kernel);

  bool isNeeded() const { return slots != 0; }
  /// Where the slots of a phase begin in a half.
  int64_t getOffset(uint64_t phase) const;
  /// Where the slots of `op` begin that the lane's group has, but for the
  /// `first` numbers of them.
  mlir::Value getSlots(IndexBuilder &b, ReduceOp op, int64_t first = 0) const;
  /// Numbers from one slot of a group, of `count` numbers, to the next.
  int64_t getSlotDistance(ReduceOp op, int64_t count) const;
  /// What a slot of `count` numbers is aligned to: it lies at a multiple of
  /// what divides its length, the half's, and where its phase begins.
  llvm::MaybeAlign getAlignment(uint64_t phase, int64_t count) const;
  /// Barriers of one row: one for each of its phases, so also for what is
  /// after the last sum, as lnbwd::getResources counts them.
  int64_t getBarriersOfRow() const { return int64_t(sumsOfPhase.size()) + 1; }

  const ChipInfo &chip;
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
  /// What the iteration of a reduction has become.
  mlir::Value iteration;

private:
  void meetPeers(mlir::gpu::GPUFuncOp kernel, ReduceOp first);
};

/// `slots`, vectors of a number for each sum of `op`, combined: the numbers.
llvm::SmallVector<mlir::Value> combineSlots(mlir::ImplicitLocOpBuilder &b,
                                            ReduceOp op,
                                            mlir::ValueRange slots);

/// Slots of so many `numbers`, `distance` apart in the exchange memory.
struct Slots {
  int64_t count, numbers, distance;
  llvm::MaybeAlign aligned = {};
};
/// Loads number `i` of `slots`, which begin at `first`, and all of them.
mlir::Value loadSlot(IndexBuilder &b, const ExchangeMemory &exchange,
                     mlir::Value first, const Slots &slots, int64_t i);
llvm::SmallVector<mlir::Value> loadSlots(IndexBuilder &b,
                                         const ExchangeMemory &exchange,
                                         mlir::Value first, const Slots &slots);
/// Stores `slot` at `place` and waits for the other waves' ones.
void exchangeSlot(IndexBuilder &b, const ExchangeMemory &exchange,
                  mlir::Value slot, mlir::Value place, const Slots &slots);
/// `numbers` as a slot.
mlir::Value makeSlot(IndexBuilder &b, mlir::ValueRange numbers);

/// Combines each of `values`, one for each sum of `op`, over the lanes of a row
/// that lie in one wave.
llvm::SmallVector<mlir::Value> reduceInWave(mlir::ImplicitLocOpBuilder &b,
                                            ReduceOp op, int64_t waveSize,
                                            mlir::ValueRange values);
/// Combines the sums of waves over all workgroups that share the row.
llvm::SmallVector<mlir::Value> reduceOverPeers(IndexBuilder &b, ReduceOp op,
                                               const ExchangeMemory &exchange,
                                               mlir::ValueRange sums);
/// The sums of `op` in the order of docs/numerics.md: of slices.
llvm::SmallVector<mlir::Value> reduceSlices(IndexBuilder &b, ReduceOp op,
                                            const ExchangeMemory &exchange);

/// Where the slots of peers begin, and the lane of its wave.
struct PeerSlots {
  mlir::Value base, laneOfWave;
};
/// Sends the numbers of each wave of `op` to its slot of all workgroups that
/// share the row, and waits for theirs. The slots, one for each wave of each
/// workgroup, begin `first` numbers after those of the group.
PeerSlots exchangeWithPeers(IndexBuilder &b, ReduceOp op,
                            const ExchangeMemory &exchange,
                            mlir::ValueRange numbers, int64_t first);

} // namespace lnbwd::lane

#endif // LNBWD_LIB_TRANSFORMS_LANE_ROWREDUCTIONS_H
