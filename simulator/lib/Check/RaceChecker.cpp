//===- RaceChecker.cpp - The clock of a wave ------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a wave releases and what it acquires: at barriers, through LDS and
// through global memory. What it takes from memory counts from when the load
// has been waited for. What it has released with a store is found out when
// somebody reads what was stored, from the log that it keeps.
//
//===----------------------------------------------------------------------===//

#include "Check/RaceChecker.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace lnbwd::sim;

RaceChecker::RaceChecker(WorkgroupShadow &WG, Wave &W,
                         RegisterChecker &Registers, WaitChecker &Waits)
    : L(WG.L), WG(WG), W(W), Registers(Registers), Waits(Waits),
      Caches(WG.L.Caches), NumWaves(unsigned(WG.Barriers.Signals.size())) {}

void RaceChecker::start() {
  const uint64_t Number = WG.Number * NumWaves + 1;
  Followed = Number + NumWaves <= Moment::LastWave;
  First = Followed ? uint32_t(Number) : 1;
  Me = First + W.Index;
  Now = 0;
  Kept = 0;
  for (VectorClock *K : {&All, &Near, &Far, &Scalar})
    K->reset(NumWaves);
  WrittenBack.assign(NumWaves, 0);
  Takes.clear();
  Arriving.clear();
  Taken.clear();
  Claimed.clear();
  Logged.reset();
  Log = nullptr;
  Barrier = false;
  Learned = true;
  Passed = 0;
  Signal = PassedBy = nullptr;
  if (!Followed && L.races())
    ++L.WavesLeftOut;
}

/// The number that an access must be below which has not been waited for.
static uint32_t lastOver(uint32_t Oldest) {
  return Oldest ? Oldest - 1 : AllIssued;
}

/// ToOthers: by something that other workgroups read.
ReleasedClocks RaceChecker::release(bool ToOthers, bool ThroughLds) const {
  const WaitChecker::UnderWay U = Waits.underWay();
  ReleasedClocks H;
  // LDS works off the accesses of a wave in order.
  H.Lds = lastOver(ThroughLds ? U.FlatLds : U.Lds);
  H.ToLds = lastOver(U.ToLds);
  H.DoneRead = lastOver(U.Read);
  H.Done = std::min(lastOver(U.Store), lastOver(U.Atomic));
  // Where the workgroup has one cache, its waves need not wait to see each
  // other's accesses. LLVM takes loads and stores, though not atomics, to be
  // in order towards others, too.
  H.Read = Caches.SharedNear ? AllIssued : H.DoneRead;
  H.Write = Caches.SharedNear ? AllIssued : H.Done;
  if (!ToOthers && Caches.SharedNear) {
    H.DoneRead = AllIssued;
    H.Done = lastOver(U.Atomic);
  }
  H.Issued = AllIssued;
  H.Kept = Kept;
  // A write-back counts as a store until it has been waited for.
  H.Back = std::min(WrittenBack[W.Index], lastOver(U.Store));
  if (ToOthers && Kept > WrittenBack[W.Index])
    H.Done = std::min(H.Done, WrittenBack[W.Index]);
  return H;
}

/// What was said with a store of that number.
static ReleasedClocks atClock(ReleasedClocks H, uint32_t Clock) {
  for (uint32_t *N :
       {&H.Lds, &H.ToLds, &H.Read, &H.Write, &H.DoneRead, &H.Done, &H.Issued})
    if (*N == AllIssued)
      *N = Clock;
  return H;
}

void RaceChecker::issue(const Effects &E) {
  const CacheUse &C = E.Use.Cache;
  Learned |= (C.DropsNear && Caches.SharedNear) || C.DropsFar || C.DropsScalar;
  if (C.DropsNear)
    Near = All;
  if (C.DropsFar)
    Far = All;
  if (C.DropsScalar) {
    Scalar = All;
    Scalar.Local[W.Index].Write =
        std::min({Now, lastOver(Waits.underWay().Store),
                  lastOver(Waits.underWay().Atomic)});
  }
  if (C.WritesBack) {
    for (unsigned K = 0; K < NumWaves; ++K)
      WrittenBack[K] = All.Local[K].Done;
    WrittenBack[W.Index] = Now;
    Logged.reset();
  }
  if (E.Access == MemoryAccess::None || E.Space == MemorySpace::Scratch)
    return;
  if (Now < Moment::LastClock)
    ++Now;
  Mark = Moment(Me, Now, E.Use.Id).Bits;
  if (E.Access == MemoryAccess::Load)
    return;
  if (L.Logs.wanted() && Followed)
    log(E);
  if (Caches.KeepsStores && E.Access == MemoryAccess::Store &&
      E.Space != MemorySpace::Lds && !C.WritesThrough)
    Kept = Now;
}

