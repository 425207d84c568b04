//===- HazardRules.cpp - Distances that hardware does not keep ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sources: the tables of "Manually Inserted Wait States (NOPs)" and "Dependency
// Resolution: Required Independent Instructions" in AMD's ISA documents (Vega,
// section 4.5; MI100, MI200 and MI300, sections 4.5 and 7.6), and, where those
// are silent (gfx950, distances by passes), what LLVM 22's hazard recogniser
// inserts between two such instructions (llc -run-pass=post-RA-hazard-rec).
//
//===----------------------------------------------------------------------===//

#include "Check/HazardChecker.h"

#include "Core/MatrixShape.h"
#include "SimulatedChip.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/STLExtras.h"

using namespace lnbwd;
using namespace lnbwd::sim;

/// Whether registers of the second instruction are results of the first one.
template <size_t N, size_t M>
static bool overlapAny(const RegisterSpan (&Second)[N],
                       const RegisterSpan (&First)[M]) {
  return llvm::any_of(Second, [&](const RegisterSpan &S) {
    return llvm::any_of(First,
                        [&](const RegisterSpan &F) { return overlap(S, F); });
  });
}
static bool readsVector(const HazardPair &P) {
  return overlapAny(P.SecondEffects->VectorRead, P.FirstEffects->VectorWrite);
}
static bool writesSame(const HazardPair &P) {
  return overlapAny(P.SecondEffects->VectorWrite, P.FirstEffects->VectorWrite);
}
static bool readsScalar(const HazardPair &P) {
  return overlapAny(P.SecondEffects->ScalarRead, P.FirstEffects->ScalarWrite);
}
/// Of the first one's source number K.
static bool overwrites(const HazardPair &P, unsigned K) {
  return llvm::any_of(P.SecondEffects->VectorWrite, [&](const RegisterSpan &W) {
    return overlap(W, P.FirstEffects->VectorRead[K]);
  });
}

static bool isDouble(const HazardFacts *F) { return F->Roles & RoleDouble; }

template <unsigned N> static unsigned always(const HazardPair &) { return N; }
template <unsigned N> static unsigned vectorRead(const HazardPair &P) {
  return readsVector(P) ? N : 0;
}
template <unsigned N> static unsigned scalarRead(const HazardPair &P) {
  return readsScalar(P) ? N : 0;
}
template <unsigned N> static unsigned laneSelect(const HazardPair &P) {
  const RegisterSpan Lane = P.SecondEffects->ScalarRead[1];
  for (const RegisterSpan &W : P.FirstEffects->ScalarWrite)
    if (overlap(W, Lane))
      return N;
  return 0;
}
static unsigned sameHardwareRegister(const HazardPair &P) {
  return (P.First->Imm & 63) == (P.Second->Imm & 63) ? 2 : 0;
}
template <unsigned N> static unsigned storedOverwritten(const HazardPair &P) {
  return overwrites(P, 1) ? N : 0;
}

static unsigned doubleBetween(const HazardPair &P) {
  return P.DoubleBetween && readsVector(P) ? 2 : 0;
}

