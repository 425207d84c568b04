//===- Scheduler.cpp - Execution of a launch ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Workgroups are handed out to host threads. A thread that sees its workgroups
// run for very long starts further ones beside them, as many as the chip could
// hold, so that kernels whose workgroups wait for each other make progress.
//
//===----------------------------------------------------------------------===//

#include "Core/Launch.h"

#include "Core/Environment.h"
#include "Core/ResidentWorkgroup.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <new>
#include <thread>

using namespace lnbwd::sim;

/// Instructions of a workgroup before its thread starts another one beside it:
/// those that wait for others execute many, while those that often come to a
/// barrier are faster one after the other. Orders that are shuffled overlap.
constexpr uint64_t Patience = 1 << 19, ShuffledPatience = 1 << 10;

/// What one host thread does. AllResident: the workgroups that the chip holds.
/// Threads has others begin, once they may, and says how many work.
static void work(Launch &L, size_t AllResident,
                 llvm::function_ref<size_t()> Threads) {
  auto Temps = std::make_unique<LaneTemps>();
  std::vector<std::unique_ptr<ResidentWorkgroup>> Active, Idle;
  lnbwd_sim_counters Counters = {};
  auto StartOne = [&] {
    const unsigned Together = L.together();
    if (L.NextWorkgroup.load() >= L.NumWorkgroups)
      return false;
    while (Idle.size() < Together) {
      Idle.push_back(std::make_unique<ResidentWorkgroup>(L, *Temps));
      // Beside others it can wait for one of them to end.
      if (!Idle.back()->failed())
        continue;
      Idle.pop_back();
      if (Active.empty())
        L.fail(LaunchFailure::OutOfMemory,
               std::string(L.Chip->Chip) + ": kernel '" +
                   L.TheKernel->shownName() +
                   "': the host has no memory for the registers, LDS and "
                   "scratch of a workgroup");
      return false;
    }
    uint64_t Number = L.NextWorkgroup.fetch_add(Together);
    if (Number >= L.NumWorkgroups)
      return false;
    Number /= Together;
    // Any number without a common divisor leads to every workgroup once.
    if (L.Shuffle)
      Number =
          (Number * L.ShuffleStep + L.Shuffle) % (L.NumWorkgroups / Together);
    if (!L.Only.empty())
      Number = L.Only[size_t(Number)];
    ResidentWorkgroup::startTogether(L, Number, Idle, Active);
    return true;
  };
  while (!L.Stop.load(std::memory_order_relaxed)) {
    const size_t MostResident = std::max<size_t>(1, AllResident / Threads());
    if (Active.empty() && !StartOne())
      break;
    bool Patient = true, IsHeldUp = true;
    for (size_t K = 0; K < Active.size();) {
      if (!Active[K]->runTimeSlices())
        break;
      IsHeldUp &= Active[K]->isHeldUp();
      Patient &=
          Active[K]->Executed < (L.Shuffle ? ShuffledPatience : Patience);
      if (Active[K]->done()) {
        Active[K]->collect(Counters);
        Idle.push_back(std::move(Active[K]));
        Active.erase(Active.begin() + ptrdiff_t(K));
        Patient = true;
      } else {
        ++K;
      }
    }
    if (IsHeldUp && !Active.empty() && !L.stopped())
      Active.front()->failStuck();
    if (!Patient && Active.size() < MostResident)
      StartOne();
  }
  for (auto &C : Active)
    C->collect(Counters);
  L.count(Counters);
}

/// What a host thread does, which an exception must not leave.
static void workOrFail(Launch &L, size_t AllResident,
                       llvm::function_ref<size_t()> Threads) {
  try {
    if (L.Interleaving)
      workInterleaved(L, AllResident);
    else
      work(L, AllResident, Threads);
  } catch (const std::bad_alloc &) {
    L.fail(LaunchFailure::OutOfMemory,
           std::string(L.Chip->Chip) + ": kernel '" + L.TheKernel->shownName() +
               "': the host's memory does not "
               "suffice for the launch");
  }
}

unsigned lnbwd::sim::hostThreads() {
  if (std::optional<uint64_t> Number = ThreadsVariable.read())
    return unsigned(*Number);
  return std::max(1u, std::thread::hardware_concurrency());
}

static uint64_t commonDivisor(uint64_t A, uint64_t B) {
  while (B) {
    uint64_t C = A % B;
    A = B;
    B = C;
  }
  return A;
}

