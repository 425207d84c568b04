//===- Timeline.h - What happened when, for a viewer ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events of a compute unit, and their form in Chrome's trace format, which
// Perfetto reads.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_TIMELINE_H
#define LNBWD_LIB_SIMULATOR_TIMING_TIMELINE_H

#include "Core/InstructionTable.h"
#include "Timing/ClockInfo.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// What a wave's time goes to.
enum class WaitReason : uint8_t {
  Memory,    ///< vector memory
  Scalar,    ///< scalar memory
  Lds,       ///< LDS, permutations
  Barrier,   ///< waves of the workgroup
  Registers, ///< results of the wave's own instructions
  Issue,     ///< others' turn, or a unit that is busy
  Working,   ///< its own instructions
  Count
};
const char *reasonName(WaitReason R);

struct TimelineEvent {
  uint32_t Workgroup; ///< as started on the unit
  uint32_t Wave;
  uint32_t Instruction; ///< that works, or that is waited at
  WaitReason Reason;
  double Begin, End; ///< clocks
};

/// The events of one launch, up to a limit, in the order of time for each wave.
struct Timeline {
  /// Some 100 MB of text.
  static constexpr size_t UsualMost = 400000;
  size_t MostEvents = UsualMost;
  std::vector<TimelineEvent> Events;
  uint64_t LeftOut = 0; ///< beyond the limit
  void add(const TimelineEvent &E) {
    if (Events.size() < MostEvents)
      Events.push_back(E);
    else
      ++LeftOut;
  }
  /// The events as elements of "traceEvents". Launch names the process, whose
  /// number is that of the launch; Begin is its start in microseconds.
  std::string json(const InstructionTable &P, const Symbolizer &Names,
                   const ClockInfo &C, const std::string &Launch,
                   unsigned Process, double Begin) const;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_TIMELINE_H
