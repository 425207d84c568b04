//===- SymbolBorders.cpp - Where device variables end ---------------------===//
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
//===----------------------------------------------------------------------===//

#include "Check/SymbolBorders.h"

#include "Core/Execution.h"
#include "Core/LaneMask.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

using namespace lnbwd::sim;
using llvm::StringRef;

void SymbolBorders::start(llvm::ArrayRef<DataSymbol> Variables) {
  Symbols = Variables;
  if (Symbols.empty())
    return;
  Rows.assign(NumVectorRows, Owner());
  Slots.assign(NumScalarSlots, 0);
}

uint32_t SymbolBorders::startingAt(uint64_t Address) const {
  const auto *It =
      llvm::lower_bound(Symbols, Address, [](const DataSymbol &S, uint64_t X) {
        return S.Begin < X;
      });
  return It != Symbols.end() && It->Begin == Address
             ? uint32_t(It - Symbols.begin()) + 1
             : 0;
}

SymbolBorders::Owner SymbolBorders::ownerOf(const Effects &E) const {
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

void SymbolBorders::after(const Inst *I, const Effects &E, uint64_t Exec) {
  Owner From;
  if (E.Access == MemoryAccess::None) {
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
      Slots[Slot] = Low && K % 2 == 0 ? From.Symbol : 0;
      // The upper half makes the address whole.
      if (!Low && (I->Class == InstClass::Scalar ||
                   I->Class == InstClass::ScalarMemory))
        if (const uint32_t Symbol = startingAt(W.scalar64(Slot - 1)))
          if (!Slots[Slot - 1])
            Slots[Slot - 1] = Symbol;
    }
}

bool SymbolBorders::fault(const Inst *I, int Lane, uint64_t Address,
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

bool SymbolBorders::check(const Inst *I, const Effects &E, const uint64_t *A,
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

bool SymbolBorders::checkScalar(const Inst *I, const Effects &E,
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
