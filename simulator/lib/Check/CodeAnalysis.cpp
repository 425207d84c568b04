//===- CodeAnalysis.cpp - What checks know of a program -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Taint analysis, computed once for a program. From each load, definitions and
// uses are followed through the instructions after it, in the order in which
// they lie, and, where a loop leads back to before the load, once more from the
// head of the loop. Where that ends without an answer (the value is spilled, or
// there is a call) it may have decided something.
//
//===----------------------------------------------------------------------===//

#include "Check/CodeAnalysis.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <bitset>
#include <vector>

using namespace lnbwd;
using namespace lnbwd::sim;

/// How far a value is followed, and how long a loop may be that waits.
constexpr size_t MostFollowed = 600;
constexpr size_t MostLoop = 400;
/// Branches ahead that are kept in mind.
constexpr size_t MostBranches = 32;

namespace {
/// The registers and slots that hold the value of one load or atomic.
class Taint {
  /// A place in the lane's own memory that code without optimisation keeps
  /// values in, as far as an instruction's operands tell it.
  struct Slot {
    const Inst *I = nullptr; ///< of the access, or of what made its address
    bool operator==(const Slot &O) const;
  };

public:
  Taint(const InstructionTable &P, CodeEffects &Effects, size_t Start);
  void follow();
  /// The value is kept in memory for a while.
  bool isKept() const { return !Slots.empty(); }

private:
  const Inst &inst(size_t K) const { return P.instructions()[K]; }
  Effects &effects(size_t K) { return All.List[K]; }
  /// The end of the innermost loop around the load, and its head; 0: none.
  void findLoop();
  bool onlyWaits();
  bool walksByScalars();
  bool reads(const Effects &E) const;
  void mark(RegisterSpan S, bool Vector, bool On);
  /// One instruction; false: the answer is known, or cannot be.
  bool step(size_t K);
  bool isExecBranch(const Inst &I) const;
  bool isOwnMemory(size_t K) const;
  Slot slotOf(size_t K) const;
  void keepIn(size_t K);
  bool isKeptIn(size_t K) const { return llvm::is_contained(Slots, slotOf(K)); }
  void unknown() { Mine.Use.Decides = Mine.Use.IsGuess = true; }
  bool samePlace(const Inst &Store) const;

  const InstructionTable &P;
  CodeEffects &All;
  const size_t Start;
  Effects &Mine;
  size_t Head = 0, Tail = 0;
  bool HasLoop = false;
  /// The address registers still hold what they did at the load.
  bool SameAddress = true;
  /// No barrier lies behind the load.
  bool IsBeforeBarrier = true;
  std::bitset<NumVectorRows> Vectors;
  std::bitset<NumScalarSlots> Scalars;
  llvm::SmallVector<Slot, 8> Slots;
  /// Where the value is, where a branch leads to that lies ahead.
  struct Ahead {
    size_t Target;
    std::bitset<NumVectorRows> Vectors;
    std::bitset<NumScalarSlots> Scalars;
  };
  std::vector<Ahead> Branches;
};
} // namespace

Taint::Taint(const InstructionTable &P, CodeEffects &Effects, size_t Start)
    : P(P), All(Effects), Start(Start), Mine(Effects.List[Start]) {}

void Taint::mark(RegisterSpan S, bool Vector, bool On) {
  for (unsigned K = 0; K < S.Count; ++K)
    if (Vector)
      Vectors[S.First + K] = On;
    else
      Scalars[S.First + K] = On;
}

bool Taint::reads(const Effects &E) const {
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Vectors[S.First + K])
        return true;
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Scalars[S.First + K])
        return true;
  return (E.ReadsScc || E.BranchOnScc) && Scalars[SlotSCC];
}

bool Taint::isExecBranch(const Inst &I) const {
  return I.Record->Description.IsBranch && I.Record->Description.ReadsExec;
}

static bool sameOperand(const Operand &A, const Operand &B) {
  return A.Kind == B.Kind && A.Reg == B.Reg && A.Value == B.Value;
}

bool Taint::Slot::operator==(const Slot &O) const {
  if (!I || !O.I)
    return false;
  // Of an access through a descriptor or to scratch: all but the data.
  if (I->Record->Facts.Memory.Access != MemoryAccess::None)
    return O.I->Record->Facts.Memory.Access != MemoryAccess::None &&
           I->Imm == O.I->Imm && sameOperand(I->Src[0], O.I->Src[0]) &&
           sameOperand(I->Src[2], O.I->Src[2]) &&
           sameOperand(I->Src[3], O.I->Src[3]);
  return I->Record == O.I->Record && sameOperand(I->Src[0], O.I->Src[0]) &&
         sameOperand(I->Src[1], O.I->Src[1]);
}

