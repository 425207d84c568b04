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
  /// Those of a kernel of two reads and one write over large arrays, and over
  /// arrays of the kernel's own size; 0 if not measured.
  double streamGigabytesPerSecond = 0;
  double sameSizeStreamGigabytesPerSecond = 0;
};

/// The program that says how fast the memory of a chip is for this kind of
/// work: it reads two arrays, writes a third, and does nothing else; M counts
/// rows. It is the file of --stream, or the row program stream.mlir, compiled
/// where lnbwd-opt is at hand; else null.
ProgramHandle loadStream(const Options &options, const std::string &chip);

/// Measures launches on a real device. `stream` is the program to compare with,
/// or null.
TimeReport measureTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                       const lnbwd_program *stream, const Problem &problem,
                       const GuardedLaunch &guarded);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_TIMING_H
