//===- RaceConflicts.cpp - Which accesses are races -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access and those before it to the same bytes: what must be ordered, and
// what need not be.
//
//===----------------------------------------------------------------------===//

#include "Check/RaceChecker.h"

#include "Core/Execution.h"
#include "Core/Instruction.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace lnbwd::sim;

/// A load that is there for order, in global memory.
static bool isSyncLoad(const MemoryUse &Use) {
  return Use.Spins || (Use.Cache.Coherent && Use.Decides);
}

bool RaceChecker::isSync(const AccessRange &R) {
  const Effects &E = *R.E;
  if (E.Space == MemorySpace::Scalar)
    return false;
  if (E.Access == MemoryAccess::Atomic)
    return E.Returns && E.Use.Decides;
  return E.Access == MemoryAccess::Load &&
         (R.isLds() ? E.Use.Spins : isSyncLoad(E.Use));
}

bool RaceChecker::isNarrow(uint64_t M) const {
  const uint16_t Id = Epoch::of(M).id();
  const auto &List = L.TheEffects.MemoryInstructions;
  return Id < List.size() && isNarrow(L.TheEffects.of(List[Id]), M);
}

bool RaceChecker::isOfPeers(uint64_t M) const {
  return W.WG->Of && W.L->clusterOf((Epoch::of(M).wave() - 1) / NumWaves) ==
                         W.WG->Of->Number;
}

bool RaceChecker::isOwnClaim(const AccessRange &R, uint64_t M) const {
  return (R.isLds() || !Caches.MarksStores) && useOf(M).Claims &&
         llvm::is_contained(Claimed, Here);
}

/// Whether another workgroup has said that an access is done before it was
/// over: what it says is then for nothing, though the atomic itself is one.
bool RaceChecker::isReleasedTooEarly(uint64_t M) const {
  const Epoch Where = Epoch::of(M);
  return Where.wave() - First >= NumWaves &&
         Where.clock() <= All.Remote.at(Where.wave()).Issued;
}

/// Up to which number the accesses to LDS that finish with this one are over.
uint32_t RaceChecker::ldsOver(uint64_t M, const ReleasedClocks &H) const {
  if (H.Lds == H.ToLds && H.Lds == H.Tensor)
    return H.Lds;
  const uint16_t Id = Epoch::of(M).id();
  const auto &List = L.TheEffects.MemoryInstructions;
  if (Id >= List.size())
    return H.Lds;
  const Effects &E = L.TheEffects.of(List[Id]);
  return E.Tensor ? H.Tensor : E.ToLds || E.FromLds ? H.ToLds : H.Lds;
}

bool RaceChecker::ordered(uint64_t M, bool IsLds, bool WasWrite) const {
  const Epoch Where = Epoch::of(M);
  const uint32_t From = Where.wave(), Clock = Where.clock();
  if (From == Me)
    return true;
  uint32_t Over, Issued;
  if (From - First < NumWaves) {
    const ReleasedClocks &H = All.Local[From - First];
    Over = IsLds ? ldsOver(M, H) : WasWrite ? H.Write : H.Read;
    Issued = H.Issued;
  } else {
    const Known K = All.Remote.at(From);
    Over = WasWrite ? K.Write : K.Read;
    Issued = K.Issued;
  }
  // Of the place that the wave has taken it from it has seen the value.
  return Clock <= Over ||
         (Clock <= Issued && WasWrite && llvm::is_contained(Taken, Here));
}

/// Whether a load finds what was written there and is ordered before it.
bool RaceChecker::visible(uint64_t M, const MemoryUse &Use,
                          bool &InNear) const {
  const Epoch Where = Epoch::of(M);
  const uint32_t From = Where.wave(), Clock = Where.clock();
  InNear = false;
  if (From == Me || llvm::is_contained(Taken, Here))
    return true;
  if (From - First < NumWaves) {
    InNear = true;
    return Caches.SharedNear || Use.Cache.PassesNear ||
           Clock <= Near.Local[From - First].Write;
  }
  if (!Use.Cache.PassesFar && Clock > Far.Remote.at(From).Write &&
      !isOfPeers(M))
    return false;
  InNear = true;
  return !Caches.HasNear || Use.Cache.PassesNear ||
         Clock <= Near.Remote.at(From).Write;
}

