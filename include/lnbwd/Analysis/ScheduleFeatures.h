//===- ScheduleFeatures.h - What the learned model sees ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scheduled row program on a chip as numbers: what the trees of
// ScheduleTrees.h are trained on and predict from. Nearly all are ratios, so
// that chips of a family can share trees.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULEFEATURES_H
#define LNBWD_ANALYSIS_SCHEDULEFEATURES_H

#include "lnbwd/Analysis/ScheduleFields.h"
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

  /// Of `op`, whose number of rows is `rows` where the types do not say it, and
  /// as many as move 128 MiB where that is 0.
  static ProgramFacts of(RowwiseOp op, int64_t rows);

  /// The least microseconds in which the memory of `chip` moves all rows.
  double getRooflineMicroseconds(const ChipInfo &chip) const;
};

ScheduleFeatures getFeatures(const ProgramFacts &program,
                             const ScheduleFields &schedule,
                             const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULEFEATURES_H
