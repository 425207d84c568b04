//===- RaceChecker.h - Accesses without an order ----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a wave does to memory that other waves access, LDS and global memory
// alike: whether it is ordered after what they did, and whether it sees that
// in spite of the caches. The clocks are in VectorClock.h, the cells in
// ShadowMemory.h.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_RACECHECKER_H
#define LNBWD_LIB_SIMULATOR_CHECK_RACECHECKER_H

#include "Check/LaunchShadow.h"
#include "Check/RegisterChecker.h"
#include "Check/ShadowMemory.h"
#include "Check/WaitChecker.h"
#include "Core/Wave.h"

#include <memory>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// The Byte-th byte of what a lane of N stores; Data: the first row of it.
uint8_t storedByte(const Inst *I, const uint32_t *Data, unsigned Lane,
                   unsigned N, unsigned Byte);

/// One wave's part. What returns a bool returns false if it has stopped the
/// wave.
class RaceChecker {
public:
  RaceChecker(WorkgroupShadow &WG, Wave &W, RegisterChecker &Registers,
              WaitChecker &Waits);
  void start();
  /// Before an instruction of any kind; after the waits.
  void before(const Effects &E) {
    if (__builtin_expect(IsUnsettled, 0))
      settle();
    if (E.Access != MemoryAccess::None || E.ControlsCache)
      issue(E);
  }
  /// Whether an instruction of any kind finds something that has come.
  bool isUnsettled() const { return IsUnsettled; }
  /// An access of the present instruction.
  bool access(const AccessRange &R);
  /// One to LDS, which lies in runs: R becomes each of them.
  bool accessLds(AccessRange &R, llvm::ArrayRef<LdsRun> Runs);
  /// What lanes of the present instruction store; Data: rows of the values.
  bool collisions(const Inst *I, const Effects &E, const uint64_t *A,
                  uint64_t Mask, unsigned Bytes, const uint32_t *Data);
  /// Whether all lanes of the present instruction store one value, so that they
  /// count as one where they all store it to one place.
  bool storesOneValue(const Effects &E, uint64_t Mask, unsigned Bytes,
                      const uint32_t *Data) const;
  /// The accesses of the present instruction are over.
  void accessed() {
    if (__builtin_expect(!Takes.empty(), 0))
      take();
  }
  void barrierSignalled(const Inst *By);
  /// The wave goes on once the barrier that it signalled last is over.
  void barrierAwaited() { Barrier = IsUnsettled = true; }
  /// The same of named barriers, of which any part of the waves may be members.
  void namedSignalled(unsigned Number);
  void namedAwaited(unsigned Number) {
    Named = Number;
    IsUnsettled = true;
  }
  /// The same of the cluster's barrier, of which a wave of each workgroup tells
  /// what is known to it.
  void clusterSignalled();
  void clusterAwaited();
  /// Idle: the wave has done nothing since the branch that led it to its end.
  void ended(bool Idle);
  /// Whether something has been said of the present instruction.
  bool hasReported() const { return Reported == Mark; }
  /// The number of the present memory instruction; of a write-back, of the
  /// first store that it is for.
  uint32_t number(const Effects &E) const {
    return E.Use.Cache.WritesBack ? BackFrom : Now;
  }

private:
  struct Arrival { ///< what a load takes, once it has been waited for
    uint32_t Number;
    VectorClock What;
  };
  struct Place {
    uint64_t Address = 0;
    bool IsLds = false;
    bool operator==(const Place &O) const {
      return Address == O.Address && IsLds == O.IsLds;
    }
  };
  struct Conflict {
    uint64_t Other = 0; ///< an Epoch
    bool Wrote = false, Stale = false;
    bool Narrow = false; ///< both for order, one of them in too narrow a scope
    bool Near = false, Scalar = false; ///< which cache is in the way
    bool Missed = false; ///< ordered, by a barrier that the other one missed
    bool Later = false;  ///< the other one comes after this one
  };
  /// A cell of LDS that the instruction Of has accessed, as it was before, and
  /// its reads as they became. A store has found nothing wrong there.
  struct Alike {
    uint64_t Of = 0;
    Accesses Writes, Reads, ReadsAfter;
    /// One in which others had stored the same, and its stores as they became.
    Accesses SameWrites, SameReads, SameAfter;
  };
  void issue(const Effects &E);
  void settle();
  void findLdsLimits();
  void passBarrier();
  void passNamed();
  void passClusterBarrier();
  void tell(BarrierClocks::Release &T) const;
  ReleasedClocks release(bool ToOthers, bool ThroughLds) const;
  void log(const Effects &E);
  bool acquireWriteBacks();
  uint32_t ldsOver(uint64_t M, const ReleasedClocks &H) const;
  bool ordered(uint64_t M, bool IsLds, bool WasWrite) const;
  bool visible(uint64_t M, const MemoryUse &Use, bool &Near) const;
  bool visibleToScalar(uint64_t M) const;
  bool accessUnlike(const CellRun &Run, uint32_t K, const AccessRange &R);
  bool isOver(const Accesses &A) const;
  Conflict accessCell(const CellRun &Run, uint32_t K, const AccessRange &R);
  /// The wave of an access has missed a barrier that lies before this one.
  bool hasMissed(uint64_t M) const {
    const uint32_t From = Epoch::of(M).wave() - First;
    return Passed && From < NumWaves &&
           WG.Barriers.hasMissed(From, Passed, PassedBy);
  }
  template <bool Writes>
  std::pair<size_t, uint32_t> accessPlain(llvm::ArrayRef<LdsRun> Runs,
                                          std::pair<size_t, uint32_t> Place);
  bool readLike(ShadowCell &C);
  bool writeLike(ShadowCell &C);
  bool writeSameLike(const CellRun &Run, uint32_t K, const AccessRange &R);
  void checkRead(const ShadowCell &C, const AccessRange &R,
                 Conflict &Found) const;
  uint64_t readStore(const Accesses &Writes, bool IsLds,
                     const MemoryUse &Use) const;
  bool checkWrite(const ShadowCell &C, const AccessRange &R, uint64_t Address,
                  unsigned Bytes, const uint8_t *Values, Conflict &Found) const;
  bool mayFollow(uint64_t M, const ShadowCell &C, const AccessRange &R,
                 uint64_t Address, unsigned Bytes) const;
  void checkAtomic(const ShadowCell &C, const AccessRange &R,
                   Conflict &Found) const;
  bool anyUnordered(const Accesses &A, bool IsLds, bool WereWrites,
                    llvm::function_ref<bool(uint64_t)> IsHarmless,
                    uint64_t &Other) const;
  bool sameValues(const AccessRange &R, uint64_t Address, unsigned Bytes,
                  const uint8_t *Values, bool IsRedundant) const;
  bool isRedundant(const Accesses &Writes, const AccessRange &R) const;
  RoundingJudge::Place place(const Effects &E, uint64_t Address,
                             unsigned Lanes) const;
  /// A load that is there for order, and what it takes part in.
  static bool isSync(const AccessRange &R);
  /// By another workgroup.
  bool isOfOthers(uint64_t M) const {
    return Epoch::of(M).wave() - First >= NumWaves;
  }
  /// By another workgroup of the cluster, which has the same far cache.
  bool isOfPeers(uint64_t M) const;
  /// Whether the bits of a store, or of an atomic, say that it need not be seen
  /// by the workgroup of M.
  bool isNarrow(const Effects &E, uint64_t M) const {
    return E.Space != MemorySpace::Lds && !E.Use.Cache.Coherent &&
           !(E.Use.Cache.PassesNear && isOfPeers(M)) &&
           (E.Access == MemoryAccess::Atomic ? Caches.MarksAtomics
                                             : Caches.MarksStores);
  }
  bool isNarrow(uint64_t M) const;
  /// Whether the present store, of which no bit says whether it is atomic, is
  /// to a place that this wave has claimed, and M no more than another's try.
  bool isOwnClaim(const AccessRange &R, uint64_t M) const;
  bool isReleasedTooEarly(uint64_t M) const;
  void add(Accesses &To, bool IsLds, bool AreWrites);
  void fold(uint64_t M, AccessSet &C) const;
  const MemoryUse &useOf(uint64_t M) const;
  void acquire(uint64_t M, VectorClock &Into) const;
  void acquire(Accesses &A, bool IsLds, VectorClock &Into);
  void learn(const ClockTree &Remote, VectorClock &Into) const;
  void take();
  bool report(const AccessRange &R, uint64_t Address, uint64_t Bytes,
              const Conflict &C);
  bool mayBeAtomic(const AccessRange &R, const Conflict &C) const;
  std::string waveName(uint64_t M, bool IsLds) const;

