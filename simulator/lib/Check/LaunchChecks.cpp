//===- LaunchChecks.cpp - What the checks of a launch share ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Set-up.
//
//===----------------------------------------------------------------------===//

#include "Check/LaunchChecks.h"

#include "Check/Resources.h"
#include "Core/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>
#include <string>

using namespace lnbwd::sim;

static uint32_t nextEpoch() {
  static std::atomic<uint32_t> Last{0};
  return ++Last;
}

/// The descriptor's bit of chips that can give a workgroup two compute units.
constexpr uint32_t WorkgroupProcessorMode = 1u << 29;

static uint64_t workgroupsOf(const Launch &L) {
  return uint64_t(L.Grid[0]) * L.Grid[1] * L.Grid[2];
}

static uint64_t wavesOf(const Launch &L) {
  const uint64_t Items = uint64_t(L.Block[0]) * L.Block[1] * L.Block[2];
  const uint64_t WaveSize = L.TheKernel->WaveSize;
  return workgroupsOf(L) * ((Items + WaveSize - 1) / WaveSize);
}

LaunchChecks::LaunchChecks(const Launch &L, const CodeAnalysis &Code,
                           unsigned Checks)
    : TheEffects(Code.Effects), Hazards(Code.Hazards), Checks(Checks),
      Epoch(nextEpoch()), IsInterleaved(L.Interleaving != nullptr),
      Caches(L.Code->chip(),
             (L.TheKernel->Rsrc1 & WorkgroupProcessorMode) != 0),
      Logs(wavesOf(L), races() && TheEffects.Takes),
      KeepsValues(workgroupsOf(L) > 1 && hostThreads() > 1 && !L.Interleaving),
      Generation(L.Code->chip().Generation), LdsBanks(L.Code->chip().LdsBanks) {
  allocatedRegisters(L.Code->chip(), *L.TheKernel, VgprLimit, AgprLimit,
                     SgprLimit);
  MayExceed = limits() && (TheEffects.MaxVgpr > VgprLimit ||
                           TheEffects.MaxAgpr > AgprLimit ||
                           TheEffects.MaxSgpr > SgprLimit);
  if (!L.LdsKeptAt || !memory() || !races())
    return;
  for (const Inst *I : TheEffects.MemoryInstructions) {
    std::vector<SourceFrame> Frames;
    if (TheEffects.of(I).Space == MemorySpace::Lds)
      Frames = L.Symbols->sourceFrames(I->Address);
    const bool Known = !Frames.empty() && Frames.front().Line;
    const bool IsKept =
        Known && L.LdsKeptAt->find("," + std::to_string(Frames.front().Line) +
                                   ":" + std::to_string(Frames.front().Column) +
                                   ",") != std::string::npos;
    LdsUses.push_back(!Known             ? LdsUse::Unknown
                      : !IsKept          ? LdsUse::Soon
                      : L.LdsKeptForOnce ? LdsUse::Later
                                         : LdsUse::Unknown);
  }
}

WorkgroupChecks::WorkgroupChecks(LaunchChecks &L, unsigned NumWaves,
                                 uint32_t LdsBytes)
    : L(L), Written(LdsBytes),
      Pages((LdsBytes + CellPage::PageBytes - 1) >> CellPage::PageLog),
      Barriers(NumWaves) {}

void WorkgroupChecks::start(uint64_t Which) {
  Number = Which;
  llvm::fill(Written, 0);
  for (CellPage &P : Pages)
    P.forget();
  Barriers.start();
}

void WorkgroupChecks::presentCells(
    const AccessRange &R, llvm::function_ref<void(Cell *, uint32_t)> Function) {
  if (!R.isLds())
    return R.Shadow->presentCells(R.Address, R.Bytes, L.Epoch, Function);
  // What has just been read has cells.
  cells(R, [&](const CellRun &Run) {
    Function(Run.Cells, Run.Count);
    return true;
  });
}
