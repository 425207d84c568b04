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

#include "Check/RegisterChecker.h"

#include "Core/Execution.h"
#include "Core/LaneMask.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

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

void RegisterChecker::start(unsigned ScalarsSet, unsigned VectorsSet) {
  llvm::fill(Defined, 0);
  std::fill_n(Defined, VectorsSet, ~0ull);
  llvm::fill(Why, Source());
  llvm::fill(ScalarWhy, Source());
  for (unsigned K = 0; K < NumScalarSlots; ++K)
    ScalarIsDefined[K] = K < ScalarsSet || K >= SlotExec;
  ScalarIsDefined[SlotSCC] = false;
  ScalarIsDefined[SlotM0] = false;
  if (L.Generation >= 12)
    ScalarIsDefined[SlotTTMP0 + 7] = ScalarIsDefined[SlotTTMP0 + 9] = true;
  ScratchDefined.assign(W.ScratchSize / 4 + 1, 0);
}

bool RegisterChecker::scalarDefined(RegisterSpan S) const {
  for (unsigned K = 0; K < S.Count; ++K)
    if (!ScalarIsDefined[S.First + K])
      return false;
  return true;
}

std::string RegisterChecker::explain(const Source &S, unsigned Register,
                                     bool Scalar) const {
  if (!S.I)
    return registerName(Register, Scalar) + " was never written";
  if (S.Scratch)
    return registerName(Register, Scalar) + " depends on " +
           registerName(S.Register, S.Scalar) +
           ", which was loaded from scratch memory that was never written, "
           "at " +
           W.L->Symbols->symbolize(S.I->Address) + ": " + W.L->Code->text(S.I);
  return registerName(Register, Scalar) + " depends on " +
         registerName(S.Register, S.Scalar) +
         ", which was never written before it was read at " +
         W.L->Symbols->symbolize(S.I->Address) + ": " + W.L->Code->text(S.I);
}

