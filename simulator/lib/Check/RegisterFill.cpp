//===- RegisterFill.cpp - Which bits of a result depend on what -----------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction says itself which bits of its result depend on a bit that is
// missing: executed with the missing bits filled in several ways, the result
// differs there, with all that the operands select, mask, shift away or negate
// accounted for. Registers are filled with zeros and ones independently of each
// other, which is exact for what works bit by bit, and with values at the ends
// of the ranges of numbers. Of a sum, all bits above one that differs count as
// different, of a floating-point number all bits.
//
// An element of a matrix product is defined if all elements that it is made of
// are: its row of A, its column of B (of a sparse product those that the index
// takes), the addend, the index and the scales.
//
//===----------------------------------------------------------------------===//

#include "Check/RegisterChecker.h"

#include "Core/Execution.h"
#include "Core/Instruction.h"
#include "Core/MatrixShape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstring>

using namespace lnbwd::sim;

namespace {
/// Ends of ranges, NaN apart, which is all ones: signed integers, f32, f16 and
/// bf16 pairs, infinity, and a number in the middle of each.
constexpr uint32_t Corners[] = {0x7fffffff, 0x80000000, 0x7f7f7f7f,
                                0xff7fff7f, 0x3f803f80, 0x7bff7bff,
                                0xfbfffbff, 0x7f800000, 0x4b7f3c01};
constexpr unsigned NumCorners = sizeof(Corners) / sizeof(Corners[0]);
/// Have no common divisor with NumCorners.
constexpr unsigned Steps[4] = {1, 2, 4, 5};

/// One register with missing bits.
struct Hole {
  bool Scalar;
  uint16_t Register;
  uint8_t Place; ///< among the registers that are filled independently
  uint32_t Values[64];
  uint32_t Missing[64];
};
} // namespace

static bool comparesNumbers(const Inst *I, const Effects &E) {
  if (I->Lane)
    return I->Lane->Flags & LaneMaskResult;
  return E.WritesScc && !E.ScalarWrite[0].Count;
}

