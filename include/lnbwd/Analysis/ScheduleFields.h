//===- ScheduleFields.h - A schedule to vary --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fields of a schedule as plain numbers: what the cost model weighs by the
// thousand, and what a user names to override.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULEFIELDS_H
#define LNBWD_ANALYSIS_SCHEDULEFIELDS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// The fields of a schedule, to vary some of them; ScheduleFields.def lists
/// them.
struct ScheduleFields {
#define LNBWD_SCHEDULE_FIELD(type, member, getter, name, start)                \
  int64_t member = start;
#include "lnbwd/Analysis/ScheduleFields.def"

  ScheduleFields() = default;
  explicit ScheduleFields(ScheduleAttr schedule);

  /// A field: its name, as the attribute has it; its value; whether it is a
  /// flag, 0 or 1.
  struct Named {
    llvm::StringRef name;
    int64_t *value;
    bool isFlag;
  };
  /// All fields, in the attribute's order.
  llvm::SmallVector<Named> getNamed();

  ScheduleAttr get(mlir::MLIRContext *context) const;
  /// The same, or null after an error if the fields do not fit each other.
  ScheduleAttr
  getChecked(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
             mlir::MLIRContext *context) const;
};

/// `schedule` with the fields that `overrides` names ("field=value,...").
mlir::FailureOr<ScheduleAttr>
overrideSchedule(ScheduleAttr schedule, llvm::StringRef overrides,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULEFIELDS_H
