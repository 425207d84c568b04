//===- RegisterFlow.cpp - What results owe to their sources ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a result is defined follows from the sources. Where all of them are,
// which is nearly always, it is. Where a bit is missing, moves between lanes
// are executed on the missing bits themselves, and everything else on several
// fillings of what is missing (RegisterFill.cpp). Of a conversion of 4 to 8
// bits an element of the result is defined if the element that it is made of
// is, with its scale and its random number; the rest of the result's registers
// stays what it was.
//
//===----------------------------------------------------------------------===//

#include "Check/RegisterChecker.h"

#include "Core/Execution.h"
#include "Core/Instruction.h"
#include "Core/MatrixShape.h"

#include <algorithm>

using namespace lnbwd::sim;

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
    setScalar(S.First + K, Missing);
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

static bool isShort(OperandType T) {
  return T == OperandType::F16 || T == OperandType::BF16 ||
         T == OperandType::I16;
}
static bool isPacked16(OperandType T) {
  return T == OperandType::PkF16 || T == OperandType::PkBF16 ||
         T == OperandType::PkI16;
}

/// The bits that an instruction looks at, of the R-th register of a source.
static uint32_t bitsUsed(const Inst *I, unsigned K, unsigned R) {
  const OperandType T = I->Lane->Src[K];
  const unsigned Bit = 1u << K;
  if (I->Flags & FlagSdwa)
    return sdwaField(I->Src[K].Sel);
  if (isShort(T))
    return (I->OpSel & Bit) || (I->Src[K].Mods & ModHigh) ? 0xffff0000u
                                                          : 0xffffu;
  if (isPacked16(T) && !((I->OpSel ^ I->OpSelHi) & Bit))
    return I->OpSel & Bit ? 0xffff0000u : 0xffffu;
  // Packed dwords: one of the two for both results, or of each source.
  if (T == OperandType::PkB32 ||
      (T == OperandType::PkF32 && !((I->OpSel ^ I->OpSelHi) & Bit)))
    return ((I->OpSel & Bit) != 0) == (R == 1) ? ~0u : 0;
  if (T == OperandType::Mix && (I->OpSelHi & Bit))
    return I->OpSel & Bit ? 0xffff0000u : 0xffffu;
  return ~0u;
}

uint32_t lnbwd::sim::bitsKept(const Inst *I) {
  if (I->Flags & FlagSdwa)
    return I->Flags & FlagPreserve ? ~sdwaField(I->DstSel) : 0;
  if (!isShort(I->Lane->Dst))
    return 0;
  if (I->Flags & FlagDstHigh)
    return 0xffffu;
  return I->Flags & FlagDstZeroHigh ? 0 : 0xffff0000u;
}

/// Whether an instruction puts a vector register as it is into another one.
static bool copiesRegister(const Inst *I, const Effects &E) {
  return (I->Record->Facts.Flags & lnbwd::isa::FactCopies) != 0 &&
         I->NumSrc == 1 && I->Lane->Src[0] == OperandType::B32 &&
         I->Lane->Dst == OperandType::B32 && E.VectorRead[0].Count == 1 &&
         !I->Src[0].Mods && !(I->Flags & (FlagSdwa | FlagDpp));
}

/// The lanes of the first source that are defined, moved by DPP.
uint64_t RegisterChecker::movedLanes(const Inst *I, RegisterSpan V,
                                     uint64_t Good, uint64_t Exec,
                                     uint64_t &Writable) const {
  const DppPattern &P = *I->Dpp;
  const bool Fetches = I->Flags & FlagDppFetchInactive;
  if (Fetches)
    for (unsigned R = 0; R < V.Count; ++R)
      Good &= Exec | ~Vectors.old(V.First + R);
  Writable &= I->DppEnabled;
  // Most often all is there, and moving it changes nothing.
  if (!(W.FullMask & ~Good) && (Exec == W.FullMask || Fetches)) {
    if (!(I->Flags & FlagDppBoundCtrl))
      Writable &= P.Valid | ~W.FullMask;
    return Good;
  }
  uint64_t Moved = 0;
  for (unsigned Lane = 0; Lane < W.N; ++Lane) {
    unsigned From = P.From[Lane];
    bool Has = (P.Valid >> Lane & 1) && (Fetches || (Exec >> From & 1));
    Moved |= uint64_t(Has ? Good >> From & 1 : 1) << Lane;
    if (!Has && !(I->Flags & FlagDppBoundCtrl))
      Writable &= ~(1ull << Lane);
  }
  return Moved;
}

