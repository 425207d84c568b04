//===- CompareOps.cpp - Vector compares -----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and table of v_cmp and v_cmpx: one row of 0 or ~0, which the driver
// turns into a lane mask.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

namespace {
template <typename T> struct Load;
template <> struct Load<float> {
  static float from(const uint32_t *S, size_t L, unsigned) {
    return asF32(S[L]);
  }
};
template <> struct Load<double> {
  static double from(const uint32_t *S, size_t L, unsigned N) {
    return asF64(join(S[L], S[L + N]));
  }
};
template <> struct Load<int32_t> {
  static int32_t from(const uint32_t *S, size_t L, unsigned) {
    return int32_t(S[L]);
  }
};
template <> struct Load<uint32_t> {
  static uint32_t from(const uint32_t *S, size_t L, unsigned) { return S[L]; }
};
template <> struct Load<int64_t> {
  static int64_t from(const uint32_t *S, size_t L, unsigned N) {
    return int64_t(join(S[L], S[L + N]));
  }
};
template <> struct Load<uint64_t> {
  static uint64_t from(const uint32_t *S, size_t L, unsigned N) {
    return join(S[L], S[L + N]);
  }
};
template <> struct Load<int16_t> {
  static int16_t from(const uint32_t *S, size_t L, unsigned) {
    return int16_t(S[L]);
  }
};
template <> struct Load<uint16_t> {
  static uint16_t from(const uint32_t *S, size_t L, unsigned) {
    return uint16_t(S[L]);
  }
};
struct Half {};
template <> struct Load<Half> {
  static float from(const uint32_t *S, size_t L, unsigned) {
    return half(S[L]);
  }
};
} // namespace

#define COMPARE(NAME, CONDITION)                                               \
  struct NAME {                                                                \
    template <typename T> static bool test(T X, T Y) { return CONDITION; }     \
  };
COMPARE(Never, (void(X), void(Y), false))
COMPARE(Less, X < Y)
COMPARE(Equal, X == Y)
COMPARE(LessEqual, X <= Y)
COMPARE(Greater, X > Y)
COMPARE(Different, X != Y)
COMPARE(LessGreater, X<Y || X> Y)
COMPARE(GreaterEqual, X >= Y)
COMPARE(Ordered, X == X && Y == Y)
COMPARE(Unordered, X != X || Y != Y)
COMPARE(NotGreaterEqual, !(X >= Y))
COMPARE(NotLessGreater, !(X < Y || X > Y))
COMPARE(NotGreater, !(X > Y))
COMPARE(NotLessEqual, !(X <= Y))
COMPARE(NotLess, !(X < Y))
COMPARE(Always, (void(X), void(Y), true))

template <typename Compare, typename T>
static void compare(uint32_t *__restrict D, const uint32_t *const *S,
                    unsigned N) {
  const uint32_t *S0 = S[0], *S1 = S[1];
  FOR_LANES(L, N)
  D[L] =
      Compare::test(Load<T>::from(S0, L, N), Load<T>::from(S1, L, N)) ? ~0u : 0;
}

/// Bits of a class mask: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3
/// -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +infinity.
static uint32_t classify(bool Negative, bool ExponentZero, bool ExponentMax,
                         bool MantissaZero, bool Quiet) {
  if (ExponentMax && !MantissaZero)
    return Quiet ? 2 : 1;
  unsigned Positive = ExponentMax     ? 9
                      : !ExponentZero ? 8
                      : MantissaZero  ? 6
                                      : 7;
  return 1u << (Negative ? 11 - Positive : Positive);
}
static void classF32(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    uint32_t X = S[0][L], E = X >> 23 & 0xff;
    uint32_t Class = classify(X >> 31, !E, E == 0xff, !(X << 9), X >> 22 & 1);
    D[L] = (Class & S[1][L]) ? ~0u : 0;
  }
}
static void classF16(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    uint32_t X = S[0][L], E = X >> 10 & 0x1f;
    uint32_t Class =
        classify(X >> 15 & 1, !E, E == 0x1f, !(X & 0x3ff), X >> 9 & 1);
    D[L] = (Class & S[1][L]) ? ~0u : 0;
  }
}
static void classF64(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L) {
    uint64_t X = join(S[0][L], S[0][L + N]);
    uint32_t E = uint32_t(X >> 52) & 0x7ff;
    uint32_t Class = classify(X >> 63, !E, E == 0x7ff, !(X << 12), X >> 51 & 1);
    D[L] = (Class & S[1][L]) ? ~0u : 0;
  }
}

constexpr OperandType None = OperandType::None;

#define ONE(PREFIX, NAME, FLAGS, TYPE, FN)                                     \
  {PREFIX NAME,                                                                \
   OperandType::Mask,                                                          \
   {TYPE, TYPE, None, None},                                                   \
   LaneMaskResult | FLAGS,                                                     \
   FN,                                                                         \
   nullptr,                                                                    \
   nullptr}