void RaceChecker::log(const Effects &E) {
  if (!Log)
    Log = &L.Logs.of(Me);
  if (!Logged) {
    auto Others = std::make_shared<VectorClock>(All);
    for (unsigned K = 0; K < NumWaves; ++K) {
      ReleasedClocks &H = Others->Local[K];
      H.Back = WrittenBack[K];
      if (H.Kept > H.Back)
        H.Done = std::min(H.Done, H.Back);
    }
    // What a barrier has told the others is more than what has arrived.
    Others->Local[W.Index] = ReleasedClocks();
    Logged = std::move(Others);
  }
  const bool IsLds = E.Space == MemorySpace::Lds;
  Log->add({Now, release(!IsLds, IsLds), Logged});
}

void RaceChecker::settle() {
  if (Barrier) {
    Barrier = false;
    passBarrier();
  }
  llvm::erase_if(Arriving, [&](Arrival &A) {
    if (Waits.isUnderWay(A.Number))
      return false;
    const bool IsNew = All.join(A.What);
    if (acquireWriteBacks() || IsNew) {
      Logged.reset();
      Learned = true;
    }
    return true;
  });
}

/// What other waves have written back need not be written back again. False:
/// that was nothing new.
bool RaceChecker::acquireWriteBacks() {
  bool IsNew = false;
  if (Caches.KeepsStores)
    for (unsigned K = 0; K < NumWaves; ++K) {
      IsNew |= WrittenBack[K] < All.Local[K].Back;
      WrittenBack[K] = std::max(WrittenBack[K], All.Local[K].Back);
    }
  return IsNew;
}

void RaceChecker::barrierSignalled(const Inst *By) {
  Signal = By;
  BarrierClocks::Release &T = WG.Barriers.signal(W.Index, By);
  // What a wave has from the barrier before, one that comes first tells.
  if (Learned || !T.HasLast) {
    T.All.join(All);
    if (Caches.SharedNear)
      T.Near.join(Near);
    T.Far.join(Far);
    T.Scalar.join(Scalar);
  }
  T.HasLast |= Passed + 1 == T.Barrier;
  T.HasMore |= Learned;
  Learned = false;
  // What is released of others is over; their parts in the write-back that is
  // under way are not.
  if (Caches.KeepsStores && !Waits.underWay().Store)
    for (unsigned K = 0; K < NumWaves; ++K)
      T.All.Local[K].Back = std::max(T.All.Local[K].Back, WrittenBack[K]);
  T.All.Local[W.Index].raise(atClock(release(false, false), Now));
}

void RaceChecker::passBarrier() {
  BarrierClocks &B = WG.Barriers;
  const bool IsNext = B.Signals[W.Index] == Passed + 1;
  Passed = B.Signals[W.Index];
  PassedBy = Signal;
  auto Acquire = [&](const BarrierClocks::Release &T) {
    All.join(T.All);
    if (T.HasLast && !T.HasMore && IsNext)
      return;
    if (Caches.SharedNear)
      Near.join(T.Near);
    Far.join(T.Far);
    Scalar.join(T.Scalar);
  };
  Acquire(B.releaseOf(Passed));
  // Nobody waits for waves that have ended: their end came first.
  for (unsigned K = 0; K < NumWaves; ++K)
    if (B.Ended[K] && B.Signals[K] < Passed) {
      Acquire(*B.Ended[K]);
      Learned = true;
    }
  acquireWriteBacks();
  Logged.reset();
}

void RaceChecker::ended(bool Idle) {
  BarrierClocks &B = WG.Barriers;
  auto T = std::make_unique<BarrierClocks::Release>();
  T->All = All;
  T->Near = Near;
  T->Far = Far;
  T->Scalar = Scalar;
  T->Idle = Idle;
  ReleasedClocks Own;
  Own.Lds = Own.ToLds = Own.Read = Own.Write = Own.DoneRead = Own.Done =
      Own.Issued = Now;
  Own.Kept = Kept;
  Own.Back = WrittenBack[W.Index];
  T->All.Local[W.Index].raise(Own);
  B.Ended[W.Index] = std::move(T);
}

