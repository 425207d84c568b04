//===- RowSplits.h - Rows in splits -----------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that write split row sums (`row_splits`): which sums the next
// of them can compute, and its schedule.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_ROWSPLITS_H
#define LNBWD_ANALYSIS_ROWSPLITS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// The row sums of `op` that wait for no other row sum, in their order.
llvm::SmallVector<mlir::Operation *> getFirstRowSums(RowwiseOp op);

/// How programs compute the row sums of `op` where `splits` workgroups share
/// each row; null if splits of the columns that a workgroup can hold are more
/// or fewer.
ScheduleAttr getSplitSchedule(RowwiseOp op, int64_t splits,
                              const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_ROWSPLITS_H
