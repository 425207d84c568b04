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

#include "PortableBuilder.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <utility>

namespace lnbwd {

/// The expansions over `Builder`, in an order of operations that is the same
/// with every compiler: no more than one argument of a call is built in its
/// place. `Builder` has
///
/// - the types Value (float32, or a vector of such), Condition and Bits (the
///   bits of a Value as 32-bit integers);
/// - constant(double), which rounds to float32; add, sub, mul, div, fma, all
///   rounded once; abs; copySign(magnitude, sign);
/// - less(a, b), false for NaN; lessOrNaN(a, b), true for NaN;
///   select(condition, a, b);
/// - clamp(a, low, high), of which a NaN makes any number from low to high;
///   min(a, b), whose result may not be used where a is NaN, and minNum(a, b),
///   then b;
/// - bitsConstant(number), toBits, fromBits, addBits(bits, bits),
///   subBits(bits, number or bits), andBits(bits, number), orBits(bits,
///   number), xorBits(bits, bits), shiftLeft(bits, number), shiftRight(bits,
///   number), which brings zeros in, mulBits and mulHighBits, the low and the
///   high half of an unsigned product, funnelShift(high, low, count), the low
///   half of both shifted right by count modulo 32, selectBits(condition, a,
///   b), toNumber(bits), which converts a signed integer, and lessBits(bits,
///   number or bits), unsigned;
/// - whereRare(condition, x, compute, value, bits), the pair of the last two,
///   or compute(x) where the condition holds, which costs nothing elsewhere;
/// - the hardware's exp2, log2, rcp, rsqrt and sqrt; and
///   isLog2RelativelyAccurate(), whether the error of log2 is a small part of
///   its result where that is near 0 as well.
template <typename Builder> class MathExpansions {
public:
  using Value = typename Builder::Value;
  using Condition = typename Builder::Condition;
  using Bits = typename Builder::Bits;

  /// With `isApproximate`, where the flag `afn` is there, errors of exp grow
  /// with its argument, those of the others are small beside 1, not beside a
  /// result near 0, and subnormal numbers count as 0.
  explicit MathExpansions(Builder &builder, bool isApproximate = false)
      : b(builder), isApproximate(isApproximate) {}

  Value exp2(Value x) { return b.exp2(x); }

  /// 2^(x log2 e), where the product's rounding error, up to a hundred-
  /// thousandth of the result, is not lost.
  Value exp(Value x) {
    Value high = b.constant(log2EHigh);
    Value product = b.mul(x, high);
    if (isApproximate)
      return b.exp2(product);
    Value error = b.fma(x, high, b.neg(product));
    error = b.fma(x, b.constant(log2ELow), error);
    return exp2OfSum(product, error);
  }

  /// Below 1/2 x + x^2 q(x), which keeps what the subtraction would lose.
  Value expm1(Value x) {
    if (isApproximate) {
      Value one = b.constant(1);
      return b.sub(exp(x), one);
    }
    Value q = horner(x, {0x1.a53e36p-13, 0x1.6f4a6ep-10, 0x1.110d08p-7,
                         0x1.5551bep-5, 0x1.555558p-3, 0x1.000002p-1});
    Value small = b.fma(b.mul(x, x), q, x);
    Value one = b.constant(1);
    Value large = b.sub(exp(x), one);
    Value limit = b.constant(0.5);
    return b.select(b.less(b.abs(x), limit), small, large);
  }

  Value log(Value x) { return logarithm(x, ln2, 1); }
  Value log2(Value x) { return logarithm(x, 1, log2EHigh); }

  /// With u the rounded 1 + x, log u + (1 + x - u) / u. The second term is
  /// never larger than half a unit of u's last place beside u; where it is NaN,
  /// at -1 and infinity, the first is infinite.
  Value log1p(Value x) {
    Value one = b.constant(1);
    Value u = b.add(x, one);
    if (isApproximate)
      return log(u);
    Value lost = b.sub(x, b.sub(u, one));
    Value term = b.clamp(b.mul(lost, b.rcp(u)), -0x1p-23, 0x1p-23);
    return b.add(log(u), term);
  }

  /// Sign and 1 - 2 / (e^(2|x|) + 1); near 0, where that would cancel, x + x
  /// s p(s) with s = x^2.
  Value tanh(Value x) {
    Value magnitude = b.abs(x);
    Value power = b.exp2(b.mul(magnitude, b.constant(2 * log2E)));
    Value one = b.constant(1);
    Value minusTwo = b.constant(-2);
    Value large = b.fma(b.rcp(b.add(power, one)), minusTwo, one);
    large = b.copySign(large, x);
    if (isApproximate)
      return large;
    Value s = b.mul(x, x);
    Value p = horner(
        s, {0x1.0d5176p-6, -0x1.af7d36p-5, 0x1.10cefcp-3, -0x1.555452p-2});
    Value small = b.fma(b.mul(s, p), x, x);
    return b.select(b.less(magnitude, b.constant(0.55)), small, large);
  }

  /// Sign and 1 - 2^(t q(t)), with t = |x| and t q(t) = log2 erfc t up to 4,
  /// beyond which erf is 1 in float32; near 0 x + x p(x^2).
  Value erf(Value x) {
    Value magnitude = b.abs(x);
    Value four = b.constant(4);
    if (isApproximate) {
      Value t = b.minNum(magnitude, four);
      Value q = horner(t, {0x1.29aef4p-13, -0x1.e03802p-9, 0x1.fa3014p-6,
                           -0x1.329536p-3, -0x1.d619d2p-1, -0x1.a0bfb2p+0});
      // Not t: a NaN has to come through.
      Value power = b.exp2(b.mul(magnitude, q));
      return b.copySign(b.sub(b.constant(1), power), x);
    }
    Value t = b.min(magnitude, four);
    Value q = horner(t, {0x1.3f05c2p-12, -0x1.2e4b30p-8, 0x1.0e1b94p-5,
                         -0x1.36ee2ep-3, -0x1.d594f6p-1, -0x1.a0cb9cp+0});
    Value power = b.exp2(b.mul(t, q));
    Value large = b.sub(b.constant(1), power);
    large = b.copySign(large, x);
    Value p = horner(b.mul(x, x), {0x1.209abcp-8, -0x1.b35feap-6, 0x1.ce01c6p-4,
                                   -0x1.8126b2p-2, 0x1.06eba6p-3});
    Value small = b.fma(p, x, x);
    // A NaN goes through the polynomial.
    return b.select(b.lessOrNaN(magnitude, b.constant(0.65)), small, large);
  }

  struct Angle {
    /// |x| = radians + quarters pi / 2, with radians from -1 to 1 and quarters
    /// modulo 4.
    Value radians;
    Bits quarters;
  };
  /// What sin and cos of x share. Of any size: no error grows with x. `afn`
  /// changes nothing.
  Angle reduceAngle(Value x) {
    Value magnitude = b.abs(x);
    auto [radians, quarters] = reduceModerate(magnitude);
    Condition isLarge = b.less(b.constant(moderateAngle), magnitude);
    auto [anyRadians, anyQuarters] = b.whereRare(
        isLarge, magnitude, [&](Value large) { return reduceLarge(large); },
        radians, quarters);
    return {anyRadians, anyQuarters};
  }

  Value sin(Value x, const Angle &angle) {
    Bits sign = b.toBits(x);
    return sine(angle, b.xorBits(sign, b.shiftLeft(angle.quarters, 30)));
  }
  Value sin(Value x) { return sin(x, reduceAngle(x)); }

  /// sin(|x| + pi / 2)
  Value cos(Angle angle) {
    angle.quarters = b.addBits(angle.quarters, b.bitsConstant(1));
    return sine(angle, b.shiftLeft(angle.quarters, 30));
  }
  Value cos(Value x) { return cos(reduceAngle(x)); }

  Value sqrt(Value x) {
    if (isApproximate)
      return b.sqrt(x);
    auto [scaled, isSmall] = scaleUp(x);
    Value one = b.constant(1);
    Value unscale = b.select(isSmall, b.constant(0x1p-12), one);
    return b.mul(b.sqrt(scaled), unscale);
  }

  Value rsqrt(Value x) {
    if (isApproximate)
      return b.rsqrt(x);
    auto [scaled, isSmall] = scaleUp(x);
    Value one = b.constant(1);
    Value unscale = b.select(isSmall, b.constant(0x1p12), one);
    return b.mul(b.rsqrt(scaled), unscale);
  }

  /// x / y for y from 2^-126 to less than 2^126; a smaller one is as 0, a
  /// larger one as infinity.
  Value quotient(Value x, Value y) { return b.mul(x, b.rcp(y)); }

  /// x / y, rounded once, without a branch: an approximate reciprocal, and by
  /// Markstein's method what it leaves. Of finite numbers those with y from
  /// 2^-126 to 2^126, x from 2^-60 on and a quotient that is neither subnormal
  /// nor infinite. On NVIDIA, whose own division has these steps and a branch
  /// to others.
  Value roundedQuotient(Value x, Value y) {
    Value one = b.constant(1);
    Value near = b.rcp(y), minus = b.neg(y);
    Value reciprocal = b.fma(near, b.fma(minus, near, one), near);
    Value rough = b.mul(x, reciprocal);
    Value result = b.fma(reciprocal, b.fma(minus, rough, x), rough);
    // Of 0, infinity and NaN the approximation is right, and what it leaves
    // NaN.
    return b.select(b.isNaN(result), b.mul(x, near), result);
  }

  /// x to the power of a whole number, by squaring.
  Value powi(Value x, int64_t exponent) {
    uint64_t rest = uint64_t(std::llabs(exponent));
    if (rest == 0)
      return b.constant(1);
    Value square = x, result = x;
    for (bool isFirst = true;; square = b.mul(square, square)) {
      if (rest & 1) {
        result = isFirst ? square : b.mul(result, square);
        isFirst = false;
      }
      rest >>= 1;
      if (rest == 0)
        break;
    }
    if (exponent > 0)
      return result;
    return isApproximate ? b.rcp(result) : b.div(b.constant(1), result);
  }

  /// x to the power of a constant: by multiplications where it is whole, which
  /// keep the sign, and with a root where it is a multiple of 1/2 up to
  /// `mostMultiplied`, else 2^(exponent log2 x), where the product is kept in
  /// two parts.
  Value pow(Value x, float exponent) {
    // Of a larger exponent all powers are 0, 1 or infinite.
    constexpr double most = 0x1p62;
    double number = std::fmax(-most, std::fmin(double(exponent), most));
    if (number == std::nearbyint(number))
      return powi(x, int64_t(number));
    double doubled = 2 * number;
    if (std::fabs(doubled) <= 2 * mostMultiplied &&
        doubled == std::nearbyint(doubled)) {
      auto halves = int64_t(doubled);
      // Roots keep the sign of -0, and powers do not.
      x = b.add(x, b.constant(0));
      if (halves == 1)
        return sqrt(x);
      if (halves < 0)
        return powi(rsqrt(x), -halves);
      Value root = sqrt(x);
      return b.mul(powi(x, halves / 2), root);
    }
    if (isApproximate) {
      Value factor = b.constant(exponent);
      return b.exp2(b.mul(b.log2(x), factor));
    }
    Split split = splitLogarithm(x);
    double factor = double(exponent) * log2E;
    auto factorHigh = float(factor);
    Value c = b.constant(exponent);
    Value high = b.constant(factorHigh);
    Value whole = b.mul(c, split.exponent);
    Value wholeError = b.fma(c, split.exponent, b.neg(whole));
    Value sum = b.fma(high, split.logarithm, whole);
    Value error = b.fma(high, split.logarithm, b.sub(whole, sum));
    error =
        b.fma(b.constant(factor - double(factorHigh)), split.logarithm, error);
    error = b.add(error, wholeError);
    Value end = b.mul(c, b.log2(split.scaled));
    return exp2OfSum(b.select(split.isOrdinary, sum, end), error);
  }

  /// A float format of 8 bits: bits of the fraction, bias of the exponent, and
  /// the bits of the largest number. Where these are all, -0 is NaN.
  struct Float8 {
    uint32_t fraction, bias, largest;
    bool hasOneZero() const { return largest == 0x7f; }
    uint32_t shift() const { return 23 - fraction; }
  };

  /// The number whose bits are `code`, from 0 to 255.
  Value fromFloat8(Bits code, Float8 format) {
    // Exponents are off by the difference of the biases.
    Bits magnitude = b.andBits(code, 0x7f);
    Bits moved = b.shiftLeft(magnitude, format.shift());
    Value factor = b.constant(std::ldexp(1, 127 - int(format.bias)));
    Bits number = b.toBits(b.mul(b.fromBits(moved), factor));
    // Not of the byte itself: LLVM 22's selection for gfx11 would not end.
    Condition isSpecial =
        format.hasOneZero()
            ? b.lessBits(b.subBits(code, 0x80), 1)
            : b.lessBits(b.bitsConstant(format.largest << format.shift()),
                         moved);
    Bits special =
        b.orBits(moved, format.hasOneZero() ? 0x7fc00000 : 0x7f800000);
    number = b.selectBits(isSpecial, special, number);
    Bits sign = b.shiftLeft(b.andBits(code, 0x80), 24);
    return b.fromBits(b.xorBits(number, sign));
  }

  /// The bits of the nearest number, of the even one in the middle of two.
  Bits toFloat8(Value x, Float8 format) {
    uint32_t shift = format.shift();
    Value magnitude = b.abs(x);
    Value most = b.fromBits(b.bitsConstant((format.largest << shift) +
                                           ((127 - format.bias) << 23)));
    Value size = b.minNum(magnitude, most);
    Bits bits = b.toBits(size);
    Bits odd = b.andBits(b.shiftRight(bits, shift), 1);
    uint32_t almostHalf = (1U << (shift - 1)) - 1;
    Bits bias = b.bitsConstant(almostHalf - ((127 - format.bias) << 23));
    Bits normal = b.shiftRight(b.addBits(b.addBits(bits, odd), bias), shift);
    // The sum's last bit is worth the smallest subnormal number.
    uint32_t unit = (128 - format.bias + shift) << 23;
    Value sum = b.add(size, b.fromBits(b.bitsConstant(unit)));
    Bits subnormal = b.subBits(b.toBits(sum), unit);
    Condition isSmall = b.lessBits(bits, (128 - format.bias) << 23);
    Bits code = b.selectBits(isSmall, subnormal, normal);
    Bits sign = b.andBits(b.shiftRight(b.toBits(x), 24), 0x80);
    Bits number = b.xorBits(code, sign), nan = b.orBits(sign, 0x7f);
    if (format.hasOneZero()) {
      number = b.selectBits(b.lessBits(code, 1), code, number);
      nan = b.bitsConstant(0x80);
    }
    Condition isNaN =
        b.lessBits(b.bitsConstant(0x7f800000), b.toBits(magnitude));
    return b.selectBits(isNaN, nan, number);
  }

  /// The power of two whose exponent is `code` less 127; NaN of 255.
  Value fromExponent(Bits code) {
    // Of 0 it is subnormal.
    Condition isOrdinary = b.lessBits(b.subBits(code, 1), 254);
    Bits none = b.bitsConstant(0);
    Bits fraction = b.selectBits(isOrdinary, none, b.bitsConstant(0x400000));
    return b.fromBits(b.xorBits(b.shiftLeft(code, 23), fraction));
  }

  /// The exponent of x, whatever its fraction and sign.
  Bits toExponent(Value x) {
    return b.andBits(b.shiftRight(b.toBits(x), 23), 0xff);
  }

  /// The first word of Philox4x32-10 (Salmon et al., "Parallel random numbers:
  /// as easy as 1, 2, 3", 2011).
  Bits philox(std::array<Bits, 4> counter, std::array<Bits, 2> key) {
    Bits first = b.bitsConstant(0xD2511F53),
         second = b.bitsConstant(0xCD9E8D57);
    Bits step = b.bitsConstant(0x9E3779B9), other = b.bitsConstant(0xBB67AE85);
    for (int round = 0; round < 10; ++round) {
      Bits even = counter[0], odd = counter[2];
      Bits high = b.mulHighBits(odd, second);
      counter[0] = b.xorBits(b.xorBits(high, counter[1]), key[0]);
      counter[1] = b.mulBits(odd, second);
      high = b.mulHighBits(even, first);
      counter[2] = b.xorBits(b.xorBits(high, counter[3]), key[1]);
      counter[3] = b.mulBits(even, first);
      key = {b.addBits(key[0], step), b.addBits(key[1], other)};
    }
    return counter[0];
  }

  /// The largest exponent that is no whole number for which pow multiplies.
  static constexpr double mostMultiplied = 8;

private:
  static constexpr double log2E = 1.4426950408889634;
  static constexpr double log2EHigh = 0x1.715476p+0;
  static constexpr double log2ELow = 0x1.4ae0c0p-26;
  static constexpr double ln2 = 0x1.62e430p-1;
  static constexpr double twoPiHigh = 0x1.921fb6p+2;
  static constexpr double twoPiLow = -0x1.777a5cp-23;

  /// The polynomial with these coefficients, the highest first.
  Value horner(Value x, std::initializer_list<double> coefficients) {
    const double *next = coefficients.begin();
    Value result = b.constant(*next++);
    for (; next != coefficients.end(); ++next)
      result = b.fma(result, x, b.constant(*next));
    return result;
  }

  /// 2^(sum + error), of which the error is small beside the sum. Where the
  /// sum is infinite, the error, which may be NaN then, only must not be.
  Value exp2OfSum(Value sum, Value error) {
    error = b.clamp(error, -0x1p-8, 0x1p-8);
    Value one = b.constant(1);
    Value factor = b.fma(error, b.constant(ln2), one);
    return b.mul(b.exp2(sum), factor);
  }

  /// Up to this magnitude reduceModerate() is as good as reduceLarge().
  static constexpr double moderateAngle = 0x1p17;

  /// Cody and Waite's reduction: of pi / 2 a first part whose product with a
  /// number of quarters is subtracted without an error, as there are 23 bits of
  /// it, and two more. NaN for infinity and NaN.
  std::pair<Value, Bits> reduceModerate(Value magnitude) {
    Value magic = b.constant(roundingMagic);
    Value shifted = b.fma(magnitude, b.constant(0x1.45f306p-1), magic);
    Value count = b.sub(shifted, magic);
    Value radians = magnitude;
    for (double part : {0x1.921fb4p+0, 0x1.4442d2p-24, -0x1.ee59dap-50})
      radians = b.fma(count, b.constant(-part), radians);
    return {radians, b.toBits(shifted)};
  }

  /// Payne and Hanek's reduction, of 1 and more: of x / (2 pi) 58 bits after
  /// the binary point, without the whole turns. That of a float32 is never
  /// below 2^-32 turns, of which 2^-57 is a small part.
  std::pair<Value, Bits> reduceLarge(Value magnitude) {
    Bits bits = b.toBits(magnitude);
    // x = 2^(e - 31) mantissa with e from 0 to 127; distance is 127 - e in its
    // upper bits. Of 1 / (2 pi) the 96 bits from bit e + 1 on are needed.
    Bits mantissa = b.orBits(b.shiftLeft(bits, 8), 0x80000000);
    Bits distance = b.subBits(b.bitsConstant(0x7f7fffff), bits);
    // 32 zeros, and the digits of 1 / (2 pi) after the binary point.
    Bits words[7] = {b.bitsConstant(0),          b.bitsConstant(0x28be60db),
                     b.bitsConstant(0x9391054a), b.bitsConstant(0x7f09d5f4),
                     b.bitsConstant(0x7d4d3770), b.bitsConstant(0x36d8a566),
                     b.bitsConstant(0x4f10e410)};
    Condition isFrom64 = b.lessBits(b.andBits(distance, 0x20000000), 1);
    for (unsigned i = 0; i < 5; ++i)
      words[i] = b.selectBits(isFrom64, words[i + 2], words[i]);
    Condition isFrom32 = b.lessBits(b.andBits(distance, 0x10000000), 1);
    for (unsigned i = 0; i < 4; ++i)
      words[i] = b.selectBits(isFrom32, words[i + 1], words[i]);
    Bits count = b.shiftRight(distance, 23);
    for (unsigned i = 0; i < 3; ++i)
      words[i] = b.funnelShift(words[i], words[i + 1], count);

    // Turns are the product modulo 2^96.
    Bits carried = b.mulHighBits(mantissa, words[2]);
    Bits low = b.addBits(b.mulBits(mantissa, words[1]), carried);
    Condition hasCarry = b.lessBits(low, carried);
    Bits one = b.bitsConstant(1);
    Bits carry = b.selectBits(hasCarry, one, b.bitsConstant(0));
    Bits high = b.addBits(b.mulBits(mantissa, words[0]), carry);
    high = b.addBits(high, b.mulHighBits(mantissa, words[1]));
    // The nearest quarter, and what is left: the upper half as the nearest
    // multiple of 64, and 32 bits with their sign that this leaves out.
    Bits shifted = b.addBits(high, b.bitsConstant(0x20000000));
    Bits quarters = b.shiftRight(shifted, 30);
    Bits rest = b.subBits(b.andBits(shifted, 0x3fffffff), 0x20000000);
    Bits upper = b.addBits(rest, b.bitsConstant(32));
    Value most = b.toNumber(b.andBits(upper, 0xffffffc0));
    Value least = b.toNumber(b.funnelShift(rest, low, b.bitsConstant(6)));
    Value radians = b.mul(least, b.constant(twoPiHigh * 0x1p-58));
    radians = b.fma(most, b.constant(twoPiLow * 0x1p-32), radians);
    radians = b.fma(most, b.constant(twoPiHigh * 0x1p-32), radians);
    // NaN for infinity, and 0 for other numbers.
    radians = b.add(radians, b.sub(magnitude, magnitude));
    return {radians, quarters};
  }

  /// The sine of `angle` with the sign that is bit 31 of `sign`: that of the
  /// radians, or in odd quarters their cosine.
  Value sine(const Angle &angle, Bits sign) {
    Value r = angle.radians;
    Value s = b.mul(r, r);
    Value odd = horner(
        s, {0x1.6de9f6p-19, -0x1.a01ffep-13, 0x1.11113ep-7, -0x1.555556p-3});
    odd = b.fma(b.mul(r, s), odd, r);
    Value even = horner(s, {0x1.960924p-16, -0x1.6bfaa0p-10, 0x1.555524p-5,
                            -0x1.000000p-1, 0x1.000000p+0});
    Condition isEven = b.lessBits(b.andBits(angle.quarters, 1), 1);
    Bits bits = b.toBits(b.select(isEven, odd, even));
    return b.fromBits(b.xorBits(bits, b.andBits(sign, 0x80000000)));
  }

  struct Scaled {
    Value value;
    Condition isSmall;
  };
  /// A positive subnormal times 2^24, which is none, and whether it is that, or
  /// negative.
  Scaled scaleUp(Value x) {
    Condition isSmall = b.less(x, b.constant(0x1p-126));
    Value one = b.constant(1);
    Value scale = b.select(isSmall, b.constant(0x1p24), one);
    return {b.mul(x, scale), isSmall};
  }

  struct Split {
    /// log x = exponent ln 2 + logarithm, |logarithm| < 0.41, where x is
    /// `isOrdinary`: positive and finite.
    Value exponent, logarithm;
    Condition isOrdinary;
    /// x, or x times 2^24.
    Value scaled;
  };
  /// x = m 2^k with m from 2/3 to 4/3, log m by a polynomial.
  Split splitLogarithm(Value x) {
    auto [scaled, isSmall] = scaleUp(x);
    Bits bits = b.toBits(scaled);
    Bits shift = b.andBits(b.subBits(bits, 0x3f2aaaab), 0xff800000);
    Value zero = b.constant(0);
    Value scaleExponent = b.select(isSmall, b.constant(-24), zero);
    Value unit = b.constant(0x1p-23);
    Value k = b.fma(b.toNumber(shift), unit, scaleExponent);
    Value one = b.constant(1);
    Value f = b.sub(b.fromBits(b.subBits(bits, shift)), one);
    Value q = horner(f, {-0x1.07c876p-3, 0x1.1e678cp-3, -0x1.f332fep-4,
                         0x1.1ed662p-3, -0x1.559c44p-3, 0x1.99d044p-3,
                         -0x1.fffefcp-3, 0x1.555506p-2, -0x1.000000p-1});
    Value logarithm = b.fma(b.mul(f, f), q, f);
    Condition isOrdinary = b.lessBits(b.subBits(bits, 0x00800000), 0x7f000000);
    return {k, logarithm, isOrdinary, scaled};
  }

  /// log x over log of the base; `ofTwo` is that of 2, `ofE` that of e.
  Value logarithm(Value x, double ofTwo, double ofE) {
    if (isApproximate) {
      if (ofTwo == 1)
        return b.log2(x);
      Value factor = b.constant(ofTwo);
      return b.mul(b.log2(x), factor);
    }
    if (b.isLog2RelativelyAccurate()) {
      auto [scaled, isSmall] = scaleUp(x);
      Value zero = b.constant(0);
      Value offset = b.select(isSmall, b.constant(-24 * ofTwo), zero);
      Value log2 = b.log2(scaled);
      return ofTwo == 1 ? b.add(log2, offset)
                        : b.fma(log2, b.constant(ofTwo), offset);
    }
    Split split = splitLogarithm(x);
    Value sum = ofE == 1
                    ? b.fma(split.exponent, b.constant(ofTwo), split.logarithm)
                    : b.fma(split.logarithm, b.constant(ofE), split.exponent);
    // The ends are the hardware's: 0, infinity, negative numbers, NaN.
    return b.select(split.isOrdinary, sum, b.log2(split.scaled));
  }

  Builder &b;
  bool isApproximate;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_MATHEXPANSIONS_H
