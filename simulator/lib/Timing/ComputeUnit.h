//===- ComputeUnit.h - A compute unit in time -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events in a compute unit that executes recorded workgroups: which wave issues
// when, what it waits for, and how the paths to memory fill.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_TIMING_COMPUTEUNIT_H
#define LNBWD_LIB_SIMULATOR_TIMING_COMPUTEUNIT_H

#include "Core/InstructionTable.h"
#include "SimulatedChip.h"
#include "Timing/ClockInfo.h"
#include "Timing/TraceRecorder.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace lnbwd::sim {

// Events of a compute unit, and their form in Chrome's trace format, which
// Perfetto reads.

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

/// The unit's part of what it shares with others.
struct UnitShare {
  double L2Bytes;     ///< a clock
  double FarBytes;    ///< a clock
  double MemoryBytes; ///< a clock
  /// What it may have written that has not left the L2.
  double WriteBuffer = 65536;
};

/// Wave-clocks by what was waited for.
struct WaitTimes {
  double By[unsigned(WaitReason::Count)] = {};
  double total() const;
  void add(const WaitTimes &Other, double Times);
};

/// A workgroup in time, in clocks.
struct WorkgroupTimes {
  double Start = 0, End = 0;
};

class ComputeUnit {
public:
  /// Timeline may be null.
  ComputeUnit(const IssueTable &Table, const ClockInfo &C,
              const SimulatedChip &Chip, const UnitShare &Share,
              Timeline *Into);
  ~ComputeUnit();
  /// Executes the workgroups, Resident of them at a time. Each starts when its
  /// clock of Dispatch has come and there is room. Called once.
  std::vector<WorkgroupTimes>
  run(llvm::ArrayRef<const WorkgroupTrace *> Workgroups,
      llvm::ArrayRef<double> Dispatch, unsigned Resident);

  /// When everything has reached memory that was written.
  double drained() const { return MemoryFree; }
  WaitTimes Waits;
  /// Wave-clocks before each instruction of the program, waits and turns.
  std::vector<double> ByInstruction;

private:
  struct WaveInTime;
  struct Simd;
  void start(size_t Number, double At);
  void finish(WaveInTime &W, double At);
  bool issue(WaveInTime &W, Simd &S, double Now, unsigned &Ports);
  void prepare(WaveInTime &W);
  void account(const WaveInTime &W, uint32_t Instruction, double Now);
  void accountWait(const WaveInTime &W);
  void show(const WaveInTime &W, uint32_t Instruction, WaitReason R,
            double Begin, double End);
  void step(WaveInTime &W, const TraceStep &Step, const IssueFacts &F,
            double Now);
  void barrier(WaveInTime &W, double Now);
  void meet(size_t Number, double Now);
  double access(const Access &X, const WorkgroupTrace &T, double Now);
  double lineLoaded(const TouchedLine &Line, double At);
  double lineStored(const TouchedLine &Line, double Bytes, double At);
  double scalarLoaded(const Access &X, const WorkgroupTrace &T, double Now);
  double ldsDone(const Access *X, double Latency, double Now);

  const IssueTable &Table;
  const ClockInfo &C;
  const SimulatedChip &Chip;
  const UnitShare Share;
  Timeline *Into;

  struct Group;
  std::vector<Group> Groups;
  llvm::ArrayRef<const WorkgroupTrace *> Todo;
  llvm::ArrayRef<double> Dispatch;
  size_t Next = 0;
  std::vector<std::unique_ptr<Simd>> Simds;
  double PipeFree = 0, LdsFree = 0, ScalarFree = 0;
  double L2Free = 0, FarFree = 0, MemoryFree = 0;
  std::vector<double> InFlight; ///< when the latest lines arrive
  size_t NextInFlight = 0;
  std::unordered_map<uint64_t, double> Filling;
  std::unordered_map<uint64_t, double> CodeLines; ///< when they are there
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_TIMING_COMPUTEUNIT_H
