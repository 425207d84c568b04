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

/// Columns of a row that one workgroup covers.
int64_t getWorkgroupColumns(RowwiseOp op, ScheduleAttr schedule);

/// Accesses that each lane makes to cover its columns of one row. A schedule
/// with `reload` takes them one after another; all others hold them at once.
int64_t getChunks(RowwiseOp op, ScheduleAttr schedule);

ScheduleResources getResources(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip);

/// Shared memory to ask for at launch: that of the stages, or so much more that
/// a compute unit has no room for another workgroup than the schedule says. A
/// kernel that starts while the one before it still holds some compute units
/// would crowd onto the others otherwise.
int64_t getLaunchedSharedBytes(RowwiseOp op, ScheduleAttr schedule,
                               const ChipInfo &chip);

/// How many groups' column sums are added up in one step when the groups of a
/// workgroup are combined.
int64_t getCombineRadix(RowwiseOp op, ScheduleAttr schedule);

/// Whether the bulk copies of a staged program begin before its rows do, since
/// rows do not all begin where a copy can; the bytes of one copy, of the row
/// operand `rows`; and of all copies of a stage.
bool needsShift(RowwiseOp op, ScheduleAttr schedule);
int64_t getCopyBytes(RowwiseOp op, ScheduleAttr schedule, mlir::Value rows);
int64_t getStageBytes(RowwiseOp op, ScheduleAttr schedule);

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

/// The schedule of `op`, a program that adds the partial sums of one that is
/// scheduled as `summed`: one workgroup for each few columns takes all rows.
ScheduleAttr chooseFinalizeSchedule(RowwiseOp op, ScheduleAttr summed,
                                    const ChipInfo &chip);

/// `schedule` with the fields that `overrides` names ("field=value,...").
mlir::FailureOr<ScheduleAttr>
overrideSchedule(ScheduleAttr schedule, llvm::StringRef overrides,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_SCHEDULEMODEL_H