/// Whether what is missing is in halves and bytes that the instruction does not
/// look at.
bool RegisterChecker::usesOnlyDefined(const Inst *I, const Effects &E,
                                      uint64_t Exec) const {
  for (unsigned K = 0; K < I->NumSrc; ++K) {
    if (!scalarDefined(E.ScalarRead[K]))
      return false;
    const RegisterSpan V = E.VectorRead[K];
    for (unsigned R = 0; R < V.Count; ++R) {
      const uint32_t Used = bitsUsed(I, K, R);
      for (uint64_t Left = Exec & ~Vectors.defined(V.First + R); Left;
           Left &= Left - 1)
        if (Vectors.missing(V.First + R, unsigned(__builtin_ctzll(Left))) &
            Used)
          return false;
    }
  }
  return true;
}

/// Vector ALU instructions that do the same in each lane.
bool RegisterChecker::propagateLanes(const Inst *I, const Effects &E,
                                     uint64_t Exec) {
  const RegisterSpan To = E.VectorWrite[0];
  uint64_t Writable = Exec, Good = ~0ull;
  if (E.How == Flow::Select) {
    const uint64_t Zero = definedLanes(I, E, 0, Exec, Writable);
    const uint64_t One = definedLanes(I, E, 1, Exec, Writable);
    const RegisterSpan M = E.ScalarRead[2];
    const uint64_t Mask = M.Count ? W.mask(M.First) : 0;
    Good = scalarDefined(M) ? (Mask & One) | (~Mask & Zero) : 0;
  } else {
    for (unsigned K = 0; K < I->NumSrc; ++K)
      Good &= definedLanes(I, E, K, Exec, Writable);
  }
  const uint32_t Kept = E.KeptBits;
  const uint64_t KeptMissing = Kept ? Writable & ~Vectors.defined(To.First) : 0;
  if (__builtin_expect(Writable & ~Good, 0)) {
    if (I->Lane && copiesRegister(I, E)) {
      const unsigned From = E.VectorRead[0].First;
      Vectors.copy(To.First, From, Exec);
      Vectors.written(To.First, Exec);
      Why[To.First] = blameRow(I, From);
      return true;
    }
    if (!I->Lane || (I->Flags & FlagDpp) || !usesOnlyDefined(I, E, Exec))
      return propagateByFilling(I, E, Exec);
  }
  if (__builtin_expect(KeptMissing != 0, 0)) {
    uint32_t Missing[64];
    for (unsigned Lane : LaneMask(KeptMissing)) {
      Missing[Lane] = Vectors.missing(To.First, Lane) & Kept;
    }
    Vectors.set(To.First, Writable & ~KeptMissing, ~0ull);
    Vectors.set(To.First, KeptMissing, Missing);
    Vectors.written(To.First, Writable);
  } else {
    define(To, Writable);
  }
  for (const RegisterSpan &S : E.ScalarWrite)
    for (unsigned K = 0; K < S.Count; ++K)
      setScalar(S.First + K, 0);
  return true;
}

