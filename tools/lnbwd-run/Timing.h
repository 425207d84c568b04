//===- Timing.h - How fast a kernel is --------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_TIMING_H
#define LNBWD_TOOLS_LNBWD_RUN_TIMING_H

#include "GuardedLaunch.h"
#include "Handles.h"
#include "Options.h"
#include "Problem.h"

#include <string>

namespace lnbwd::run {

/// Times of one launch, over `repeats` measurements of `launchesPerRepeat`
/// launches each.
struct Measurement {
  double medianMicroseconds = 0;
  double minMicroseconds = 0;
  int repeats = 0;
  int launchesPerRepeat = 0;
};

/// Times of a real device, of all kernels of the plan.
struct TimeReport : Measurement {
  /// Copies of all buffers that the launches rotated among, and their size.
  size_t bufferSets = 0;
  double bufferSetBytes = 0;
  /// Every argument once, over the median time.
  double minimalBytes = 0;
  double gigabytesPerSecond = 0;
};

/// Measures launches on a real device.
TimeReport measureTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                       const Problem &problem, const GuardedLaunch &guarded);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_TIMING_H
