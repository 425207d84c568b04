//===- MemoryChecker.cpp - What a wave does to memory ---------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory never written, alignment, and the counts of buffers.
//
//===----------------------------------------------------------------------===//

#include "Check/MemoryChecker.h"

#include "Check/Resources.h"
#include "Core/Execution.h"
#include "Core/Instruction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace lnbwd::sim;

/// The runs of an access.
static unsigned ldsRuns(const uint32_t *A, uint64_t Mask, unsigned Bytes,
                        bool IsLoad, LdsRun (&Runs)[64]) {
  unsigned Count = 0, Again = 0;
  auto IsRun = [&](unsigned K, const LdsRun &R) {
    return R.Address == Runs[K].Address && R.Bytes == Runs[K].Bytes;
  };
  while (Mask) {
    const unsigned First = unsigned(__builtin_ctzll(Mask));
    Mask &= Mask - 1;
    LdsRun R = {A[First], Bytes, First};
    for (unsigned Next = First + 1; Next < 64 && Mask >> Next & 1; ++Next) {
      const bool Beside = A[Next] == R.Address + R.Bytes;
      // Lanes that read one place do so once.
      if (!Beside && (!IsLoad || A[Next] != A[Next - 1]))
        break;
      R.Bytes += Beside ? Bytes : 0;
      Mask &= Mask - 1;
    }
    // Several groups of lanes often read the same, one after another.
    if (IsLoad && Count && IsRun(Again, R)) {
      Again = (Again + 1) % Count;
      continue;
    }
    Again = 0;
    if (!IsLoad || !Count || !IsRun(Count - 1, R))
      Runs[Count++] = R;
  }
  return Count;
}

/// Whether two lanes access a byte.
static bool lanesMeet(const uint32_t *A, uint64_t Mask, unsigned Bytes) {
  uint32_t Order[64];
  unsigned Count = 0;
  bool Ascending = true;
  for (unsigned Lane : LaneMask(Mask)) {
    Ascending &= !Count || A[Lane] >= Order[Count - 1] + Bytes;
    Order[Count++] = A[Lane];
  }
  if (Ascending)
    return false;
  std::sort(Order, Order + Count);
  for (unsigned K = 1; K < Count; ++K)
    if (Order[K] < Order[K - 1] + Bytes)
      return true;
  return false;
}

LdsChecker::LdsChecker(WorkgroupShadow &WG, Wave &W)
    : L(WG.L), WG(WG), W(W),
      Patterns(std::min<size_t>(
          llvm::PowerOf2Ceil(L.TheEffects.MemoryInstructions.size() * 2 + 2),
          MostPatterns)) {}

const LdsPattern &LdsChecker::pattern(const Effects &E, const uint32_t *A,
                                      uint64_t Mask, unsigned Bytes,
                                      bool IsLoad, unsigned Part) {
  // An instruction mostly asks for the same places, only further on.
  auto &Known = Patterns[(E.Use.Id * 2u + Part) & (Patterns.size() - 1)];
  if (!Known)
    Known = std::make_unique<LdsPattern>();
  LdsPattern &P = *Known;
  const uint32_t Step = A[0] - P.A[0];
  bool IsSame =
      P.Mask == Mask && P.Bytes == Bytes && P.IsLoad == IsLoad && Step % 4 == 0;
  if (IsSame) {
    uint32_t Differs = 0;
    for (unsigned Lane = 0; Lane < W.N; ++Lane)
      Differs |= A[Lane] - P.A[Lane] - Step;
    IsSame = !Differs;
  }
  if (IsSame) {
    for (unsigned K = 0; Step != P.Step && K < P.Count; ++K)
      P.Runs[K].Address += Step - P.Step;
    P.Step = Step;
    return P;
  }
  P.Mask = Mask;
  P.Bytes = Bytes;
  P.IsLoad = IsLoad;
  P.Step = 0;
  std::copy_n(A, W.N, P.A);
  P.Count = ldsRuns(A, Mask, Bytes, IsLoad, P.Runs);
  P.Meet = !IsLoad && lanesMeet(A, Mask, Bytes);
  P.OnePlace = P.Meet && llvm::all_of(P.runs(), [&](const LdsRun &R) {
                 return R.Address == P.Runs[0].Address && R.Bytes == Bytes;
               });
  if (L.counts())
    P.Cycles = bankCycles(A, Mask, Bytes, W.N, L.LdsBanks, P.Least);
  return P;
}