/// Where a matrix instruction, not of f64, is done.
static unsigned afterPasses(const HazardPair &P) {
  const HazardFacts &F = *P.FirstFacts;
  return F.Passes + (F.Xdl ? 3 : 2) +
         (P.IsGfx950 && F.Xdl && F.Passes != 2 ? 1 : 0);
}
/// A matrix result that something else than a matrix instruction reads.
static unsigned matrixRead(const HazardPair &P) {
  if (!readsVector(P))
    return 0;
  const unsigned Passes = P.FirstFacts->Passes;
  if (isDouble(P.FirstFacts)) {
    if (P.SecondFacts->Roles & RoleMemory)
      return Passes == 4 ? 9 : 18;
    return Passes == 4 ? 6 : P.IsGfx950 ? 19 : 11;
  }
  return afterPasses(P);
}
/// A matrix result that something else overwrites.
static unsigned matrixOverwritten(const HazardPair &P) {
  if (!writesSame(P))
    return 0;
  if (isDouble(P.FirstFacts))
    return P.FirstFacts->Passes == 4 ? 6 : 11;
  return afterPasses(P);
}
/// The addend of a matrix instruction, which something else overwrites.
static unsigned addendOverwritten(const HazardPair &P) {
  if (isDouble(P.FirstFacts) || !P.FirstFacts->Xdl || !overwrites(P, 2))
    return 0;
  return P.FirstFacts->Passes - 1;
}
/// A matrix result in another matrix instruction, gfx90a on.
static unsigned matrixInMatrix(const HazardPair &P) {
  const RegisterSpan Result = P.Result;
  const HazardFacts &F = *P.FirstFacts;
  const bool First64 = isDouble(P.FirstFacts),
             Second64 = isDouble(P.SecondFacts);
  unsigned Needs = 0;
  // The factors, the index and the scales.
  for (unsigned K : {0, 1, 3, 4})
    if (overlap(P.SecondEffects->VectorRead[K], Result))
      Needs = !First64        ? afterPasses(P)
              : F.Passes == 4 ? 6
              : P.IsGfx950    ? 19
                              : 11;
  const RegisterSpan C = P.SecondEffects->VectorRead[2];
  if (!overlap(C, Result))
    return Needs;
  const bool Same = C.First == Result.First && C.Count == Result.Count;
  unsigned ForAddend = 0;
  if (Same) {
    // Accumulation waits by itself, but for the shortest.
    if (First64 && Second64 && F.Passes == 4 && P.SecondFacts->Passes == 4)
      ForAddend = 4;
    else if (P.IsGfx940 && F.Passes == 2)
      ForAddend = 2;
  } else if (First64) {
    ForAddend = !Second64 ? 0 : F.Passes == 4 ? 4 : P.IsGfx950 ? 17 : 9;
  } else if (P.IsGfx940) {
    if (F.Xdl || !P.SecondFacts->Xdl)
      ForAddend = F.Passes + (F.Xdl ? 1 : 0) + (P.IsGfx950 && F.Xdl ? 1 : 0);
  } else {
    ForAddend = F.Passes + (Second64 ? 1 : 0);
  }
  return std::max(Needs, ForAddend);
}

// gfx908, whose matrix results are in accumulation registers.
static unsigned bySize(const HazardPair &P, unsigned Small, unsigned Middle,
                       unsigned Large) {
  const unsigned Passes = P.FirstFacts->Passes;
  return Passes == 2 ? Small : Passes == 8 ? Middle : Large;
}
static unsigned accumulatorInMatrix(const HazardPair &P) {
  const RegisterSpan Result = P.FirstEffects->VectorWrite[0];
  auto Hits = [&](unsigned K) {
    const RegisterSpan S = P.SecondEffects->VectorRead[K];
    return overlap(S, Result) &&
           (S.First != Result.First || S.Count != Result.Count);
  };
  return Hits(0) || Hits(1) ? 4 : Hits(2) ? 2 : 0;
}
static unsigned accumulatorRead(const HazardPair &P) {
  return readsVector(P) ? bySize(P, 4, 10, 18) : 0;
}
static unsigned accumulatorOverwritten(const HazardPair &P) {
  return writesSame(P) ? bySize(P, 1, 7, 15) : 0;
}
static unsigned accumulatorAddend(const HazardPair &P) {
  return overwrites(P, 2) ? bySize(P, 0, 5, 13) : 0;
}
static unsigned accumulatorWritten(const HazardPair &P) {
  const RegisterSpan Result = P.FirstEffects->VectorWrite[0];
  const bool Factor = overlap(P.SecondEffects->VectorRead[0], Result) ||
                      overlap(P.SecondEffects->VectorRead[1], Result);
  return Factor ? 3 : overlap(P.SecondEffects->VectorRead[2], Result) ? 1 : 0;
}

// Dot products, gfx90a on: another operation needs their result later than the
// same one's addend.
static unsigned dotResult(const HazardPair &P) {
  const bool Same = P.First->Record->Name == P.Second->Record->Name;
  for (unsigned K = 0; K < (Same ? 2u : 4u); ++K)
    for (const RegisterSpan &W : P.FirstEffects->VectorWrite)
      if (overlap(P.SecondEffects->VectorRead[K], W))
        return 3;
  return !Same && writesSame(P) ? 3 : 0;
}

