//===- HalfOps.cpp - Half-precision and packed 16-bit instructions --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of the f16 and bf16 vector ALU instructions and of the
// packed 16-bit ones. A result of 16 bits is in the low half with the high
// half zero; a packed kernel finds the selected and negated halves in place.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

LANE_KERNEL(addF16, halfBits(half(A) + half(B)))
LANE_KERNEL(subF16, halfBits(half(A) - half(B)))
LANE_KERNEL(subRevF16, halfBits(half(B) - half(A)))
LANE_KERNEL(mulF16, halfBits(half(A) * half(B)))
LANE_KERNEL(fmaF16, fmaHalf(A, B, C))
LANE_KERNEL(maxF16, maxNum16<true>(A, B))
LANE_KERNEL(minF16, minNum16<true>(A, B))
LANE_KERNEL(maxF16NoIEEE, maxNum16<false>(A, B))
LANE_KERNEL(minF16NoIEEE, minNum16<false>(A, B))
LANE_KERNEL(max3F16, maxNum16<true>(maxNum16<true>(A, B), C))
LANE_KERNEL(min3F16, minNum16<true>(minNum16<true>(A, B), C))
LANE_KERNEL(max3F16NoIEEE, maxNum16<false>(maxNum16<false>(A, B), C))
LANE_KERNEL(min3F16NoIEEE, minNum16<false>(minNum16<false>(A, B), C))
template <bool IEEE>
static uint32_t med3Half(uint32_t A, uint32_t B, uint32_t C) {
  return f32ToHalf(med3F32<IEEE>(halfToF32(A), halfToF32(B), halfToF32(C)));
}
LANE_KERNEL(med3F16, med3Half<true>(A, B, C))
LANE_KERNEL(med3F16NoIEEE, med3Half<false>(A, B, C))
LANE_KERNEL(maxMinF16, minNum16<true>(maxNum16<true>(A, B), C))
LANE_KERNEL(minMaxF16, maxNum16<true>(minNum16<true>(A, B), C))
LANE_KERNEL(maxMinF16NoIEEE, minNum16<false>(maxNum16<false>(A, B), C))
LANE_KERNEL(minMaxF16NoIEEE, maxNum16<false>(minNum16<false>(A, B), C))
LANE_KERNEL(maximumF16, maximum16(A, B))
LANE_KERNEL(minimumF16, minimum16(A, B))
LANE_KERNEL(maximum3F16, maximum16(maximum16(A, B), C))
LANE_KERNEL(minimum3F16, minimum16(minimum16(A, B), C))
LANE_KERNEL(maximumMinimumF16, minimum16(maximum16(A, B), C))
LANE_KERNEL(minimumMaximumF16, maximum16(minimum16(A, B), C))
LANE_KERNEL(rcpF16, halfBits(1.0f / half(A)))
LANE_KERNEL(rsqF16, halfBits(float(1.0 / __builtin_sqrt(double(half(A))))))
LANE_KERNEL(sqrtF16, halfBits(__builtin_sqrtf(half(A))))
LANE_KERNEL(expF16, halfBits(__builtin_exp2f(half(A))))
LANE_KERNEL(logF16, halfBits(__builtin_log2f(half(A))))
static float turns(float X) {
  return float((X - __builtin_floorf(X)) * 6.283185307179586);
}
LANE_KERNEL(sinF16, halfBits(__builtin_sinf(turns(half(A)))))
LANE_KERNEL(cosF16, halfBits(__builtin_cosf(turns(half(A)))))
LANE_KERNEL(floorF16, halfBits(__builtin_floorf(half(A))))
LANE_KERNEL(ceilF16, halfBits(__builtin_ceilf(half(A))))
LANE_KERNEL(truncF16, halfBits(__builtin_truncf(half(A))))
static float roundEven(float X) {
  float Magnitude = __builtin_fabsf(X);
  float R = (Magnitude + 0x1p23f) - 0x1p23f;
  return Magnitude < 0x1p23f ? __builtin_copysignf(R, X) : X;
}
LANE_KERNEL(rndneF16, halfBits(roundEven(half(A))))
static uint32_t fract(uint32_t A) {
  float X = half(A);
  uint32_t R = halfBits(X - __builtin_floorf(X));
  return R == 0x3c00 ? 0x3bff : R;
}
LANE_KERNEL(fractF16, fract(A))
static bool specialHalf(uint32_t A) {
  return (A & 0x7c00) == 0x7c00 || !(A & 0x7fff);
}
static uint32_t frexpMantissa(uint32_t A) {
  if (specialHalf(A))
    return A & 0xffff;
  return f32ToHalf((halfToF32(A) & 0x807fffff) | 0x3f000000);
}
static uint32_t frexpExponent(uint32_t A) {
  if (specialHalf(A))
    return 0;
  return uint32_t(int(halfToF32(A) >> 23 & 0xff) - 126) & 0xffff;
}
LANE_KERNEL(frexpMantF16, frexpMantissa(A))
LANE_KERNEL(frexpExpF16, frexpExponent(A))
LANE_KERNEL(ldexpF16, halfBits(__builtin_ldexpf(half(A), int16_t(B))))
static uint32_t divFixup(uint32_t A, uint32_t B, uint32_t C) {
  uint32_t Sign = (B ^ C) & 0x8000;
  uint32_t Den = B & 0x7fff, Num = C & 0x7fff;
  if (isNaN16(C))
    return (C & 0xffff) | 0x200;
  if (isNaN16(B))
    return (B & 0xffff) | 0x200;
  if ((!Den && !Num) || (Den == 0x7c00 && Num == 0x7c00))
    return 0xfe00;
  if (!Den || Num == 0x7c00)
    return Sign | 0x7c00;
  if (Den == 0x7c00 || !Num)
    return Sign;
  return (A & 0x7fff) | Sign;
}
LANE_KERNEL(divFixupF16, divFixup(A, B, C))

