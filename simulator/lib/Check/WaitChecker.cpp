//===- WaitChecker.cpp - Results used before they were waited for ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counters of outstanding memory instructions, by the rules of the ISA
// documents: accesses of one kind finish in the order in which they were
// issued, so that a wait for N leaves the N youngest; scalar loads, and flat
// accesses of gfx9, finish in any order, so that only a wait for 0 helps.
//
// CDNA5 repeats an access that finds no translation of its address: until then
// nothing else than a vector memory access may overwrite its sources.
//
// Code that a launch has not executed is analysed: what is under way on every
// path to an instruction that reads it has not been waited for, whichever path
// is taken.
//
//===----------------------------------------------------------------------===//

#include "Check/WaitChecker.h"

#include "Check/Effects.h"
#include "Check/RegisterChecker.h"
#include "Core/Execution.h"

#include "lnbwd/ISA/InstructionRecord.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

using namespace lnbwd;
using namespace lnbwd::sim;

const char *lnbwd::sim::counterName(WaitCounter C, unsigned Generation) {
  switch (C) {
  case WaitLoad:
    return Generation >= 12 ? "loadcnt" : "vmcnt";
  case WaitStore:
    return Generation >= 12 ? "storecnt" : "vscnt";
  case WaitLds:
    return Generation >= 12 ? "dscnt" : "lgkmcnt";
  case WaitAsync:
    return "asynccnt";
  case WaitTensor:
    return "tensorcnt";
  default:
    return "kmcnt";
  }
}

void WaitChecker::start() {
  for (EventQueue &Q : Queues)
    Q = {};
  Outstanding = OutstandingLds = RegistersPending = 0;
  Translations.clear();
  VectorsPending = ScalarsPending = 0;
  std::memset(PendingVector, 0, sizeof(PendingVector));
  std::memset(PendingScalar, 0, sizeof(PendingScalar));
}

bool WaitChecker::keepsOrder(EventType Type) const {
  return Type != ScalarAccess && (Type != FlatAccess || L.Generation != 9);
}

bool WaitChecker::outOfOrder(WaitCounter C) const {
  auto IsOutOfOrder = [&](EventType Type) {
    return Queues[C].Types[Type] && !keepsOrder(Type);
  };
  // Asynchronous loads and stores each keep their order.
  const unsigned *Types = Queues[C].Types;
  return IsOutOfOrder(ScalarAccess) || IsOutOfOrder(FlatAccess) ||
         (C == WaitAsync && Types[VectorLoad] && Types[VectorStore]);
}

void WaitChecker::retire(WaitCounter C, size_t Begin, size_t End) {
  EventQueue &Q = Queues[C];
  for (size_t Place = Begin; Place < End; ++Place) {
    const Event &Ev = Q.Events[Place];
    for (unsigned K = 0; K < Ev.Vector.Count; ++K)
      --PendingVector[Ev.Vector.First + K];
    for (unsigned K = 0; K < Ev.Scalar.Count; ++K)
      --PendingScalar[Ev.Scalar.First + K];
    RegistersPending -= Ev.Vector.Count + Ev.Scalar.Count;
    OutstandingLds -= Ev.FillsLds;
    if (C == WaitLoad || C == WaitStore || C == WaitScalar)
      translated(Ev.Issued, C == WaitScalar);
    --Q.Types[Ev.Type];
    --Outstanding;
  }
  if (!RegistersPending)
    VectorsPending = ScalarsPending = 0;
  Q.Events.erase(Q.Events.begin() + ptrdiff_t(Begin),
                 Q.Events.begin() + ptrdiff_t(End));
}

void WaitChecker::wait(WaitCounter C, unsigned Most) {
  const size_t Count = Queues[C].Events.size();
  if (Count > Most && (!Most || !outOfOrder(C)))
    retire(C, 0, Count - Most);
}

