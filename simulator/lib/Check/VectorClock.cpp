//===- VectorClock.cpp - What a wave knows of other waves -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins of what is known, and the logs. A node of the tree that only one clock
// uses is changed in place; others are copied first.
//
//===----------------------------------------------------------------------===//

#include "Check/VectorClock.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace lnbwd::sim;

void ClockTree::drop(Node *N, unsigned Level) {
  if (!N || N->Users.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (Level == 0) {
    delete static_cast<Leaf *>(N);
    return;
  }
  auto *I = static_cast<Inner *>(N);
  for (Node *Child : I->Children)
    drop(Child, Level - 1);
  delete I;
}

/// Makes the node this clock's own.
void ClockTree::own(Node *&N, unsigned Level) {
  if (N && N->Users.load(std::memory_order_acquire) == 1)
    return;
  if (Level == 0) {
    auto *New = new Leaf;
    if (N)
      std::copy_n(static_cast<Leaf *>(N)->Entries, Fan, New->Entries);
    drop(N, Level);
    N = New;
    return;
  }
  auto *New = new Inner;
  if (N)
    for (unsigned K = 0; K < Fan; ++K)
      New->Children[K] = keep(static_cast<Inner *>(N)->Children[K]);
  drop(N, Level);
  N = New;
}

void ClockTree::grow(unsigned Level) {
  while (Levels < Level) {
    if (Root) {
      auto *New = new Inner;
      New->Children[0] = Root;
      Root = New;
    }
    ++Levels;
  }
}

Known ClockTree::at(uint32_t Wave) const {
  const Node *N = Root;
  if (Wave >> Log * (Levels + 1))
    return {};
  for (unsigned Level = Levels; N && Level; --Level)
    N = static_cast<const Inner *>(N)
            ->Children[Wave >> Log * Level & (Fan - 1)];
  return N ? static_cast<const Leaf *>(N)->Entries[Wave & (Fan - 1)] : Known();
}

static void raiseTo(Known &Mine, const Known &To) {
  Mine.Read = std::max(Mine.Read, To.Read);
  Mine.Write = std::max(Mine.Write, To.Write);
  Mine.Issued = std::max(Mine.Issued, To.Issued);
}

void ClockTree::raise(uint32_t Wave, const Known &To) {
  unsigned Level = 0;
  while (Wave >> Log * (Level + 1))
    ++Level;
  grow(Level);
  Node **Place = &Root;
  for (unsigned Step = Levels;; --Step) {
    own(*Place, Step);
    if (!Step)
      break;
    Place =
        &static_cast<Inner *>(*Place)->Children[Wave >> Log * Step & (Fan - 1)];
  }
  raiseTo(static_cast<Leaf *>(*Place)->Entries[Wave & (Fan - 1)], To);
}

void ClockTree::join(Node *&Mine, Node *Other, unsigned Level) {
  if (!Other || Mine == Other)
    return;
  if (!Mine) {
    Mine = keep(Other);
    return;
  }
  if (Level) {
    // Children that are the same on both sides need no node of one's own.
    const auto *From = static_cast<const Inner *>(Other);
    if (std::equal(From->Children, From->Children + Fan,
                   static_cast<Inner *>(Mine)->Children))
      return;
    own(Mine, Level);
    auto *To = static_cast<Inner *>(Mine);
    for (unsigned K = 0; K < Fan; ++K)
      join(To->Children[K], From->Children[K], Level - 1);
    return;
  }
  own(Mine, 0);
  for (unsigned K = 0; K < Fan; ++K)
    raiseTo(static_cast<Leaf *>(Mine)->Entries[K],
            static_cast<Leaf *>(Other)->Entries[K]);
}

/// Whether there is nothing in Other that is not here, as far as that can be
/// told by nodes in the same place.
bool ClockTree::knows(const Node *Mine, const Node *Other, unsigned Level) {
  if (!Other || Mine == Other)
    return true;
  if (!Mine)
    return false;
  for (unsigned K = 0; K < Fan; ++K) {
    if (Level) {
      if (!knows(static_cast<const Inner *>(Mine)->Children[K],
                 static_cast<const Inner *>(Other)->Children[K], Level - 1))
        return false;
      continue;
    }
    const Known &My = static_cast<const Leaf *>(Mine)->Entries[K];
    const Known &Theirs = static_cast<const Leaf *>(Other)->Entries[K];
    if (My.Read < Theirs.Read || My.Write < Theirs.Write ||
        My.Issued < Theirs.Issued)
      return false;
  }
  return true;
}

bool ClockTree::knows(const ClockTree &Other) const {
  if (Levels < Other.Levels)
    return false;
  const Node *Mine = Root;
  for (unsigned Level = Levels; Mine && Level > Other.Levels; --Level)
    Mine = static_cast<const Inner *>(Mine)->Children[0];
  return knows(Mine, Other.Root, Other.Levels);
}

bool ClockTree::join(const ClockTree &Other) {
  // A wave that waits hears the same again and again.
  if (!Other.Root || knows(Other))
    return false;
  if (!Root) {
    *this = Other;
    return true;
  }
  grow(Other.Levels);
  // The other one lies in the first child of each level that it lacks.
  Node **Place = &Root;
  for (unsigned Level = Levels; Level > Other.Levels; --Level) {
    own(*Place, Level);
    Place = &static_cast<Inner *>(*Place)->Children[0];
  }
  join(*Place, Other.Root, Other.Levels);
  return true;
}

bool ClockTree::forEach(
    const Node *N, const Node *Other, unsigned Level, uint32_t First,
    llvm::function_ref<bool(uint32_t, const Known &)> Function) {
  if (!N || N == Other)
    return true;
  for (unsigned K = 0; K < Fan; ++K) {
    const uint32_t Wave = First + (K << Log * Level);
    if (Level) {
      if (!forEach(static_cast<const Inner *>(N)->Children[K],
                   Other ? static_cast<const Inner *>(Other)->Children[K]
                         : nullptr,
                   Level - 1, Wave, Function))
        return false;
      continue;
    }
    const Known &E = static_cast<const Leaf *>(N)->Entries[K];
    if (!(E == Known()) && !Function(Wave, E))
      return false;
  }
  return true;
}

bool ClockTree::forEachBeside(
    const ClockTree &Other,
    llvm::function_ref<bool(uint32_t, const Known &)> Function) const {
  return forEach(Root, Other.Levels == Levels ? Other.Root : nullptr, Levels, 0,
                 Function);
}

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

void LocalClocks::reset(unsigned NumWaves) {
  if (!Shared || Shared->UseCount() > 1)
    Shared = llvm::makeIntrusiveRefCnt<Known>();
  Shared->Clocks.assign(NumWaves, ReleasedClocks());
  Shared->LdsLimits.clear();
}

LocalClocks::Known &LocalClocks::own() {
  if (Shared->UseCount() > 1)
    Shared = llvm::makeIntrusiveRefCnt<Known>(*Shared);
  Shared->LdsLimits.clear();
  return *Shared;
}

const LocalClocks::Known &LocalClocks::summed() const {
  Known &K = *Shared;
  if (!K.LdsLimits.empty())
    return K;
  K.AnyBack = false;
  for (const ReleasedClocks &H : K.Clocks) {
    const uint32_t Over =
        std::min({H.Lds, H.ToLds, H.Tensor, Epoch::LastClock});
    K.LdsLimits.push_back(Epoch(0, Over, (1u << Epoch::IdBits) - 1).Bits);
    K.AnyBack |= H.Back != 0;
  }
  return K;
}

bool LocalClocks::join(const LocalClocks &Other) {
  if (Shared == Other.Shared)
    return false;
  return raiseAll(own().Clocks.data(), Other.Shared->Clocks.data(),
                  Shared->Clocks.size());
}

void VectorClock::reset(unsigned NumWaves) {
  Local.reset(NumWaves);
  Remote = ClockTree();
}

bool VectorClock::join(const VectorClock &Other) {
  const bool IsNew = Local.join(Other.Local);
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
    : Size(size_t(std::min<uint64_t>(NumWaves, Epoch::LastWave)) + 1) {
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
  AnyEnded = false;
  for (auto &S : SignalledBy)
    S.clear();
  for (Release &T : Two)
    T.Barrier = 0;
  Named.clear();
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

void BarrierClocks::forget(Release &T) const {
  for (VectorClock *K : {&T.All, &T.Near, &T.Far, &T.Scalar})
    K->reset(NumWaves);
}

BarrierClocks::Release &BarrierClocks::named(unsigned Number) {
  const auto [It, IsNew] = Named.try_emplace(Number);
  if (IsNew)
    forget(It->second);
  return It->second;
}

BarrierClocks::Release &BarrierClocks::releaseOf(unsigned Barrier) {
  Release &T = Two[Barrier % 2];
  // Nobody signals a barrier before all have passed the one before the last.
  if (T.Barrier != Barrier) {
    forget(T);
    T.Barrier = Barrier;
    T.HasLast = T.HasMore = false;
  }
  return T;
}
