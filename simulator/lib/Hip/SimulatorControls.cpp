//===- SimulatorControls.cpp - The functions of SimulatorAPI.h ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the simulator offers beyond HIP: checks, the order of waves, counters,
// and what is known of buffers.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cstring>
#include <utility>

using namespace lnbwd::sim;

/// A text of the state that the thread keeps until it asks for the same again.
template <typename F> static const char *textOf(F Function) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = Function(state());
  return Text.c_str();
}

/// The shadow of the buffer that has all of these bytes, or null. Under the
/// lock.
static BufferShadow *shadowOf(const void *Pointer, uint64_t Bytes) {
  const uint64_t Address = reinterpret_cast<uint64_t>(Pointer);
  BufferShadow *S = state().Shadows.shadowAt(Address);
  return S && Address >= S->begin() && Address - S->begin() <= S->bytes() &&
                 Bytes <= S->bytes() - (Address - S->begin())
             ? S
             : nullptr;
}

extern "C" {

void lnbwdSimResetCounters(void) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Counters[currentDevice()] = lnbwd_sim_counters();
  state().Counts[currentDevice()] = NamedCounts();
}

void lnbwdSimGetCounters(lnbwd_sim_counters *Counters) {
  if (!Counters)
    return;
  std::lock_guard<std::mutex> Guard(state().Lock);
  *Counters = state().Counters[currentDevice()];
}

int64_t lnbwdSimConstant(const char *Name) {
#define CONSTANT(X)                                                            \
  {                                                                            \
    #X, X                                                                      \
  }
  static constexpr std::pair<const char *, int64_t> Constants[] = {
      CONSTANT(LNBWD_SIM_CHECK_MEMORY),
      CONSTANT(LNBWD_SIM_CHECK_REGISTERS),
      CONSTANT(LNBWD_SIM_CHECK_RACES),
      CONSTANT(LNBWD_SIM_CHECK_WAITS),
      CONSTANT(LNBWD_SIM_CHECK_LIMITS),
      CONSTANT(LNBWD_SIM_CHECK_COUNTS),
      CONSTANT(LNBWD_SIM_CHECK_ALIGNMENT),
      CONSTANT(LNBWD_SIM_CHECK_HAZARDS),
      CONSTANT(LNBWD_SIM_CHECK_ALL),
      CONSTANT(LNBWD_SIM_BUFFER_READ_ONLY),
      CONSTANT(LNBWD_SIM_BUFFER_UNWRITTEN),
  };
#undef CONSTANT
  for (const auto &[Known, Value] : Constants)
    if (Name && std::strcmp(Known, Name) == 0)
      return Value;
  return -1;
}

const char *lnbwdSimGetPropertiesJson(void) {
  static thread_local std::string Text;
  int Device = 0;
  hipDeviceProp_t P;
  if (hipGetDevice(&Device) != hipSuccess ||
      hipGetDeviceProperties(&P, Device) != hipSuccess)
    return "null";
  Text = llvm::formatv(
      "{0}", llvm::json::Value(llvm::json::Object{
                 {"name", P.name},
                 {"major", P.major},
                 {"minor", P.minor},
                 {"total_memory", int64_t(P.totalGlobalMem)},
                 {"multi_processor_count", P.multiProcessorCount},
                 {"shared_memory_per_block", int64_t(P.sharedMemPerBlock)},
                 {"warp_size", P.warpSize},
                 {"gcnArchName", P.gcnArchName}}));
  return Text.c_str();
}

void lnbwdSimSetChecks(unsigned Checks) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Checks = Checks & (LNBWD_SIM_CHECK_ALL | LNBWD_SIM_CHECK_ALIGNMENT);
  state().Shadows.setChecked(Checks != 0);
}

unsigned lnbwdSimGetChecks(void) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Checks;
}

void lnbwdSimSetShuffle(uint64_t Seed) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Shuffle = Seed;
}

void lnbwdSimSetOtherOrders(int Wanted) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().OtherOrders = Wanted != 0;
}

void lnbwdSimSetMaxErrors(unsigned Count) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().MostErrors = Count ? Count : 1;
}

const char *lnbwdSimGetCheckSummary(void) {
  return textOf([](HipState &S) { return S.Summary; });
}

int lnbwdSimDescribeBuffer(const void *Pointer, uint64_t Bytes,
                           const char *Name, unsigned Flags) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  bool Good = state().Shadows.describe(
      reinterpret_cast<uint64_t>(Pointer), Bytes, Name ? Name : "",
      (Flags & LNBWD_SIM_BUFFER_READ_ONLY) != 0,
      (Flags & LNBWD_SIM_BUFFER_UNWRITTEN) != 0);
  return Good ? 0 : -1;
}

void lnbwdSimDescribeLds(const char *Others, int Once) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().LdsKeptAt.reset();
  if (Others)
    state().LdsKeptAt = std::string(",") + Others + ",";
  state().LdsKeptForOnce = Once != 0;
}

int64_t lnbwdSimCountUnwritten(const void *Pointer, uint64_t Bytes,
                               uint64_t ElementBytes, uint64_t *First) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  const BufferShadow *S = shadowOf(Pointer, Bytes);
  if (!(state().Checks & LNBWD_SIM_CHECK_MEMORY) || !ElementBytes || !S)
    return -1;
  uint64_t None = 0;
  return int64_t(S->countUnwritten(reinterpret_cast<uint64_t>(Pointer),
                                   Bytes / ElementBytes, ElementBytes,
                                   First ? *First : None));
}

int lnbwdSimGetAccesses(const void *Pointer, uint64_t Bytes, uint8_t *Ways) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  const BufferShadow *S = shadowOf(Pointer, Bytes);
  if (!S)
    return -1;
  S->accesses(reinterpret_cast<uint64_t>(Pointer), Bytes, state().CheckedLaunch,
              Ways);
  return 0;
}

int lnbwdSimGetAccessors(const void *Pointer, uint64_t Count,
                         uint64_t ElementBytes, int Writes, uint32_t One,
                         uint32_t *Workgroups) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!ElementBytes || Count > UINT64_MAX / ElementBytes)
    return -1;
  const BufferShadow *S = shadowOf(Pointer, Count * ElementBytes);
  if (!S)
    return -1;
  S->accessors(reinterpret_cast<uint64_t>(Pointer), Count, ElementBytes,
               state().CheckedLaunch, Writes != 0, state().CheckedWaves, One,
               Workgroups);
  return 0;
}

const char *lnbwdSimGetCountsJson(void) {
  return textOf([](HipState &S) { return S.Counts[currentDevice()].json(); });
}

int lnbwdSimSetTiming(const char *Options) {
  const int Device = currentDevice();
  TimingOptions Parsed;
  std::string Problem;
  if (Options)
    Problem = parseTimingOptions(Options, Chips[Device].Chip, Parsed);
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (finish(Problem.empty() ? hipSuccess : hipErrorInvalidValue,
             Problem.empty() ? "" : "lnbwdSimSetTiming: " + Problem) !=
      hipSuccess)
    return -1;
  state().Timing[Device].reset();
  if (Options) {
    state().Timing[Device] = Parsed;
    state().Predicted[Device] = Prediction();
    state().Predicted[Device].Clock = Parsed.Clock;
  }
  return 0;
}

const char *lnbwdSimGetTimingJson(void) {
  return textOf(
      [](HipState &S) { return S.Predicted[currentDevice()].json(); });
}

const char *lnbwdSimGetTimelineJson(void) {
  return textOf(
      [](HipState &S) { return S.Predicted[currentDevice()].timeline(); });
}

} // extern "C"