bool RegisterChecker::requireVector(const Inst *I, RegisterSpan S,
                                    uint64_t Exec, const char *Use) {
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

bool RegisterChecker::requireScalar(const Inst *I, RegisterSpan S,
                                    const char *Use) {
  for (unsigned K = 0; K < S.Count; ++K)
    if (!ScalarIsDefined[S.First + K])
      return faultCheck(W, I, -1,
                        std::string(Use) + " is not defined: " +
                            explain(ScalarWhy[S.First + K], S.First + K, true));
  return true;
}

/// The uses that matter.
bool RegisterChecker::checkDefined(const Inst *I, const Effects &E,
                                   uint64_t Exec) {
  if (E.BranchOnScc && !ScalarIsDefined[SlotSCC])
    return requireScalar(I, {SlotSCC, 1}, "the branch's condition");
  if (E.BranchOnVcc)
    return requireScalar(I, {SlotVCC, uint8_t(W.N == 64 ? 2 : 1)},
                         "the branch's condition");
  if (E.How == Flow::ScalarIndexed)
    return requireScalar(I, {SlotM0, 1}, "the register's number");
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

bool RegisterChecker::checkStored(const Inst *I, const Effects &E,
                                  uint64_t Lanes) {
  for (unsigned K = 1; K < 4; ++K)
    if (!requireVector(I, E.VectorRead[K], Lanes, "the value stored"))
      return false;
  return true;
}

/// The first source that is not defined.
RegisterChecker::Source RegisterChecker::blame(const Inst *I, const Effects &E,
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

void RegisterChecker::define(RegisterSpan S, uint64_t Lanes, uint64_t Good,
                             const Inst *I, const Effects &E) {
  // The reason first: the result may be a source, too.
  const bool Missing = __builtin_expect((Lanes & ~Good) != 0, 0);
  define(S, Lanes, Good, Missing ? blame(I, E, Lanes) : Source());
}

void RegisterChecker::define(RegisterSpan S, uint64_t Lanes, uint64_t Good,
                             const Source &Reason) {
  const bool Missing = (Lanes & ~Good) != 0;
  for (unsigned K = 0; K < S.Count; ++K) {
    Defined[S.First + K] = (Defined[S.First + K] & ~Lanes) | (Good & Lanes);
    if (Missing)
      Why[S.First + K] = Reason;
  }
}

void RegisterChecker::defineScalar(RegisterSpan S, bool Good, const Inst *I,
                                   const Effects &E) {
  Source Reason = Good ? Source() : blame(I, E, W.exec());
  for (unsigned K = 0; K < S.Count; ++K) {
    ScalarIsDefined[S.First + K] = Good;
    if (!Good)
      ScalarWhy[S.First + K] = Reason;
  }
}

/// The lanes of a source that are defined, moved by DPP if it is the first one.
uint64_t RegisterChecker::definedLanes(const Inst *I, const Effects &E,
                                       unsigned K, uint64_t Exec,
                                       uint64_t &Writable) const {
  uint64_t Good = ~0ull;
  const RegisterSpan V = E.VectorRead[K], S = E.ScalarRead[K];
  for (unsigned R = 0; R < V.Count; ++R)
    Good &= Defined[V.First + R];
  for (unsigned R = 0; R < S.Count; ++R)
    Good &= ScalarIsDefined[S.First + R] ? ~0ull : 0;
  if (K == 0 && (I->Flags & FlagDpp)) {
    const DppPattern &P = *I->Dpp;
    uint64_t Valid = P.Valid, Moved = 0;
    // Most often all is there, and moving it changes nothing.
    if (!(W.FullMask & ~Good) &&
        (Exec == W.FullMask || (I->Flags & FlagDppFetchInactive))) {
      if (!(I->Flags & FlagDppBoundCtrl))
        Writable &= Valid | ~W.FullMask;
      Writable &= I->DppEnabled;
      return Good;
    }
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

/// Why a row that is not defined in some lane is not.
RegisterChecker::Source RegisterChecker::blameRow(const Inst *I,
                                                  unsigned Register) const {
  const Source &From = Why[Register];
  return From.I ? From : Source{I, uint16_t(Register), false};
}

/// Instructions that hand values from lane to lane say themselves whose value
/// each lane gets: executed on rows that hold, for each lane, whether its value
/// is undefined, they leave just that in the result.
void RegisterChecker::propagateMoves(const Inst *I, const Effects &E,
                                     uint64_t Exec) {
  const unsigned N = W.N;
  const bool Swaps = E.VectorWrite[1].Count != 0;
  const bool Send = I->Class == InstClass::LDS && I->NumSrc > 1;
  // The lane that a value comes from or goes to, and the value.
  const unsigned Data = Send ? 1 : 0;
  const RegisterSpan Value = E.VectorRead[Data], To = E.VectorWrite[0];
  uint64_t Chosen = ~0ull;
  Source Reason;
  for (unsigned K = 0; K < 4; ++K) {
    if (K == Data || (Swaps && K == 1))
      continue;
    const RegisterSpan V = E.VectorRead[K];
    if (V.Count && (Exec & ~Defined[V.First])) {
      Chosen &= Defined[V.First];
      Reason = blameRow(I, V.First);
    }
    if (!scalarDefined(E.ScalarRead[K])) {
      Chosen = 0;
      Reason = blame(I, E, 0);
    }
  }
  // A value that is sent where nobody knows may be missing anywhere.
  if (Chosen != ~0ull && E.Scatters)
    Chosen = 0;
  const uint64_t Missing = Value.Count ? W.FullMask & ~Defined[Value.First] : 0;
  const uint64_t MissingTo = W.FullMask & ~Defined[To.First];
  const bool SelfChosen = Send && Value.Count &&
                          E.VectorRead[0].First == Value.First &&
                          E.VectorRead[0].Count;
  if (!scalarDefined(E.ScalarRead[Data]))
    return define(To, Exec, 0, blame(I, E, 0));
  if ((!Missing && !MissingTo) || !Value.Count || SelfChosen ||
      (Swaps && Exec != W.FullMask) ||
      // From 0xe000 on: the FFT mode, which dsSwizzle refuses.
      (Data == 0 && !Swaps && I->Class == InstClass::LDS &&
       (uint32_t(I->Imm) & 0xffff) >= 0xe000))
    return define(To, Exec, Chosen, Reason);
  if (!(Exec & ~Chosen))
    Reason = blameRow(I, Missing ? Value.First : To.First);
  uint32_t Values[64], Results[64];
  uint32_t *ValueRow = W.row(Value.First), *ToRow = W.row(To.First);
  std::copy_n(ValueRow, N, Values);
  std::copy_n(ToRow, N, Results);
  for (unsigned Lane = 0; Lane < N; ++Lane) {
    ToRow[Lane] = uint32_t(MissingTo >> Lane & 1);
    ValueRow[Lane] = uint32_t(Missing >> Lane & 1);
  }
  I->Run(W, I);
  uint64_t Good = 0, Swapped = 0;
  for (unsigned Lane = 0; Lane < N; ++Lane) {
    Good |= uint64_t(ToRow[Lane] == 0) << Lane;
    Swapped |= uint64_t(ValueRow[Lane] == 0) << Lane;
  }
  std::copy_n(Results, N, ToRow);
  std::copy_n(Values, N, ValueRow);
  define(To, Exec, Good & Chosen, Reason);
  if (Swaps)
    define(E.VectorWrite[1], Exec, Swapped, Reason);
}

/// An element of the result is defined if all elements that it is made of are:
/// with NaN for what is not defined and 0 for the rest, the instruction leaves
/// NaN where something was missing.
void RegisterChecker::propagateMatrix(const Inst *I, const Effects &E) {
  const unsigned N = W.N;
  const RegisterSpan To = E.VectorWrite[0];
  const RegisterSpan Spans[] = {E.VectorRead[0], E.VectorRead[1],
                                E.VectorRead[2], To};
  Source Reason;
  for (unsigned K = 0; K < 3 && !Reason.I; ++K)
    for (unsigned R = 0; R < Spans[K].Count && !Reason.I; ++R)
      if (W.FullMask & ~Defined[Spans[K].First + R])
        Reason = blameRow(I, Spans[K].First + R);
  // Inactive lanes take part, and get their part of the result.
  if (!Reason.I)
    return define(To, ~0ull, ~0ull, Reason);
  const bool Wide = I->Matrix->Source == MatrixType::F64;
  std::vector<uint32_t> Kept;
  for (const RegisterSpan &S : Spans)
    Kept.insert(Kept.end(), W.row(S.First), W.row(S.First) + S.Count * N);
  for (unsigned K = 0; K < 3; ++K)
    for (unsigned R = 0; R < Spans[K].Count; ++R)
      for (unsigned Lane = 0; Lane < N; ++Lane)
        W.row(Spans[K].First + R)[Lane] =
            (Defined[Spans[K].First + R] &
             Defined[Spans[K].First + (Wide ? R ^ 1 : R)]) >>
                        Lane &
                    1
                ? 0
                : 0x7fff7fff;
  I->Run(W, I);
  std::vector<uint64_t> Good(To.Count, 0);
  for (unsigned R = 0; R < To.Count; ++R)
    for (unsigned Lane = 0; Lane < N; ++Lane) {
      uint32_t High = W.row(To.First + (Wide ? R | 1 : R))[Lane] & 0x7fffffff;
      Good[R] |= uint64_t(High <= (Wide ? 0x7ff00000 : 0x7f800000)) << Lane;
    }
  const uint32_t *From = Kept.data();
  for (const RegisterSpan &S : Spans) {
    std::copy_n(From, S.Count * N, W.row(S.First));
    From += S.Count * N;
  }
  for (unsigned R = 0; R < To.Count; ++R)
    define({uint16_t(To.First + R), 1}, ~0ull, Good[R], Reason);
}

bool RegisterChecker::propagate(const Inst *I, const Effects &E,
                                uint64_t Exec) {
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
  case Flow::Moves:
    propagateMoves(I, E, Exec);
    break;
  case Flow::Matrix:
    propagateMatrix(I, E);
    break;
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
  case Flow::ScalarIndexed: {
    const uint64_t Distance = W.S[SlotM0];
    uint64_t From = E.ScalarRead[0].First, To = E.ScalarWrite[0].First;
    const unsigned Count = E.ScalarWrite[0].Count;
    (E.IndexedDst ? To : From) += Distance;
    // Where there are no registers, the execution says so.
    if (From + Count > SlotVCC || To + Count > SlotVCC)
      return true;
    uint8_t Good[2] = {};
    Source Reason[2];
    for (unsigned K = 0; K < Count && K < 2; ++K) {
      Good[K] = ScalarIsDefined[From + K];
      Reason[K] = ScalarWhy[From + K];
      if (!Good[K] && !Reason[K].I)
        Reason[K] = {I, uint16_t(From + K), true};
    }
    for (unsigned K = 0; K < Count && K < 2; ++K) {
      ScalarIsDefined[To + K] = Good[K];
      ScalarWhy[To + K] = Reason[K];
    }
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
            W.L->Symbols->symbolize(S.I->Address));
  }
  for (const RegisterSpan &S : E.ScalarWrite)
    defineScalar(S, ScalarGood, I, E);
  if (E.WritesScc)
    defineScalar({SlotSCC, 1}, ScalarGood, I, E);
  return true;
}

void RegisterChecker::loaded(const Inst *I, const Effects &E) {
  const uint64_t Exec = W.exec();
  RegisterSpan S = E.VectorWrite[0];
  for (unsigned K = 0; K < S.Count; ++K) {
    uint64_t Good = LoadedScratch && K < 4 ? ScratchLoaded[K] : ~0ull;
    uint16_t Register = uint16_t(S.First + K);
    define({Register, 1}, Exec, Good, {I, Register, false, true});
  }
  for (const RegisterSpan &To : E.ScalarWrite)
    defineScalar(To, true, I, E);
}

void RegisterChecker::loadedElsewhere(unsigned Lane) {
  if (LoadedScratch)
    for (uint64_t &D : ScratchLoaded)
      D |= 1ull << Lane;
}

uint64_t RegisterChecker::undefinedStored(const Effects &E) const {
  uint64_t Undefined = 0;
  for (unsigned K = 1; K < 3; ++K) {
    RegisterSpan S = E.VectorRead[K];
    for (unsigned R = 0; R < S.Count; ++R)
      Undefined |= ~Defined[S.First + R];
  }
  return Undefined;
}

bool RegisterChecker::scratch(const Inst *I, const Effects &E,
                              const uint64_t *A, uint64_t Mask,
                              unsigned Bytes) {
  const unsigned Align = I->ElementBytes;
  const unsigned Dwords = std::max(1u, unsigned(I->Elements));
  if (E.Access == MemoryAccess::Load && !LoadedScratch) {
    LoadedScratch = true;
    llvm::fill(ScratchLoaded, 0);
  }
  for (unsigned Lane : LaneMask(Mask)) {
    uint64_t Bit = 1ull << Lane;
    if (L.memory() && (A[Lane] & (Align - 1)))
      return faultCheck(W, I, int(Lane),
                        "scratch access of " + std::to_string(Bytes) +
                            " bytes at " + std::to_string(A[Lane]) +
                            " is not aligned to " + std::to_string(Align));
    for (unsigned K = 0; K < Dwords && K < 4; ++K) {
      size_t Dword = size_t(A[Lane] / 4 + K);
      if (Dword >= ScratchDefined.size())
        break;
      uint64_t &D = ScratchDefined[Dword];
      if (E.Access == MemoryAccess::Load)
        ScratchLoaded[K] |= D & Bit;
      else if (!L.registers() || !E.VectorRead[1].Count ||
               (Defined[E.VectorRead[1].First + K] & Bit))
        D |= Bit;
      else if (I->ElementBytes == 4)
        D &= ~Bit;
    }
  }
  return true;
}
