//===- ScheduleCandidates.h - Schedules that are tried ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules among which ScheduleChoice.h chooses: those that the learned
// model ranks, and those that follow from rules, the best first.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULECANDIDATES_H
#define LNBWD_ANALYSIS_SCHEDULECANDIDATES_H

#include "lnbwd/Analysis/ScheduleFeatures.h"

namespace lnbwd {

/// Work-items of a small and of a large workgroup where no model ranks them:
/// few waves have little to exchange, and more than a large one's leave too few
/// registers for several accesses each.
inline constexpr int64_t smallWorkgroup = 128, largeWorkgroup = 512;
/// Accesses of a lane, or tiles of rows, that keep enough in flight where no
/// model says how many.
inline constexpr int64_t accessesAtOnce = 4;
/// Columns that all work-items of a large workgroup have in flight, one for
/// each access: a part of a long row has as many.
inline constexpr int64_t partColumns = largeWorkgroup * accessesAtOnce;
/// Columns of the longest row that is short in the canonical order, where
/// leaves have 64 rows: short rows gain by two passes and by a workgroup for
/// each leaf, others by splits.
inline constexpr int64_t shortRowInOrder = 1024;

/// The schedules of a program that are tried: those that the model ranks.
struct ScheduleSpace {
  using Visitor = llvm::function_ref<void(const Schedule &)>;

  /// Visits the schedules of rows that are whole in a workgroup or a cluster,
  /// but for hopeless ones: with accesses of so many bytes at most.
  void forEachOfWholeRows(int64_t mostBytes, Visitor visit);
  /// Visits the schedules of column tiles, of rows that hold no columns
  /// together.
  void forEachOfTiles(Visitor visit);

  RowwiseOp op;
  const ChipInfo &chip;
  /// Number of rows where the types do not say it; 0 is a usual number.
  int64_t rows;
  ProgramFacts program = ProgramFacts::of(op, rows);
  bool isAMD = chip.backend == Backend::AMDGPU;
  bool isInOrder = op.getCanonical(), hasSums = !op.getAllSums().empty();
  bool hasLeaves = isInOrder && hasSums;
  /// Nothing says the number of rows: workgroups have few, since there would
  /// not be enough of fewer rows for all compute units.
  bool isAnyCount = hasLeaves || (rows <= 0 && !op.getStaticRowCount());
  /// Rows of a group, of which a workgroup has no more.
  int64_t mostRows =
      op.hasGroups() ? op.getStaticGroupRows().value_or(INT64_MAX) : INT64_MAX;
  /// Blocks of elements that lie apart keep each row in one wave.
  bool isOfWave =
      llvm::any_of(op.getBody().getOps<BlockMaxOp>(),
                   [](BlockMaxOp blocks) { return blocks.getStride() != 1; });
  /// How many such rows a workgroup of NVIDIA's has best. Of 27 programs and
  /// shapes they take 0.94 of the time of what the trees choose on an H200,
  /// with one layout, of values and scales, 0.92. Those that write several have
  /// few waves on a compute unit, which end together in one workgroup.
  int64_t tilesTogether = isAMD || !isOfWave           ? 0
                          : op.getRowOuts().size() > 2 ? 1
                                                       : 4;

private:
  void forEachGrid(Schedule fields, int64_t laneColumns, Visitor visit);
  /// All rows of a group are one workgroup's: its sums are the group's.
  int64_t boundRows(int64_t rows) const { return rows < mostRows ? rows : 0; }
};

// Schedules that follow from rules, the best first: none where a rule does not
// hold.

/// Takes the fields of a schedule; returns true where it wants no more.
using ScheduleVisitor = llvm::function_ref<bool(const Schedule &)>;

/// Rows in `splits`, or in as many as fill the chip where that is 0 and they
/// were measured to be faster.
void forEachOfSplits(ScheduleSpace &space, int64_t splits,
                     ScheduleVisitor visit);
/// A matrix in pieces: each row is one access, and nothing but rows is read and
/// written. A lane has one, or a few on AMD's chips.
void forEachOfPieces(ScheduleSpace &space, ScheduleVisitor visit);
/// Long rows that small workgroups of a cluster hold in registers, where that
/// was measured to be faster than staging them.
void forEachOfHeldRows(ScheduleSpace &space, ScheduleVisitor visit);
/// Rows that no workgroup and no cluster has the registers for by the model,
/// and that no column sums keep with a lane.
void forEachOfLongRows(ScheduleSpace &space, ScheduleVisitor visit);
/// The sum of what `summed` writes in parts: of a product, of leaves, or of
/// workgroups, where a workgroup for each few columns takes all rows.
void forEachOfSummedParts(ScheduleSpace &space, RowwiseOp summed,
                          ScheduleVisitor visit);

/// How programs compute the row sums of `op` where `splits` workgroups share
/// each row; none if splits of the columns that a workgroup can hold are more
/// or fewer.
std::optional<Schedule> getSplitSchedule(RowwiseOp op, int64_t splits,
                                         const ChipInfo &chip);

/// Into how many parts `op`, a product that sums over the rows, divides them: 1
/// where its result has tiles enough for all compute units.
int64_t chooseProductParts(RowwiseOp op, const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULECANDIDATES_H
