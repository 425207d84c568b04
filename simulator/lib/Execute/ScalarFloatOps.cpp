//===- ScalarFloatOps.cpp - Scalar floating-point instructions ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The floating-point SALU of gfx12 (f32 and f16), and its v_s_ instructions,
// which run the transcendental unit on scalars. Rounding is to nearest even
// and denormals are kept; a wave in another mode is stopped.
//
//===----------------------------------------------------------------------===//

#include "Execute/ScalarOps.h"

#define LNBWD_SIM_VARIANT scalar
#include "Execute/LaneMath.h"

#include <cmath>

using namespace lnbwd::sim;
using namespace lnbwd::sim::scalar;

#define SCC W.S[SlotSCC]

static bool modeSupported(Wave &W, const Inst *I) {
  if (!W.SpecialFP || (W.Mode & 0xff) == 0xf0)
    return true;
  fault(W, I, -1,
        "scalar floating point is only modelled with rounding to nearest even "
        "and with denormals");
  return false;
}

static uint32_t modified(const Wave &W, const Operand &O, uint32_t SignBit) {
  uint32_t X = scalar32(W, O);
  if (O.Mods & ModHigh)
    X >>= 16;
  if (O.Mods & ModAbs)
    X &= ~SignBit;
  return O.Mods & ModNeg ? X ^ SignBit : X;
}

// A, B and C are the sources' bits; C of the accumulating ones is the
// destination.
#define FLOAT_OP(NAME, SIGN, RESULT)                                           \
  static const Inst *NAME(Wave &W, const Inst *I) {                            \
    if (!modeSupported(W, I))                                                  \
      return nullptr;                                                          \
    [[maybe_unused]] uint32_t A = modified(W, I->Src[0], SIGN);                \
    [[maybe_unused]] uint32_t B = modified(W, I->Src[1], SIGN);                \
    [[maybe_unused]] uint32_t C =                                              \
        I->NumSrc > 2 ? scalar32(W, I->Src[2]) : W.S[I->Dst.Reg];              \
    W.S[I->Dst.Reg] = (RESULT);                                                \
    return I + 1;                                                              \
  }
#define F32(NAME, RESULT) FLOAT_OP(NAME, 0x80000000u, RESULT)
#define F16(NAME, RESULT) FLOAT_OP(NAME, 0x8000u, RESULT)
#define F(X) asF32(X)

F32(addF32, bits(F(A) + F(B)))
F32(subF32, bits(F(A) - F(B)))
F32(mulF32, bits(F(A) * F(B)))
F32(minF32, minNum32<false>(A, B))
F32(maxF32, maxNum32<false>(A, B))
F32(minimumF32, minimum32(A, B))
F32(maximumF32, maximum32(A, B))
F32(fmacF32, bits(std::fma(F(A), F(B), F(C))))
F32(ceilF32, bits(std::ceil(F(A))))
F32(floorF32, bits(std::floor(F(A))))
F32(truncF32, bits(std::trunc(F(A))))
F32(rndneF32, bits(std::nearbyint(F(A))))
F32(cvtF32I32, bits(float(int32_t(A))))
F32(cvtF32U32, bits(float(A)))
static uint32_t toI32(double X) {
  if (X != X)
    return 0;
  return uint32_t(saturate(X >= 0x1p62    ? INT64_MAX
                           : X <= -0x1p62 ? INT64_MIN
                                          : int64_t(X)));
}
static uint32_t toU32(double X) {
  if (!(X > 0))
    return 0;
  return X >= 4294967296.0 ? ~0u : uint32_t(X);
}
F32(cvtI32F32, toI32(double(F(A))))
F32(cvtU32F32, toU32(double(F(A))))
F32(cvtF16F32, f32ToHalf(A))
F16(cvtF32F16, halfToF32(A))
F32(cvtHiF32F16, halfToF32(A >> 16))
F32(cvtPkRtz, f32ToHalfTowardZero(A) | f32ToHalfTowardZero(B) << 16)
F16(addF16, halfBits(half(A) + half(B)))
F16(subF16, halfBits(half(A) - half(B)))
F16(mulF16, halfBits(half(A) * half(B)))
F16(fmacF16, fmaHalf(A, B, C))
F16(minF16, minNum16<false>(A, B))
F16(maxF16, maxNum16<false>(A, B))
F16(minimumF16, minimum16(A, B))
F16(maximumF16, maximum16(A, B))
F16(ceilF16, halfBits(std::ceil(half(A))))
F16(floorF16, halfBits(std::floor(half(A))))
F16(truncF16, halfBits(std::trunc(half(A))))
F16(rndneF16, halfBits(std::nearbyint(half(A))))
F32(rcpF32, flush32(bits(1.0f / F(flush32(A)))))
F32(rsqF32, flush32(bits(float(1.0 / std::sqrt(double(F(flush32(A))))))))
F32(sqrtF32, bits(std::sqrt(F(A))))
F32(expF32, flush32(bits(std::exp2(F(flush32(A))))))
F32(logF32, bits(std::log2(F(flush32(A)))))