LANE_KERNEL(dot2F16, fmaHalf(A, B, fmaHalf(A >> 16, B >> 16, C)))
LANE_KERNEL(dot2BF16,
            bfloatBits(__builtin_fmaf(bfloat(A), bfloat(B),
                                      bfloat(bfloatBits(__builtin_fmaf(
                                          bfloat(A >> 16), bfloat(B >> 16),
                                          bfloat(C & 0xffff)))))))

#define BOTH(LOW, HIGH) ((LOW) & 0xffff) | (HIGH) << 16
LANE_KERNEL(pkAddF16, BOTH(halfBits(half(A) + half(B)),
                           halfBits(half(A >> 16) + half(B >> 16))))
LANE_KERNEL(pkMulF16, BOTH(halfBits(half(A) * half(B)),
                           halfBits(half(A >> 16) * half(B >> 16))))
LANE_KERNEL(pkFmaF16,
            BOTH(fmaHalf(A, B, C), fmaHalf(A >> 16, B >> 16, C >> 16)))
LANE_KERNEL(pkMaxF16,
            BOTH(maxNum16<true>(A, B), maxNum16<true>(A >> 16, B >> 16)))
LANE_KERNEL(pkMinF16,
            BOTH(minNum16<true>(A, B), minNum16<true>(A >> 16, B >> 16)))
LANE_KERNEL(pkMaxF16NoIEEE,
            BOTH(maxNum16<false>(A, B), maxNum16<false>(A >> 16, B >> 16)))
LANE_KERNEL(pkMinF16NoIEEE,
            BOTH(minNum16<false>(A, B), minNum16<false>(A >> 16, B >> 16)))
LANE_KERNEL(pkMaximumF16, BOTH(maximum16(A, B), maximum16(A >> 16, B >> 16)))
LANE_KERNEL(pkMinimumF16, BOTH(minimum16(A, B), minimum16(A >> 16, B >> 16)))
LANE_KERNEL(pkMaximum3F16,
            BOTH(maximum16(maximum16(A, B), C),
                 maximum16(maximum16(A >> 16, B >> 16), C >> 16)))
LANE_KERNEL(pkMinimum3F16,
            BOTH(minimum16(minimum16(A, B), C),
                 minimum16(minimum16(A >> 16, B >> 16), C >> 16)))

LANE_KERNEL(pkAddU16, BOTH(A + B, (A >> 16) + (B >> 16)))
LANE_KERNEL(pkSubU16, BOTH(A - B, (A >> 16) - (B >> 16)))
LANE_KERNEL(pkAddU16Clamp, BOTH(umin((A & 0xffff) + (B & 0xffff), 0xffff),
                                umin((A >> 16) + (B >> 16), 0xffff)))
LANE_KERNEL(pkSubU16Clamp, BOTH((A & 0xffff) - umin(A & 0xffff, B & 0xffff),
                                (A >> 16) - umin(A >> 16, B >> 16)))
LANE_KERNEL(pkAddI16Clamp,
            BOTH(uint32_t(saturate16(sext16(A) + sext16(B))),
                 uint32_t(saturate16(sext16(A >> 16) + sext16(B >> 16)))))
LANE_KERNEL(pkSubI16Clamp,
            BOTH(uint32_t(saturate16(sext16(A) - sext16(B))),
                 uint32_t(saturate16(sext16(A >> 16) - sext16(B >> 16)))))
