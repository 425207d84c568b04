//===- PortableBuilder.h - The same on every chip ---------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The approximations of MathExpansions.h in the place of the hardware's.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_GPUTOVENDOR_PORTABLEBUILDER_H
#define LNBWD_LIB_CONVERSION_GPUTOVENDOR_PORTABLEBUILDER_H

#include <initializer_list>
#include <limits>

namespace lnbwd {

/// Numbers below 2^22 are whole when they are added to it.
constexpr double roundingMagic = 0x1.8p23;

/// `Builder` with multiply-adds, correctly rounded division and roots in the
/// place of the hardware's functions: results are the same on every chip
/// (docs/numerics.md). `Builder` has isNaN() and roundedSqrt() as well.
template <typename Builder> class PortableBuilder : public Builder {
public:
  using Value = typename Builder::Value;
  using Bits = typename Builder::Bits;
  using Builder::Builder;

  static constexpr bool isLog2RelativelyAccurate() { return false; }

  /// x = n + f with f from -1/2 to 1/2: 2^f by a polynomial, times 2^n in two
  /// factors, neither of which is subnormal.
  Value exp2(Value x) {
    Builder &b = *this;
    Value bounded = b.clamp(x, -152, 130);
    Value magic = b.constant(roundingMagic);
    Value shifted = b.add(bounded, magic);
    Value f = b.sub(bounded, b.sub(shifted, magic));
    Value p = b.constant(0x1.417a9ep-13);
    for (double coefficient : {0x1.5f0948p-10, 0x1.3b2dd2p-7, 0x1.c6af7ap-5,
                               0x1.ebfbdcp-3, 0x1.62e430p-1, 0x1.000000p+0})
      p = b.fma(p, f, b.constant(coefficient));
    // n + 256; the exponents of the factors' bits are each half's, less 1.
    Bits n = b.addBits(b.subBits(b.toBits(shifted), b.toBits(magic)),
                       b.bitsConstant(256));
    Bits half = b.shiftRight(n, 1);
    Bits rest = b.subBits(n, half);
    Value first = b.fromBits(b.shiftLeft(b.subBits(half, 1), 23));
    Value second = b.fromBits(b.shiftLeft(b.subBits(rest, 1), 23));
    Value result = b.mul(b.mul(p, first), second);
    return b.select(b.isNaN(x), x, result);
  }
  /// Only of numbers without an ordinary logarithm, which has a polynomial: 0,
  /// infinity, negative numbers, NaN.
  Value log2(Value x) {
    Builder &b = *this;
    Value zero = b.constant(0);
    Value nan = b.constant(std::numeric_limits<double>::quiet_NaN());
    auto isZero = b.lessBits(b.andBits(b.toBits(x), 0x7fffffff), 1);
    Value ofZero = b.constant(-infinity);
    return b.select(isZero, ofZero, b.select(b.less(x, zero), nan, x));
  }
  Value rcp(Value x) {
    Value one = this->constant(1);
    return this->div(one, x);
  }
  Value sqrt(Value x) { return this->roundedSqrt(x); }
  Value rsqrt(Value x) { return rcp(sqrt(x)); }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_PORTABLEBUILDER_H
