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

#define CONDITION(NAME, TEST)                                                  \
  struct NAME {                                                                \
    template <typename T> static bool test(T X, T Y) { return TEST; }          \
  };
CONDITION(Never, (void(X), void(Y), false))
CONDITION(Less, X < Y)
CONDITION(Equal, X == Y)
CONDITION(LessEqual, X <= Y)
CONDITION(Greater, X > Y)
CONDITION(Different, X != Y)
CONDITION(LessGreater, X<Y || X> Y)
CONDITION(GreaterEqual, X >= Y)
CONDITION(Ordered, X == X && Y == Y)
CONDITION(Unordered, X != X || Y != Y)
CONDITION(NotGreaterEqual, !(X >= Y))
CONDITION(NotLessGreater, !(X < Y || X > Y))
CONDITION(NotGreater, !(X > Y))
CONDITION(NotLessEqual, !(X <= Y))
CONDITION(NotLess, !(X < Y))
CONDITION(Always, (void(X), void(Y), true))

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

const LaneOpInfo Table[] = {
#include "ISA/Instructions/Compare.def"
};

TableRef<LaneOpInfo> compareOps() { return Table; }

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
