//===- Trace.h - What waves did, to be timed --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trace of a workgroup: for each wave the instructions in order, and what
// those that access memory touched. A long wave is recorded up to a limit; how
// many instructions it executed in all is known all the same.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_TRACE_H
#define LNBWD_LIB_SIMULATOR_TIMING_TRACE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lnbwd::sim {

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

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_TRACE_H
