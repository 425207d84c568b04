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
#include <string_view>

namespace lnbwd {

/// The features, in the order in which trees count them. What ends in _log is a
/// binary logarithm. A changed feature needs another name and new trees: those
/// of other names do not compile.
#define LNBWD_SCHEDULE_FEATURES(X)                                             \
  /* The program: the least time of its bytes, and what a row is. */           \
  X(roofline_log)                                                              \
  X(row_bytes_log)                                                             \
  X(unit_rows_log)                                                             \
  X(read_share)                                                                \
  X(element_bytes)                                                             \
  X(column_share)                                                              \
  X(late_column_share)                                                         \
  X(sums)                                                                      \
  X(row_sums)                                                                  \
  X(phases)                                                                    \
  X(operations)                                                                \
  X(functions)                                                                 \
  /* The schedule. */                                                          \
  X(row_waves_log)                                                             \
  X(row_groups_log)                                                            \
  X(access_bytes)                                                              \
  X(accesses)                                                                  \
  X(lane_elements)                                                             \
  X(idle_share)                                                                \
  X(row_workgroups)                                                            \
  X(stages)                                                                    \
  X(prefetch)                                                                  \
  X(unroll)                                                                    \
  X(unit_workgroups)                                                           \
  X(dependent_launch)                                                          \
  X(prefetch_before)                                                           \
  X(shifted)                                                                   \
  X(workgroup_waves)                                                           \
  /* What both come to on the chip. */                                         \
  X(register_share)                                                            \
  X(resident_waves)                                                            \
  X(rounds)                                                                    \
  X(iterations_log)                                                            \
  X(uneven_share)                                                              \
  X(in_flight_log)                                                             \
  X(line_share)                                                                \
  X(issue_log)                                                                 \
  X(latency_log)                                                               \
  X(dispatch_log)                                                              \
  X(exchange)                                                                  \
  X(combine)                                                                   \
  X(partial_share)                                                             \
  X(shared_share)

enum class Feature : unsigned {
#define LNBWD_FEATURE(name) name,
  LNBWD_SCHEDULE_FEATURES(LNBWD_FEATURE)
#undef LNBWD_FEATURE
};

/// The names, each with a comma after it: what a file of trees was trained on.
#define LNBWD_FEATURE(name) #name ","
inline constexpr std::string_view scheduleFeatureNames =
    LNBWD_SCHEDULE_FEATURES(LNBWD_FEATURE);
#undef LNBWD_FEATURE

#define LNBWD_FEATURE(name) +1
inline constexpr size_t scheduleFeatureCount =
    LNBWD_SCHEDULE_FEATURES(LNBWD_FEATURE);
#undef LNBWD_FEATURE

using ScheduleFeatures = std::array<float, scheduleFeatureCount>;

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
