//===- LaunchChecker.cpp - The checks of a launch -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One checker for each wave, which has all checks in their order for each
// instruction.
//
//===----------------------------------------------------------------------===//

#include "Check/LaunchChecker.h"

#include "Check/CodeAnalysis.h"
#include "Check/HazardChecker.h"
#include "Check/MemoryChecker.h"
#include "Check/RaceChecker.h"
#include "Check/RegisterChecker.h"
#include "Check/WaitChecker.h"
#include "Core/Environment.h"
#include "Core/Execution.h"
#include "Core/Instruction.h"
#include "Core/Wave.h"

#include "lnbwd/Simulator/CheckNames.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <vector>

using namespace lnbwd::sim;

namespace {
/// All checks, in their order for each instruction.
class WaveChecker final : public WaveObserver {
public:
  WaveChecker(WorkgroupShadow &WG, Wave &W);
  ~WaveChecker() override;
  void started(unsigned ScalarsSet, unsigned VectorsSet) override;
  bool before(const Inst *I) override;
  void after(const Inst *I) override;
  void ended(const Inst *I) override;
  const Region *argumentOf(const Inst *I) const override;
  bool globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                    unsigned Bytes) override;
  bool ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                 unsigned Bytes) override;
  bool scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                     unsigned Bytes) override;
  bool blockAccess(const Inst *I, uint64_t Address, uint64_t GlobalBytes,
                   uint32_t To, uint32_t LdsBytes) override;
  bool arrival(const Inst *I, uint32_t At) override;
  bool scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                  uint64_t Asked) override;

private:
  bool limitFault(const Inst *I, const Effects &E);
  void barrier(const Inst *I, const Effects &E);
  /// Of a launch with interleaved waves: who may go on behind an access to
  /// shared memory.
  void letOthersGoOn(const Inst *I, const Effects &E);
  bool ldsRange(const Inst *I, uint32_t Address, unsigned Bytes, unsigned Lane,
                MemoryAccess Access);

  LaunchShadow &L;
  WorkgroupShadow &WG;
  Wave &W;
  bool ldsRaces(const Inst *I, const uint32_t *A, uint64_t Mask,
                const LdsPattern &P, unsigned Bytes, MemoryAccess Access);
  bool ldsLanes(const Inst *I, const uint32_t *A, uint64_t Mask, unsigned Bytes,
                MemoryAccess Access, uint64_t Undefined);
  /// Whether a wave that ends there has done anything since it was sent there.
  bool leftAtOnce(const Inst *I) const;

  const Effects *Current = nullptr;
  unsigned LdsPart = 0;  ///< accesses to LDS that the instruction has made
  bool IsPrivate = true; ///< of the instruction's accesses, all
  const Inst *Previous = nullptr;
  const Inst *Branched = nullptr; ///< where the wave came to by a branch
  // Many waves take turns: what each instruction asks for lies together.
  CheckCounts Counts;
  LdsChecker Lds;
  RaceChecker Races;
  GlobalChecker Global;
  HazardChecker Hazards;
  SymbolRedzones Redzones;
  WaitChecker Waits;
  RegisterChecker Registers;
};
} // namespace

WaveChecker::WaveChecker(WorkgroupShadow &WG, Wave &W)
    : L(WG.L), WG(WG), W(W), Lds(WG, W), Races(WG, W, Registers, Waits),
      Global(WG, W, Registers, Races, Counts),
      Hazards(L.TheEffects, L.Hazards, W), Redzones(W), Waits(WG, W),
      Registers(L, W) {}

WaveChecker::~WaveChecker() {
  if (!L.counts())
    return;
  for (unsigned K = 0; K < unsigned(CountClass::Count); ++K)
    Counts.PossibleLanes +=
        isVector(CountClass(K)) ? Counts.Issued[K] * W.N : 0;
  std::lock_guard<std::mutex> Guard(L.Lock);
  L.Counts.add(Counts);
}

