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

/// The expression sees the 64-bit sources as X, Y, Z and the second source's
/// low dword as B.
#define DOUBLE_KERNEL(NAME, SOURCES, EXPRESSION)                               \
  static void NAME(uint32_t *D, const uint32_t *const *S, unsigned N) {        \
    const uint32_t *S0 = S[0];                                                 \
    const uint32_t *S1 = (SOURCES) > 1 ? S[1] : S0;                            \
    const uint32_t *S2 = (SOURCES) > 2 ? S[2] : S0;                            \
    FOR_LANES(L, N) {                                                          \
      [[maybe_unused]] const uint32_t B = S[1][L];                             \
      [[maybe_unused]] const uint64_t X = join(S0[L], S0[L + N]),              \
                                      Y = join(S1[L], S1[L + N]),              \
                                      Z = join(S2[L], S2[L + N]);              \
      uint64_t R = (EXPRESSION);                                               \
      D[L] = uint32_t(R);                                                      \
      D[L + N] = uint32_t(R >> 32);                                            \
    }                                                                          \
  }
#define F(X) asF64(X)

DOUBLE_KERNEL(addF64, 2, bits(F(X) + F(Y)))
DOUBLE_KERNEL(mulF64, 2, bits(F(X) * F(Y)))
DOUBLE_KERNEL(fmaF64, 3, bits(__builtin_fma(F(X), F(Y), F(Z))))
DOUBLE_KERNEL(maxF64, 2, maxNum64<true>(X, Y))
DOUBLE_KERNEL(minF64, 2, minNum64<true>(X, Y))
DOUBLE_KERNEL(maxF64NoIEEE, 2, maxNum64<false>(X, Y))
DOUBLE_KERNEL(minF64NoIEEE, 2, minNum64<false>(X, Y))
DOUBLE_KERNEL(maximumF64, 2, (chooseOrNaN<Number64, true>(X, Y)))
DOUBLE_KERNEL(minimumF64, 2, (chooseOrNaN<Number64, false>(X, Y)))
DOUBLE_KERNEL(rcpF64, 1, bits(1.0 / F(X)))
DOUBLE_KERNEL(rsqF64, 1, bits(1.0 / __builtin_sqrt(F(X))))
DOUBLE_KERNEL(sqrtF64, 1, bits(__builtin_sqrt(F(X))))
DOUBLE_KERNEL(floorF64, 1, bits(__builtin_floor(F(X))))
DOUBLE_KERNEL(ceilF64, 1, bits(__builtin_ceil(F(X))))
DOUBLE_KERNEL(truncF64, 1, bits(__builtin_trunc(F(X))))
static double roundEven(double X) {
  double Magnitude = __builtin_fabs(X);
  double R = (Magnitude + 0x1p52) - 0x1p52;
  return Magnitude < 0x1p52 ? __builtin_copysign(R, X) : X;
}
DOUBLE_KERNEL(rndneF64, 1, bits(roundEven(F(X))))
static uint64_t fract(uint64_t X) {
  double R = F(X) - __builtin_floor(F(X));
  return R >= 1.0 ? 0x3fefffffffffffffull : bits(R);
}
DOUBLE_KERNEL(fractF64, 1, fract(X))
DOUBLE_KERNEL(frexpMantF64, 1, frexpMantissa<Number64>(X))
static void frexpExpF64(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L)
    D[L] = frexpExponent<Number64>(join(S[0][L], S[0][L + N]));
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
DOUBLE_KERNEL(trigPreopF64, 1, bits(trigPreop(X, uint32_t(B))))
DOUBLE_KERNEL(ldexpF64, 1, bits(__builtin_ldexp(F(X), int32_t(B))))

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
static void divFmasF64(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    const uint64_t Z = join(S[2][L], S[2][L + N]);
    const double A = F(join(S[0][L], S[0][L + N])),
                 B = F(join(S[1][L], S[1][L + N])), C = F(Z);
    double R;
    if (!S[3][L])
      R = __builtin_fma(A, B, C);
    else if (exponentOf<Number64>(Z) > 1023)
      R = __builtin_fma(A, B, C) * 0x1p128;
    else
      R = fmaScaledDown(A, B, C);
    D[L] = uint32_t(bits(R));
    D[L + N] = uint32_t(bits(R) >> 32);
  }
}
DOUBLE_KERNEL(divFixupF64, 3, divFixup<Number64>(X, Y, Z))

using namespace operand_types;

#define OP1(NAME, FN) {NAME, F64, {F64}, LaneFloat, FN}
#define OP2(NAME, FN) {NAME, F64, {F64, F64}, LaneFloat, FN}
#define OP3(NAME, FN) {NAME, F64, {F64, F64, F64}, LaneFloat, FN}

const LaneOpInfo Table[] = {
    OP2("v_add_f64", addF64),
    OP2("v_mul_f64", mulF64),
    OP3("v_fma_f64", fmaF64),
    {"v_fmac_f64", F64, {F64, F64, F64}, LaneFloat | LaneAccumulate, fmaF64},
    {"v_max_f64", F64, {F64, F64}, LaneFloat, maxF64, maxF64NoIEEE},
    {"v_min_f64", F64, {F64, F64}, LaneFloat, minF64, minF64NoIEEE},
    OP2("v_max_num_f64", maxF64NoIEEE),
    OP2("v_min_num_f64", minF64NoIEEE),
    OP2("v_maximum_f64", maximumF64),
    OP2("v_minimum_f64", minimumF64),
    OP1("v_rcp_f64", rcpF64),
    OP1("v_rsq_f64", rsqF64),
    OP1("v_sqrt_f64", sqrtF64),
    OP1("v_floor_f64", floorF64),
    OP1("v_ceil_f64", ceilF64),
    OP1("v_trunc_f64", truncF64),
    OP1("v_rndne_f64", rndneF64),
    OP1("v_fract_f64", fractF64),
    OP1("v_frexp_mant_f64", frexpMantF64),
    {"v_frexp_exp_i32_f64", B32, {F64}, LaneFloat, frexpExpF64},
    {"v_trig_preop_f64", F64, {F64, B32}, 0, trigPreopF64},
    {"v_ldexp_f64", F64, {F64, B32}, LaneFloat, ldexpF64},
    {"v_div_scale_f64",
     F64,
     {F64, F64, F64},
     LaneFloat | LaneExtraMask,
     divScaleF64},
    {"v_div_fmas_f64",
     F64,
     {F64, F64, F64, Mask},
     LaneFloat | LaneImplicitVCC,
     divFmasF64},
    OP3("v_div_fixup_f64", divFixupF64),
};

TableRef<LaneOpInfo> doubleOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
