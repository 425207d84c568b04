//===- Launch.h - Execution of one kernel launch ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch is: its input, what its waves share, and how it came out. The
// scheduler executes it.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CORE_LAUNCH_H
#define LNBWD_LIB_SIMULATOR_CORE_LAUNCH_H

#include "Core/InstructionTable.h"
#include "Core/Memory.h"
#include "SimulatedChip.h"

#include "lnbwd/Simulator/SimulatorAPI.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lnbwd::sim {

class LaunchObserver;

/// Why a launch stopped early.
enum class LaunchFailure {
  None,
  IllegalAddress,
  BadInstruction,
  TimeOut,
  CheckFailed,
  OutOfMemory,
  Interrupted
};

/// How many instructions a launch may execute, all waves together.
struct InstructionLimit {
  /// By default: four thousand million, which take one to a few minutes, and
  /// more as more waves have begun, so that large launches have more. A kernel
  /// that does not end has no more waves than the chip holds.
  uint64_t Base = 1ull << 32;
  uint64_t PerWave = 1ull << 20;
  bool IsDefault = true;

  static InstructionLimit of(uint64_t Number) { return {Number, 0, false}; }
  static InstructionLimit none() { return of(~0ull); }
  /// By LNBWD_SIM_MAX_INSTRUCTIONS: a number, 0 for none, or the default where
  /// the variable is not set. A message if it is no number.
  static std::string fromEnvironment(InstructionLimit &Limit);
  uint64_t after(uint64_t WavesBegun) const {
    return Base + PerWave * WavesBegun;
  }
};

/// What a message says of an instruction of a wave, part by part.
struct ErrorDetails {
  static constexpr unsigned NoWave = ~0u; ///< found without executing it
  std::string Check;       ///< the check that reports it; empty: none is needed
  const Inst *I = nullptr; ///< null: no instruction is to blame
  const Inst *Other = nullptr; ///< of two that race, the earlier one
  uint32_t Workgroup[3] = {};
  unsigned Wave = 0;
  int Lane = -1;
  std::string Cause;
};

/// An error of a check that does not stop the launch: reported once, however
/// often it happens.
struct CheckError {
  std::string MergeKey; ///< the text without what differs from case to case
  std::string Text;     ///< the first case, as an error is worded
  ErrorDetails Parts;   ///< of the first case
  uint64_t Count = 0;
};

/// An order of execution in which workgroups overlap in time: all waves take
/// turns on one host thread, the same ones in every run.
struct WaveOrder {
  enum Kind : uint8_t {
    LastFirst,  ///< whoever is of the last workgroup that can go on
    FirstFirst, ///< or of the first one
    RoundRobin, ///< one after the other
    AtRandom
  } Choice = AtRandom;
  uint64_t Seed = 0;
  unsigned Beside = 16;  ///< workgroups that begin side by side
  uint64_t Most = ~0ull; ///< instructions, after which it ends without a word
};

/// Instructions that the process's launches have executed until now.
std::atomic<uint64_t> &executedInAll();

/// What a launch executes and what its waves share. The members up to Only
/// are set by the caller.
struct Launch {
  const InstructionTable *Code = nullptr; ///< for the kernel's wave size
  const Symbolizer *Symbols = nullptr;
  const Kernel *TheKernel = nullptr;
  uint32_t Grid[3] = {1, 1, 1};  ///< workgroups
  uint32_t Block[3] = {1, 1, 1}; ///< work-items of a workgroup
  uint32_t ClusterDims[3] = {};  ///< workgroups; 0: there are no clusters
  uint32_t LdsSize = 0;          ///< static and dynamic
  uint64_t Kernarg = 0;          ///< address of the filled segment
  uint64_t DispatchPacket = 0;
  uint64_t Queue = 0;
  InstructionLimit Limit;
  /// All memory that the kernel may access.
  RegionTable Regions;
  std::vector<FreedRegion> Freed; ///< what was memory until not long ago
  uint64_t Shuffle = 0; ///< seed of an unusual order of execution; 0: none
  /// Operations of the vector ALU on f32 and f64 round up where MODE asks for
  /// the nearest.
  bool RoundsUp = false;
  const WaveOrder *Interleaving = nullptr; ///< null: workgroup after workgroup
  /// Instructions before a second host thread begins to work on the launch.
  uint64_t AloneFor = 0;
  LaunchObserver *Observer = nullptr; ///< null if nobody looks
  /// How many different errors to gather before the launch is stopped.
  unsigned MostErrors = 1;
  /// LDS is used as lnbwdSimDescribeLds says, but for the accesses of these
  /// places in the source: ",LINE:COLUMN,LINE:COLUMN,".
  std::optional<std::string> LdsKeptAt;
  bool LdsKeptForOnce = false;
  /// The numbers of the workgroups to execute, in this order; empty: all.
  std::vector<uint64_t> Only;

  const SimulatedChip *Chip = nullptr;
  unsigned WaveSize = 64;
  uint64_t NumWorkgroups = 1;
  unsigned WavesPerWorkgroup = 1;
  uint64_t ShuffleStep = 1;
  uint32_t ScratchSize = 0;

  std::atomic<uint64_t> NextWorkgroup{0};
  std::atomic<uint64_t> Executed{0};
  const uint64_t Began = executedInAll(); ///< where its clocks begin
  std::atomic<bool> Stop{false};
  uint32_t InterruptsBefore = 0;

