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

#include "Core/Scheduler.h"

#include "Core/Environment.h"
#include "Core/Interrupt.h"
#include "Core/ResidentWorkgroup.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <memory>
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