/// Whether the cache of scalar loads has been dropped since a write that is
/// ordered before, be it the wave's own: stores go past that cache, and what
/// lies beside a word may have brought it there.
bool RaceChecker::visibleToScalar(uint64_t M) const {
  const Epoch Where = Epoch::of(M);
  const uint32_t From = Where.wave();
  return Where.clock() <= (From - First < NumWaves
                               ? Scalar.Local[From - First].Write
                               : Scalar.Remote.at(From).Write);
}

/// Whether one of several accesses is not ordered before the present one.
bool RaceChecker::anyUnordered(const Accesses &A, bool IsLds, bool WereWrites,
                               llvm::function_ref<bool(uint64_t)> IsHarmless,
                               uint64_t &Other) const {
  auto Counts = [&](uint64_t M) {
    if (ordered(M, IsLds, WereWrites) || IsHarmless(M))
      return false;
    Other = M;
    return true;
  };
  if (A.empty())
    return false;
  if (A.single())
    return Counts(A.epoch());
  const AccessSet &C = *A.accessSet();
  if (llvm::any_of(C.Epochs, Counts))
    return true;
  // Of those that found no room, no more than one instruction is known.
  return !C.Others.forEachBeside({}, [&](uint32_t Wave, const Known &K) {
    const uint64_t M = Epoch(Wave, K.Write, LastMemoryId).Bits;
    if (ordered(M, IsLds, WereWrites) || IsHarmless(C.OneOfOthers))
      return true;
    Other = M;
    return false;
  });
}

/// Which of several stores of one value a read finds: one that it is ordered
/// after, and rather one that no cache hides. 0: none.
uint64_t RaceChecker::readStore(const Accesses &Writes, bool IsLds,
                                const MemoryUse &Use) const {
  uint64_t Best = 0;
  auto IsBest = [&](uint64_t M) {
    bool InNear;
    if (!ordered(M, IsLds, true))
      return false;
    Best = M;
    return IsLds || visible(M, Use, InNear);
  };
  const AccessSet &C = *Writes.accessSet();
  if (!llvm::any_of(C.Epochs, IsBest))
    C.Others.forEachBeside({}, [&](uint32_t Wave, const Known &K) {
      return !IsBest(Epoch(Wave, K.Write, LastMemoryId).Bits);
    });
  return Best;
}

void RaceChecker::checkRead(const ShadowCell &C, const AccessRange &R,
                            Conflict &Found) const {
  const MemoryUse &Use = R.E->Use;
  const bool Sync = isSync(R), IsScalar = R.E->Space == MemorySpace::Scalar;
  const bool Coherent = Use.Cache.Coherent && !R.isLds() && !IsScalar;
  auto Stale = [&](uint64_t M) {
    bool InNear = false;
    if (IsScalar ? visibleToScalar(M)
                 : R.isLds() || Use.Refreshes || visible(M, Use, InNear))
      return;
    Found = {M, true, /*Stale=*/true, /*Narrow=*/false, InNear, IsScalar};
  };
  uint64_t Store = C.Writes.epoch();
  bool Ordered = false;
  if (const AccessSet *Many = C.Writes.accessSet()) {
    // Whichever of them is the last, the value is what one of them has stored.
    Store = readStore(C.Writes, R.isLds(), Use);
    Ordered = Store != 0;
    if (!Ordered)
      Store = Many->Epochs.back();
  } else if (Store) {
    Ordered = ordered(Store, R.isLds(), true);
  }
  if (Store && (IsScalar || Epoch::of(Store).wave() != Me)) {
    if (Ordered) {
      Stale(Store);
    } else if (!Sync && Coherent && useOf(Store).Cache.Coherent &&
               !isReleasedTooEarly(Store)) {
      Stale(Store); // Both are atomic.
    } else if (!Sync) {
      Found = {Store, true};
      return;
    } else if (isOfOthers(Store)) {
      Stale(Store); // Polled through a cache.
      if (isNarrow(Store))
        Found = {Store, true, /*Stale=*/false, /*Narrow=*/true};
    }
  }
  uint64_t Other;
  const bool Careful = Sync || Use.IsGuess || Coherent;
  auto IsHarmless = [&](uint64_t M) {
    return Careful && (Sync || Use.IsGuess || !isReleasedTooEarly(M));
  };
  if (anyUnordered(C.Atomics, R.isLds(), true, IsHarmless, Other))
    Found = {Other, true};
  else if (C.Atomics.single() && !Careful)
    Stale(C.Atomics.epoch());
  else if (const AccessSet *Many = C.Atomics.accessSet(); Many && !Careful)
    llvm::for_each(Many->Epochs, Stale);
  if (Found.Other || !Passed || Sync)
    return;
  // Ordered, but what a wave has left there that went through the barriers less
  // often is of an earlier round; unless it is a flag that says so.
  auto Missed = [&](uint64_t M) {
    if (!hasMissed(M))
      return false;
    Found = {M, true};
    Found.Missed = true;
    return true;
  };
  if (Store && Missed(Store))
    return;
  if (C.Atomics.single())
    Missed(C.Atomics.epoch());
  else if (const AccessSet *Many = C.Atomics.accessSet())
    for (uint64_t M : Many->Epochs)
      Missed(M);
}

