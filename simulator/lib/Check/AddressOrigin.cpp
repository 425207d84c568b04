//===- AddressOrigin.cpp - The argument an address is made from -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the low half of the address back through additions and moves to scalar
// loads of kernel arguments. The instruction that has written a register is
// taken for the last one before its use in the order of the code: a loop that
// moves a pointer on keeps the argument that the pointer began with.
//
//===----------------------------------------------------------------------===//

#include "Check/AddressOrigin.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <set>
#include <tuple>
#include <vector>

using namespace lnbwd::sim;

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
