//===- RowSlices.h - Rows in slices -----------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of the kernels that leave row sums in parts (`row_slices`).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_ROWSLICES_H
#define LNBWD_ANALYSIS_ROWSLICES_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// How programs compute the row sums of `op` where `slices` workgroups share
/// each row; null if slices of the columns that a workgroup can hold are more
/// or fewer.
ScheduleAttr getSliceSchedule(RowwiseOp op, int64_t slices,
                              const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_ROWSLICES_H