void RegisterChecker::fill(const Inst *I, const Effects &E, uint64_t Exec,
                           Difference &D) {
  const unsigned N = W.N;
  llvm::SmallVector<Hole, 6> Holes;
  unsigned Places = 0;
  auto AddRow = [&](unsigned Row, bool IsResult, uint64_t Stale) {
    const bool Missing = (W.FullMask & (~Vectors.defined(Row) | Stale)) != 0;
    if ((!Missing && !IsResult) || llvm::any_of(Holes, [&](const Hole &H) {
          return !H.Scalar && H.Register == Row;
        }))
      return;
    Holes.emplace_back();
    Hole &H = Holes.back();
    H.Scalar = false;
    H.Register = uint16_t(Row);
    H.Place = uint8_t(IsResult ? 0 : Places++ & 3);
    std::copy_n(W.row(Row), N, H.Values);
    Vectors.missing(Row, H.Missing, N);
    for (unsigned Lane = 0; Lane < N; ++Lane)
      if (Stale >> Lane & 1)
        H.Missing[Lane] = ~0u;
  };
  auto AddSlot = [&](unsigned Slot) {
    if (!ScalarMissing[Slot] || llvm::any_of(Holes, [&](const Hole &H) {
          return H.Scalar && H.Register == Slot;
        }))
      return;
    Holes.emplace_back();
    Hole &H = Holes.back();
    H.Scalar = true;
    H.Register = uint16_t(Slot);
    H.Place = uint8_t(Places++ & 3);
    H.Values[0] = W.S[Slot];
    H.Missing[0] = ScalarMissing[Slot];
  };
  const bool Fetches = I->Flags & FlagDppFetchInactive;
  for (unsigned K = 0; K < 4; ++K)
    for (unsigned R = 0; R < E.VectorRead[K].Count; ++R) {
      const unsigned Row = E.VectorRead[K].First + R;
      AddRow(Row, false, Fetches && !K ? ~Exec & Vectors.old(Row) : 0);
    }
  for (const RegisterSpan &S : E.ScalarRead)
    for (unsigned K = 0; K < S.Count; ++K)
      AddSlot(S.First + K);
  if (E.ReadsScc)
    AddSlot(SlotSCC);
  const RegisterSpan To = E.VectorWrite[0];
  D.Count = std::min<unsigned>(To.Count, 4);
  for (unsigned K = 0; K < D.Count; ++K) {
    AddRow(To.First + K, true, 0);
    D.Row[K] = uint16_t(To.First + K);
    std::fill_n(D.Bits[K], N, 0);
  }
  llvm::fill(D.Scalar, 0);

  uint32_t Scalars[NumScalarSlots], FirstScalars[NumScalarSlots];
  std::memcpy(Scalars, W.S, sizeof(Scalars));
  std::vector<uint32_t> First(size_t(D.Count) * N);
  bool Begun = false;
  auto Execute = [&](auto Value) {
    for (const Hole &H : Holes) {
      if (H.Scalar) {
        W.S[H.Register] =
            (H.Values[0] & ~H.Missing[0]) | (Value(H, 0) & H.Missing[0]);
        continue;
      }
      uint32_t *Row = W.row(H.Register);
      for (unsigned Lane = 0; Lane < N; ++Lane)
        Row[Lane] = (H.Values[Lane] & ~H.Missing[Lane]) |
                    (Value(H, Lane) & H.Missing[Lane]);
    }
    I->Run(W, I);
    for (unsigned K = 0; K < D.Count; ++K) {
      const uint32_t *Row = W.row(D.Row[K]);
      if (!Begun)
        std::copy_n(Row, N, &First[size_t(K) * N]);
      for (unsigned Lane = 0; Lane < N; ++Lane)
        D.Bits[K][Lane] |= Row[Lane] ^ First[size_t(K) * N + Lane];
    }
    if (!Begun)
      std::memcpy(FirstScalars, W.S, sizeof(FirstScalars));
    for (unsigned K = 0; K < NumScalarSlots; ++K)
      D.Scalar[K] |= W.S[K] ^ FirstScalars[K];
    Begun = true;
    std::memcpy(W.S, Scalars, sizeof(Scalars));
  };
  const unsigned Independent = 1u << std::min(std::max(Places, 1u), 4u);
  for (unsigned F = 0; F < Independent; ++F)
    Execute(
        [&](const Hole &H, unsigned) { return F >> H.Place & 1 ? ~0u : 0; });
  if (E.How != Flow::Bits && E.How != Flow::ScalarBits)
    for (unsigned F = 0; F < NumCorners; ++F)
      Execute([&](const Hole &H, unsigned) {
        return Corners[(F * Steps[H.Place] + H.Place) % NumCorners];
      });
  if (comparesNumbers(I, E) && I->NumSrc > 1) {
    // Equality is not found by chance: with the other operand's bits, wherever
    // it has them.
    auto OperandValue = [&](const Operand &O, unsigned Dword,
                            unsigned Lane) -> uint32_t {
      switch (O.Kind) {
      case OperandKind::VGPR:
        for (const Hole &H : Holes)
          if (!H.Scalar && H.Register == O.Reg + Dword)
            return H.Values[Lane];
        return W.row(O.Reg + Dword)[Lane];
      case OperandKind::SGPR:
        return Scalars[O.Reg + (O.Dwords > Dword ? Dword : 0)];
      default:
        return uint32_t(O.Value >> (Dword ? 32 : 0));
      }
    };
    for (unsigned Mine = 0; Mine < 2; ++Mine)
      for (int Move : {0, 16, -16})
        Execute([&](const Hole &H, unsigned Lane) -> uint32_t {
          const Operand &O = I->Src[Mine];
          if (O.Kind != (H.Scalar ? OperandKind::SGPR : OperandKind::VGPR) ||
              H.Register < O.Reg || H.Register > O.Reg + 1)
            return 0;
          const uint32_t X =
              OperandValue(I->Src[1 - Mine], H.Register - O.Reg, Lane);
          return Move > 0 ? X << 16 : Move < 0 ? X >> 16 : X;
        });
  }
  for (const Hole &H : Holes)
    if (!H.Scalar)
      std::copy_n(H.Values, N, W.row(H.Register));
}

/// A carry may change all bits above one that is missing.
static uint32_t andAbove(uint32_t Bits) {
  return Bits ? ~0u << __builtin_ctz(Bits) : 0;
}
static uint32_t wholeHalf(uint32_t Bits, uint32_t Half) {
  return Bits & Half ? Bits | Half : Bits;
}

