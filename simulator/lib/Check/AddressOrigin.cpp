//===- AddressOrigin.cpp - What an address is made from -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scalar addition or load that gives the address of a variable's first byte
// begins it. A sum with it, a copy and a choice between two such addresses
// belong to the same variable; what is made of two variables belongs to none.
//
// The argument of an address is found from its low half back through additions
// and moves to scalar loads of kernel arguments. The instruction that has
// written a register is taken for the last one before its use in the order of
// the code: a loop that moves a pointer on keeps the argument that the pointer
// began with.
//
//===----------------------------------------------------------------------===//

#include "Check/MemoryChecker.h"

#include "Core/Execution.h"
#include "Core/Instruction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>
#include <set>
#include <string>
#include <tuple>

using namespace lnbwd::sim;
using llvm::StringRef;

void SymbolRedzones::start(llvm::ArrayRef<DataSymbol> Variables) {
  Symbols = Variables;
  IsTainted = false;
  if (Symbols.empty())
    return;
  Rows.assign(NumVectorRows, Owner());
  Slots.assign(NumScalarSlots, 0);
}

uint32_t SymbolRedzones::startingAt(uint64_t Address) const {
  const auto *It =
      llvm::lower_bound(Symbols, Address, [](const DataSymbol &S, uint64_t X) {
        return S.Begin < X;
      });
  return It != Symbols.end() && It->Begin == Address
             ? uint32_t(It - Symbols.begin()) + 1
             : 0;
}

SymbolRedzones::Owner SymbolRedzones::ownerOf(const Effects &E) const {
  Owner Found;
  bool Several = false;
  auto Take = [&](uint32_t Symbol, uint64_t Lanes) {
    if (!Symbol)
      return;
    Several |= Found.Symbol && Found.Symbol != Symbol;
    Found.Lanes = Found.Symbol ? Found.Lanes & Lanes : Lanes;
    Found.Symbol = Symbol;
  };
  for (const RegisterSpan &S : E.VectorRead)
    if (S.Count)
      Take(Rows[S.First].Symbol, Rows[S.First].Lanes);
  for (const RegisterSpan &S : E.ScalarRead)
    if (S.Count)
      Take(Slots[S.First], ~0ull);
  return Several ? Owner() : Found;
}

/// Whether a scalar result may be the upper half of a variable's address.
inline bool SymbolRedzones::mayBegin(const Effects &E) const {
  for (const RegisterSpan &S : E.ScalarWrite)
    for (unsigned Slot = S.First | 1u; Slot < unsigned(S.First + S.Count);
         Slot += 2)
      if (W.S[Slot] >= Symbols.front().Begin >> 32 &&
          W.S[Slot] <= Symbols.back().Begin >> 32)
        return true;
  return false;
}

void SymbolRedzones::follow(const Inst *I, const Effects &E, uint64_t Exec) {
  if (!IsTainted && !mayBegin(E))
    return;
  Owner From;
  if (IsTainted && E.Access == MemoryAccess::None) {
    From = ownerOf(E);
    if (From.Symbol && !(I->Record->Facts.Flags & isa::FactKeepsAddress))
      From = Owner();
  }
  for (const RegisterSpan &S : E.VectorWrite)
    for (unsigned K = 0; K < S.Count; ++K) {
      Owner &To = Rows[S.First + K];
      if (K == 0 && From.Symbol) {
        const uint64_t Others = To.Symbol == From.Symbol ? To.Lanes & ~Exec : 0;
        To = {From.Symbol, (From.Lanes & Exec) | Others};
      } else {
        To.Lanes &= ~Exec;
      }
    }
  for (const RegisterSpan &S : E.ScalarWrite)
    for (unsigned K = 0; K < S.Count; ++K) {
      const unsigned Slot = S.First + K;
      const bool Low = !(Slot & 1);
      if (IsTainted)
        Slots[Slot] = Low && K % 2 == 0 ? From.Symbol : 0;
      // The upper half makes the address whole.
      if (!Low && (I->Class == InstClass::Scalar ||
                   I->Class == InstClass::ScalarMemory))
        if (const uint32_t Symbol = startingAt(W.scalar64(Slot - 1)))
          if (!Slots[Slot - 1]) {
            Slots[Slot - 1] = Symbol;
            IsTainted = true;
          }
    }
}

bool SymbolRedzones::fault(const Inst *I, int Lane, uint64_t Address,
                           unsigned Bytes, uint32_t Symbol) const {
  const DataSymbol &Base = Symbols[Symbol - 1];
  std::string Text = "access of " + std::to_string(Bytes) + " bytes, " +
                     std::to_string(int64_t(Address - Base.Begin)) +
                     " bytes from the beginning of the variable '" + Base.Name +
                     "' of " + std::to_string(Base.End - Base.Begin) +
                     " bytes, is outside of it";
  for (const DataSymbol &S : Symbols)
    if (Address < S.End && Address + Bytes > S.Begin) {
      Text += ", in '" + S.Name + "'";
      break;
    }
  return faultCheck(W, "memory", I, Lane, Text);
}

