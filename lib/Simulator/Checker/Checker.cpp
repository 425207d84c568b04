//===- Checker.cpp - The checks of a launch -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Set-up, the order of the checks of an instruction, and global and scratch
// memory; registers, waits, LDS and limits are in files of their own.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"

#include "../Launch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace lnbwd::sim;

static uint32_t nextEpoch() {
  static std::atomic<uint32_t> Last{0};
  return ++Last;
}

LaunchChecker::LaunchChecker(const Launch &L, const ProgramEffects &Effects,
                             unsigned Checks)
    : TheEffects(Effects), Checks(Checks), Epoch(nextEpoch()),
      Order(L.NumWorkgroups, Effects.Synchronises),
      Generation(L.Chip->Generation), LdsBanks(L.Chip->LdsBanks) {
  allocatedRegisters(*L.Chip, *L.TheKernel, VgprLimit, AgprLimit, SgprLimit);
}

WorkgroupChecker::WorkgroupChecker(LaunchChecker &L, uint32_t LdsBytes)
    : L(L), Granule(L.TheEffects.LdsGranule), Written(LdsBytes),
      Cells((LdsBytes >> Granule) + 1) {}

void WorkgroupChecker::start(WorkgroupMark Number) {
  Me = Number;
  Seen.clear();
  Early.clear();
  llvm::fill(Written, 0);
  llvm::fill(Cells, LdsCell());
}

WaveChecker::WaveChecker(LaunchChecker &L, WorkgroupChecker &WG, Wave &W)
    : L(L), WG(WG), W(W) {}

void WaveChecker::start(unsigned ScalarsSet, unsigned VectorsSet) {
  llvm::fill(Defined, 0);
  for (unsigned K = 0; K < VectorsSet; ++K)
    Defined[K] = ~0ull;
  llvm::fill(Why, Source());
  llvm::fill(ScalarWhy, Source());
  for (unsigned K = 0; K < NumScalarSlots; ++K)
    ScalarIsDefined[K] = K < ScalarsSet || K >= SlotExec;
  ScalarIsDefined[SlotSCC] = false;
  ScalarIsDefined[SlotM0] = false;
  if (L.Generation >= 12)
    ScalarIsDefined[SlotTTMP0 + 7] = ScalarIsDefined[SlotTTMP0 + 9] = true;
  ScratchDefined.assign(W.ScratchSize / 4 + 1, 0);
  for (EventQueue &Q : Queues)
    Q.clear();
  Outstanding = OutstandingLds = 0;
  std::memset(PendingVector, 0, sizeof(PendingVector));
  std::memset(PendingScalar, 0, sizeof(PendingScalar));
  Signals = Passed = 0;
  TakenFrom.clear();
}

bool WaveChecker::limitFault(const Inst *I, const Effects &E) {
  auto Text = [](const char *Kind, unsigned Used, unsigned Limit) {
    return std::string(Kind) + std::to_string(Used - 1) +
           " is used, but the kernel descriptor allocates only " +
           std::to_string(Limit);
  };
  if (E.MaxVgpr > L.VgprLimit)
    return faultCheck(W, I, -1, Text("v", E.MaxVgpr, L.VgprLimit));
  if (E.MaxAgpr > L.AgprLimit)
    return faultCheck(W, I, -1, Text("a", E.MaxAgpr, L.AgprLimit));
  return faultCheck(W, I, -1, Text("s", E.MaxSgpr, L.SgprLimit));
}

bool WaveChecker::before(const Inst *I, const Effects &E) {
  Current = &E;
  if (__builtin_expect(L.TheEffects.Covered != nullptr, 0))
    L.TheEffects.Covered->note(I);
  const uint64_t Exec = W.exec();
  if (L.counts() && I->Class != InstClass::Uncounted) {
    const unsigned K = unsigned(E.Counted);
    ++Counts.Issued[K];
    if (K <= unsigned(CountClass::CrossLane) ||
        K >= unsigned(CountClass::GlobalLoad)) {
      Counts.Lanes[K] += unsigned(__builtin_popcountll(Exec));
      Counts.PossibleLanes[K] += W.N;
      Counts.PartialInstructions += Exec != W.FullMask ? 1 : 0;
    }
  }
  if (L.limits() && (E.MaxVgpr > L.VgprLimit || E.MaxAgpr > L.AgprLimit ||
                     E.MaxSgpr > L.SgprLimit))
    return limitFault(I, E);
  if (Outstanding) {
    if (L.waits() && !checkPending(I, E))
      return false;
    if (E.Waits != WaitKind::None)
      waitInstruction(I, E);
  }
  if (L.registers()) {
    if (!checkDefined(I, E, Exec))
      return false;
    if (E.Access == MemoryAccess::None && !propagate(I, E, Exec))
      return false;
  }
  if (E.Barrier != BarrierKind::None) {
    if (E.Barrier != BarrierKind::Wait) {
      barrierSignalled();
      if (L.races())
        for (auto &Other : W.WG->Waves)
          if (Other->Status == WaveStatus::Ended &&
              Other->Check->Signals < Signals)
            return faultCheck(W, I, -1,
                              "wave " + std::to_string(Other->Index) +
                                  " has ended without reaching this barrier");
    }
    if (E.Barrier != BarrierKind::Signal)
      Passed = Signals;
  }
  LoadedScratch = false;
  LdsTouched.clear();
  Stored.clear();
  return true;
}

