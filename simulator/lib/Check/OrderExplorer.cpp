//===- OrderExplorer.cpp - A launch in several orders ---------------------===//
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

#include "Check/OrderExplorer.h"

#include "Check/MemoryJournal.h"
#include "Core/Scheduler.h"

#include <algorithm>
#include <optional>

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

/// Executes the launch again, from the same memory, which stays as it is.
static void runAgain(Launch &L, LaunchChecker &Checker, unsigned Checks,
                     RoundingJudge &Judge, bool RoundsUp) {
  MemoryJournal Other;
  L.RoundsUp = RoundsUp;
  L.Executed = 0;
  L.Stop = false;
  LaunchChecker Again(L, Checks & ~unsigned(LNBWD_SIM_CHECK_COUNTS));
  Again.keepMemory(&Other);
  Again.judgeRounding(&Judge);
  L.Observer = &Again;
  (void)run(L);
  Other.swap();
  Checker.AccessesOf = Again.AccessesOf;
  L.RoundsUp = false;
}

/// Reports what several have stored to one place of LDS and what differs in
/// more than rounding.
static void judgeRounding(Launch &L, LaunchChecker &Checker, unsigned Checks,
                          RoundingJudge &Judge, MemoryJournal &Usual) {
  const lnbwd_sim_counters Counters = L.Counters;
  Usual.swap();
  Judge.expectOthers();
  runAgain(L, Checker, Checks, Judge, /*RoundsUp=*/true);
  L.Findings.clear();
  L.Failure = LaunchFailure::None;
  L.Error.clear();
  if (!Judge.judge())
    runAgain(L, Checker, Checks, Judge, /*RoundsUp=*/false);
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
  if (Checker.mayDifferInRounding())
    Checker.judgeRounding(&Judge);
  else if (!OtherOrders)
    return run(L);
  Checker.keepMemory(&Usual);
  const bool Good = run(L);
  if (!Good || !L.Findings.empty())
    return Good;
  if (!Usual.isWhole()) {
    Checker.OtherOrdersLeftOut = OtherOrders;
    Checker.RoundingLeftOut = Judge.hasCases();
    return Good;
  }
  const uint64_t Executed = L.Executed.load();
  if (Judge.hasCases())
    judgeRounding(L, Checker, Checks, Judge, Usual);
  if (!OtherOrders || L.Failure != LaunchFailure::None || !L.Findings.empty())
    return L.Failure == LaunchFailure::None;
  const bool Judged = Judge.hasCases();
  const uint64_t Most =
      std::clamp(Executed * TimesTheUsual, LeastOfAnOrder, MostOfAnOrder);
  const lnbwd_sim_counters Counters = L.Counters;
  const uint64_t Shuffle = L.Shuffle;
  L.Shuffle = 0;
  Usual.swap();
  for (WaveOrder Order : Orders) {
    Order.Most = Most;
    MemoryJournal Other;
    L.Interleaving = &Order;
    L.Executed = 0;
    L.Stop = false;
    LaunchChecker Again(L, Checks & ~unsigned(LNBWD_SIM_CHECK_COUNTS));
    Again.keepMemory(&Other);
    if (Judged)
      Again.judgeRounding(&Judge);
    L.Observer = &Again;
    (void)run(L);
    const bool IsCut = L.Executed.load() > Most;
    Checker.OtherOrdersCut += IsCut;
    Checker.AccessesOf = IsCut ? 0 : Again.AccessesOf;
    Other.swap();
    L.Interleaving = nullptr;
    if (L.Failure == LaunchFailure::OutOfMemory) {
      L.Failure = LaunchFailure::None;
      L.Error.clear();
      break;
    }
    ++Checker.OtherOrders;
    if (L.Failure != LaunchFailure::None || !L.Findings.empty() ||
        !Other.isWhole())
      break;
  }
  Usual.swap();
  L.Observer = &Checker;
  L.Shuffle = Shuffle;
  L.Counters = Counters;
  return L.Failure == LaunchFailure::None;
}