/// Whether what the load M gives, which comes before the present store without
/// an order, can be followed, so that the race is one only if that is used.
bool RaceChecker::mayFollow(uint64_t M, const ShadowCell &C,
                            const AccessRange &R, uint64_t Address,
                            unsigned Bytes) const {
  const Epoch Where = Epoch::of(M);
  const auto &List = L.TheEffects.MemoryInstructions;
  if (!L.Early || !L.Journal->isWhole() || R.isLds() || isOfOthers(M) ||
      Where.id() >= List.size() ||
      (C.Reads.accessSet() && !C.Reads.accessSet()->Others.empty()))
    return false;
  const Effects &Load = L.TheEffects.of(List[Where.id()]);
  return Load.Access == MemoryAccess::Load && !Load.ToLds &&
         L.Early->note({Where.wave() - First, Where.id()},
                       {Address, Bytes, {Me - First, R.E->Use.Id}});
}

/// True: it stores what others have stored there without an order between
/// them. Who reads that after one of them need not be ordered after the rest.
bool RaceChecker::checkWrite(const ShadowCell &C, const AccessRange &R,
                             uint64_t Address, unsigned Bytes,
                             const uint8_t *Values, Conflict &Found) const {
  uint64_t Other;
  // Atomic stores and loads may meet, but for what was read and changed: one of
  // two changes would be lost.
  const bool Coherent =
      R.E->Use.Cache.Coherent && !R.isLds() && !R.E->Use.Changes;
  const bool Among = anyUnordered(
      C.Writes, R.isLds(), true,
      [&](uint64_t M) { return Coherent && useOf(M).Cache.Coherent; }, Other);
  if (Among &&
      !sameValues(R, Address, Bytes, Values, isRedundant(C.Writes, R))) {
    Found = {Other, true};
    return false;
  }
  auto IsSeen = [&](uint64_t M) {
    return !isOfOthers(M) || !isNarrow(*R.E, M);
  };
  if (anyUnordered(
          C.Atomics, R.isLds(), true,
          [&](uint64_t M) {
            return Coherent || (useOf(M).IsLock && IsSeen(M)) ||
                   isOwnClaim(R, M);
          },
          Other)) {
    Found = {Other, true, /*Stale=*/false,
             !IsSeen(Other) && useOf(Other).IsLock};
  } else if (!Among && anyUnordered(
                           C.Reads, R.isLds(), false,
                           [&](uint64_t M) {
                             const MemoryUse &U = useOf(M);
                             return (!R.isLds() && U.Cache.Coherent &&
                                     (R.E->Use.Cache.Coherent ||
                                      (isSyncLoad(U) && IsSeen(M)))) ||
                                    mayFollow(M, C, R, Address, Bytes);
                           },
                           Other)) {
    Found = {Other, false, /*Stale=*/false,
             !IsSeen(Other) && isSyncLoad(useOf(Other))};
  }
  return Among;
}