bool lnbwd::sim::run(Launch &L) {
  const Kernel &K = *L.TheKernel;
  L.Chip = &L.Code->chip();
  L.WaveSize = K.WaveSize;
  L.NumWorkgroups = L.Only.empty() ? uint64_t(L.Grid[0]) * L.Grid[1] * L.Grid[2]
                                   : L.Only.size();
  uint32_t Items = L.Block[0] * L.Block[1] * L.Block[2];
  L.WavesPerWorkgroup = (Items + L.WaveSize - 1) / L.WaveSize;
  L.ScratchSize = (K.ScratchSize + 3) & ~3u;
  // How deep calls go is not known to the compiler then.
  if (K.DynamicStack)
    L.ScratchSize += 16384;
  if (!L.NumWorkgroups)
    return true;
  if (!L.Code->at(K.Entry)) {
    L.fail(LaunchFailure::BadInstruction, std::string(L.Chip->Chip) +
                                              ": kernel '" + K.shownName() +
                                              "' has no instruction at its "
                                              "entry");
    return false;
  }
  L.NextWorkgroup = 0;
  // Of other launches too: whoever interrupts the process means all of them.
  const InterruptScope Interruptible;
  L.InterruptsBefore = interrupts();
  if (L.Shuffle) {
    // Small enough that the product with a workgroup's number does not wrap.
    L.Shuffle = L.Shuffle % 0x7fffffff + 1;
    L.ShuffleStep = L.Shuffle;
    while (commonDivisor(L.ShuffleStep, L.NumWorkgroups) != 1)
      ++L.ShuffleStep;
  }
  // Where the order matters, it must not be that of the host's threads, unless
  // the launch is a long one.
  const unsigned Threads =
      L.Interleaving
          ? 1
          : unsigned(std::min<uint64_t>(hostThreads(), L.NumWorkgroups));
  unsigned PerCU = std::max(1u, L.Chip->SimdsPerCU * L.Chip->MaxWavesPerSimd /
                                    L.WavesPerWorkgroup);
  const size_t AllResident = size_t(L.Chip->ComputeUnits) * PerCU;
  std::vector<std::thread> Pool;
  workOrFail(L, AllResident, [&] {
    if (L.Executed.load(std::memory_order_relaxed) >= L.AloneFor)
      while (Pool.size() + 1 < Threads)
        Pool.emplace_back([&L, AllResident, Threads] {
          workOrFail(L, AllResident, [Threads] { return size_t(Threads); });
        });
    return Pool.size() + 1;
  });
  for (std::thread &T : Pool)
    T.join();
  executedInAll() += L.Executed;
  return L.Failure == LaunchFailure::None;
}

// Some workgroups begin side by side. A wave goes on until the observer wants
// others to run, which it does where waves may hand something on, or
// until it waits: for a barrier, or for a value that is not there yet. Then one
// is chosen among all that can run. A wave that waits for a value comes last
// until another one has changed memory. Nothing depends on the host's time or
// threads, so that an order can be had again.

/// Instructions of a wave after which others go first, though nothing says that
/// it waits: it may do so in a way that is not seen.
constexpr uint64_t LongSlice = 2048;
/// Time slices of each wave in which nobody has done more than wait, before as
/// many workgroups again begin.
constexpr unsigned IdleTurns = 2;

namespace {
class InterleavedScheduler {
public:
  InterleavedScheduler(Launch &L, size_t MostResident)
      : L(L), Order(*L.Interleaving), MostResident(MostResident),
        Random(Order.Seed * 0x9e3779b97f4a7c15ull + 1) {}
  void run();

private:
  struct Candidate {
    ResidentWorkgroup *Of;
    unsigned Wave;
    uint64_t Number;      ///< of the workgroup
    uint64_t WaitsAt = 0; ///< when it had to wait: Changes then, plus 1
    uint64_t LastSlice = 0;
    uint64_t Demoted = 0; ///< when its time slice was a long one
  };
  bool startOne();
  void endOf(size_t K);
  /// The next one, by its place in Waves; ~0: nobody can run.
  size_t choose(size_t Last);
  /// Whether one of two that can run is to go before the other.
  bool isBefore(const Candidate &A, const Candidate &B) const;
  uint64_t random();

  Launch &L;
  const WaveOrder &Order;
  const size_t MostResident;
  LaneTemps Temps;
  std::vector<std::unique_ptr<ResidentWorkgroup>> Active, Idle;
  std::vector<Candidate> Waves;
  std::vector<size_t> Ready;
  lnbwd_sim_counters Counters = {};
  uint64_t Random;
  uint64_t Changes = 0; ///< of memory that others may wait for
  uint64_t Slice = 0;
  unsigned Waits = 0; ///< time slices since somebody did more than wait
};
} // namespace

/// A step of splitmix64.
uint64_t InterleavedScheduler::random() {
  uint64_t X = Random += 0x9e3779b97f4a7c15ull;
  X = (X ^ X >> 30) * 0xbf58476d1ce4e5b9ull;
  X = (X ^ X >> 27) * 0x94d049bb133111ebull;
  return X ^ X >> 31;
}