void WaitChecker::waitInstruction(const Inst *I, const Effects &E) {
  const WaitLimits Limits = waitLimits(*I, E.Waits, L.Generation);
  for (unsigned C = 0; C < NumWaits; ++C)
    if (Limits.Most[C] != WaitLimits::Any)
      wait(WaitCounter(C), Limits.Most[C]);
  if (Translations.size() > Limits.MostTranslations)
    Translations.erase(Translations.begin(),
                       Translations.end() - Limits.MostTranslations);
}

/// An access has finished. Those of vector memory are translated in order.
void WaitChecker::translated(uint64_t Issued, bool Scalar) {
  llvm::erase_if(Translations, [&](const Translation &T) {
    return (T.E->Space == MemorySpace::Scalar) == Scalar &&
           (Scalar ? T.Issued == Issued : T.Issued <= Issued);
  });
}

void WaitChecker::translate(const Inst *I, const Effects &E) {
  if (!W.L->Chip->isCdna5() || E.Space == MemorySpace::Lds || E.Tensor ||
      E.Asynchronous || E.Access == MemoryAccess::None ||
      I->Record->Facts.Class == CountClass::ScalarAlu)
    return;
  // Hardware does not translate for both at a time.
  if (!Translations.empty() &&
      (Translations.front().E->Space == MemorySpace::Scalar) !=
          (E.Space == MemorySpace::Scalar))
    Translations.clear();
  if (Translations.size() == counterMaximum(WaitLoad, L.Generation))
    Translations.erase(Translations.begin());
  if (Translations.empty())
    VectorsTranslating = ScalarsTranslating = 0;
  Translations.push_back({I, &E, Issued});
  VectorsTranslating |= E.VectorsUsed;
  ScalarsTranslating |= E.ScalarsUsed;
}

/// LLVM 22 waits for xcnt after these, too, and later versions do not: none
/// after a barrier since #198823, after banks are set since #188527.
void WaitChecker::dropTranslations(const Inst *I, const Effects &E) {
  const uint32_t Flags = I->Record->Facts.Flags;
  size_t Most = WaitLimits::Any;
  if (E.Counted == CountClass::Branch || E.Barrier != BarrierKind::None ||
      (Flags & (isa::FactWritesHardware | isa::FactSetsBanks)))
    Most = 0;
  else if ((Flags & isa::FactAwaitsAlu) && (I->Imm >> 2 & 7) != 7)
    Most = size_t(I->Imm >> 2 & 7); // vm_vsrc
  if (Translations.size() > Most)
    Translations.erase(Translations.begin(),
                       Translations.end() - ptrdiff_t(Most));
}

bool WaitChecker::checkTranslated(const Inst *I, const Effects &E) {
  const bool IsVectorMemory = E.Access != MemoryAccess::None &&
                              E.Space != MemorySpace::Lds &&
                              E.Space != MemorySpace::Scalar;
  for (size_t K = Translations.size(); K-- > 0;) {
    const Translation &T = Translations[K];
    auto Fault = [&](const std::string &Register) {
      const size_t Most = Translations.size() - 1 - K;
      return faultCheck(W, "waits", I, -1,
                        Register + " is overwritten before the addresses of " +
                            W.L->Code->text(T.I) + " at " +
                            W.L->Symbols->symbolize(T.I->Address) +
                            " have been translated: a wait for xcnt of " +
                            (Most ? "at most " : "") + std::to_string(Most) +
                            " is missing");
    };
    for (const RegisterSpan &Written : E.VectorWrite)
      for (const RegisterSpan &Read : T.E->VectorRead) {
        if (!overlap(Written, Read))
          continue;
        if (!IsVectorMemory)
          return Fault(registerName(*W.L->Chip, Read.First, false));
        // The loaded value arrives after them, and LLVM 22 counts from there.
        Translations.erase(Translations.begin(),
                           Translations.begin() + ptrdiff_t(K) + 1);
        return true;
      }
    for (const RegisterSpan &Written : E.ScalarWrite)
      for (const RegisterSpan &Read : T.E->ScalarRead)
        if (overlap(Written, Read) && Read.First < SlotNull)
          return Fault(registerName(*W.L->Chip, Read.First, true));
    if (E.WritesExec && T.E->Space != MemorySpace::Scalar)
      return Fault("exec");
  }
  return true;
}

