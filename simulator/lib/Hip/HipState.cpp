//===- HipState.cpp - The state of the process ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one state, as the environment has it begin, and what is read from it
// alone. It knows none of HIP's functions.
//
//===----------------------------------------------------------------------===//

// First, since it says what of the headers is exported.
#include "Hip/HipState.h"

#include "Core/Environment.h"
#include "Execute/ExecTable.h"

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
  if (Problem.empty())
    Problem = problemOfFilter();
  return Problem;
}

/// Wrong variables are refused when the devices are asked for; a program that
/// never asks gets all checks.
HipState::HipState() : Shuffle(ShuffleVariable.read().value_or(0)) {
  std::string Problem;
  Checks = checksFromEnvironment(Problem);
  Shadows.setChecked(Checks != 0);
  MostErrors = unsigned(MaxErrorsVariable.read().value_or(1));
  OnlyDevice = deviceFromEnvironment(Problem);
}

HipState &lnbwd::sim::state() {
  // Never destroyed: other static objects may still call HIP functions.
  static HipState *State = new HipState;
  return *State;
}

bool lnbwd::sim::validStream(hipStream_t Stream) {
  // The default, legacy and per-thread streams are small constants.
  if (reinterpret_cast<uintptr_t>(Stream) <= 2)
    return true;
  std::lock_guard<std::mutex> Guard(state().Lock);
  return state().Streams.count(Stream) != 0;
}

void lnbwd::sim::advanceClock(int Device, double Microseconds, uint64_t Bytes) {
  std::lock_guard<std::mutex> Guard(state().Lock);
  state().Clock[Device] +=
      Microseconds + double(Bytes) / (Chips[Device].PeakGigabytes * 1e3);
}

void lnbwd::sim::leavePool(void *Pointer) {
  auto Leave = [&](ihipMemPoolHandle_t *P) {
    if (auto It = P->Buffers.find(Pointer); It != P->Buffers.end()) {
      P->Used -= It->second;
      P->Buffers.erase(It);
    }
  };
  for (const auto &P : state().DefaultPools)
    if (P)
      Leave(P.get());
  for (ihipMemPoolHandle_t *P : state().Pools)
    Leave(P);
}
