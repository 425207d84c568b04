//===- TraceRecorder.h - The observer that records traces -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records what the workgroups of a launch do. It only looks, and stops nothing.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_TRACERECORDER_H
#define LNBWD_LIB_SIMULATOR_TIMING_TRACERECORDER_H

#include "Core/Launch.h"
#include "Timing/ClockInfo.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace lnbwd::sim {

// The trace of a workgroup: for each wave the instructions in order, and what
// those that access memory touched. A long wave is recorded up to a limit; how
// many instructions it executed in all is known all the same.

enum class AccessKind : uint8_t { VectorLoad, VectorStore, Atomic, ScalarLoad };

/// Where a line was found.
enum class CacheLevel : uint8_t { L1, L2, Far, Memory };

/// What one memory instruction touched.
struct Access {
  uint32_t FirstLine = 0; ///< in WorkgroupTrace::Lines
  uint32_t NumLines = 0;
  uint32_t Bytes = 0;      ///< of active lanes
  uint32_t BankCycles = 0; ///< of LDS; 0: LDS was not accessed
  uint32_t Lanes = 0;      ///< that were active
  AccessKind Kind = AccessKind::VectorLoad;

  /// Bytes that a store writes to each of its lines; sectors of a quarter of
  /// a line are what leaves at least.
  double storedBytes(double LineBytes) const {
    return std::clamp(Bytes / double(NumLines), LineBytes / 4, LineBytes);
  }
};

/// One executed instruction: its number in the program, and its access plus 1,
/// or 0.
struct TraceStep {
  uint32_t Instruction;
  uint32_t Access;
};

struct WaveTrace {
  std::vector<TraceStep> Steps;
  uint64_t Executed = 0; ///< at least as many as there are steps
};

/// A line of memory that an access touched.
struct TouchedLine {
  uint64_t Number; ///< consecutive in a buffer
  uint16_t Region; ///< in the launch's table
  CacheLevel Level = CacheLevel::Memory;
  bool Rewritten = false; ///< a write to a line that was read
};

struct WorkgroupTrace {
  uint64_t Number = 0; ///< in the launch
  std::vector<WaveTrace> Waves;
  std::vector<Access> Accesses;
  std::vector<TouchedLine> Lines;
};

class TraceRecorder final : public LaunchObserver {
public:
  /// MostSteps is the limit of a wave.
  TraceRecorder(const Launch &L, const ClockInfo &C, size_t MostSteps)
      : L(L), C(C), MostSteps(MostSteps) {}
  std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) override;

  /// What was recorded, by the workgroups' numbers.
  std::map<uint64_t, std::unique_ptr<WorkgroupTrace>> Traces;

private:
  friend class WorkgroupRecorder;
  const Launch &L;
  const ClockInfo &C;
  size_t MostSteps;
  std::mutex Lock; ///< of Traces
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_TRACERECORDER_H