void RegisterChecker::propagateAnyLane(const Inst *I, const Effects &E,
                                       uint64_t Exec) {
  bool Good = true;
  for (const RegisterSpan &S : E.VectorRead)
    for (unsigned K = 0; K < S.Count; ++K)
      Good &= !Exec || (Vectors.defined(S.First + K) & Exec) != 0;
  for (const RegisterSpan &S : E.ScalarRead)
    Good &= scalarDefined(S);
  const Source Reason = Good ? Source() : blame(I, E, Exec);
  for (const RegisterSpan &S : E.VectorWrite)
    define(S, Exec, Good ? ~0ull : 0, Reason);
}

/// Instructions that hand values from lane to lane say themselves whose value
/// each lane gets: executed on rows of missing bits, they leave the missing
/// bits of the result.
void RegisterChecker::propagateMoves(const Inst *I, const Effects &E,
                                     uint64_t Exec) {
  const unsigned N = W.N;
  const bool Swaps = E.VectorWrite[1].Count != 0;
  const bool ThroughLds = I->Class == InstClass::LDS;
  const bool Send = ThroughLds && I->NumSrc > 1;
  // The lane that a value comes from or goes to, and the value.
  const unsigned Data = Send ? 1 : 0;
  const RegisterSpan Value = E.VectorRead[Data], To = E.VectorWrite[0];
  uint64_t Chosen = ~0ull;
  Source Reason;
  for (unsigned K = 0; K < 4; ++K) {
    if (K == Data || (Swaps && K == 1))
      continue;
    const RegisterSpan V = E.VectorRead[K];
    if (V.Count && (Exec & ~Vectors.defined(V.First))) {
      Chosen &= Vectors.defined(V.First);
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
  const uint64_t Missing =
      Value.Count ? W.FullMask & ~Vectors.defined(Value.First) : 0;
  const uint64_t MissingTo = W.FullMask & ~Vectors.defined(To.First);
  // Whose value it is that an inactive lane holds, nobody knows, and through
  // LDS it is not even read.
  const bool Gathers = ThroughLds && !E.Scatters &&
                       !(I->Flags & FlagDppFetchInactive) && Exec != W.FullMask;
  const bool Fetches =
      (I->Record->Facts.Flags & lnbwd::isa::FactFetchesInactive) ||
      (!ThroughLds && (I->OpSel & 1));
  const uint64_t Stale = Fetches && Value.Count
                             ? ~Exec & W.FullMask & Vectors.old(Value.First)
                             : 0;
  const bool SelfChosen = Send && Value.Count &&
                          E.VectorRead[0].First == Value.First &&
                          E.VectorRead[0].Count;
  if (!scalarDefined(E.ScalarRead[Data]))
    return define(To, Exec, 0, blame(I, E, 0));
  if ((!Missing && !MissingTo && !Gathers && !Stale) || !Value.Count ||
      (SelfChosen && !Gathers) ||
      // From 0xe000 on: the FFT mode, which dsSwizzle refuses.
      (Data == 0 && !Swaps && ThroughLds &&
       (uint32_t(I->Imm) & 0xffff) >= 0xe000))
    return define(To, Exec, Chosen, Reason);
  uint32_t Values[64], Results[64], ToBits[64], ValueBits[64];
  uint32_t *ValueRow = W.row(Value.First), *ToRow = W.row(To.First);
  std::copy_n(ValueRow, N, Values);
  std::copy_n(ToRow, N, Results);
  uint64_t Inactive = 0;
  if (Gathers && !SelfChosen) {
    // With ones everywhere, who gets zero has asked a lane that is not active.
    std::fill_n(ValueRow, N, ~0u);
    I->Run(W, I);
    for (unsigned Lane = 0; Lane < N; ++Lane)
      Inactive |= uint64_t(ToRow[Lane] == 0) << Lane;
    Inactive &= Exec;
    std::copy_n(Results, N, ToRow);
    std::copy_n(Values, N, ValueRow);
  }
  Vectors.missing(To.First, ToBits, N);
  Vectors.missing(Value.First, ValueBits, N);
  for (unsigned Lane = 0; Lane < N; ++Lane)
    if (Stale >> Lane & 1)
      ValueBits[Lane] = ~0u;
  if (SelfChosen) {
    std::fill_n(ToBits, N, 0);
  } else {
    std::copy_n(ToBits, N, ToRow);
    std::copy_n(ValueBits, N, ValueRow);
    I->Run(W, I);
    std::copy_n(ToRow, N, ToBits);
    std::copy_n(ValueRow, N, ValueBits);
    std::copy_n(Results, N, ToRow);
    std::copy_n(Values, N, ValueRow);
  }
  uint64_t Whole = 0;
  for (unsigned Lane = 0; Lane < N; ++Lane) {
    if ((Inactive >> Lane & 1) || !(Chosen >> Lane & 1))
      ToBits[Lane] = ~0u;
    Whole |= uint64_t(ToBits[Lane] == 0) << Lane;
  }
  if (!(Exec & ~Chosen)) {
    Reason = blameRow(I, Missing ? Value.First : To.First);
    if (Inactive || (Stale && !Missing))
      Reason = blameInactive(I, Value.First);
  }
  Vectors.set(To.First, Exec, ToBits);
  Vectors.written(To.First, Exec);
  if (Exec & ~Whole)
    Why[To.First] = Reason;
  if (Swaps) {
    Vectors.set(Value.First, Exec, ValueBits);
    Vectors.written(Value.First, Exec);
    Why[Value.First] = Reason;
  }
}

/// Two rows, or halves of them, change places.
void RegisterChecker::propagateSwap(const Inst *I, const Effects &E,
                                    uint64_t Exec) {
  const unsigned A = E.VectorWrite[0].First, B = E.VectorWrite[1].First;
  const unsigned N = W.N;
  if (!(Exec & ~(Vectors.defined(A) & Vectors.defined(B))))
    return;
  uint32_t KeptA[64], KeptB[64], BitsA[64], BitsB[64];
  std::copy_n(W.row(A), N, KeptA);
  std::copy_n(W.row(B), N, KeptB);
  Vectors.missing(A, W.row(A), N);
  Vectors.missing(B, W.row(B), N);
  I->Run(W, I);
  std::copy_n(W.row(A), N, BitsA);
  std::copy_n(W.row(B), N, BitsB);
  std::copy_n(KeptA, N, W.row(A));
  std::copy_n(KeptB, N, W.row(B));
  Vectors.set(A, Exec, BitsA);
  Vectors.set(B, Exec, BitsB);
  const Source ReasonA = blameRow(I, A), ReasonB = blameRow(I, B);
  Why[A] = ReasonB;
  Why[B] = ReasonA;
}

static uint32_t laneNumber(const Wave &W, const Inst *I) {
  const Operand &O = I->Src[1];
  return (O.Kind == OperandKind::SGPR ? W.S[O.Reg] : uint32_t(O.Value)) &
         (W.N - 1);
}

void RegisterChecker::propagateReadLane(const Inst *I, const Effects &E,
                                        uint64_t Exec) {
  const bool First = I->NumSrc < 2;
  const unsigned Lane =
      First ? Exec ? unsigned(__builtin_ctzll(Exec)) : 0 : laneNumber(W, I);
  const RegisterSpan S = E.VectorRead[0], To = E.ScalarWrite[0];
  if (!To.Count)
    return;
  uint32_t Missing = 0;
  Source Reason;
  if (S.Count) {
    Missing = Vectors.missing(S.First, Lane);
    Reason = blameRow(I, S.First);
    // A lane that is not active has what it had when it was: the value that
    // the active lanes know by this register is another one.
    if (!First && !Missing && !(Exec >> Lane & 1) &&
        (Vectors.old(S.First) >> Lane & 1)) {
      Missing = ~0u;
      Reason = blameInactive(I, S.First);
    }
  }
  for (unsigned K = 0; K < 2 && K < I->NumSrc; ++K)
    if (!scalarDefined(E.ScalarRead[K])) {
      Missing = K || E.ScalarRead[K].Count != 1
                    ? ~0u
                    : ScalarMissing[E.ScalarRead[K].First];
      Reason = blameScalar(I, E.ScalarRead[K].First);
    }
  defineScalar(To, Missing, Reason);
}

void RegisterChecker::propagateWriteLane(const Inst *I, const Effects &E) {
  const unsigned Lane = laneNumber(W, I), Row = E.VectorWrite[0].First;
  const RegisterSpan S = E.ScalarRead[0];
  uint32_t Missing[64];
  Missing[Lane] = 0;
  for (unsigned K = 0; K < 2; ++K)
    if (!scalarDefined(E.ScalarRead[K])) {
      Missing[Lane] = K ? ~0u : ScalarMissing[S.First];
      Why[Row] = blameScalar(I, E.ScalarRead[K].First);
    }
  if (Missing[Lane])
    Vectors.set(Row, 1ull << Lane, Missing);
  else
    Vectors.set(Row, 1ull << Lane, ~0ull);
  Vectors.writtenToo(Row, Lane);
}

/// From or to a register at a distance of M0.
void RegisterChecker::propagateIndexed(const Effects &E, const Inst *I) {
  const uint64_t Distance = W.S[SlotM0];
  uint64_t From = E.ScalarRead[0].First, To = E.ScalarWrite[0].First;
  const unsigned Count = E.ScalarWrite[0].Count;
  (E.IndexedDst ? To : From) += Distance;
  // Where there are no registers, the execution says so.
  if (From + Count > SlotVCC || To + Count > SlotVCC)
    return;
  uint32_t Missing[2] = {};
  Source Reason[2];
  for (unsigned K = 0; K < Count && K < 2; ++K) {
    Missing[K] = ScalarMissing[From + K];
    Reason[K] = blameScalar(I, unsigned(From + K));
  }
  for (unsigned K = 0; K < Count && K < 2; ++K)
    defineScalar({uint16_t(To + K), 1}, Missing[K], Reason[K]);
}

bool RegisterChecker::propagateScalars(const Inst *I, const Effects &E) {
  if (__builtin_expect(scalarSourcesDefined(E), 1)) {
    for (const RegisterSpan &S : E.ScalarWrite)
      for (unsigned K = 0; K < S.Count; ++K)
        setScalar(S.First + K, 0);
    if (E.WritesScc)
      setScalar(SlotSCC, 0);
    return true;
  }
  // What else than numbers an instruction changes must not change twice.
  const isa::InstructionFacts &F = I->Record->Facts;
  if (E.Counted != CountClass::ScalarAlu || I->Class != InstClass::Scalar ||
      F.Form == isa::OperandForm::GprIndex || E.Access != MemoryAccess::None ||
      E.Barrier != BarrierKind::None)
    return scalarResults(I, E, false);
  return propagateByFilling(I, E, W.exec());
}

bool RegisterChecker::propagate(const Inst *I, const Effects &E,
                                uint64_t Exec) {
  if (E.IsPlain && scalarSourcesDefined(E)) {
    uint64_t Good = ~0ull;
    for (unsigned K = 0; K < E.PlainCount; ++K)
      Good &= Vectors.defined(E.PlainRows[K]);
    if (__builtin_expect(!(Exec & ~Good), 1)) {
      define(E.VectorWrite[0], Exec);
      return true;
    }
  }
  switch (E.How) {
  case Flow::Lane:
  case Flow::Bits:
  case Flow::Select:
    if (!I->Conversion)
      return propagateLanes(I, E, Exec);
    propagateConversion(I, E, Exec);
    return true;
  case Flow::None:
    for (const RegisterSpan &S : E.VectorWrite)
      define(S, Exec, ~0ull, Source());
    return scalarResults(I, E, true);
  case Flow::AnyLane:
    propagateAnyLane(I, E, Exec);
    return true;
  case Flow::Moves:
    propagateMoves(I, E, Exec);
    return true;
  case Flow::Matrix:
    propagateMatrix(I, E);
    return true;
  case Flow::Swap:
    propagateSwap(I, E, Exec);
    return true;
  case Flow::ReadLane:
    propagateReadLane(I, E, Exec);
    return true;
  case Flow::WriteLane:
    propagateWriteLane(I, E);
    return true;
  case Flow::ScalarIndexed:
    propagateIndexed(E, I);
    return true;
  case Flow::ScalarAll:
  case Flow::ScalarBits:
    return propagateScalars(I, E);
  }
  return true;
}

void RegisterChecker::propagateConversion(const Inst *I, const Effects &E,
                                          uint64_t Exec) {
  const SmallConversion &C = *I->Conversion;
  const RegisterSpan To = E.VectorWrite[0];
  const unsigned Width = bitsOf(C.From), ResultWidth = bitsOf(C.To);
  const unsigned PerSource = C.TwoSources ? C.Count / 2u : C.Count;
  const bool KeepsBits = C.ResultBit || C.Count * ResultWidth % 32;
  bool Whole = true;
  for (unsigned K = 0; K < I->NumSrc; ++K) {
    const uint64_t Lanes =
        C.ScaleBytes && int(K) == C.Scale ? (Exec | Exec >> 16) & 0xffff : Exec;
    for (unsigned R = 0; R < E.VectorRead[K].Count; ++R)
      Whole &= !(Lanes & ~Vectors.defined(E.VectorRead[K].First + R));
    Whole &= scalarDefined(E.ScalarRead[K]);
  }
  if (Whole && (!KeepsBits || !(Exec & ~Vectors.defined(To.First))))
    return define(To, Exec, ~0ull, Source());

  auto Missing = [&](unsigned K, unsigned Bit, unsigned Bits, unsigned Lane) {
    if (!scalarDefined(E.ScalarRead[K]))
      return true;
    if (!E.VectorRead[K].Count)
      return false;
    const unsigned Row = E.VectorRead[K].First + Bit / 32;
    uint64_t Holes = Vectors.missing(Row, Lane);
    if (Bit % 32 + Bits > 32)
      Holes |= uint64_t(Vectors.missing(Row + 1, Lane)) << 32;
    return (Holes >> Bit % 32 & ((1ull << Bits) - 1)) != 0;
  };
  const Source Reason = Whole ? Why[To.First] : blame(I, E, Exec);
  uint32_t Holes[32][64];
  for (unsigned R = 0; R < To.Count; ++R)
    Vectors.missing(To.First + R, Holes[R], W.N);
  for (unsigned Lane : LaneMask(Exec)) {
    const bool All =
        (C.Scale >= 0 &&
         Missing(unsigned(C.Scale), C.scaleBit(Lane), 8, C.scaleLane(Lane))) ||
        (C.Random >= 0 && Missing(unsigned(C.Random), 0, 32, Lane));
    for (unsigned K = 0; K < C.Count; ++K) {
      const bool Hole =
          All || Missing(K / PerSource, C.SourceBit + K % PerSource * Width,
                         Width, Lane);
      const unsigned Bit = C.ResultBit + K * ResultWidth;
      const uint64_t Bits = ((1ull << ResultWidth) - 1) << Bit % 32;
      for (unsigned Part = 0; Part < 2; ++Part) {
        const uint32_t Mask = uint32_t(Bits >> 32 * Part);
        if (!Mask)
          continue;
        uint32_t &H = Holes[Bit / 32 + Part][Lane];
        H = Hole ? H | Mask : H & ~Mask;
      }
    }
  }
  for (unsigned R = 0; R < To.Count; ++R) {
    Vectors.set(To.First + R, Exec, Holes[R]);
    Vectors.written(To.First + R, Exec);
    if (Exec & ~Vectors.defined(To.First + R))
      Why[To.First + R] = Reason;
  }
}