/// Barriers are counted modulo this, and what is stored for Soon counts as
/// never written after so many more: Triton's histograms set bins to zero, add
/// to them and read them.
constexpr unsigned Round = (256 - LdsForOnce) / 4, MostBarriers = 2;

void LdsChecker::start(const Effects &E) {
  const LdsUse Use = L.ldsUse(E);
  const unsigned Now = WG.Barriers.Signals[W.Index] % Round;
  Stored = Use == LdsUse::Unknown
               ? uint8_t(LdsDefined)
               : uint8_t(LdsForOnce + 4 * Now + (Use == LdsUse::Later ? 2 : 0));
}

/// Whether a byte is defined for a read, which is noted.
bool LdsChecker::isThere(uint8_t &Known) const {
  const unsigned Was = Known - LdsForOnce, Is = Stored - LdsForOnce;
  if (Known < LdsForOnce || Stored < LdsForOnce || ((Was ^ Is) & 2))
    return Known != LdsNeverWritten && Known != LdsUndefined;
  const unsigned Age = (Is / 4 + Round - Was / 4) % Round;
  if (Was & 1 ? Age > 0 : Age > MostBarriers && !(Is & 2))
    return false;
  Known = Stored + 1;
  return true;
}

/// The bytes that hold nothing defined, of 16 at most.
uint32_t LdsChecker::missingBytes(uint8_t *Known, unsigned Bytes) const {
  uint32_t Missing = 0;
  for (unsigned K = 0; K < Bytes; ++K)
    Missing |= uint32_t(!isThere(Known[K])) << K;
  return Missing;
}

/// What an access takes along matters where it is used: beside what has been
/// written, in a dword of which a part has, or stored without being defined.
bool LdsChecker::isPadding(uint32_t Address, unsigned Bytes) const {
  const uint32_t Dword = Address & ~3u;
  for (unsigned K = 0; K < Bytes; ++K)
    if (WG.Written[Address + K] != LdsNeverWritten)
      return true;
  return Bytes < 4 && Dword + 4 <= WG.Written.size() &&
         std::any_of(
             &WG.Written[Dword], &WG.Written[Dword] + 4,
             [](uint8_t K) {
               return K != LdsNeverWritten && K != LdsUndefined;
             });
}

/// Compilers load early what only one side of a condition needs, and then drop
/// it. Single bytes that nobody has written are reported at once, since a store
/// of them would pass as a copy of padding, and so are loads that give a lane
/// what another one has asked for.
static bool isFollowed(const Inst *I, unsigned Bytes) {
  return Bytes >= 4 && !I->Record->Facts.Memory.TransposedBits;
}

