//===- StaticWaits.cpp - Waits in code that is not executed ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state before an instruction is what is under way on all paths to it, each
// with the most younger events of its counter on any path. States only shrink,
// and counts only grow to what the counter holds, so this ends. Counters that
// count out of order are taken to keep an order here: fewer errors, none that
// is false.
//
//===----------------------------------------------------------------------===//

#include "Check/StaticWaits.h"

#include "lnbwd/ISA/InstructionRecord.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

using namespace lnbwd;
using namespace lnbwd::sim;

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
  const bool IsStore = E.Access == MemoryAccess::Store ||
                       (E.Access == MemoryAccess::Atomic && !E.Returns);
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
    push(S, IsStore ? Stores : WaitLoad, I, E.VectorWrite[0], {});
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
