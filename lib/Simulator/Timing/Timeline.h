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
  uint32_t Instruction;
  WaitReason Reason;
  double Begin, End; ///< clocks
};

/// The events of one launch, up to a limit.
struct Timeline {
  static constexpr size_t MostEvents = 400000;
  std::vector<TimelineEvent> Events;
  void add(const TimelineEvent &E) {
    if (Events.size() < MostEvents)
      Events.push_back(E);
  }
  /// The events as elements of "traceEvents". Process is the number of the
  /// launch, Begin its start in microseconds.
  std::string json(const InstructionTable &P, const Symbolizer &Names,
                   const ClockInfo &C, const std::string &Kernel,
                   unsigned Process, double Begin) const;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_TIMELINE_H
