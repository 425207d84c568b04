//===- MathExpansions.h - Functions in a few multiply-adds ------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a function of float32 is computed from multiply-adds and one or two of
// the approximations that every GPU has in hardware: exp2, log2, reciprocal,
// reciprocal square root, square root. What is written here once is built
// twice: by lnbwd-expand-for-chip, of operations, and by a unit test, of
// numbers, which measures the error over all inputs (docs/numerics.md).
//
// The hardware's functions may be wrong by some units in the last place, read
// subnormals as 0 and give 0 for them. Polynomials were fitted for the least
// largest relative error, then rounded to float32 coefficient by coefficient,
// the lowest first, the others being fitted anew after each.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_GPUTOVENDOR_MATHEXPANSIONS_H
#define LNBWD_LIB_CONVERSION_GPUTOVENDOR_MATHEXPANSIONS_H

#include "lnbwd/Dialect/LNBwd/IR/NumberOperators.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <utility>

/// The expansions, in an order of operations that is the same with every
/// compiler: no more than one operand of an operator or a call is built in its
/// place. They are templates over `Real` (float32, or a vector of such) and its
/// `Bits` (as 32-bit integers), which have
///
/// - x.like(number), a constant of the type of x: a double is rounded to
///   float32;
/// - of Real + - * / and fma, all rounded once, the negation, x < y, false for
///   NaN, lessOrNaN, true for NaN, and isNaN; abs, copySign(magnitude, sign),
///   and roundedSqrt;
/// - min(x, y), whose result may not be used where x is NaN; minNum and maxNum,
///   which are y then;
/// - of Bits + - * & | ^, x < y, unsigned, << and >>, which brings zeros in,
///   mulHigh, the high half of an unsigned product, and
///   funnelShift(high, low, count), the low half of both shifted right by count
///   modulo 32;
/// - select(condition, x, y); toBits, fromBits, and toReal, which converts a
///   signed integer;
/// - whereRare(condition, x, compute, otherwise), the last, a pair of a Real
/// and
///   Bits, or compute(x) where the condition holds, which costs nothing
///   elsewhere;
/// - approximate(function, x), the hardware's; isLog2RelativelyAccurate(x),
///   whether the error of its log2 is a small part of its result where that is
///   near 0 as well;
/// - isApproximate(x), where the flag `afn` is there: errors of exp grow with
///   its argument, those of the others are small beside 1, not beside a result
///   near 0, and subnormal numbers count as 0;
/// - isPortable(x): multiply-adds, correctly rounded division and roots take
/// the
///   place of the hardware's functions, so that results are the same on every
///   chip (docs/numerics.md).
namespace lnbwd::expansions {

enum class Function { Exp2, Log2, Reciprocal, ReciprocalRoot, Root };

//===----------------------------------------------------------------------===//
// Numbers in the place of operands
//===----------------------------------------------------------------------===//

template <typename Real>
Real fma(Real x, typename Real::Number factor, Real y) {
  return fma(x, x.like(factor), y);
}
/// A NaN becomes any number from low to high.
template <typename Real> Real clamp(Real x, double low, double high) {
  Real most = x.like(high);
  return minNum(maxNum(x, x.like(low)), most);
}

/// The polynomial with these coefficients, the highest first.
template <typename Real>
Real horner(Real x, std::initializer_list<double> coefficients) {
  const double *next = coefficients.begin();
  Real result = x.like(*next++);
  for (; next != coefficients.end(); ++next)
    result = fma(result, x, x.like(*next));
  return result;
}

//===----------------------------------------------------------------------===//
// The hardware's functions, or others in their place
//===----------------------------------------------------------------------===//

/// Numbers below 2^22 are whole when they are added to it.
constexpr double roundingMagic = 0x1.8p23;

/// x = n + f with f from -1/2 to 1/2: 2^f by a polynomial, times 2^n in two
/// factors, neither of which is subnormal.
template <typename Real> Real exp2(Real x) {
  if (!isPortable(x))
    return approximate(Function::Exp2, x);
  using Bits = typename Real::Bits;
  Real bounded = clamp(x, -152, 130);
  Real magic = x.like(roundingMagic);
  Real shifted = bounded + magic;
  Real f = bounded - (shifted - magic);
  Real p =
      horner(f, {0x1.417a9ep-13, 0x1.5f0948p-10, 0x1.3b2dd2p-7, 0x1.c6af7ap-5,
                 0x1.ebfbdcp-3, 0x1.62e430p-1, 0x1.000000p+0});
  // n + 256; the exponents of the factors' bits are each half's, less 1.
  Bits shiftedBits = toBits(shifted);
  Bits n = shiftedBits - toBits(magic) + 256;
  Bits half = n >> 1;
  Bits rest = n - half;
  Real first = fromBits((half - 1) << 23);
  Real second = fromBits((rest - 1) << 23);
  Real result = p * first * second;
  return select(isNaN(x), x, result);
}

/// If portable, only of numbers without an ordinary logarithm, which has a
/// polynomial: 0, infinity, negative numbers, NaN.
template <typename Real> Real approximateLog2(Real x) {
  if (!isPortable(x))
    return approximate(Function::Log2, x);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Real zero = x.like(0);
  Real nan = x.like(std::numeric_limits<double>::quiet_NaN());
  auto isZero = (toBits(x) & 0x7fffffff) < 1;
  Real ofZero = x.like(-infinity);
  return select(isZero, ofZero, select(x < zero, nan, x));
}

template <typename Real> Real reciprocal(Real x) {
  return isPortable(x) ? 1 / x : approximate(Function::Reciprocal, x);
}
template <typename Real> Real approximateSqrt(Real x) {
  return isPortable(x) ? roundedSqrt(x) : approximate(Function::Root, x);
}
template <typename Real> Real approximateRsqrt(Real x) {
  return isPortable(x) ? 1 / roundedSqrt(x)
                       : approximate(Function::ReciprocalRoot, x);
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

constexpr double log2E = 1.4426950408889634;
constexpr double log2EHigh = 0x1.715476p+0;
constexpr double log2ELow = 0x1.4ae0c0p-26;
constexpr double ln2 = 0x1.62e430p-1;

/// 2^(sum + error), of which the error is small beside the sum. The
/// power of an infinite sum is no NaN, though the error may be one.
template <typename Real> Real exp2OfSum(Real sum, Real error) {
  error = clamp(error, -0x1p-8, 0x1p-8);
  Real one = sum.like(1);
  Real factor = fma(error, ln2, one);
  return exp2(sum) * factor;
}

/// 2^(x log2 e), where the product's rounding error, up to a hundred-
/// thousandth of the result, is not lost.
template <typename Real> Real exp(Real x) {
  Real high = x.like(log2EHigh);
  Real product = x * high;
  if (isApproximate(x))
    return exp2(product);
  Real error = fma(x, high, -product);
  error = fma(x, log2ELow, error);
  return exp2OfSum(product, error);
}

/// Below 1/2 x + x^2 q(x), which keeps what the subtraction would lose.
template <typename Real> Real expm1(Real x) {
  if (isApproximate(x))
    return exp(x) - 1;
  Real q = horner(x, {0x1.a53e36p-13, 0x1.6f4a6ep-10, 0x1.110d08p-7,
                      0x1.5551bep-5, 0x1.555558p-3, 0x1.000002p-1});
  Real small = fma(x * x, q, x);
  Real large = exp(x) - 1;
  return select(abs(x) < 0.5, small, large);
}

template <typename Real> struct Scaled {
  Real value;
  typename Real::Condition isSmall;
};
/// A positive subnormal times 2^24, which is none, and whether it is that, or
/// negative.
template <typename Real> Scaled<Real> scaleUp(Real x) {
  auto isSmall = x < 0x1p-126;
  Real one = x.like(1);
  Real scale = select(isSmall, x.like(0x1p24), one);
  return {x * scale, isSmall};
}

template <typename Real> struct SplitLogarithm {
  /// log x = exponent ln 2 + logarithm, |logarithm| < 0.41, where x is
  /// `isOrdinary`: positive and finite.
  Real exponent, logarithm;
  typename Real::Condition isOrdinary;
  /// x, or x times 2^24.
  Real scaled;
};
/// x = m 2^k with m from 2/3 to 4/3, log m by a polynomial.
template <typename Real> SplitLogarithm<Real> splitLogarithm(Real x) {
  using Bits = typename Real::Bits;
  auto [scaled, isSmall] = scaleUp(x);
  Bits bits = toBits(scaled);
  Bits shift = (bits - 0x3f2aaaab) & 0xff800000;
  Real zero = x.like(0);
  Real scaleExponent = select(isSmall, x.like(-24), zero);
  Real unit = x.like(0x1p-23);
  Real k = fma(toReal(shift), unit, scaleExponent);
  Real f = fromBits(bits - shift) - 1;
  Real q = horner(f, {-0x1.07c876p-3, 0x1.1e678cp-3, -0x1.f332fep-4,
                      0x1.1ed662p-3, -0x1.559c44p-3, 0x1.99d044p-3,
                      -0x1.fffefcp-3, 0x1.555506p-2, -0x1.000000p-1});
  Real logarithm = fma(f * f, q, f);
  auto isOrdinary = bits - 0x00800000 < 0x7f000000;
  return {k, logarithm, isOrdinary, scaled};
}

/// log x over log of the base; `ofTwo` is that of 2, `ofE` that of e.
template <typename Real> Real logarithm(Real x, double ofTwo, double ofE) {
  if (isApproximate(x))
    return ofTwo == 1 ? approximateLog2(x) : approximateLog2(x) * ofTwo;
  if (!isPortable(x) && isLog2RelativelyAccurate(x)) {
    auto [scaled, isSmall] = scaleUp(x);
    Real zero = x.like(0);
    Real offset = select(isSmall, x.like(-24 * ofTwo), zero);
    Real log2 = approximateLog2(scaled);
    return ofTwo == 1 ? log2 + offset : fma(log2, ofTwo, offset);
  }
  SplitLogarithm<Real> split = splitLogarithm(x);
  Real sum = ofE == 1 ? fma(split.exponent, ofTwo, split.logarithm)
                      : fma(split.logarithm, ofE, split.exponent);
  // The ends are the hardware's: 0, infinity, negative numbers, NaN.
  return select(split.isOrdinary, sum, approximateLog2(split.scaled));
}
template <typename Real> Real log(Real x) { return logarithm(x, ln2, 1); }
template <typename Real> Real log2(Real x) {
  return logarithm(x, 1, log2EHigh);
}

/// With u the rounded 1 + x, log u + (1 + x - u) / u. The second term is
/// never larger than half a unit of u's last place beside u; where it is NaN,
/// at -1 and infinity, the first is infinite.
template <typename Real> Real log1p(Real x) {
  Real one = x.like(1);
  Real u = x + one;
  if (isApproximate(x))
    return log(u);
  Real lost = x - (u - one);
  Real term = clamp(lost * reciprocal(u), -0x1p-23, 0x1p-23);
  return log(u) + term;
}

/// Sign and 1 - 2 / (e^(2|x|) + 1); near 0, where that would cancel, x + x
/// s p(s) with s = x^2.
template <typename Real> Real tanh(Real x) {
  Real magnitude = abs(x);
  Real power = exp2(magnitude * (2 * log2E));
  Real one = x.like(1);
  Real minusTwo = x.like(-2);
  Real large = fma(reciprocal(power + one), minusTwo, one);
  large = copySign(large, x);
  if (isApproximate(x))
    return large;
  Real s = x * x;
  Real p =
      horner(s, {0x1.0d5176p-6, -0x1.af7d36p-5, 0x1.10cefcp-3, -0x1.555452p-2});
  Real small = fma(s * p, x, x);
  return select(magnitude < 0.55, small, large);
}

/// Sign and 1 - 2^(t q(t)), with t = |x| and t q(t) = log2 erfc t up to 4,
/// beyond which erf is 1 in float32; near 0 x + x p(x^2).
template <typename Real> Real erf(Real x) {
  Real magnitude = abs(x);
  Real four = x.like(4);
  if (isApproximate(x)) {
    Real q = horner(minNum(magnitude, four),
                    {0x1.29aef4p-13, -0x1.e03802p-9, 0x1.fa3014p-6,
                     -0x1.329536p-3, -0x1.d619d2p-1, -0x1.a0bfb2p+0});
    // Not the bounded magnitude: a NaN has to come through.
    return copySign(1 - exp2(magnitude * q), x);
  }
  Real t = min(magnitude, four);
  Real q = horner(t, {0x1.3f05c2p-12, -0x1.2e4b30p-8, 0x1.0e1b94p-5,
                      -0x1.36ee2ep-3, -0x1.d594f6p-1, -0x1.a0cb9cp+0});
  Real large = copySign(1 - exp2(t * q), x);
  Real p = horner(x * x, {0x1.209abcp-8, -0x1.b35feap-6, 0x1.ce01c6p-4,
                          -0x1.8126b2p-2, 0x1.06eba6p-3});
  Real small = fma(p, x, x);
  // A NaN goes through the polynomial.
  return select(lessOrNaN(magnitude, x.like(0.65)), small, large);
}

//===----------------------------------------------------------------------===//
// Sine and cosine
//===----------------------------------------------------------------------===//

/// |x| = radians + quarters pi / 2, with radians from -1 to 1 and quarters
/// modulo 4.
template <typename Real> using Angle = std::pair<Real, typename Real::Bits>;

constexpr double twoPiHigh = 0x1.921fb6p+2;
constexpr double twoPiLow = -0x1.777a5cp-23;
/// Up to this magnitude reduceModerate() is as good as reduceLarge().
constexpr double moderateAngle = 0x1p17;

/// Cody and Waite's reduction: of pi / 2 a first part whose product with a
/// number of quarters is subtracted without an error, as there are 23 bits of
/// it, and two more. NaN for infinity and NaN.
template <typename Real> Angle<Real> reduceModerate(Real magnitude) {
  Real magic = magnitude.like(roundingMagic);
  Real shifted = fma(magnitude, 0x1.45f306p-1, magic);
  Real count = shifted - magic;
  Real radians = magnitude;
  for (double part : {0x1.921fb4p+0, 0x1.4442d2p-24, -0x1.ee59dap-50})
    radians = fma(count, -part, radians);
  return {radians, toBits(shifted)};
}

/// Payne and Hanek's reduction, of 1 and more: of x / (2 pi) 58 bits after
/// the binary point, without the whole turns. A float32's is never
/// below 2^-32 turns, of which 2^-57 is a small part.
template <typename Real> Angle<Real> reduceLarge(Real magnitude) {
  using Bits = typename Real::Bits;
  Bits bits = toBits(magnitude);
  // x = 2^(e - 31) mantissa with e from 0 to 127; distance is 127 - e in its
  // upper bits. Of 1 / (2 pi) the 96 bits from bit e + 1 on are needed.
  Bits mantissa = (bits << 8) | 0x80000000;
  Bits distance = 0x7f7fffff - bits;
  // 32 zeros, and the digits of 1 / (2 pi) after the binary point.
  Bits words[7] = {bits.like(0),          bits.like(0x28be60db),
                   bits.like(0x9391054a), bits.like(0x7f09d5f4),
                   bits.like(0x7d4d3770), bits.like(0x36d8a566),
                   bits.like(0x4f10e410)};
  auto isFrom64 = (distance & 0x20000000) < 1;
  for (unsigned i = 0; i < 5; ++i)
    words[i] = select(isFrom64, words[i + 2], words[i]);
  auto isFrom32 = (distance & 0x10000000) < 1;
  for (unsigned i = 0; i < 4; ++i)
    words[i] = select(isFrom32, words[i + 1], words[i]);
  Bits count = distance >> 23;
  for (unsigned i = 0; i < 3; ++i)
    words[i] = funnelShift(words[i], words[i + 1], count);

  // Turns are the product modulo 2^96.
  Bits carried = mulHigh(mantissa, words[2]);
  Bits low = mantissa * words[1] + carried;
  auto hasCarry = low < carried;
  Bits one = bits.like(1);
  Bits carry = select(hasCarry, one, bits.like(0));
  Bits high = mantissa * words[0] + carry;
  high = high + mulHigh(mantissa, words[1]);
  // The nearest quarter, and what is left: the upper half as the nearest
  // multiple of 64, and 32 bits with their sign that this leaves out.
  Bits shifted = high + 0x20000000;
  Bits quarters = shifted >> 30;
  Bits rest = (shifted & 0x3fffffff) - 0x20000000;
  Bits upper = rest + 32;
  Real most = toReal(upper & 0xffffffc0);
  Real least = toReal(funnelShift(rest, low, rest.like(6)));
  Real radians = least * (twoPiHigh * 0x1p-58);
  radians = fma(most, twoPiLow * 0x1p-32, radians);
  radians = fma(most, twoPiHigh * 0x1p-32, radians);
  // NaN for infinity, and 0 for other numbers.
  radians = radians + (magnitude - magnitude);
  return {radians, quarters};
}

/// The angle that sin and cos of x share. No error grows with x. `afn`
/// changes nothing.
template <typename Real> Angle<Real> reduceAngle(Real x) {
  Real magnitude = abs(x);
  Angle<Real> moderate = reduceModerate(magnitude);
  auto isLarge = moderateAngle < magnitude;
  return whereRare(
      isLarge, magnitude, [](Real large) { return reduceLarge(large); },
      moderate);
}

/// The sine of `angle` with the sign that is bit 31 of `sign`: that of the
/// radians, or in odd quarters their cosine.
template <typename Real>
Real sine(const Angle<Real> &angle, typename Real::Bits sign) {
  auto [r, quarters] = angle;
  Real s = r * r;
  Real odd = horner(
      s, {0x1.6de9f6p-19, -0x1.a01ffep-13, 0x1.11113ep-7, -0x1.555556p-3});
  odd = fma(r * s, odd, r);
  Real even = horner(s, {0x1.960924p-16, -0x1.6bfaa0p-10, 0x1.555524p-5,
                         -0x1.000000p-1, 0x1.000000p+0});
  auto isEven = (quarters & 1) < 1;
  auto bits = toBits(select(isEven, odd, even));
  return fromBits(bits ^ (sign & 0x80000000));
}

template <typename Real> Real sin(Real x, const Angle<Real> &angle) {
  auto sign = toBits(x);
  return sine(angle, sign ^ (angle.second << 30));
}

/// sin(|x| + pi / 2)
template <typename Real> Real cos(Angle<Real> angle) {
  angle.second = angle.second + 1;
  return sine(angle, angle.second << 30);
}

//===----------------------------------------------------------------------===//
// Roots, quotients and powers
//===----------------------------------------------------------------------===//

template <typename Real> Real sqrt(Real x) {
  if (isApproximate(x))
    return approximateSqrt(x);
  auto [scaled, isSmall] = scaleUp(x);
  Real one = x.like(1);
  Real unscale = select(isSmall, x.like(0x1p-12), one);
  return approximateSqrt(scaled) * unscale;
}

template <typename Real> Real rsqrt(Real x) {
  if (isApproximate(x))
    return approximateRsqrt(x);
  auto [scaled, isSmall] = scaleUp(x);
  Real one = x.like(1);
  Real unscale = select(isSmall, x.like(0x1p12), one);
  return approximateRsqrt(scaled) * unscale;
}

/// x / y for y from 2^-126 to less than 2^126; a smaller one is as 0, a
/// larger one as infinity.
template <typename Real> Real quotient(Real x, Real y) {
  return x * reciprocal(y);
}

/// x / y, rounded once, without a branch: an approximate reciprocal, and by
/// Markstein's method what it leaves. Of finite numbers those with y from
/// 2^-126 to 2^126, x from 2^-60 on and a quotient that is neither subnormal
/// nor infinite. On NVIDIA, whose own division has these steps and a branch
/// to others.
template <typename Real> Real roundedQuotient(Real x, Real y) {
  Real one = y.like(1);
  Real near = approximate(Function::Reciprocal, y), minus = -y;
  Real inverse = fma(near, fma(minus, near, one), near);
  Real rough = x * inverse;
  Real result = fma(inverse, fma(minus, rough, x), rough);
  // For 0, infinity and NaN the approximation is right, and the rest is NaN.
  auto isSpecial = isNaN(result);
  return select(isSpecial, x * near, result);
}

/// x to the power of a whole number, by squaring.
template <typename Real> Real powi(Real x, int64_t exponent) {
  auto rest = uint64_t(std::llabs(exponent));
  if (rest == 0)
    return x.like(1);
  Real square = x, result = x;
  for (bool isFirst = true;; square = square * square) {
    if (rest & 1) {
      result = isFirst ? square : result * square;
      isFirst = false;
    }
    rest >>= 1;
    if (rest == 0)
      break;
  }
  if (exponent > 0)
    return result;
  return isApproximate(x) ? reciprocal(result) : 1 / result;
}

/// The largest exponent that is no whole number for which pow multiplies.
constexpr double mostMultiplied = 8;

/// x to the power of a constant: by multiplications where it is whole, which
/// keep the sign, and with a root where it is a multiple of 1/2 up to
/// `mostMultiplied`, else 2^(exponent log2 x), where the product is kept in
/// two parts.
template <typename Real> Real pow(Real x, float exponent) {
  // All powers with a larger exponent are 0, 1 or infinite.
  constexpr double bound = 0x1p62;
  double number = std::fmax(-bound, std::fmin(double(exponent), bound));
  if (number == std::nearbyint(number))
    return powi(x, int64_t(number));
  double doubled = 2 * number;
  if (std::fabs(doubled) <= 2 * mostMultiplied &&
      doubled == std::nearbyint(doubled)) {
    auto halves = int64_t(doubled);
    // Roots keep the sign of -0, and powers do not.
    x = x + 0;
    if (halves == 1)
      return sqrt(x);
    if (halves < 0)
      return powi(rsqrt(x), -halves);
    Real root = sqrt(x);
    return powi(x, halves / 2) * root;
  }
  if (isApproximate(x))
    return exp2(approximateLog2(x) * exponent);
  SplitLogarithm<Real> split = splitLogarithm(x);
  double factor = double(exponent) * log2E;
  auto factorHigh = float(factor);
  Real c = x.like(exponent);
  Real high = x.like(factorHigh);
  Real whole = c * split.exponent;
  Real wholeError = fma(c, split.exponent, -whole);
  Real sum = fma(high, split.logarithm, whole);
  Real error = fma(high, split.logarithm, whole - sum);
  error = fma(x.like(factor - double(factorHigh)), split.logarithm, error);
  error = error + wholeError;
  Real end = c * approximateLog2(split.scaled);
  return exp2OfSum(select(split.isOrdinary, sum, end), error);
}

} // namespace lnbwd::expansions

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_MATHEXPANSIONS_H