F16(rcpF16, halfBits(1.0f / half(A)))
F16(rsqF16, halfBits(float(1.0 / std::sqrt(double(half(A))))))
F16(sqrtF16, halfBits(std::sqrt(half(A))))
F16(expF16, halfBits(std::exp2(half(A))))
F16(logF16, halfBits(std::log2(half(A))))

#define FLOAT_COMPARE(NAME, CONDITION)                                         \
  static const Inst *NAME##F32(Wave &W, const Inst *I) {                       \
    float A = F(modified(W, I->Src[0], 0x80000000u));                          \
    float B = F(modified(W, I->Src[1], 0x80000000u));                          \
    SCC = (CONDITION) ? 1 : 0;                                                 \
    return I + 1;                                                              \
  }                                                                            \
  static const Inst *NAME##F16(Wave &W, const Inst *I) {                       \
    float A = half(modified(W, I->Src[0], 0x8000u));                           \
    float B = half(modified(W, I->Src[1], 0x8000u));                           \
    SCC = (CONDITION) ? 1 : 0;                                                 \
    return I + 1;                                                              \
  }
FLOAT_COMPARE(lt, A < B)
FLOAT_COMPARE(eq, A == B)
FLOAT_COMPARE(le, A <= B)
FLOAT_COMPARE(gt, A > B)
FLOAT_COMPARE(lg, A<B || A> B)
FLOAT_COMPARE(ge, A >= B)
FLOAT_COMPARE(o, A == A && B == B)
FLOAT_COMPARE(u, A != A || B != B)
FLOAT_COMPARE(nge, !(A >= B))
FLOAT_COMPARE(nlg, !(A < B) && !(A > B))
FLOAT_COMPARE(ngt, !(A > B))
FLOAT_COMPARE(nle, !(A <= B))
FLOAT_COMPARE(neq, A != B)
FLOAT_COMPARE(nlt, !(A < B))

#define CMP(NAME)                                                              \
  {"s_cmp_" #NAME "_f32", NAME##F32}, { "s_cmp_" #NAME "_f16", NAME##F16 }

const HandlerInfo Table[] = {
    {"s_add_f32", addF32},
    {"s_sub_f32", subF32},
    {"s_mul_f32", mulF32},
    {"s_min_num_f32", minF32},
    {"s_max_num_f32", maxF32},
    {"s_min_f32", minF32},
    {"s_max_f32", maxF32},
    {"s_minimum_f32", minimumF32},
    {"s_maximum_f32", maximumF32},
    {"s_fmac_f32", fmacF32},
    {"s_fmaak_f32", fmacF32},
    {"s_fmamk_f32", fmacF32},
    {"s_ceil_f32", ceilF32},
    {"s_floor_f32", floorF32},
    {"s_trunc_f32", truncF32},
    {"s_rndne_f32", rndneF32},
    {"s_cvt_f32_i32", cvtF32I32},
    {"s_cvt_f32_u32", cvtF32U32},
    {"s_cvt_i32_f32", cvtI32F32},
    {"s_cvt_u32_f32", cvtU32F32},
    {"s_cvt_f16_f32", cvtF16F32},
    {"s_cvt_f32_f16", cvtF32F16},
    {"s_cvt_hi_f32_f16", cvtHiF32F16},
    {"s_cvt_pk_rtz_f16_f32", cvtPkRtz},
    {"s_add_f16", addF16},
    {"s_sub_f16", subF16},
    {"s_mul_f16", mulF16},
    {"s_fmac_f16", fmacF16},
    {"s_min_num_f16", minF16},
    {"s_max_num_f16", maxF16},
    {"s_min_f16", minF16},
    {"s_max_f16", maxF16},
    {"s_minimum_f16", minimumF16},
    {"s_maximum_f16", maximumF16},
    {"s_ceil_f16", ceilF16},
    {"s_floor_f16", floorF16},
    {"s_trunc_f16", truncF16},
    {"s_rndne_f16", rndneF16},
    {"v_s_rcp_f16", rcpF16},
    {"v_s_rsq_f16", rsqF16},
    {"v_s_sqrt_f16", sqrtF16},
    {"v_s_exp_f16", expF16},
    {"v_s_log_f16", logF16},
    {"v_s_rcp_f32", rcpF32},
    {"v_s_rsq_f32", rsqF32},
    {"v_s_sqrt_f32", sqrtF32},
    {"v_s_exp_f32", expF32},
    {"v_s_log_f32", logF32},
    CMP(lt),
    CMP(eq),
    CMP(le),
    CMP(gt),
    CMP(lg),
    CMP(ge),
    CMP(o),
    CMP(u),
    CMP(nge),
    CMP(nlg),
    CMP(ngt),
    CMP(nle),
    CMP(neq),
    CMP(nlt),
};

TableRef<HandlerInfo> lnbwd::sim::scalarFloatOps() { return Table; }