/// Issuing waits while a counter is full. Where events finish in any order,
/// that tells which one has finished only of types that keep an order among
/// themselves.
void WaitChecker::makeRoom(WaitCounter C) {
  EventQueue &Q = Queues[C];
  const unsigned Most = counterMaximum(C, L.Generation);
  if (!outOfOrder(C))
    return wait(C, Most - 1);
  auto RetireFirst = [&](llvm::function_ref<bool(const Event &)> IsIt) {
    const auto It = llvm::find_if(Q.Events, IsIt);
    const size_t Place =
        It == Q.Events.end() ? 0 : size_t(It - Q.Events.begin());
    retire(C, Place, Place + 1);
  };
  for (unsigned T = 0; T < NumTypes; ++T)
    while (Q.Types[T] >= Most && keepsOrder(EventType(T)))
      RetireFirst([&](const Event &Ev) { return Ev.Type == T; });
  // More accesses than registers can wait for: forget the oldest of the others.
  if (Q.Events.size() >= EventQueue::Most)
    RetireFirst(
        [](const Event &Ev) { return !Ev.Vector.Count && !Ev.Scalar.Count; });
}

void WaitChecker::push(WaitCounter C, Event &&Ev) {
  makeRoom(C);
  ++Queues[C].Types[Ev.Type];
  ++Outstanding;
  for (unsigned K = 0; K < Ev.Vector.Count; ++K)
    ++PendingVector[Ev.Vector.First + K];
  for (unsigned K = 0; K < Ev.Scalar.Count; ++K)
    ++PendingScalar[Ev.Scalar.First + K];
  RegistersPending += Ev.Vector.Count + Ev.Scalar.Count;
  VectorsPending |= bitsOf(Ev.Vector);
  ScalarsPending |= bitsOf(Ev.Scalar);
  OutstandingLds += Ev.FillsLds;
  Queues[C].Events.push_back(std::move(Ev));
}

void WaitChecker::issue(const Inst *I, const Effects &E, uint32_t Number,
                        std::vector<LdsPiece> &Filled, bool IsPrivate) {
  translate(I, E);
  Event Ev;
  Ev.I = I;
  Ev.Number = Number;
  Ev.Issued = Issued++;
  const WaitCounter Stores = storeCounter();
  if (E.CacheWrite || E.CacheLoad) {
    Ev.Type = VectorStore;
    // Before gfx12 LLVM 22 leaves out waits for them (#178316).
    if (E.Use.Cache.WritesBack && L.Generation >= 12)
      Ev.Global = MemoryAccess::Store;
    return push(E.CacheLoad ? WaitLoad : Stores, std::move(Ev));
  }
  Ev.Vector = E.VectorWrite[0];
  switch (E.Space) {
  case MemorySpace::Scalar:
    Ev.Type = ScalarAccess;
    Ev.Scalar = E.ScalarWrite[0];
    return push(L.Generation >= 12 ? WaitScalar : WaitLds, std::move(Ev));
  case MemorySpace::Lds:
    Ev.Type = LdsAccess;
    Ev.IsLds = true;
    return push(WaitLds, std::move(Ev));
  case MemorySpace::None:
    // Lanes exchange values through the hardware of LDS.
    if (I->Class != InstClass::LDS)
      return;
    Ev.Type = LdsAccess;
    return push(WaitLds, std::move(Ev));
  default:
    break;
  }
  const WaitCounter C = memoryCounter(E, L.Generation);
  const bool IsStore = E.Access == MemoryAccess::Store ||
                       (E.Access == MemoryAccess::Atomic && !E.Returns);
  if (E.Space != MemorySpace::Scratch && !IsPrivate)
    Ev.Global = E.Access;
  if (E.Space == MemorySpace::Flat) {
    Ev.Type = FlatAccess;
    push(C, Event(Ev));
    Ev.Global = MemoryAccess::None;
    Ev.IsLds = !IsPrivate;
    return push(WaitLds, std::move(Ev));
  }
  Ev.Type = IsStore ? VectorStore : VectorLoad;
  Ev.IsLds = E.ToLds || E.FromLds;
  Ev.FillsLds = Ev.IsLds && !Filled.empty();
  if (Ev.FillsLds)
    Ev.Filled.swap(Filled);
  push(C, std::move(Ev));
}

