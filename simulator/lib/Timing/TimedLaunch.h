//===- TimedLaunch.h - A launch in time -------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts how long a launch takes. A few workgroups are executed and recorded:
// those of the first compute unit of a die, and enough of its neighbours' for
// the die's cache. The first unit is then executed in time; the others do the
// same.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_TIMEDLAUNCH_H
#define LNBWD_LIB_SIMULATOR_TIMING_TIMEDLAUNCH_H

#include "Core/Launch.h"
#include "Timing/CacheLevels.h"
#include "Timing/ComputeUnit.h"

#include <string>
#include <vector>

namespace lnbwd::sim {

/// How launches are to be predicted.
struct TimingOptions {
  ClockInfo Clock;
  /// Whether a launch finds in the memory-side cache what the one before, of
  /// the same kernel and arguments, left there.
  bool Warm = false;
  bool WithTimeline = false;
  size_t MostEvents = Timeline::UsualMost; ///< of a launch, in the timeline
};

/// An instruction at which waves spent time.
struct HotInstruction {
  std::string Text, Place, Source;
  double Share; ///< of all wave-clocks
};

struct LaunchPrediction {
  std::string Kernel;
  double Microseconds = 0; ///< from the first workgroup's start to the end
  uint64_t Workgroups = 0;
  unsigned Resident = 0; ///< workgroups of a compute unit at a time
  uint64_t InDetail = 0; ///< workgroups that were executed in time
  uint64_t Recorded = 0; ///< workgroups that were executed at all
  WaitTimes Waits;
  Traffic Bytes;
  std::vector<HotInstruction> Hot;
  // Of the timeline, if asked for:
  std::string Events; ///< as text
  size_t EventCount = 0;
  uint64_t EventsLeftOut = 0;
};

/// Predicts the launch, whose members up to Regions are set; of its workgroups
/// only some are executed. False: executing them failed, as L says.
bool predict(Launch &L, const TimingOptions &Options, double TimelineBegin,
             unsigned Number, LaunchPrediction &P);

/// Workgroups of a kernel that a compute unit holds at a time.
unsigned residentWorkgroups(const SimulatedChip &Chip, const Kernel &K,
                            unsigned Waves, uint64_t LdsBytes);

// The sum of what launches are predicted to take, and its form in JSON.

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

#endif // LNBWD_LIB_SIMULATOR_TIMING_TIMEDLAUNCH_H
