//===- ScheduleExplorer.cpp - A launch in several orders ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The usual order comes first, and is the one whose results stay. The others
// are always the same ones, whatever the order of the first was and however
// many host threads there are. They run on one thread, and for so many
// instructions at most that a launch takes a few times as long as by itself.
//
//===----------------------------------------------------------------------===//

#include "Check/LaunchChecker.h"

#include "Check/ShadowMemory.h"
#include "Core/Launch.h"

#include <algorithm>

using namespace lnbwd::sim;

/// Instructions of a launch before its order is that of the host's threads.
constexpr uint64_t LongLaunch = 1u << 20;
/// What another order may execute: so much more than the usual one has, since
/// who waits executes something, too, but not more than this.
constexpr uint64_t TimesTheUsual = 4, LeastOfAnOrder = 1u << 16,
                   MostOfAnOrder = 1u << 17;

/// The other orders. Workgroups that come first find flags that nobody has set
/// yet; those that come next when one is set see what its owner does later.
static const WaveOrder Orders[] = {
    {WaveOrder::LastFirst, 0},  {WaveOrder::FirstFirst, 0},
    {WaveOrder::RoundRobin, 0}, {WaveOrder::AtRandom, 1},
    {WaveOrder::AtRandom, 2},   {WaveOrder::AtRandom, 3},
    {WaveOrder::AtRandom, 4},   {WaveOrder::AtRandom, 5},
};

namespace {
/// What the executions of a launch share.
struct Execution {
  Launch &L;
  LaunchChecker &Checker; ///< of the first one
  unsigned Checks;
  uint64_t Shuffle; ///< of the first one, which a run changes
  RoundingJudge *Rounding = nullptr;
  EarlyReads *Early = nullptr;
  void again(MemoryJournal &Journal) const;
  void judgeRounding(MemoryJournal &Usual) const;
  void followEarlyReads(MemoryJournal &Usual) const;
};
} // namespace

/// Executes the launch again, with memory as it is, which the journal keeps.
void Execution::again(MemoryJournal &Journal) const {
  L.Executed = 0;
  L.Stop = false;
  L.Shuffle = L.Interleaving ? 0 : Shuffle;
  LaunchChecker Again(L, Checks & ~unsigned(LNBWD_SIM_CHECK_COUNTS));
  Again.keepMemory(&Journal);
  Again.judgeRounding(Rounding);
  Again.noteEarlyReads(Early);
  L.Observer = &Again;
  (void)run(L);
  Journal.swap();
  Checker.AccessesOf = Again.AccessesOf;
}

/// Reports what several have stored to one place of LDS and what differs in
/// more than rounding.
void Execution::judgeRounding(MemoryJournal &Usual) const {
  const lnbwd_sim_counters Counters = L.Counters;
  Usual.swap();
  Rounding->expectOthers();
  L.RoundsUp = true;
  MemoryJournal RoundedUp;
  again(RoundedUp);
  L.RoundsUp = false;
  L.CheckErrors.clear();
  L.Failure = LaunchFailure::None;
  L.Error.clear();
  if (!Rounding->judge()) {
    MemoryJournal Other;
    again(Other);
  }
  Usual.swap();
  L.Observer = &Checker;
  L.Counters = Counters;
}

/// Reports those of the loads noted whose value is used.
void Execution::followEarlyReads(MemoryJournal &Usual) const {
  const lnbwd_sim_counters Counters = L.Counters;
  const std::vector<CheckError> Before = L.CheckErrors;
  MemoryJournal Other;
  Usual.swap();
  Early->follow();
  again(Other);
  // What was found the first time is found again.
  for (size_t K = 0; K < Before.size(); ++K)
    L.CheckErrors[K].Count = Before[K].Count;
  Early->forget();
  Usual.swap();
  L.Observer = &Checker;
  L.Counters = Counters;
}

bool lnbwd::sim::runChecked(Launch &L, LaunchChecker &Checker, unsigned Checks,
                            bool OtherOrders) {
  L.Observer = &Checker;
  const bool Depends = Checker.dependsOnOrder();
  // The usual order is the same one whether others are wanted or not.
  if (Depends)
    L.AloneFor = LongLaunch;
  Checker.OtherOrdersUnwanted = Depends && !OtherOrders;
  OtherOrders &= Depends;
  MemoryJournal Usual;
  RoundingJudge Judge;
  EarlyReads Early;
  Execution Other = {L, Checker, Checks, L.Shuffle};
  if (Checker.mayDifferInRounding())
    Other.Rounding = &Judge;
  if (Checker.mayReadEarly())
    Other.Early = &Early;
  if (!Other.Rounding && !Other.Early && !OtherOrders)
    return run(L);
  Checker.judgeRounding(Other.Rounding);
  Checker.noteEarlyReads(Other.Early);
  Checker.keepMemory(&Usual);
  const bool Good = run(L);
  if (!Good)
    return false;
  const uint64_t Executed = L.Executed.load();
  if (!Usual.isWhole()) {
    Checker.OtherOrdersLeftOut = OtherOrders;
    Checker.RoundingLeftOut = Judge.hasCases();
    Checker.EarlyReadsLeftOut = Early.hasCases();
    return true;
  }
  // Values that nobody has judged count as the same.
  if (L.CheckErrors.empty() && Judge.hasCases())
    Other.judgeRounding(Usual);
  else if (L.CheckErrors.empty())
    Other.Rounding = nullptr;
  if (Early.hasCases() && L.Failure == LaunchFailure::None &&
      L.CheckErrors.size() < L.MostErrors)
    Other.followEarlyReads(Usual);
  if (!OtherOrders || L.Failure != LaunchFailure::None ||
      !L.CheckErrors.empty())
    return L.Failure == LaunchFailure::None;
  const uint64_t Most =
      std::clamp(Executed * TimesTheUsual, LeastOfAnOrder, MostOfAnOrder);
  const lnbwd_sim_counters Counters = L.Counters;
  Usual.swap();
  for (WaveOrder Order : Orders) {
    Order.Most = Most;
    L.Interleaving = &Order;
    bool IsCut = false, IsWhole = true;
    auto Run = [&] {
      MemoryJournal Journal;
      Other.again(Journal);
      IsCut |= L.Executed.load() > Most;
      IsWhole &= Journal.isWhole();
    };
    Run();
    if (Early.hasCases() && L.Failure == LaunchFailure::None && IsWhole) {
      Early.follow();
      Run();
    }
    Early.forget();
    L.Interleaving = nullptr;
    Checker.OtherOrdersCut += IsCut;
    if (IsCut)
      Checker.AccessesOf = 0;
    if (L.Failure == LaunchFailure::OutOfMemory) {
      L.Failure = LaunchFailure::None;
      L.Error.clear();
      break;
    }
    ++Checker.OtherOrders;
    if (L.Failure != LaunchFailure::None || !L.CheckErrors.empty() || !IsWhole)
      break;
  }
  Usual.swap();
  L.Observer = &Checker;
  L.Shuffle = Other.Shuffle;
  L.Counters = Counters;
  return L.Failure == LaunchFailure::None;
}
