//===- MatrixOps.cpp - Matrix instructions --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_mfma, v_smfmac, v_wmma and v_swmmac: the matrices are gathered from the
// lanes' registers, multiplied, and the result is scattered. Inactive lanes
// take part, as on hardware. Products are exact in double precision, and so are
// their sums, which are rounded once (those of f64 after each step); in which
// order and with which intermediate roundings hardware adds is not documented.
//
//===----------------------------------------------------------------------===//

#include "Core/MatrixShape.h"
#include "Execute/LaneSupport.h"
#include "Execute/SmallFloats.h"

#include <algorithm>

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// To ten bits of fraction, ties to even.
static float toXF32(uint32_t X) {
  if ((X & 0x7f800000) == 0x7f800000)
    return asF32(X);
  return asF32((X + 0xfff + (X >> 13 & 1)) & ~0x1fffu);
}

/// Reads elements of a matrix: Element(R, Bit) is one of a lane.
template <typename F>
static void gather(double *To, const uint32_t *First, const ElementLocation *P,
                   size_t Count, F Element) {
  for (size_t K = 0; K < Count; ++K)
    To[K] = Element(First + P[K].Lane, P[K].Bit);
}

static void readMatrix(double *To, const Wave &W, unsigned Row,
                       const ElementLocation *P, size_t Count, MatrixType T,
                       bool Signed) {
  const uint32_t *First = W.V + size_t(Row) * W.N;
  const unsigned N = W.N;
  using Reg = const uint32_t *;
  switch (T) {
  case MatrixType::F16:
    return gather(To, First, P, Count, [N](Reg R, unsigned Bit) {
      return double(half(R[Bit / 32 * N] >> Bit % 32 & 0xffff));
    });
  case MatrixType::BF16:
    return gather(To, First, P, Count, [N](Reg R, unsigned Bit) {
      return double(bfloat(R[Bit / 32 * N] >> Bit % 32 & 0xffff));
    });
  case MatrixType::F32:
    return gather(To, First, P, Count, [N](Reg R, unsigned Bit) {
      return double(asF32(R[Bit / 32 * N]));
    });
  case MatrixType::XF32:
    return gather(To, First, P, Count, [N](Reg R, unsigned Bit) {
      return double(toXF32(R[Bit / 32 * N]));
    });
  case MatrixType::F64:
    return gather(To, First, P, Count, [N](Reg R, unsigned Bit) {
      return asF64(join(R[Bit / 32 * N], R[(Bit / 32 + 1) * N]));
    });
  case MatrixType::I32:
    return gather(To, First, P, Count, [N](Reg R, unsigned Bit) {
      return double(int32_t(R[Bit / 32 * N]));
    });
  case MatrixType::I4:
  case MatrixType::I8: {
    const unsigned Unused = 32 - bitsOf(T);
    return gather(To, First, P, Count, [=](Reg R, unsigned Bit) {
      const uint32_t X = R[Bit / 32 * N] >> Bit % 32 << Unused;
      return Signed ? double(int32_t(X) >> Unused) : double(X >> Unused);
    });
  }
  default: {
    const SmallFloatFormat Format = smallFormat(T);
    double Values[256];
    for (unsigned X = 0; X < 1u << Format.bits(); ++X)
      Values[X] = smallFloat(X, Format);
    return gather(To, First, P, Count, [&](Reg R, unsigned Bit) {
      return Values[readBits(R, Bit, Format.bits(), N)];
    });
  }
  }
}

/// Negates the elements at even places, or those at odd ones.
static void negate(double *X, const ElementLocation *P, size_t Count,
                   unsigned Bits, bool Even, bool Odd) {
  if (!Even && !Odd)
    return;
  for (size_t K = 0; K < Count; ++K)
    if (P[K].Bit / Bits % 2 ? Odd : Even)
      X[K] = -X[K];
}

static double scaleAt(const Wave &W, const Operand &O, ElementLocation P) {
  const uint32_t X = W.V[size_t(O.Reg + P.Bit / 32) * W.N + P.Lane];
  return scaleValue(X >> P.Bit % 32 & 0xff);
}

