//===- ScheduleModel.h - Which schedule for which row program ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model: which schedule to take where none is given.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULEMODEL_H
#define LNBWD_ANALYSIS_SCHEDULEMODEL_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// The model's choice for `op`, or null if no schedule can run it whole: then
/// it must be split into two passes first. What its module has in
/// `lnbwd.rejected_schedules` is not chosen, unless `allowRejected`: the next
/// best is. Where the types do not say the number of rows, `rows` does; 0 is a
/// usual number.
ScheduleAttr chooseSchedule(RowwiseOp op, const ChipInfo &chip,
                            bool allowRejected = false, int64_t rows = 0);

/// The schedule of `op`, a program that adds the partial sums of one that is
/// scheduled as `summed`: one workgroup for each few columns takes all rows.
ScheduleAttr chooseFinalizeSchedule(RowwiseOp op, ScheduleAttr summed,
                                    const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULEMODEL_H
