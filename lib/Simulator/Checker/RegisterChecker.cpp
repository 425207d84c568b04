//===- RegisterChecker.cpp - Registers read before they were written ------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which lanes of which register hold something that was computed. A value that
// is not defined may be moved about, as compilers do with what will not be
// used; it must not become an address, be stored to global memory, or decide
// where a wave continues or which lanes are active.
//
//===----------------------------------------------------------------------===//

#include "Checker.h"

#include "../Launch.h"

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

bool WaveChecker::scalarDefined(RegisterSpan S) const {
  for (unsigned K = 0; K < S.Count; ++K)
    if (!ScalarIsDefined[S.First + K])
      return false;
  return true;
}

std::string WaveChecker::explain(const Source &S, unsigned Register,
                                 bool Scalar) const {
  if (!S.I)
    return registerName(Register, Scalar) + " was never written";
  return registerName(Register, Scalar) + " depends on " +
         registerName(S.Register, S.Scalar) +
         ", which was never written before it was read at " +
         W.L->Object->symbolize(S.I->Address) + ": " + W.L->Code->text(S.I);
}

bool WaveChecker::requireVector(const Inst *I, RegisterSpan S, uint64_t Exec,
                                const char *Use) {
  for (unsigned K = 0; K < S.Count; ++K) {
    uint64_t Missing = Exec & ~Defined[S.First + K];
    if (!Missing)
      continue;
    return faultCheck(W, I, __builtin_ctzll(Missing),
                      std::string(Use) + " is not defined: " +
                          explain(Why[S.First + K], S.First + K, false));
  }
  return true;
}

bool WaveChecker::requireScalar(const Inst *I, RegisterSpan S,
                                const char *Use) {
  for (unsigned K = 0; K < S.Count; ++K)
    if (!ScalarIsDefined[S.First + K])
      return faultCheck(W, I, -1,
                        std::string(Use) + " is not defined: " +
                            explain(ScalarWhy[S.First + K], S.First + K, true));
  return true;
}

/// The uses that matter.
bool WaveChecker::checkDefined(const Inst *I, const Effects &E, uint64_t Exec) {
  if (E.BranchOnScc && !ScalarIsDefined[SlotSCC])
    return requireScalar(I, {SlotSCC, 1}, "the branch's condition");
  if (E.BranchOnVcc)
    return requireScalar(I, {SlotVCC, uint8_t(W.N == 64 ? 2 : 1)},
                         "the branch's condition");
  bool Memory = E.Access != MemoryAccess::None;
  if (E.NeedsScalars && (Exec || !Memory || E.Space == MemorySpace::Scalar))
    for (const RegisterSpan &S : E.ScalarRead)
      if (S.Count &&
          !requireScalar(I, S, Memory ? "the address" : "the jump's target"))
        return false;
  if (!Memory || !Exec || E.Space == MemorySpace::Scalar)
    return true;
  if (!requireVector(I, E.VectorRead[0], Exec, "the address"))
    return false;
  return E.Space != MemorySpace::Lds || E.Access != MemoryAccess::Atomic ||
         checkStored(I, E, Exec);
}

bool WaveChecker::checkStored(const Inst *I, const Effects &E, uint64_t Lanes) {
  for (unsigned K = 1; K < 4; ++K)
    if (!requireVector(I, E.VectorRead[K], Lanes, "the value stored"))
      return false;
  return true;
}

/// The first source that is not defined.
WaveChecker::Source WaveChecker::blame(const Inst *I, const Effects &E,
                                       uint64_t Exec) const {
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (Exec & ~Defined[S.First + K]) {
        const Source &From = Why[S.First + K];
        return From.I ? From : Source{I, uint16_t(S.First + K), false};
      }
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      if (!ScalarIsDefined[S.First + K]) {
        const Source &From = ScalarWhy[S.First + K];
        return From.I ? From : Source{I, uint16_t(S.First + K), true};
      }
  const Source &Scc = ScalarWhy[SlotSCC];
  return Scc.I ? Scc : Source{I, SlotSCC, true};
}

void WaveChecker::define(RegisterSpan S, uint64_t Lanes, uint64_t Good,
                         const Inst *I, const Effects &E) {
  // The reason first: the result may be a source, too.
  const bool Missing = __builtin_expect((Lanes & ~Good) != 0, 0);
  Source Reason = Missing ? blame(I, E, Lanes) : Source();
  for (unsigned K = 0; K < S.Count; ++K) {
    Defined[S.First + K] = (Defined[S.First + K] & ~Lanes) | (Good & Lanes);
    if (Missing)
      Why[S.First + K] = Reason;
  }
}