static const HazardRule Table[] = {
    {ChipGfx9, RoleWritesSgpr, RoleVectorMemory, 5, scalarRead<5>,
     "a vector memory instruction reads a scalar register that the vector ALU "
     "has written"},
    {ChipGfx9, RoleWritesVgpr | RoleMatrix, RoleDpp, 2, vectorRead<2>,
     "DPP reads a register that the vector ALU has written"},
    {ChipGfx9, RoleWritesExec, RoleDpp, 5, always<5>,
     "DPP follows a vector ALU write of EXEC"},
    {ChipGfx9, RoleWritesSgpr, RoleDivFmas, 4, scalarRead<4>,
     "v_div_fmas reads the VCC that the vector ALU has written"},
    {ChipGfx9, RoleWritesSgpr, RoleLaneSelect, 4, laneSelect<4>,
     "a lane is selected by a scalar register that the vector ALU has "
     "written"},
    {ChipGfx9, RoleSetReg, RoleSetReg | RoleGetReg, 2, sameHardwareRegister,
     "a hardware register is accessed after s_setreg has written it"},
    {ChipGfx9, RoleWritesM0, RoleReadsM0, 1, always<1>,
     "M0 is used as an index or a base after the scalar ALU has written it"},
    {ChipGfx908 | ChipGfx90a, RoleWideStore, RoleVector, 1,
     storedOverwritten<1>,
     "the data of a store of more than 8 bytes is overwritten"},
    {ChipGfx940On, RoleWideStore, RoleVector, 2, storedOverwritten<2>,
     "the data of a store of more than 8 bytes is overwritten"},
    {ChipGfx940On, RoleTrans, RoleVector, 1, vectorRead<1>,
     "the result of the transcendental unit is read"},
    {ChipGfx940On, RolePartialWrite, RoleVector, 1, vectorRead<1>,
     "a register is read of which a byte or the upper half has been written"},
    {ChipGfx940On, RoleWritesSgpr, RoleReadsSgpr, 2, scalarRead<2>,
     "the vector ALU reads a scalar register that it has written"},
    {ChipGfx940On, RoleWritesVgpr | RoleMatrix, RoleReadLane, 1, vectorRead<1>,
     "a lane is read of a register that the vector ALU has written"},
    {ChipGfx940On, RoleWritesExec, RoleReadLane | RoleWriteLane, 4, always<4>,
     "a lane is read or written after a vector ALU write of EXEC"},
    {ChipGfx9, RoleWritesExec, RoleMatrix, 4, always<4>,
     "a matrix instruction follows a vector ALU write of EXEC"},
    {ChipGfx908, RoleWritesExec, RoleAccWrite, 4, always<4>,
     "v_accvgpr_write follows a vector ALU write of EXEC"},
    {ChipGfx908, RoleWritesVgpr, RoleMatrix | RoleAccWrite, 2, vectorRead<2>,
     "a matrix instruction reads a register that the vector ALU has written"},
    {ChipGfx90aOn, RoleWritesVgpr, RoleMatrix, 2, vectorRead<2>,
     "a matrix instruction reads a register that the vector ALU has written"},
    {ChipGfx908, RoleMatrix, RoleMatrix, 4, accumulatorInMatrix,
     "a matrix instruction reads another one's result"},
    {ChipGfx908, RoleMatrix, RoleAccRead, 18, accumulatorRead,
     "the result of a matrix instruction is read"},
    {ChipGfx908, RoleMatrix, RoleAccWrite, 15, accumulatorOverwritten,
     "the result of a matrix instruction is overwritten"},
    {ChipGfx908, RoleMatrix, RoleAccWrite, 13, accumulatorAddend,
     "the addend of a matrix instruction is overwritten"},
    {ChipGfx908, RoleAccWrite, RoleMatrix | RoleAccRead, 3, accumulatorWritten,
     "an accumulation register is read after v_accvgpr_write"},
    {ChipGfx908, RoleAccRead, RoleMemory, 2, vectorRead<2>,
     "a memory instruction reads what v_accvgpr_read has written"},
    {ChipGfx90aOn, RoleMatrix, RoleMatrix, 20, matrixInMatrix,
     "a matrix instruction reads another one's result"},
    {ChipGfx90aOn, RoleMatrix, RoleVector | RoleMemory, 20, matrixRead,
     "the result of a matrix instruction is read"},
    {ChipGfx90aOn, RoleMatrix, RoleVector | RoleMemory, 20, matrixOverwritten,
     "the result of a matrix instruction is overwritten"},
    {ChipGfx90aOn, RoleMatrix, RoleVector | RoleMemory, 15, addendOverwritten,
     "the addend of a matrix instruction is overwritten"},
    {ChipGfx90aOn, RoleDot, RoleVector | RoleMemory, 3, dotResult,
     "the result of a dot product is used"},
    {ChipGfx90aOn, RoleDouble, RoleFma64, 2, always<2>,
     "v_fma_f64 follows a matrix instruction of f64"},
    {ChipGfx90a, RoleWritesVgpr, RoleMemory, 2, doubleBetween,
     "a memory instruction reads a vector ALU result, with a matrix "
     "instruction of f64 between"},
    {ChipGfx950, RoleWritesVgpr | RoleMatrix, RoleSwapsLanes, 2, vectorRead<2>,
     "a lane swap reads a register that the vector ALU has written"},
    {ChipGfx950, RoleWritesExec, RoleSwapsLanes, 4, always<4>,
     "a lane swap follows a vector ALU write of EXEC"},
};

