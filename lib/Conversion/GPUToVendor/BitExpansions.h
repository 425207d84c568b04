//===- BitExpansions.h - Functions of a number's bits -----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expansions like those of MathExpansions.h, which has the rules: conversions
// of floats of 8 bits and of their scales, and random numbers.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_GPUTOVENDOR_BITEXPANSIONS_H
#define LNBWD_LIB_CONVERSION_GPUTOVENDOR_BITEXPANSIONS_H

#include "MathExpansions.h"

namespace lnbwd::expansions {

/// A float format of 8 bits: bits of the fraction, bias of the exponent, and
/// the bits of the largest number. Where these are all, -0 is NaN.
struct Float8 {
  uint32_t fraction, bias, largest;
  bool hasOneZero() const { return largest == 0x7f; }
  uint32_t shift() const { return 23 - fraction; }
};

/// The number whose bits are `code`, from 0 to 255.
template <typename Bits>
typename Bits::Real fromFloat8(Bits code, Float8 format) {
  // Exponents are off by the difference of the biases.
  Bits moved = (code & 0x7f) << format.shift();
  double factor = std::ldexp(1, 127 - int(format.bias));
  Bits number = toBits(fromBits(moved) * factor);
  // Not of the byte itself: LLVM 22's selection for gfx11 would not end.
  auto isSpecial = format.hasOneZero()
                       ? code - 0x80 < 1
                       : format.largest << format.shift() < moved;
  Bits special = moved | (format.hasOneZero() ? 0x7fc00000 : 0x7f800000);
  number = select(isSpecial, special, number);
  Bits sign = (code & 0x80) << 24;
  return fromBits(number ^ sign);
}

/// The bits of the nearest number, of the even one in the middle of two.
template <typename Real> typename Real::Bits toFloat8(Real x, Float8 format) {
  using Bits = typename Real::Bits;
  uint32_t shift = format.shift();
  Real magnitude = abs(x);
  uint32_t fraction = (1U << format.fraction) | format.largest;
  int exponent = int(format.largest >> format.fraction);
  Real most = x.like(std::ldexp(fraction & ((2U << format.fraction) - 1),
                                exponent - int(format.bias + format.fraction)));
  Real size = minNum(magnitude, most);
  Bits bits = toBits(size);
  Bits odd = (bits >> shift) & 1;
  uint32_t almostHalf = (1U << (shift - 1)) - 1;
  Bits bias = bits.like(almostHalf - ((127 - format.bias) << 23));
  Bits normal = (bits + odd + bias) >> shift;
  // The sum's last bit is worth the smallest subnormal number.
  uint32_t unit = (128 - format.bias + shift) << 23;
  Bits subnormal = toBits(size + fromBits(bits.like(unit))) - unit;
  auto isSmall = bits < (128 - format.bias) << 23;
  Bits code = select(isSmall, subnormal, normal);
  Bits sign = (toBits(x) >> 24) & 0x80;
  Bits number = code ^ sign, nan = sign | 0x7f;
  if (format.hasOneZero()) {
    number = select(code < 1, code, number);
    nan = bits.like(0x80);
  }
  auto isNaN = 0x7f800000 < toBits(magnitude);
  return select(isNaN, nan, number);
}

/// The power of two whose exponent is `code` less 127; NaN of 255.
template <typename Bits> typename Bits::Real fromExponent(Bits code) {
  // The code 0 is a subnormal number.
  auto isOrdinary = code - 1 < 254;
  Bits none = code.like(0);
  Bits fraction = select(isOrdinary, none, code.like(0x400000));
  return fromBits((code << 23) ^ fraction);
}

/// The exponent of x, whatever its fraction and sign.
template <typename Real> typename Real::Bits toExponent(Real x) {
  return (toBits(x) >> 23) & 0xff;
}

/// The first word of Philox4x32-10 (Salmon et al., "Parallel random numbers:
/// as easy as 1, 2, 3", 2011).
template <typename Bits>
Bits philox(std::array<Bits, 4> counter, std::array<Bits, 2> key) {
  Bits x = counter[0];
  Bits first = x.like(0xD2511F53), second = x.like(0xCD9E8D57);
  Bits step = x.like(0x9E3779B9), other = x.like(0xBB67AE85);
  for (int round = 0; round < 10; ++round) {
    Bits even = counter[0], odd = counter[2];
    counter[0] = mulHigh(odd, second) ^ counter[1] ^ key[0];
    counter[1] = odd * second;
    counter[2] = mulHigh(even, first) ^ counter[3] ^ key[1];
    counter[3] = even * first;
    key = {key[0] + step, key[1] + other};
  }
  return counter[0];
}

} // namespace lnbwd::expansions

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_BITEXPANSIONS_H