void RaceChecker::checkAtomic(const ShadowCell &C, const AccessRange &R,
                              Conflict &Found) const {
  uint64_t Other;
  const bool IsLock = R.E->Use.IsLock;
  // Who has claimed the place before may store there, which is atomic, though
  // no bit says so.
  const bool IsTry = R.E->Use.Claims && (R.isLds() || !Caches.MarksStores);
  if (anyUnordered(
          C.Writes, R.isLds(), true,
          [&](uint64_t M) {
            return (!R.isLds() && useOf(M).Cache.Coherent) ||
                   (IsLock && !(isOfOthers(M) && isNarrow(M))) || IsTry;
          },
          Other))
    Found = {Other, true, /*Stale=*/false, /*Narrow=*/IsLock};
  else if (Caches.MarksAtomics && !R.isLds() &&
           anyUnordered(
               C.Atomics, /*IsLds=*/false, true,
               [&](uint64_t M) {
                 return !isOfOthers(M) || !(isNarrow(*R.E, M) || isNarrow(M));
               },
               Other))
    Found = {Other, true, /*Stale=*/false, /*Narrow=*/true};
  else if (anyUnordered(
               C.Reads, R.isLds(), false,
               [&](uint64_t M) {
                 const MemoryUse &U = useOf(M);
                 return U.IsGuess || (U.Cache.Coherent && !R.isLds());
               },
               Other))
    Found = {Other, false};
}

/// Calls Function(offset in the part, dword or byte, bytes of it) for what a
/// store stores in a part of its bytes, until that returns false.
template <typename F>
static bool forStored(const AccessRange &R, unsigned N, uint64_t Address,
                      unsigned Bytes, F Function) {
  const uint64_t Offset = Address - R.Address;
  for (unsigned K = 0; R.Copied && K < Bytes; ++K)
    if (!Function(K, R.Copied[Offset + K], 1))
      return false;
  if (R.Copied)
    return true;
  unsigned Lane =
      unsigned(std::max(R.Lane, 0)) + unsigned(Offset / R.LaneBytes);
  unsigned Byte = unsigned(Offset % R.LaneBytes);
  const unsigned Step =
      R.I->ElementBytes >= 4 && !((Byte | Bytes | R.LaneBytes) & 3) ? 4 : 1;
  for (unsigned K = 0; K < Bytes; K += Step) {
    const uint32_t Value = Step == 4 ? R.Data[Byte / 4 * N + Lane]
                                     : storedByte(R.I, R.Data, Lane, N, Byte);
    if (!Function(K, Value, Step))
      return false;
    Byte += Step;
    if (Byte == R.LaneBytes) {
      Byte = 0;
      ++Lane;
    }
  }
  return true;
}

/// Whether all other waves that have stored there have done so with the present
/// instruction, at the same time of theirs: they all store one result.
bool RaceChecker::isRedundant(const Accesses &Writes,
                              const AccessRange &R) const {
  if (!R.isLds() || !L.Rounding)
    return false;
  auto IsAlike = [&](uint64_t M) {
    const Epoch At = Epoch::of(M);
    return ordered(M, /*IsLds=*/true, /*WasWrite=*/true) ||
           (At.id() == R.E->Use.Id && At.id() != LastMemoryId &&
            At.clock() == Now);
  };
  if (!Writes.accessSet())
    return IsAlike(Writes.epoch());
  return Writes.accessSet()->Others.empty() &&
         llvm::all_of(Writes.accessSet()->Epochs, IsAlike);
}

RoundingJudge::Place RaceChecker::place(const Effects &E, uint64_t Address,
                                        unsigned Lanes) const {
  return {E.Use.Id, Me, Now, uint32_t(Address), uint16_t(Lanes)};
}

/// Whether the store leaves the bytes as the last one has. Values: what that
/// has stored, if it is kept; else memory holds it.
bool RaceChecker::sameValues(const AccessRange &R, uint64_t Address,
                             unsigned Bytes, const uint8_t *Values,
                             bool IsRedundant) const {
  if (!R.Data && !R.Copied)
    return false;
  const uint8_t *Stored = Values ? Values
                          : R.isLds()
                              ? W.WG->Lds + Address
                              : reinterpret_cast<const uint8_t *>(Address);
  return forStored(R, W.N, Address, Bytes,
                   [&](unsigned K, uint32_t Value, unsigned Step) {
                     uint32_t Last = 0;
                     std::memcpy(&Last, Stored + K, Step);
                     return IsRedundant && Step == 4
                                ? L.Rounding->accepts(
                                      place(*R.E, Address + K, 0), Last, Value)
                                : Last == Value;
                   });
}

