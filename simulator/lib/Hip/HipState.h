//===- HipState.h - What the HIP functions share ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state after the exported HIP functions, and how they return errors. The
// real HIP header is included, so that a definition with another signature than
// AMD's does not compile.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_HIP_HIPSTATE_H
#define LNBWD_LIB_SIMULATOR_HIP_HIPSTATE_H

// What these headers declare is what the library exports.
#pragma GCC visibility push(default)
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include "lnbwd/Simulator/SimulatorAPI.h"

namespace lnbwd::sim {
/// As HIP_LAUNCH_CONFIG and hipLaunchAttribute of newer headers.
struct LaunchAttribute {
  enum : int { Cooperative = 2, ClusterDimension = 4 };
  int Id;
  uint32_t Unused;
  uint32_t Value[16];
};
struct LaunchConfig {
  uint32_t Grid[3], Block[3], DynamicLds;
  hipStream_t Stream;
  const LaunchAttribute *Attributes;
  uint32_t NumAttributes;
};
} // namespace lnbwd::sim

// As in newer headers, enumerations as int.
extern "C" {
hipError_t hipDrvLaunchKernelEx(const lnbwd::sim::LaunchConfig *Config,
                                hipFunction_t Function, void **Parameters,
                                void **Extra);
hipError_t hipGetProcAddress(const char *Name, void **Function, int Version,
                             uint64_t Flags, int *Status);
hipError_t
hipModuleLaunchCooperativeKernel(hipFunction_t Function, unsigned int GridX,
                                 unsigned int GridY, unsigned int GridZ,
                                 unsigned int BlockX, unsigned int BlockY,
                                 unsigned int BlockZ, unsigned int DynamicLds,
                                 hipStream_t Stream, void **Parameters);
}
#pragma GCC visibility pop

#include "Check/Resources.h"
#include "Check/ShadowMemory.h"
#include "Core/Memory.h"
#include "Load/CodeObject.h"
#include "SimulatedChip.h"
#include "Timing/TimedLaunch.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

// HIP's handles are pointers to these. Execution is synchronous, so that
// streams and events have little to remember.

/// What was captured of a stream, in order.
struct ihipGraph {
  std::vector<std::function<hipError_t()>> Nodes;
};
/// A graph that can be launched: the nodes of one as they were.
struct hipGraphExec {
  std::vector<std::function<hipError_t()>> Nodes;
};
struct ihipStream_t {
  int Device;
  /// Set while launches and copies on the stream are captured and not executed.
  std::unique_ptr<ihipGraph> Capture;
};
struct ihipEvent_t {
  bool Recorded = false;
  /// By the clock of the stream's device.
  double Microseconds = 0;
};
/// What is counted of the memory of a pool; it comes from the device directly.
struct ihipMemPoolHandle_t {
  int Device;
  uint64_t Used = 0, MostUsed = 0; ///< bytes
  uint64_t ReleaseThreshold = 0;
  int Reuse[3] = {1, 1, 1}; ///< by hipMemPoolAttr, from the first one on
  std::map<void *, size_t> Buffers = {}; ///< their bytes
};
struct ihipModuleSymbol_t {
  const lnbwd::sim::Kernel *TheKernel;
  ihipModule_t *Owner;
};
struct ihipModule_t {
  int Device;
  void *Image = nullptr;
  std::unique_ptr<lnbwd::sim::CodeObject> Object;
  std::map<std::string, std::unique_ptr<ihipModuleSymbol_t>> Functions;
};

namespace lnbwd::sim {

struct Launch;

/// All state of the process; Lock guards it.
struct HipState {
  /// Checks and order as the environment says.
  HipState();