void WaveChecker::defineScalar(RegisterSpan S, bool Good, const Inst *I,
                               const Effects &E) {
  Source Reason = Good ? Source() : blame(I, E, W.exec());
  for (unsigned K = 0; K < S.Count; ++K) {
    ScalarIsDefined[S.First + K] = Good;
    if (!Good)
      ScalarWhy[S.First + K] = Reason;
  }
}

/// The lanes of a source that are defined, moved by DPP if it is the first one.
uint64_t WaveChecker::definedLanes(const Inst *I, const Effects &E, unsigned K,
                                   uint64_t Exec, uint64_t &Writable) const {
  uint64_t Good = ~0ull;
  const RegisterSpan V = E.VectorRead[K], S = E.ScalarRead[K];
  for (unsigned R = 0; R < V.Count; ++R)
    Good &= Defined[V.First + R];
  for (unsigned R = 0; R < S.Count; ++R)
    Good &= ScalarIsDefined[S.First + R] ? ~0ull : 0;
  if (K == 0 && (I->Flags & FlagDpp)) {
    const DppPattern &P = *I->Dpp;
    uint64_t Valid = P.Valid, Moved = 0;
    for (unsigned Lane = 0; Lane < W.N; ++Lane) {
      unsigned From = P.From[Lane];
      bool Active = (I->Flags & FlagDppFetchInactive) || (Exec >> From & 1);
      bool Has = (Valid >> Lane & 1) && Active;
      Moved |= uint64_t(Has ? Good >> From & 1 : 1) << Lane;
      if (!Has && !(I->Flags & FlagDppBoundCtrl))
        Writable &= ~(1ull << Lane);
    }
    Good = Moved;
    Writable &= I->DppEnabled;
  }
  return Good;
}