bool SymbolRedzones::check(const Inst *I, const Effects &E, const uint64_t *A,
                           uint64_t Mask, unsigned Bytes) const {
  uint32_t Symbol = 0;
  uint64_t Lanes = Mask;
  if (E.ScalarRead[2].Count == 2) {
    Symbol = Slots[E.ScalarRead[2].First];
  } else if (E.VectorRead[0].Count == 2) {
    Symbol = Rows[E.VectorRead[0].First].Symbol;
    Lanes &= Rows[E.VectorRead[0].First].Lanes;
  }
  if (!Symbol)
    return true;
  const DataSymbol &S = Symbols[Symbol - 1];
  for (unsigned Lane : LaneMask(Lanes)) {
    if (A[Lane] < S.Begin || A[Lane] + Bytes > S.End)
      return fault(I, int(Lane), A[Lane], Bytes, Symbol);
  }
  return true;
}

bool SymbolRedzones::checkScalar(const Inst *I, const Effects &E,
                                 uint64_t Address, unsigned Bytes) const {
  if (E.ScalarRead[0].Count != 2)
    return true;
  const uint32_t Symbol = Slots[E.ScalarRead[0].First];
  if (!Symbol)
    return true;
  const DataSymbol &S = Symbols[Symbol - 1];
  return (Address < S.End && Address + Bytes > S.Begin) ||
         fault(I, -1, Address, Bytes, Symbol);
}

namespace {
/// A register that an instruction reads.
struct Use {
  const Inst *By;
  unsigned Register;
  bool Scalar;
  bool operator<(const Use &Other) const {
    return std::tie(By, Register, Scalar) <
           std::tie(Other.By, Other.Register, Other.Scalar);
  }
};
} // namespace

/// Where a span of registers that an instruction writes has this one, or -1.
static int placeIn(llvm::ArrayRef<RegisterSpan> Written, unsigned Register) {
  for (const RegisterSpan &S : Written)
    if (Register >= S.First && Register < unsigned(S.First + S.Count))
      return int(Register - S.First);
  return -1;
}

/// The instruction before the use that writes its register, or null. Place:
/// which of the registers that it writes that is.
static const Inst *writerOf(const CodeEffects &Code, const Use &U, int &Place) {
  for (const Inst *I = U.By; I != Code.Begin;) {
    const Effects &E = Code.of(--I);
    Place = U.Scalar ? placeIn(E.ScalarWrite, U.Register)
                     : placeIn(E.VectorWrite, U.Register);
    if (Place >= 0)
      return I;
  }
  return nullptr;
}

/// The buffer that a kernel argument is the address of, or null.
static const Region *bufferAt(const Launch &L, uint64_t Offset) {
  uint64_t Pointer = 0;
  if (Offset + sizeof(Pointer) > L.TheKernel->KernargSize)
    return nullptr;
  std::memcpy(&Pointer, reinterpret_cast<const char *>(L.Kernarg) + Offset,
              sizeof(Pointer));
  const Region *R = findRegion(L.Regions, Pointer);
  return R && Pointer < R->End ? R : nullptr;
}

const Region *lnbwd::sim::argumentOf(const Launch &L, const CodeEffects &Code,
                                     const Inst *I) {
  std::vector<Use> Left;
  const Effects &Access = Code.of(I);
  if (I->Class == InstClass::ScalarMemory)
    Left.push_back({I, Access.ScalarRead[0].First, true});
  else if (Access.ScalarRead[2].Count >= 2) // A base, or a descriptor's.
    Left.push_back({I, Access.ScalarRead[2].First, true});
  else if (Access.VectorRead[0].Count == 2)
    Left.push_back({I, Access.VectorRead[0].First, false});

  const Region *Found = nullptr;
  std::set<Use> Known(Left.begin(), Left.end());
  while (!Left.empty()) {
    const Use U = Left.back();
    Left.pop_back();
    int Place = 0;
    const Inst *From = writerOf(Code, U, Place);
    if (!From)
      continue;
    const Effects &E = Code.of(From);
    if (From->Class == InstClass::ScalarMemory) {
      // Nothing has written the address of the arguments.
      int Ignored = 0;
      if (E.ScalarRead[0].Count != 2 || E.ScalarRead[1].Count ||
          writerOf(Code, {From, E.ScalarRead[0].First, true}, Ignored))
        return nullptr;
      const Region *R = bufferAt(L, uint64_t(From->Imm) + 4 * unsigned(Place));
      if (R && Found && R != Found)
        return nullptr;
      Found = R ? R : Found;
      continue;
    }
    if (E.Access != MemoryAccess::None ||
        !(From->Record->Facts.Flags & isa::FactKeepsAddress))
      continue;
    auto Add = [&](llvm::ArrayRef<RegisterSpan> Spans, bool Scalar) {
      for (const RegisterSpan &S : Spans) {
        const Use Next = {From, S.First + (Place < S.Count ? Place : 0u),
                          Scalar};
        if (S.Count && Known.insert(Next).second)
          Left.push_back(Next);
      }
    };
    Add(E.VectorRead, false);
    Add(E.ScalarRead, true);
  }
  return Found;
}
