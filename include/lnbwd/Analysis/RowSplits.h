//===- RowSplits.h - Rows in splits -----------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which schedule with `row_splits` is best for a row program, and that of the
// kernels that write the split row sums.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_ROWSPLITS_H
#define LNBWD_ANALYSIS_ROWSPLITS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

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

/// A schedule of `op` with splits of its rows, and their number chosen for it,
/// where that was measured to take less time than any schedule without, on a
/// chip with measured parameters; null elsewhere. What is rejected is not
/// chosen, unless `allowRejected`; whether it can run is not asked. `rows` is
/// as for chooseSplitSchedule.
ScheduleAttr chooseSplitsWhereFaster(RowwiseOp op, const ChipInfo &chip,
                                     bool allowRejected, int64_t rows);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_ROWSPLITS_H
