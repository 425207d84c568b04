//===- DoubleOps.cpp - Double-precision vector instructions ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the f64 vector ALU instructions.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

#define F(X) asF64(X)

static double roundEven(double X) {
  double Magnitude = __builtin_fabs(X);
  double R = (Magnitude + 0x1p52) - 0x1p52;
  return Magnitude < 0x1p52 ? __builtin_copysign(R, X) : X;
}
static uint64_t fract(uint64_t X) {
  double R = F(X) - __builtin_floor(F(X));
  return R >= 1.0 ? 0x3fefffffffffffffull : bits(R);
}
/// The first 1216 bits of 2/pi after the point, from the most significant on.
constexpr uint64_t TwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab};

/// 53 bits of 2/pi, from a bit that the segment and the size of X choose, as a
/// number.
static double trigPreop(uint64_t X, uint32_t Segment) {
  const unsigned Exponent = unsigned(X >> 52) & 0x7ff;
  unsigned Shift = (Segment & 31) * 53;
  Shift += Exponent > 1077 ? Exponent - 1077 : 0;
  // What lies behind the 1201 bits that hardware has is 0.
  uint64_t Bits = 0;
  for (unsigned K = 0; K < 53; ++K) {
    const unsigned At = Shift + K;
    const bool Bit = At < 1201 && (TwoOverPi[At / 64] >> (63 - At % 64) & 1);
    Bits = Bits << 1 | Bit;
  }
  const int Scale = -53 - int(Shift) + (Exponent >= 1968 ? 128 : 0);
  return __builtin_ldexp(double(Bits), Scale);
}

static void divScaleF64(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    uint64_t R = divScale<Number64, 768, 128, 53>(
        join(S[0][L], S[0][L + N]), join(S[1][L], S[1][L + N]),
        join(S[2][L], S[2][L + N]), D[L + 2 * N]);
    D[L] = uint32_t(R);
    D[L + N] = uint32_t(R >> 32);
  }
}
/// A * B + C, nearly all of which is C, over 2^128, rounded once.
static double fmaScaledDown(double A, double B, double C) {
  const double Sum = __builtin_fma(A, B, C);
  const double Lost = __builtin_fma(A, B, C - Sum);
  const double Scaled = Sum * 0x1p-128;
  const double Rest = Sum - Scaled * 0x1p128;
  // Halfway between two subnormal numbers, what the sum has lost decides.
  const bool IsPastTie =
      __builtin_fabs(Rest) == 0x1p-947 && Lost != 0 && (Lost > 0) == (Rest > 0);
  return IsPastTie ? Scaled + __builtin_copysign(0x1p-1074, Rest) : Scaled;
}
/// The third source is Z; IsScaled is the lane mask that v_div_scale wrote.
static double divFmas(double A, double B, uint64_t Z, uint32_t IsScaled) {
  if (!IsScaled)
    return __builtin_fma(A, B, F(Z));
  if (exponentOf<Number64>(Z) > 1023)
    return __builtin_fma(A, B, F(Z)) * 0x1p128;
  return fmaScaledDown(A, B, F(Z));
}

#define X WIDE(0)
#define Y WIDE(1)
#define Z WIDE(2)
using namespace operand_types;

const LaneOpInfo Table[] = {
#include "ISA/Instructions/Double.def"
};

TableRef<LaneOpInfo> doubleOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
