//===- FloatOps.cpp - Single-precision vector instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the f32 vector ALU instructions, including the packed
// ones (two f32 in a register pair), the mixed-precision fma and the dot
// products that accumulate in f32.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"
#include "Execute/SmallFloats.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

#define F(X) asF32(X)
LANE_KERNEL(addF32, bits(F(A) + F(B)))
LANE_KERNEL(subF32, bits(F(A) - F(B)))
LANE_KERNEL(subRevF32, bits(F(B) - F(A)))
LANE_KERNEL(mulF32, bits(F(A) * F(B)))
LANE_KERNEL(mulLegacyF32,
            (A << 1) == 0 || (B << 1) == 0 ? 0 : bits(F(A) * F(B)))
LANE_KERNEL(fmaF32, bits(__builtin_fmaf(F(A), F(B), F(C))))
LANE_KERNEL(fmaLegacyF32, (A << 1) == 0 || (B << 1) == 0
                              ? bits(0.0f + F(C))
                              : bits(__builtin_fmaf(F(A), F(B), F(C))))
// v_mad_f32 and v_mac_f32 round the product and flush denormals.
LANE_KERNEL(madF32,
            flush32(bits(F(flush32(bits(F(flush32(A)) * F(flush32(B))))) +
                         F(flush32(C)))))
LANE_KERNEL(maxF32, maxNum32<true>(A, B))
LANE_KERNEL(minF32, minNum32<true>(A, B))
LANE_KERNEL(maxF32NoIEEE, maxNum32<false>(A, B))
LANE_KERNEL(minF32NoIEEE, minNum32<false>(A, B))
LANE_KERNEL(max3F32, maxNum32<true>(maxNum32<true>(A, B), C))
LANE_KERNEL(min3F32, minNum32<true>(minNum32<true>(A, B), C))
LANE_KERNEL(max3F32NoIEEE, maxNum32<false>(maxNum32<false>(A, B), C))
LANE_KERNEL(min3F32NoIEEE, minNum32<false>(minNum32<false>(A, B), C))
LANE_KERNEL(med3, med3F32<true>(A, B, C))
LANE_KERNEL(med3NoIEEE, med3F32<false>(A, B, C))
LANE_KERNEL(maxMinF32, minNum32<true>(maxNum32<true>(A, B), C))
LANE_KERNEL(minMaxF32, maxNum32<true>(minNum32<true>(A, B), C))
LANE_KERNEL(maxMinF32NoIEEE, minNum32<false>(maxNum32<false>(A, B), C))
LANE_KERNEL(minMaxF32NoIEEE, maxNum32<false>(minNum32<false>(A, B), C))
LANE_KERNEL(maximumF32, maximum32(A, B))
LANE_KERNEL(minimumF32, minimum32(A, B))
LANE_KERNEL(maximum3F32, maximum32(maximum32(A, B), C))
LANE_KERNEL(minimum3F32, minimum32(minimum32(A, B), C))
LANE_KERNEL(maximumMinimumF32, minimum32(maximum32(A, B), C))
LANE_KERNEL(minimumMaximumF32, maximum32(minimum32(A, B), C))

// Transcendentals: the correctly rounded (or the host library's) result;
// denormals are flushed where the hardware's unit does not support them.
LANE_KERNEL(rcpF32, flush32(bits(1.0f / F(flush32(A)))))
LANE_KERNEL(rsqF32,
            flush32(bits(float(1.0 / __builtin_sqrt(double(F(flush32(A))))))))
LANE_KERNEL(sqrtF32, bits(__builtin_sqrtf(F(A))))
LANE_KERNEL(expF32, flush32(bits(__builtin_exp2f(F(flush32(A))))))
LANE_KERNEL(logF32, bits(__builtin_log2f(F(flush32(A)))))
static float sine(float X) {
  return float(__builtin_sin((X - __builtin_floor(X)) * 6.283185307179586));
}
static float cosine(float X) {
  return float(__builtin_cos((X - __builtin_floor(X)) * 6.283185307179586));
}
LANE_KERNEL(sinF32, bits(sine(F(A))))
LANE_KERNEL(cosF32, bits(cosine(F(A))))