static void scaleFactors(const Wave &W, const Inst *I, const MatrixShape &S,
                         double *A, double *B) {
  for (unsigned R = 0; R < S.M; ++R)
    for (unsigned K = 0; K < S.K; ++K) {
      A[R * S.K + K] *= scaleAt(W, I->Src[3], S.scaleOf(0, R, K));
      B[K * S.M + R] *= scaleAt(W, S.ScaleB, S.scaleOf(1, R, K));
    }
}

/// Counts subnormal numbers of a type as 0.
static void flushSubnormals(double *X, size_t Count, MatrixType T) {
  const double Least = T == MatrixType::F16 ? 0x1p-14 : 0x1p-126;
  for (size_t K = 0; K < Count; ++K)
    X[K] = __builtin_fabs(X[K]) < Least ? 0 : X[K];
}

namespace {
/// Between which powers of two numbers lie: their magnitudes are multiples of
/// 2^Low and less than 2^High.
struct Span {
  int Low, High;
};

enum class Adding : uint8_t {
  Plain, ///< in doubles, into whose 53 bits all sums fit
  Fused, ///< rounded at each step
  Split, ///< in two doubles, whose bits do not overlap
  Parts  ///< in as many as are needed
};

/// A row of a result: the addends and K products of a factor with a row of B.
struct RowSum {
  unsigned M = 0, K = 0;
  Adding How = Adding::Plain;
  int High = 0; ///< if split: all sums are below 2^High
  const double *Addend = nullptr, *Factors = nullptr;
  const double *Others[128];

  /// How to add exactly what lies in those spans.
  void choose(Span A, Span B, Span C);
  /// The sums, or such doubles as are rounded to the same numbers of a smaller
  /// type.
  void add(double *Sums) const;

private:
  template <bool Fuses> void addInOrder(double *Sums) const;
  void addSplit(double *Sums) const;
  void addParts(double *Sums) const;
};
} // namespace

/// Bits after the first one of a number's significand.
static int fractionBits(MatrixType T) {
  switch (T) {
  case MatrixType::F32:
    return 23;
  case MatrixType::BF16:
    return 7;
  case MatrixType::F16:
  case MatrixType::XF32:
    return 10;
  default:
    return 3;
  }
}

static Span spanOf(const double *X, size_t Count, MatrixType T) {
  // Exponents, as doubles have them; that of 0 is 0.
  constexpr int Highest = 0x7ff;
  int Least = Highest, Most = 0;
  for (size_t K = 0; K < Count; ++K) {
    const int Exponent = int(bits(X[K]) >> 52) & Highest;
    Least = imin(Least, Exponent ? Exponent : Highest);
    Most = imax(Most, Exponent);
  }
  // Infinities and NaN are left to the slow way.
  if (Most == Highest)
    return {-5000, 1025};
  return {Least - 1023 - fractionBits(T), Most - 1022};
}

void RowSum::choose(Span A, Span B, Span C) {
  int Doublings = 0; // of the greatest term, by all terms
  while (K >> Doublings)
    ++Doublings;
  const int Low = imin(A.Low + B.Low, C.Low);
  High = Doublings + imax(A.High + B.High, C.High);
  // Multiples of 2^(High - 51), and what is left of each term.
  How = High - Low <= 53                ? Adding::Plain
        : High - Low + Doublings <= 105 ? Adding::Split
                                        : Adding::Parts;
}

template <bool Fuses> void RowSum::addInOrder(double *Sums) const {
  double Sum[32];
  std::memcpy(Sum, Addend, M * sizeof(double));
  for (unsigned I = 0; I < K; ++I) {
    const double Factor = Factors[I], *Other = Others[I];
    for (unsigned J = 0; J < M; ++J)
      Sum[J] = Fuses ? __builtin_fma(Factor, Other[J], Sum[J])
                     : Sum[J] + Factor * Other[J];
  }
  std::memcpy(Sums, Sum, M * sizeof(double));
}

