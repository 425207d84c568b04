//===- RaceChecker.cpp - The clock of a wave, and reports of races --------===//
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
// What is said of a race are both accesses, and what is missing between them.
// Lanes of one instruction that store to one place need no clock. Which other
// accesses are races is in RaceConflicts.cpp.
//
//===----------------------------------------------------------------------===//

#include "Check/RaceChecker.h"

#include "Core/Execution.h"
#include "Core/Instruction.h"
#include "Core/Launch.h"

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
  Followed = Number + NumWaves <= Epoch::LastWave;
  First = Followed ? uint32_t(Number) : 1;
  Me = First + W.Index;
  Now = 0;
  Kept = 0;
  for (VectorClock *K : {&All, &Near, &Far, &Scalar})
    K->reset(NumWaves);
  LdsLimits.clear();
  WrittenBack.assign(NumWaves, 0);
  HasWrittenBack = false;
  Takes.clear();
  Arriving.clear();
  Taken.clear();
  Claimed.clear();
  Logged.reset();
  Log = nullptr;
  Barrier = IsUnsettled = false;
  Named = AwaitedInCluster = 0;
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
  H.Tensor = lastOver(U.Tensor);
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
  return H;
}

/// What was said with a store of that number.
static ReleasedClocks atClock(ReleasedClocks H, uint32_t Clock) {
  for (uint32_t *N : {&H.Lds, &H.ToLds, &H.Tensor, &H.Read, &H.Write,
                      &H.DoneRead, &H.Done, &H.Issued})
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
    Scalar.Local.own(W.Index).Write =
        std::min({Now, lastOver(Waits.underWay().Store),
                  lastOver(Waits.underWay().Atomic)});
  }
  if (C.WritesBack) {
    BackFrom = WrittenBack[W.Index] + 1;
    for (unsigned K = 0; K < NumWaves; ++K)
      WrittenBack[K] = All.Local[K].Done;
    WrittenBack[W.Index] = Now;
    HasWrittenBack = true;
    Logged.reset();
  }
  if (E.Access == MemoryAccess::None || E.Space == MemorySpace::Scratch)
    return;
  if (Now < Epoch::LastClock)
    ++Now;
  Mark = Epoch(Me, Now, E.Use.Id).Bits;
  if (E.Access == MemoryAccess::Load && !E.Tensor)
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
      ReleasedClocks &H = Others->Local.own(K);
      H.Back = WrittenBack[K];
      if (H.Kept > H.Back)
        H.Done = std::min(H.Done, H.Back);
    }
    // What a barrier has told the others is more than what has arrived.
    Others->Local.own(W.Index) = ReleasedClocks();
    Logged = std::move(Others);
  }
  // A tensor's copy arrives when it is over, and so are those before it.
  const bool IsLds = E.Space == MemorySpace::Lds || E.Tensor;
  ReleasedClocks H = release(!IsLds, IsLds);
  if (!IsLds && Kept > WrittenBack[W.Index])
    H.Done = std::min(H.Done, WrittenBack[W.Index]);
  if (E.Tensor)
    H.Tensor = AllIssued;
  Log->add({Now, H, Logged});
}

void RaceChecker::settle() {
  if (Barrier) {
    Barrier = false;
    passBarrier();
  }
  if (Named)
    passNamed();
  if (AwaitedInCluster)
    passClusterBarrier();
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
  LdsLimits.clear();
  IsUnsettled = !Arriving.empty();
}

void RaceChecker::findLdsLimits() {
  const uint64_t *Limits = All.Local.ldsLimits();
  for (unsigned K = 0; K < NumWaves; ++K)
    LdsLimits.push_back(Epoch(First + K, 0, 0).Bits | Limits[K]);
  LdsLimits[W.Index] = ~0ull;
}

/// What other waves have written back need not be written back again. False:
/// that was nothing new.
bool RaceChecker::acquireWriteBacks() {
  bool IsNew = false;
  if (Caches.KeepsStores && All.Local.anyBack())
    for (unsigned K = 0; K < NumWaves; ++K) {
      IsNew |= WrittenBack[K] < All.Local[K].Back;
      WrittenBack[K] = std::max(WrittenBack[K], All.Local[K].Back);
    }
  HasWrittenBack |= IsNew;
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
  tell(T);
}