void WaveChecker::started(unsigned ScalarsSet, unsigned VectorsSet) {
  if (!WG.IsChecked)
    return;
  Registers.start(ScalarsSet, VectorsSet);
  Waits.start();
  Races.start();
  Hazards.start();
  Redzones.start(L.memory() ? W.L->Symbols->dataSymbols()
                            : llvm::ArrayRef<DataSymbol>());
  Previous = Branched = nullptr;
}

bool WaveChecker::limitFault(const Inst *I, const Effects &E) {
  auto Text = [](const char *Kind, unsigned Used, unsigned Limit) {
    return std::string(Kind) + std::to_string(Used - 1) +
           " is used, but the kernel descriptor allocates only " +
           std::to_string(Limit);
  };
  if (E.MaxVgpr > L.VgprLimit)
    return faultCheck(W, "limits", I, -1, Text("v", E.MaxVgpr, L.VgprLimit));
  if (E.MaxAgpr > L.AgprLimit)
    return faultCheck(W, "limits", I, -1, Text("a", E.MaxAgpr, L.AgprLimit));
  return faultCheck(W, "limits", I, -1, Text("s", E.MaxSgpr, L.SgprLimit));
}

bool WaveChecker::leftAtOnce(const Inst *I) const {
  for (const Inst *K = Branched ? Branched : I; K < I; ++K) {
    const Effects &E = L.TheEffects.of(K);
    if ((E.Access != MemoryAccess::None && E.Space != MemorySpace::Scalar) ||
        E.Barrier != BarrierKind::None)
      return false;
  }
  return true;
}

void WaveChecker::barrier(const Inst *I, const Effects &E) {
  if (!L.races())
    return;
  const int Number = E.Barrier == BarrierKind::Full ? -1 : barrierNumber(W, I);
  if (Number == ClusterBarrier)
    return E.Barrier == BarrierKind::Signal ? Races.clusterSignalled()
                                            : Races.clusterAwaited();
  if (Number > 0 && E.Barrier == BarrierKind::Signal)
    return Races.namedSignalled(unsigned(Number));
  if (Number >= 0) {
    if (W.Named && E.Barrier == BarrierKind::Wait)
      Races.namedAwaited(W.Named);
    return;
  }
  if (E.Barrier != BarrierKind::Wait)
    Races.barrierSignalled(I);
  if (E.Barrier != BarrierKind::Signal)
    Races.barrierAwaited();
}

bool WaveChecker::before(const Inst *I) {
  const Effects &E = L.TheEffects.of(I);
  if (__builtin_expect(L.TheEffects.Covered != nullptr, 0))
    L.TheEffects.Covered->note(I);
  if (!Previous || I != Previous + 1 || Current->Counted == CountClass::Branch)
    Branched = I;
  Previous = I;
  Current = &E;
  W.IsFollowed = E.IsFollowed || Redzones.mayFollow(E);
  const uint64_t Exec = W.exec();
  if (L.counts() && I->Class != InstClass::Uncounted) {
    ++Counts.Issued[unsigned(E.Counted)];
    if (Exec != W.FullMask && isVector(E.Counted)) {
      Counts.InactiveLanes += W.N - unsigned(__builtin_popcountll(Exec));
      ++Counts.PartialInstructions;
    }
  }
  if (L.MayExceed && (E.MaxVgpr > L.VgprLimit || E.MaxAgpr > L.AgprLimit ||
                      E.MaxSgpr > L.SgprLimit))
    return limitFault(I, E);
  if (E.Idles && !E.ControlsCache)
    return !L.hazards() || Hazards.check(I, E);
  if (Waits.anything()) {
    if (Waits.mayTouch(E) && L.waits() && !Waits.checkPending(I, E))
      return false;
    if (Waits.mayOverwrite(E) && L.waits() && !Waits.checkTranslated(I, E))
      return false;
    Waits.endReplay(I, E);
    if (E.Waits != WaitKind::None)
      Waits.waitInstruction(I, E);
  }
  if (L.hazards() && !Hazards.check(I, E))
    return false;
  if (!E.MayNeed && !E.ControlsCache && E.Barrier == BarrierKind::None &&
      !Races.isUnsettled() && Registers.isKeptBy(E))
    return true;
  if (L.races())
    Races.before(E);
  if (L.registers()) {
    if (E.MayNeed && !Registers.checkDefined(I, E, Exec))
      return false;
    if (E.Access == MemoryAccess::None && !Registers.propagate(I, E, Exec))
      return false;
  }
  if (E.Barrier != BarrierKind::None)
    barrier(I, E);
  if (E.Access == MemoryAccess::None)
    return true;
  Registers.startAccess();
  Global.startAccess();
  LdsPart = 0;
  IsPrivate = true;
  Lds.Filled.clear();
  return true;
}

