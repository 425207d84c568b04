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
IEEE_KERNEL(maxF32, maxNum32<IEEE>(A, B))
IEEE_KERNEL(minF32, minNum32<IEEE>(A, B))
IEEE_KERNEL(max3F32, maxNum32<IEEE>(maxNum32<IEEE>(A, B), C))
IEEE_KERNEL(min3F32, minNum32<IEEE>(minNum32<IEEE>(A, B), C))
IEEE_KERNEL(med3, med3F32<IEEE>(A, B, C))
IEEE_KERNEL(maxMinF32, minNum32<IEEE>(maxNum32<IEEE>(A, B), C))
IEEE_KERNEL(minMaxF32, maxNum32<IEEE>(minNum32<IEEE>(A, B), C))
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
LANE_KERNEL(rndneF32, bits(roundEven(F(A))))
static uint32_t fract(uint32_t A) {
  float R = F(A) - __builtin_floorf(F(A));
  return R >= 1.0f ? 0x3f7fffff : bits(R);
}
LANE_KERNEL(fractF32, fract(A))
LANE_KERNEL(frexpMantF32, frexpMantissa<Number32>(A))
LANE_KERNEL(frexpExpF32, frexpExponent<Number32>(A))
LANE_KERNEL(ldexpF32, bits(__builtin_ldexpf(F(A), int32_t(B))))

static void divScaleF32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L)
    D[L] = divScale<Number32, 96, 64, 23>(S[0][L], S[1][L], S[2][L], D[L + N]);
}
// E is the lane mask that v_div_scale wrote. The scaled sum is rounded once.
static uint32_t divFmas(uint32_t A, uint32_t B, uint32_t C, uint32_t E) {
  if (!E)
    return bits(__builtin_fmaf(F(A), F(B), F(C)));
  const double Scale = exponentOf<Number32>(C) > 127 ? 0x1p64 : 0x1p-64;
  return bits(float(addToOdd(double(F(A)) * F(B), double(F(C))) * Scale));
}
LANE_KERNEL(divFmasF32, divFmas(A, B, C, E))
LANE_KERNEL(divFixupF32, divFixup<Number32>(A, B, C))

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

using namespace operand_types;

#define OP1(NAME, FN) {NAME, F32, {F32}, LaneFloat, FN}
#define OP2(NAME, FN) {NAME, F32, {F32, F32}, LaneFloat, FN}
#define OP2M(NAME, FN) {NAME, F32, {F32, F32}, LaneFloat, FN, FN##NoIEEE}
#define OP2N(NAME, FN) {NAME, F32, {F32, F32}, LaneFloat, FN##NoIEEE}
#define OP3(NAME, FN) {NAME, F32, {F32, F32, F32}, LaneFloat, FN}
#define OP3M(NAME, FN) {NAME, F32, {F32, F32, F32}, LaneFloat, FN, FN##NoIEEE}
#define OP3N(NAME, FN) {NAME, F32, {F32, F32, F32}, LaneFloat, FN##NoIEEE}
#define OPAC(NAME, FN)                                                         \
  {NAME, F32, {F32, F32, F32}, LaneFloat | LaneAccumulate, FN}

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
    {"v_frexp_exp_i32_f32", B32, {F32}, LaneFloat, frexpExpF32},
    {"v_ldexp_f32", F32, {F32, B32}, LaneFloat, ldexpF32},
    {"v_div_scale_f32",
     F32,
     {F32, F32, F32},
     LaneFloat | LaneExtraMask,
     divScaleF32},
    {"v_div_fmas_f32",
     F32,
     {F32, F32, F32, Mask},
     LaneFloat | LaneImplicitVCC,
     divFmasF32},
    OP3("v_div_fixup_f32", divFixupF32),
    {"v_pk_add_f32", PkF32, {PkF32, PkF32}, LaneFloat, pkAddF32},
    {"v_pk_mul_f32", PkF32, {PkF32, PkF32}, LaneFloat, pkMulF32},
    {"v_pk_fma_f32", PkF32, {PkF32, PkF32, PkF32}, LaneFloat, pkFmaF32},
    {"v_pk_mov_b32", PkB32, {PkB32, PkB32}, 0, pkMovB32},
    {"v_fma_mix_f32", F32, {Mix, Mix, Mix}, LaneFloat, fmaF32},
    {"v_fma_mixlo_f16",
     F16,
     {Mix, Mix, Mix},
     LaneFloat | LanePreservesHigh,
     fmaMixLo},
    {"v_fma_mixhi_f16",
     F16,
     {Mix, Mix, Mix},
     LaneFloat | LanePreservesHigh | LaneHighResult,
     fmaMixLo},
    {"v_dot4_f32_fp8_fp8", F32, {B32, B32, F32}, LaneFloat, dot4FP8FP8},
    {"v_dot4_f32_fp8_bf8", F32, {B32, B32, F32}, LaneFloat, dot4FP8BF8},
    {"v_dot4_f32_bf8_fp8", F32, {B32, B32, F32}, LaneFloat, dot4BF8FP8},
    {"v_dot4_f32_bf8_bf8", F32, {B32, B32, F32}, LaneFloat, dot4BF8BF8},
    {"v_dot2_f32_f16",
     F32,
     {PkF16, PkF16, F32},
     LaneFloat | LaneMatrixUnit,
     dot2F32F16},
    {"v_dot2c_f32_f16",
     F32,
     {PkF16, PkF16, F32},
     LaneFloat | LaneMatrixUnit | LaneAccumulate,
     dot2F32F16},
    {"v_dot2_f32_bf16", F32, {PkBF16, PkBF16, F32}, LaneFloat, dot2F32BF16},
    {"v_dot2c_f32_bf16",
     F32,
     {PkBF16, PkBF16, F32},
     LaneFloat | LaneAccumulate,
     dot2F32BF16},
};

TableRef<LaneOpInfo> floatOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