void RaceChecker::add(Accesses &To, bool IsLds, bool AreWrites) {
  To.add(
      Mark, [&](uint64_t M) { return ordered(M, IsLds, AreWrites); },
      [&](uint64_t M, AccessSet &C) {
        if (AreWrites && L.Logs.wanted())
          return fold(M, C);
        C.addToOthers(M);
      });
}

/// The K-th cell of a run; what is wrong there, if anything is.
RaceChecker::Conflict RaceChecker::accessCell(const CellRun &Run, uint32_t K,
                                              const AccessRange &R) {
  ShadowCell &C = Run.Cells[K];
  const uint64_t Begin = uint64_t(K) << Run.Granule;
  const uint64_t Where = Run.Address + Begin;
  Here = {Where, R.isLds()};
  Conflict Found;
  switch (R.Access) {
  case MemoryAccess::Load:
    if (!C.Atomics.empty() || C.Writes.accessSet() ||
        (!C.Writes.empty() && (R.E->Space == MemorySpace::Scalar ||
                               Epoch::of(C.Writes.epoch()).wave() != Me)))
      checkRead(C, R, Found);
    // Who waits there for what others store plainly: those must not.
    if (!isSync(R) ||
        (Caches.MarksStores && R.E->Use.Cache.Coherent && !R.isLds()))
      add(C.Reads, R.isLds(), false);
    break;
  case MemoryAccess::Store: {
    uint8_t *Values = Run.Values ? Run.Values + Begin : nullptr;
    const unsigned Bytes = 1u << Run.Granule;
    if ((C.Writes.epoch() | C.Reads.epoch() | C.Atomics.epoch()) &&
        checkWrite(C, R, Where, Bytes, Values, Found)) {
      add(C.Writes, R.isLds(), true);
      C.Atomics.clear();
      break;
    }
    C.Writes.set(Mark);
    C.Reads.clear();
    C.Atomics.clear();
    if (Values)
      forStored(R, W.N, Where, Bytes,
                [&](unsigned At, uint32_t Value, unsigned Step) {
                  std::memcpy(Values + At, &Value, Step);
                  return true;
                });
    break;
  }
  default:
    checkAtomic(C, R, Found);
    add(C.Atomics, R.isLds(), true);
    break;
  }
  return Found;
}

/// Whether all accesses to a place of LDS are this wave's, or are over and of
/// waves of its workgroup: what mostly is there.
[[gnu::always_inline]] inline bool
RaceChecker::isOver(const Accesses &A) const {
  auto Is = [&](uint64_t Bits) {
    const Epoch M = Epoch::of(Bits);
    const uint32_t From = M.wave() - First;
    return From < NumWaves &&
           (M.wave() == Me || M.clock() <= ldsOver(Bits, All.Local[From]));
  };
  if (const AccessSet *Many = A.accessSet())
    return Many->Others.empty() && llvm::all_of(Many->Epochs, Is);
  return A.empty() || Is(A.epoch());
}

/// Cells of LDS side by side have mostly seen the same, so that what becomes of
/// one by an instruction becomes of the next. False: this one is to be looked
/// at by itself.
[[gnu::always_inline]] inline bool RaceChecker::readLike(ShadowCell &C) {
  if (!C.Atomics.empty())
    return false;
  if (!C.Writes.empty() && !(C.Writes == Like.Writes)) {
    if (!C.Writes.single() || !isOver(C.Writes) ||
        (Epoch::of(C.Writes.epoch()).wave() != Me &&
         hasMissed(C.Writes.epoch())))
      return false;
    Like.Writes.set(C.Writes.epoch());
  }
  if (C.Reads == Like.Reads) {
    C.Reads.share(Like.ReadsAfter);
  } else if (!(C.Reads == Like.ReadsAfter)) {
    Like.Reads.share(C.Reads);
    add(C.Reads, /*IsLds=*/true, /*AreWrites=*/false);
    Like.ReadsAfter.share(C.Reads);
  }
  return true;
}

[[gnu::always_inline]] inline bool RaceChecker::writeLike(ShadowCell &C) {
  if (!C.Atomics.empty() || !(C.Writes == Like.Writes || isOver(C.Writes)) ||
      !(C.Reads == Like.Reads || isOver(C.Reads)))
    return false;
  C.Writes.set(Mark);
  if (C.Reads.accessSet())
    Like.Reads = std::move(C.Reads);
  C.Reads.clear();
  return true;
}