/// What others take up, or have left, is in memory: between two accesses for
/// order, or two stores, anybody may come.
void WaveChecker::letOthersGoOn(const Inst *I, const Effects &E) {
  if (IsPrivate || (E.Space == MemorySpace::Lds && !L.TheEffects.PollsLds &&
                    E.Access != MemoryAccess::Atomic))
    return;
  const MemoryUse &Use = E.Use;
  const bool ForOrder =
      Use.Spins || (Use.Decides && (E.Returns || Use.Cache.Coherent));
  const bool IsLoad = E.Access == MemoryAccess::Load;
  if (IsLoad && !ForOrder)
    return;
  W.Yields = true;
  // It may do no more than wait.
  W.Polled = IsLoad || Use.Spins ? I : nullptr;
}

void WaveChecker::after(const Inst *I) {
  const Effects &E = *Current;
  if (Redzones.mayFollow(E))
    Redzones.follow(I, E, W.exec());
  if (!E.IsFollowed)
    return;
  if (E.Access != MemoryAccess::None) {
    Races.accessed();
    if (L.registers())
      Registers.loaded(I, E);
    Waits.issue(I, E, Races.number(E), Lds.Filled, IsPrivate);
    if (__builtin_expect(L.IsInterleaved, 0))
      letOthersGoOn(I, E);
  } else {
    Waits.issue(I, E, Races.number(E), Lds.Filled, IsPrivate);
  }
}

const Region *WaveChecker::argumentOf(const Inst *I) const {
  return lnbwd::sim::argumentOf(*W.L, L.TheEffects, I);
}

void WaveChecker::ended(const Inst *I) {
  if (L.races())
    Races.ended(leftAtOnce(I));
}

bool WaveChecker::globalAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                               unsigned Bytes) {
  if (!WG.IsChecked)
    return Global.noteStores(L.TheEffects.of(I), A, Mask, Bytes);
  IsPrivate = false;
  if (__builtin_expect(Redzones.anything(), 0) &&
      !I->Record->Facts.Memory.Descriptor &&
      !Redzones.check(I, *Current, A, Mask, Bytes))
    return false;
  return Global.global(I, *Current, A, Mask, Bytes);
}

bool WaveChecker::scalarLoad(const Inst *I, uint64_t Address, unsigned Bytes,
                             uint64_t Asked) {
  if (!WG.IsChecked)
    return true;
  if (__builtin_expect(Redzones.anything(), 0) &&
      !I->Record->Facts.Memory.Descriptor &&
      !Redzones.checkScalar(I, *Current, Address, Bytes))
    return false;
  return Global.scalarLoad(I, *Current, Address, Bytes, Asked);
}

/// A wave's copy names no lane.
bool WaveChecker::blockAccess(const Inst *I, uint64_t Address,
                              uint64_t GlobalBytes, uint32_t At,
                              uint32_t LdsBytes) {
  if (!WG.IsChecked)
    return !GlobalBytes || Global.noteStores(L.TheEffects.of(I), &Address, 1,
                                             unsigned(GlobalBytes));
  constexpr unsigned NoLane = ~0u, Part = 16;
  IsPrivate = false;
  Lds.start(*Current);
  if (!Lds.Filled.empty() && Lds.Filled.back().End == At)
    Lds.Filled.back().End += LdsBytes;
  else
    Lds.Filled.emplace_back(At, At + LdsBytes);
  AccessRange R;
  R.I = I;
  R.E = Current;
  R.Access = Current->ToLds ? MemoryAccess::Store : MemoryAccess::Load;
  R.LaneBytes = LdsBytes;
  if (L.races() && !Races.accessLds(R, LdsRun{At, LdsBytes, NoLane}))
    return false;
  for (uint32_t K = 0; K < LdsBytes; K += Part)
    if (!ldsRange(I, At + K, std::min(Part, LdsBytes - K), NoLane, R.Access))
      return false;
  return !GlobalBytes ||
         Global.block(I, *Current, Address, GlobalBytes, W.WG->Lds + At);
}

