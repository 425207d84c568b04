//===- CostModel.h - What a schedule costs ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts the time of a scheduled row program from what it physically does.
// docs/schedules.md says what the terms are.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_COSTMODEL_H
#define LNBWD_ANALYSIS_COSTMODEL_H

#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// What the model knows of a chip family: fitted to times (docs/schedules.md),
/// and read from CostParameters.json, which has the same names.
struct CostParameters {
  /// A launch, what it takes longer after a kernel that has to end first, and
  /// the finalising one after it.
  double launchUs, lateUs, finalizeUs;
  /// Device memory, and that of partial sums, in 10^12 bytes a second; what a
  /// byte of the vectors, which each workgroup of a grid without a bound reads
  /// from a cache ahead of its row, takes of a byte of rows.
  double bandwidth, partialBandwidth, columnShare;
  /// From a load to its value, through registers and by bulk copy; what each
  /// bulk copy of an iteration, and each KiB of an iteration's rows, add to
  /// that.
  double loadUs, stagedUs, copyUs, fetchedUs;
  /// The part of `loadUs` that a lane with two tiles of rows waits for.
  double unrolledShare;
  /// One iteration of the row loop beside what follows; the part of its own
  /// instructions that an iteration waits for; each number that an exchange
  /// between waves adds up, and what it costs more between workgroups.
  double iterationUs, issueShare, exchangedUs, clusterUs;
  /// An iteration of a program without row sums, in which nothing waits for
  /// others, and what such a program has instead of `lineInstructions`.
  double independentIterationUs, independentLineInstructions;
  /// Instructions of a wave for a row: in any case, for a step of a reduction,
  /// for an access, for each cache line of it, for an operation on an element,
  /// for a function of it, and for one that is read out of line.
  double rowInstructions, shuffleInstructions, accessInstructions,
      lineInstructions, elementInstructions, functionInstructions,
      shiftedInstructions;
  /// What registers too many add to the instructions.
  double spillShare;
  /// A workgroup's start; more for each wave of a scheduler; its place in the
  /// queue; the doublings of its stages; a second tile of rows; a cluster; an
  /// element's share in each doubling of the groups whose sums are combined.
  double workgroupUs, threadUs, dispatchUs, stageUs, unrolledUs, clusterStartUs,
      combineUs;
  /// The part of its wait that a workgroup with one tile of rows costs, in a
  /// grid without a bound, where others start meanwhile; and how many KiB of
  /// rows a compute unit must have on the way there for the memory's full rate.
  double apartShare, apartKib;
  /// Where workgroups of such a grid load vectors after the row's sums: what
  /// it takes longer in all for each of the sums one after the other, since
  /// the last ones have nobody to wait beside; the part of a workgroup's wait,
  /// instead of `apartShare`; and the exponent instead of
  /// `limitExponent`, since what often waits overlaps better.
  double lateLoadUs, lateLoadShare, lateLoadExponent;
  /// Work-items of a workgroup, and columns of a lane, at most, in such a grid:
  /// bounds of the search and no terms of the model, which does not find what
  /// larger ones gain (docs/schedules.md).
  double apartThreads, apartColumns;
  /// Such a bound for columns where several waves share a row, which then needs
  /// its vectors late.
  double lateLoadColumns;
  /// Such a bound for columns where several rows lie side by side whose
  /// accesses have one element: by measured times, like the two above.
  double apartNarrowColumns;
  /// What 128 KiB in flight on a compute unit add to the time of the memory,
  /// and what each doubling of its workgroups adds.
  double crowding, streamShare;
  /// What workgroups that stay for further rows add to it in programs without
  /// column sums whose rows wait for sums once, where the cache holds little of
  /// what is moved: by a scan over measured times.
  double stayShare;
  /// How sharply the slowest limit rules, and the slower of an iteration's work
  /// and its load.
  double limitExponent, iterationExponent;
  /// Registers of a lane: in any case, and for each of its elements: what is
  /// worked on, a column sum, a vector where there are none and one where there
  /// are, a row block of 16 bits, and rows that lie side by side.
  double registers, elementRegisters, sumRegisters, columnRegisters,
      summedColumnRegisters, widenedRegisters, groupedRegisters;
  /// For each register that the rows of a tile take as they are in memory:
  /// where one tile is in flight, and where there are two. And for an exchange,
  /// and for staged rows that begin where a copy can: fewer.
  double prefetchedRegisters, unrolledRegisters, exchangedRegisters,
      stagedRegisters;
  /// How far above a count with which a scheduler holds one wave more ptxas
  /// comes down to it.
  double registerSqueeze;
  /// Registers of a lane in a grid without a bound, instead of all these:
  /// in any case, for each of its elements, and for each register that the
  /// elements' vectors take as they lie in memory.
  double apartRegisters, apartElementRegisters, apartColumnRegisters;
  /// And where vectors are loaded after the row's sums: in any case, for each
  /// element, and more for each element for a sum that waits for another, and
  /// where rows lie side by side.
  double lateLoadRegisters, lateLoadElementRegisters, lateLoadPhaseRegisters,
      lateLoadGroupedRegisters;
};

/// The parameters of `chip`'s family, or null if nobody has any.
const CostParameters *getCostParameters(const ChipInfo &chip);

/// What the model knows of a row program.
struct ProgramCosts {
  /// N, in elements, and the number of rows that is expected.
  double length, rows;
  /// Row blocks read and written, vectors, column sums, row sums, and how many
  /// of those one after the other.
  double rowsRead, rowsWritten, columns, sums, rowSums, phases;
  /// Bytes of a column in all of each, and in those vectors that a row needs
  /// only after its first sum.
  double bytesRead, bytesWritten, columnBytes, lateColumnBytes;
  /// Operations of the region on each element, and functions among them that
  /// take many instructions.
  double operations, functions;

  static ProgramCosts of(RowwiseOp op, int64_t rows);
};

/// Registers of a lane by the model's estimate, and those that it can have.
struct RegisterEstimate {
  double needed, limit;
};
RegisterEstimate estimateRegisters(const ProgramCosts &program,
                                   const ScheduleFields &schedule,
                                   const ChipInfo &chip,
                                   const CostParameters &parameters);

/// Microseconds of one call of a row program, its finalising kernel included,
/// whose operands are in no cache.
double predictMicroseconds(const ProgramCosts &program,
                           const ScheduleFields &schedule, const ChipInfo &chip,
                           const CostParameters &parameters);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_COSTMODEL_H
