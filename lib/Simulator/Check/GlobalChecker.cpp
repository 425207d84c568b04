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

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

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
  return faultCheck(W, I, Lane, Text);
}

bool GlobalChecker::accessGlobal(const Inst *I, const Effects &E,
                                 const Region &R, uint64_t Address,
                                 uint64_t Bytes, int Lane, unsigned LaneBytes) {
  auto *Shadow = static_cast<BufferShadow *>(R.Notes);
  if (!Shadow)
    return true;
  if (L.memory()) {
    const ShadowProblem P = Shadow->access(
        Address, Bytes, E.Access != MemoryAccess::Store,
        E.Access != MemoryAccess::Load, E.Space == MemorySpace::Scalar);
    if (__builtin_expect(P.What != ShadowProblem::None, 0)) {
      if (Lane < 0 && Bytes > LaneBytes && LaneBytes) {
        // A whole wave's consecutive access: the lane is the address' place in
        // it.
        Lane = int((P.Address - Address) / LaneBytes);
      }
      return problemFault(I, E, Lane, LaneBytes, P, *Shadow);
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
  return Races.access(Range);
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
  for (uint64_t Left = Mask; Left; Left &= Left - 1) {
    uint64_t Begin = A[__builtin_ctzll(Left)], Last = Begin + Bytes - 1;
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
  const unsigned Align = std::min<unsigned>(I->ElementBytes, 4);
  uint64_t Low = ~0ull, High = 0, Misaligned = 0;
  const unsigned First = unsigned(__builtin_ctzll(Mask));
  bool Consecutive = (Mask >> First & ((Mask >> First) + 1)) == 0;
  for (uint64_t Left = Mask; Left; Left &= Left - 1) {
    unsigned Lane = unsigned(__builtin_ctzll(Left));
    uint64_t X = A[Lane];
    Low = std::min(Low, X);
    High = std::max(High, X);
    Misaligned |= X;
    Consecutive &= X == A[First] + uint64_t(Lane - First) * Bytes;
  }
  if (L.alignment() && (Misaligned & (Align - 1)))
    for (uint64_t Left = Mask; Left; Left &= Left - 1) {
      int Lane = __builtin_ctzll(Left);
      if (A[Lane] & (Align - 1))
        return faultCheck(W, I, Lane,
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
  if (R && Consecutive)
    return accessGlobal(I, E, *R, Low,
                        uint64_t(__builtin_popcountll(Mask)) * Bytes,
                        First ? int(First) : -1, Bytes);
  for (uint64_t Left = Mask; Left; Left &= Left - 1) {
    unsigned Lane = unsigned(__builtin_ctzll(Left));
    const Region *Mine = R ? R : findRegion(W, A[Lane], Bytes);
    if (!Mine)
      return true; // An atomic that has already been reported.
    if (!R && L.counts())
      countGlobal(E, *Mine, A, 1ull << Lane, Bytes, true);
    if (!accessGlobal(I, E, *Mine, A[Lane], Bytes, int(Lane), Bytes))
      return false;
  }
  return E.Access != MemoryAccess::Store || !L.races() ||
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
        W, I, -1,
        "scalar load from " + hex(Asked) + ": the address is not aligned to " +
            std::to_string(Align) + ", and hardware ignores the bits below");
  if (L.counts())
    countGlobal(E, *R, &Address, 1, Bytes, true);
  return accessGlobal(I, E, *R, Address, Bytes, -1, Bytes);
}