/// Scratch, which some chips reach through a descriptor like other memory, and
/// code without optimisation through flat addresses.
bool Taint::isOwnMemory(size_t K) const {
  if (!P.hasScratch())
    return false;
  const Effects &E = All.List[K];
  return E.Space == MemorySpace::Scratch || E.Space == MemorySpace::Flat ||
         (inst(K).Record->Facts.Memory.Descriptor &&
          !P.chip().ArchitectedScratch);
}

Taint::Slot Taint::slotOf(size_t K) const {
  if (All.List[K].Space != MemorySpace::Flat)
    return {&inst(K)};
  // The address is a copy of scalar registers.
  const RegisterSpan Address = All.List[K].VectorRead[0];
  for (size_t N = K; N-- > 0 && K - N < 12;) {
    if (!overlap(All.List[N].VectorWrite[0], Address))
      continue;
    for (const RegisterSpan &S : All.List[N].VectorRead)
      if (S.Count)
        return {};
    return {&inst(N)};
  }
  return {};
}

/// A slot stays one, as the registers of its address may mean another by now.
void Taint::keepIn(size_t K) {
  const Slot S = slotOf(K);
  if (!S.I)
    unknown();
  else if (!llvm::is_contained(Slots, S))
    Slots.push_back(S);
}

void Taint::findLoop() {
  const size_t End = std::min(All.List.size(), Start + MostLoop);
  for (size_t K = Start; K < End; ++K) {
    const Inst *Target = inst(K).Target;
    if (!Target || !inst(K).Size || !inst(K).Record->Description.IsBranch ||
        Target > &inst(Start))
      continue;
    Head = size_t(Target - P.instructions().data());
    Tail = K;
    HasLoop = true;
    return;
  }
}

/// Whether each round of the loop reads another place, since the scalar
/// registers of the address move on, as a descriptor does by whose base a loop
/// walks through memory: a round makes them of what the round before has left
/// in scalar registers. What is made anew of what does not change is the same
/// place.
bool Taint::walksByScalars() {
  // Those that are not at the head of the loop what they were one round before.
  std::bitset<NumScalarSlots> Moving, Now;
  for (size_t K = Head; K <= Tail; ++K)
    for (const RegisterSpan &S : effects(K).ScalarWrite)
      for (unsigned R = 0; R < S.Count; ++R)
        Moving[S.First + R] = true;
  const auto ReadsMoving = [&Now](const Effects &E) {
    for (const RegisterSpan &S : E.ScalarRead)
      for (unsigned R = 0; R < S.Count; ++R)
        if (Now[S.First + R])
          return true;
    return false;
  };
  for (;;) {
    Now = Moving;
    bool Walks = false;
    for (size_t K = Head; K <= Tail; ++K) {
      const Effects &E = effects(K);
      const bool Made = ReadsMoving(E);
      Walks |= Made &&
               (K == Start || overlap(E.VectorWrite[0], Mine.VectorRead[0]) ||
                overlap(E.VectorWrite[1], Mine.VectorRead[0]));
      for (const RegisterSpan &S : E.ScalarWrite)
        for (unsigned R = 0; R < S.Count; ++R)
          Now[S.First + R] = Made;
    }
    // Of those that begin a round as something else, some end it as what they
    // have been in all rounds but the first.
    if ((Moving & Now) == Moving)
      return Walks;
    Moving &= Now;
  }
}

/// Whether the loop around the load has no effect but to read the same place.
bool Taint::onlyWaits() {
  if (!HasLoop || Start - Head > MostLoop || walksByScalars())
    return false;
  const RegisterSpan Address = Mine.VectorRead[0];
  for (size_t K = Head; K <= Tail; ++K) {
    const Effects &E = effects(K);
    if (K == Start)
      continue;
    Mine.Use.Refreshes |= E.Use.Cache.DropsFar;
    if (E.Barrier != BarrierKind::None || inst(K).Record->Description.IsCall)
      return false;
    if ((E.Access == MemoryAccess::Store || E.Access == MemoryAccess::Atomic ||
         E.ToLds) &&
        !isOwnMemory(K))
      return false;
    const bool Writes = overlap(E.VectorWrite[0], Address) ||
                        overlap(E.VectorWrite[1], Address);
    if (!Writes)
      continue;
    // A constant may be put there anew, or what the lane keeps for itself, of
    // which nothing is known.
    if (!Slots.empty())
      continue;
    if (E.Access != MemoryAccess::None) {
      if (!isOwnMemory(K))
        return false;
      continue;
    }
    for (const RegisterSpan &S : E.VectorRead)
      if (S.Count)
        return false;
  }
  return true;
}

