//===- ScheduleSearch.h - The fastest by the cost model ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules of a row program in the order of the times that the fitted cost
// model predicts.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULESEARCH_H
#define LNBWD_ANALYSIS_SCHEDULESEARCH_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

#include <optional>

namespace lnbwd {

/// Rows of `op` as the model assumes them: those that the types say, else
/// `rows`, else, where that is 0, a usual number.
int64_t getExpectedRows(RowwiseOp op, int64_t rows);

/// The schedule of whole rows that takes the least time by the cost model; null
/// if there is none, the chip has no parameters, or the program is of a kind
/// that the model does not weigh. What is rejected is not chosen, unless
/// `allowRejected`. Where the types do not say the number of rows, `rows` does;
/// 0 is a usual number.
ScheduleAttr chooseByCost(RowwiseOp op, const ChipInfo &chip,
                          bool allowRejected, int64_t rows);

/// `schedule` of `op` with `prefetch_before_dependency` and `early_trigger`,
/// where it starts early and no kernel that adds up partial sums follows: for
/// rows that are whole in a workgroup, where it stays for further ones or waves
/// share the row. Elsewhere it was measured to gain nothing or to lose
/// (docs/performance.md). Not where that was rejected: a few more registers may
/// be too many.
ScheduleAttr prefetchRowsBeforeDependency(RowwiseOp op, const ChipInfo &chip,
                                          ScheduleAttr schedule);

/// A schedule, and the time of a call that the cost model predicts; none where
/// rules rank.
struct RankedSchedule {
  std::optional<double> microseconds;
  ScheduleAttr schedule;
};

/// The `count` best schedules of `op` by the cost model, the best first,
/// whether rejected or not. Where the chip has no parameters, or the program is
/// of a kind that the model does not weigh, those best by the rules' weights.
llvm::SmallVector<RankedSchedule> rankSchedules(RowwiseOp op,
                                                const ChipInfo &chip,
                                                int64_t count,
                                                int64_t rows = 0);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULESEARCH_H