void RowSum::addSplit(double *Sums) const {
  // Of a number that is added to it and taken off again it leaves no bits below
  // its own last one.
  const double Cut = 1.5 * powerOfTwo(High + 1);
  double Upper[32], Rest[32];
  for (unsigned J = 0; J < M; ++J) {
    Upper[J] = (Addend[J] + Cut) - Cut;
    Rest[J] = Addend[J] - Upper[J];
  }
  for (unsigned I = 0; I < K; ++I) {
    const double Factor = Factors[I], *Other = Others[I];
    for (unsigned J = 0; J < M; ++J) {
      const double Product = Factor * Other[J];
      const double Above = (Product + Cut) - Cut;
      Upper[J] += Above;
      Rest[J] += Product - Above;
    }
  }
  for (unsigned J = 0; J < M; ++J)
    Sums[J] = addToOdd(Upper[J], Rest[J]);
}

void RowSum::addParts(double *Sums) const {
  double Terms[129];
  for (unsigned J = 0; J < M; ++J) {
    Terms[0] = Addend[J];
    for (unsigned I = 0; I < K; ++I)
      Terms[I + 1] = Factors[I] * Others[I][J];
    Sums[J] = sumToOdd(Terms, K + 1);
  }
}

void RowSum::add(double *Sums) const {
  switch (How) {
  case Adding::Plain:
    return addInOrder<false>(Sums);
  case Adding::Fused:
    return addInOrder<true>(Sums);
  case Adding::Split:
    return addSplit(Sums);
  case Adding::Parts:
    return addParts(Sums);
  }
}

static uint32_t halfOf(double X) { return halfBits(narrowToOdd(X)); }

static uint32_t addIntegers(double Sum, double Addend, bool Clamp) {
  const int64_t X = int64_t(Sum) + int64_t(Addend);
  return uint32_t(Clamp ? int64_t(saturate(X)) : X);
}

/// Writes an element of the result, whose bits are 0 there.
static void writeElement(uint32_t *D, unsigned Bit, unsigned N, double Sum,
                         MatrixType T) {
  uint32_t *R = D + Bit / 32 * N;
  switch (T) {
  case MatrixType::F64:
    R[0] = uint32_t(bits(Sum));
    R[N] = uint32_t(bits(Sum) >> 32);
    return;
  case MatrixType::F16:
    R[0] |= halfOf(Sum) << Bit % 32;
    return;
  case MatrixType::BF16:
    R[0] |= bfloatOf(Sum) << Bit % 32;
    return;
  default:
    R[0] = bits(float(Sum));
    return;
  }
}

/// A sum that has to be rounded, a unit in the last place smaller.
static double roundedDown(double Sum, MatrixType T) {
  const double Result = T == MatrixType::F16    ? double(half(halfOf(Sum)))
                        : T == MatrixType::BF16 ? double(bfloat(bfloatOf(Sum)))
                                                : double(float(Sum));
  const double Unit = T == MatrixType::F16    ? 0x1p-10
                      : T == MatrixType::BF16 ? 0x1p-7
                                              : 0x1p-23;
  return Result == Sum ? Sum : Sum - __builtin_fabs(Sum) * Unit;
}

/// The addend of block Block, whose results are at P.
static void readAddend(double *C, const Wave &W, const Inst *I,
                       const MatrixShape &S, const ElementLocation *P,
                       size_t Count) {
  const Operand &O = I->Src[2];
  ElementLocation Places[32 * 32];
  if (S.Addend != S.Result) {
    std::transform(P, P + Count, Places,
                   [&](const ElementLocation &D) { return S.addendOf(D); });
    P = Places;
  }
  if (O.Kind == OperandKind::VGPR) {
    readMatrix(C, W, O.Reg, P, Count, S.Addend, true);
  } else {
    const double Constant =
        S.Addend == MatrixType::F64    ? asF64(O.Value)
        : S.Addend == MatrixType::I32  ? double(int32_t(O.Value))
        : S.Addend == MatrixType::F16  ? double(half(uint32_t(O.Value)))
        : S.Addend == MatrixType::BF16 ? double(bfloat(uint32_t(O.Value)))
                                       : double(asF32(uint32_t(O.Value)));
    for (size_t K = 0; K < Count; ++K)
      C[K] = Constant;
  }
  if (S.NegHi & 4)
    for (size_t K = 0; K < Count; ++K)
      C[K] = __builtin_fabs(C[K]);
  negate(C, P, Count, bitsOf(S.Addend), S.NegLo & 4, S.NegLo & 4);
}

