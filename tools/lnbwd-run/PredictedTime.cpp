//===- PredictedTime.cpp - How long a card would take ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator's functions are found by name, as its counters are.
//
//===----------------------------------------------------------------------===//

#include "PredictedTime.h"

#include "Failure.h"

#include "lnbwd/Simulator/SimulatorAPI.h"
#include "lnbwd/Support/OutputFile.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace lnbwd::run {

namespace {
/// The simulator's functions; while this lives, launches are predicted.
class Predicting {
public:
  Predicting(const lnbwd_device *device, const std::string &options)
      : set(find<decltype(lnbwdSimSetTiming)>(device, "lnbwdSimSetTiming")),
        json(find<decltype(lnbwdSimGetTimingJson)>(device,
                                                   "lnbwdSimGetTimingJson")),
        timeline(find<decltype(lnbwdSimGetTimelineJson)>(
            device, "lnbwdSimGetTimelineJson")) {
    auto *message = find<decltype(lnbwdSimLastErrorMessage)>(
        device, "lnbwdSimLastErrorMessage");
    check(lnbwd_device_make_current(device));
    if (set(options.c_str()) != 0)
      throw UsageFailure(std::string("--time-options: ") + message());
  }
  ~Predicting() { set(nullptr); }
  Predicting(const Predicting &) = delete;
  Predicting &operator=(const Predicting &) = delete;

  decltype(&lnbwdSimSetTiming) set;
  decltype(&lnbwdSimGetTimingJson) json;
  decltype(&lnbwdSimGetTimelineJson) timeline;

private:
  template <typename F>
  static F *find(const lnbwd_device *device, const char *name) {
    auto *found = reinterpret_cast<F *>(lnbwd_device_symbol(device, name));
    if (!found)
      throw Failure(BadInput, "the simulator's library has no timing model; "
                              "it is of another release than this program");
    return found;
  }
};
} // namespace

std::string predictTime(const lnbwd_device *device, const lnbwd_kernel *kernel,
                        const Problem &problem, const GuardedLaunch &guarded,
                        const std::string &modelOptions,
                        const std::string &timelineFile) {
  const Predicting predicting(
      device, modelOptions + (timelineFile.empty() ? "" : ";timeline"));
  check(lnbwd_kernel_launch_grouped(kernel, guarded.pointers().data(),
                                    guarded.pointers().size(), problem.rows,
                                    problem.groups, guarded.workspacePointer(),
                                    guarded.workspaceSize(), nullptr),
        WrongNumbers);
  check(lnbwd_synchronize(device, nullptr), WrongNumbers);
  std::string found = predicting.json();
  const auto parsed = nlohmann::json::parse(found);
  for (const std::string &warning :
       parsed.value("warnings", std::vector<std::string>()))
    std::fprintf(stderr, "lnbwd-run: warning: %s\n", warning.c_str());
  if (!timelineFile.empty())
    if (std::error_code wrong =
            writeOutputFile(timelineFile, predicting.timeline()))
      throw Failure(BadInput,
                    "cannot write '" + timelineFile + "': " + wrong.message());
  return found;
}

} // namespace lnbwd::run
