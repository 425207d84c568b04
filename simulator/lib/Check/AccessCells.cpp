//===- AccessCells.cpp - Who accessed which bytes -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Crowds and pages.
//
//===----------------------------------------------------------------------===//

#include "Check/AccessCells.h"

#include "Core/Environment.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace lnbwd::sim;

static bool sameWave(uint64_t A, uint64_t B) {
  return Moment::of(A).wave() == Moment::of(B).wave();
}

void Crowd::addToOthers(uint64_t M) {
  Others.raise(Moment::of(M).wave(), {0, Moment::of(M).clock(), 0});
  OneOfOthers = M;
}

void Accesses::add(uint64_t Moment,
                   llvm::function_ref<bool(uint64_t)> IsOrdered,
                   llvm::function_ref<void(uint64_t, Crowd &)> GaveUp) {
  Crowd *C = own();
  if (!C) {
    if (!Bits || sameWave(Bits, Moment) || IsOrdered(Bits)) {
      Bits = Moment;
      return;
    }
    C = new Crowd;
    C->Moments.push_back(Bits);
    C->Moments.push_back(Moment);
    Bits = reinterpret_cast<uint64_t>(C) | 1;
    return;
  }
  for (uint64_t &Old : C->Moments)
    if (sameWave(Old, Moment)) {
      Old = Moment;
      return;
    }
  if (C->Moments.size() >= Crowd::Most) {
    llvm::erase_if(C->Moments, IsOrdered);
    if (C->Moments.size() >= Crowd::Most) {
      const size_t Half = Crowd::Most / 2;
      for (size_t K = 0; K < Half; ++K)
        GaveUp(C->Moments[K], *C);
      C->Moments.erase(C->Moments.begin(), C->Moments.begin() + Half);
    }
  }
  C->Moments.push_back(Moment);
}

Accesses Accesses::copy() const {
  Accesses A;
  A.Bits = Bits;
  if (Crowd *C = crowd()) {
    auto *New = new Crowd(*C);
    New->Users = 1;
    A.Bits = reinterpret_cast<uint64_t>(New) | 1;
  }
  return A;
}

Crowd *Accesses::own() {
  Crowd *C = crowd();
  if (C && C->Users > 1)
    *this = copy();
  return crowd();
}

Cell Cell::copy() const {
  Cell C;
  C.Writes = Writes.copy();
  C.Reads = Reads.copy();
  C.Atomics = Atomics.copy();
  return C;
}

void CellPage::forget() {
  if (Cells)
    for (uint32_t K = 0; K < count(); ++K)
      for (Accesses *A : {&Cells[K].Writes, &Cells[K].Reads, &Cells[K].Atomics})
        A->clear();
  LeftOut = false;
}

CellBudget &CellBudget::get() {
  static CellBudget *Budget = [] {
    auto *B = new CellBudget;
    B->Most = RacesVariable.read().value_or(4096) << 20;
    return B;
  }();
  return *Budget;
}

void CellPage::uncount() {
  CellBudget::get().Bytes -= BytesCounted;
  BytesCounted = 0;
}

/// Makes the cells smaller, or makes the first ones, and the room for values.
bool CellPage::grow(unsigned Need, bool Counted, bool WithValues) {
  const bool Finer = !Cells || Granule > Need;
  const uint32_t New = Finer ? PageBytes >> Need : count();
  if (LeftOut)
    return false;
  if (Counted) {
    CellBudget &Budget = CellBudget::get();
    const uint64_t Bytes =
        uint64_t(New) * sizeof(Cell) + (Values || WithValues ? PageBytes : 0);
    const bool Fits =
        Budget.Bytes.fetch_add(Bytes) + Bytes - BytesCounted <= Budget.Most;
    uncount();
    if (!Fits) {
      Budget.Bytes -= Bytes;
      LeftOut = IsNew = true;
      Cells.reset();
      Values.reset();
      return false;
    }
    BytesCounted = Bytes;
  }
  if (WithValues && !Values)
    Values.reset(new uint8_t[PageBytes]);
  if (!Finer)
    return true;
  std::unique_ptr<Cell[]> Made(new Cell[New]);
  if (Cells) {
    const unsigned Step = unsigned(Granule) - Need;
    for (uint32_t K = 0; K < New; ++K)
      Made[K] = Cells[K >> Step].copy();
  }
  Cells = std::move(Made);
  Granule = uint8_t(Need);
  return true;
}

Cell *CellPage::present(uint32_t From, uint32_t To, uint32_t &Count) {
  if (!Cells)
    return nullptr;
  const uint32_t First = From >> Granule;
  Count = ((To - 1) >> Granule) + 1 - First;
  return &Cells[First];
}