bool WaveChecker::propagate(const Inst *I, const Effects &E, uint64_t Exec) {
  bool ScalarGood = true;
  switch (E.How) {
  case Flow::None:
    for (const RegisterSpan &S : E.VectorWrite)
      define(S, Exec, ~0ull, I, E);
    break;
  case Flow::Lane:
  case Flow::Pack: {
    uint64_t Writable = Exec, Good = ~0ull, Any = 0;
    for (unsigned K = 0; K < I->NumSrc; ++K) {
      uint64_t G = definedLanes(I, E, K, Exec, Writable);
      Good &= G;
      Any |= G;
    }
    if (E.How == Flow::Pack && I->NumSrc)
      Good = Any;
    define(E.VectorWrite[0], Writable, Good, I, E);
    ScalarGood = !(Exec & ~Good);
    break;
  }
  case Flow::Wide: {
    uint64_t Low = ~0ull, High = ~0ull;
    for (unsigned K = 0; K < I->NumSrc; ++K) {
      const RegisterSpan V = E.VectorRead[K];
      uint64_t Scalar = scalarDefined(E.ScalarRead[K]) ? ~0ull : 0;
      Low &= Scalar & (V.Count ? Defined[V.First] : ~0ull);
      High &= Scalar & (V.Count > 1 ? Defined[V.First + 1] : ~0ull);
    }
    High &= Low;
    // The reason first: the result may be a source, too.
    uint64_t Missing = Exec & ~High;
    Source Reason = Missing ? blame(I, E, Exec) : Source();
    RegisterSpan To = E.VectorWrite[0];
    for (unsigned K = 0; K < To.Count; ++K) {
      uint64_t Good = K ? High : Low;
      Defined[To.First + K] = (Defined[To.First + K] & ~Exec) | (Good & Exec);
      if (Exec & ~Good)
        Why[To.First + K] = Reason;
    }
    ScalarGood = !Missing;
    break;
  }
  case Flow::Select: {
    uint64_t Writable = Exec;
    uint64_t Zero = definedLanes(I, E, 0, Exec, Writable);
    uint64_t One = definedLanes(I, E, 1, Exec, Writable);
    RegisterSpan M = E.ScalarRead[2];
    uint64_t Mask = M.Count ? W.mask(M.First) : 0;
    uint64_t Good = (Mask & One) | (~Mask & Zero);
    if (!scalarDefined(M))
      Good = 0;
    define(E.VectorWrite[0], Writable, Good, I, E);
    break;
  }
  case Flow::AnyLane: {
    bool Good = true;
    for (const RegisterSpan &S : E.VectorRead)
      for (unsigned K = 0; K < S.Count; ++K)
        Good &= !Exec || (Defined[S.First + K] & Exec) != 0;
    for (const RegisterSpan &S : E.ScalarRead)
      Good &= scalarDefined(S);
    for (const RegisterSpan &S : E.VectorWrite)
      define(S, Exec, Good ? ~0ull : 0, I, E);
    break;
  }
  case Flow::Swap: {
    uint64_t &A = Defined[E.VectorWrite[0].First],
             &B = Defined[E.VectorWrite[1].First];
    uint64_t OldA = A;
    A = (A & ~Exec) | (B & Exec);
    B = (B & ~Exec) | (OldA & Exec);
    break;
  }
  case Flow::ReadLane: {
    unsigned Lane = Exec ? unsigned(__builtin_ctzll(Exec)) : 0;
    if (I->NumSrc > 1) {
      const Operand &O = I->Src[1];
      uint32_t X = O.Kind == OperandKind::SGPR ? W.S[O.Reg] : uint32_t(O.Value);
      Lane = X & (W.N - 1);
    }
    RegisterSpan S = E.VectorRead[0];
    bool Good = !S.Count || (Defined[S.First] >> Lane & 1);
    Good = Good && scalarDefined(E.ScalarRead[0]);
    if (!Good && S.Count) {
      const Source &From = Why[S.First];
      ScalarIsDefined[E.ScalarWrite[0].First] = false;
      ScalarWhy[E.ScalarWrite[0].First] =
          From.I ? From : Source{I, S.First, false};
      return true;
    }
    ScalarGood = Good;
    break;
  }
  case Flow::WriteLane: {
    const Operand &O = I->Src[1];
    uint32_t X = O.Kind == OperandKind::SGPR ? W.S[O.Reg] : uint32_t(O.Value);
    define(E.VectorWrite[0], 1ull << (X & (W.N - 1)),
           scalarDefined(E.ScalarRead[0]) ? ~0ull : 0, I, E);
    break;
  }
  case Flow::ScalarAll:
    for (const RegisterSpan &S : E.ScalarRead)
      ScalarGood &= scalarDefined(S);
    break;
  case Flow::ScalarBits: {
    // A 64-bit shift's other half, a mask's unused bits: what is defined in
    // any source may be all that is wanted.
    bool Any = I->NumSrc == 0;
    for (unsigned K = 0; K < I->NumSrc; ++K)
      Any |= scalarDefined(E.ScalarRead[K]);
    ScalarGood = Any;
    break;
  }
  case Flow::ScalarCopy: {
    RegisterSpan To = E.ScalarWrite[0], From = E.ScalarRead[0];
    bool Good[2];
    Source Reason[2];
    for (unsigned K = 0; K < 2; ++K) {
      unsigned R = From.First + K;
      Good[K] = K >= From.Count || ScalarIsDefined[R];
      if (!Good[K])
        Reason[K] =
            ScalarWhy[R].I ? ScalarWhy[R] : Source{I, uint16_t(R), true};
    }
    for (unsigned K = 0; K < To.Count && K < 2; ++K) {
      ScalarIsDefined[To.First + K] = Good[K];
      if (!Good[K])
        ScalarWhy[To.First + K] = Reason[K];
    }
    if (E.WritesScc)
      ScalarIsDefined[SlotSCC] = Good[0] && Good[1];
    if (E.WritesExec && !(Good[0] && Good[1]))
      return requireScalar(I, From, "the new EXEC");
    return true;
  }
  case Flow::ScalarSelect: {
    RegisterSpan Chosen = E.ScalarRead[W.S[SlotSCC] ? 0 : 1];
    ScalarGood = ScalarIsDefined[SlotSCC] && scalarDefined(Chosen);
    break;
  }
  }
  if (E.ReadsScc && E.How != Flow::ScalarSelect)
    ScalarGood &= ScalarIsDefined[SlotSCC] != 0;
  if (E.WritesExec && !ScalarGood) {
    Source S = blame(I, E, Exec);
    return faultCheck(
        W, I, -1,
        "the new EXEC is not defined: " + registerName(S.Register, S.Scalar) +
            " was never written before it was read at " +
            W.L->Object->symbolize(S.I->Address));
  }
  for (const RegisterSpan &S : E.ScalarWrite)
    defineScalar(S, ScalarGood, I, E);
  if (E.WritesScc)
    defineScalar({SlotSCC, 1}, ScalarGood, I, E);
  return true;
}