bool LdsChecker::access(const Inst *I, uint32_t Address, unsigned Bytes,
                        unsigned Lane, MemoryAccess Access) {
  auto Fault = [&](uint32_t Where, const std::string &Text) {
    return faultCheck(W, "memory", I, int(Lane),
                      std::string("LDS ") + verbOf(Access) + " of " +
                          std::to_string(Bytes) + " bytes at " +
                          std::to_string(Where) + " of " +
                          std::to_string(W.WG->LdsSize) + ": " + Text);
  };
  // In the mode that HSA sets, hardware performs them all the same.
  const unsigned Align = std::min<unsigned>(I->ElementBytes, 4);
  if (L.alignment() && (Address & (Align - 1)))
    return Fault(Address,
                 "the address is not aligned to " + std::to_string(Align));
  if (L.memory()) {
    uint8_t *Known = &WG.Written[Address];
    if (Access != MemoryAccess::Store) {
      Missing = missingBytes(Known, Bytes);
      Used = Missing && Known[__builtin_ctz(Missing)] >= LdsForOnce;
      Fresh = Missing && (Used || !isPadding(Address, Bytes));
      SoFar = Fresh && !Used && WG.Barriers.othersRun(W.Index);
      const bool Followed = L.registers() && Access == MemoryAccess::Load &&
                            !(I->Flags & FlagLds) &&
                            (Used || !Fresh || isFollowed(I, Bytes));
      if (Missing && !Followed)
        return Fault(Address + uint32_t(__builtin_ctz(Missing)),
                     std::string(Used ? LdsUsedText
                                      : "the memory was never written by this "
                                        "workgroup") +
                         (SoFar ? " so far; if another wave is to write it, a "
                                  "barrier between the two is missing"
                                : ""));
    }
    if (Access != MemoryAccess::Load)
      std::memset(Known, Stored, Bytes);
  }
  return true;
}

bool LdsChecker::isPlain(const LdsPattern &P, MemoryAccess Access) {
  if (L.alignment())
    return false;
  if (!L.memory())
    return true;
  // Bytes side by side mostly hold the same.
  uint8_t Before = LdsDefined, After = LdsDefined;
  uint32_t Same = Before * 0x01010101u;
  uint8_t *Written = WG.Written.data();
  for (const LdsRun &R : P.runs()) {
    uint8_t *Known = Written + R.Address;
    if (Access == MemoryAccess::Store) {
      std::memset(Known, Stored, R.Bytes);
      continue;
    }
    // Lanes that are not side by side mostly load a dword each.
    uint32_t Word;
    if (R.Bytes == 4 && After == Before &&
        (std::memcpy(&Word, Known, 4), Word == Same))
      continue;
    for (uint8_t *End = Known + R.Bytes; Known != End;) {
      if (End - Known >= 4 && (std::memcpy(&Word, Known, 4), Word == Same)) {
        if (After != Before)
          std::memset(Known, After, 4);
        Known += 4;
        continue;
      }
      if (*Known != Before) {
        Before = *Known;
        Same = Before * 0x01010101u;
        if (!isThere(*Known))
          return false;
        After = Access == MemoryAccess::Atomic ? Stored : *Known;
      }
      *Known++ = After;
    }
  }
  return true;
}

bool GlobalChecker::problemFault(const Inst *I, const Effects &E, int Lane,
                                 unsigned Bytes, const ShadowProblem &P,
                                 const BufferShadow &S) {
  std::string Text = S.describe(verbOf(E.Access), Bytes, P.Address) + ": ";
  switch (P.What) {
  case ShadowProblem::None:
    return true;
  case ShadowProblem::NeverWritten:
    Text += "the memory was never written";
    break;
  case ShadowProblem::ReadOnly:
    Text += S.ReadOnly ? "the buffer is read-only to kernels"
                       : "this part of it is read-only to kernels";
    break;
  }
  return faultCheck(W, "memory", I, Lane, Text);
}

bool GlobalChecker::partlyWritten(const Inst *I, const Effects &E,
                                  BufferShadow &Shadow, uint64_t Address,
                                  uint64_t Bytes, int Lane, unsigned LaneBytes,
                                  const ShadowProblem &First) {
  ShadowProblem P = First;
  const unsigned FirstLane = Lane < 0 ? 0 : unsigned(Lane);
  for (uint64_t At = 0; At < Bytes; At += LaneBytes) {
    const unsigned ThisLane = FirstLane + unsigned(At / LaneBytes);
    uint32_t Missing = 0;
    for (unsigned K = 0; K < LaneBytes; ++K)
      Missing |= uint32_t(!Shadow.written(Address + At + K)) << K;
    if (!Missing)
      continue;
    P.Address = Address + At + uint64_t(__builtin_ctz(Missing));
    // A byte or two of a dword of which a part has been written are padding.
    const bool Whole = Missing == (1ull << LaneBytes) - 1;
    const uint64_t Dword = (Address + At) & ~3ull;
    bool Beside = false;
    for (unsigned K = 0; Whole && LaneBytes < 4 && K < 4; ++K)
      Beside |= Dword >= Shadow.begin() &&
                Dword + K < Shadow.begin() + Shadow.bytes() &&
                Shadow.written(Dword + K);
    if (Whole && !Beside)
      return problemFault(I, E, int(ThisLane), LaneBytes, P, Shadow);
    Registers.loadedMissing(ThisLane, Missing, MemorySpace::Global, P.Address);
  }
  return true;
}

