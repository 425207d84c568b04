//===- ScheduleFeatures.h - The learned model of schedules ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scheduled row program on a chip as numbers, nearly all of them ratios, so
// that chips of a family can share trees; and the gradient-boosted trees that
// predict its time and its registers from them. bench/chooser/train.py makes
// these; there is a file for each family of chips, ScheduleTrees.FAMILY.trees,
// which says what it was trained on. A file that the environment's LNBWD_MODEL
// names is read in its place.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULEFEATURES_H
#define LNBWD_ANALYSIS_SCHEDULEFEATURES_H

#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Target/ChipInfo.h"

#include <array>

namespace lnbwd {

enum class Feature : unsigned {
#define LNBWD_FEATURE(name, value) name,
#include "lnbwd/Analysis/ScheduleFeatures.def"
  count
};

/// The names, each with a comma after it: what a file of trees was trained on.
inline constexpr llvm::StringLiteral scheduleFeatureNames =
#define LNBWD_FEATURE(name, value) #name ","
#include "lnbwd/Analysis/ScheduleFeatures.def"
    ;

/// What a launch takes beside the roofline, whatever it does.
inline constexpr double launchMicroseconds = 2;

using ScheduleFeatures = std::array<float, size_t(Feature::count)>;

/// What the features of all schedules of a row program have in common.
struct ProgramFacts {
  /// N, in elements, the number of rows that is expected, and that of groups of
  /// them: 1 where any workgroup may have any row.
  double length, rows, groups;
  /// Row blocks read, column sums, row sums, and how many of those wait for
  /// each other.
  double rowsRead, sums, rowSums, phases;
  /// Bytes of a column in all of each, and in those vectors that a row needs
  /// only after its first sum.
  double bytesRead, bytesWritten, columnBytes, lateColumnBytes;
  /// Operations of the region on each element, and functions among them that
  /// take many instructions.
  double operations, functions;
  /// Row blocks that lie across, and the bytes of a column in them.
  llvm::SmallVector<AcrossBlock> across;
  double bytesAcross;
  /// Whether rows lie in pieces of an odd number of elements: a loop over them
  /// keeps the address of each element in registers.
  bool hasOddPieces;

  /// Of `op`, whose number of rows is `rows` where the types do not say it, and
  /// as many as move 128 MiB where that is 0.
  static ProgramFacts of(RowwiseOp op, int64_t rows);

  /// The least microseconds in which the memory of `chip` moves all rows.
  double getRooflineMicroseconds(const ChipInfo &chip) const;
};

/// Workgroups that a compute unit has room for, by the registers and the shared
/// memory that the model sees.
int64_t countResidentWorkgroups(RowwiseOp op, const Schedule &schedule,
                                const ChipInfo &chip);

ScheduleFeatures getFeatures(const ProgramFacts &program,
                             const Schedule &schedule, const ChipInfo &chip);

/// Why the trees of `chip` cannot be used: LNBWD_MODEL names a file without
/// some, or the features are not those that they were trained on. Empty if they
/// can.
llvm::StringRef getModelError(const ChipInfo &chip);

/// Microseconds of one call of a row program with each of some schedules, its
/// finalising kernel included, if its operands are in no cache.
llvm::SmallVector<double, 0>
predictMicroseconds(const ProgramFacts &program,
                    llvm::ArrayRef<ScheduleFeatures> schedules,
                    const ChipInfo &chip);

/// Registers of a lane with a schedule over those that it can have: above 1,
/// the kernel spills.
double predictRegisterShare(const ScheduleFeatures &schedule,
                            const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULEFEATURES_H
