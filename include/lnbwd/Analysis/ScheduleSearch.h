//===- ScheduleSearch.h - The schedule that is predicted fastest *- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which schedules are tried, and which of them is taken; and the rules for
// those of rows in splits.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULESEARCH_H
#define LNBWD_ANALYSIS_SCHEDULESEARCH_H

#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {
struct ProgramFacts;

/// `schedule` of `op` with the fields that follow from others, but for those
/// that `overrides` names.
ScheduleAttr followOthers(RowwiseOp op, ScheduleAttr schedule,
                          llvm::StringRef overrides, const ChipInfo &chip);

/// A schedule and the time that is predicted for it.
struct RankedSchedule {
  double microseconds;
  ScheduleAttr schedule;
};

/// The first `count` schedules of whole rows that can run on `chip`, the
/// fastest first. Where the types do not say the number of rows, `rows` does; 0
/// is a usual number. What was rejected spills, and so may what takes nearly as
/// many registers.
llvm::SmallVector<RankedSchedule>
rankSchedules(RowwiseOp op, const ChipInfo &chip, int64_t count, int64_t rows);

/// The schedule of `op` that is predicted fastest on `chip`; null if none can
/// run and is not rejected. `rows` is as for rankSchedules.
ScheduleAttr chooseSchedule(RowwiseOp op, const ChipInfo &chip, int64_t rows);
/// Whether there is one for `op`, which has column sums. No time is predicted.
bool hasSchedule(RowwiseOp op, const ChipInfo &chip);

/// How programs compute the row sums of `op` where `splits` workgroups share
/// each row; null if splits of the columns that a workgroup can hold are more
/// or fewer.
ScheduleAttr getSplitSchedule(RowwiseOp op, int64_t splits,
                              const ChipInfo &chip);

/// A schedule of `op` whose row sums are split over `splits` workgroups a
/// row, or by as many as fill the chip where that is 0; null if no number of
/// them does. Where the types do not say the number of rows, `rows` does; 0 is
/// a usual number.
ScheduleAttr chooseSplitSchedule(RowwiseOp op, int64_t splits,
                                 const ChipInfo &chip, int64_t rows = 0);

/// Whether a cache holds all rows that are read.
bool areFewRows(const ProgramFacts &program);

/// Whether `op`, which has few rows, was measured to take less time in two
/// passes: its columns are read again from the cache, beside its rows, and
/// leave no partial sums. `rows` is as for chooseSplitSchedule.
bool isFasterInTwo(RowwiseOp op, const ChipInfo &chip, int64_t rows);

/// A schedule of `op` with splits of its rows, and their number chosen for it,
/// where that was measured to take less time than any schedule without, on a
/// chip with measured parameters; null elsewhere, and where it was rejected.
/// Whether it can run is not asked. `rows` is as for chooseSplitSchedule.
ScheduleAttr chooseSplitsWhereFaster(RowwiseOp op, const ChipInfo &chip,
                                     int64_t rows);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULESEARCH_H
