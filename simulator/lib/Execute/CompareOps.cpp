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

#include <type_traits>

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

namespace {
template <typename T> struct Load {
  static T from(const uint32_t *S, size_t L, unsigned N) {
    if constexpr (std::is_same_v<T, float>)
      return asF32(S[L]);
    else if constexpr (std::is_same_v<T, double>)
      return asF64(join(S[L], S[L + N]));
    else if constexpr (sizeof(T) == 8)
      return T(join(S[L], S[L + N]));
    else
      return T(S[L]);
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
template <typename T> static uint32_t classify(typename T::Bits X) {
  const int Exponent = exponentOf<T>(X);
  const bool IsMost = Exponent == 2 * T::Bias + 1;
  const bool HasFraction = X & (T::Sign - 1) & ~T::Infinity;
  if (IsMost && HasFraction)
    return X & T::Quiet ? 2 : 1;
  const unsigned Positive = IsMost ? 9 : Exponent ? 8 : HasFraction ? 7 : 6;
  return 1u << (X & T::Sign ? 11 - Positive : Positive);
}
template <typename T>
static void classOf(uint32_t *D, const uint32_t *const *S, unsigned N) {
  for (unsigned L = 0; L < N; ++L)
    D[L] = classify<T>(Load<typename T::Bits>::from(S[0], L, N)) & S[1][L] ? ~0u
                                                                           : 0;
}

using namespace operand_types;

#define ONE(PREFIX, NAME, FLAGS, TYPE, FN)                                     \
  {PREFIX NAME, Mask, {TYPE, TYPE}, LaneMaskResult | FLAGS, FN}
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
  {"v_cmp_class_" SUFFIX, Mask, {TYPE, SECOND}, LaneMaskResult, FN}, {         \
    "v_cmpx_class_" SUFFIX, Mask, {TYPE, SECOND},                              \
        LaneMaskResult | LaneExecResult, FN                                    \
  }

const LaneOpInfo Table[] = {
    INTEGER("i32", B32, int32_t),
    INTEGER("u32", B32, uint32_t),
    INTEGER("i64", B64, int64_t),
    INTEGER("u64", B64, uint64_t),
    INTEGER("i16", I16, int16_t),
    INTEGER("u16", I16, uint16_t),
    FLOATING("f32", F32, float),
    FLOATING("f64", F64, double),
    FLOATING("f16", F16, Half),
    CLASS("f32", F32, B32, classOf<Number32>),
    CLASS("f64", F64, B32, classOf<Number64>),
    CLASS("f16", F16, I16, classOf<Number16>),
};

TableRef<LaneOpInfo> compareOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