LANE_KERNEL(floorF32, bits(__builtin_floorf(F(A))))
LANE_KERNEL(ceilF32, bits(__builtin_ceilf(F(A))))
LANE_KERNEL(truncF32, bits(__builtin_truncf(F(A))))
static float roundEven(float X) {
  // Adding and subtracting 2^23 rounds to nearest even whatever libm does.
  float Magnitude = __builtin_fabsf(X);
  float R = (Magnitude + 0x1p23f) - 0x1p23f;
  return Magnitude < 0x1p23f ? __builtin_copysignf(R, X) : X;
}
LANE_KERNEL(rndneF32, bits(roundEven(F(A))))
static uint32_t fract(uint32_t A) {
  float R = F(A) - __builtin_floorf(F(A));
  return R >= 1.0f ? 0x3f7fffff : bits(R);
}
LANE_KERNEL(fractF32, fract(A))
static uint32_t frexpMantissa(uint32_t A) {
  if ((A & 0x7f800000) == 0x7f800000 || !(A << 1))
    return A;
  if (!(A & 0x7f800000))
    A = bits(F(A) * 0x1p32f);
  return (A & 0x807fffff) | 0x3f000000;
}
static uint32_t frexpExponent(uint32_t A) {
  if ((A & 0x7f800000) == 0x7f800000 || !(A << 1))
    return 0;
  int Bias = 126;
  if (!(A & 0x7f800000)) {
    A = bits(F(A) * 0x1p32f);
    Bias += 32;
  }
  return uint32_t(int(A >> 23 & 0xff) - Bias);
}
LANE_KERNEL(frexpMantF32, frexpMantissa(A))
LANE_KERNEL(frexpExpF32, frexpExponent(A))
LANE_KERNEL(ldexpF32, bits(__builtin_ldexpf(F(A), int32_t(B))))

static int exponent32(uint32_t A) { return int(A >> 23 & 0xff); }
static bool isDenormal32(float X) { return X != 0 && !(bits(X) & 0x7f800000); }
/// A is the value to scale (the denominator B or the numerator C).
static uint32_t divScale(uint32_t A, uint32_t B, uint32_t C, bool &Flag) {
  Flag = false;
  if (!(B << 1) || !(C << 1))
    return 0x7fc00000;
  float Num = F(C), Den = F(B);
  if (exponent32(C) - exponent32(B) >= 96) {
    Flag = true;
    return A == B ? bits(__builtin_ldexpf(F(A), 64)) : A;
  }
  if (isDenormal32(Den))
    return bits(__builtin_ldexpf(F(A), 64));
  bool TinyReciprocal = isDenormal32(float(1.0 / double(Den)));
  bool TinyQuotient = isDenormal32(float(double(Num) / double(Den)));
  if (TinyReciprocal && TinyQuotient) {
    Flag = true;
    return A == B ? bits(__builtin_ldexpf(F(A), 64)) : A;
  }
  if (TinyReciprocal)
    return bits(__builtin_ldexpf(F(A), -64));
  if (TinyQuotient) {
    Flag = true;
    return A == C ? bits(__builtin_ldexpf(F(A), 64)) : A;
  }
  if (exponent32(C) <= 23)
    return bits(__builtin_ldexpf(F(A), 64));
  return A;
}
static void divScaleF32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    bool Flag;
    D[L] = divScale(S[0][L], S[1][L], S[2][L], Flag);
    D[L + N] = Flag ? ~0u : 0;
  }
}
// E is the lane mask that v_div_scale wrote.
static uint32_t divFmas(uint32_t A, uint32_t B, uint32_t C, uint32_t E) {
  float R = __builtin_fmaf(F(A), F(B), F(C));
  if (E)
    R *= exponent32(C) > 127 ? 0x1p64f : 0x1p-64f;
  return bits(R);
}
LANE_KERNEL(divFmasF32, divFmas(A, B, C, E))
/// A is the quotient so far, B the denominator, C the numerator.
static uint32_t divFixup(uint32_t A, uint32_t B, uint32_t C) {
  uint32_t Sign = (B ^ C) & 0x80000000;
  uint32_t Den = B & 0x7fffffff, Num = C & 0x7fffffff;
  if (isNaN32(C))
    return C | 0x400000;
  if (isNaN32(B))
    return B | 0x400000;
  if ((!Den && !Num) || (Den == 0x7f800000 && Num == 0x7f800000))
    return 0xffc00000;
  if (!Den || Num == 0x7f800000)
    return Sign | 0x7f800000;
  if (Den == 0x7f800000 || !Num)
    return Sign;
  if (exponent32(C) - exponent32(B) < -150)
    return Sign;
  return (A & 0x7fffffff) | Sign;
}
LANE_KERNEL(divFixupF32, divFixup(A, B, C))

