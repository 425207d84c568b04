//===- Checks.cpp - The simulator's checks --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions are found in the opened library, as on any other HIP they are
// not there.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"

#include "Failure.h"
#include "Handles.h"

namespace lnbwd::run {

template <typename F>
static F *find(const lnbwd_device *device, const char *name) {
  return reinterpret_cast<F *>(lnbwd_device_symbol(device, name));
}

SimulatorChecks::SimulatorChecks(const lnbwd_device *device, bool wanted)
    : device(device) {
  auto *set = find<decltype(lnbwdSimSetChecks)>(device, "lnbwdSimSetChecks");
  auto *get = find<decltype(lnbwdSimGetChecks)>(device, "lnbwdSimGetChecks");
  if (wanted && (!set || !get))
    throw Failure(BadInput, "--check: expected the simulator (--device sim), "
                            "got a device that checks nothing");
  if (wanted && get() == 0)
    set(LNBWD_SIM_CHECK_ALL);
  isEnabled = get && get() != 0;
}

void SimulatorChecks::describe(const void *pointer, size_t bytes,
                               const std::string &name,
                               lnbwd_access access) const {
  auto *describe =
      find<decltype(lnbwdSimDescribeBuffer)>(device, "lnbwdSimDescribeBuffer");
  unsigned flags = 0;
  if (access == LNBWD_ACCESS_READ)
    flags = LNBWD_SIM_BUFFER_READ_ONLY;
  else if (access == LNBWD_ACCESS_WRITE)
    flags = LNBWD_SIM_BUFFER_UNWRITTEN;
  if (isEnabled && describe && bytes != 0)
    describe(pointer, bytes, name.c_str(), flags);
}

void SimulatorChecks::shuffle(uint64_t seed) const {
  auto *set = find<decltype(lnbwdSimSetShuffle)>(device, "lnbwdSimSetShuffle");
  if (!set)
    throw Failure(BadInput,
                  "--shuffle-waves: expected the simulator (--device sim), got "
                  "a device whose order cannot be chosen");
  set(seed);
  // Those that a launch is executed in by itself do not depend on the seed.
  if (auto *others = find<decltype(lnbwdSimSetOtherOrders)>(
          device, "lnbwdSimSetOtherOrders"))
    others(seed == 0);
}

void SimulatorChecks::end() {
  if (isEnabled)
    find<decltype(lnbwdSimSetChecks)>(device, "lnbwdSimSetChecks")(0);
  isEnabled = false;
}

void SimulatorChecks::resetCounts() const {
  auto *reset =
      find<decltype(lnbwdSimResetCounters)>(device, "lnbwdSimResetCounters");
  if (!reset)
    return;
  check(lnbwd_device_make_current(device));
  reset();
}

lnbwd_sim_counters SimulatorChecks::counters() const {
  auto *get =
      find<decltype(lnbwdSimGetCounters)>(device, "lnbwdSimGetCounters");
  if (!get)
    throw Failure(BadInput, "the simulator's library has no counters; it is of "
                            "another release than this program");
  check(lnbwd_device_make_current(device));
  lnbwd_sim_counters counters{};
  get(&counters);
  return counters;
}

std::string SimulatorChecks::counts() const {
  auto *get =
      find<decltype(lnbwdSimGetCountsJson)>(device, "lnbwdSimGetCountsJson");
  if (!isEnabled || !get)
    return {};
  check(lnbwd_device_make_current(device));
  return get();
}

} // namespace lnbwd::run
