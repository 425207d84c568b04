//===- ScheduleChoice.h - Which schedule a program gets ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that chooses: schedules of whole rows, of tiles of columns, of
// rows in splits, of kernels that add partial sums, and whether a program takes
// two passes.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULECHOICE_H
#define LNBWD_ANALYSIS_SCHEDULECHOICE_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// A program that needs a schedule.
struct ScheduleRequest {
  RowwiseOp op;
  const ChipInfo &chip;
  /// The number of rows where the types do not say it; 0 is a usual number.
  int64_t rows = 0;
  /// Splits of each row, where a user says how many; 0 leaves it to the
  /// chooser.
  int64_t splits = 0;
  /// The program whose partial sums `op` adds up; null for others.
  RowwiseOp summed = {};
};

/// A schedule and the time that is predicted for it.
struct RankedSchedule {
  double microseconds;
  Schedule schedule;
};

/// The schedule that is predicted fastest; none if none can run that was not
/// rejected. A program with `summed` or `splits` has few schedules, and gets
/// one in any case: checkSchedule says what it breaks.
std::optional<Schedule> chooseSchedule(const ScheduleRequest &request);

/// The first `count` schedules that the model ranks and that can run, the
/// fastest first. What was rejected spills, and so may what takes nearly as
/// many registers.
llvm::SmallVector<RankedSchedule> rankSchedules(const ScheduleRequest &request,
                                                int64_t count);

/// The choices for programs and a usual number of rows, by which two passes are
/// decided. An analysis: the pass that selects schedules takes them from the
/// pass that splits programs.
class ScheduleChoices {
public:
  explicit ScheduleChoices(mlir::Operation *) {}

  std::optional<Schedule> choose(const ScheduleRequest &request);
  /// Whether the program, which has column sums, takes one pass for the columns
  /// and one for the rows: no schedule of both can run, or, if `mayBeFaster`,
  /// two passes were measured to take less time.
  bool takesTwoPasses(const ScheduleRequest &request, bool mayBeFaster);

private:
  llvm::DenseMap<mlir::Operation *, std::optional<Schedule>> ofUsualRows;
};

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULECHOICE_H