/// The same of a store of what others have stored there without an order.
[[gnu::always_inline]] inline bool
RaceChecker::writeSameLike(const CellRun &Run, uint32_t K,
                           const AccessRange &R) {
  ShadowCell &C = Run.Cells[K];
  if ((L.Rounding && L.Rounding->wantsAll()) || Like.SameWrites.empty() ||
      !(C.Writes == Like.SameWrites) || !(C.Reads == Like.SameReads) ||
      !C.Atomics.empty() ||
      !sameValues(R, Run.Address + (uint64_t(K) << Run.Granule),
                  1u << Run.Granule, /*Values=*/nullptr, /*IsRedundant=*/false))
    return false;
  C.Writes.share(Like.SameAfter);
  return true;
}

/// One that readLike and writeLike have left.
bool RaceChecker::accessUnlike(const CellRun &Run, uint32_t K,
                               const AccessRange &R) {
  ShadowCell &C = Run.Cells[K];
  Accesses WritesBefore, ReadsBefore;
  const bool MayBeLike =
      R.isLds() && R.Access == MemoryAccess::Store && C.Atomics.empty();
  if (MayBeLike) {
    WritesBefore.share(C.Writes);
    ReadsBefore.share(C.Reads);
  }
  const Conflict Found = accessCell(Run, K, R);
  if (__builtin_expect(Found.Other != 0, 0)) {
    // An order through workgroups that are not checked is not known.
    if (L.Sample > 1 && isOfOthers(Found.Other))
      return true;
    return report(R, Run.Address + (uint64_t(K) << Run.Granule),
                  1ull << Run.Granule, Found);
  }
  if (MayBeLike && C.Writes.epoch() == Mark) {
    Like.Writes = std::move(WritesBefore);
    Like.Reads = std::move(ReadsBefore);
  } else if (MayBeLike) {
    Like.SameWrites = std::move(WritesBefore);
    Like.SameReads = std::move(ReadsBefore);
    Like.SameAfter.share(C.Writes);
  }
  return true;
}

bool RaceChecker::access(const AccessRange &R) {
  if (!Followed)
    return true;
  if (L.Logs.wanted() && isSync(R))
    Takes.push_back(R);
  if (L.Early && R.Access == MemoryAccess::Load)
    if (const EarlyReads::Case *Of =
            L.Early->find({W.Index, R.E->Use.Id}, R.Address, R.Bytes)) {
      const auto [By, Id] = Of->Store;
      Conflict Found = {Epoch(First + By, Epoch::LastClock, Id).Bits, true};
      Found.Later = true;
      const uint64_t Begin = std::max(Of->Address, R.Address);
      const uint64_t End =
          std::min(Of->Address + Of->Bytes, R.Address + R.Bytes);
      return report(R, Begin, End - Begin, Found);
    }
  return WG.cells(R, [&](const CellRun &Run) {
    bool Good = true;
    for (uint32_t K = 0; K < Run.Count; ++K)
      Good &= accessUnlike(Run, K, R);
    return Good;
  });
}