void GlobalChecker::noteScalarPadding(const BufferShadow &Shadow,
                                      uint64_t Address, unsigned Bytes) {
  uint64_t First = 0;
  if (Bytes % 4 || !Shadow.countUnwritten(Address, Bytes / 4, 4, First))
    return;
  uint32_t Missing = 0;
  for (unsigned K = 0; K < Bytes / 4; ++K) {
    bool Any = false;
    for (unsigned Byte = 0; Byte < 4; ++Byte)
      Any |= Shadow.written(Address + 4 * K + Byte);
    Missing |= uint32_t(!Any) << K;
  }
  Registers.scalarLoadedMissing(Missing, Address + 4 * First);
}

void GlobalChecker::takeBack(const Inst *I, const Effects &E, const uint64_t *A,
                             uint64_t Lanes) {
  for (unsigned Lane : LaneMask(Lanes)) {
    const uint32_t Missing = Registers.missingBytes(I, E, 1, Lane);
    const Region *R = findRegion(W, A[Lane], 1);
    auto *Shadow = static_cast<BufferShadow *>(R ? R->Notes : nullptr);
    for (unsigned K = 0; Shadow && K < 16; ++K)
      if (Missing >> K & 1)
        Shadow->mark(A[Lane] + K, 1, false);
  }
}

/// Before a store. False: the launch has been stopped.
bool GlobalChecker::keepBytes(BufferShadow *Shadow, uint64_t Address,
                              uint64_t Bytes) {
  if (!Shadow)
    L.Journal->giveUp();
  else if (!Shadow->ReadOnly)
    Shadow->keep(Address, Bytes, *L.Journal);
  // What another order stores has to be taken back.
  return !L.IsInterleaved || L.Journal->isWhole() || stopLaunch(W);
}

bool GlobalChecker::noteStores(const Effects &E, const uint64_t *A,
                               uint64_t Mask, unsigned Bytes) {
  if (E.Access == MemoryAccess::Load)
    return true;
  for (unsigned Lane : LaneMask(Mask)) {
    const Region *R = findRegion(W, A[Lane], Bytes);
    auto *Shadow = static_cast<BufferShadow *>(R ? R->Notes : nullptr);
    if (L.Journal && !keepBytes(Shadow, A[Lane], Bytes))
      return false;
    if (Shadow)
      Shadow->access(A[Lane], Bytes, /*Reads=*/false, /*Writes=*/true,
                     /*Scalar=*/false);
  }
  return true;
}

