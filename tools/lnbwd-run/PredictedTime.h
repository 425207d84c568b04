//===- PredictedTime.h - How long a card would take -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the simulator's timing model says of the kernel. Nothing of it is
// measured, and it is kept apart from what is.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_PREDICTEDTIME_H
#define LNBWD_TOOLS_LNBWD_RUN_PREDICTEDTIME_H

#include "GuardedLaunch.h"
#include "Problem.h"

#include <string>

namespace lnbwd::run {

/// Predicts one launch of all kernels of the plan; the buffers' contents are
/// lost. `modelOptions` are those of lnbwdSimSetTiming. Returns the JSON of
/// lnbwdSimGetTimingJson; a timeline for Perfetto goes to the file, unless its
/// name is empty. Throws a Failure if the options are wrong or the file cannot
/// be written.
std::string predictTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                        const Problem &problem, const GuardedLaunch &guarded,
                        const std::string &modelOptions,
                        const std::string &timelineFile);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_PREDICTEDTIME_H
