//===- MatrixFlow.cpp - What of a matrix product is defined ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of a product is defined if all elements that it is made of are:
// its row of A, its column of B (of a sparse product those that the index
// takes), the addend, the index and the scales.
//
//===----------------------------------------------------------------------===//

#include "Check/RegisterChecker.h"

#include "Core/MatrixShape.h"

#include <algorithm>
#include <vector>

using namespace lnbwd::sim;

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
    Hole |= missing(I.Src[3], R + S.M * (K / ScaleBlock), S.ScaleShift[0], 8);
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
            missing(S.ScaleB, unsigned(K % M + M * (K / M / ScaleBlock)),
                    S.ScaleShift[1], 8);
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
        if (!(Holes >> J & 1) && !missing(I.Src[2], P, S.Result))
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