/// Goes on through cells of which all that is known are single accesses that
/// are this wave's or over, which is most of them: the epochs alone tell that.
/// Place: the run and the address of the first cell that is not one of them.
template <bool Writes>
std::pair<size_t, uint32_t>
RaceChecker::accessPlain(llvm::ArrayRef<LdsRun> Runs,
                         std::pair<size_t, uint32_t> Place) {
  const uint64_t *Limits = LdsLimits.data();
  const uint32_t FirstWave = First, Count = NumWaves;
  const uint64_t New = Mark;
  // Cells side by side mostly know the same.
  uint64_t Written = 0, Read = 0;
  auto IsOver = [=](uint64_t Bits, uint64_t &Known) {
    const uint32_t From = Epoch::of(Bits).wave() - FirstWave;
    if (Bits == Known || !Bits)
      return true;
    if ((Bits & 1) || From >= Count || Bits > Limits[From])
      return false;
    Known = Bits;
    return true;
  };
  auto Passes = [&](ShadowCell &C) {
    if (!C.Atomics.empty() || !IsOver(C.Writes.epoch(), Written) ||
        !IsOver(C.Reads.epoch(), Read))
      return false;
    (Writes ? C.Writes : C.Reads).put(New);
    if (Writes)
      C.Reads.put(0);
    return true;
  };
  constexpr uint32_t PageBytes = ShadowPage::PageBytes;
  const LdsRun *R = Runs.begin() + Place.first, *const End = Runs.end();
  for (uint32_t At = Place.second; R != End; At = R->Address) {
    uint32_t Page = 0, CellBytes = 0;
    unsigned Granule = 0;
    ShadowCell *Cells = nullptr; // of the page that the run ends in
    for (const uint32_t RunEnd = R->Address + R->Bytes; At != RunEnd;) {
      const CellRun Run = WG.ldsCells(At, RunEnd);
      for (uint32_t N = 0; N < Run.Count; ++N)
        if (!Passes(Run.Cells[N]))
          return {R - Runs.begin(), At + (N << Run.Granule)};
      Page = At & ~(PageBytes - 1);
      Granule = Run.Granule;
      CellBytes = 1u << Granule;
      Cells = Run.Cells - ((At - Page) >> Granule);
      At += Run.Count << Granule;
    }
    // Lanes that are not side by side mostly access a cell each. They each have
    // a cache line of cells, and those of more than two pages do not stay
    // there.
    const uint32_t Outside = ~(PageBytes - CellBytes);
    const ptrdiff_t Ahead = WG.Pages.size() > 2 ? 8 : End - R;
    while (++R != End && R->Bytes == CellBytes) {
      if (End - R > Ahead)
        WG.prefetchLds(R[Ahead].Address);
      const uint32_t Begin = R->Address - Page;
      if (Begin & Outside)
        break;
      if (!Passes(Cells[Begin >> Granule]))
        return {R - Runs.begin(), R->Address};
    }
    if (R == End)
      break;
  }
  return {Runs.size(), 0};
}

bool RaceChecker::accessLds(AccessRange &R, llvm::ArrayRef<LdsRun> Runs) {
  if (!Followed)
    return true;
  const bool Syncs = isSync(R);
  const bool Reads = R.Access == MemoryAccess::Load && !Syncs;
  const bool Writes = R.Access == MemoryAccess::Store;
  if (Syncs && L.Logs.wanted())
    for (const LdsRun &Part : Runs) {
      R.Address = Part.Address;
      R.Bytes = Part.Bytes;
      Takes.push_back(R);
    }
  if (Like.Of != Mark) {
    Like = Alike();
    Like.Of = Mark;
    Like.ReadsAfter.set(Mark);
  }
  if (LdsLimits.empty())
    findLdsLimits();
  std::pair<size_t, uint32_t> Place(0, Runs.empty() ? 0 : Runs[0].Address);
  while (Place.first < Runs.size()) {
    if (Writes)
      Place = accessPlain<true>(Runs, Place);
    else if (Reads && !(Passed && WG.Barriers.AnyEnded))
      Place = accessPlain<false>(Runs, Place);
    auto &[Part, At] = Place;
    if (Part == Runs.size())
      break;
    R.Address = Runs[Part].Address;
    R.Bytes = Runs[Part].Bytes;
    R.Lane = int(Runs[Part].Lane);
    const uint32_t End = uint32_t(R.Address + R.Bytes);
    const CellRun Run = WG.ldsCells(At, End);
    bool Good = true;
    for (uint32_t K = 0; K < Run.Count; ++K)
      if (!(Reads && readLike(Run.Cells[K])) &&
          !(Writes && (writeLike(Run.Cells[K]) || writeSameLike(Run, K, R))))
        Good &= accessUnlike(Run, K, R);
    if (!Good)
      return false;
    At += Run.Count << Run.Granule;
    if (At == End && ++Part < Runs.size())
      At = Runs[Part].Address;
  }
  return true;
}

uint8_t lnbwd::sim::storedByte(const Inst *I, const uint32_t *Data,
                               unsigned Lane, unsigned N, unsigned Byte) {
  if (I->ElementBytes >= 4)
    return uint8_t(Data[Byte / 4 * N + Lane] >> Byte % 4 * 8);
  const unsigned Shift = I->Flags & FlagHigh16 ? 16 : 0;
  return uint8_t(Data[Lane] >> (Shift + Byte * 8));
}
