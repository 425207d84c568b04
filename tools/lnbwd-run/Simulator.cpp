//===- Simulator.cpp - The simulator behind a device ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulator.h"

#include "Handles.h"

#include "lnbwd/Support/OutputFile.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace lnbwd::run {

Simulator::Simulator(const lnbwd_device *device, bool wantsChecks)
    : device(device) {
#define LNBWD_LOAD(NAME)                                                       \
  NAME = reinterpret_cast<decltype(NAME)>(lnbwd_device_symbol(device, #NAME)); \
  if (!NAME && lnbwdSimSetChecks)                                              \
    throw Failure(BadInput, "the simulator's library has no " #NAME            \
                            "; it is of another release than this program");
  LNBWD_SIMULATOR_FUNCTIONS(LNBWD_LOAD)
#undef LNBWD_LOAD
  if (wantsChecks && !lnbwdSimSetChecks)
    throw Failure(BadInput, "--check: expected the simulator (--device sim), "
                            "got a device that checks nothing");
  if (wantsChecks && lnbwdSimGetChecks() == 0)
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
  checks = lnbwdSimSetChecks && lnbwdSimGetChecks() != 0;
}

void Simulator::describe(const void *pointer, size_t bytes,
                         const std::string &name, lnbwd_access access) const {
  unsigned flags = 0;
  if (access == LNBWD_ACCESS_READ)
    flags = LNBWD_SIM_BUFFER_READ_ONLY;
  else if (access == LNBWD_ACCESS_WRITE)
    flags = LNBWD_SIM_BUFFER_UNWRITTEN;
  if (checks && bytes != 0)
    lnbwdSimDescribeBuffer(pointer, bytes, name.c_str(), flags);
}

void Simulator::shuffle(uint64_t seed) const {
  if (!lnbwdSimSetShuffle)
    throw Failure(BadInput,
                  "--shuffle-waves: expected the simulator (--device sim), got "
                  "a device whose order cannot be chosen");
  lnbwdSimSetShuffle(seed);
  // Those that a launch is executed in by itself do not depend on the seed.
  lnbwdSimSetOtherOrders(seed == 0);
}

void Simulator::endChecks() {
  if (checks)
    lnbwdSimSetChecks(0);
  checks = false;
}

void Simulator::resetCounts() const {
  if (!lnbwdSimResetCounters)
    return;
  check(lnbwd_device_make_current(device));
  lnbwdSimResetCounters();
}

lnbwd_sim_counters Simulator::counters() const {
  check(lnbwd_device_make_current(device));
  lnbwd_sim_counters counters{};
  lnbwdSimGetCounters(&counters);
  return counters;
}

std::string Simulator::counts() const {
  if (!checks)
    return {};
  check(lnbwd_device_make_current(device));
  return lnbwdSimGetCountsJson();
}

std::string Simulator::predict(const std::function<void()> &launch,
                               const Options &options) const {
  check(lnbwd_device_make_current(device));
  const std::string &timelineFile = options.traceFile;
  const std::string model =
      options.timeOptions + (timelineFile.empty() ? "" : ";timeline");
  if (lnbwdSimSetTiming(model.c_str()) != 0) {
    const std::string error = lnbwdSimLastErrorMessage();
    if (!model.empty())
      throw UsageFailure("--time-options: " + error);
    if (options.predict)
      throw UsageFailure("--predict: " + error);
    // The counts are right.
    std::fprintf(stderr, "lnbwd-run: warning: --time: %s\n", error.c_str());
    return {};
  }
  launch();
  std::string prediction = lnbwdSimGetTimingJson();
  for (const std::string &warning :
       nlohmann::json::parse(prediction)
           .value("warnings", std::vector<std::string>()))
    std::fprintf(stderr, "lnbwd-run: warning: %s\n", warning.c_str());
  if (!timelineFile.empty())
    if (std::error_code wrong =
            writeOutputFile(timelineFile, lnbwdSimGetTimelineJson()))
      throw Failure(BadInput,
                    "cannot write '" + timelineFile + "': " + wrong.message());
  return prediction;
}

} // namespace lnbwd::run