#define BOTH(NAME, TYPE, FN)                                                   \
  ONE("v_cmp_", NAME, 0, TYPE, FN),                                            \
      ONE("v_cmpx_", NAME, LaneExecResult, TYPE, FN)
#define INTEGER(SUFFIX, TYPE, CTYPE)                                           \
  BOTH("f_" SUFFIX, TYPE, (compare<Never, CTYPE>)),                            \
      BOTH("lt_" SUFFIX, TYPE, (compare<Less, CTYPE>)),                        \
      BOTH("eq_" SUFFIX, TYPE, (compare<Equal, CTYPE>)),                       \
      BOTH("le_" SUFFIX, TYPE, (compare<LessEqual, CTYPE>)),                   \
      BOTH("gt_" SUFFIX, TYPE, (compare<Greater, CTYPE>)),                     \
      BOTH("ne_" SUFFIX, TYPE, (compare<Different, CTYPE>)),                   \
      BOTH("ge_" SUFFIX, TYPE, (compare<GreaterEqual, CTYPE>)),                \
      BOTH("t_" SUFFIX, TYPE, (compare<Always, CTYPE>))
#define FLOATF(NAME, TYPE, FN)                                                 \
  ONE("v_cmp_", NAME, LaneFloat, TYPE, FN),                                    \
      ONE("v_cmpx_", NAME, LaneFloat | LaneExecResult, TYPE, FN)
#define FLOATING(SUFFIX, TYPE, CTYPE)                                          \
  FLOATF("f_" SUFFIX, TYPE, (compare<Never, CTYPE>)),                          \
      FLOATF("lt_" SUFFIX, TYPE, (compare<Less, CTYPE>)),                      \
      FLOATF("eq_" SUFFIX, TYPE, (compare<Equal, CTYPE>)),                     \
      FLOATF("le_" SUFFIX, TYPE, (compare<LessEqual, CTYPE>)),                 \
      FLOATF("gt_" SUFFIX, TYPE, (compare<Greater, CTYPE>)),                   \
      FLOATF("lg_" SUFFIX, TYPE, (compare<LessGreater, CTYPE>)),               \
      FLOATF("ge_" SUFFIX, TYPE, (compare<GreaterEqual, CTYPE>)),              \
      FLOATF("o_" SUFFIX, TYPE, (compare<Ordered, CTYPE>)),                    \
      FLOATF("u_" SUFFIX, TYPE, (compare<Unordered, CTYPE>)),                  \
      FLOATF("nge_" SUFFIX, TYPE, (compare<NotGreaterEqual, CTYPE>)),          \
      FLOATF("nlg_" SUFFIX, TYPE, (compare<NotLessGreater, CTYPE>)),           \
      FLOATF("ngt_" SUFFIX, TYPE, (compare<NotGreater, CTYPE>)),               \
      FLOATF("nle_" SUFFIX, TYPE, (compare<NotLessEqual, CTYPE>)),             \
      FLOATF("neq_" SUFFIX, TYPE, (compare<Different, CTYPE>)),                \
      FLOATF("nlt_" SUFFIX, TYPE, (compare<NotLess, CTYPE>)),                  \
      FLOATF("tru_" SUFFIX, TYPE, (compare<Always, CTYPE>)),                   \
      FLOATF("t_" SUFFIX, TYPE, (compare<Always, CTYPE>))
#define CLASS(SUFFIX, TYPE, SECOND, FN)                                        \
  {"v_cmp_class_" SUFFIX,                                                      \
   OperandType::Mask,                                                          \
   {TYPE, SECOND, None, None},                                                 \
   LaneMaskResult,                                                             \
   FN,                                                                         \
   nullptr,                                                                    \
   nullptr},                                                                   \
  {                                                                            \
    "v_cmpx_class_" SUFFIX, OperandType::Mask, {TYPE, SECOND, None, None},     \
        LaneMaskResult | LaneExecResult, FN, nullptr, nullptr                  \
  }

const LaneOpInfo Table[] = {
    INTEGER("i32", OperandType::B32, int32_t),
    INTEGER("u32", OperandType::B32, uint32_t),
    INTEGER("i64", OperandType::B64, int64_t),
    INTEGER("u64", OperandType::B64, uint64_t),
    INTEGER("i16", OperandType::I16, int16_t),
    INTEGER("u16", OperandType::I16, uint16_t),
    FLOATING("f32", OperandType::F32, float),
    FLOATING("f64", OperandType::F64, double),
    FLOATING("f16", OperandType::F16, Half),
    CLASS("f32", OperandType::F32, OperandType::B32, classF32),
    CLASS("f64", OperandType::F64, OperandType::B32, classF64),
    CLASS("f16", OperandType::F16, OperandType::I16, classF16),
};

TableRef<LaneOpInfo> compareOps() {
  return {Table, sizeof(Table) / sizeof(Table[0])};
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