/// A wave that finds the arrival need not wait for the copy.
bool WaveChecker::arrival(const Inst *I, uint32_t At) {
  if (!WG.IsChecked)
    return true;
  constexpr unsigned Bytes = 8;
  Lds.Filled.clear();
  Lds.start(*Current);
  AccessRange R;
  R.I = I;
  R.E = Current;
  R.Access = MemoryAccess::Atomic;
  R.Address = At;
  R.Bytes = R.LaneBytes = Bytes;
  W.Yields = L.races() && L.TheEffects.PollsLds;
  return Lds.access(I, At, Bytes, ~0u, R.Access) &&
         (!L.races() || Races.access(R));
}

bool WaveChecker::scratchAccess(const Inst *I, const uint64_t *A, uint64_t Mask,
                                unsigned Bytes) {
  return !WG.IsChecked || Registers.scratch(I, *Current, A, Mask, Bytes);
}

bool WaveChecker::ldsRange(const Inst *I, uint32_t Address, unsigned Bytes,
                           unsigned Lane, MemoryAccess Access) {
  if (Waits.anyLoadToLds() && L.waits() &&
      !Waits.unfinishedLds(I, Address, Bytes, Lane,
                           Access == MemoryAccess::Store))
    return false;
  Lds.Missing = 0;
  if (!Lds.access(I, Address, Bytes, Lane, Access))
    return false;
  if (__builtin_expect(Lds.Missing != 0, 0))
    Registers.loadedMissing(Lane, Lds.Missing << LdsPart * Bytes,
                            MemorySpace::Lds, Address, Lds.Fresh, Lds.SoFar,
                            Lds.Used ? RegisterChecker::Origin::UsedLds
                                     : RegisterChecker::Origin::Memory);
  return true;
}

bool WaveChecker::ldsRaces(const Inst *I, const uint32_t *A, uint64_t Mask,
                           const LdsPattern &P, unsigned Bytes,
                           MemoryAccess Access) {
  AccessRange R;
  R.I = I;
  R.E = Current;
  R.Access = Access;
  R.LaneBytes = Bytes;
  const bool Stores = Access == MemoryAccess::Store && !Current->ToLds;
  if (Stores)
    R.Data = W.row(I->Src[1 + LdsPart].Reg);
  // A flag perhaps, of one element: who waits for it is to go on from here.
  if (Stores && L.TheEffects.PollsLds && P.Count)
    W.Yields = P.Runs[0].Bytes == Bytes;
  if (P.OnePlace && Stores &&
      Races.storesOneValue(*Current, Mask, Bytes, R.Data))
    return Races.accessLds(R, P.runs().take_front());
  if (!Races.accessLds(R, P.runs()))
    return false;
  if (!Stores || !P.Meet)
    return true;
  uint64_t Wide[64];
  std::copy_n(A, W.N, Wide);
  return Races.collisions(I, *Current, Wide, Mask, Bytes, R.Data);
}

