//===- ScheduleModel.h - Which schedule for which row program ---*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model: what a schedule needs of a chip, whether it can run there,
// and which one to take when nobody says. All questions about a schedule's
// resources are answered here.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_SCHEDULEMODEL_H
#define LNBWD_TRANSFORMS_SCHEDULEMODEL_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// What a workgroup of a scheduled row program takes of its compute unit.
struct ScheduleResources {
  int64_t threads;
  /// Estimate of the 32-bit registers of a lane: operands in flight and
  /// widened, and the column sums.
  int64_t registersPerLane;
  /// What no allocation can do without: column sums and packed operands.
  int64_t leastRegistersPerLane;
  /// Shared memory of the kernel's own, and what a launch adds for the stages.
  int64_t sharedMemoryBytes;
  int64_t stagingBytes;
};

/// Accesses that each lane makes to cover its columns of one row. A schedule
/// with `reload` takes them one after another; all others hold them at once.
int64_t getChunks(RowwiseOp op, ScheduleAttr schedule);

ScheduleResources getResources(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip);

/// Whether `op` can run on `chip` as scheduled. Says through `emitError` which
/// limit does not hold and what would help.
mlir::LogicalResult
checkSchedule(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Whether a kernel of `op` has spilled with `schedule`: whether the module has
/// it in `lnbwd.rejected_schedules`.
bool isRejected(RowwiseOp op, ScheduleAttr schedule);

/// The model's choice for `op`, or null if no schedule can run it whole: then
/// it must be split into two passes first. What its module has in
/// `lnbwd.rejected_schedules` is not chosen, unless `allowRejected`: the next
/// best is.
ScheduleAttr chooseSchedule(RowwiseOp op, const ChipInfo &chip,
                            bool allowRejected = false);

/// The schedule of a program that adds `op`'s partial sums, `op` being that
/// program: one workgroup for each few columns takes all rows.
ScheduleAttr chooseFinalizeSchedule(RowwiseOp op, const ChipInfo &chip);

/// `schedule` with the fields that `overrides` names ("field=value,...").
mlir::FailureOr<ScheduleAttr>
overrideSchedule(ScheduleAttr schedule, llvm::StringRef overrides,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_SCHEDULEMODEL_H
