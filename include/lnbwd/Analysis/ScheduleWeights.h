//===- ScheduleWeights.h - What the rules hold against a schedule -*- C++ -*-=//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranking of the schedules that the rules (ScheduleModel) propose where the
// fitted cost model does not choose.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_ANALYSIS_SCHEDULEWEIGHTS_H
#define LNBWD_ANALYSIS_SCHEDULEWEIGHTS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

namespace lnbwd {

/// Work-items of a workgroup that the rules aim at where rows are staged: one
/// workgroup leaves the fewest partial sums, and staged rows are in flight
/// whatever its lanes do.
constexpr int64_t stagedThreads = 512;
/// Work-items of a compute unit, a wave for each of its SIMDs, below which
/// fewer cost.
constexpr int64_t fewItems = 256;

/// Workgroups of `schedule` that have registers on a compute unit; a fraction
/// where compute units share them.
double getResident(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip);

/// Whether rows that do not come out even are weighed: on chips without
/// staging, in programs that keep a row and sum columns, whose workgroups stay
/// for all of their rows, where it is known how many there are. A kernel for
/// any number of rows rather has more of them in flight.
bool modelsIterations(RowwiseOp op, const ChipInfo &chip);

/// Whether a schedule that holds rows in registers has too little in flight.
bool isStarved(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip);

/// What a schedule costs beside the ideal, 0: idle lanes, lanes with too little
/// or too much to do, an exchange between waves, nothing in flight, partial
/// sums.
double getCost(RowwiseOp op, ScheduleAttr schedule, const ChipInfo &chip);

} // namespace lnbwd

#endif // LNBWD_ANALYSIS_SCHEDULEWEIGHTS_H