  std::mutex Lock; ///< of what follows
  LaunchFailure Failure = LaunchFailure::None;
  std::string Error;
  ErrorDetails ErrorParts;
  /// Bytes of LDS that the access needed that failed for being outside; 0: it
  /// was something else that failed.
  uint64_t LdsNeeded = 0;
  std::vector<CheckError> CheckErrors;
  lnbwd_sim_counters Counters = {};

  /// Workgroups that begin together: those of a cluster, or one.
  unsigned together() const {
    return ClusterDims[0] ? ClusterDims[0] * ClusterDims[1] * ClusterDims[2]
                          : 1;
  }
  /// Of a cluster by its number, the number of the workgroup of that rank.
  uint64_t memberOf(uint64_t Cluster, unsigned Rank) const;
  /// The cluster of a workgroup by its number.
  uint64_t clusterOf(uint64_t Workgroup) const;
  /// Brings Regions into the order that the search needs.
  void sortRegions();
  /// Adds what was counted to the totals of a device.
  void addCounters(lnbwd_sim_counters &Totals) const;
  /// Adds what a host thread has counted.
  void count(const lnbwd_sim_counters &Part);
  /// Keeps the first error and has all threads stop.
  void fail(LaunchFailure Kind, const std::string &Text,
            const ErrorDetails &Parts = {}, uint64_t LdsNeededForIt = 0);
  /// What stands for an instruction where errors are compared: its lines of
  /// the source, of which one may have become several instructions; without a
  /// line table, its address.
  std::string placeOf(const Inst *I);
  /// Merges the error with those of the same key. False: that was the last one
  /// that is wanted, and all threads are to stop.
  bool addError(const std::string &MergeKey,
                llvm::function_ref<std::string(ErrorDetails &)> Text);
  /// What is to be said of a launch with errors: all of them, and what
  /// stopped it besides.
  std::string report() const;
  /// Whether to go no further: something failed, or SIGINT came.
  bool stopped();

private:
  std::unordered_map<const Inst *, std::string> Places; ///< of placeOf
  /// What is said of something that was found in another order than the usual.
  std::string inThisOrder(std::string Text) const;
};

// A launch notifies an observer of what its waves do, before they do it, and
// lets itself be stopped. The core knows nothing of what observers are for; the
// checks are one. Registers need no events of their own: an observer is given
// each instruction before it executes, with the wave as it is then, and after.

struct Inst;
struct Region;
struct Wave;
struct Workgroup;

/// Observes one wave at a time. What returns a bool returns false if it has
/// stopped the wave (faultCheck in Execution.h).
class WaveObserver {
public:
  virtual ~WaveObserver() = default;
  /// A wave begins; so many scalar and vector registers, from the first on, are
  /// set.
  virtual void started(unsigned ScalarsSet, unsigned VectorsSet) = 0;
  /// The instruction is about to be executed.
  virtual bool before(const Inst *I) = 0;
  /// It has been, and the wave goes on; not called for one that waits at a
  /// barrier.
  virtual void after(const Inst *I) = 0;
  /// It has ended the wave.
  virtual void ended(const Inst *I) = 0;
  /// The buffer of the argument that its address is made from, for a report;
  /// null if that is not known.
  virtual const Region *argumentOf(const Inst *I) const { return nullptr; }

  // Memory instructions, once they know their addresses, which lie within what
  // the kernel may access. A has the lanes' addresses, Mask those that count,
  // Bytes is what a lane accesses.
  virtual bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                            unsigned Bytes) = 0;
  virtual bool ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                         unsigned Bytes) = 0;
  virtual bool scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                             unsigned Bytes) = 0;
  /// A wave copies bytes side by side between global memory and LDS. It loads
  /// GlobalBytes of them, and zeros for the others, or stores all.
  virtual bool blockAccess(const Inst *I, uint64_t Global, uint64_t GlobalBytes,
                           uint32_t Lds, uint32_t LdsBytes) {
    return true;
  }
  /// The copy then arrives at a barrier of 64 bits in LDS.
  virtual bool arrival(const Inst *I, uint32_t Lds) { return true; }
  /// Asked is the address before hardware drops what is below a dword.
  virtual bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                          uint64_t Asked) = 0;
};

/// Observes one workgroup at a time.
class WorkgroupObserver {
public:
  virtual ~WorkgroupObserver() = default;
  /// A workgroup begins: its number in the launch. False: its waves are
  /// observed only where they access memory, and not at each instruction.
  virtual bool started(uint64_t Number) = 0;
  /// The observer of one of its waves, which lives as long as this one.
  virtual WaveObserver &observe(Wave &W) = 0;
};

/// Observes a launch. Host threads work on several workgroups at a time.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  /// The observer of the workgroups that are executed, one after the other, in
  /// one place. Called by several threads.
  virtual std::unique_ptr<WorkgroupObserver> observe(Workgroup &WG) = 0;
};

/// Executes everything. False: the launch's Failure and Error say what went
/// wrong.
bool run(Launch &L);

/// Host threads that a launch uses: all cores, or LNBWD_SIM_THREADS.
unsigned hostThreads();

/// Executes what there is of a launch whose Turns say how, on this host thread.
/// As many workgroups as MostResident may run at a time where they wait for
/// each other.
void workInterleaved(Launch &L, size_t MostResident);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CORE_LAUNCH_H
