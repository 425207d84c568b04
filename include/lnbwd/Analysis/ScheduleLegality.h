//===- ScheduleLegality.h - What forbids a schedule -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a row program can run on a chip as scheduled. What is let through,
// the passes to and on the lane level must get right.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULELEGALITY_H
#define LNBWD_ANALYSIS_SCHEDULELEGALITY_H

#include "lnbwd/Analysis/ScheduleLimits.h"

#include <string>

namespace lnbwd {

/// Why `op` cannot run on `chip` as scheduled, and what would help; empty if it
/// can.
std::string getObstacle(RowwiseOp op, ScheduleAttr schedule,
                        const ChipInfo &chip);

/// Whether `op` can run on `chip` as scheduled. Says through `emitError` which
/// limit does not hold and what would help.
mlir::LogicalResult
checkSchedule(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULELEGALITY_H
