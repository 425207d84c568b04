//===- ResidentWorkgroup.h - A workgroup that is being executed -*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers, LDS and scratch memory of one workgroup, and the time slices that
// its waves take.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_RESIDENTWORKGROUP_H
#define LNBWD_LIB_SIMULATOR_CORE_RESIDENTWORKGROUP_H

#include "Core/Launch.h"
#include "Core/Wave.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace lnbwd::sim {

/// The state of one workgroup; reused for the next one.
class ResidentWorkgroup {
public:
  ResidentWorkgroup(Launch &L, LaneTemps &Temps);
  void start(uint64_t Number, std::shared_ptr<Cluster> Of, unsigned Rank);
  /// Starts those that begin together, from the end of Idle on, and moves them
  /// to Active.
  using List = std::vector<std::unique_ptr<ResidentWorkgroup>>;
  static void startTogether(const Launch &L, uint64_t Number, List &Idle,
                            List &Active);
  /// One time slice for each wave that can run. False: the launch has been
  /// stopped.
  bool runTimeSlices();
  /// None of the waves could run in the last ones: the others of the cluster
  /// have to.
  bool isHeldUp() const { return IsHeldUp; }
  /// For who chooses waves one by one: whether one of them can run, and a time
  /// slice of at most so many instructions for it. False: the launch has been
  /// stopped.
  bool canRun(unsigned Wave);
  bool runTimeSlice(unsigned Wave, uint64_t Most);
  const Wave &wave(unsigned Index) const { return *WG.Waves[Index]; }
  /// The launch fails, since none of the waves can run.
  void failStuck();
  /// Not enough memory for the workgroup's registers, LDS and scratch.
  bool failed() const { return OutOfMemory; }
  bool done() const { return !WG.Alive; }
  /// Adds what was counted since the last call.
  void collect(lnbwd_sim_counters &C);

  uint64_t Executed = 0; ///< instructions of the present one, about

private:
  struct FreeDeleter {
    void operator()(void *P) const { std::free(P); }
  };
  template <typename T> using Storage = std::unique_ptr<T, FreeDeleter>;
  template <typename T> static Storage<T> allocate(size_t Count);
  void startWave(unsigned Index);
  void leaveCluster();
  template <bool Observed> void runWave(Wave &W, uint64_t Left);
  void yield(Wave &W);
  bool hadTimeSlice(const Wave &W);
  bool waitsForOthers(const Wave &W) const;
  /// Adds what was executed to the launch's total, and stops the launch if
  /// that is too much; W has executed the last of it, At comes next if it runs.
  void reportExecuted(const Wave &W, const Inst *At);

  Launch &L;
  uint64_t Random = 0;     ///< state of the shuffled order
  uint64_t Unreported = 0; ///< instructions executed since the last report
  bool OutOfMemory = false, IsHeldUp = false;
  bool HasYielded = false; ///< a wave, to others that have not come so far
  Workgroup WG;
  Storage<uint8_t> Lds;
  std::vector<Storage<uint32_t>> Registers;
  Storage<uint8_t> Scratch;
  size_t ScratchPerWave;
  std::unique_ptr<WorkgroupObserver> Observer; ///< null if nobody looks
  bool ObservesInstructions = false;           ///< of the present workgroup
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_RESIDENTWORKGROUP_H