LANE_KERNEL(pkMulLoU16, BOTH(A *B, (A >> 16) * (B >> 16)))
LANE_KERNEL(pkMadU16, BOTH(A *B + C, (A >> 16) * (B >> 16) + (C >> 16)))
LANE_KERNEL(pkLshlRevB16, BOTH(B << (A & 15), (B >> 16) << (A >> 16 & 15)))
LANE_KERNEL(pkLshrRevB16,
            BOTH((B & 0xffff) >> (A & 15), (B >> 16) >> (A >> 16 & 15)))
LANE_KERNEL(pkAshrRevI16, BOTH(uint32_t(sext16(B) >> (A & 15)),
                               uint32_t(sext16(B >> 16) >> (A >> 16 & 15))))
LANE_KERNEL(pkMinU16,
            BOTH(umin(A & 0xffff, B & 0xffff), umin(A >> 16, B >> 16)))
LANE_KERNEL(pkMaxU16,
            BOTH(umax(A & 0xffff, B & 0xffff), umax(A >> 16, B >> 16)))
LANE_KERNEL(pkMinI16, BOTH(uint32_t(imin(sext16(A), sext16(B))),
                           uint32_t(imin(sext16(A >> 16), sext16(B >> 16)))))
LANE_KERNEL(pkMaxI16, BOTH(uint32_t(imax(sext16(A), sext16(B))),
                           uint32_t(imax(sext16(A >> 16), sext16(B >> 16)))))

constexpr OperandType None = OperandType::None;
constexpr OperandType I16 = OperandType::I16;
constexpr OperandType F16 = OperandType::F16;
constexpr OperandType BF16 = OperandType::BF16;
constexpr OperandType PkF16 = OperandType::PkF16;
constexpr OperandType PkBF16 = OperandType::PkBF16;
constexpr OperandType PkI16 = OperandType::PkI16;

#define OP1(NAME, FN)                                                          \
  {NAME, F16, {F16, None, None, None}, LaneFloat, FN, nullptr, nullptr}
#define OP2(NAME, FN)                                                          \
  {NAME, F16, {F16, F16, None, None}, LaneFloat, FN, nullptr, nullptr}