bool WaveChecker::ldsAccess(const Inst *I, const uint32_t *A, uint64_t Mask,
                            unsigned Bytes) {
  if (!WG.IsChecked)
    return true;
  MemoryAccess Access = Current->ToLds     ? MemoryAccess::Store
                        : Current->FromLds ? MemoryAccess::Load
                                           : Current->Access;
  IsPrivate = false;
  Lds.start(*Current);
  const LdsPattern &P = Lds.pattern(*Current, A, Mask, Bytes,
                                    Access == MemoryAccess::Load, LdsPart);
  if (Current->ToLds || Current->FromLds)
    for (const LdsRun &R : P.runs())
      Lds.Filled.emplace_back(R.Address, R.Address + R.Bytes);
  // First, since whether the memory has been written may depend on a race.
  if (L.races() && !ldsRaces(I, A, Mask, P, Bytes, Access))
    return false;
  // A store of something that is not defined leaves the memory not written.
  uint64_t Undefined = 0;
  if (L.registers() && Access == MemoryAccess::Store && !Current->ToLds)
    Undefined = Registers.incompleteStored(*Current);
  const bool MayBeUnderWay = Waits.anyLoadToLds() && L.waits();
  if ((Undefined & Mask) || MayBeUnderWay || !Lds.isPlain(P, Access)) {
    if (!ldsLanes(I, A, Mask, Bytes, Access, Undefined))
      return false;
  }
  ++LdsPart;
  Counts.LdsCycles += P.Cycles;
  Counts.LdsConflictCycles += P.Cycles - P.Least;
  return true;
}

/// The lanes one by one, where there is more to see than ranges tell.
bool WaveChecker::ldsLanes(const Inst *I, const uint32_t *A, uint64_t Mask,
                           unsigned Bytes, MemoryAccess Access,
                           uint64_t Undefined) {
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
  return true;
}

namespace {
class WorkgroupChecker final : public WorkgroupObserver {
public:
  WorkgroupChecker(LaunchShadow &L, const Workgroup &WG)
      : Shadow(L, WG.NumWaves, WG.LdsSize) {}
  bool started(uint64_t Number) override {
    Shadow.IsChecked =
        Number % Shadow.L.Sample == 0 || Number == Shadow.L.LastWorkgroup;
    if (Shadow.IsChecked)
      Shadow.start(Number);
    return Shadow.IsChecked;
  }
  WaveObserver &observe(Wave &W) override {
    Waves.push_back(std::make_unique<WaveChecker>(Shadow, W));
    return *Waves.back();
  }

private:
  WorkgroupShadow Shadow;
  std::vector<std::unique_ptr<WaveChecker>> Waves;
};
} // namespace

LaunchChecker::LaunchChecker(const Launch &L, unsigned Checks)
    : L(L), Shadow(L, CodeAnalysis::of(*L.Code), Checks) {
  AccessesOf = Shadow.LaunchNumber;
  Shadow.Sample = SampleVariable.read().value_or(1);
  Shadow.LastWorkgroup = uint64_t(L.Grid[0]) * L.Grid[1] * L.Grid[2] - 1;
}

bool LaunchChecker::dependsOnOrder() const {
  return Shadow.Sample == 1 && Shadow.Logs.wanted();
}

std::unique_ptr<WorkgroupObserver> LaunchChecker::observe(Workgroup &WG) {
  return std::make_unique<WorkgroupChecker>(Shadow, WG);
}

void LaunchChecker::addCounts(NamedCounts &Totals) const {
  Totals.Total.add(Shadow.Counts);
  Totals.Total.Buffers.clear();
  for (size_t K = 0; K < Shadow.Counts.Buffers.size(); ++K) {
    if (!Shadow.Counts.Buffers[K].Accesses)
      continue;
    const Region &R = L.Regions[K];
    std::string Text = hex(R.Begin);
    if (R.Notes && !R.Notes->Name.empty())
      Text = R.Notes->Name;
    else if (R.Begin == L.Kernarg)
      Text = "kernel arguments";
    Totals.Buffers[Text].add(Shadow.Counts.Buffers[K]);
  }
}

