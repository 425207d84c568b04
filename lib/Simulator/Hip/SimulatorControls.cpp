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
#include "Hip/HipState.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

using namespace lnbwd::sim;

/// Reads LNBWD_SIM_CHECK: "1" or "all", "0" or "none", or names of checks
/// separated by commas.
static unsigned checksFromEnvironment() {
  const char *Text = std::getenv("LNBWD_SIM_CHECK");
  if (!Text)
    return 0;
  struct CheckName {
    const char *Name;
    unsigned Bits;
  };
  constexpr CheckName Names[] = {
      {"", 0},
      {"0", 0},
      {"none", 0},
      {"1", LNBWD_SIM_CHECK_ALL},
      {"all", LNBWD_SIM_CHECK_ALL},
      {"memory", LNBWD_SIM_CHECK_MEMORY},
      {"registers", LNBWD_SIM_CHECK_REGISTERS},
      {"races", LNBWD_SIM_CHECK_RACES},
      {"waits", LNBWD_SIM_CHECK_WAITS},
      {"limits", LNBWD_SIM_CHECK_LIMITS},
      {"counts", LNBWD_SIM_CHECK_COUNTS},
      {"alignment", LNBWD_SIM_CHECK_ALIGNMENT},
  };
  unsigned Checks = 0;
  llvm::SmallVector<llvm::StringRef, 8> Parts;
  llvm::StringRef(Text).split(Parts, ',');
  for (llvm::StringRef Part : Parts) {
    const CheckName *Found = llvm::find_if(
        Names, [&](const CheckName &N) { return Part.trim() == N.Name; });
    if (Found != std::end(Names)) {
      Checks |= Found->Bits;
      continue;
    }
    std::fprintf(stderr,
                 "lnbwd-hip-sim: LNBWD_SIM_CHECK: expected all, none, or some "
                 "of memory, registers, races, waits, limits, counts and "
                 "alignment, got "
                 "'%s'; all checks are on\n",
                 Part.str().c_str());
    return LNBWD_SIM_CHECK_ALL;
  }
  return Checks;
}

HipState::HipState() : Checks(checksFromEnvironment()) {
  Shadows.setChecked(Checks != 0);
  if (const char *Text = std::getenv("LNBWD_SIM_SHUFFLE"))
    Shuffle = std::strtoull(Text, nullptr, 10);
  if (const char *Text = std::getenv("LNBWD_SIM_MAX_FINDINGS"))
    if (llvm::StringRef(Text).getAsInteger(10, MostFindings) || !MostFindings) {
      std::fprintf(stderr,
                   "lnbwd-hip-sim: LNBWD_SIM_MAX_FINDINGS: expected a number "
                   "from 1 on, got '%s'; 1 is used\n",
                   Text);
      MostFindings = 1;
    }
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

} // extern "C"