  std::mutex Lock;
  DeviceMemory Memory;
  DeviceShadows Shadows{Memory};
  std::set<ihipModule_t *> Modules;
  std::set<ihipModuleSymbol_t *> Functions;
  std::set<ihipStream_t *> Streams;
  std::set<ihipEvent_t *> Events;
  std::set<ihipGraph *> Graphs;
  std::set<hipGraphExec *> GraphExecs;
  /// What time it is on a device, in microseconds, for events: launches, copies
  /// and events move it on (see advanceClock).
  double Clock[NumChips] = {};
  lnbwd_sim_counters Counters[NumChips] = {};
  NamedCounts Counts[NumChips];
  /// The only device that programs see, if there is only one; -1: all.
  int OnlyDevice = -1;
  /// The default pool of each device, once it is asked for, and those that were
  /// made.
  std::unique_ptr<ihipMemPoolHandle_t> DefaultPools[NumChips];
  std::set<ihipMemPoolHandle_t *> Pools;
  /// The pools that hipMallocAsync takes from; null: the default ones.
  ihipMemPoolHandle_t *CurrentPools[NumChips] = {};
  /// What hipMallocManaged gave, which hipFree takes back.
  std::set<void *> Managed;
  /// Set while launches of a device are predicted and not executed.
  std::optional<TimingOptions> Timing[NumChips];
  Prediction Predicted[NumChips];
  unsigned Checks = 0;
  uint64_t Shuffle = 0;
  unsigned MostErrors = 1;
  std::string Summary;        ///< of the last checked launch
  uint32_t CheckedLaunch = 0; ///< and its number, or 0
  unsigned CheckedWaves = 1;  ///< of a workgroup of it
  /// Its code, as long as the module is there, or null.
  ihipModule_t *CheckedModule = nullptr;
  const InstructionTable *CheckedCode = nullptr;
  std::string CheckErrors = "[]"; ///< of the last launch, as JSON
  bool OtherOrders = true; ///< for checked launches, besides the usual one
  std::optional<std::string> LdsKeptAt; ///< of Launch
  bool LdsKeptForOnce = false;
};

HipState &state();
/// The calling thread's current device.
int &currentDevice();
/// Bytes of memory of a device: LNBWD_SIM_MEMORY_MB, 4 GiB otherwise.
size_t deviceMemoryBytes();

/// What is wrong with the simulator's variables of the environment, or "".
std::string problemOfEnvironment();

/// Ends a HIP function: remembers the error and the text after it for the
/// calling thread. Success forgets the text but not the error. LdsNeeded is
/// what lnbwdSimLdsNeeded says.
hipError_t finish(hipError_t Code, std::string Message = "",
                  uint64_t LdsNeeded = 0);

/// Ends a HIP function that was given something wrong: "FUNCTION: WHY".
hipError_t refuse(const char *Function, const std::string &Why,
                  hipError_t Code = hipErrorInvalidValue);
/// A fault of the program, not of what it asks for: finish, and report.
hipError_t finishFault(hipError_t Code, std::string Message);
/// What a function of HIP that is not there returns: hipErrorNotSupported, with
/// its name in the thread's message and in the report.
int missingFunction(const char *Name);
/// Ends a call that was given a "stream" or an "event" that does not exist.
hipError_t noSuch(const char *Function, const char *What);
/// Ends a call that asks for a value.
template <typename T, typename U>
hipError_t give(const char *Function, T *To, U Value) {
  if (!To)
    return refuse(Function, "null pointer");
  *To = Value;
  return finish(hipSuccess);
}
/// Ends a call that makes something, which the state keeps.
template <typename T> hipError_t keep(std::set<T *> &All, T *New, T **Made) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  *Made = *All.insert(New).first;
  return finish(hipSuccess);
}
/// Destroys what keep() was given; false: there is no such thing.
template <typename T> bool destroy(std::set<T *> &All, T *Old) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  const bool Known = All.erase(Old);
  if (Known)
    delete Old;
  return Known;
}

/// Appends "KIND: TEXT" to the report of the process, which LNBWD_SIM_REPORT
/// names, a file or "stderr"; nothing without. For programs that do not look
/// at lnbwdSimLastErrorMessage.
void report(const char *Kind, const std::string &Text);
/// The same on stderr where there is no report, once: for what leaves a program
/// without anything to execute.
void reportAlways(const char *Kind, const std::string &Text);
bool isReported();

