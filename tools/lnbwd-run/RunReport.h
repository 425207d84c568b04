//===- RunReport.h - What a run prints --------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_RUNREPORT_H
#define LNBWD_TOOLS_LNBWD_RUN_RUNREPORT_H

#include "GuardedLaunch.h"
#include "Problem.h"
#include "Verification.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <optional>
#include <string>
#include <vector>

namespace lnbwd::run {

/// Times of one launch on a real device, of all kernels of the plan, over
/// `repeats` measurements of `launchesPerRepeat` launches each.
struct TimeReport {
  double medianMicroseconds = 0;
  double minMicroseconds = 0;
  int repeats = 0;
  int launchesPerRepeat = 0;
  /// Copies of all buffers that the launches rotated among, and their size.
  size_t bufferSets = 0;
  double bufferSetBytes = 0;
  /// Every argument once, over the median time.
  double minimalBytes = 0;
  double gigabytesPerSecond = 0;
};

/// Everything that a run found.
struct RunReport {
  std::string operation;
  std::string chip;
  std::string format;
  std::string kernelFile;
  lnbwd_device_info device;
  size_t workspaceBytes = 0;
  std::vector<OutputReport> outputs;
  /// What went wrong besides the numbers.
  std::vector<std::string> complaints;
  std::optional<TimeReport> time;
  std::optional<lnbwd_sim_counters> counters;
  /// What the simulator's timing model says, as JSON; empty without it.
  std::string prediction;
  /// What the simulator's checks counted, as JSON; empty without them.
  std::string checkedCounts;

  bool isValid() const;
};

/// Measures launches on a real device.
TimeReport measureTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                       const Problem &problem, const GuardedLaunch &guarded);

/// For people: a few lines and a table.
std::string formatText(const RunReport &report, const Problem &problem,
                       const Options &options);
/// For programs: one JSON object; docs/runner.md has its keys.
std::string formatJson(const RunReport &report, const Problem &problem,
                       const Options &options);

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_RUNREPORT_H
