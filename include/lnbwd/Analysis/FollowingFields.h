//===- FollowingFields.h - Fields that follow from others -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fields of a schedule that have one value for those of the others.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_FOLLOWINGFIELDS_H
#define LNBWD_ANALYSIS_FOLLOWINGFIELDS_H

#include "lnbwd/Analysis/ScheduleFields.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// `schedule` of `op` with the fields that follow from others, but for those
/// that `overrides` names.
ScheduleAttr followOthers(RowwiseOp op, ScheduleAttr schedule,
                          llvm::StringRef overrides, const ChipInfo &chip);

/// `fields` with rows prefetched before the dependency, where kernels of `op`
/// have them.
ScheduleFields addPrefetchBeforeDependency(RowwiseOp op, ScheduleFields fields);

/// Whether a program computes nothing but float32 sums of rows of 16 bits,
/// whose number is known, of which a lane adds up many.
bool hasLongNarrowSums(RowwiseOp op, ScheduleAttr schedule,
                       const ChipInfo &chip);
/// The iterations whose column sums are added before they are added to totals;
/// 0 where there are no totals.
int64_t chooseSumBlock(RowwiseOp op, ScheduleAttr schedule,
                       const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_FOLLOWINGFIELDS_H
