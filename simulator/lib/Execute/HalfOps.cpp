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
IEEE_KERNEL(maxF16, maxNum16<IEEE>(A, B))
IEEE_KERNEL(minF16, minNum16<IEEE>(A, B))
IEEE_KERNEL(max3F16, maxNum16<IEEE>(maxNum16<IEEE>(A, B), C))
IEEE_KERNEL(min3F16, minNum16<IEEE>(minNum16<IEEE>(A, B), C))
IEEE_KERNEL(med3F16,
            f32ToHalf(med3F32<IEEE>(halfToF32(A), halfToF32(B), halfToF32(C))))
IEEE_KERNEL(maxMinF16, minNum16<IEEE>(maxNum16<IEEE>(A, B), C))
IEEE_KERNEL(minMaxF16, maxNum16<IEEE>(minNum16<IEEE>(A, B), C))
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
LANE_KERNEL(rndneF16, halfBits(roundEven(half(A))))
static uint32_t fract(uint32_t A) {
  float X = half(A);
  uint32_t R = halfBits(X - __builtin_floorf(X));
  return R == 0x3c00 ? 0x3bff : R;
}
LANE_KERNEL(fractF16, fract(A))
static uint32_t frexpMantissaHalf(uint32_t A) {
  if (isSpecial<Number16>(A))
    return A & 0xffff;
  return f32ToHalf((halfToF32(A) & 0x807fffff) | 0x3f000000);
}
static uint32_t frexpExponentHalf(uint32_t A) {
  if (isSpecial<Number16>(A))
    return 0;
  return uint32_t(int(halfToF32(A) >> 23 & 0xff) - 126) & 0xffff;
}
LANE_KERNEL(frexpMantF16, frexpMantissaHalf(A))
LANE_KERNEL(frexpExpF16, frexpExponentHalf(A))
LANE_KERNEL(ldexpF16, halfBits(__builtin_ldexpf(half(A), int16_t(B))))
LANE_KERNEL(divFixupF16, divFixup<Number16>(A & 0xffff, B & 0xffff, C & 0xffff))

LANE_KERNEL(dot2F16, fmaHalf(A, B, fmaHalf(A >> 16, B >> 16, C)))
LANE_KERNEL(dot2BF16,
            bfloatBits(__builtin_fmaf(bfloat(A), bfloat(B),
                                      bfloat(bfloatBits(__builtin_fmaf(
                                          bfloat(A >> 16), bfloat(B >> 16),
                                          bfloat(C & 0xffff)))))))

