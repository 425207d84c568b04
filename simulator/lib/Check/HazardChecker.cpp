//===- HazardChecker.cpp - Wait states that are missing -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of gfx9 count wait states between two instructions. Newer chips
// wait by themselves but for a few cases, which LLVM 22 has names for; they are
// counted in vector instructions, and end with s_waitcnt_depctr (s_wait_alu).
//
//===----------------------------------------------------------------------===//

#include "Check/HazardChecker.h"

#include "Core/Execution.h"
#include "Core/Launch.h"
#include "Core/MatrixShape.h"

#include "llvm/ADT/STLExtras.h"

#include <iterator>

using namespace lnbwd;
using namespace lnbwd::sim;

/// So many later writes of the scalar ALU end it.
constexpr uint64_t SharedExpires = 11;

void HazardChecker::start() {
  Now = 1000;
  llvm::fill(Last, 0);
  llvm::fill(History, Past());
  Next = 0;
  Vectors = Transcendentals = Scalars = MayBeRead = MayBeOverwritten = 0;
  llvm::fill(Slow, TransResult());
  llvm::fill(ReadByVectors, false);
  llvm::fill(Overwritten, SharedWrite());
  llvm::fill(Results, VectorResult());
  llvm::fill(Products, MatrixResult());
  Matrices = 0;
  ExecWrites = 0;
  LastMatrix = LastExecWrite = nullptr;
  LastMatrixEffects = nullptr;
}

void HazardChecker::note(const Inst *I, const Effects &E,
                         const HazardFacts &F) {
  History[Next++ % Kept] = {I, &E, &F, Now};
  for (uint32_t Left = F.Produces; Left; Left &= Left - 1)
    Last[__builtin_ctz(Left)] = Now;
}

bool HazardChecker::checkRules(const Inst *I, const Effects &E,
                               const HazardFacts &F) {
  for (uint32_t Left = F.Consumes; Left; Left &= Left - 1) {
    const unsigned Rule = unsigned(__builtin_ctz(Left));
    if (Now - Last[Rule] <= Hazards.Rules[Rule].Most &&
        !checkRule(Rule, I, E, F))
      return false;
  }
  return true;
}

/// What is left of a span without those of its ends that are in another one.
static RegisterSpan without(RegisterSpan S, RegisterSpan Other) {
  const unsigned Begin = S.First, End = Begin + S.Count;
  const unsigned OtherEnd = Other.First + Other.Count;
  if (!overlap(S, Other))
    return S;
  if (Other.First <= Begin && OtherEnd >= End)
    return {};
  if (Other.First <= Begin)
    return {uint16_t(OtherEnd), uint8_t(End - OtherEnd)};
  return OtherEnd < End ? S
                        : RegisterSpan{S.First, uint8_t(Other.First - Begin)};
}

bool HazardChecker::checkRule(unsigned Rule, const Inst *I, const Effects &E,
                              const HazardFacts &F) {
  const HazardRule &R = Hazards.Rules[Rule];
  HazardPair P;
  P.Second = I;
  P.SecondEffects = &E;
  P.SecondFacts = &F;
  P.IsGfx940 = Hazards.IsGfx940;
  P.IsGfx950 = Hazards.IsGfx950;
  P.DoubleBetween = false;
  for (unsigned K = 1; K <= Kept; ++K) {
    const Past &Before = History[(Next - K) % Kept];
    const uint64_t Since = Now - Before.Time - 1;
    if (!Before.I || Since >= R.Most)
      return true;
    P.First = Before.I;
    P.FirstEffects = Before.E;
    P.FirstFacts = Before.F;
    P.Result = Before.E->VectorWrite[0];
    unsigned Needs = Before.F->Produces >> Rule & 1 ? R.Needs(P) : 0;
    // What reads the result of a matrix instruction between waits for that one.
    for (unsigned Between = 1; Needs > Since && Between < K; ++Between) {
      const Past &Younger = History[(Next - Between) % Kept];
      if (!(Younger.F->Roles & RoleMatrix))
        continue;
      P.Result = without(P.Result, Younger.E->VectorWrite[0]);
      Needs = R.Needs(P);
    }
    P.DoubleBetween |= (Before.F->Roles & RoleDouble) != 0;
    if (!Needs)
      continue;
    if (Since >= Needs)
      return true;
    return faultCheck(
        W, "hazards", I, -1,
        std::string("a hazard: ") + R.What + "; " + W.L->Code->text(Before.I) +
            " at " + W.L->Symbols->symbolize(Before.I->Address) + " needs " +
            std::to_string(Needs) + " wait state" + (Needs == 1 ? "" : "s") +
            " before it, and there " + (Since == 1 ? "is " : "are ") +
            std::to_string(Since) + ": s_nop " +
            std::to_string(Needs - Since - 1) + " is missing");
  }
  return true;
}

/// The vector ALU has nothing under way: as after so many instructions that
/// nothing before them counts.
void HazardChecker::dropVectorResults() { Vectors += 2 * Forwarded; }