// Packed: two independent f32, low and high register of each pair.
#define PAIR_KERNEL(NAME, EXPRESSION)                                          \
  static void NAME(uint32_t *D, const uint32_t *const *S, unsigned N) {        \
    for (unsigned Half = 0; Half < 2; ++Half) {                                \
      const uint32_t *S0 = S[0] + Half * N, *S1 = S[1] + Half * N,             \
                     *S2 = S[2] + Half * N;                                    \
      uint32_t *Out = D + Half * N;                                            \
      FOR_LANES(L, N) {                                                        \
        [[maybe_unused]] const uint32_t A = S0[L], B = S1[L], C = S2[L];       \
        Out[L] = (EXPRESSION);                                                 \
      }                                                                        \
    }                                                                          \
  }
PAIR_KERNEL(pkAddF32, bits(F(A) + F(B)))
PAIR_KERNEL(pkMulF32, bits(F(A) * F(B)))
PAIR_KERNEL(pkFmaF32, bits(__builtin_fmaf(F(A), F(B), F(C))))
/// Low result from the first source's pair, high result from the second's; the
/// halves are already selected.
static void pkMovB32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  const uint32_t *S0 = S[0], *S1 = S[1] + N;
  FOR_LANES(L, N) {
    D[L] = S0[L];
    D[L + N] = S1[L];
  }
}

LANE_KERNEL(fmaMixLo, f32ToHalf(bits(__builtin_fmaf(F(A), F(B), F(C)))))
LANE_KERNEL(dot2F32F16,
            bits(__builtin_fmaf(half(A), half(B),
                                __builtin_fmaf(half(A >> 16), half(B >> 16),
                                               F(C)))))
LANE_KERNEL(dot2F32BF16,
            bits(__builtin_fmaf(bfloat(A), bfloat(B),
                                __builtin_fmaf(bfloat(A >> 16), bfloat(B >> 16),
                                               F(C)))))
/// Four products of 8 bits each, rounded once with the addend.
template <MatrixType TypeA, MatrixType TypeB>
static uint32_t dot4Small(uint32_t A, uint32_t B, uint32_t C) {
  double Terms[5] = {double(F(C))};
  for (unsigned K = 0; K < 4; ++K)
    Terms[K + 1] = smallFloat(A >> 8 * K & 0xff, smallFormat(TypeA)) *
                   smallFloat(B >> 8 * K & 0xff, smallFormat(TypeB));
  return bits(float(sumToOdd(Terms, 5)));
}
LANE_KERNEL(dot4FP8FP8, (dot4Small<MatrixType::FP8, MatrixType::FP8>(A, B, C)))
LANE_KERNEL(dot4FP8BF8, (dot4Small<MatrixType::FP8, MatrixType::BF8>(A, B, C)))
LANE_KERNEL(dot4BF8FP8, (dot4Small<MatrixType::BF8, MatrixType::FP8>(A, B, C)))
LANE_KERNEL(dot4BF8BF8, (dot4Small<MatrixType::BF8, MatrixType::BF8>(A, B, C)))

constexpr OperandType None = OperandType::None;
constexpr OperandType B32 = OperandType::B32;
constexpr OperandType F32 = OperandType::F32;
constexpr OperandType F16 = OperandType::F16;
constexpr OperandType PkF16 = OperandType::PkF16;
constexpr OperandType PkBF16 = OperandType::PkBF16;
constexpr OperandType PkF32 = OperandType::PkF32;
constexpr OperandType PkB32 = OperandType::PkB32;
constexpr OperandType Mix = OperandType::Mix;
constexpr OperandType Mask = OperandType::Mask;