bool GlobalChecker::accessGlobal(const Inst *I, const Effects &E,
                                 const Region &R, uint64_t Address,
                                 uint64_t Bytes, int Lane, unsigned LaneBytes,
                                 const uint8_t *Copied) {
  // All lanes of a wave that waits for a flag look at one place.
  if (Address == AddressSeen && Bytes == BytesSeen)
    return true;
  BytesSeen = 0;
  bool Good = true;
  auto *Shadow = static_cast<BufferShadow *>(R.Notes);
  if (L.Journal && E.Access != MemoryAccess::Load &&
      !keepBytes(Shadow, Address, Bytes))
    return false;
  if (!Shadow)
    return true;
  if (L.memory()) {
    const ShadowProblem P = Shadow->access(
        Address, Bytes, E.Access != MemoryAccess::Store,
        E.Access != MemoryAccess::Load, E.Space == MemorySpace::Scalar);
    if (__builtin_expect(P.What != ShadowProblem::None, 0)) {
      Good = false;
      if (P.What == ShadowProblem::NeverWritten && L.registers() &&
          E.Access == MemoryAccess::Load && E.Space != MemorySpace::Scalar &&
          !E.ToLds) {
        if (!partlyWritten(I, E, *Shadow, Address, Bytes, Lane, LaneBytes, P))
          return false;
      } else {
        // Of lanes side by side it is the one whose bytes these are.
        if (Lane >= 0)
          Lane += int((P.Address - Address) / LaneBytes);
        return problemFault(I, E, Lane, LaneBytes, P, *Shadow);
      }
    } else if (E.Space == MemorySpace::Scalar && L.registers()) {
      noteScalarPadding(*Shadow, Address, unsigned(Bytes));
    }
  }
  if (!L.races())
    return true;
  AccessRange Range;
  Range.I = I;
  Range.E = &E;
  Range.Access = E.Access;
  Range.Address = Address;
  Range.Bytes = Bytes;
  Range.LaneBytes = LaneBytes;
  Range.Lane = Lane;
  Range.Shadow = Shadow;
  Range.Copied = Copied;
  if (E.Access == MemoryAccess::Store && !Copied)
    Range.Data = storedRows(I, E);
  if (!Races.access(Range))
    return false;
  if (Good && E.Access != MemoryAccess::Store && !Races.hasReported()) {
    AddressSeen = Address;
    BytesSeen = Bytes;
  }
  return true;
}

void GlobalChecker::countGlobal(const Effects &E, const Region &R,
                                const uint64_t *A, uint64_t Mask,
                                unsigned Bytes, bool Consecutive) {
  if (Counts.Buffers.size() <= R.Index)
    Counts.Buffers.resize(R.Index + 1);
  BufferCounts &B = Counts.Buffers[R.Index];
  uint64_t All = uint64_t(__builtin_popcountll(Mask)) * Bytes;
  ++B.Accesses;
  if (E.Access != MemoryAccess::Store)
    B.BytesRead += All;
  if (E.Access != MemoryAccess::Load)
    B.BytesWritten += All;
  if (Consecutive) {
    uint64_t Begin = A[__builtin_ctzll(Mask)], Last = Begin + All - 1;
    B.Lines64 += Last / 64 - Begin / 64 + 1;
    B.Lines128 += Last / 128 - Begin / 128 + 1;
    return;
  }
  uint64_t Lines[128];
  unsigned Count = 0, Count128 = 0;
  auto Note = [&](uint64_t Line) {
    bool Pair = false;
    for (unsigned K = Count; K-- > 0;) {
      if (Lines[K] == Line)
        return;
      Pair |= Lines[K] == (Line ^ 1);
    }
    Lines[Count++] = Line;
    Count128 += Pair ? 0 : 1;
  };
  for (unsigned L : LaneMask(Mask)) {
    uint64_t Begin = A[L], Last = Begin + Bytes - 1;
    Note(Begin / 64);
    if (Last / 64 != Begin / 64)
      Note(Last / 64);
  }
  B.Lines64 += Count;
  B.Lines128 += Count128;
}

bool GlobalChecker::global(const Inst *I, const Effects &E, const uint64_t *A,
                           uint64_t Mask, unsigned Bytes) {
  if (!Mask)
    return true;
  if (!globalLanes(I, E, A, Mask, Bytes))
    return false;
  if (E.Access == MemoryAccess::Store && L.registers() && L.memory())
    if (const uint64_t Lanes = Mask & Registers.incompleteStored(E))
      takeBack(I, E, A, Lanes);
  return true;
}