bool Taint::samePlace(const Inst &Store) const {
  const Inst &Load = inst(Start);
  return SameAddress && Load.Src[0].Reg == Store.Src[0].Reg &&
         Load.Src[0].Kind == Store.Src[0].Kind &&
         Load.Src[2].Kind == Store.Src[2].Kind &&
         Load.Src[2].Reg == Store.Src[2].Reg && Load.Imm == Store.Imm;
}

bool Taint::step(size_t K) {
  const Inst &I = inst(K);
  Effects &E = effects(K);
  if (!I.Size)
    return false;
  if (I.Record->Description.IsCall || (I.Lane && I.Inner)) {
    Mine.Use.Decides = true; // What is called may do anything.
    return false;
  }
  const bool Uses = reads(E);
  IsBeforeBarrier &= E.Barrier == BarrierKind::None;
  bool Returns = false; // to where it was loaded
  if ((E.BranchOnVcc && Scalars[SlotVCC]) || (E.BranchOnScc && Uses) ||
      (isExecBranch(I) && Scalars[SlotExec]) || (Uses && E.WritesExec)) {
    Mine.Use.Decides = true;
    if (E.WritesExec)
      mark({SlotExec, 2}, false, true);
  }
  if (E.Access != MemoryAccess::None && Uses) {
    bool AddressUsed = E.Space == MemorySpace::Scalar;
    for (unsigned R = 0; R < E.VectorRead[0].Count; ++R)
      AddressUsed |= Vectors[E.VectorRead[0].First + R];
    // One that is the same for all lanes lies in scalar registers.
    for (const RegisterSpan &S : E.ScalarRead)
      for (unsigned R = 0; R < S.Count; ++R)
        AddressUsed |= Scalars[S.First + R];
    bool DataUsed = false;
    for (const RegisterSpan &S : llvm::ArrayRef(E.VectorRead).drop_front())
      for (unsigned R = 0; R < S.Count; ++R)
        DataUsed |= Vectors[S.First + R];
    if (AddressUsed)
      Mine.Use.Decides = true;
    // What is stored in LDS, other waves may decide by.
    if (E.Access == MemoryAccess::Store && E.Space == MemorySpace::Lds &&
        !AddressUsed && Mine.Space != MemorySpace::Lds)
      Mine.Use.Decides = true;
    if (K == Start)
      Mine.Use.IsLock = false;
    else if (E.CompareSwap && DataUsed)
      Mine.Use.IsGuess = true;
    if (E.Access == MemoryAccess::Store && E.Space == Mine.Space &&
        !AddressUsed && Mine.Access == MemoryAccess::Load && samePlace(I)) {
      Returns = true;
      E.Use.Changes |= IsBeforeBarrier;
    }
  }
  const bool IsOwn = E.Access != MemoryAccess::None && isOwnMemory(K);
  if (IsOwn && E.Access == MemoryAccess::Store && Uses && !Returns)
    keepIn(K);
  const bool Reloads = IsOwn && E.Access == MemoryAccess::Load && isKeptIn(K);
  // What an instruction makes of the value is the value, too.
  const bool Loads = E.Access != MemoryAccess::None;
  const bool Makes = Reloads || (Uses && !Loads);
  for (const RegisterSpan &S : E.VectorWrite) {
    // A row of spilled scalars stays what it was but for one of them.
    if (K != Start && (E.How != Flow::WriteLane || Uses))
      mark(S, true, Makes);
    if (overlap(S, Mine.VectorRead[0]))
      SameAddress = false;
  }
  for (const RegisterSpan &S : E.ScalarWrite) {
    // Lanes that another instruction has switched off do not come back.
    const bool IsExec = S.Count && S.First == SlotExec;
    if (!IsExec)
      mark(S, false, Makes);
    if (overlap(S, Mine.ScalarRead[2]))
      SameAddress = false;
  }
  if (E.WritesScc)
    Scalars[SlotSCC] = Uses;
  return true;
}

