//===- WaveChecker.cpp - The checks of a wave -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the checks of an instruction.
//
//===----------------------------------------------------------------------===//

#include "Check/WaveChecker.h"

#include "Core/Execution.h"
#include "Core/LaneMask.h"
#include "Core/Launch.h"

#include <string>

using namespace lnbwd::sim;

WaveChecker::WaveChecker(WorkgroupChecks &WG, Wave &W)
    : L(WG.L), WG(WG), W(W), Registers(L, W), Lds(WG, W), Waits(WG, W),
      Global(WG, W, Registers, Waits, Counts), Hazards(L, W), Borders(W) {}

WaveChecker::~WaveChecker() {
  if (!L.counts())
    return;
  std::lock_guard<std::mutex> Guard(L.Lock);
  L.Counts.add(Counts);
}

void WaveChecker::started(unsigned ScalarsSet, unsigned VectorsSet) {
  Registers.start(ScalarsSet, VectorsSet);
  Waits.start();
  Global.start();
  Hazards.start();
  Borders.start(L.memory() ? W.L->Symbols->dataSymbols()
                           : llvm::ArrayRef<DataSymbol>());
  Lds.Passed = 0;
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

/// Those who wait for a wave that has ended wait for ever.
bool WaveChecker::barrier(const Inst *I, const Effects &E) {
  if (E.Barrier != BarrierKind::Wait) {
    Waits.barrierSignalled();
    if (L.races())
      for (auto &Other : W.WG->Waves)
        if (Other->Status == WaveStatus::Ended &&
            WG.Signals[Other->Index] < WG.Signals[W.Index])
          return faultCheck(W, I, -1,
                            "wave " + std::to_string(Other->Index) +
                                " has ended without reaching this barrier");
  }
  if (E.Barrier != BarrierKind::Signal)
    Lds.Passed = WG.Signals[W.Index];
  return true;
}

bool WaveChecker::before(const Inst *I) {
  const Effects &E = L.TheEffects.of(I);
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
  if (Waits.anything()) {
    if (L.waits() && !Waits.checkPending(I, E))
      return false;
    if (E.Waits != WaitKind::None)
      Waits.waitInstruction(I, E);
  }
  if (L.hazards() && !Hazards.check(I, E))
    return false;
  if (L.registers()) {
    if (!Registers.checkDefined(I, E, Exec))
      return false;
    if (E.Access == MemoryAccess::None && !Registers.propagate(I, E, Exec))
      return false;
  }
  if (E.Barrier != BarrierKind::None && !barrier(I, E))
    return false;
  Registers.startAccess();
  LdsPart = 0;
  Lds.Touched.clear();
  Global.Stored.clear();
  return true;
}

void WaveChecker::after(const Inst *I) {
  const Effects &E = *Current;
  if (__builtin_expect(Borders.anything(), 0))
    Borders.after(I, E, W.exec());
  if (E.Access != MemoryAccess::None) {
    Global.accessed(E);
    if (L.registers())
      Registers.loaded(I, E);
    Waits.issue(I, E, Lds.Touched, Global.Stored);
  } else if (I->Class == InstClass::LDS || E.CacheWrite || E.CacheLoad) {
    Waits.issue(I, E, Lds.Touched, Global.Stored);
  }
}

void WaveChecker::ended(const Inst *I) {
  if (!L.races())
    return;
  for (auto &Other : W.WG->Waves)
    if (WG.Signals[Other->Index] > WG.Signals[W.Index]) {
      faultCheck(W, I, -1,
                 "the wave ends without reaching the barrier at which wave " +
                     std::to_string(Other->Index) + " waits");
      return;
    }
}

bool WaveChecker::globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                               unsigned Bytes) {
  if (__builtin_expect(Borders.anything(), 0) &&
      !I->Record->Facts.Memory.Descriptor &&
      !Borders.check(I, *Current, A, Mask, Bytes))
    return false;
  return Global.global(I, *Current, A, Mask, Bytes);
}

bool WaveChecker::scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                             uint64_t Asked) {
  if (__builtin_expect(Borders.anything(), 0) &&
      !I->Record->Facts.Memory.Descriptor &&
      !Borders.checkScalar(I, *Current, Address, Bytes))
    return false;
  return Global.scalarLoad(I, *Current, Address, Bytes, Asked);
}

bool WaveChecker::scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                                unsigned Bytes) {
  return Registers.scratch(I, *Current, A, Mask, Bytes);
}

bool WaveChecker::ldsRange(const Inst *I, uint32_t Address, unsigned Bytes,
                           unsigned Lane, MemoryAccess Access) {
  if (Waits.anyLoadToLds() && L.waits() && Access != MemoryAccess::Store &&
      !Waits.unfinishedLds(I, Address, Bytes, Lane))
    return false;
  Lds.Missing = 0;
  if (!Lds.access(I, Address, Bytes, Lane, Access))
    return false;
  if (__builtin_expect(Lds.Missing != 0, 0))
    Registers.loadedMissing(Lane, Lds.Missing << LdsPart * Bytes,
                            MemorySpace::Lds, Address);
  return true;
}

bool WaveChecker::ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                            unsigned Bytes) {
  MemoryAccess Access = Current->ToLds ? MemoryAccess::Store : Current->Access;
  // A store of something that is not defined leaves the memory not written.
  uint64_t Undefined = 0;
  if (L.registers() && Access == MemoryAccess::Store && !Current->ToLds)
    Undefined = Registers.incompleteStored(*Current);
  for (unsigned Lane : LaneMask(Mask)) {
    if (!ldsRange(I, A[Lane], Bytes, Lane, Access))
      return false;
    if (__builtin_expect((Undefined >> Lane & 1) != 0, 0) && L.memory()) {
      const uint32_t Gone =
          Registers.missingBytes(I, *Current, 1 + LdsPart, Lane);
      for (unsigned K = 0; K < Bytes; ++K)
        if (Gone >> K & 1)
          WG.Written[A[Lane] + K] = LdsUndefined;
    }
  }
  ++LdsPart;
  if (L.counts())
    Lds.count(A, Mask, Bytes, Counts);
  return true;
}

bool WaveChecker::flatAccess(const Inst *I, uint64_t Address, unsigned Lane,
                             unsigned Bytes) {
  uint64_t A[64];
  A[Lane] = uint32_t(Address);
  if (Address >> 32 == PrivateAperture >> 32)
    return Registers.scratch(I, *Current, A, 1ull << Lane, Bytes);
  if (Address >> 32 == SharedAperture >> 32)
    return ldsRange(I, uint32_t(Address), Bytes, Lane, Current->Access);
  A[Lane] = Address;
  return globalAccess(I, A, 1ull << Lane, Bytes);
}