void RaceChecker::namedSignalled(unsigned Number) {
  BarrierClocks::Release &T = WG.Barriers.named(Number);
  T.All.join(All);
  T.Near.join(Near);
  T.Far.join(Far);
  T.Scalar.join(Scalar);
  tell(T);
}

/// A signal of a member after the barrier is complete counts, too.
void RaceChecker::passNamed() {
  const BarrierClocks::Release &T = WG.Barriers.named(std::exchange(Named, 0));
  All.join(T.All);
  if (Caches.SharedNear)
    Near.join(T.Near);
  Far.join(T.Far);
  Scalar.join(T.Scalar);
  acquireWriteBacks();
  Logged.reset();
  Learned = true;
}

/// The wave's own part.
void RaceChecker::tell(BarrierClocks::Release &T) const {
  // What is released of others is over; their parts in the write-back that is
  // under way are not.
  if (Caches.KeepsStores && HasWrittenBack && !Waits.underWay().Store)
    for (unsigned K = 0; K < NumWaves; ++K) {
      ReleasedClocks &H = T.All.Local.own(K);
      H.Back = std::max(H.Back, WrittenBack[K]);
    }
  T.All.Local.own(W.Index).raise(atClock(release(false, false), Now));
}

void RaceChecker::passBarrier() {
  BarrierClocks &B = WG.Barriers;
  const bool IsNext = B.Signals[W.Index] == Passed + 1;
  Passed = B.Signals[W.Index];
  PassedBy = Signal;
  auto Acquire = [&](const BarrierClocks::Release &T) {
    // Of those who have told all that they know it is the same from now on.
    if (IsNext && !Learned)
      All = T.All;
    else
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
  for (unsigned K = 0; B.AnyEnded && K < NumWaves; ++K)
    if (B.Ended[K] && B.Signals[K] < Passed) {
      Learned = true;
      Acquire(*B.Ended[K]);
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
  Own.Lds = Own.ToLds = Own.Tensor = Own.Read = Own.Write = Own.DoneRead =
      Own.Done = Own.Issued = Now;
  Own.Kept = Kept;
  Own.Back = WrittenBack[W.Index];
  T->All.Local.own(W.Index).raise(Own);
  B.Ended[W.Index] = std::move(T);
  B.AnyEnded = true;
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
    Into.Local.own(K).raise(H);
  }
}

static Known toOthers(const ReleasedClocks &H) {
  return {H.DoneRead, H.Done, H.Issued};
}

/// Acquires what the wave of a store or an atomic released with it.
void RaceChecker::acquire(uint64_t M, VectorClock &Into) const {
  const Epoch Where = Epoch::of(M);
  const uint32_t From = Where.wave();
  if (!M || From == Me)
    return;
  const WaveLog *TheirLog = L.Logs.find(From);
  WaveLog::Entry Entry;
  if (!TheirLog || !TheirLog->at(Where.clock(), Entry))
    return;
  const ReleasedClocks Own = atClock(Entry.Own, Where.clock());
  if (From - First < NumWaves) {
    Into.Local.own(From - First).raise(Own);
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

/// Workgroups of a cluster have one L2, so that none has to be written back.
void RaceChecker::clusterSignalled() {
  const Cluster *C = W.WG->Of.get();
  if (!C)
    return;
  std::lock_guard<std::mutex> Guard(L.Lock);
  L.ClusterClocks.erase({C->Number, C->Generation - 1});
  ClockTree &T = L.ClusterClocks[{C->Number, C->Generation + 1}];
  T.join(All.Remote);
  // As in the log, of this wave only what has arrived.
  for (unsigned K = 0; K < NumWaves; ++K)
    if (K != W.Index && All.Local[K].Issued)
      T.raise(First + K, toOthers(All.Local[K]));
  T.raise(Me, toOthers(atClock(release(true, false), Now)));
}

void RaceChecker::clusterAwaited() {
  if (const Cluster *C = W.WG->Of.get())
    AwaitedInCluster = C->Generation + !W.ClusterComplete;
  IsUnsettled |= AwaitedInCluster != 0;
}

void RaceChecker::passClusterBarrier() {
  const unsigned Number = std::exchange(AwaitedInCluster, 0);
  std::lock_guard<std::mutex> Guard(L.Lock);
  learn(L.ClusterClocks[{W.WG->Of->Number, Number}], All);
  Logged.reset();
  Learned = true;
}

/// What is known of the instruction of an access. Of those without a number of
/// their own nothing is, so that nothing is said of them that may be wrong.
const MemoryUse &RaceChecker::useOf(uint64_t M) const {
  static const MemoryUse Unknown = [] {
    MemoryUse U;
    U.Cache.Coherent = U.Decides = U.Spins = U.IsGuess = U.IsLock = true;
    return U;
  }();
  const uint16_t Id = Epoch::of(M).id();
  const auto &List = L.TheEffects.MemoryInstructions;
  return Id < List.size() ? L.TheEffects.of(List[Id]).Use : Unknown;
}

/// An atomic that finds no room in its set.
void RaceChecker::fold(uint64_t M, AccessSet &C) const {
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
    return acquire(A.epoch(), Into);
  AccessSet *Many = A.own();
  if (!Many)
    return;
  // What many have released is added up once, for all that come; but not what
  // it says of LDS, which only the few waves of a workgroup share.
  if (Many->Epochs.size() > 4 && !IsLds) {
    for (uint64_t M : Many->Epochs)
      if (Epoch::of(M).wave() != Me)
        fold(M, *Many);
    llvm::erase_if(Many->Epochs,
                   [&](uint64_t M) { return Epoch::of(M).wave() != Me; });
  }
  for (uint64_t M : Many->Epochs)
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
    WG.presentCells(R, [&](ShadowCell *Cells, uint32_t Count) {
      for (uint32_t N = 0; N < Count; ++N) {
        acquire(Cells[N].Writes, R.isLds(), K);
        acquire(Cells[N].Atomics, R.isLds(), K);
      }
    });
  }
  Takes.clear();
  Arriving.push_back({Now, std::move(K)});
  IsUnsettled = true;
}

bool RaceChecker::storesOneValue(const Effects &E, uint64_t Mask,
                                 unsigned Bytes, const uint32_t *Data) const {
  if (E.Use.Changes || (L.Rounding && L.Rounding->wantsAll()))
    return false;
  const unsigned First = unsigned(__builtin_ctzll(Mask));
  for (unsigned Row = 0; Row < (Bytes + 3) / 4; ++Row)
    for (unsigned Lane : LaneMask(Mask))
      if (Data[Row * W.N + Lane] != Data[Row * W.N + First])
        return false;
  return true;
}

bool RaceChecker::collisions(const Inst *I, const Effects &E, const uint64_t *A,
                             uint64_t Mask, unsigned Bytes,
                             const uint32_t *Data) {
  // Mostly each lane has a higher address than the one before it.
  uint64_t End = 0;
  bool Ascending = true, OnePlace = true;
  for (unsigned Lane : LaneMask(Mask)) {
    Ascending &= A[Lane] >= End;
    OnePlace &= A[Lane] == A[__builtin_ctzll(Mask)];
    End = A[Lane] + Bytes;
  }
  if (Ascending || (OnePlace && storesOneValue(E, Mask, Bytes, Data)))
    return true;
  std::pair<uint64_t, unsigned> Order[64];
  unsigned Count = 0;
  for (uint64_t Left = Mask; Left; Left &= Left - 1) {
    const unsigned Lane = unsigned(__builtin_ctzll(Left));
    Order[Count++] = {A[Lane], Lane};
  }
  std::sort(Order, Order + Count);
  for (unsigned K = 1; K < Count; ++K) {
    const auto &[Low, One] = Order[K - 1];
    const auto &[High, Two] = Order[K];
    if (High >= Low + Bytes)
      continue;
    bool Same = true;
    if (High == Low && I->ElementBytes >= 4 && E.Space == MemorySpace::Lds &&
        L.Rounding)
      for (unsigned Row = 0; Row < Bytes / 4; ++Row)
        Same &=
            L.Rounding->accepts(place(E, High + 4ull * Row, One << 8 | Two),
                                Data[Row * W.N + One], Data[Row * W.N + Two]);
    else
      for (uint64_t X = High; X < Low + Bytes; ++X)
        Same &= storedByte(I, Data, One, W.N, unsigned(X - Low)) ==
                storedByte(I, Data, Two, W.N, unsigned(X - High));
    const bool Lost = E.Use.Changes && High == Low;
    // Atomic stores may meet: one of the values stays.
    const bool IsAtomic = E.Use.Cache.Coherent && E.Space != MemorySpace::Lds;
    if ((Same || IsAtomic) && !Lost)
      continue;
    const unsigned First = std::min(One, Two), Second = std::max(One, Two);
    return reportError(W, "races", I, nullptr, int(Second), "lanes", [&] {
      return std::string("a race: lanes ") + std::to_string(First) + " and " +
             std::to_string(Second) + " of the wave " +
             (Lost ? "both load, change and store one address without an "
                     "atomic: one of the changes is lost"
                   : "store different values at one address");
    });
  }
  return true;
}

std::string RaceChecker::waveName(uint64_t M, bool IsLds) const {
  const uint32_t From = Epoch::of(M).wave();
  if (From - First < NumWaves)
    return std::string(IsLds ? "" : "of this workgroup ") + "wave " +
           std::to_string(From - First);
  const uint64_t N = (From - 1) / NumWaves;
  const Launch &Of = *W.L;
  return "workgroup (" + std::to_string(N % Of.Grid[0]) + ", " +
         std::to_string(N / Of.Grid[0] % Of.Grid[1]) + ", " +
         std::to_string(N / Of.Grid[0] / Of.Grid[1]) + ")" +
         (NumWaves > 1 ? ", wave " + std::to_string((From - 1) % NumWaves) + ","
                       : "");
}

/// What drops the caches in the way of a load.
static const char *cacheRemedy(const Launch &L, bool InNear) {
  if (L.Chip->Generation >= 12)
    return InNear ? "global_inv scope:SCOPE_SE, or a wider scope,"
                  : "global_inv scope:SCOPE_DEV";
  if (L.Chip->Generation >= 10)
    return InNear ? "buffer_gl0_inv" : "buffer_gl1_inv";
  return L.Chip->HasL2PerDie ? "buffer_inv sc1" : "buffer_wbinvl1_vol";
}

/// Whether the two may be atomic in the source and no read-modify-writes, so
/// that machine code does not say it: one element each, and no bits for it.
bool RaceChecker::mayBeAtomic(const AccessRange &R, const Conflict &C) const {
  if (C.Stale || R.Bytes != R.LaneBytes || R.LaneBytes > 8)
    return false;
  if (R.isLds() || Epoch::of(C.Other).wave() - First < NumWaves)
    return true;
  auto MayBe = [&](const MemoryUse &Use, bool Loads) {
    return Use.Cache.Coherent || !(Loads || Caches.MarksStores);
  };
  return MayBe(R.E->Use, R.Access == MemoryAccess::Load) &&
         MayBe(useOf(C.Other), !C.Wrote);
}

bool RaceChecker::report(const AccessRange &R, uint64_t Address, uint64_t Bytes,
                         const Conflict &C) {
  Reported = Mark;
  const Epoch Where = Epoch::of(C.Other);
  const int Lane = R.Lane < 0 || !R.LaneBytes
                       ? R.Lane
                       : R.Lane + int((Address - R.Address) / R.LaneBytes);
  const auto &List = L.TheEffects.MemoryInstructions;
  const Inst *Other = Where.id() < List.size() ? List[Where.id()] : nullptr;
  // Neither lanes nor elements, of which a line may access many, nor which of
  // the two accesses the simulator has executed first.
  const std::string MergeKey =
      "race " + (R.isLds() ? "LDS" : std::to_string(R.Shadow->begin())) +
      (Other ? "" : " with " + std::to_string(Where.id())) +
      (C.Missed   ? " missed"
       : C.Stale  ? " stale"
       : C.Narrow ? " narrow"
                  : "");
  auto Text = [&] {
    const char *Verb = verbOf(R.Access);
    const uint64_t OfLane = R.LaneBytes ? R.LaneBytes : R.Bytes;
    std::string Text;
    if (R.isLds())
      Text = std::string("LDS ") + Verb + " of " + std::to_string(OfLane) +
             " bytes at " + std::to_string(Address) + " of " +
             std::to_string(W.WG->LdsSize) + ": ";
    else
      Text = R.Shadow->describe(Verb, OfLane, Address) + ": ";
    Text += (C.Missed  ? "a barrier missed: "
             : C.Stale ? "a stale read: "
                       : "a race: ") +
            waveName(C.Other, R.isLds()) +
            (C.Later   ? " writes"
             : C.Wrote ? " has written"
                       : " has read") +
            " it" + (C.Later ? " later" : "") +
            (R.isLds() ? "" : " in the same launch");
    if (Other)
      Text += ", with " + describeInstruction(W, Other);
    const bool Mine = Where.wave() - First < NumWaves;
    const uint32_t Issued = Mine ? All.Local[Where.wave() - First].Issued
                                 : All.Remote.at(Where.wave()).Issued;
    if (C.Missed)
      return Text +
             ", and has ended without reaching the barrier before this read as "
             "often as this wave: " +
             describeInstruction(W, PassedBy);
    const std::string Atomic =
        mayBeAtomic(R, C)
            ? "; if both are atomic in the source, which this machine "
              "code does not show, this is no race"
            : "";
    if (C.Stale)
      return Text + ", and the two are ordered, but " +
             (C.Scalar ? "the cache of scalar loads" : "a cache") +
             " may still hold the old value: " +
             (C.Scalar ? "s_dcache_inv" : cacheRemedy(*W.L, C.Near)) +
             " is missing after the acquire";
    if (C.Narrow)
      return Text +
             ", and both synchronize workgroups, but one of them does not have "
             "device scope: " +
             (L.Generation >= 12 ? "scope:SCOPE_DEV" : "sc1") + " is missing";
    const Effects *Of = Other ? &L.TheEffects.of(Other) : nullptr;
    const std::string Counter =
        counterName(Of && (Of->Tensor || Of->Asynchronous)
                        ? memoryCounter(*Of, L.Generation)
                    : R.isLds()                    ? WaitLds
                    : C.Wrote || L.Generation == 9 ? Waits.storeCounter()
                                                   : WaitLoad,
                    L.Generation);
    if (Where.clock() <= Issued && R.isLds())
      return Text +
             "; the access was still in flight when that wave signalled the "
             "barrier between the two: a wait for " +
             Counter + " of 0 is missing before the barrier";
    if (Where.clock() <= Issued)
      return Text + ", and the " + (C.Wrote ? "store" : "load") +
             " was still in flight" +
             (Caches.KeepsStores && C.Wrote ? ", or not written back," : "") +
             " when the atomic or store that releases it was issued: " +
             (!(Caches.KeepsStores && C.Wrote) ? "a wait for "
              : L.Generation >= 12 ? "global_wb scope:SCOPE_DEV, or a wait for "
                                   : "buffer_wbl2 sc1, or a wait for ") +
             Counter + " of 0" + (Caches.KeepsStores && C.Wrote ? "," : "") +
             " is missing before that";
    if (R.isLds())
      return Text +
             ", and no barrier that both waves have reached orders the two" +
             Atomic;
    return Text +
           (Mine ? ", and neither a barrier nor an atomic orders the two"
                 : ", and no atomic orders the two") +
           Atomic;
  };
  // Where a block has fewer elements than the workgroup has lanes, Triton has
  // several waves load the same ones, and all but one drop what comes of it.
  if (R.Access == MemoryAccess::Load && !R.isLds() && !R.E->ToLds &&
      !isOfOthers(C.Other) && C.Wrote && !(C.Stale || C.Narrow || C.Missed) &&
      Registers.awaitUse(R, Address, Bytes, Other, MergeKey, Text))
    return true;
  return reportError(W, "races", R.I, Other, Lane, MergeKey, Text);
}
