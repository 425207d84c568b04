//===- LaunchShadow.cpp - What the checks of a launch share ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads before a store, by wave and instruction; values that differ in
// rounding, of each instruction those that differ most; the set-up of the
// shadows.
//
//===----------------------------------------------------------------------===//

#include "Check/LaunchShadow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <string>

using namespace lnbwd::sim;

static const EarlyReads::Case *findIn(const std::vector<EarlyReads::Case> &List,
                                      uint64_t Address, uint64_t Bytes) {
  const auto It = llvm::find_if(List, [&](const EarlyReads::Case &C) {
    return Address < C.Address + C.Bytes && C.Address < Address + Bytes;
  });
  return It == List.end() ? nullptr : &*It;
}

bool EarlyReads::note(Access Load, const Case &Of) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Follows)
    return find(Load, Of.Address, Of.Bytes) != nullptr;
  std::vector<Case> &List = Cases[Load];
  if (findIn(List, Of.Address, Of.Bytes))
    return true;
  if (List.size() == Most)
    return false;
  List.push_back(Of);
  return true;
}

void EarlyReads::forget() {
  Follows = false;
  Cases.clear();
}

const EarlyReads::Case *EarlyReads::find(Access Load, uint64_t Address,
                                         uint64_t Bytes) const {
  if (!Follows)
    return nullptr;
  const auto It = Cases.find(Load);
  return It == Cases.end() ? nullptr : findIn(It->second, Address, Bytes);
}

/// Cases of an instruction; how many times what rounding up changes two values
/// may differ; and beside that in relation to them, four units in the last
/// place.
constexpr unsigned MostCases = 32;
constexpr float TimesTheChange = 16, Least = 0x1p-21f;
/// By how much, in relation, two may differ that rounding up does not change,
/// as if both were rounded up already: a difference of products nearly cancels.
constexpr float MostUnmoved = 0x1p-10f;

float RoundingJudge::Case::difference() const {
  return std::fabs(X - Y) / std::max(std::fabs(X), std::fabs(Y));
}

bool RoundingJudge::Case::differsInRounding() const {
  const float Change = std::fabs(UpX - X) + std::fabs(UpY - Y);
  return IsThere &&
         std::fabs(X - Y) <= TimesTheChange * Change +
                                 Least * std::max(std::fabs(X), std::fabs(Y));
}

bool RoundingJudge::Case::isUnmoved() const {
  return IsThere && UpX == X && UpY == Y && difference() <= MostUnmoved;
}

bool RoundingJudge::accepts(const Place &At, uint32_t X, uint32_t Y) {
  if (X == Y && TheStage != Stage::Compares)
    return true;
  Case New = {At, llvm::bit_cast<float>(X), llvm::bit_cast<float>(Y)};
  // Which of two an addition returns depends on the order of its operands.
  if (std::isnan(New.X) && std::isnan(New.Y))
    return true;
  auto IsNumber = [](float Value) { return !Value || std::isnormal(Value); };
  if (X != Y && !(IsNumber(New.X) && IsNumber(New.Y)))
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  if (TheStage == Stage::Judged)
    return Good.count(At.Instruction);
  if (TheStage == Stage::Compares) {
    for (Case &C : Cases)
      if (C.At == At) {
        C.UpX = New.X;
        C.UpY = New.Y;
        C.IsThere = true;
      }
    return true;
  }
  Case *LeastOf = nullptr;
  unsigned Count = 0;
  for (Case &C : Cases)
    if (C.At.Instruction == At.Instruction) {
      ++Count;
      if (!LeastOf || C.difference() < LeastOf->difference())
        LeastOf = &C;
    }
  if (Count < MostCases)
    Cases.push_back(New);
  else if (New.difference() > LeastOf->difference())
    *LeastOf = New;
  return true;
}

bool RoundingJudge::judge() {
  std::map<uint16_t, int> Balance;
  std::set<uint16_t> Bad;
  for (const Case &C : Cases)
    if (C.differsInRounding())
      ++Balance[C.At.Instruction];
    else if (C.isUnmoved())
      --Balance[C.At.Instruction];
    else
      Bad.insert(C.At.Instruction);
  for (const auto &[Instruction, Count] : Balance)
    if (Count <= 0)
      Bad.insert(Instruction);
    else if (!Bad.count(Instruction))
      Good.insert(Instruction);
  TheStage = Stage::Judged;
  return Bad.empty();
}

static uint32_t nextLaunchNumber() {
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

LaunchShadow::LaunchShadow(const Launch &L, const CodeAnalysis &Code,
                           unsigned Checks)
    : TheEffects(Code.Effects), Hazards(Code.Hazards), Checks(Checks),
      LaunchNumber(nextLaunchNumber()),
      IsInterleaved(L.Interleaving != nullptr),
      Caches(L.Code->chip(),
             (L.TheKernel->Rsrc1 & WorkgroupProcessorMode) != 0),
      Logs(wavesOf(L), races() && mayTake(*L.Code, TheEffects,
                                          L.Code->at(L.TheKernel->Entry))),
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

WorkgroupShadow::WorkgroupShadow(LaunchShadow &L, unsigned NumWaves,
                                 uint32_t LdsBytes)
    : L(L), Written(LdsBytes),
      Pages((LdsBytes + ShadowPage::PageBytes - 1) >> ShadowPage::PageLog),
      Barriers(NumWaves) {}

void WorkgroupShadow::start(uint64_t Which) {
  Number = Which;
  llvm::fill(Written, 0);
  for (ShadowPage &P : Pages)
    P.forget();
  Barriers.start();
}

void WorkgroupShadow::presentCells(
    const AccessRange &R,
    llvm::function_ref<void(ShadowCell *, uint32_t)> Function) {
  if (!R.isLds())
    return R.Shadow->presentCells(R.Address, R.Bytes, L.LaunchNumber, Function);
  // What has just been read has cells.
  cells(R, [&](const CellRun &Run) {
    Function(Run.Cells, Run.Count);
    return true;
  });
}