  LaunchShadow &L;
  WorkgroupShadow &WG;
  Wave &W;
  RegisterChecker &Registers;
  WaitChecker &Waits;
  const CacheModel &Caches;
  const unsigned NumWaves;
  uint32_t First = 1; ///< number plus 1 of the workgroup's first wave
  uint32_t Me = 1;    ///< and of this one
  bool Followed = true;
  uint32_t Now = 0;
  uint64_t Mark = 0;         ///< the Epoch of the present instruction
  uint64_t Reported = ~0ull; ///< of the last one of which something was said
  VectorClock All;
  /// What was known when those caches were dropped, of Scalar of this wave,
  /// too.
  VectorClock Near, Far, Scalar;
  std::vector<uint32_t> WrittenBack; ///< by wave: what L2 no longer keeps
  bool HasWrittenBack = false;       ///< any of them
  uint32_t Kept = 0;                 ///< this wave's last store that it may
  uint32_t BackFrom = 0; ///< the first one of those that it now writes back
  /// LocalClocks::ldsLimits of All as epochs, but that all of this wave's are
  /// over, so that no branch has to ask whose an access is.
  std::vector<uint64_t> LdsLimits; ///< empty: not asked for so far
  std::vector<AccessRange> Takes;
  std::vector<Arrival> Arriving;
  std::vector<Place> Taken;   ///< what it has taken from, the latest ones
  std::vector<Place> Claimed; ///< with an atomic that claims, the latest ones
  Place Here;                 ///< of the cell that is looked at
  Alike Like;
  std::shared_ptr<const VectorClock> Logged; ///< All, if unchanged since
  WaveLog *Log = nullptr;
  bool IsUnsettled = false; ///< something of what follows, or Arriving
  bool Barrier = false;
  unsigned Named = 0;            ///< the named barrier that it has waited for
  unsigned AwaitedInCluster = 0; ///< the one that it has waited for
  bool Learned = true; ///< since it has signalled, but from that barrier
  unsigned Passed = 0; ///< barriers, and the instruction of the last one
  const Inst *PassedBy = nullptr;
  const Inst *Signal = nullptr; ///< of the last one that it has signalled
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_RACECHECKER_H
