//===- FollowingFields.h - Fields that follow from others -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fields of a schedule that have one value for those of the others, and
// those that a user sets.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_FOLLOWINGFIELDS_H
#define LNBWD_ANALYSIS_FOLLOWINGFIELDS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// `schedule` of `op` with the fields that follow from others, but for those
/// that `overrides` names.
Schedule followOthers(RowwiseOp op, const Schedule &schedule,
                      llvm::StringRef overrides, const ChipInfo &chip);

/// `fields` with rows prefetched before the dependency, where kernels of `op`
/// have them.
Schedule addPrefetchBeforeDependency(RowwiseOp op, Schedule fields);

/// Whether a program computes nothing but float32 sums of rows of 16 bits,
/// whose number is known, of which a lane adds up many.
bool hasLongNarrowSums(RowwiseOp op, const Schedule &schedule,
                       const ChipInfo &chip);
/// The iterations whose column sums are added before they are added to totals;
/// 0 where there are no totals.
int64_t chooseSumBlock(RowwiseOp op, const Schedule &schedule,
                       const ChipInfo &chip);

/// The number that `overrides` sets `field` to, if it does.
std::optional<int64_t> findOverride(llvm::StringRef overrides,
                                    llvm::StringRef field);

/// `schedule` with the fields that `overrides` names ("field=value,...").
mlir::FailureOr<Schedule>
overrideSchedule(const Schedule &schedule, llvm::StringRef overrides,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_FOLLOWINGFIELDS_H