/// The same of what the scalar ALU has overwritten.
void HazardChecker::dropOverwritten() {
  Scalars += SharedExpires;
  MayBeOverwritten = 0;
}

bool HazardChecker::newerFault(const Inst *I, const Inst *First,
                               const std::string &What,
                               const std::string &Remedy) {
  return faultCheck(W, "hazards", I, -1,
                    "a hazard: " + What + "; after " + W.L->Code->text(First) +
                        " at " + W.L->Symbols->symbolize(First->Address) + " " +
                        Remedy + " is missing");
}

/// The end of those scalar registers that the hazard of gfx12 is about.
static unsigned endOf(RegisterSpan S) {
  return S.Count && S.First < NumSharedScalars
             ? std::min<unsigned>(S.First + S.Count, NumSharedScalars)
             : 0;
}

/// A scalar register that the vector ALU has read, that the scalar ALU has
/// written since, and that is read now.
bool HazardChecker::checkShared(const Inst *I, const Effects &E) {
  if (!(E.ScalarsUsed & MayBeOverwritten))
    return true;
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned Slot = S.First; Slot < endOf(S); ++Slot) {
      const SharedWrite &By = Overwritten[Slot];
      if (!By.I || Scalars - By.Scalars >= SharedExpires)
        continue;
      const bool IsVector = I->Record->Facts.Where == isa::Unit::Vector;
      return newerFault(
          I, By.I,
          std::string("the ") + (IsVector ? "vector" : "scalar") +
              " ALU reads a scalar register that the vector ALU has read "
              "before and the scalar ALU has written since",
          "s_wait_alu with sa_sdst of 0");
    }
  return true;
}

/// What a vector instruction reads and writes of the shared registers.
void HazardChecker::noteShared(const Effects &E) {
  if (E.ReadsScalars)
    for (const RegisterSpan &S : E.ScalarRead)
      for (unsigned Slot = S.First; Slot < endOf(S); ++Slot) {
        ReadByVectors[Slot / 2] = true;
        MayBeRead |= bitsOf({uint16_t(Slot & ~1u), 2});
      }
  if (!E.WritesScalars)
    return;
  // For these LLVM does not always wait.
  for (const RegisterSpan &S : E.ScalarWrite)
    for (unsigned Slot = S.First; Slot < endOf(S); ++Slot)
      Overwritten[Slot].I = nullptr;
}

/// gfx11, waves of 64: results from before and after a write of EXEC, read
/// together while both are under way.
bool HazardChecker::checkForwarding(const Inst *I, const Effects &E) {
  // The youngest result of each register that is read.
  const VectorResult *Read[Forwarded];
  unsigned Count = 0;
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned R = S.First; R < unsigned(S.First + S.Count); ++R)
      for (uint64_t Back = 1; Back <= std::min<uint64_t>(Vectors, Forwarded);
           ++Back) {
        const VectorResult &Result = Results[(Vectors - Back) % Forwarded];
        if (!Result.I || Result.Vectors != Vectors - Back ||
            !overlap(Result.Result, {uint16_t(R), 1}))
          continue;
        if (Count < Forwarded)
          Read[Count++] = &Result;
        break;
      }
  for (unsigned A = 0; A < Count; ++A)
    for (unsigned B = 0; B < Count; ++B)
      if (Read[A]->ExecWrites != Read[B]->ExecWrites &&
          Read[A]->Vectors < Read[B]->Vectors &&
          Read[B]->Vectors - Read[A]->Vectors <= 3 &&
          Vectors - Read[B]->Vectors <= 5)
        return newerFault(I, Read[B]->I,
                          "two results are read of which one was made before "
                          "the scalar ALU wrote EXEC and one after it, a few "
                          "vector instructions ago",
                          "s_waitcnt_depctr with va_vdst of 0");
  return true;
}

/// Vector instructions that CDNA5 needs between a matrix instruction and one of
/// the vector ALU beside it. The shortest products need fewer than LLVM 22 has
/// there, as later versions of it know.
static unsigned besideMatrix(const MatrixShape &M) {
  if (M.A == MatrixType::F32 || M.A == MatrixType::F64)
    return 0;
  const bool IsShort = bitsOf(M.A) == 4 || (bitsOf(M.A) == 8 && M.K == 64);
  const unsigned Dense = isInteger(M.A) ? 8 : IsShort ? 1 : 4;
  return M.Sparse ? Dense / 2 : Dense;
}

