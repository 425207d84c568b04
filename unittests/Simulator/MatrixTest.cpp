//===- MatrixTest.cpp - Matrix instructions of 8-bit floats ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of fp8 and bf8, which gfx942 has with one zero and later chips as
// OCP defines them, against LLVM's APFloat. BreadthTest has those of other
// types, in compiled kernels.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <random>

using namespace lnbwd::sim;
using llvm::APFloat;

namespace {
struct Shape {
  const char *Chip, *Name;
  unsigned M, K;
};
constexpr Shape Shapes[] = {
    {"gfx942", "v_mfma_f32_16x16x32_", 16, 32},
    {"gfx942", "v_mfma_f32_32x32x16_", 32, 16},
    {"gfx950", "v_mfma_f32_16x16x32_", 16, 32},
    {"gfx950", "v_mfma_f32_32x32x16_", 32, 16},
    {"gfx1201", "v_wmma_f32_16x16x16_", 16, 16},
};

double valueOf(uint8_t Bits, bool Fp8, bool OneZero) {
  const llvm::fltSemantics &S =
      Fp8 ? (OneZero ? APFloat::Float8E4M3FNUZ() : APFloat::Float8E4M3FN())
          : (OneZero ? APFloat::Float8E5M2FNUZ() : APFloat::Float8E5M2());
  return APFloat(S, llvm::APInt(8, Bits)).convertToDouble();
}

/// Where row I, column J of the result lies.
std::pair<unsigned, unsigned> resultPlace(const Shape &S, unsigned I,
                                          unsigned J, unsigned Lanes) {
  if (Lanes == 32)
    return {J + 16 * (I / 8), I % 8};
  if (S.M == 16)
    return {J + 16 * (I / 4), I % 4};
  return {J + 32 * (I / 4 % 2), 4 * (I / 8) + I % 4};
}

/// Multiplies bytes that Byte() gives, and compares with the sums in the same
/// order.
template <typename F>
void multiply(const Shape &S, bool FirstFp8, bool SecondFp8, F Byte) {
  SCOPED_TRACE(std::string(S.Chip) + " " + S.Name);
  const bool OneZero = std::string(S.Chip) == "gfx942";
  WaveTester T(S.Chip);
  const unsigned N = T.lanes();
  std::vector<uint8_t> A(S.M * S.K), B(S.M * S.K);
  for (uint8_t &X : A)
    X = Byte(FirstFp8, OneZero);
  for (uint8_t &X : B)
    X = Byte(SecondFp8, OneZero);
  for (unsigned R = 0; R < 4; ++R)
    std::fill_n(T.v(R), N, 0);
  for (unsigned I = 0; I < S.M; ++I)
    for (unsigned K = 0; K < S.K; ++K) {
      const unsigned Lane = I + S.M * (K / 8);
      T.v(K % 8 / 4)[Lane] |= uint32_t(A[I * S.K + K]) << K % 4 * 8;
      T.v(2 + K % 8 / 4)[Lane] |= uint32_t(B[I * S.K + K]) << K % 4 * 8;
    }
  const unsigned Rows = S.M * S.M / N;
  for (unsigned R = 0; R < Rows; ++R)
    for (unsigned Lane = 0; Lane < N; ++Lane)
      T.v(4 + R)[Lane] = f32(float(R) - 1.5f);
  const std::string Sums = "v[4:" + std::to_string(3 + Rows) + "]";
  const std::string Text = S.Name + std::string(FirstFp8 ? "fp8_" : "bf8_") +
                           (SecondFp8 ? "fp8 " : "bf8 ") + Sums +
                           ", v[0:1], v[2:3], " + Sums;
  ASSERT_TRUE(T.run(Text)) << T.error();
  for (unsigned I = 0; I < S.M; ++I)
    for (unsigned J = 0; J < S.M; ++J) {
      const auto [Lane, Row] = resultPlace(S, I, J, N);
      double Sum = double(Row) - 1.5;
      for (unsigned K = 0; K < S.K; ++K)
        Sum += valueOf(A[I * S.K + K], FirstFp8, OneZero) *
               valueOf(B[J * S.K + K], SecondFp8, OneZero);
      const uint32_t Got = T.v(4 + Row)[Lane];
      if (std::isnan(Sum))
        ASSERT_GT(Got & 0x7fffffff, Inf32) << Text << I << " " << J;
      else
        ASSERT_EQ(Got, f32(float(Sum))) << Text << " " << I << " " << J;
    }
}
} // namespace

TEST(Matrix, SmallFloats) {
  std::mt19937 Random(1);
  for (const Shape &S : Shapes)
    for (unsigned Kinds = 0; Kinds < 4; ++Kinds)
      multiply(S, Kinds & 1, Kinds & 2, [&](bool Fp8, bool OneZero) {
        for (;;) {
          const auto X = uint8_t(Random());
          if (std::isfinite(valueOf(X, Fp8, OneZero)))
            return X;
        }
      });
}

TEST(Matrix, SmallFloatsThatAreNoNumbers) {
  std::mt19937 Random(2);
  for (const Shape &S : Shapes)
    for (unsigned Kinds = 0; Kinds < 4; ++Kinds)
      multiply(S, Kinds & 1, Kinds & 2, [&](bool, bool) {
        constexpr uint8_t Some[] = {0x7c, 0xfc, 0x7f, 0x80, 0xff, 0x7e};
        const unsigned X = unsigned(Random());
        return X % 64 < 6 ? Some[X % 64] : uint8_t(0x30 + X / 64 % 16);
      });
}