std::string LaunchChecker::summary(const RegionTable &Buffers) const {
  std::string On, Off;
  for (const CheckName &Check : CheckNames) {
    if (Check.Bit == LNBWD_SIM_CHECK_COUNTS)
      continue; // That is none.
    std::string &List = Shadow.Checks & Check.Bit ? On : Off;
    List += (List.empty() ? "" : ", ") + Check.Name.str();
  }
  uint64_t Checked = L.Counters.workgroups;
  if (Shadow.Sample > 1 && Checked)
    Checked = 1 + llvm::divideCeil(Checked - 1, Shadow.Sample);
  std::string Text =
      "kernel '" + L.TheKernel->shownName() + "', " + std::to_string(Checked) +
      " of " + std::to_string(L.NumWorkgroups) + " workgroups: checked for " +
      (On.empty() ? "nothing" : On);
  if (!Off.empty())
    Text += "; not for " + Off;
  if (!Shadow.races())
    return Text;
  if (Shadow.Sample > 1)
    return Text + "; races within these workgroups only";
  if (OtherOrders)
    Text += "; in " + std::to_string(OtherOrders) + " other orders, too";
  if (OtherOrdersCut)
    Text += ", of which " + std::to_string(OtherOrdersCut) +
            " were cut after their first instructions";
  if (OtherOrdersLeftOut)
    Text += "; not in other orders, since it stores to more memory than can be "
            "restored";
  if (OtherOrdersUnwanted)
    Text += "; not in other orders, which were not requested";
  if (RoundingLeftOut)
    Text +=
        "; not whether stores to one place of LDS differ in rounding alone, "
        "since it stores to more memory than can be restored";
  if (EarlyReadsLeftOut)
    Text += "; not whether loads matter that come before a store of another "
            "wave without an order, since it stores to more memory than can be "
            "restored";
  for (const Region &R : Buffers) {
    const auto *Shadow = static_cast<const BufferShadow *>(R.Notes);
    if (!Shadow || Shadow->Name.empty())
      continue;
    if (const BufferShadow::Gaps G = Shadow->gaps(AccessesOf); G.Bytes)
      Text += "; of the bytes " + std::to_string(G.Begin) + " to " +
              std::to_string(G.End - 1) + " of '" + Shadow->Name + "' " +
              std::to_string(G.Bytes) + " are not " +
              (G.Writes ? "written" : "read");
  }
  if (const uint64_t Pages = Shadow.PagesLeftOut.load())
    Text += "; races were not checked in " + std::to_string(Pages) +
            " pages of " + std::to_string(ShadowPage::PageBytes) +
            " bytes of global memory, beyond the limit of LNBWD_SIM_RACES_MB";
  if (const uint64_t Waves = Shadow.WavesLeftOut.load())
    Text += "; nor in " + std::to_string(Waves) + " waves, beyond the first " +
            std::to_string(Epoch::LastWave);
  return Text;
}

bool lnbwd::sim::failMissingWait(Launch &L) {
  const CodeAnalysis &Analysis = CodeAnalysis::of(*L.Code);
  const auto Missing =
      Analysis.missingWait(*L.Code, L.Code->at(L.TheKernel->Entry));
  if (!Missing)
    return false;
  auto Name = [&](const Inst *I) {
    return L.Code->text(I) + " at " + L.Symbols->symbolize(I->Address);
  };
  const std::string Source = L.Symbols->sourceLine(Missing->Use->Address);
  ErrorDetails Parts;
  Parts.Check = "waits";
  Parts.I = Missing->Use;
  Parts.Other = Missing->Producer;
  Parts.Wave = ErrorDetails::NoWave;
  Parts.Cause = "in code that this launch has not executed, " +
                registerName(*L.Chip, Missing->Register, Missing->Scalar) +
                " is read before the result of " + Name(Missing->Producer) +
                " has been waited for: a wait for " +
                counterName(Missing->Counter, L.Chip->Generation) + " of " +
                (Missing->Most ? "at most " : "") +
                std::to_string(Missing->Most) + " is missing";
  L.fail(LaunchFailure::CheckFailed,
         std::string(L.Chip->Chip) + ": kernel '" + L.TheKernel->shownName() +
             "': " + Parts.Cause + "; at " + Name(Missing->Use) +
             (Source.empty() ? "" : " (" + Source + ")"),
         Parts);
  return true;
}