/// What of an element of the result is missing, where bits of it differ.
static void widen(OperandType T, bool HighHalf, uint32_t &Low, uint32_t *High) {
  switch (T) {
  case OperandType::F16:
  case OperandType::BF16:
  case OperandType::I16:
    Low = wholeHalf(Low, HighHalf ? 0xffff0000u : 0xffffu);
    return;
  case OperandType::PkF16:
  case OperandType::PkBF16:
  case OperandType::PkI16:
    Low = wholeHalf(wholeHalf(Low, 0xffff), 0xffff0000u);
    return;
  case OperandType::F32:
    Low = Low ? ~0u : 0;
    return;
  case OperandType::PkF32:
  case OperandType::PkB32:
    Low = Low ? ~0u : 0;
    *High = *High ? ~0u : 0;
    return;
  case OperandType::F64:
    Low = *High = Low | *High ? ~0u : 0;
    return;
  case OperandType::B64:
    *High = Low ? ~0u : andAbove(*High);
    Low = andAbove(Low);
    return;
  default:
    Low = andAbove(Low);
    return;
  }
}

bool RegisterChecker::propagateByFilling(const Inst *I, const Effects &E,
                                         uint64_t Exec) {
  Difference D;
  fill(I, E, Exec, D);
  const bool Exact =
      E.How == Flow::Bits || E.How == Flow::ScalarBits || E.How == Flow::Select;
  const bool Moved = (I->Flags & FlagDpp) != 0;
  Source Reason = blame(I, E, Moved ? W.FullMask : Exec);
  Reason.Copied &=
      (I->Record->Facts.Flags & isa::FactCopies) != 0 || E.How == Flow::Select;
  if (Moved && (I->Flags & FlagDppFetchInactive) &&
      !(W.FullMask & ~Vectors.defined(E.VectorRead[0].First)))
    Reason = blameInactive(I, E.VectorRead[0].First);
  // SDWA puts the result into a byte or a half.
  const uint32_t Field = I->Flags & FlagSdwa ? sdwaField(I->DstSel) : ~0u;
  if (!Exact && D.Count)
    for (unsigned Lane : LaneMask(Exec)) {
      if (~Field)
        D.Bits[0][Lane] |= D.Bits[0][Lane] & Field ? Field : 0;
      else
        widen(I->Lane ? I->Lane->Dst : OperandType::B32,
              (I->Flags & FlagDstHigh) != 0, D.Bits[0][Lane],
              D.Count > 1 ? &D.Bits[1][Lane] : &D.Bits[0][Lane]);
    }
  for (unsigned K = 0; K < D.Count; ++K) {
    Vectors.set(D.Row[K], Exec, D.Bits[K]);
    Vectors.written(D.Row[K], Exec);
    Why[D.Row[K]] = Reason;
  }
  if (E.WritesExec)
    for (unsigned K = 0; K < 2; ++K)
      if (D.Scalar[SlotExec + K] & uint32_t(W.FullMask >> 32 * K))
        return newExec(I, Reason) && propagate(I, E, Exec);
  for (const RegisterSpan &S : E.ScalarWrite) {
    bool Below = false;
    for (unsigned K = 0; K < S.Count; ++K) {
      const unsigned Slot = S.First + K;
      uint32_t Missing = D.Scalar[Slot];
      if (!Exact && !I->Lane) {
        Missing = Below ? ~0u : andAbove(Missing);
        Below |= Missing != 0;
      }
      if (Slot != SlotExec && Slot != SlotExec + 1)
        defineScalar({uint16_t(Slot), 1}, Missing, Reason);
    }
  }
  if (E.WritesScc)
    defineScalar({SlotSCC, 1}, D.Scalar[SlotSCC] & 1, Reason);
  return true;
}

namespace {
/// Looks up what is missing of matrices.
class Holes {
public:
  Holes(const VectorBits &Vectors, const Wave &W, const Inst &I)
      : Vectors(Vectors), W(W), I(I), S(*I.Matrix) {}
  /// The missing bits of the result, row after row, W.N lanes each.
  std::vector<uint32_t> find() const;

private:
  bool missing(const Operand &O, unsigned Lane, unsigned Bit,
               unsigned Width) const {
    if (O.Kind != OperandKind::VGPR)
      return false;
    const unsigned Last = (Bit + Width - 1) / 32;
    uint64_t Bits = Vectors.missing(O.Reg + Bit / 32, Lane);
    if (Last > Bit / 32)
      Bits |= uint64_t(Vectors.missing(O.Reg + Last, Lane)) << 32;
    const uint64_t Used = Width == 64 ? ~0ull : (1ull << Width) - 1;
    return Bits >> Bit % 32 & Used;
  }
  bool missing(const Operand &O, const ElementLocation &P, MatrixType T) const {
    return missing(O, P.Lane, P.Bit, bitsOf(T));
  }
  /// The element (i, k) of A, or what makes it count, is missing. Row becomes
  /// the row of B that it is multiplied by.
  bool holeInA(unsigned Block, unsigned R, unsigned K, unsigned &Row) const;

