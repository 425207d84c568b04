//===- ScheduleLimits.h - What a schedule takes -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All questions about a schedule's resources are answered here, and whether it
// can run, for the search, which picks among what is allowed, and for the
// passes that make it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULELIMITS_H
#define LNBWD_ANALYSIS_SCHEDULELIMITS_H

#include "lnbwd/Analysis/RowAccess.h"
#include "lnbwd/Analysis/StageLayout.h"

#include <string>

namespace lnbwd {

/// Shared memory that the driver takes of each workgroup.
constexpr int64_t reservedSharedBytes = 1024;
/// Float32 rows that are live at once while a region is worked through, beside
/// those that lie in registers as they came, one of which may be overwritten.
constexpr int64_t liveRows = 2;
/// Registers of a lane for addresses, loop counters and the row's scalars.
constexpr int64_t fixedRegisters = 24;

/// What a workgroup of a scheduled row program takes of its compute unit.
struct ScheduleResources {
  int64_t threads;
  /// Estimate of the 32-bit registers of a lane: operands in flight and
  /// widened, and the column sums.
  int64_t registersPerLane;
  /// What no allocation can do without: column sums and packed operands.
  int64_t leastRegistersPerLane;
  /// Shared memory of the kernel's own, and what a launch adds for the stages,
  /// and, where there are any, for sums of leaves.
  int64_t sharedMemoryBytes;
  int64_t stagingBytes;
};

ScheduleResources getResources(RowwiseOp op, const Schedule &schedule,
                               const ChipInfo &chip);

/// Registers that each of `threads` lanes can have where a compute unit has so
/// many workgroups, on the SIMD that has the most of their waves; and what it
/// would be if all SIMDs had as many.
int64_t getMeanRegisterLimit(int64_t threads, const ChipInfo &chip);
int64_t getRegisterLimit(int64_t threads, const ChipInfo &chip,
                         int64_t workgroups = 1);

/// Whether the bulk copies of a staged program begin before its rows do, since
/// rows do not all begin where a copy can.
bool needsShift(RowwiseOp op, const Schedule &schedule);

/// How many groups' column sums are added up at once, for the shared memory.
int64_t chooseCombineRadix(RowwiseOp op, const Schedule &fields);

/// The schedules with which a kernel of `op` has spilled, with or without
/// `most_registers`: those that the module has in `lnbwd.rejected_schedules`.
/// And whether `schedule` is one of them.
llvm::SmallVector<Schedule> getRejected(RowwiseOp op, bool isBounded = false);
bool isRejected(RowwiseOp op, const Schedule &schedule);

/// Why `op` cannot run on `chip` as scheduled, and what would help; empty if it
/// can. What is let through, the passes to and on the lane level must get
/// right.
std::string getObstacle(RowwiseOp op, const Schedule &schedule,
                        const ChipInfo &chip);
/// Whether it can. Says through `emitError` what the obstacle is otherwise.
mlir::LogicalResult
checkSchedule(RowwiseOp op, const Schedule &schedule, const ChipInfo &chip,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULELIMITS_H