WaitChecker::UnderWay WaitChecker::underWay() const {
  UnderWay U;
  if (!Outstanding)
    return U;
  auto Older = [](uint32_t &Oldest, uint32_t Number) {
    if (!Oldest || Number < Oldest)
      Oldest = Number;
  };
  for (WaitCounter C : {WaitLoad, WaitStore, WaitLds, WaitAsync, WaitTensor})
    for (const Event &Ev : Queues[C].Events) {
      if (Ev.IsLds)
        Older(C == WaitLds      ? U.Lds
              : C == WaitTensor ? U.Tensor
                                : U.ToLds,
              Ev.Number);
      if (Ev.IsLds && Ev.Type == FlatAccess)
        Older(U.FlatLds, Ev.Number);
      if (Ev.Global != MemoryAccess::None)
        Older(Ev.Global == MemoryAccess::Load    ? U.Read
              : Ev.Global == MemoryAccess::Store ? U.Store
                                                 : U.Atomic,
              Ev.Number);
    }
  return U;
}

uint32_t WaitChecker::bitsInFlight(const Event &Ev, unsigned Register) const {
  const RegisterSpan V = Ev.Vector;
  if (Register < V.First || Register >= V.First + V.Count)
    return 0;
  return accessedBits(Ev.I, L.Generation, /*IsStore=*/false);
}

uint32_t WaitChecker::bitsInFlight(unsigned Register) const {
  uint32_t Bits = 0;
  for (const EventQueue &Q : Queues)
    for (const Event &Ev : Q.Events)
      Bits |= bitsInFlight(Ev, Register);
  return Bits;
}

bool WaitChecker::pendingFault(const Inst *I, unsigned Register, bool Scalar,
                               bool Write, uint32_t Bits) {
  std::string Text = registerName(*W.L->Chip, Register, Scalar) +
                     (Write ? " is overwritten" : " is read") + " before ";
  for (unsigned C = 0; C < NumWaits; ++C) {
    const std::vector<Event> &Events = Queues[C].Events;
    // The youngest one that the register waits for.
    for (size_t K = Events.size(); K-- > 0;) {
      const Event &Ev = Events[K];
      const RegisterSpan S = Ev.Scalar;
      if (Scalar ? Register < S.First || Register >= S.First + S.Count
                 : !(bitsInFlight(Ev, Register) & Bits))
        continue;
      size_t Most = outOfOrder(WaitCounter(C)) ? 0 : Events.size() - 1 - K;
      const char *Name = counterName(WaitCounter(C), L.Generation);
      Text += "the result of " + W.L->Code->text(Ev.I) + " at " +
              W.L->Symbols->symbolize(Ev.I->Address) +
              " has been waited for: a wait for " + Name + " of " +
              (Most ? "at most " : "") + std::to_string(Most) + " is missing";
      return faultCheck(W, "waits", I, -1, Text);
    }
  }
  return faultCheck(W, "waits", I, -1, Text + "it has been waited for");
}