/// The check of an instruction comes before its access, and another workgroup,
/// in another host thread, may do both in between: what the access has found
/// handed on is only certain to be known once it is over.
void WaveChecker::takeAgain(const Effects &E) {
  BufferShadow::Access A = accessOf(E);
  A.CheckWritten = false; // That has been done.
  for (const GlobalPiece &P : TakenFrom)
    if (E.Access == MemoryAccess::Atomic)
      L.Order.atomic(P.Address, WG.Me, WG.Seen, true);
    else
      P.Shadow->access(P.Address, P.Bytes, A);
  TakenFrom.clear();
}

void WaveChecker::after(const Effects &E, const Inst *I) {
  if (E.Access != MemoryAccess::None) {
    if (__builtin_expect(!TakenFrom.empty(), 0))
      takeAgain(E);
    if (L.registers()) {
      const uint64_t Exec = W.exec();
      RegisterSpan S = E.VectorWrite[0];
      for (unsigned K = 0; K < S.Count; ++K) {
        uint64_t Good = LoadedScratch && K < 4 ? ScratchLoaded[K] : ~0ull;
        uint16_t Register = uint16_t(S.First + K);
        define({Register, 1}, Exec, Good, {I, Register, false, true});
      }
      for (const RegisterSpan &To : E.ScalarWrite)
        defineScalar(To, true, I, E);
    }
    issue(I, E);
  } else if (I->Class == InstClass::LDS || E.CacheWrite || E.CacheLoad) {
    issue(I, E);
  }
}

bool WaveChecker::ended(const Inst *I) {
  if (!L.races())
    return true;
  for (auto &Other : W.WG->Waves)
    if (Other->Check->Signals > Signals)
      return faultCheck(W, I, -1,
                        "the wave ends without reaching the barrier at which "
                        "wave " +
                            std::to_string(Other->Index) + " waits");
  return true;
}

static std::string workgroupName(const Launch &L, WorkgroupMark Mark) {
  if (Mark == BufferShadow::Many)
    return "other workgroups have";
  uint64_t N = Mark - 1;
  return "workgroup (" + std::to_string(N % L.Grid[0]) + ", " +
         std::to_string(N / L.Grid[0] % L.Grid[1]) + ", " +
         std::to_string(N / L.Grid[0] / L.Grid[1]) + ") has";
}

static std::string hex(uint64_t X) {
  char Text[32];
  std::snprintf(Text, sizeof(Text), "0x%llx", (unsigned long long)X);
  return Text;
}

bool WaveChecker::problemFault(const Inst *I, int Lane, unsigned Bytes,
                               const ShadowProblem &P, const BufferShadow &S) {
  const MemoryAccess Access = Current->Access;
  const char *Verb = Access == MemoryAccess::Load    ? "read"
                     : Access == MemoryAccess::Store ? "write"
                                                     : "atomic";
  std::string Text = std::string(Verb) + " of " + std::to_string(Bytes) +
                     " bytes at " + hex(P.Address) + ", byte " +
                     std::to_string(P.Address - S.begin()) + " of " +
                     (S.Name.empty() ? "the buffer at " + hex(S.begin())
                                     : "the buffer '" + S.Name + "'") +
                     " of " + std::to_string(S.bytes()) + " bytes: ";
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
  case ShadowProblem::Race:
    Text += "a race: " + workgroupName(*W.L, P.Other) +
            (P.OtherWrote ? " written" : " read") + " it in the same launch, ";
    Text += P.NotWaited ? std::string("and the atomic that orders the two was "
                                      "issued before the store had been waited "
                                      "for: a wait for ") +
                              counterName(storeCounter(), L.Generation) +
                              " of 0 is missing there"
                        : "and no atomic orders the two";
    break;
  }
  return faultCheck(W, I, Lane, Text);
}