void Taint::follow() {
  findLoop();
  mark(Mine.VectorWrite[0], true, true);
  mark(Mine.ScalarWrite[0], false, true);
  Mine.Use.IsLock = Mine.Returns;
  const size_t End =
      std::min(std::max(Start + MostFollowed, Tail + 1), All.List.size());
  bool Going = true;
  for (size_t K = Start + 1; Going && K < End; ++K) {
    Going = step(K);
    // Once round the loop, to the load and, of an atomic, its own operands.
    if (Going && HasLoop && K == Tail) {
      const auto VectorsBehind = Vectors;
      const auto ScalarsBehind = Scalars;
      for (size_t N = Head; Going && N <= Start; ++N)
        Going = step(N);
      Vectors = VectorsBehind;
      Scalars = ScalarsBehind;
    }
    // What lies between a branch and where it leads to may overwrite what is
    // still wanted there.
    for (const Ahead &A : Branches)
      if (A.Target == K + 1) {
        Vectors |= A.Vectors;
        Scalars |= A.Scalars;
      }
    llvm::erase_if(Branches, [&](const Ahead &A) { return A.Target <= K + 1; });
    const Inst *Target = inst(K).Target;
    if (Target > &inst(K) + 1 && inst(K).Size &&
        inst(K).Record->Description.IsBranch &&
        Branches.size() < MostBranches && (Vectors.any() || Scalars.any()))
      Branches.push_back(
          {size_t(Target - P.instructions().data()), Vectors, Scalars});
    if (Vectors.none() && Scalars.none() && Slots.empty() && Branches.empty() &&
        K >= Tail)
      break;
  }
  // Where it is kept from then on, anything may become of it.
  Mine.Use.Decides |= !Slots.empty();
  Mine.Use.Spins = Mine.Use.Decides && onlyWaits();
  Mine.Use.IsLock =
      (Mine.Use.IsLock || (Mine.Returns && isKept())) && Mine.Use.Spins;
}

/// The next branch from K on, before End; End if there is none.
static size_t nextBranch(const InstructionTable &P, size_t K, size_t End) {
  for (size_t N = K; N < End; ++N) {
    const Inst &I = P.instructions()[N];
    if (!I.Size || I.Record->Description.EndsWave)
      return End;
    if (I.Target && I.Record->Description.IsBranch)
      return N;
  }
  return End;
}

/// Whether the first branch after the load at K, by what was loaded, leads
/// past the loop in which the load at N waits, to where that loop ends.
static bool skipsLoop(const InstructionTable &P, const CodeEffects &Effects,
                      size_t K, size_t N) {
  const llvm::ArrayRef<Inst> All = P.instructions();
  const size_t Skip = nextBranch(P, K, N);
  const size_t End = std::min(All.size() - 1, N + 64);
  const size_t Tail = nextBranch(P, N, End);
  if (Skip == N || Tail == End || All[Tail].Target > &All[N] ||
      All[Tail].Target <= &All[Skip])
    return false;
  const Inst *Behind = &All[Tail + 1];
  const bool Skips = All[Skip].Target == Behind ||
                     (Behind->Size && Behind->Record->Description.IsDirect &&
                      Behind->Record->Description.IsBarrier &&
                      All[Skip].Target == Behind->Target);
  const RegisterSpan Value = Effects.List[K].VectorWrite[0];
  for (size_t R = K + 1; Skips && R < Skip; ++R)
    for (const RegisterSpan &S : Effects.List[R].VectorRead)
      if (overlap(S, Value))
        return true;
  return false;
}

/// Compilers take the first round of a loop that waits out of it: what decides
/// whether the loop is entered reads the same place as the loop.
static void spreadToPeeled(const InstructionTable &P, CodeEffects &All,
                           const std::vector<bool> &Kept) {
  for (size_t K = 0; K < All.List.size(); ++K) {
    Effects &E = All.List[K];
    if (E.Use.Spins || !E.Use.Decides || Kept[K] ||
        E.Access == MemoryAccess::None)
      continue;
    const Inst &I = P.instructions()[K];
    const size_t End = std::min(All.List.size(), K + 64);
    for (size_t N = K + 1; N < End; ++N) {
      const Inst &Other = P.instructions()[N];
      const Effects &O = All.List[N];
      if (!O.Use.Spins || O.Space != E.Space || O.Access != E.Access)
        continue;
      const bool Same = Other.Imm == I.Imm &&
                        sameOperand(Other.Src[0], I.Src[0]) &&
                        sameOperand(Other.Src[2], I.Src[2]);
      // Their addresses may be made in different ways.
      if (!Same && !skipsLoop(P, All, K, N))
        continue;
      E.Use.Spins = true;
      E.Use.IsLock = O.Use.IsLock;
      E.Use.Refreshes |= O.Use.Refreshes;
      break;
    }
  }
}