bool WaitChecker::checkPending(const Inst *I, const Effects &E) {
  for (unsigned Source = 0; Source < std::size(E.VectorRead); ++Source) {
    const RegisterSpan S = E.VectorRead[Source];
    // What comes first is the address. The vector ALU waits for both halves, as
    // LLVM has it do (its feature d16-write-vgpr32).
    const uint32_t Bits = Source && E.Access == MemoryAccess::Store
                              ? accessedBits(I, L.Generation, /*IsStore=*/true)
                              : ~0u;
    for (unsigned K = 0; K < S.Count; ++K)
      if (PendingVector[S.First + K] && (bitsInFlight(S.First + K) & Bits))
        return pendingFault(I, S.First + K, false, false, Bits);
  }
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (PendingScalar[S.First + K])
        return pendingFault(I, S.First + K, true, false);
  for (const RegisterSpan &S : E.ScalarWrite)
    for (unsigned K = 0; K < S.Count; ++K)
      if (PendingScalar[S.First + K])
        return pendingFault(I, S.First + K, true, true);
  if (E.BranchOnVcc && PendingScalar[SlotVCC])
    return pendingFault(I, SlotVCC, true, false);
  // A younger load of the same kind delivers after the older one; on gfx12
  // those of vector memory do in any order.
  bool Vector =
      E.Space == MemorySpace::Global || E.Space == MemorySpace::Scratch;
  bool Lds = I->Class == InstClass::LDS;
  WaitCounter Mine = Lds ? WaitLds : WaitLoad;
  bool InOrder = (Vector || Lds) && !outOfOrder(Mine);
  const uint32_t Overwritten =
      Vector && L.Generation >= 12
          ? accessedBits(I, L.Generation, /*IsStore=*/false)
          : 0;
  for (const RegisterSpan &S : E.VectorWrite)
    for (unsigned K = 0; K < S.Count; ++K) {
      unsigned R = S.First + K;
      if (!PendingVector[R])
        continue;
      unsigned Same = 0;
      for (const Event &Ev : Queues[Mine].Events) {
        // LDS keeps its order, whatever a scalar load does in between.
        if (!InOrder && (!Lds || Ev.Type != LdsAccess))
          continue;
        const uint32_t Bits = bitsInFlight(Ev, R);
        Same += Bits && !(Bits & Overwritten) ? 1 : 0;
      }
      if (Same < PendingVector[R])
        return pendingFault(I, R, false, true);
    }
  return true;
}

bool WaitChecker::unfinishedLds(const Inst *I, uint32_t Address, unsigned Bytes,
                                unsigned Lane, bool IsStore) {
  for (WaitCounter C : {WaitLoad, WaitAsync, WaitTensor}) {
    // A store meanwhile may be lost, or copied.
    if (IsStore && C == WaitLoad)
      continue;
    for (const Event &Ev : Queues[C].Events) {
      const bool Loads =
          Ev.I->Record->Facts.Memory.Access == MemoryAccess::Load;
      if (!Ev.FillsLds || !(IsStore || Loads) ||
          llvm::none_of(Ev.Filled, [&](const LdsPiece &P) {
            return Address < P.End && Address + Bytes > P.Begin;
          }))
        continue;
      return faultCheck(W, "waits", I, int(Lane),
                        "LDS access of " + std::to_string(Bytes) +
                            " bytes at " + std::to_string(Address) +
                            " before what " + W.L->Code->text(Ev.I) + " at " +
                            W.L->Symbols->symbolize(Ev.I->Address) +
                            (Loads ? " loads there" : " stores from there") +
                            " has been waited for: a wait for " +
                            counterName(C, L.Generation) + " is missing");
    }
  }
  return true;
}