/// The expression sees the lower halves of the sources as A, B and C, then the
/// upper ones; what is beyond 16 bits of them and of the result does not count.
#define PACKED_KERNEL(NAME, EXPRESSION)                                        \
  static inline uint32_t NAME##Half(uint32_t A, uint32_t B,                    \
                                    [[maybe_unused]] uint32_t C) {             \
    return (EXPRESSION);                                                       \
  }                                                                            \
  LANE_KERNEL(NAME, (NAME##Half(A, B, C) & 0xffff) |                           \
                        NAME##Half(A >> 16, B >> 16, C >> 16) << 16)
PACKED_KERNEL(pkAddF16, halfBits(half(A) + half(B)))
PACKED_KERNEL(pkMulF16, halfBits(half(A) * half(B)))
PACKED_KERNEL(pkFmaF16, fmaHalf(A, B, C))
PACKED_KERNEL(pkMaxF16, maxNum16<true>(A, B))
PACKED_KERNEL(pkMinF16, minNum16<true>(A, B))
PACKED_KERNEL(pkMaxF16NoIEEE, maxNum16<false>(A, B))
PACKED_KERNEL(pkMinF16NoIEEE, minNum16<false>(A, B))
PACKED_KERNEL(pkMaximumF16, maximum16(A, B))
PACKED_KERNEL(pkMinimumF16, minimum16(A, B))
PACKED_KERNEL(pkMaximum3F16, maximum16(maximum16(A, B), C))
PACKED_KERNEL(pkMinimum3F16, minimum16(minimum16(A, B), C))

static inline uint32_t low(uint32_t X) { return X & 0xffff; }
PACKED_KERNEL(pkAddU16, A + B)
PACKED_KERNEL(pkSubU16, A - B)
PACKED_KERNEL(pkAddU16Clamp, umin(low(A) + low(B), 0xffff))
PACKED_KERNEL(pkSubU16Clamp, low(A) - umin(low(A), low(B)))
PACKED_KERNEL(pkAddI16Clamp, uint32_t(saturate16(sext16(A) + sext16(B))))
PACKED_KERNEL(pkSubI16Clamp, uint32_t(saturate16(sext16(A) - sext16(B))))
PACKED_KERNEL(pkMulLoU16, low(A) * low(B))
PACKED_KERNEL(pkMadU16, low(A) * low(B) + C)
PACKED_KERNEL(pkLshlRevB16, B << (A & 15))
PACKED_KERNEL(pkLshrRevB16, low(B) >> (A & 15))
PACKED_KERNEL(pkAshrRevI16, uint32_t(sext16(B) >> (A & 15)))
PACKED_KERNEL(pkMinU16, umin(low(A), low(B)))
PACKED_KERNEL(pkMaxU16, umax(low(A), low(B)))
PACKED_KERNEL(pkMinI16, uint32_t(imin(sext16(A), sext16(B))))
PACKED_KERNEL(pkMaxI16, uint32_t(imax(sext16(A), sext16(B))))

using namespace operand_types;

#define OP1(NAME, FN) {NAME, F16, {F16}, LaneFloat, FN}
#define OP2(NAME, FN) {NAME, F16, {F16, F16}, LaneFloat, FN}
#define OP2M(NAME, FN) {NAME, F16, {F16, F16}, LaneFloat, FN, FN##NoIEEE}
#define OP3(NAME, FN) {NAME, F16, {F16, F16, F16}, LaneFloat, FN}
#define OP3H(NAME, FN)                                                         \
  {NAME, F16, {F16, F16, F16}, LaneFloat | LanePreservesHigh, FN}
#define OP3M(NAME, FN) {NAME, F16, {F16, F16, F16}, LaneFloat, FN, FN##NoIEEE}
#define PK2(NAME, FN) {NAME, PkF16, {PkF16, PkF16}, LaneFloat, FN}
#define PK2M(NAME, FN) {NAME, PkF16, {PkF16, PkF16}, LaneFloat, FN, FN##NoIEEE}
#define PK3(NAME, FN) {NAME, PkF16, {PkF16, PkF16, PkF16}, LaneFloat, FN}
#define PKI2(NAME, FN, CLAMPED)                                                \
  {NAME, PkI16, {PkI16, PkI16}, 0, FN, nullptr, CLAMPED}

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
    {"v_fmac_f16", F16, {F16, F16, F16}, LaneFloat | LaneAccumulate, fmaF16},
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
    {"v_frexp_exp_i16_f16", I16, {F16}, LaneFloat, frexpExpF16},
    {"v_ldexp_f16", F16, {F16, I16}, LaneFloat, ldexpF16},
    {"v_dot2_f16_f16", F16, {PkF16, PkF16, F16}, LaneFloat, dot2F16},
    {"v_dot2_bf16_bf16", BF16, {PkBF16, PkBF16, BF16}, LaneFloat, dot2BF16},
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
     {PkF16, PkF16, PkF16},
     LaneFloat | LaneAccumulate,
     pkFmaF16},
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
    {"v_pk_mad_u16", PkI16, {PkI16, PkI16, PkI16}, 0, pkMadU16},
    {"v_pk_mad_i16", PkI16, {PkI16, PkI16, PkI16}, 0, pkMadU16},
};

TableRef<LaneOpInfo> halfOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