/// What a clock of all waves says of the workgroup's own is kept by itself.
void RaceChecker::learn(const ClockTree &Remote, VectorClock &Into) const {
  if (Remote.empty())
    return;
  Into.Remote.join(Remote);
  for (unsigned K = 0; K < NumWaves; ++K) {
    const Known N = Remote.at(First + K);
    ReleasedClocks H;
    H.Read = H.DoneRead = N.Read;
    H.Write = H.Done = N.Write;
    H.Issued = N.Issued;
    Into.Local[K].raise(H);
  }
}

static Known toOthers(const ReleasedClocks &H) {
  return {H.DoneRead, H.Done, H.Issued};
}

/// Acquires what the wave of a store or an atomic released with it.
void RaceChecker::acquire(uint64_t M, VectorClock &Into) const {
  const Moment Where = Moment::of(M);
  const uint32_t From = Where.wave();
  if (!M || From == Me)
    return;
  const WaveLog *TheirLog = L.Logs.find(From);
  WaveLog::Entry Entry;
  if (!TheirLog || !TheirLog->at(Where.clock(), Entry))
    return;
  const ReleasedClocks Own = atClock(Entry.Own, Where.clock());
  if (From - First < NumWaves) {
    Into.Local[From - First].raise(Own);
    if (Entry.Others)
      Into.join(*Entry.Others);
    return;
  }
  Into.Remote.raise(From, toOthers(Own));
  if (!Entry.Others)
    return;
  const uint32_t TheirFirst = (From - 1) / NumWaves * NumWaves + 1;
  for (unsigned K = 0; K < NumWaves; ++K)
    if (Entry.Others->Local[K].Issued)
      Into.Remote.raise(TheirFirst + K, toOthers(Entry.Others->Local[K]));
  learn(Entry.Others->Remote, Into);
}

/// What is known of the instruction of an access. Of those without a number of
/// their own nothing is, so that nothing is said of them that may be wrong.
const MemoryUse &RaceChecker::useOf(uint64_t M) const {
  static const MemoryUse Unknown = [] {
    MemoryUse U;
    U.Cache.Coherent = U.Decides = U.Spins = U.IsGuess = U.IsLock = true;
    return U;
  }();
  const uint16_t Id = Moment::of(M).id();
  const auto &List = L.TheEffects.MemoryInstructions;
  return Id < List.size() ? L.TheEffects.of(List[Id]).Use : Unknown;
}

/// An atomic that finds no room in a crowd.
void RaceChecker::fold(uint64_t M, Crowd &C) const {
  C.addToOthers(M);
  VectorClock K;
  K.reset(NumWaves);
  acquire(M, K);
  for (unsigned N = 0; N < NumWaves; ++N)
    if (K.Local[N].Issued)
      C.Given.raise(First + N, toOthers(K.Local[N]));
  C.Given.join(K.Remote);
}

void RaceChecker::acquire(Accesses &A, bool IsLds, VectorClock &Into) {
  if (A.single())
    return acquire(A.moment(), Into);
  Crowd *Many = A.own();
  if (!Many)
    return;
  // What many have released is added up once, for all that come; but not what
  // it says of LDS, which only the few waves of a workgroup share.
  if (Many->Moments.size() > 4 && !IsLds) {
    for (uint64_t M : Many->Moments)
      if (Moment::of(M).wave() != Me)
        fold(M, *Many);
    llvm::erase_if(Many->Moments,
                   [&](uint64_t M) { return Moment::of(M).wave() != Me; });
  }
  for (uint64_t M : Many->Moments)
    acquire(M, Into);
  learn(Many->Given, Into);
}

void RaceChecker::take() {
  VectorClock K;
  K.reset(NumWaves);
  auto Remember = [](std::vector<Place> &Places, const Place &P) {
    if (llvm::is_contained(Places, P))
      return;
    if (Places.size() == 64)
      Places.erase(Places.begin());
    Places.push_back(P);
  };
  for (const AccessRange &R : Takes) {
    Remember(Taken, {R.Address, R.isLds()});
    if (R.E->Use.Claims)
      Remember(Claimed, {R.Address, R.isLds()});
    WG.presentCells(R, [&](Cell *Cells, uint32_t Count) {
      for (uint32_t N = 0; N < Count; ++N) {
        acquire(Cells[N].Writes, R.isLds(), K);
        acquire(Cells[N].Atomics, R.isLds(), K);
      }
    });
  }
  Takes.clear();
  Arriving.push_back({Now, std::move(K)});
}
