//===- MatrixOps.cpp - Matrix instructions --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// v_mfma (gfx90a, gfx942, gfx950) and v_wmma (gfx1100, gfx1201): the matrices
// are gathered from the lanes' registers by the layouts of the ISA documents,
// multiplied, and the result is scattered. Inactive lanes take part, as on
// hardware. Sums of 16-bit and f32 products are computed in double precision
// and rounded once; in which order and with which intermediate roundings
// hardware adds is not documented.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneSupport.h"

#include <algorithm>

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// fp8 has 4 bits of exponent, bf8 5.
static double smallFloat(uint32_t X, MatrixType T) {
  const bool OneZero = T == MatrixType::FP8Fnuz || T == MatrixType::BF8Fnuz;
  const bool Fp8 = T == MatrixType::FP8 || T == MatrixType::FP8Fnuz;
  const unsigned Mantissa = Fp8 ? 3 : 2, AllOnes = Fp8 ? 15 : 31;
  const int Bias = int(AllOnes / 2) + OneZero;
  const unsigned Exponent = X >> Mantissa & AllOnes;
  const unsigned Fraction = X & ((1u << Mantissa) - 1);
  if (OneZero ? X == 0x80
              : Exponent == AllOnes && (Fp8 ? Fraction == 7 : Fraction != 0))
    return __builtin_nan("");
  if (!OneZero && !Fp8 && Exponent == AllOnes)
    return X & 0x80 ? -__builtin_inf() : __builtin_inf();
  // Without the hidden bit, and of the least exponent, if that is 0.
  const double Significand = Fraction + (Exponent ? 1u << Mantissa : 0u);
  const int Power = int(std::max(Exponent, 1u)) - Bias - int(Mantissa);
  const double Value = Power >= 0 ? Significand * double(1ull << Power)
                                  : Significand / double(1ull << -Power);
  return X & 0x80 ? -Value : Value;
}

/// Element J of the values that a lane holds in consecutive rows.
static double readElement(const Wave &W, unsigned Row, unsigned Lane,
                          unsigned J, MatrixType T, bool Signed) {
  const uint32_t *R = W.V + size_t(Row) * W.N + Lane;
  switch (T) {
  case MatrixType::F16:
    return double(half(R[J / 2 * W.N] >> (J % 2 * 16) & 0xffff));
  case MatrixType::BF16:
    return double(bfloat(R[J / 2 * W.N] >> (J % 2 * 16) & 0xffff));
  case MatrixType::F32:
    return double(asF32(R[J * W.N]));
  case MatrixType::F64:
    return asF64(join(R[2 * J * W.N], R[(2 * J + 1) * W.N]));
  case MatrixType::I8: {
    uint32_t X = R[J / 4 * W.N] >> (J % 4 * 8) & 0xff;
    return Signed ? double(int8_t(X)) : double(X);
  }
  case MatrixType::FP8:
  case MatrixType::BF8:
  case MatrixType::FP8Fnuz:
  case MatrixType::BF8Fnuz:
    return smallFloat(R[J / 4 * W.N] >> (J % 4 * 8) & 0xff, T);
  }
  return 0;
}

namespace {
/// Where an element of a matrix lies.
struct Place {
  unsigned Lane, Element;
};
} // namespace

/// Row (or column) I, depth K of block B of a source.
static Place sourcePlace(const MatrixShape &S, unsigned I, unsigned K,
                         unsigned B, unsigned N) {
  switch (S.Layout) {
  case MatrixLayout::Mfma: {
    const unsigned GroupsOfBlock = N / S.M / S.Blocks;
    return {I + S.M * (B * GroupsOfBlock + K / S.PerLane), K % S.PerLane};
  }
  case MatrixLayout::WmmaGfx11:
    return {I, K}; // The upper lanes hold the same once more.
  case MatrixLayout::WmmaGfx12:
    return {I + 16 * (K / S.PerLane), K % S.PerLane};
  }
  return {0, 0};
}

/// Row I, column J of block B of the result.
static Place resultPlace(const MatrixShape &S, unsigned I, unsigned J,
                         unsigned B, unsigned N) {
  switch (S.Layout) {
  case MatrixLayout::Mfma:
    if (S.Source == MatrixType::F64)
      return {J + 16 * (I % 4), I / 4};
    if (S.M == 4)
      return {J + 4 * B, I};
    if (S.M == 16)
      return {J + 16 * (I / 4), 4 * B + I % 4};
    return {J + 32 * (I / 4 % 2), 16 * B + 4 * (I / 8) + I % 4};
  case MatrixLayout::WmmaGfx11:
    return N == 32 ? Place{J + 16 * (I % 2), I / 2}
                   : Place{J + 16 * (I % 4), I / 4};
  case MatrixLayout::WmmaGfx12:
    return {J + 16 * (I / 8), I % 8};
  }
  return {0, 0};
}

const Inst *multiplyMatrices(Wave &W, const Inst *I) {
  const MatrixShape &S = *I->Matrix;
  const unsigned N = W.N;
  const bool Wide = S.Source == MatrixType::F64;
  const bool Integer = S.Source == MatrixType::I8;
  double A[32 * 64], B[32 * 64];
  // The result may be a source: it is written at the end.
  uint32_t Result[32 * 64];
  for (unsigned Block = 0; Block < S.Blocks; ++Block) {
    for (unsigned M = 0; M < S.M; ++M)
      for (unsigned K = 0; K < S.K; ++K) {
        Place P = sourcePlace(S, M, K, Block, N);
        A[M * S.K + K] = readElement(W, I->Src[0].Reg, P.Lane, P.Element,
                                     S.Source, S.SignedA);
        B[M * S.K + K] = readElement(W, I->Src[1].Reg, P.Lane, P.Element,
                                     S.SourceB, S.SignedB);
      }
    for (unsigned M = 0; M < S.M; ++M)
      for (unsigned J = 0; J < S.M; ++J) {
        Place P = resultPlace(S, M, J, Block, N);
        const unsigned Rows = Wide ? 2 : 1;
        uint32_t Low = uint32_t(I->Src[2].Value),
                 High = uint32_t(I->Src[2].Value >> 32);
        if (I->Src[2].Kind == OperandKind::VGPR) {
          const uint32_t *C =
              W.row(unsigned(I->Src[2].Reg) + P.Element * Rows) + P.Lane;
          Low = C[0];
          High = Wide ? C[N] : 0;
        }
        double Sum = Wide      ? asF64(join(Low, High))
                     : Integer ? 0
                               : double(asF32(Low));
        for (unsigned K = 0; K < S.K; ++K)
          Sum = Wide ? __builtin_fma(A[M * S.K + K], B[J * S.K + K], Sum)
                     : Sum + A[M * S.K + K] * B[J * S.K + K];
        uint32_t *D = &Result[P.Element * Rows * N + P.Lane];
        if (Wide) {
          uint64_t X = bits(Sum);
          D[0] = uint32_t(X);
          D[N] = uint32_t(X >> 32);
        } else if (Integer) {
          D[0] = Low + uint32_t(int32_t(Sum));
        } else {
          D[0] = bits(float(Sum));
        }
      }
  }
  for (unsigned R = 0; R < I->Dst.Dwords; ++R)
    copyRow(W.row(unsigned(I->Dst.Reg) + R), Result + size_t(R) * N, N);
  return I + 1;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
