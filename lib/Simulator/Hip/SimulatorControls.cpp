//===- SimulatorControls.cpp - The functions of SimulatorAPI.h ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of the process, and what the simulator offers beyond HIP: checks,
// the order of waves, counters, and what is known of buffers.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Core/Environment.h"
#include "Execute/HostTables.h"
#include "Hip/HipState.h"

#include "lnbwd/Simulator/CheckNames.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

using namespace lnbwd::sim;

/// Reads LNBWD_SIM_CHECK: "1" or "all", "0" or "none", or names of checks
/// separated by commas. `Problem` gets what is wrong with it.
static unsigned checksFromEnvironment(std::string &Problem) {
  const char *Text = std::getenv("LNBWD_SIM_CHECK");
  if (!Text)
    return 0;
  unsigned Checks = 0;
  llvm::SmallVector<llvm::StringRef, 8> Parts;
  llvm::StringRef(Text).split(Parts, ',');
  for (llvm::StringRef Part : Parts) {
    llvm::StringRef Name = Part.trim();
    if (Name.empty() || Name == "0")
      continue;
    if (std::optional<unsigned> Bits = checkBits(Name == "1" ? "all" : Name)) {
      Checks |= *Bits;
      continue;
    }
    Problem = "LNBWD_SIM_CHECK: expected " + std::string(ListOfChecks) +
              ", separated by commas, got '" + Part.str() + "'";
    return LNBWD_SIM_CHECK_ALL;
  }
  return Checks;
}

/// Looks at LNBWD_SIM_ISA.
static std::string problemOfHostTable() {
  const char *Text = std::getenv("LNBWD_SIM_ISA");
  if (!Text)
    return "";
  std::string Names;
  for (const ExecTable *Table : runnableExecTables()) {
    if (llvm::StringRef(Text) == Table->Name)
      return "";
    Names += (Names.empty() ? "" : " or ") + std::string(Table->Name);
  }
  return "LNBWD_SIM_ISA: expected " + Names + " on this host, got '" + Text +
         "'";
}

/// The device that LNBWD_SIM_CHIP names; -1: none.
static int deviceFromEnvironment(std::string &Problem) {
  const char *Text = std::getenv("LNBWD_SIM_CHIP");
  if (!Text || !*Text)
    return -1;
  if (const SimulatedChip *Chip = chipByName(Text))
    return int(Chip - Chips);
  Problem = "LNBWD_SIM_CHIP: expected one of " + namesOfChips() + ", got '" +
            Text + "'";
  return -1;
}

std::string lnbwd::sim::problemOfEnvironment() {
  std::string Problem = problemOfNumbers();
  if (Problem.empty())
    deviceFromEnvironment(Problem);
  if (Problem.empty())
    Problem = problemOfHostTable();
  if (Problem.empty())
    checksFromEnvironment(Problem);
  return Problem;
}

/// Wrong variables are refused when the devices are asked for; a program that
/// never asks gets all checks.
HipState::HipState() : Shuffle(ShuffleVariable.read().value_or(0)) {
  std::string Problem;
  Checks = checksFromEnvironment(Problem);
  Shadows.setChecked(Checks != 0);
  MostFindings = unsigned(FindingsVariable.read().value_or(1));
  OnlyDevice = deviceFromEnvironment(Problem);
}

HipState &lnbwd::sim::state() {
  // Never destroyed: other static objects may still call HIP functions.
  static HipState *State = new HipState;
  return *State;
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

void lnbwdSimSetMaxFindings(unsigned Count) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().MostFindings = Count ? Count : 1;
}

const char *lnbwdSimGetCheckSummary(void) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = state().Summary;
  return Text.c_str();
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

int64_t lnbwdSimCountUnwritten(const void *Pointer, uint64_t Bytes,
                               uint64_t ElementBytes, uint64_t *First) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  if (!(state().Checks & LNBWD_SIM_CHECK_MEMORY) || !ElementBytes)
    return -1;
  const uint64_t Address = reinterpret_cast<uint64_t>(Pointer);
  const BufferShadow *S = state().Shadows.shadowAt(Address);
  if (!S || Address < S->begin() || Address - S->begin() > S->bytes() ||
      Bytes > S->bytes() - (Address - S->begin()))
    return -1;
  uint64_t None = 0;
  return int64_t(S->countUnwritten(Address, Bytes / ElementBytes, ElementBytes,
                                   First ? *First : None));
}

const char *lnbwdSimGetCountsJson(void) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = state().Counts[currentDevice()].json();
  return Text.c_str();
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
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = state().Predicted[currentDevice()].json();
  return Text.c_str();
}

const char *lnbwdSimGetTimelineJson(void) {
  static thread_local std::string Text;
  std::lock_guard<std::mutex> Guard(state().Lock);
  Text = state().Predicted[currentDevice()].timeline();
  return Text.c_str();
}

} // extern "C"
