//===- Prediction.h - What was predicted of launches ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum of what launches are predicted to take, and its form in JSON.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_PREDICTION_H
#define LNBWD_LIB_SIMULATOR_TIMING_PREDICTION_H

#include "Timing/TimedLaunch.h"

#include <string>
#include <vector>

namespace lnbwd::sim {

/// Launches one after another on a stream.
struct Prediction {
  ClockInfo Clock;
  std::vector<LaunchPrediction> Launches;

  /// What the launches take in a stream of the same, which is what many of
  /// them between two events take for one: durations and the gaps between them.
  double microseconds() const;
  /// What two events around the launches read.
  double eventMicroseconds() const;
  /// What waves wait for in all launches, each by how long it takes.
  WaitTimes waits() const;
  /// A line or two for people.
  std::string summary() const;
  /// simulator/docs/simulator.md has the keys.
  std::string json() const;
  /// A file for Perfetto; empty without timelines.
  std::string timeline() const;
  /// What the user has to know beside the figures, a sentence each.
  std::vector<std::string> warnings() const;
};

/// Reads
/// "product=NAME;caches=warm|cold;timeline;timeline=EVENTS;NAME=NUMBER;..." for
/// a chip. Returns what is wrong, or nothing.
std::string parseTimingOptions(const std::string &Text, const char *Chip,
                               TimingOptions &Options);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_PREDICTION_H