/// The bit of a chip in the rules' masks, 0 where they are for none of its
/// kind.
static uint8_t chipBit(const SimulatedChip &Chip) {
  return Chip.MatrixGeneration ? uint8_t(1u << (Chip.MatrixGeneration - 1)) : 0;
}

static uint8_t passesOf(const Inst &I) {
  const isa::InstructionDescription &D = I.Record->Description;
  const bool HasBytes = bitsOf(I.Matrix->A) == 8 || bitsOf(I.Matrix->B) == 8;
  return uint8_t(D.Passes << (D.PassesVary && HasBytes));
}

static uint32_t vectorRoles(const Inst &I, const Effects &E,
                            const SimulatedChip &Chip) {
  const uint32_t Flags = I.Record->Facts.Flags;
  uint32_t Roles = RoleVector;
  if (I.Matrix)
    return Roles | RoleMatrix |
           (I.Matrix->A == MatrixType::F64 ? RoleDouble : 0u);
  const bool Dot = Flags & isa::FactDot;
  const bool FromGfx90a = Chip.MatrixGeneration != 1;
  // Of gfx90a on, dot products are another matter.
  // gfx908 has other rules for what goes to accumulation registers.
  if (E.VectorWrite[0].Count &&
      (FromGfx90a ? !Dot : E.VectorWrite[0].First < RowAGPR0))
    Roles |= RoleWritesVgpr;
  if (Dot)
    Roles |= RoleDot;
  for (const RegisterSpan &S : E.ScalarWrite)
    Roles |= S.Count ? RoleWritesSgpr : 0u;
  for (const RegisterSpan &S : E.ScalarRead)
    Roles |= S.Count ? RoleReadsSgpr : 0u;
  if (E.WritesExec)
    Roles |= RoleWritesExec;
  if (E.Counted == CountClass::Transcendental)
    Roles |= RoleTrans;
  if ((I.Flags & FlagDstHigh) ||
      ((I.Flags & FlagSdwa) && I.DstSel != Sdwa::Dword))
    Roles |= RolePartialWrite;
  if (I.Flags & FlagDpp)
    Roles |= RoleDpp;
  if (Flags & isa::FactDivides)
    Roles |= RoleDivFmas;
  if (E.How == Flow::ReadLane)
    Roles |= RoleReadLane;
  if (E.How == Flow::WriteLane)
    Roles |= RoleWriteLane;
  if (Flags & isa::FactSelectsLane)
    Roles |= RoleLaneSelect;
  if (Flags & isa::FactFusesF64)
    Roles |= RoleFma64;
  if ((Flags & isa::FactPermutes) && (Flags & isa::FactExchanges))
    Roles |= RoleSwapsLanes;
  if (Flags & isa::FactReadsAccumulator)
    Roles |= RoleAccRead;
  if (Flags & isa::FactWritesAccumulator)
    Roles |= RoleAccWrite;
  return Roles;
}