bool InterleavedScheduler::startOne() {
  if (L.NextWorkgroup.load() >= L.NumWorkgroups)
    return false;
  const unsigned Together = L.together();
  while (Idle.size() < Together) {
    Idle.push_back(std::make_unique<ResidentWorkgroup>(L, Temps));
    if (!Idle.back()->failed())
      continue;
    // Beside others it can wait; alone it has run already, in the usual order.
    Idle.pop_back();
    if (Active.empty())
      L.Stop.store(true);
    return false;
  }
  uint64_t Number = L.NextWorkgroup.fetch_add(Together) / Together;
  if (Order.Choice == WaveOrder::LastFirst)
    Number = L.NumWorkgroups / Together - 1 - Number;
  const size_t First = Active.size();
  ResidentWorkgroup::startTogether(L, Number, Idle, Active);
  for (unsigned Rank = 0; Rank < Together; ++Rank)
    for (unsigned K = 0; K < L.WavesPerWorkgroup; ++K)
      Waves.push_back(
          {Active[First + Rank].get(), K, L.memberOf(Number, Rank)});
  return true;
}

/// The workgroup of a wave has ended.
void InterleavedScheduler::endOf(size_t K) {
  ResidentWorkgroup *Of = Waves[K].Of;
  llvm::erase_if(Waves, [&](const Candidate &C) { return C.Of == Of; });
  auto Where =
      llvm::find_if(Active, [&](const auto &Each) { return Each.get() == Of; });
  Of->collect(Counters);
  Idle.push_back(std::move(*Where));
  Active.erase(Where);
  startOne();
}

bool InterleavedScheduler::isBefore(const Candidate &A,
                                    const Candidate &B) const {
  auto MayWait = [&](const Candidate &C) { return C.WaitsAt == Changes + 1; };
  if (MayWait(A) != MayWait(B))
    return MayWait(B);
  if (MayWait(A))
    return A.LastSlice < B.LastSlice; // Nobody waits forever.
  if (A.Demoted != B.Demoted)
    return A.Demoted < B.Demoted;
  switch (Order.Choice) {
  case WaveOrder::LastFirst:
    return A.Number > B.Number || (A.Number == B.Number && A.Wave > B.Wave);
  case WaveOrder::FirstFirst:
    return A.Number < B.Number || (A.Number == B.Number && A.Wave < B.Wave);
  default:
    return A.LastSlice < B.LastSlice;
  }
}

size_t InterleavedScheduler::choose(size_t Last) {
  Ready.clear();
  for (size_t K = 0; K < Waves.size(); ++K)
    if (Waves[K].Of->canRun(Waves[K].Wave))
      Ready.push_back(K);
  if (Ready.empty())
    return ~size_t(0);
  auto IsBefore = [&](size_t A, size_t B) {
    return isBefore(Waves[A], Waves[B]);
  };
  if (Order.Choice == WaveOrder::AtRandom) {
    // Half of the time it stays with the same, and mostly with such as do not
    // wait.
    auto Waits = [&](size_t K) { return Waves[K].WaitsAt == Changes + 1; };
    if (random() % 2 && llvm::is_contained(Ready, Last) && !Waits(Last))
      return Last;
    const size_t Any = Ready[size_t(random() % Ready.size())];
    if (!Waits(Any) || random() % 4 == 0)
      return Any;
  }
  return *llvm::min_element(Ready, IsBefore);
}

void InterleavedScheduler::run() {
  for (unsigned K = 0; K < std::max(1u, Order.Beside); ++K)
    if (Active.size() < MostResident && !startOne())
      break;
  size_t Last = ~size_t(0);
  while (!Active.empty() && !L.stopped()) {
    const size_t Next = choose(Last);
    if (Next == ~size_t(0)) {
      Active.front()->failStuck();
      break;
    }
    Candidate &C = Waves[Next];
    C.LastSlice = ++Slice;
    const uint64_t Most = Order.Choice == WaveOrder::AtRandom
                              ? 1 + random() % LongSlice
                              : LongSlice;
    if (!C.Of->runTimeSlice(C.Wave, Most))
      break;
    const Wave &W = C.Of->wave(C.Wave);
    Last = Next;
    if (W.Status == WaveStatus::Running && W.Polled && W.PC <= W.Polled) {
      C.WaitsAt = Changes + 1;
      if (++Waits > IdleTurns * Waves.size()) {
        Waits = 0;
        const size_t More =
            std::min(2 * Active.size(), MostResident) - Active.size();
        for (size_t K = 0; K < More && startOne();)
          ++K;
      }
      continue;
    }
    Waits = 0;
    if ((W.Yields && !W.Polled) || W.Status == WaveStatus::Ended)
      ++Changes;
    else if (W.Status == WaveStatus::Running && !W.Yields)
      C.Demoted = Slice; // A long one.
    if (C.Of->done()) {
      endOf(Next);
      Last = ~size_t(0);
    }
  }
  for (auto &A : Active)
    A->collect(Counters);
  L.count(Counters);
}

void lnbwd::sim::workInterleaved(Launch &L, size_t MostResident) {
  InterleavedScheduler(L, MostResident).run();
}