  const VectorBits &Vectors;
  const Wave &W;
  const Inst &I;
  const MatrixShape &S;
};
} // namespace

bool Holes::holeInA(unsigned Block, unsigned R, unsigned K,
                    unsigned &Row) const {
  const ElementLocation &P =
      S.LocationsA[(Block * S.M + R) * size_t(S.keptK()) + K];
  Row = K;
  bool Hole = missing(I.Src[0], P, S.A);
  if (S.Sparse) {
    const unsigned Bit = S.IndexShift + P.Bit / bitsOf(S.A) * 2;
    Hole |= missing(I.Src[3], P.Lane, Bit, 2);
    Row = K / 2 * 4 + (W.V[size_t(I.Src[3].Reg) * W.N + P.Lane] >> Bit & 3);
  }
  if (S.Scaled)
    Hole |= missing(I.Src[3], S.scaleOf(0, R, K), MatrixType::FP8);
  return Hole;
}

std::vector<uint32_t> Holes::find() const {
  const unsigned M = S.M, Bits = bitsOf(S.Result);
  std::vector<uint32_t> Result(size_t(I.Dst.Dwords) * W.N, 0);
  if (S.OneHalf)
    for (unsigned R = 0; R < I.Dst.Dwords; ++R)
      for (unsigned Lane = 0; Lane < W.N; ++Lane)
        Result[R * W.N + Lane] = Vectors.missing(I.Dst.Reg + R, Lane) &
                                 (S.HighHalf ? 0xffffu : 0xffff0000u);
  std::vector<uint8_t> HoleInB(size_t(S.K) * M);
  for (unsigned Block = 0; Block < S.Blocks; ++Block) {
    for (size_t K = 0; K < HoleInB.size(); ++K) {
      HoleInB[K] =
          missing(I.Src[1], S.LocationsB[Block * HoleInB.size() + K], S.B);
      if (S.Scaled)
        HoleInB[K] |=
            missing(S.ScaleB, S.scaleOf(1, unsigned(K % M), unsigned(K / M)),
                    MatrixType::FP8);
    }
    for (unsigned R = 0; R < M; ++R) {
      uint64_t Holes = 0;
      for (unsigned K = 0; K < S.keptK(); ++K) {
        unsigned Row;
        if (holeInA(Block, R, K, Row))
          Holes = ~0ull;
        for (unsigned J = 0; J < M; ++J)
          Holes |= uint64_t(HoleInB[Row * M + J]) << J;
      }
      for (unsigned J = 0; J < M; ++J) {
        const ElementLocation &P =
            S.LocationsD[(Block * M + R) * size_t(M) + J];
        if (!(Holes >> J & 1) && !missing(I.Src[2], S.addendOf(P), S.Addend))
          continue;
        uint32_t *D = &Result[P.Bit / 32 * W.N + P.Lane];
        if (Bits == 16)
          D[0] |= 0xffffu << P.Bit % 32;
        else
          D[0] = ~0u;
        if (Bits == 64)
          D[W.N] = ~0u;
      }
    }
  }
  return Result;
}

void RegisterChecker::propagateMatrix(const Inst *I, const Effects &E) {
  const RegisterSpan To = E.VectorWrite[0];
  Source Reason;
  for (const RegisterSpan &Read : E.VectorRead)
    for (unsigned R = 0; R < Read.Count && !Reason.I; ++R)
      if (W.FullMask & ~Vectors.defined(Read.First + R))
        Reason = blameRow(I, Read.First + R);
  Reason.Copied = false;
  // Inactive lanes take part, and get their part of the result.
  const bool KeepsHalf = I->Matrix->OneHalf;
  if (!Reason.I && !KeepsHalf)
    return define(To, ~0ull, ~0ull, Reason);
  const std::vector<uint32_t> Missing = Holes(Vectors, W, *I).find();
  for (unsigned R = 0; R < To.Count; ++R) {
    const uint32_t *Row = &Missing[size_t(R) * W.N];
    Vectors.set(To.First + R, W.FullMask, Row);
    Vectors.written(To.First + R, ~0ull);
    if (std::any_of(Row, Row + W.N, [](uint32_t X) { return X != 0; }) &&
        Reason.I)
      Why[To.First + R] = Reason;
  }
}