bool GlobalChecker::globalLanes(const Inst *I, const Effects &E,
                                const uint64_t *A, uint64_t Mask,
                                unsigned Bytes) {
  const unsigned Align = std::min<unsigned>(I->ElementBytes, 4);
  uint64_t Low = ~0ull, High = 0, Misaligned = 0;
  const unsigned First = unsigned(__builtin_ctzll(Mask));
  bool Consecutive = (Mask >> First & ((Mask >> First) + 1)) == 0;
  for (unsigned Lane : LaneMask(Mask)) {
    uint64_t X = A[Lane];
    Low = std::min(Low, X);
    High = std::max(High, X);
    Misaligned |= X;
    Consecutive &= X == A[First] + uint64_t(Lane - First) * Bytes;
  }
  if (L.alignment() && (Misaligned & (Align - 1)))
    for (unsigned L : LaneMask(Mask)) {
      int Lane = int(L);
      if (A[Lane] & (Align - 1))
        return faultCheck(W, "alignment", I, Lane,
                          std::to_string(Bytes) + " bytes at " + hex(A[Lane]) +
                              ": the address is not aligned to " +
                              std::to_string(Align));
    }
  if (inRegion(W.ScratchRegion, Low, High + Bytes - Low))
    return true; // Scratch through a buffer descriptor.
  if (L.registers() && E.Access != MemoryAccess::Load &&
      !Registers.checkStored(I, E, Mask))
    return false;
  const Region *R = &W.LastRegion;
  if (!inRegion(*R, Low, High + Bytes - Low))
    R = nullptr;
  if (R && L.counts())
    countGlobal(E, *R, A, Mask, Bytes, Consecutive);
  for (uint64_t Left = Mask; Left;) {
    const unsigned Lane = unsigned(__builtin_ctzll(Left));
    const Region *Mine = R ? R : findRegion(W, A[Lane], Bytes);
    if (!Mine)
      return true; // An atomic that has already been reported.
    // What neighbours access side by side is one access.
    unsigned End = Lane + 1;
    while (End < W.N && Left >> End & 1 &&
           A[End] == A[Lane] + uint64_t(End - Lane) * Bytes &&
           (R || inRegion(*Mine, A[End], Bytes)))
      ++End;
    const uint64_t Run = Left & (~0ull >> (64 - End));
    if (!R && L.counts())
      countGlobal(E, *Mine, A, Run, Bytes, true);
    if (!accessGlobal(I, E, *Mine, A[Lane], uint64_t(End - Lane) * Bytes,
                      int(Lane), Bytes))
      return false;
    Left ^= Run;
  }
  return Consecutive || E.Access != MemoryAccess::Store || !L.races() ||
         Races.collisions(I, E, A, Mask, Bytes, storedRows(I, E));
}

const uint32_t *GlobalChecker::storedRows(const Inst *I,
                                          const Effects &E) const {
  return E.FromLds ? W.T->Out : W.row(I->Src[1].Reg);
}

bool GlobalChecker::block(const Inst *I, const Effects &E, uint64_t Address,
                          uint64_t Bytes, const uint8_t *Stored) {
  const Region *R = findRegion(W, Address, Bytes);
  if (!R)
    return true;
  if (L.counts())
    countGlobal(E, *R, &Address, 1, unsigned(Bytes), /*Consecutive=*/true);
  return accessGlobal(I, E, *R, Address, Bytes, -1, unsigned(Bytes), Stored);
}

bool GlobalChecker::scalarLoad(const Inst *I, const Effects &E,
                               uint64_t Address, unsigned Bytes,
                               uint64_t Asked) {
  const Region *R = findRegion(W, Address, Bytes);
  if (!R)
    return true;
  const uint64_t Align = I->ElementBytes;
  if (L.memory() && (Asked & (Align - 1)))
    return faultCheck(
        W, "memory", I, -1,
        "scalar load from " + hex(Asked) + ": the address is not aligned to " +
            std::to_string(Align) + ", and hardware ignores the bits below");
  if (L.counts())
    countGlobal(E, *R, &Address, 1, Bytes, true);
  return accessGlobal(I, E, *R, Address, Bytes, -1, Bytes);
}
