//===- LdsChecker.cpp - Accesses to LDS -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LDS is new for each workgroup: what no wave has written must not be read.
//
//===----------------------------------------------------------------------===//

#include "Check/LdsChecker.h"

#include "Check/Resources.h"
#include "Core/Execution.h"
#include "Core/LaneMask.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

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
          llvm::PowerOf2Ceil(L.TheEffects.MemoryInstructions.size() + 1),
          MostPatterns)) {}

const LdsPattern &LdsChecker::pattern(const Effects &E, const uint32_t *A,
                                      uint64_t Mask, unsigned Bytes,
                                      bool IsLoad) {
  // An instruction mostly asks for the same places, only further on.
  auto &Known = Patterns[E.Use.Id & (Patterns.size() - 1)];
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
                      std::string("LDS ") +
                          (Access == MemoryAccess::Load    ? "read"
                           : Access == MemoryAccess::Store ? "write"
                                                           : "atomic") +
                          " of " + std::to_string(Bytes) + " bytes at " +
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
  for (const LdsRun &R : P.runs()) {
    uint8_t *Known = &WG.Written[R.Address];
    if (Access == MemoryAccess::Store) {
      std::memset(Known, Stored, R.Bytes);
      continue;
    }
    for (uint8_t *End = Known + R.Bytes; Known != End;) {
      uint32_t Word;
      if (End - Known >= 4 &&
          (std::memcpy(&Word, Known, 4), Word == Before * 0x01010101u)) {
        std::memset(Known, After, 4);
        Known += 4;
        continue;
      }
      if (*Known != Before) {
        Before = *Known;
        if (!isThere(*Known))
          return false;
        After = Access == MemoryAccess::Atomic ? Stored : *Known;
      }
      *Known++ = After;
    }
  }
  return true;
}
