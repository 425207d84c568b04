//===- Effects.cpp - What an instruction reads and writes -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector ALU instructions follow from the table that executes them. Of the
// others, LLVM's description says what is read and written beside the operands
// (SCC, VCC, M0, EXEC, the old destination) and what branches. What kind of
// instruction it is, and how definedness goes through it, is in its record.
//
//===----------------------------------------------------------------------===//

#include "Check/Effects.h"

#include "Core/MatrixShape.h"
#include "Core/Operation.h"

#include <algorithm>

using namespace lnbwd;
using namespace lnbwd::sim;

namespace {
class Finder {
public:
  Finder(const InstructionTable &P, const Inst &I) : P(P), I(I) {}
  Effects find();

private:
  void vectorRead(unsigned K, unsigned Count) {
    const Operand &O = I.Src[K];
    if (O.Kind == OperandKind::VGPR)
      E.VectorRead[K] = {O.Reg, uint8_t(Count)};
    else if (O.Kind == OperandKind::SGPR)
      E.ScalarRead[K] = {O.Reg, uint8_t(std::min<unsigned>(Count, O.Dwords))};
    else if (O.Kind == OperandKind::Mask)
      E.ScalarRead[K] = {O.Reg, maskDwords()};
  }
  uint8_t maskDwords() const { return P.waveSize() == 64 ? 2 : 1; }
  void scalarWrite(unsigned K, const Operand &O, unsigned Count) {
    if (O.Kind != OperandKind::SGPR || O.Reg >= SlotNull)
      return;
    E.ScalarWrite[K] = {O.Reg, uint8_t(Count)};
    if (O.Reg <= SlotExec + 1 && O.Reg + Count > SlotExec)
      E.WritesExec = true;
  }
  void lane();
  void crossLane();
  void memory();
  void scalar();
  void limits();
  void summary();

  const InstructionTable &P;
  const Inst &I;
  const isa::InstructionFacts &Facts = I.Record->Facts;
  const isa::InstructionDescription &Description = I.Record->Description;
  Effects E;
};
} // namespace

void Finder::lane() {
  const LaneOpInfo &Info = *I.Lane;
  if (I.Inner)
    return; // Registers by index: any may be meant.
  E.How = Facts.How;
  for (unsigned K = 0; K < I.NumSrc; ++K)
    vectorRead(K, std::max<unsigned>(rowsOf(Info.Src[K]), 1));
  if (!(Info.Flags & LaneMaskResult))
    E.VectorWrite[0] = {I.Dst.Reg, uint8_t(rowsOf(Info.Dst))};
  scalarWrite(0, I.Dst2, maskDwords());
  if (Info.Flags & LaneExecResult) {
    E.ScalarWrite[1] = {SlotExec, maskDwords()};
    E.WritesExec = true;
  }
}

void Finder::crossLane() {
  if (Facts.How == Flow::None || I.NumSrc == 0)
    return;
  E.How = Facts.How;
  for (unsigned K = 0; K < I.NumSrc; ++K)
    vectorRead(K, std::max<unsigned>(I.Src[K].Dwords, 1));
  if (E.How == Flow::ReadLane)
    return scalarWrite(0, I.Dst, 1);
  E.VectorWrite[0] = {I.Dst.Reg, std::max<uint8_t>(I.Dst.Dwords, 1)};
  if (Facts.Flags & isa::FactExchanges) {
    E.VectorWrite[1] = E.VectorRead[0];
    E.VectorRead[1] = E.VectorWrite[0];
  }
  E.Scatters = (Facts.Flags & isa::FactScatters) != 0;
  if (I.Matrix && I.Matrix->Scaled)
    E.VectorRead[4] = {I.Matrix->ScaleB.Reg, 1};
}

void Finder::memory() {
  const isa::MemoryFacts &M = Facts.Memory;
  E.NeedsScalars = true;
  E.Space = M.Space;
  E.Access = M.Access;
  if (I.Class == InstClass::ScalarMemory) {
    E.ScalarRead[0] = {I.Src[0].Reg, I.Src[0].Dwords};
    if (I.Src[1].Kind == OperandKind::SGPR)
      E.ScalarRead[1] = {I.Src[1].Reg, 1};
    return scalarWrite(0, I.Dst, std::max(1u, M.bytes() / 4));
  }
  for (unsigned K = 0; K < I.NumSrc && K < 4; ++K)
    vectorRead(K, std::max<unsigned>(I.Src[K].Dwords, 1));
  const bool Load = M.Access == MemoryAccess::Load;
  E.ToLds = Load && (I.Flags & FlagLds);
  E.Returns = M.Access == MemoryAccess::Atomic && (I.Flags & FlagReturn);
  E.CompareSwap = M.Access == MemoryAccess::Atomic &&
                  M.Atomic == isa::AtomicOp::CompareSwap;
  E.Swap = M.Access == MemoryAccess::Atomic && M.Atomic == isa::AtomicOp::Swap;
  if ((Load && !E.ToLds) || E.Returns)
    E.VectorWrite[0] = {I.Dst.Reg, std::max<uint8_t>(I.Dst.Dwords, 1)};
  // LDS accesses read it on chips before gfx9, whose descriptions gfx9 shares.
  if (E.ToLds && Description.ReadsM0)
    E.ScalarRead[4] = {SlotM0, 1};
  if (Load)
    E.VectorRead[1] = {};
}

