//===- Simulator.h - The simulator behind a device --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runner asks of the simulator beyond HIP: checked launches, an
// unusual order of execution, what each buffer is to the kernel, counts of what
// was executed, and how long a card would take.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_SIMULATOR_H
#define LNBWD_TOOLS_LNBWD_RUN_SIMULATOR_H

#include "Options.h"

#include "lnbwd/Runtime/lnbwd_runtime.h"
#include "lnbwd/Simulator/SimulatorAPI.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace lnbwd::run {

/// The functions of SimulatorAPI.h that the runner uses; a device that has the
/// first one has them all.
#define LNBWD_SIMULATOR_FUNCTIONS(FUNCTION)                                    \
  FUNCTION(lnbwdSimSetChecks)                                                  \
  FUNCTION(lnbwdSimGetChecks)                                                  \
  FUNCTION(lnbwdSimDescribeBuffer)                                             \
  FUNCTION(lnbwdSimSetShuffle)                                                 \
  FUNCTION(lnbwdSimSetOtherOrders)                                             \
  FUNCTION(lnbwdSimResetCounters)                                              \
  FUNCTION(lnbwdSimGetCounters)                                                \
  FUNCTION(lnbwdSimGetCountsJson)                                              \
  FUNCTION(lnbwdSimSetTiming)                                                  \
  FUNCTION(lnbwdSimGetTimingJson)                                              \
  FUNCTION(lnbwdSimGetTimelineJson)                                            \
  FUNCTION(lnbwdSimLastErrorMessage)

class Simulator {
public:
  /// Checks are on if `wantsChecks`, or if LNBWD_SIM_CHECK has put them on.
  /// Throws if they are wanted and the device is not the simulator.
  Simulator(const lnbwd_device *device, bool wantsChecks);

  /// What the bytes are to the kernels that follow; nothing if checks are off.
  void describe(const void *pointer, size_t bytes, const std::string &name,
                lnbwd_access access) const;
  /// Executes waves and workgroups in the order that the seed gives, after they
  /// have been in the usual one; 0: as usual. Throws if the device is not the
  /// simulator.
  void shuffle(uint64_t seed) const;
  /// Later launches are not checked.
  void endChecks();
  /// Starts to count anew, on the simulator.
  void resetCounts() const;
  /// What the simulator has executed since; checks change nothing of it.
  lnbwd_sim_counters counters() const;
  /// The counts as JSON; empty if checks are off.
  std::string counts() const;
  /// Predicts what `launch` launches and waits for, and returns the JSON of
  /// lnbwdSimGetTimingJson. A timeline for Perfetto goes to the trace's file,
  /// if there is one. Of a chip whose times are not predicted nothing, with a
  /// warning, if only --time asks. Throws if the options are wrong or the file
  /// cannot be written.
  std::string predict(const std::function<void()> &launch,
                      const Options &options) const;

private:
  // Found by name; null where the device is not the simulator.
#define LNBWD_DECLARE(NAME) decltype(&::NAME) NAME;
  LNBWD_SIMULATOR_FUNCTIONS(LNBWD_DECLARE)
#undef LNBWD_DECLARE
  const lnbwd_device *device;
  bool checks = false;
};

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_SIMULATOR_H