#define OP2M(NAME, FN)                                                         \
  {NAME, F16, {F16, F16, None, None}, LaneFloat, FN, FN##NoIEEE, nullptr}
#define OP3(NAME, FN)                                                          \
  {NAME, F16, {F16, F16, F16, None}, LaneFloat, FN, nullptr, nullptr}
#define OP3H(NAME, FN)                                                         \
  {NAME,    F16,    {F16, F16, F16, None}, LaneFloat | LanePreservesHigh, FN,  \
   nullptr, nullptr}
#define OP3M(NAME, FN)                                                         \
  {NAME, F16, {F16, F16, F16, None}, LaneFloat, FN, FN##NoIEEE, nullptr}
#define PK2(NAME, FN)                                                          \
  {NAME, PkF16, {PkF16, PkF16, None, None}, LaneFloat, FN, nullptr, nullptr}
#define PK2M(NAME, FN)                                                         \
  {NAME, PkF16, {PkF16, PkF16, None, None}, LaneFloat, FN, FN##NoIEEE, nullptr}
#define PK3(NAME, FN)                                                          \
  {NAME, PkF16, {PkF16, PkF16, PkF16, None}, LaneFloat, FN, nullptr, nullptr}
#define PKI2(NAME, FN, CLAMPED)                                                \
  {NAME, PkI16, {PkI16, PkI16, None, None}, 0, FN, nullptr, CLAMPED}

const LaneOpInfo Table[] = {
    OP2("v_add_f16", addF16),
    OP2("v_sub_f16", subF16),
    OP2("v_subrev_f16", subRevF16),
    OP2("v_mul_f16", mulF16),
    OP2M("v_max_f16", maxF16),
    OP2M("v_min_f16", minF16),
    OP2("v_max_num_f16", maxF16NoIEEE),
    OP2("v_min_num_f16", minF16NoIEEE),
    OP2("v_maximum_f16", maximumF16),
    OP2("v_minimum_f16", minimumF16),
    OP3H("v_fma_f16", fmaF16),
    OP3("v_fmaak_f16", fmaF16),
    OP3("v_fmamk_f16", fmaF16),
    {"v_fmac_f16",
     F16,
     {F16, F16, F16, None},
     LaneFloat | LaneAccumulate,
     fmaF16,
     nullptr,
     nullptr},
    OP3M("v_max3_f16", max3F16),
    OP3M("v_min3_f16", min3F16),
    OP3M("v_med3_f16", med3F16),
    OP3M("v_maxmin_f16", maxMinF16),
    OP3M("v_minmax_f16", minMaxF16),
    OP3("v_max3_num_f16", max3F16NoIEEE),
    OP3("v_min3_num_f16", min3F16NoIEEE),
    OP3("v_med3_num_f16", med3F16NoIEEE),
    OP3("v_maxmin_num_f16", maxMinF16NoIEEE),
    OP3("v_minmax_num_f16", minMaxF16NoIEEE),
    OP3("v_maximum3_f16", maximum3F16),
    OP3("v_minimum3_f16", minimum3F16),
    OP3("v_maximumminimum_f16", maximumMinimumF16),
    OP3("v_minimummaximum_f16", minimumMaximumF16),
    OP3H("v_div_fixup_f16", divFixupF16),
    OP1("v_rcp_f16", rcpF16),
    OP1("v_rsq_f16", rsqF16),
    OP1("v_sqrt_f16", sqrtF16),
    OP1("v_exp_f16", expF16),
    OP1("v_log_f16", logF16),
    OP1("v_sin_f16", sinF16),
    OP1("v_cos_f16", cosF16),
    OP1("v_floor_f16", floorF16),
    OP1("v_ceil_f16", ceilF16),
    OP1("v_trunc_f16", truncF16),
    OP1("v_rndne_f16", rndneF16),
    OP1("v_fract_f16", fractF16),
    OP1("v_frexp_mant_f16", frexpMantF16),
    {"v_frexp_exp_i16_f16",
     I16,
     {F16, None, None, None},
     LaneFloat,
     frexpExpF16,
     nullptr,
     nullptr},
    {"v_ldexp_f16",
     F16,
     {F16, I16, None, None},
     LaneFloat,
     ldexpF16,
     nullptr,
     nullptr},
    {"v_dot2_f16_f16",
     F16,
     {PkF16, PkF16, F16, None},
     LaneFloat,
     dot2F16,
     nullptr,
     nullptr},
    {"v_dot2_bf16_bf16",
     BF16,
     {PkBF16, PkBF16, BF16, None},
     LaneFloat,
     dot2BF16,
     nullptr,
     nullptr},
    PK2("v_pk_add_f16", pkAddF16),
    PK2("v_pk_mul_f16", pkMulF16),
    PK2M("v_pk_max_f16", pkMaxF16),
    PK2M("v_pk_min_f16", pkMinF16),
    PK2("v_pk_max_num_f16", pkMaxF16NoIEEE),
    PK2("v_pk_min_num_f16", pkMinF16NoIEEE),
    PK2("v_pk_maximum_f16", pkMaximumF16),
    PK2("v_pk_minimum_f16", pkMinimumF16),
    PK3("v_pk_maximum3_f16", pkMaximum3F16),
    PK3("v_pk_minimum3_f16", pkMinimum3F16),
    PK3("v_pk_fma_f16", pkFmaF16),
    {"v_pk_fmac_f16",
     PkF16,
     {PkF16, PkF16, PkF16, None},
     LaneFloat | LaneAccumulate,
     pkFmaF16,
     nullptr,
     nullptr},
    PKI2("v_pk_add_u16", pkAddU16, pkAddU16Clamp),
    PKI2("v_pk_sub_u16", pkSubU16, pkSubU16Clamp),
    PKI2("v_pk_add_i16", pkAddU16, pkAddI16Clamp),
    PKI2("v_pk_sub_i16", pkSubU16, pkSubI16Clamp),
    PKI2("v_pk_mul_lo_u16", pkMulLoU16, nullptr),
    PKI2("v_pk_lshlrev_b16", pkLshlRevB16, nullptr),
    PKI2("v_pk_lshrrev_b16", pkLshrRevB16, nullptr),
    PKI2("v_pk_ashrrev_i16", pkAshrRevI16, nullptr),
    PKI2("v_pk_min_u16", pkMinU16, nullptr),
    PKI2("v_pk_max_u16", pkMaxU16, nullptr),
    PKI2("v_pk_min_i16", pkMinI16, nullptr),
    PKI2("v_pk_max_i16", pkMaxI16, nullptr),
    {"v_pk_mad_u16",
     PkI16,
     {PkI16, PkI16, PkI16, None},
     0,
     pkMadU16,
     nullptr,
     nullptr},
    {"v_pk_mad_i16",
     PkI16,
     {PkI16, PkI16, PkI16, None},
     0,
     pkMadU16,
     nullptr,
     nullptr},
};

TableRef<LaneOpInfo> halfOps() {
  return {Table, sizeof(Table) / sizeof(Table[0])};
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