const Inst *multiplyMatrices(Wave &W, const Inst *I) {
  const MatrixShape &S = *I->Matrix;
  const unsigned N = W.N, M = S.M, Kept = S.keptK();
  const bool Wide = S.Result == MatrixType::F64;
  const bool Integer = isInteger(S.A);
  const size_t CountA = size_t(M) * Kept, CountB = size_t(S.K) * M,
               CountD = size_t(M) * M;
  double A[32 * 64], B[32 * 64], C[32 * 32], Sums[32];
  static constexpr double NoAddend[32] = {};
  // The result may be a source: it is written at the end.
  uint32_t Result[32 * 64];
  for (unsigned R = 0; R < I->Dst.Dwords; ++R) {
    const uint32_t *Old = W.row(unsigned(I->Dst.Reg) + R);
    const uint32_t Keep = !S.OneHalf ? 0 : S.HighHalf ? 0xffff : 0xffff0000;
    for (unsigned L = 0; L < N; ++L)
      Result[R * N + L] = Old[L] & Keep;
  }
  RowSum Row;
  Row.M = M;
  Row.K = Kept;
  for (unsigned Block = 0; Block < S.Blocks; ++Block) {
    const ElementLocation *PA = &S.LocationsA[Block * CountA],
                          *PB = &S.LocationsB[Block * CountB],
                          *PD = &S.LocationsD[Block * CountD];
    readMatrix(A, W, I->Src[0].Reg, PA, CountA, S.A, S.SignedA);
    readMatrix(B, W, I->Src[1].Reg, PB, CountB, S.B, S.SignedB);
    readAddend(C, W, I, S, PD, CountD);
    negate(A, PA, CountA, bitsOf(S.A), S.NegLo & 1, S.NegHi & 1);
    negate(B, PB, CountB, bitsOf(S.B), S.NegLo & 2, S.NegHi & 2);
    if (S.Scaled)
      scaleFactors(W, I, S, A, B);
    if (S.FlushesSubnormals) {
      flushSubnormals(A, CountA, S.A);
      flushSubnormals(B, CountB, S.B);
      flushSubnormals(C, CountD, S.Addend);
    }
    Span SpanB = {};
    if (Wide) {
      Row.How = Adding::Fused;
    } else if (!Integer) {
      SpanB = spanOf(B, CountB, S.B);
      Row.choose(spanOf(A, CountA, S.A), SpanB, spanOf(C, CountD, S.Addend));
    }
    const bool ByRow = Row.How == Adding::Parts;
    for (unsigned R = 0; R < M; ++R) {
      const double *Addend = C + R * M;
      Row.Addend = Integer ? NoAddend : Addend;
      Row.Factors = A + R * Kept;
      for (unsigned K = 0; K < Kept; ++K) {
        unsigned RowOfB = K;
        if (S.Sparse) {
          const ElementLocation &P = PA[R * Kept + K];
          const unsigned Shift = S.IndexShift + P.Bit / bitsOf(S.A) * 2;
          RowOfB = K / 2 * 4 +
                   (W.V[size_t(I->Src[3].Reg) * N + P.Lane] >> Shift & 3);
        }
        Row.Others[K] = B + RowOfB * M;
      }
      if (ByRow) // Others may be easier.
        Row.choose(spanOf(Row.Factors, Kept, S.A), SpanB,
                   spanOf(Addend, M, S.Addend));
      Row.add(Sums);
      for (unsigned J = 0; J < M; ++J) {
        const ElementLocation &P = PD[R * M + J];
        uint32_t *D = Result + P.Lane;
        if (Integer) {
          D[P.Bit / 32 * N] = addIntegers(Sums[J], Addend[J], S.Clamp);
          continue;
        }
        writeElement(D, P.Bit, N,
                     S.RoundsDown ? roundedDown(Sums[J], S.Result) : Sums[J],
                     S.Result);
        if (S.FlushesSubnormals)
          D[P.Bit / 32 * N] = flush32(D[P.Bit / 32 * N]);
      }
    }
  }
  for (unsigned R = 0; R < I->Dst.Dwords; ++R)
    copyRow(W.row(unsigned(I->Dst.Reg) + R), Result + size_t(R) * N, N);
  return I + 1;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
