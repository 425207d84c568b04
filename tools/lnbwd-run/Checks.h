//===- Checks.h - The simulator's checks ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runner asks of the simulator beyond HIP: checked launches, an
// unusual order of execution, and what each buffer is to the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_RUN_CHECKS_H
#define LNBWD_TOOLS_LNBWD_RUN_CHECKS_H

#include "lnbwd/Runtime/lnbwd_runtime.h"
#include "lnbwd/Simulator/SimulatorAPI.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace lnbwd::run {

class SimulatorChecks {
public:
  /// Checks are on if `wanted`, or if LNBWD_SIM_CHECK has put them on. Throws
  /// if they are wanted and the device is not the simulator.
  SimulatorChecks(const lnbwd_device *device, bool wanted);

  bool enabled() const { return isEnabled; }
  /// What the bytes are to the kernels that follow; nothing if checks are off.
  void describe(const void *pointer, size_t bytes, const std::string &name,
                lnbwd_access access) const;
  /// Executes waves and workgroups in the order that the seed gives, after they
  /// have been in the usual one; 0: as usual. Throws if the device is not the
  /// simulator.
  void shuffle(uint64_t seed) const;
  /// Later launches are not checked.
  void end();
  /// Starts to count anew, on the simulator.
  void resetCounts() const;
  /// What the simulator has executed since; checks change nothing of it. Throws
  /// if the device is not the simulator.
  lnbwd_sim_counters counters() const;
  /// The counts as JSON; empty if checks are off.
  std::string counts() const;

private:
  const lnbwd_device *device;
  bool isEnabled = false;
};

} // namespace lnbwd::run

#endif // LNBWD_TOOLS_LNBWD_RUN_CHECKS_H