BufferShadow::Access WaveChecker::accessOf(const Effects &E) const {
  BufferShadow::Access A;
  A.Kind =
      E.Access == MemoryAccess::Atomic
          ? (E.CompareSwap ? GlobalAccess::CompareSwap : GlobalAccess::Atomic)
      : E.Access == MemoryAccess::Store
          ? GlobalAccess::Write
          : (E.Coherent ? GlobalAccess::CoherentRead : GlobalAccess::Read);
  A.Me = WG.Me;
  A.Epoch = L.Epoch;
  A.Granule = L.TheEffects.GlobalGranule;
  A.CheckWritten = L.memory();
  A.CheckRaces = L.races();
  A.PartlyWritten = E.Space == MemorySpace::Scalar;
  A.Order = &L.Order;
  A.Seen = &WG.Seen;
  return A;
}

bool WaveChecker::accessGlobal(const Inst *I, const Effects &E, const Region &R,
                               uint64_t Address, uint64_t Bytes, int Lane,
                               unsigned LaneBytes) {
  if (!R.Shadow)
    return true;
  const BufferShadow::Access A = accessOf(E);
  if (E.Access == MemoryAccess::Store && L.races() && L.Order.tracks())
    Stored.push_back({R.Shadow, Address, Bytes});
  if (E.Access == MemoryAccess::Atomic && L.Order.tracks())
    L.Order.atomic(Address, WG.Me, WG.Seen, E.Returns);
  if ((E.Returns || A.Kind == GlobalAccess::CoherentRead) && L.Order.tracks())
    TakenFrom.push_back({R.Shadow, Address, Bytes});
  ShadowProblem P = R.Shadow->access(Address, Bytes, A);
  if (__builtin_expect(P.What == ShadowProblem::None, 1))
    return true;
  if (Lane < 0 && Bytes > LaneBytes && LaneBytes) {
    // A whole wave's consecutive access: the lane is the address' place in it.
    Lane = int((P.Address - Address) / LaneBytes);
  }
  return problemFault(I, Lane, LaneBytes, P, *R.Shadow);
}

void WaveChecker::countGlobal(const Effects &E, const Region &R,
                              const uint64_t *A, uint64_t Mask, unsigned Bytes,
                              bool Consecutive) {
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

bool WaveChecker::global(const Inst *I, const uint64_t *A, uint64_t Mask,
                         unsigned Bytes) {
  const Effects &E = *Current;
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
      !checkStored(I, E, Mask))
    return false;
  if (E.Access == MemoryAccess::Atomic && L.races() && L.Order.tracks())
    releaseStores(Low, High + Bytes);
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
  return true;
}

bool WaveChecker::scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
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
    countGlobal(*Current, *R, &Address, 1, Bytes, true);
  return accessGlobal(I, *Current, *R, Address, Bytes, -1, Bytes);
}

bool WaveChecker::scratch(const Inst *I, const uint64_t *A, uint64_t Mask,
                          unsigned Bytes) {
  const Effects &E = *Current;
  const unsigned Align = I->ElementBytes;
  const unsigned Dwords = std::max(1u, unsigned(I->Elements));
  if (E.Access == MemoryAccess::Load && !LoadedScratch) {
    LoadedScratch = true;
    llvm::fill(ScratchLoaded, 0);
  }
  for (uint64_t Left = Mask; Left; Left &= Left - 1) {
    unsigned Lane = unsigned(__builtin_ctzll(Left));
    uint64_t Bit = 1ull << Lane;
    if (L.memory() && (A[Lane] & (Align - 1)))
      return faultCheck(W, I, int(Lane),
                        "scratch access of " + std::to_string(Bytes) +
                            " bytes at " + std::to_string(A[Lane]) +
                            " is not aligned to " + std::to_string(Align));
    for (unsigned K = 0; K < Dwords && K < 4; ++K) {
      size_t Dword = size_t(A[Lane] / 4 + K);
      if (Dword >= ScratchDefined.size())
        break;
      uint64_t &D = ScratchDefined[Dword];
      if (E.Access == MemoryAccess::Load)
        ScratchLoaded[K] |= D & Bit;
      else if (!L.registers() || !E.VectorRead[1].Count ||
               (Defined[E.VectorRead[1].First + K] & Bit))
        D |= Bit;
      else if (I->ElementBytes == 4)
        D &= ~Bit;
    }
  }
  return true;
}

bool WaveChecker::flat(const Inst *I, uint64_t Address, unsigned Lane,
                       unsigned Bytes) {
  uint64_t A[64];
  A[Lane] = uint32_t(Address);
  if (Address >> 32 == PrivateAperture >> 32)
    return scratch(I, A, 1ull << Lane, Bytes);
  if (Current->Access == MemoryAccess::Load && LoadedScratch)
    for (uint64_t &D : ScratchLoaded)
      D |= 1ull << Lane;
  if (Address >> 32 == SharedAperture >> 32)
    return ldsRange(I, uint32_t(Address), Bytes, Lane, Current->Access);
  A[Lane] = Address;
  return global(I, A, 1ull << Lane, Bytes);
}
