//===- LaneMath.h - Arithmetic of one lane ----------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Number formats and the arithmetic that C++ has no operator for, on bit
// patterns, without branches where a loop over the lanes should become vector
// code of the host.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_LANEMATH_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_LANEMATH_H

#include "Execute/ExecTable.h"

#include "llvm/ADT/bit.h"

#include <cstdint>
#include <cstring>

/// Tells the compiler that the iterations of the next loop do not depend on
/// each other: a destination row is either one of the sources itself or
/// distinct from all of them. Clang unrolls a short loop first, and then cannot
/// use that.
#if defined(__clang__)
#define LNBWD_INDEPENDENT                                                      \
  _Pragma("clang loop vectorize(assume_safety) interleave_count(4)")           \
      _Pragma("clang loop unroll(disable)")
#else
#define LNBWD_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// Runs the body for every lane L; the inner trip count is a constant, which
/// host compilers vectorise without a remainder loop.
#define FOR_LANES(L, N)                                                        \
  for (size_t L##Base = 0, L##End = (N); L##Base < L##End; L##Base += 32)      \
    LNBWD_INDEPENDENT                                                          \
  for (size_t L = L##Base, L##Left = 32; L##Left; ++L, --L##Left)

/// A kernel whose result the expression makes of the sources: A, B, C and E,
/// or WIDE(0) to WIDE(2) of 64 bits, which are taken only if they are named.
/// MODE is MODE.IEEE, which it sees as IEEE.
#define KERNEL_OF(TYPE, MODE, STORE, ...)                                      \
  [](uint32_t *D, const uint32_t *const *Sources, unsigned N) {                \
    [[maybe_unused]] constexpr bool IEEE = MODE;                               \
    const uint32_t *S0 = Sources[0], *S1 = Sources[1], *S2 = Sources[2],       \
                   *S3 = Sources[3];                                           \
    (void)S1, (void)S2, (void)S3;                                              \
    FOR_LANES(L, N) {                                                          \
      [[maybe_unused]] const uint32_t A = S0[L], B = S1[L], C = S2[L],         \
                                      E = S3[L];                               \
      const TYPE R = (__VA_ARGS__);                                            \
      STORE;                                                                   \
    }                                                                          \
  }
#define WIDE(K) join(S##K[L], S##K[L + N])
#define STORE_WIDE D[L] = uint32_t(R), D[L + N] = uint32_t(R >> 32)

/// Kernels of 32-bit and of 64-bit results, each also for MODE.IEEE off.
#define KERNEL(...) KERNEL_OF(uint32_t, true, D[L] = R, __VA_ARGS__)
#define KERNEL_0(...) KERNEL_OF(uint32_t, false, D[L] = R, __VA_ARGS__)
#define KERNEL64(...) KERNEL_OF(uint64_t, true, (STORE_WIDE), __VA_ARGS__)
#define KERNEL64_0(...) KERNEL_OF(uint64_t, false, (STORE_WIDE), __VA_ARGS__)

/// Of a row of ISA/Instructions what executes it.
#define LNBWD_LIST(...) __VA_ARGS__
#define LANE(FACTS, NAMES, RESULT, SOURCES, FLAGS, ...)                        \
  {NAMES, RESULT, {LNBWD_LIST SOURCES}, FLAGS, __VA_ARGS__},

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

using llvm::bit_cast;
static inline float asF32(uint32_t X) { return bit_cast<float>(X); }
static inline uint32_t bits(float F) { return bit_cast<uint32_t>(F); }
static inline double asF64(uint64_t X) { return bit_cast<double>(X); }
static inline uint64_t bits(double F) { return bit_cast<uint64_t>(F); }
static inline uint64_t join(uint32_t Low, uint32_t High) {
  return uint64_t(High) << 32 | Low;
}

static inline bool isNaN32(uint32_t X) { return (X & 0x7fffffff) > 0x7f800000; }

/// Denormals to zero of the same sign.
static inline uint32_t flush32(uint32_t X) {
  uint32_t Keep = 0u - uint32_t((X & 0x7f800000) != 0);
  return X & (Keep | 0x80000000);
}
static inline uint64_t flush64(uint64_t X) {
  return (X & 0x7ff0000000000000ull) ? X : X & 0x8000000000000000ull;
}
static inline uint32_t flush16(uint32_t X) {
  return (X & 0x7c00) ? X : X & 0x8000;
}

static inline uint32_t halfToF32(uint32_t H) {
  uint32_t Sign = (H & 0x8000) << 16;
  uint32_t Magnitude = (H & 0x7fff) << 13;
  // The exponent is rebased by a multiplication, which is right for denormals.
  uint32_t X = bits(asF32(Magnitude) * 0x1p112f);
  X = Magnitude >= 0x0f800000 ? Magnitude | 0x7f800000 : X;
  X |= Magnitude > 0x0f800000 ? 0x00400000 : 0;
  return X | Sign;
}

/// Round to nearest even.
static inline uint32_t f32ToHalf(uint32_t X) {
  uint32_t Sign = X >> 16 & 0x8000;
  uint32_t A = X & 0x7fffffff;
  uint32_t Normal = (A + 0xfff + (A >> 13 & 1) - 0x38000000) >> 13;
  // The sum's last bit weighs as much as the last bit of a denormal half.
  uint32_t Denormal = bits(asF32(A) + 0.5f) - 0x3f000000;
  uint32_t R = A >= 0x38800000 ? Normal : Denormal;
  R = A >= 0x477ff000 ? 0x7c00 : R;
  R = A > 0x7f800000 ? 0x7e00 | (A >> 13 & 0x3ff) : R;
  return R | Sign;
}

static inline uint32_t f32ToHalfTowardZero(uint32_t X) {
  uint32_t Sign = X >> 16 & 0x8000;
  uint32_t A = X & 0x7fffffff;
  if (A > 0x7f800000)
    return Sign | 0x7e00 | (A >> 13 & 0x3ff);
  if (A == 0x7f800000)
    return Sign | 0x7c00;
  if (A >= 0x47800000)
    return Sign | 0x7bff;
  if (A >= 0x38800000)
    return Sign | (A - 0x38000000) >> 13;
  unsigned Shift = 126 - (A >> 23);
  uint32_t Mantissa = (A & 0x7fffff) | 0x800000;
  return Sign | (Shift > 24 ? 0 : Mantissa >> Shift);
}

static inline float half(uint32_t H) { return asF32(halfToF32(H)); }
static inline uint32_t halfBits(float F) { return f32ToHalf(bits(F)); }

static inline float bfloat(uint32_t X) { return asF32(X << 16); }
static inline uint32_t f32ToBFloat(uint32_t X) {
  uint32_t R = (X + 0x7fff + (X >> 16 & 1)) >> 16;
  return isNaN32(X) ? X >> 16 | 0x40 : R;
}
static inline uint32_t bfloatBits(float F) { return f32ToBFloat(bits(F)); }

/// What the rounding of P + C to Sum has lost.
static inline double lostOf(double P, double C, double Sum) {
  double Back = Sum - P;
  return (P - (Sum - Back)) + (C - Back);
}
/// A double that is rounded to odd: a later rounding to fewer bits then gives
/// what one rounding of Sum + Lost would have given, of which Sum is the
/// nearest double.
static inline double roundToOdd(double Sum, double Lost) {
  uint64_t X = bits(Sum);
  uint64_t Step = (bits(Lost) ^ X) >> 63 ? ~0ull : 1;
  bool Adjust = Lost != 0 && !(X & 1) &&
                (X & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
  return asF64(Adjust ? X + Step : X);
}
static inline double addToOdd(double P, double C) {
  double Sum = P + C;
  return roundToOdd(Sum, lostOf(P, C, Sum));
}
/// The sum of at most 132 numbers, rounded to odd.
static inline double sumToOdd(const double *X, unsigned Count) {
  double Plain = X[0];
  for (unsigned K = 1; K < Count; ++K)
    Plain += X[K];
  if (!(__builtin_fabs(Plain) < __builtin_inf()))
    return Plain;
  // What is added so far, in parts of which none reaches into another, the
  // smallest first (Shewchuk, "Adaptive precision floating-point arithmetic and
  // fast robust geometric predicates", 1997).
  double Parts[132];
  unsigned Used = 0;
  for (unsigned K = 0; K < Count; ++K) {
    double Sum = X[K];
    unsigned Kept = 0;
    for (unsigned J = 0; J < Used; ++J) {
      const double Part = Parts[J], Next = Sum + Part;
      const double Lost = lostOf(Sum, Part, Next);
      if (Lost != 0)
        Parts[Kept++] = Lost;
      Sum = Next;
    }
    if (Sum != 0)
      Parts[Kept++] = Sum;
    Used = Kept;
  }
  if (!Used)
    return Plain;
  double Sum = Parts[--Used], Lost = 0;
  while (Used && Lost == 0) {
    const double Part = Parts[--Used], Next = Sum + Part;
    Lost = lostOf(Sum, Part, Next);
    Sum = Next;
  }
  return roundToOdd(Sum, Lost);
}
/// To single precision, rounded to odd. Below the normal numbers, where it
/// would need more bits, and above all of them it is rounded to nearest.
static inline float narrowToOdd(double F) {
  uint64_t X = bits(F);
  uint64_t Exponent = X >> 52 & 0x7ff;
  uint32_t R = uint32_t(X >> 32 & 0x80000000) |
               uint32_t((Exponent - 896) << 23) | uint32_t(X >> 29 & 0x7fffff) |
               ((X & 0x1fffffff) != 0);
  bool Ordinary = Exponent > 896 && Exponent < 1151;
  return Ordinary ? asF32(R) : float(F);
}
static inline uint32_t fmaHalf(uint32_t A, uint32_t B, uint32_t C) {
  double P = double(half(A)) * double(half(B));
  return halfBits(narrowToOdd(addToOdd(P, double(half(C)))));
}

static inline uint32_t bfloatOf(double X) {
  const double Magnitude = __builtin_fabs(X);
  if (Magnitude >= 0x1p-126 || X != X)
    return bfloatBits(narrowToOdd(X));
  // A subnormal one is so many times 2^-133.
  return uint32_t((Magnitude * 0x1p133 + 0x1p52) - 0x1p52) |
         uint32_t(bits(X) >> 48 & 0x8000);
}

/// The types of numbers: their bits, and what stands in them. Quotients below
/// 2^LeastQuotient are 0.
struct Number32 {
  using Bits = uint32_t;
  static constexpr Bits Sign = 0x80000000, Infinity = 0x7f800000,
                        Quiet = 0x400000;
  static constexpr int FractionBits = 23, Bias = 127, LeastQuotient = -150;
  static float value(Bits X) { return asF32(X); }
};
struct Number64 {
  using Bits = uint64_t;
  static constexpr Bits Sign = 1ull << 63, Infinity = 0x7ffull << 52,
                        Quiet = 1ull << 51;
  static constexpr int FractionBits = 52, Bias = 1023, LeastQuotient = -1075;
  static double value(Bits X) { return asF64(X); }
};
struct Number16 {
  using Bits = uint32_t;
  static constexpr Bits Sign = 0x8000, Infinity = 0x7c00, Quiet = 0x200;
  static constexpr int FractionBits = 10, Bias = 15, LeastQuotient = -64;
  static float value(Bits X) { return half(X); }
};

template <typename T> static inline bool isNaN(typename T::Bits X) {
  return (X & (T::Sign - 1)) > T::Infinity;
}
template <typename T> static inline bool isSignaling(typename T::Bits X) {
  return isNaN<T>(X) && !(X & T::Quiet);
}
template <typename T> static inline int exponentOf(typename T::Bits X) {
  return int(X >> T::FractionBits) & (2 * T::Bias + 1);
}
/// Infinity, NaN or 0.
template <typename T> static inline bool isSpecial(typename T::Bits X) {
  return (X & T::Infinity) == T::Infinity || !(X & (T::Sign - 1));
}
/// Scales a subnormal number by 2^64; the exponent of that, or 0.
template <typename T> static inline int normalize(typename T::Bits &X) {
  if (X & T::Infinity)
    return 0;
  X = bits(T::value(X) * 0x1p64f);
  return 64;
}
template <typename T>
static inline typename T::Bits frexpMantissa(typename T::Bits X) {
  if (isSpecial<T>(X))
    return X;
  normalize<T>(X);
  return (X & ~T::Infinity) | typename T::Bits(T::Bias - 1) << T::FractionBits;
}
template <typename T> static inline uint32_t frexpExponent(typename T::Bits X) {
  if (isSpecial<T>(X))
    return 0;
  const int Scale = normalize<T>(X);
  return uint32_t(exponentOf<T>(X) - (T::Bias - 1) - Scale);
}
/// To the nearest whole number, ties to even, whatever libm does.
static inline float roundEven(float X) {
  float Magnitude = __builtin_fabsf(X);
  float R = (Magnitude + 0x1p23f) - 0x1p23f;
  return Magnitude < 0x1p23f ? __builtin_copysignf(R, X) : X;
}

/// What v_div_scale makes of X, which is the denominator Y or the numerator Z:
/// scaled by 2^Step where that keeps the next steps off subnormal numbers. The
/// mask says that the quotient is to be scaled back.
template <typename T, int Apart, int Step, int Small>
static inline typename T::Bits divScale(typename T::Bits X, typename T::Bits Y,
                                        typename T::Bits Z, uint32_t &Mask) {
  const auto Scaled = [X](int By) {
    return bits(decltype(T::value(X))(__builtin_ldexp(T::value(X), By)));
  };
  const auto IsTiny = [](auto Number) { return !(bits(Number) & T::Infinity); };
  Mask = 0;
  const auto Den = T::value(Y), Num = T::value(Z);
  if (!(Y & (T::Sign - 1)) || !(Z & (T::Sign - 1)))
    return T::Infinity | T::Quiet;
  if (exponentOf<T>(Z) - exponentOf<T>(Y) >= Apart) {
    Mask = ~0u;
    return X == Y ? Scaled(Step) : X;
  }
  if (IsTiny(Den))
    return Scaled(Step);
  const bool TinyQuotient = IsTiny(Num / Den);
  Mask = TinyQuotient ? ~0u : 0;
  // The ISA documents scale the denominator of a subnormal quotient up, to
  // infinity; the quotient that v_div_fmas scales down asks for the opposite.
  if (IsTiny(1 / Den))
    return !TinyQuotient || X == Y ? Scaled(-Step) : X;
  if (TinyQuotient)
    return X == Z ? Scaled(Step) : X;
  return exponentOf<T>(Z) <= Small ? Scaled(Step) : X;
}
/// X is the quotient so far, Y the denominator, Z the numerator. A NaN for X is
/// a quotient that was infinite before its last correction.
template <typename T>
static inline typename T::Bits divFixup(typename T::Bits X, typename T::Bits Y,
                                        typename T::Bits Z) {
  const typename T::Bits Sign = (Y ^ Z) & T::Sign, Den = Y & (T::Sign - 1),
                         Num = Z & (T::Sign - 1);
  if (isNaN<T>(Z))
    return Z | T::Quiet;
  if (isNaN<T>(Y))
    return Y | T::Quiet;
  if ((!Den && !Num) || (Den == T::Infinity && Num == T::Infinity))
    return T::Sign | T::Infinity | T::Quiet;
  if (!Den || Num == T::Infinity)
    return Sign | T::Infinity;
  if (Den == T::Infinity || !Num ||
      exponentOf<T>(Z) - exponentOf<T>(Y) < T::LeastQuotient)
    return Sign;
  return (isNaN<T>(X) ? T::Infinity : X & (T::Sign - 1)) | Sign;
}

/// The larger of two numbers, or the smaller. +0 is larger than -0.
template <typename T, bool Larger>
static inline typename T::Bits choose(typename T::Bits A, typename T::Bits B) {
  auto X = T::value(A), Y = T::value(B);
  bool IsNegative = A & T::Sign;
  bool First = Larger ? X > Y || (X == Y && !IsNegative)
                      : X < Y || (X == Y && IsNegative);
  return First ? A : B;
}
/// The larger or smaller; a NaN loses, but a signaling one in IEEE mode.
template <typename T, bool Larger, bool IEEE>
static inline typename T::Bits chooseNumber(typename T::Bits A,
                                            typename T::Bits B) {
  typename T::Bits R = choose<T, Larger>(A, B);
  R = isNaN<T>(B) ? A : R;
  R = isNaN<T>(A) ? B : R;
  if (IEEE) {
    R = isSignaling<T>(B) ? B | T::Quiet : R;
    R = isSignaling<T>(A) ? A | T::Quiet : R;
  }
  return R;
}
/// The larger or smaller of two numbers; a NaN wins.
template <typename T, bool Larger>
static inline typename T::Bits chooseOrNaN(typename T::Bits A,
                                           typename T::Bits B) {
  typename T::Bits R = choose<T, Larger>(A, B);
  R = isNaN<T>(B) ? B | T::Quiet : R;
  return isNaN<T>(A) ? A | T::Quiet : R;
}

template <bool IEEE> static inline uint32_t maxNum32(uint32_t A, uint32_t B) {
  return chooseNumber<Number32, true, IEEE>(A, B);
}
template <bool IEEE> static inline uint32_t minNum32(uint32_t A, uint32_t B) {
  return chooseNumber<Number32, false, IEEE>(A, B);
}
template <bool IEEE> static inline uint64_t maxNum64(uint64_t A, uint64_t B) {
  return chooseNumber<Number64, true, IEEE>(A, B);
}
template <bool IEEE> static inline uint64_t minNum64(uint64_t A, uint64_t B) {
  return chooseNumber<Number64, false, IEEE>(A, B);
}
template <bool IEEE> static inline uint32_t maxNum16(uint32_t A, uint32_t B) {
  return chooseNumber<Number16, true, IEEE>(A & 0xffff, B & 0xffff);
}
template <bool IEEE> static inline uint32_t minNum16(uint32_t A, uint32_t B) {
  return chooseNumber<Number16, false, IEEE>(A & 0xffff, B & 0xffff);
}
static inline uint32_t maximum32(uint32_t A, uint32_t B) {
  return chooseOrNaN<Number32, true>(A, B);
}
static inline uint32_t minimum32(uint32_t A, uint32_t B) {
  return chooseOrNaN<Number32, false>(A, B);
}
static inline uint32_t maximum16(uint32_t A, uint32_t B) {
  return f32ToHalf(maximum32(halfToF32(A), halfToF32(B)));
}
static inline uint32_t minimum16(uint32_t A, uint32_t B) {
  return f32ToHalf(minimum32(halfToF32(A), halfToF32(B)));
}

template <bool IEEE>
static inline uint32_t med3F32(uint32_t A, uint32_t B, uint32_t C) {
  if (isNaN32(A) || isNaN32(B) || isNaN32(C))
    return minNum32<IEEE>(minNum32<IEEE>(A, B), C);
  uint32_t Max = maxNum32<IEEE>(maxNum32<IEEE>(A, B), C);
  if (Max == A)
    return maxNum32<IEEE>(B, C);
  return Max == B ? maxNum32<IEEE>(A, C) : maxNum32<IEEE>(A, B);
}

static inline uint32_t umin(uint32_t A, uint32_t B) { return A < B ? A : B; }
static inline uint32_t umax(uint32_t A, uint32_t B) { return A > B ? A : B; }
static inline int32_t imin(int32_t A, int32_t B) { return A < B ? A : B; }
static inline int32_t imax(int32_t A, int32_t B) { return A > B ? A : B; }
static inline int32_t sext16(uint32_t X) { return int16_t(X); }
static inline int32_t sext24(uint32_t X) { return int32_t(X << 8) >> 8; }
static inline int32_t saturate(int64_t X) {
  return X > INT32_MAX ? INT32_MAX : X < INT32_MIN ? INT32_MIN : int32_t(X);
}
static inline int32_t saturate16(int32_t X) {
  return imax(imin(X, 32767), -32768);
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_LANEMATH_H
