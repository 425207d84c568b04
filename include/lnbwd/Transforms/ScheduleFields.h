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

#ifndef LNBWD_TRANSFORMS_SCHEDULEFIELDS_H
#define LNBWD_TRANSFORMS_SCHEDULEFIELDS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

namespace lnbwd {

/// The fields of a schedule, to vary some of them.
struct ScheduleFields {
  int64_t threadsPerRow = 1;
  int64_t rowGroups = 1;
  int64_t vectorWidth = 1;
  int64_t rowsPerWorkgroup = 0;
  int64_t workgroupsPerComputeUnit = 0;
  int64_t workgroupsPerRow = 1;
  int64_t columnTile = 0;
  int64_t prefetch = 0;
  int64_t unroll = 1;
  int64_t stages = 0;
  int64_t earlyStart = 0;
  int64_t reload = 0;

  ScheduleFields() = default;
  explicit ScheduleFields(ScheduleAttr schedule);

  /// The name of each field, as the attribute has it, and the field.
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t *>> getNamed();

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

#endif // LNBWD_TRANSFORMS_SCHEDULEFIELDS_H