/// What a launch reports, as JSON.
std::string errorsJson(const Launch &L);
/// Appends what the last launch reported to the file that LNBWD_SIM_ERRORS
/// names, a line of JSON for each error; of a launch that was refused, the
/// message that the thread was given.
void saveErrors(const std::string &Kernel, const char *Chip,
                const uint32_t Grid[3]);
/// If leaks are reported: keeps who has allocated a buffer. Under the lock.
void noteAllocation(const void *Pointer);

/// The device of a number that a program uses, or -1; and its number.
int deviceNumbered(int Number);
int numberOf(int Device);

/// The bytes of an image of unknown size.
ObjectBytes bytesFrom(const void *Image);
/// Loads a code object, or the current device's one of a bundle; `Origin`
/// begins messages.
hipError_t loadImage(hipModule_t *Module, const void *Image,
                     const std::string &Origin);
/// Null if the function does not exist.
const ihipModuleSymbol_t *checkFunction(hipFunction_t F);

/// Null, the default streams, and streams that exist are good.
bool validStream(hipStream_t Stream);

/// A buffer that has been freed is in no pool any more; the lock is held.
void leavePool(void *Pointer);

/// Captures `Work` if the stream is captured; otherwise executes it. A stream
/// that does not exist is an error of `Function`.
hipError_t enqueue(const char *Function, hipStream_t Stream,
                   std::function<hipError_t()> Work);

/// Captures a launch of a kernel: its arguments are copied, and `Launch` is
/// given the copies when a graph executes it.
hipError_t captureLaunch(
    const Kernel &K, hipStream_t Stream, void **Parameters, void **Extra,
    std::function<hipError_t(void **Parameters, void **Extra)> Launch);

/// Whether a stream, which exists, is being captured.
bool isCaptured(hipStream_t Stream);

/// The device that work on a stream is for.
int deviceOf(hipStream_t Stream);

/// What a launch without memory traffic, a copy or an event takes on the clock
/// of a device, in microseconds: about what cards show.
constexpr double LaunchMicroseconds = 5, CopyMicroseconds = 5,
                 EventMicroseconds = 1;

/// Moves a device's clock on: by a part that is always there, and the bytes by
/// the peak of the chip's memory. It makes times of events that are plausible,
/// the same from run to run, and independent of the host; it predicts nothing
/// (lnbwdSimSetTiming does).
void advanceClock(int Device, double Microseconds, uint64_t Bytes);

/// Compute units that HIP calls one multiprocessor: the two of a workgroup
/// processor, unless GPU_ENABLE_WGP_MODE=0 has it count them one by one.
unsigned unitsOfMultiprocessor(const SimulatedChip &Chip);
/// Workgroups of a kernel that a multiprocessor holds at a time.
int occupancy(const SimulatedChip &Chip, const Kernel &K, unsigned BlockSize,
              size_t DynamicLds);

/// Whether the launch that begins is to be checked; counts it if its kernel is
/// one of those to check.
bool passesFilter(const Kernel &K);

/// What is wrong with LNBWD_SIM_KERNELS and LNBWD_SIM_SKIP_LAUNCHES, or "".
std::string problemOfFilter();

/// The explicit arguments as the kernel has them in memory.
struct PackedArguments {
  const void *Bytes = nullptr;
  size_t Size = 0; ///< 0 where there are no Bytes
};

/// Reads HIP's array `extra`: pairs of a kind and a pointer, in any order, up
/// to HIP_LAUNCH_PARAM_END. Empty if all is well; otherwise what is wrong.
std::string readExtra(void **Extra, PackedArguments &Packed);

/// Gives each explicit argument and where kernelParams has its value, in order.
/// Empty if all is well; otherwise what is wrong.
std::string readParameters(
    const Kernel &K, void **Parameters,
    llvm::function_ref<void(const KernelArgument &A, const void *Value)> Take);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_HIP_HIPSTATE_H
