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
static float sine(float X) {
  return float(__builtin_sin((X - __builtin_floor(X)) * 6.283185307179586));
}
static float cosine(float X) {
  return float(__builtin_cos((X - __builtin_floor(X)) * 6.283185307179586));
}

static uint32_t fract(uint32_t A) {
  float R = F(A) - __builtin_floorf(F(A));
  return R >= 1.0f ? 0x3f7fffff : bits(R);
}

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

/// Packed: two independent f32, low and high register of each pair.
#define PAIR(...)                                                              \
  [](uint32_t *D, const uint32_t *const *S, unsigned N) {                      \
    for (unsigned Half = 0; Half < 2 * N; Half += N) {                         \
      const uint32_t *const H[] = {S[0] + Half, S[1] + Half, S[2] + Half,      \
                                   S[3]};                                      \
      KERNEL(__VA_ARGS__)(D + Half, H, N);                                     \
    }                                                                          \
  }
/// Low result from the first source's pair, high result from the second's; the
/// halves are already selected.
static void pkMovB32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  const uint32_t *S0 = S[0], *S1 = S[1] + N;
  FOR_LANES(L, N) {
    D[L] = S0[L];
    D[L + N] = S1[L];
  }
}

static uint32_t dot2(float A, float B, float A2, float B2, float C) {
  return bits(__builtin_fmaf(A, B, __builtin_fmaf(A2, B2, C)));
}
/// Four products of 8 bits each, rounded once with the addend.
template <MatrixType TypeA, MatrixType TypeB>
static uint32_t dot4Small(uint32_t A, uint32_t B, uint32_t C) {
  double Terms[5] = {double(F(C))};
  for (unsigned K = 0; K < 4; ++K)
    Terms[K + 1] = smallFloat(A >> 8 * K & 0xff, smallFormat(TypeA)) *
                   smallFloat(B >> 8 * K & 0xff, smallFormat(TypeB));
  return bits(float(sumToOdd(Terms, 5)));
}

using namespace operand_types;

const LaneOpInfo Table[] = {
#include "ISA/Instructions/Float.def"
};

TableRef<LaneOpInfo> floatOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