static uint32_t rolesOf(const Inst &I, const Effects &E,
                        const SimulatedChip &Chip) {
  const uint32_t Flags = I.Record->Facts.Flags;
  switch (I.Class) {
  case InstClass::Vector:
  case InstClass::Uncounted:
    return E.Counted == CountClass::ScalarAlu ? 0 : vectorRoles(I, E, Chip);
  case InstClass::LDS:
    return RoleMemory | (Flags & isa::FactUsesM0 ? RoleReadsM0 : 0u);
  case InstClass::VectorMemory: {
    uint32_t Roles = RoleMemory | RoleVectorMemory;
    if (E.ToLds)
      Roles |= RoleReadsM0;
    // A buffer whose offset is in a register keeps its data.
    const bool Buffer = I.Record->Facts.Memory.Descriptor;
    if (E.Access != MemoryAccess::Load && E.VectorRead[1].Count > 2 &&
        (!Buffer || I.Src[3].Kind != OperandKind::SGPR))
      Roles |= RoleWideStore;
    return Roles;
  }
  case InstClass::Scalar: {
    uint32_t Roles = 0;
    if (Flags & isa::FactWritesHardware)
      Roles |= RoleSetReg;
    if (Flags & isa::FactReadsHardware)
      Roles |= RoleGetReg;
    if (Flags & isa::FactUsesM0)
      Roles |= RoleReadsM0;
    for (const RegisterSpan &S : E.ScalarWrite)
      if (S.Count && S.First <= SlotM0 && S.First + S.Count > SlotM0)
        Roles |= RoleWritesM0;
    return Roles;
  }
  default:
    return 0;
  }
}

static HazardFacts hazardFacts(const Inst &I, const Effects &E,
                               const SimulatedChip &Chip,
                               const std::vector<HazardRule> &Rules) {
  HazardFacts F;
  if (I.Class == InstClass::Uncounted)
    F.WaitStates = 0;
  else if (I.Class == InstClass::Scalar &&
           (I.Record->Facts.Flags & isa::FactIdles))
    F.WaitStates = uint8_t((I.Imm & 15) + 1);
  F.Roles = rolesOf(I, E, Chip);
  if (I.Matrix) {
    const uint8_t Bit = chipBit(Chip);
    F.Passes = passesOf(I);
    F.Xdl = I.Matrix->A != MatrixType::F64 &&
            (!(Bit & ChipGfx940On) || I.Matrix->A != MatrixType::F32);
  }
  for (size_t K = 0; K < Rules.size(); ++K) {
    if (F.Roles & Rules[K].First)
      F.Produces |= 1u << K;
    // What is between matrix instructions has rules of its own.
    const bool OwnRules =
        (F.Roles & RoleMatrix) && (Rules[K].Second & RoleMemory);
    if ((F.Roles & Rules[K].Second) && !OwnRules)
      F.Consumes |= 1u << K;
  }
  return F;
}

/// Which of the newer chips' hazards a chip has, as LLVM 22 knows them.
static uint8_t newerHazards(const SimulatedChip &Chip, unsigned WaveSize) {
  uint8_t Hazards = 0;
  if (Chip.Generation == 11 && WaveSize == 64)
    Hazards |= NewerForwarding;
  if (Chip.Generation >= 11)
    Hazards |= NewerMatrix | NewerPermlane;
  if (Chip.HasTransUseHazard)
    Hazards |= NewerTrans;
  if (Chip.Generation >= 12)
    Hazards |= Chip.isCdna5() ? NewerBeside : NewerSgpr;
  return Hazards;
}

CodeHazards::CodeHazards(const InstructionTable &P, const CodeEffects &Effects)
    : Newer(newerHazards(P.chip(), P.waveSize())) {
  const uint8_t Bit = chipBit(P.chip());
  IsGfx940 = Bit & ChipGfx940On;
  IsGfx950 = Bit == ChipGfx950;
  if (!Bit)
    return;
  uint32_t Roles = 0;
  for (size_t K = 0; K < Effects.List.size(); ++K)
    if (P.instructions()[K].Size)
      Roles |= rolesOf(P.instructions()[K], Effects.List[K], P.chip());
  for (const HazardRule &R : Table)
    if ((R.Chips & Bit) && (R.First & Roles) && (R.Second & Roles))
      Rules.push_back(R);
  for (size_t K = 0; K < Effects.List.size(); ++K)
    Facts.push_back(
        P.instructions()[K].Size
            ? hazardFacts(P.instructions()[K], Effects.List[K], P.chip(), Rules)
            : HazardFacts());
}
