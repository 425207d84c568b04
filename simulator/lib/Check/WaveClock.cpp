//===- WaveClock.cpp - What has come through of other waves ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins of what is known, and the logs.
//
//===----------------------------------------------------------------------===//

#include "Check/WaveClock.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>
#include <utility>

using namespace lnbwd::sim;

/// Each number becomes the greater one, in a loop that becomes vector code.
static bool raiseAll(ReleasedClocks *Mine, const ReleasedClocks *Theirs,
                     size_t Count) {
  auto *To = reinterpret_cast<uint32_t *>(Mine);
  const auto *From = reinterpret_cast<const uint32_t *>(Theirs);
  uint32_t Raised = 0;
  for (size_t K = 0; K < Count * sizeof(ReleasedClocks) / 4; ++K) {
    const uint32_t Greater = std::max(To[K], From[K]);
    Raised |= Greater ^ To[K];
    To[K] = Greater;
  }
  return Raised != 0;
}

bool ReleasedClocks::raise(const ReleasedClocks &To) {
  return raiseAll(this, &To, 1);
}

void VectorClock::reset(unsigned NumWaves) {
  Local.assign(NumWaves, ReleasedClocks());
  Remote = ClockTree();
}

bool VectorClock::join(const VectorClock &Other) {
  const bool IsNew = raiseAll(Local.data(), Other.Local.data(), Local.size());
  return Remote.join(Other.Remote) || IsNew;
}

void WaveLog::add(Entry E) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Entries.empty() && Entries.back().Clock == E.Clock) {
    Entries.back() = std::move(E);
    return;
  }
  // Of a wave that stores for very long, every other entry goes; the next one,
  // which says more, stands for it.
  if (Entries.size() == Most) {
    for (size_t K = 0; K < Most / 2; ++K) {
      const uint32_t Clock = Entries[2 * K].Clock;
      Entries[K] = std::move(Entries[2 * K + 1]);
      Entries[K].Clock = Clock;
    }
    Entries.resize(Most / 2);
  }
  Entries.push_back(std::move(E));
}

bool WaveLog::at(uint32_t Clock, Entry &Found) const {
  std::lock_guard<std::mutex> Guard(Lock);
  auto Behind = llvm::upper_bound(
      Entries, Clock, [](uint32_t C, const Entry &E) { return C < E.Clock; });
  if (Behind == Entries.begin()) {
    if (Entries.empty())
      return false;
    Found = Entries.front();
    return true;
  }
  Found = *(Behind - 1);
  return true;
}

WaveLogs::WaveLogs(uint64_t NumWaves, bool Wanted)
    : Size(size_t(std::min<uint64_t>(NumWaves, Moment::LastWave)) + 1) {
  if (Wanted)
    Logs = std::make_unique<std::atomic<WaveLog *>[]>(Size);
}

WaveLogs::~WaveLogs() {
  if (Logs)
    for (size_t K = 0; K < Size; ++K)
      delete Logs[K].load();
}

WaveLog &WaveLogs::of(uint32_t Wave) {
  // Only the wave itself makes its log.
  if (WaveLog *L = Logs[Wave].load(std::memory_order_relaxed))
    return *L;
  auto *New = new WaveLog;
  Logs[Wave].store(New, std::memory_order_release);
  return *New;
}

const WaveLog *WaveLogs::find(uint32_t Wave) const {
  return Logs ? Logs[Wave].load(std::memory_order_acquire) : nullptr;
}

BarrierClocks::BarrierClocks(unsigned NumWaves)
    : Signals(NumWaves), Ended(NumWaves), SignalledBy(NumWaves),
      NumWaves(NumWaves) {
  start();
}

void BarrierClocks::start() {
  llvm::fill(Signals, 0);
  for (auto &E : Ended)
    E.reset();
  for (auto &S : SignalledBy)
    S.clear();
  for (Release &T : Two)
    T.Barrier = 0;
}

bool BarrierClocks::othersRun(unsigned Wave) const {
  for (unsigned K = 0; K < NumWaves; ++K)
    if (K != Wave && !Ended[K])
      return true;
  return false;
}

BarrierClocks::Release &BarrierClocks::signal(unsigned Wave, const Inst *By) {
  SignalledBy[Wave].insert(By);
  return releaseOf(++Signals[Wave]);
}

BarrierClocks::Release &BarrierClocks::releaseOf(unsigned Barrier) {
  Release &T = Two[Barrier % 2];
  // Nobody signals a barrier before all have passed the one before the last.
  if (T.Barrier != Barrier) {
    for (VectorClock *K : {&T.All, &T.Near, &T.Far, &T.Scalar})
      K->reset(NumWaves);
    T.Barrier = Barrier;
    T.HasLast = T.HasMore = false;
  }
  return T;
}
