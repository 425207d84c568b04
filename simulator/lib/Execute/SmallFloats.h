//===- SmallFloats.h - Numbers of 4 to 8 bits -------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fp8, bf8, fp6, bf6 and fp4: what their bits stand for.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_EXECUTE_SMALLFLOATS_H
#define LNBWD_LIB_SIMULATOR_EXECUTE_SMALLFLOATS_H

#include "Core/MatrixShape.h"
#include "Execute/LaneMath.h"

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

/// What stands in the place of the greatest exponent.
enum class SmallFloatTop : uint8_t {
  Numbers,  ///< numbers, as in fp6, bf6 and fp4
  OneNaN,   ///< numbers, but for a significand of ones: OCP's fp8
  InfNaN,   ///< infinities and NaN as in IEEE 754: OCP's bf8
  MinusZero ///< numbers; NaN is what would be -0: the Fnuz kinds
};

struct SmallFloatFormat {
  unsigned Mantissa, ExponentBits;
  int Bias;
  SmallFloatTop Top;
  unsigned bits() const { return 1 + Mantissa + ExponentBits; }
};

/// Of one of the formats of at most 8 bits.
static inline SmallFloatFormat smallFormat(MatrixType T) {
  switch (T) {
  case MatrixType::FP8:
    return {3, 4, 7, SmallFloatTop::OneNaN};
  case MatrixType::BF8:
    return {2, 5, 15, SmallFloatTop::InfNaN};
  case MatrixType::FP8Fnuz:
    return {3, 4, 8, SmallFloatTop::MinusZero};
  case MatrixType::BF8Fnuz:
    return {2, 5, 16, SmallFloatTop::MinusZero};
  case MatrixType::FP6:
    return {3, 2, 1, SmallFloatTop::Numbers};
  case MatrixType::BF6:
    return {2, 3, 3, SmallFloatTop::Numbers};
  default:
    return {1, 2, 1, SmallFloatTop::Numbers};
  }
}

/// 2^Power as a double; Power is in its normal range.
static inline double powerOfTwo(int Power) {
  return asF64(uint64_t(Power + 1023) << 52);
}

static inline double smallFloat(uint32_t X, const SmallFloatFormat &F) {
  const uint32_t Sign = 1u << (F.Mantissa + F.ExponentBits);
  const unsigned AllOnes = (1u << F.ExponentBits) - 1;
  const unsigned Exponent = X >> F.Mantissa & AllOnes;
  const unsigned Fraction = X & ((1u << F.Mantissa) - 1);
  const bool IsTop = Exponent == AllOnes;
  switch (F.Top) {
  case SmallFloatTop::Numbers:
    break;
  case SmallFloatTop::OneNaN:
    if (IsTop && Fraction == (1u << F.Mantissa) - 1)
      return __builtin_nan("");
    break;
  case SmallFloatTop::InfNaN:
    if (IsTop)
      return Fraction   ? __builtin_nan("")
             : X & Sign ? -__builtin_inf()
                        : __builtin_inf();
    break;
  case SmallFloatTop::MinusZero:
    if (X == Sign)
      return __builtin_nan("");
    break;
  }
  // Without the hidden bit, and of the least exponent, if that is 0.
  const double Significand = Fraction + (Exponent ? 1u << F.Mantissa : 0u);
  const double Value = Significand * powerOfTwo(int(umax(Exponent, 1)) -
                                                F.Bias - int(F.Mantissa));
  return X & Sign ? -Value : Value;
}

/// The bits of the nearest number, ties to even; or, if Added is not negative,
/// of the sum of |X| and Added in units of the last place, cut off.
static inline uint32_t toSmallFloat(double X, const SmallFloatFormat &F,
                                    bool Saturates, double Added) {
  const uint32_t Ones = (1u << (F.Mantissa + F.ExponentBits)) - 1;
  const uint32_t Infinity = Ones >> F.Mantissa << F.Mantissa;
  const bool Minus = bits(X) >> 63;
  const uint32_t Sign = Minus ? Ones + 1 : 0;
  const bool FiniteOnly = F.Top == SmallFloatTop::Numbers;
  const uint32_t NaN = F.Top == SmallFloatTop::MinusZero ? Ones + 1
                       : F.Top == SmallFloatTop::InfNaN
                           ? Sign | Infinity | 1u << (F.Mantissa - 1)
                           : Sign | Ones;
  if (X != X)
    return NaN;
  const uint32_t Largest = F.Top == SmallFloatTop::InfNaN   ? Infinity - 1
                           : F.Top == SmallFloatTop::OneNaN ? Ones - 1
                                                            : Ones;
  const double Magnitude = __builtin_fabs(X);
  uint32_t Code = ~0u;
  if (Magnitude < powerOfTwo(int(Ones >> F.Mantissa) - F.Bias + 2)) {
    const int Exponent = imax(int(bits(Magnitude) >> 52) - 1023, 1 - F.Bias);
    const double Units = Magnitude * powerOfTwo(int(F.Mantissa) - Exponent);
    // Units are below 2^53: whole ones stay exact.
    const double Whole =
        Added < 0 ? (Units + 0x1p52) - 0x1p52 : __builtin_floor(Units + Added);
    Code = (uint32_t(Exponent + F.Bias - 1) << F.Mantissa) + uint32_t(Whole);
  }
  if (Code > Largest) {
    if (!FiniteOnly && !Saturates)
      return F.Top == SmallFloatTop::InfNaN ? Sign | Infinity : NaN;
    Code = Largest;
  }
  // There is no negative zero where its bits are NaN.
  return Code || F.Top != SmallFloatTop::MinusZero ? Sign | Code : 0;
}

/// At most 32 bits of a lane's registers, N dwords apart; R is the first one's.
static inline uint32_t readBits(const uint32_t *R, unsigned Bit, unsigned Width,
                                unsigned N) {
  uint64_t X = R[Bit / 32 * N];
  if (Bit % 32 + Width > 32)
    X |= uint64_t(R[(Bit / 32 + 1) * N]) << 32;
  return uint32_t(X >> Bit % 32) & uint32_t((1ull << Width) - 1);
}
static inline void writeBits(uint32_t *R, unsigned Bit, unsigned Width,
                             unsigned N, uint32_t X) {
  const uint64_t Mask = ((1ull << Width) - 1) << Bit % 32;
  const uint64_t Bits = uint64_t(X) << Bit % 32;
  uint32_t *Low = R + Bit / 32 * N;
  *Low = (*Low & ~uint32_t(Mask)) | uint32_t(Bits);
  if (Bit % 32 + Width > 32)
    Low[N] = (Low[N] & ~uint32_t(Mask >> 32)) | uint32_t(Bits >> 32);
}

/// The power of two that the bits of a scale (E8M0) stand for.
static inline double scaleValue(uint32_t Bits) {
  return Bits == 0xff ? __builtin_nan("") : powerOfTwo(int(Bits) - 127);
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT

#endif // LNBWD_LIB_SIMULATOR_EXECUTE_SMALLFLOATS_H
