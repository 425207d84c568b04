//===- GlobalChecker.cpp - Accesses to global memory ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory never written, alignment, and the counts of buffers; races are
// RaceChecker's.
//
//===----------------------------------------------------------------------===//

#include "Check/GlobalChecker.h"

#include "Core/Execution.h"
#include "Core/LaneMask.h"

#include <algorithm>
#include <cstdio>
#include <string>

using namespace lnbwd::sim;

static std::string hex(uint64_t X) {
  char Text[32];
  std::snprintf(Text, sizeof(Text), "0x%llx", (unsigned long long)X);
  return Text;
}

bool GlobalChecker::problemFault(const Inst *I, const Effects &E, int Lane,
                                 unsigned Bytes, const ShadowProblem &P,
                                 const BufferShadow &S) {
  const MemoryAccess Access = E.Access;
  const char *Verb = Access == MemoryAccess::Load    ? "read"
                     : Access == MemoryAccess::Store ? "write"
                                                     : "atomic";
  std::string Text = S.describe(Verb, Bytes, P.Address) + ": ";
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
    if ((Whole && !Beside) || (I->Flags & FlagLds))
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

bool GlobalChecker::accessGlobal(const Inst *I, const Effects &E,
                                 const Region &R, uint64_t Address,
                                 uint64_t Bytes, int Lane, unsigned LaneBytes) {
  // All lanes of a wave that waits for a flag look at one place.
  if (Address == AddressSeen && Bytes == BytesSeen)
    return true;
  BytesSeen = 0;
  bool Good = true;
  auto *Shadow = static_cast<BufferShadow *>(R.Notes);
  if (L.Journal && E.Access != MemoryAccess::Load) {
    if (!Shadow)
      L.Journal->giveUp();
    else if (!Shadow->ReadOnly)
      Shadow->keep(Address, Bytes, *L.Journal);
    // What another order stores has to be taken back.
    if (L.IsInterleaved && !L.Journal->isWhole())
      return stopLaunch(W);
  }
  if (!Shadow)
    return true;
  if (L.memory()) {
    const ShadowProblem P = Shadow->access(
        Address, Bytes, E.Access != MemoryAccess::Store,
        E.Access != MemoryAccess::Load, E.Space == MemorySpace::Scalar);
    if (__builtin_expect(P.What != ShadowProblem::None, 0)) {
      Good = false;
      if (P.What == ShadowProblem::NeverWritten && L.registers() &&
          E.Access == MemoryAccess::Load && E.Space != MemorySpace::Scalar) {
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
  Range.Lane = Lane < 0 && E.Space != MemorySpace::Scalar ? 0 : Lane;
  Range.Shadow = Shadow;
  if (E.Access == MemoryAccess::Store)
    Range.Data = W.row(I->Src[1].Reg);
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
         Races.collisions(I, E, A, Mask, Bytes, W.row(I->Src[1].Reg));
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
