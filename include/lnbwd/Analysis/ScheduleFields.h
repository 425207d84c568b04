//===- ScheduleFields.h - A schedule to vary --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fields of a schedule as plain numbers: what the model weighs by the
// thousand, and what a user names to override.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULEFIELDS_H
#define LNBWD_ANALYSIS_SCHEDULEFIELDS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h"

namespace lnbwd {

/// The fields of a schedule, to vary some of them. They begin with their
/// defaults, or with their least values.
struct ScheduleFields {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, start)                      \
  int64_t member = start;
#include "lnbwd/Dialect/LNBwd/IR/LNBwdSchedule.h.inc"

  ScheduleFields() = default;
  explicit ScheduleFields(ScheduleAttr schedule);

  /// The value of each of `kScheduleFields`.
  llvm::SmallVector<int64_t *> getValues();

  /// The attribute of these fields, which fit each other; where an error can be
  /// emitted, null after one if they do not.
  ScheduleAttr
  get(mlir::MLIRContext *context,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError = {}) const;
};

/// The number that `overrides` sets `field` to, if it does.
std::optional<int64_t> findOverride(llvm::StringRef overrides,
                                    llvm::StringRef field);

/// `schedule` with the fields that `overrides` names ("field=value,...").
mlir::FailureOr<ScheduleAttr>
overrideSchedule(ScheduleAttr schedule, llvm::StringRef overrides,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULEFIELDS_H