bool WaitChecker::isUnderWay(uint32_t Number) const {
  for (const EventQueue &Q : Queues)
    for (const Event &Ev : Q.Events)
      if (Ev.Number == Number)
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Code that is not executed
//===----------------------------------------------------------------------===//
//
// The state before an instruction is what is under way on all paths to it, each
// with the most younger events of its counter on any path. States only shrink,
// and counts only grow to what the counter holds, so this ends. Counters that
// count out of order are taken to keep an order here: fewer errors, none that
// is false.

namespace {
/// A register that an instruction under way will write.
struct PendingRegister {
  uint16_t Register;
  bool Scalar;
  WaitCounter Counter;
  uint8_t Younger; ///< events of the counter, at most
  uint32_t Bits;
  const Inst *Producer;

  auto key() const { return std::tie(Scalar, Register, Counter); }
};
using WaitState = std::vector<PendingRegister>; ///< sorted by key

class StaticWaits {
public:
  StaticWaits(const InstructionTable &P, const CodeEffects &All)
      : P(P), All(All), Begin(P.instructions().data()),
        Generation(P.chip().Generation), IsLeader(P.instructions().size()) {}
  std::optional<MissingWait> find(const Inst *Entry);

private:
  bool isKnown(const Inst *I) const {
    return I && size_t(I - Begin) + 1 < IsLeader.size() && I->Size &&
           P.problem(I).empty();
  }
  void enter(const Inst *I, const WaitState &S);
  /// Executes from a leader to the next one. With First, says what is wrong.
  void walk(const Inst *I, WaitState S, std::optional<MissingWait> *First);
  std::optional<MissingWait> check(const Inst *I, const Effects &E,
                                   const WaitState &S) const;
  void execute(const Inst *I, const Effects &E, WaitState &S) const;
  void issue(const Inst *I, const Effects &E, WaitState &S) const;
  void push(WaitState &S, WaitCounter C, const Inst *I, RegisterSpan Vector,
            RegisterSpan Scalar) const;

  const InstructionTable &P;
  const CodeEffects &All;
  const Inst *const Begin;
  const unsigned Generation;
  std::vector<bool> IsLeader;
  std::map<const Inst *, WaitState> States; ///< of leaders that are reached
  std::vector<const Inst *> Open;
};
} // namespace

void StaticWaits::push(WaitState &S, WaitCounter C, const Inst *I,
                       RegisterSpan Vector, RegisterSpan Scalar) const {
  // A counter that is full has the instruction wait for the oldest event.
  const unsigned Most = counterMaximum(C, Generation);
  llvm::erase_if(S, [&](PendingRegister &R) {
    return R.Counter == C && ++R.Younger >= Most;
  });
  auto Add = [&](RegisterSpan Span, bool IsScalar) {
    for (unsigned K = 0; K < Span.Count; ++K) {
      const PendingRegister New = {
          uint16_t(Span.First + K),
          IsScalar,
          C,
          0,
          IsScalar ? ~0u : accessedBits(I, Generation, /*IsStore=*/false),
          I};
      auto It = llvm::lower_bound(S, New, [](const auto &A, const auto &B) {
        return A.key() < B.key();
      });
      if (It != S.end() && It->key() == New.key())
        *It = New;
      else
        S.insert(It, New);
    }
  };
  Add(Vector, false);
  Add(Scalar, true);
}

void StaticWaits::issue(const Inst *I, const Effects &E, WaitState &S) const {
  const WaitCounter Stores = Generation == 9 ? WaitLoad : WaitStore;
  if (E.CacheWrite || E.CacheLoad)
    return push(S, E.CacheLoad ? WaitLoad : Stores, I, {}, {});
  switch (E.Space) {
  case MemorySpace::Scalar:
    return push(S, Generation >= 12 ? WaitScalar : WaitLds, I, {},
                E.ScalarWrite[0]);
  case MemorySpace::Lds:
    return push(S, WaitLds, I, E.VectorWrite[0], {});
  case MemorySpace::None:
    if (I->Class == InstClass::LDS)
      push(S, WaitLds, I, E.VectorWrite[0], {});
    return;
  default:
    push(S, memoryCounter(E, Generation), I, E.VectorWrite[0], {});
    // Flat memory may be LDS.
    if (E.Space == MemorySpace::Flat)
      push(S, WaitLds, I, E.VectorWrite[0], {});
  }
}

/// Whether one of the spans has the register.
template <size_t N>
static bool has(const RegisterSpan (&Spans)[N], unsigned Register) {
  return llvm::any_of(Spans, [&](const RegisterSpan &S) {
    return Register >= S.First && Register < S.First + S.Count;
  });
}

std::optional<MissingWait> StaticWaits::check(const Inst *I, const Effects &E,
                                              const WaitState &S) const {
  for (const PendingRegister &R : S) {
    bool IsRead = R.Scalar ? has(E.ScalarRead, R.Register) ||
                                 (E.BranchOnVcc && R.Register == SlotVCC)
                           : has(E.VectorRead, R.Register);
    // A store may read the half that is there.
    if (IsRead && !R.Scalar && E.Access == MemoryAccess::Store)
      IsRead = R.Bits & accessedBits(I, Generation, /*IsStore=*/true);
    if (IsRead)
      return MissingWait{I,        R.Producer, R.Register,
                         R.Scalar, R.Counter,  R.Younger};
  }
  return std::nullopt;
}

void StaticWaits::execute(const Inst *I, const Effects &E, WaitState &S) const {
  if (E.Waits != WaitKind::None) {
    const WaitLimits Limits = waitLimits(*I, E.Waits, Generation);
    llvm::erase_if(S, [&](const PendingRegister &R) {
      const unsigned Most = Limits.Most[R.Counter];
      return Most != WaitLimits::Any && R.Younger >= Most;
    });
    return;
  }
  // Whatever overwrites a register, nobody reads the old result there.
  llvm::erase_if(S, [&](const PendingRegister &R) {
    return R.Scalar ? has(E.ScalarWrite, R.Register)
                    : has(E.VectorWrite, R.Register);
  });
  issue(I, E, S);
}

void StaticWaits::enter(const Inst *I, const WaitState &S) {
  if (!isKnown(I))
    return;
  const auto [It, New] = States.try_emplace(I, S);
  WaitState &Before = It->second;
  bool Changed = New;
  for (size_t K = 0; !New && K < Before.size();) {
    PendingRegister &R = Before[K];
    auto Other = llvm::lower_bound(
        S, R, [](const auto &A, const auto &B) { return A.key() < B.key(); });
    if (Other == S.end() || Other->key() != R.key()) {
      Before.erase(Before.begin() + ptrdiff_t(K));
      Changed = true;
      continue;
    }
    Changed |= Other->Younger > R.Younger || (Other->Bits & R.Bits) != R.Bits;
    R.Younger = std::max(R.Younger, Other->Younger);
    R.Bits &= Other->Bits;
    ++K;
  }
  if (Changed)
    Open.push_back(I);
}

void StaticWaits::walk(const Inst *I, WaitState S,
                       std::optional<MissingWait> *First) {
  for (bool IsFirst = true; isKnown(I); ++I, IsFirst = false) {
    if (!IsFirst && IsLeader[size_t(I - Begin)]) {
      if (!First)
        enter(I, S);
      return;
    }
    const Effects &E = All.List[size_t(I - Begin)];
    if (First && !*First)
      *First = check(I, E, S);
    const isa::InstructionDescription &D = I->Record->Description;
    execute(I, E, S);
    if (D.IsDirect && !First)
      enter(I->Target, S);
    if (D.EndsWave || D.IsBarrier)
      return;
    // Callees wait for what they need, and for all before they return.
    if (D.IsCall)
      S.clear();
  }
}

std::optional<MissingWait> StaticWaits::find(const Inst *Entry) {
  for (const Inst &I : P.instructions())
    if (I.Size && I.Target && I.Record->Description.IsDirect)
      IsLeader[size_t(I.Target - Begin)] = true;
  enter(Entry, {});
  while (!Open.empty()) {
    const Inst *I = Open.back();
    Open.pop_back();
    walk(I, States.at(I), nullptr);
  }
  std::optional<MissingWait> First;
  for (const auto &[I, S] : States)
    if (!First)
      walk(I, S, &First);
  return First;
}

std::optional<MissingWait>
lnbwd::sim::findMissingWait(const InstructionTable &P,
                            const CodeEffects &Effects, const Inst *Entry) {
  return StaticWaits(P, Effects).find(Entry);
}
