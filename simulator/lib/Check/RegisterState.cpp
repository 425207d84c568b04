//===- RegisterState.cpp - What of each register is defined ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which registers are defined, why others are not, and that in words. What
// instructions make of it is in RegisterFlow.cpp and RegisterFill.cpp, what it
// forbids in RegisterChecker.cpp.
//
//===----------------------------------------------------------------------===//

#include "Check/RegisterChecker.h"

#include "Check/LdsChecker.h"
#include "Core/Execution.h"

using namespace lnbwd::sim;

std::string lnbwd::sim::registerName(unsigned Register, bool Scalar) {
  if (!Scalar) {
    if (Register >= RowAGPR0)
      return "a" + std::to_string(Register - RowAGPR0);
    return "v" + std::to_string(Register);
  }
  switch (Register) {
  case SlotVCC:
    return "vcc_lo";
  case SlotVCC + 1:
    return "vcc_hi";
  case SlotExec:
    return "exec_lo";
  case SlotExec + 1:
    return "exec_hi";
  case SlotM0:
    return "m0";
  case SlotSCC:
    return "scc";
  default:
    break;
  }
  if (Register >= SlotTTMP0 && Register < SlotTTMP0 + 16)
    return "ttmp" + std::to_string(Register - SlotTTMP0);
  return "s" + std::to_string(Register);
}

uint32_t lnbwd::sim::sdwaField(Sdwa Sel) {
  if (Sel <= Sdwa::Byte3)
    return 0xffu << unsigned(Sel) * 8;
  return Sel == Sdwa::Word0 ? 0xffffu : Sel == Sdwa::Word1 ? 0xffff0000u : ~0u;
}

std::string RegisterChecker::explain(const Source &S, unsigned Register,
                                     bool Scalar) const {
  const std::string Name = registerName(Register, Scalar);
  if (!S.I)
    return Name + " was never written";
  const std::string Other = registerName(S.Register, S.Scalar);
  const std::string Place =
      W.L->Symbols->symbolize(S.I->Address) + ": " + W.L->Code->text(S.I);
  switch (S.From) {
  case Origin::NeverWritten:
  case Origin::Race: // reportRaces() speaks of it
    break;
  case Origin::InactiveLane:
    return Name + " depends on " + Other +
           " of a lane that was not active when it was read, at " + Place +
           (S.I->Class == InstClass::LDS
                ? " (hardware gives 0 there; HIP's shuffles promise nothing)"
                : "");
  case Origin::UsedLds:
    return Name + " depends on " + Other + ", which was loaded from byte " +
           std::to_string(S.Address) + " of LDS at " + Place + "; " +
           LdsUsedText;
  case Origin::Memory:
    if (S.Space == MemorySpace::Scratch)
      return Name + " depends on " + Other +
             ", which was loaded from scratch memory that was never written, "
             "at " +
             Place;
    std::string Where = "byte " + std::to_string(S.Address) + " of LDS";
    if (S.Space != MemorySpace::Lds) {
      const Region *R = findRegion(W, S.Address, 1);
      const auto *Shadow =
          static_cast<const BufferShadow *>(R ? R->Notes : nullptr);
      Where =
          "byte " + std::to_string(S.Address - (R ? R->Begin : 0)) +
          " of the buffer" +
          (Shadow && !Shadow->Name.empty() ? " '" + Shadow->Name + "'" : "");
    }
    return Name + " depends on " + Other + ", which was loaded at " + Place +
           ", where " + Where + " was never written" +
           (S.Space == MemorySpace::Lds ? " by this workgroup" : "") +
           (S.SoFar ? " so far; if another wave is to write it, a barrier "
                      "between the two is missing"
                    : "");
  }
  return Name + " depends on " + Other +
         ", which was never written before it was read at " + Place;
}

void RegisterChecker::define(RegisterSpan S, uint64_t Lanes, uint64_t Good,
                             const Source &Reason) {
  const bool Missing = (Lanes & ~Good) != 0;
  for (unsigned K = 0; K < S.Count; ++K) {
    Vectors.set(S.First + K, Lanes, Good);
    Vectors.written(S.First + K, Lanes);
    if (Missing)
      Why[S.First + K] = Reason;
  }
}

void RegisterChecker::defineScalar(RegisterSpan S, uint32_t Missing,
                                   const Source &Reason) {
  for (unsigned K = 0; K < S.Count; ++K) {
    ScalarMissing[S.First + K] = Missing;
    if (Missing)
      ScalarWhy[S.First + K] = Reason;
  }
}

bool RegisterChecker::newExec(const Inst *I, const Source &Reason) {
  return undefined(I, -1, "the new EXEC", Reason, Reason.Register,
                   Reason.Scalar);
}

/// All scalar results are defined, or none.
bool RegisterChecker::scalarResults(const Inst *I, const Effects &E,
                                    bool Good) {
  const Source Reason = Good ? Source() : blame(I, E, W.exec());
  if (E.WritesExec && !Good)
    return newExec(I, Reason) && scalarResults(I, E, true);
  for (const RegisterSpan &S : E.ScalarWrite)
    defineScalar(S, Good ? 0 : ~0u, Reason);
  if (E.WritesScc)
    defineScalar({SlotSCC, 1}, Good ? 0 : 1, Reason);
  return true;
}

/// The first source that is not defined, or what the result keeps.
RegisterChecker::Source RegisterChecker::blame(const Inst *I, const Effects &E,
                                               uint64_t Lanes) const {
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Lanes & ~Vectors.defined(S.First + K))
        return blameRow(I, S.First + K);
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (ScalarMissing[S.First + K])
        return blameScalar(I, S.First + K);
  if (E.ReadsScc && ScalarMissing[SlotSCC])
    return blameScalar(I, SlotSCC);
  for (const RegisterSpan &S : E.VectorWrite)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Lanes & ~Vectors.defined(S.First + K))
        return blameRow(I, S.First + K);
  return blameScalar(I, SlotSCC);
}

/// Why a register that is not defined, in some lane, is not: what was noted, or
/// that it was never written before it was read.
RegisterChecker::Source RegisterChecker::blameRegister(const Inst *I,
                                                       unsigned Register,
                                                       bool Scalar) const {
  Source From = Scalar ? ScalarWhy[Register] : Why[Register];
  if (!From.I) {
    From.I = I;
    From.Register = uint16_t(Register);
    From.Scalar = Scalar;
  }
  return From;
}

RegisterChecker::Source
RegisterChecker::blameInactive(const Inst *I, unsigned Register) const {
  Source From;
  From.I = I;
  From.Register = uint16_t(Register);
  From.From = Origin::InactiveLane;
  return From;
}