void Finder::scalar() {
  E.CacheWrite = (Facts.Flags & isa::FactCacheWrite) != 0;
  E.CacheLoad = (Facts.Flags & isa::FactCacheLoad) != 0;
  if (Facts.Class == CountClass::Wait)
    return;
  if (Facts.Class == CountClass::Barrier) {
    E.WritesScc = Description.WritesScc;
    return;
  }
  // Those that are counted like a load, though they access no memory.
  E.Space = Facts.Memory.Space;
  E.Access = Facts.Memory.Access;
  E.BranchOnScc = Description.IsBranch && Description.ReadsScc;
  E.BranchOnVcc = Description.IsBranch && Description.ReadsVcc;
  E.NeedsScalars = Facts.Class == CountClass::Branch;
  for (unsigned K = 0; K < I.NumSrc && K < 4; ++K)
    if (I.Src[K].Kind == OperandKind::SGPR && I.Src[K].Reg < SlotNull)
      E.ScalarRead[K] = {I.Src[K].Reg, I.Src[K].Dwords};
  scalarWrite(0, I.Dst, std::max<unsigned>(I.Dst.Dwords, 1));
  if (Description.ReadsResult || (Facts.Flags & isa::FactKeepsResult))
    E.ScalarRead[4] = E.ScalarWrite[0];
  E.How = Facts.How;
  if (Description.WritesExec) {
    E.ScalarWrite[1] = {SlotExec, I.Dst.Dwords};
    E.WritesExec = true;
  }
  // What its parts mean (the index and what is indexed) is all set at once.
  if (Description.WritesM0) {
    E.ScalarWrite[1] = {SlotM0, 1};
    if (Facts.Flags & isa::FactKeepsM0)
      E.ScalarRead[4] = {SlotM0, 1};
  }
  E.ReadsScc = Description.ReadsScc;
  E.WritesScc = Description.WritesScc;
  E.IndexedDst = (Facts.Flags & isa::FactIndexedResult) != 0;
}

void Finder::limits() {
  auto Vector = [&](RegisterSpan S) {
    if (!S.Count || S.First >= RowTemp0)
      return;
    unsigned End = S.First + S.Count;
    if (S.First >= RowAGPR0)
      E.MaxAgpr = std::max<uint16_t>(E.MaxAgpr, uint16_t(End - RowAGPR0));
    else
      E.MaxVgpr = std::max<uint16_t>(E.MaxVgpr, uint16_t(End));
  };
  auto Scalar = [&](RegisterSpan S) {
    if (S.Count && S.First < SlotVCC)
      E.MaxSgpr = std::max<uint16_t>(E.MaxSgpr, uint16_t(S.First + S.Count));
  };
  for (RegisterSpan S : E.VectorRead)
    Vector(S);
  for (RegisterSpan S : E.VectorWrite)
    Vector(S);
  for (RegisterSpan S : E.ScalarRead)
    Scalar(S);
  for (RegisterSpan S : E.ScalarWrite)
    Scalar(S);
}

/// What makes the checks of most instructions short.
void Finder::summary() {
  auto Note = [](uint64_t &Used, llvm::ArrayRef<RegisterSpan> Spans) {
    for (RegisterSpan S : Spans)
      Used |= bitsOf(S);
  };
  Note(E.VectorsUsed, E.VectorRead);
  Note(E.VectorsUsed, E.VectorWrite);
  Note(E.ScalarsUsed, E.ScalarRead);
  E.ReadsScalars = E.ReadsScc || E.ScalarsUsed;
  uint64_t Written = 0;
  Note(Written, E.ScalarWrite);
  E.WritesScalars = Written != 0;
  E.ScalarsUsed |= Written | (E.BranchOnVcc ? bitsOf({SlotVCC, 1}) : 0);
  if (I.Lane && E.VectorWrite[0].Count)
    E.KeptBits = bitsKept(&I);
  E.IsPlain = (E.How == Flow::Lane || E.How == Flow::Bits) && I.Lane &&
              !I.Conversion && !I.Inner && !(I.Flags & FlagDpp) &&
              !E.KeptBits && !E.WritesScalars && !E.VectorWrite[1].Count;
  for (unsigned K = 0; K < I.NumSrc && E.IsPlain; ++K)
    for (unsigned R = 0; R < E.VectorRead[K].Count && E.IsPlain; ++R) {
      E.IsPlain = E.PlainCount < std::size(E.PlainRows);
      if (E.IsPlain)
        E.PlainRows[E.PlainCount++] = E.VectorRead[K].First + R;
    }
}

Effects Finder::find() {
  E.Counted = Facts.Class;
  E.Waits = Facts.Waits;
  E.Barrier = Facts.Barrier;
  switch (I.Class) {
  case InstClass::Vector:
  case InstClass::Uncounted:
    I.Lane ? lane() : crossLane();
    break;
  case InstClass::LDS:
    I.ElementBytes ? memory() : crossLane();
    break;
  case InstClass::VectorMemory:
  case InstClass::ScalarMemory:
    memory();
    break;
  default:
    scalar();
    break;
  }
  limits();
  E.Idles = (Facts.Flags & isa::FactNoEffect) != 0;
  summary();
  E.MayNeed = E.BranchOnScc || E.BranchOnVcc || E.NeedsScalars ||
              E.How == Flow::ScalarIndexed || E.Access != MemoryAccess::None;
  return E;
}

CodeEffects::CodeEffects(const InstructionTable &P)
    : Begin(P.instructions().data()), Covered(Coverage::create(P)) {
  List.reserve(P.instructions().size());
  for (const Inst &I : P.instructions()) {
    if (!I.Size) {
      List.emplace_back(); // the end of the code
      continue;
    }
    const Effects E = Finder(P, I).find();
    MaxVgpr = std::max(MaxVgpr, E.MaxVgpr);
    MaxAgpr = std::max(MaxAgpr, E.MaxAgpr);
    MaxSgpr = std::max(MaxSgpr, E.MaxSgpr);
    List.push_back(E);
  }
}