#define OP1(NAME, FN)                                                          \
  {NAME, F32, {F32, None, None, None}, LaneFloat, FN, nullptr, nullptr}
#define OP2(NAME, FN)                                                          \
  {NAME, F32, {F32, F32, None, None}, LaneFloat, FN, nullptr, nullptr}
#define OP2M(NAME, FN)                                                         \
  {NAME, F32, {F32, F32, None, None}, LaneFloat, FN, FN##NoIEEE, nullptr}
#define OP2N(NAME, FN)                                                         \
  {NAME, F32, {F32, F32, None, None}, LaneFloat, FN##NoIEEE, nullptr, nullptr}
#define OP3(NAME, FN)                                                          \
  {NAME, F32, {F32, F32, F32, None}, LaneFloat, FN, nullptr, nullptr}
#define OP3M(NAME, FN)                                                         \
  {NAME, F32, {F32, F32, F32, None}, LaneFloat, FN, FN##NoIEEE, nullptr}
#define OP3N(NAME, FN)                                                         \
  {NAME, F32, {F32, F32, F32, None}, LaneFloat, FN##NoIEEE, nullptr, nullptr}
#define OPAC(NAME, FN)                                                         \
  {NAME,    F32,    {F32, F32, F32, None}, LaneFloat | LaneAccumulate, FN,     \
   nullptr, nullptr}

const LaneOpInfo Table[] = {
    OP2("v_add_f32", addF32),
    OP2("v_sub_f32", subF32),
    OP2("v_subrev_f32", subRevF32),
    OP2("v_mul_f32", mulF32),
    OP2("v_mul_legacy_f32", mulLegacyF32),
    OP2("v_mul_dx9_zero_f32", mulLegacyF32),
    OP2M("v_max_f32", maxF32),
    OP2M("v_min_f32", minF32),
    OP2N("v_max_num_f32", maxF32),
    OP2N("v_min_num_f32", minF32),
    OP2("v_maximum_f32", maximumF32),
    OP2("v_minimum_f32", minimumF32),
    OP3("v_fma_f32", fmaF32),
    OP3("v_fmaak_f32", fmaF32),
    OP3("v_fmamk_f32", fmaF32),
    OPAC("v_fmac_f32", fmaF32),
    OP3("v_fma_legacy_f32", fmaLegacyF32),
    OP3("v_fma_dx9_zero_f32", fmaLegacyF32),
    OPAC("v_fmac_legacy_f32", fmaLegacyF32),
    OPAC("v_fmac_dx9_zero_f32", fmaLegacyF32),
    OP3("v_mad_f32", madF32),
    OP3("v_madak_f32", madF32),
    OP3("v_madmk_f32", madF32),
    OPAC("v_mac_f32", madF32),
    OP3M("v_max3_f32", max3F32),
    OP3M("v_min3_f32", min3F32),
    OP3M("v_med3_f32", med3),
    OP3M("v_maxmin_f32", maxMinF32),
    OP3M("v_minmax_f32", minMaxF32),
    OP3N("v_max3_num_f32", max3F32),
    OP3N("v_min3_num_f32", min3F32),
    OP3N("v_med3_num_f32", med3),
    OP3N("v_maxmin_num_f32", maxMinF32),
    OP3N("v_minmax_num_f32", minMaxF32),
    OP3("v_maximum3_f32", maximum3F32),
    OP3("v_minimum3_f32", minimum3F32),
    OP3("v_maximumminimum_f32", maximumMinimumF32),
    OP3("v_minimummaximum_f32", minimumMaximumF32),
    OP1("v_rcp_f32", rcpF32),
    OP1("v_rcp_iflag_f32", rcpF32),
    OP1("v_rsq_f32", rsqF32),
    OP1("v_sqrt_f32", sqrtF32),
    OP1("v_exp_f32", expF32),
    OP1("v_log_f32", logF32),
    OP1("v_sin_f32", sinF32),
    OP1("v_cos_f32", cosF32),
    OP1("v_floor_f32", floorF32),
    OP1("v_ceil_f32", ceilF32),
    OP1("v_trunc_f32", truncF32),
    OP1("v_rndne_f32", rndneF32),
    OP1("v_fract_f32", fractF32),
    OP1("v_frexp_mant_f32", frexpMantF32),
    {"v_frexp_exp_i32_f32",
     B32,
     {F32, None, None, None},
     LaneFloat,
     frexpExpF32,
     nullptr,
     nullptr},
    {"v_ldexp_f32",
     F32,
     {F32, B32, None, None},
     LaneFloat,
     ldexpF32,
     nullptr,
     nullptr},
    {"v_div_scale_f32",
     F32,
     {F32, F32, F32, None},
     LaneFloat | LaneExtraMask,
     divScaleF32,
     nullptr,
     nullptr},
    {"v_div_fmas_f32",
     F32,
     {F32, F32, F32, Mask},
     LaneFloat | LaneImplicitVCC,
     divFmasF32,
     nullptr,
     nullptr},
    OP3("v_div_fixup_f32", divFixupF32),
    {"v_pk_add_f32",
     PkF32,
     {PkF32, PkF32, None, None},
     LaneFloat,
     pkAddF32,
     nullptr,
     nullptr},
    {"v_pk_mul_f32",
     PkF32,
     {PkF32, PkF32, None, None},
     LaneFloat,
     pkMulF32,
     nullptr,
     nullptr},
    {"v_pk_fma_f32",
     PkF32,
     {PkF32, PkF32, PkF32, None},
     LaneFloat,
     pkFmaF32,
     nullptr,
     nullptr},
    {"v_pk_mov_b32",
     PkB32,
     {PkB32, PkB32, None, None},
     0,
     pkMovB32,
     nullptr,
     nullptr},
    {"v_fma_mix_f32",
     F32,
     {Mix, Mix, Mix, None},
     LaneFloat,
     fmaF32,
     nullptr,
     nullptr},
    {"v_fma_mixlo_f16",
     F16,
     {Mix, Mix, Mix, None},
     LaneFloat | LanePreservesHigh,
     fmaMixLo,
     nullptr,
     nullptr},
    {"v_fma_mixhi_f16",
     F16,
     {Mix, Mix, Mix, None},
     LaneFloat | LanePreservesHigh | LaneHighResult,
     fmaMixLo,
     nullptr,
     nullptr},
    {"v_dot4_f32_fp8_fp8",
     F32,
     {B32, B32, F32, None},
     LaneFloat,
     dot4FP8FP8,
     nullptr,
     nullptr},
    {"v_dot4_f32_fp8_bf8",
     F32,
     {B32, B32, F32, None},
     LaneFloat,
     dot4FP8BF8,
     nullptr,
     nullptr},
    {"v_dot4_f32_bf8_fp8",
     F32,
     {B32, B32, F32, None},
     LaneFloat,
     dot4BF8FP8,
     nullptr,
     nullptr},
    {"v_dot4_f32_bf8_bf8",
     F32,
     {B32, B32, F32, None},
     LaneFloat,
     dot4BF8BF8,
     nullptr,
     nullptr},
    {"v_dot2_f32_f16",
     F32,
     {PkF16, PkF16, F32, None},
     LaneFloat | LaneMatrixUnit,
     dot2F32F16,
     nullptr,
     nullptr},
    {"v_dot2c_f32_f16",
     F32,
     {PkF16, PkF16, F32, None},
     LaneFloat | LaneMatrixUnit | LaneAccumulate,
     dot2F32F16,
     nullptr,
     nullptr},
    {"v_dot2_f32_bf16",
     F32,
     {PkBF16, PkBF16, F32, None},
     LaneFloat,
     dot2F32BF16,
     nullptr,
     nullptr},
    {"v_dot2c_f32_bf16",
     F32,
     {PkBF16, PkBF16, F32, None},
     LaneFloat | LaneAccumulate,
     dot2F32BF16,
     nullptr,
     nullptr},
};

TableRef<LaneOpInfo> floatOps() {
  return {Table, sizeof(Table) / sizeof(Table[0])};
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