/// CDNA5: a matrix instruction reads its factors and writes its result while
/// later vector instructions execute.
bool HazardChecker::checkBeside(const Inst *I, const Effects &E) {
  if (E.Counted == CountClass::Transcendental)
    return true;
  for (const MatrixResult &M : Products) {
    const uint64_t Since = before(I) - M.Vectors;
    const unsigned Needs =
        M.I ? besideMatrix(*M.I->Matrix) + (I->Matrix ? 1 : 0) : 0;
    if (Since >= Needs || Needs == unsigned(I->Matrix != nullptr))
      continue;
    const RegisterSpan Result = M.E->VectorWrite[0];
    bool Meets = false;
    for (unsigned K = 0; K < std::size(E.VectorRead); ++K)
      Meets |= (!I->Matrix || K != 2) && overlap(E.VectorRead[K], Result);
    for (const RegisterSpan &Written : E.VectorWrite)
      for (unsigned K : {0, 1, 3})
        Meets |= !I->Matrix && (overlap(Written, Result) ||
                                overlap(Written, M.E->VectorRead[K]));
    if (Meets)
      return newerFault(I, M.I,
                        "a matrix instruction is still at work on registers "
                        "that this one reads or overwrites, " +
                            std::to_string(Since) + " vector instruction" +
                            (Since == 1 ? "" : "s") + " later of " +
                            std::to_string(Needs),
                        "another vector instruction, v_nop for example,");
  }
  return true;
}

bool HazardChecker::checkVector(const Inst *I, const Effects &E) {
  const bool Trans = E.Counted == CountClass::Transcendental;
  if (Hazards.Newer & NewerTrans) {
    // The two youngest are all that can still be under way.
    for (const TransResult &R : Slow)
      if (R.I && before(I) - R.Vectors <= 5)
        for (const RegisterSpan &S : E.VectorRead)
          if (overlap(S, R.Result))
            return newerFault(I, R.I,
                              "the result of the transcendental unit is read "
                              "within 5 vector instructions",
                              "s_waitcnt_depctr with va_vdst of 0");
  }
  if (Hazards.Newer & NewerMatrix && I->Matrix && LastMatrix)
    for (unsigned K : {0, 1, 3}) // the factors and the index
      if (overlap(E.VectorRead[K], LastMatrixEffects->VectorWrite[0]))
        return newerFault(I, LastMatrix,
                          "a matrix instruction multiplies the result of the "
                          "one before it",
                          "another vector instruction, v_nop for example,");
  if (Hazards.Newer & NewerPermlane && LastExecWrite &&
      (I->Record->Facts.Flags & isa::FactPermutes))
    return newerFault(I, LastExecWrite,
                      "v_permlane follows a v_cmpx that has set EXEC",
                      "another vector instruction, which v_nop is not,");
  if (Hazards.Newer & NewerSgpr) {
    if (!checkShared(I, E))
      return false;
    noteShared(E);
  }
  if (Hazards.Newer & NewerForwarding && !checkForwarding(I, E))
    return false;
  if (Hazards.Newer & NewerBeside && !checkBeside(I, E))
    return false;
  // One instruction of a pair that is issued together counts for both.
  if (I->Class == InstClass::Vector) {
    if (Hazards.Newer & NewerForwarding)
      Results[Vectors % Forwarded] = {I, E.VectorWrite[0], Vectors, ExecWrites};
    ++Vectors;
  }
  if (Trans) {
    Slow[Transcendentals++ % 2] = {I, E.VectorWrite[0], Vectors};
  }
  if (I->Matrix)
    Products[Matrices++ % std::size(Products)] = {I, &E, Vectors};
  LastMatrix = I->Matrix ? I : nullptr;
  LastMatrixEffects = &E;
  if (E.WritesExec)
    LastExecWrite = I;
  else if (LastExecWrite && !(I->Record->Facts.Flags & isa::FactIdles))
    LastExecWrite = nullptr;
  return true;
}

bool HazardChecker::checkNewer(const Inst *I, const Effects &E) {
  switch (I->Class) {
  case InstClass::Vector:
  case InstClass::Uncounted:
    return checkVector(I, E);
  case InstClass::VectorMemory:
    dropOverwritten(); // They wait for the scalar ALU.
    [[fallthrough]];
  case InstClass::LDS:
    dropVectorResults(); // They wait for the vector ALU.
    return true;
  case InstClass::Scalar:
    // Those that compute one value for all lanes are the vector ALU's.
    if (I->Record->Facts.Where == isa::Unit::Vector)
      return checkVector(I, E);
    if (E.ControlsCache)
      dropVectorResults(); // As those that access memory.
    break;
  case InstClass::ScalarMemory:
    dropOverwritten(); // As vector memory.
    return true;
  default:
    return true;
  }
  if (E.Counted == CountClass::Wait) {
    if (I->Record->Facts.Flags & isa::FactAwaitsAlu) {
      if (!(I->Imm >> 12 & 15))
        dropVectorResults();
      if (!(I->Imm & 1))
        dropOverwritten();
    }
    return true;
  }
  if (E.WritesExec)
    ++ExecWrites;
  if (!(Hazards.Newer & NewerSgpr))
    return true;
  if (!checkShared(I, E))
    return false;
  Scalars += E.WritesShared ? 1 : 0;
  if (!(E.ScalarsUsed & MayBeRead))
    return true;
  for (const RegisterSpan &S : E.ScalarWrite)
    for (unsigned Slot = S.First; Slot < endOf(S); ++Slot)
      if (ReadByVectors[Slot / 2]) {
        Overwritten[Slot] = {I, Scalars};
        MayBeOverwritten |= 1ull << Slot % 64;
      }
  return true;
}