/// Whether an instruction acquires what others release through memory.
static bool takes(const Effects &E) {
  return E.Use.Spins || (E.Use.Decides && (E.Returns || E.Use.Cache.Coherent));
}

bool lnbwd::sim::mayTake(const InstructionTable &P, const CodeEffects &Effects,
                         const Inst *Entry) {
  if (!Effects.Takes || !Entry)
    return Effects.Takes;
  std::vector<bool> Seen(Effects.List.size());
  std::vector<const Inst *> Open = {Entry};
  while (!Open.empty()) {
    const Inst *I = Open.back();
    Open.pop_back();
    const size_t K = size_t(I - P.instructions().data());
    if (!I || K >= Seen.size() || Seen[K] || !I->Size)
      continue;
    Seen[K] = true;
    const isa::InstructionDescription &D = I->Record->Description;
    if (takes(Effects.List[K]))
      return true;
    if (D.EndsWave)
      continue;
    if (D.IsDirect)
      Open.push_back(I->Target);
    else if (D.IsCall || D.IsBranch)
      return true; // Where it leads to is not known before it is executed.
    if (!D.IsBarrier)
      Open.push_back(I + 1);
  }
  return false;
}

/// Fills in MemoryUse of all instructions.
static void findMemoryUses(const InstructionTable &P, CodeEffects &Effects) {
  uint16_t Next = 0;
  bool HasCompareSwap = false;
  Effects.MemoryInstructions.clear();
  for (size_t K = 0; K < Effects.List.size(); ++K) {
    const Inst &I = P.instructions()[K];
    sim::Effects &E = Effects.List[K];
    if (!I.Size)
      continue;
    const bool IsControl = I.Class == InstClass::Scalar &&
                           I.Record->Facts.Class == CountClass::OtherScalar;
    if (E.Access != MemoryAccess::None || E.CacheWrite || E.CacheLoad ||
        IsControl)
      E.Use.Cache = cacheUse(I, P.chip());
    E.ControlsCache = E.Use.Cache.isControl();
    if (E.Access == MemoryAccess::None)
      continue;
    HasCompareSwap |= E.CompareSwap;
    if (Next < LastMemoryId) {
      E.Use.Id = Next++;
      Effects.MemoryInstructions.push_back(&I);
    } else {
      E.Use.Id = LastMemoryId;
    }
  }
  std::vector<bool> Kept(Effects.List.size());
  for (size_t K = 0; K < Effects.List.size(); ++K) {
    const sim::Effects &E = Effects.List[K];
    if (E.Space == MemorySpace::Scratch || E.ToLds)
      continue;
    if (E.Space == MemorySpace::Scalar) {
      if (!HasCompareSwap || E.Access != MemoryAccess::Load)
        continue;
      // No scalar load is there for order, but one may be what a loop of
      // compare-and-swap begins with, where the address is the same for all.
      MemoryUse &Use = Effects.List[K].Use;
      Taint(P, Effects, K).follow();
      Use.Decides = Use.Spins = Use.Refreshes = Use.IsLock = false;
      continue;
    }
    if (E.Access == MemoryAccess::Load || E.Returns) {
      Taint F(P, Effects, K);
      F.follow();
      Kept[K] = F.isKept();
      MemoryUse &Use = Effects.List[K].Use;
      Use.Claims = E.Returns && Use.Decides && (E.CompareSwap || E.Swap);
    }
  }
  spreadToPeeled(P, Effects, Kept);
  for (const sim::Effects &E : Effects.List) {
    Effects.Takes |= takes(E);
    Effects.PollsLds |=
        E.Use.Spins && E.Access == MemoryAccess::Load &&
        (E.Space == MemorySpace::Lds || E.Space == MemorySpace::Flat);
  }
}

CodeAnalysis::CodeAnalysis(const InstructionTable &P)
    : Effects(P), Hazards(P, Effects) {
  findMemoryUses(P, Effects);
}

std::optional<MissingWait> CodeAnalysis::missingWait(const InstructionTable &P,
                                                     const Inst *Entry) const {
  std::lock_guard<std::mutex> Guard(Lock);
  const auto [It, New] = Waits.try_emplace(Entry);
  if (New)
    It->second = findMissingWait(P, Effects, Entry);
  return It->second;
}

const CodeAnalysis &CodeAnalysis::of(const InstructionTable &P) {
  // Nobody else makes notes.
  return static_cast<const CodeAnalysis &>(
      P.notes([&] { return std::make_unique<CodeAnalysis>(P); }));
}
