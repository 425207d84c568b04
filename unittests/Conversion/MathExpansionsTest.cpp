//===- MathExpansionsTest.cpp - Errors of the functions of row programs ---===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the expansions of lnbwd-expand-for-chip with hardware functions
// that are as wrong as the vendors allow, and holds the errors against float64
// to the bounds of docs/numerics.md. By itself for one input in 4099; with
// LNBWD_ALL_FLOATS=1 in the environment for all of them, and prints what it
// measures.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Conversion/GPUToVendor/BitExpansions.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

using namespace lnbwd::expansions;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double smallestNormal = 0x1p-126;

static uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

namespace {
/// AMD's functions are off by one unit in the last place at most (its manuals
/// of the instruction sets).
struct AMD {
  static constexpr bool isPortable = false;
  static constexpr bool log2IsRelativelyAccurate = true;
  static float worsen(float value, double, int sign) {
    return sign > 0 ? std::nextafter(value, infinity)
                    : std::nextafter(value, -infinity);
  }
  static float worsenLog2(float value, float, int sign) {
    return worsen(value, 0, sign);
  }
};

/// NVIDIA's by a relative error (the manual of PTX); log2 near 1 by an absolute
/// one.
struct NVIDIA {
  static constexpr bool isPortable = false;
  static constexpr bool log2IsRelativelyAccurate = false;
  static float worsen(float value, double error, int sign) {
    return float(double(value) * (1 + sign * error));
  }
  static float worsenLog2(float value, float x, int sign) {
    return x > 0.5f && x < 2.0f ? float(value + sign * 0x1p-22)
                                : worsen(value, 0x1p-22, sign);
  }
};

/// Nobody's: multiply-adds.
struct Portable : NVIDIA {
  static constexpr bool isPortable = true;
};

template <typename Vendor> struct Float;
template <typename Vendor> struct FloatBits {
  using Number = uint32_t;
  using Real = Float<Vendor>;
  static FloatBits like(uint32_t number) { return {number}; }

  friend FloatBits operator+(FloatBits x, FloatBits y) {
    return {x.value + y.value};
  }
  friend FloatBits operator-(FloatBits x, FloatBits y) {
    return {x.value - y.value};
  }
  friend FloatBits operator*(FloatBits x, FloatBits y) {
    return {x.value * y.value};
  }
  friend FloatBits operator&(FloatBits x, FloatBits y) {
    return {x.value & y.value};
  }
  friend FloatBits operator|(FloatBits x, FloatBits y) {
    return {x.value | y.value};
  }
  friend FloatBits operator^(FloatBits x, FloatBits y) {
    return {x.value ^ y.value};
  }
  friend FloatBits operator<<(FloatBits x, FloatBits count) {
    return {x.value << count.value};
  }
  friend FloatBits operator>>(FloatBits x, FloatBits count) {
    return {x.value >> count.value};
  }
  friend bool operator<(FloatBits x, FloatBits y) { return x.value < y.value; }
  friend FloatBits mulHigh(FloatBits x, FloatBits y) {
    return {uint32_t(uint64_t(x.value) * y.value >> 32)};
  }
  friend FloatBits funnelShift(FloatBits high, FloatBits low, FloatBits count) {
    uint64_t both = uint64_t(high.value) << 32 | low.value;
    return {uint32_t(both >> (count.value & 31))};
  }
  friend FloatBits select(bool condition, FloatBits x, FloatBits y) {
    return condition ? x : y;
  }
  friend Real fromBits(FloatBits x) { return {floatOf(x.value)}; }
  friend Real toReal(FloatBits x) { return {float(int32_t(x.value))}; }

  uint32_t value;
};

/// Numbers in the place of operations; functions of a vendor's hardware that
/// are as wrong as it allows, up or down by the bits of their argument.
template <typename Vendor> struct Float {
  using Number = double;
  using Condition = bool;
  using Bits = FloatBits<Vendor>;
  Float like(double number) const { return {float(number), isApproximated}; }

  friend Float operator+(Float x, Float y) { return x.with(x.value + y.value); }
  friend Float operator-(Float x, Float y) { return x.with(x.value - y.value); }
  friend Float operator*(Float x, Float y) { return x.with(x.value * y.value); }
  friend Float operator/(Float x, Float y) { return x.with(x.value / y.value); }
  friend Float operator-(Float x) { return x.with(-x.value); }
  friend Float fma(Float x, Float y, Float z) {
    return x.with(__builtin_fmaf(x.value, y.value, z.value));
  }
  friend Float abs(Float x) { return x.with(std::fabs(x.value)); }
  friend Float copySign(Float x, Float y) {
    return x.with(std::copysign(x.value, y.value));
  }
  friend Float roundedSqrt(Float x) { return x.with(std::sqrt(x.value)); }
  friend Float min(Float x, Float y) { return x.value < y.value ? x : y; }
  friend Float minNum(Float x, Float y) { return x.value < y.value ? x : y; }
  friend Float maxNum(Float x, Float y) { return x.value > y.value ? x : y; }
  friend bool operator<(Float x, Float y) { return x.value < y.value; }
  friend bool lessOrNaN(Float x, Float y) { return !(x.value >= y.value); }
  friend bool isNaN(Float x) { return std::isnan(x.value); }
  friend Float select(bool condition, Float x, Float y) {
    return condition ? x : y;
  }
  friend Bits toBits(Float x) { return {bitsOf(x.value)}; }
  template <typename Compute>
  friend Angle<Float> whereRare(bool condition, Float x, Compute compute,
                                Angle<Float> otherwise) {
    return condition ? compute(x) : otherwise;
  }
  friend bool isApproximate(Float x) { return x.isApproximated; }
  friend bool isPortable(Float) { return Vendor::isPortable; }
  friend bool isLog2RelativelyAccurate(Float) {
    return Vendor::log2IsRelativelyAccurate;
  }
  friend Float approximate(Function function, Float x) {
    return x.with(flush(callHardware(function, flush(x.value))));
  }
  Float with(float result) const { return {result, isApproximated}; }

  float value;
  bool isApproximated = false;

private:
  static float flush(float x) {
    return std::fabs(x) < float(smallestNormal) ? std::copysign(0.0f, x) : x;
  }
  static float callHardware(Function function, float x) {
    int sign = bitsOf(x) * 0x9e3779b1u >> 31 ? 1 : -1;
    auto worsen = [&](float y, double error) {
      bool isExact = y == 0 || !std::isfinite(y);
      return isExact ? y : Vendor::worsen(y, error, sign);
    };
    switch (function) {
    case Function::Exp2:
      // Whole numbers have exact results.
      return x == 0 ? exp2f(x) : worsen(exp2f(x), 0x1.6a09e6p-23);
    case Function::Log2: {
      float y = log2f(x);
      bool isExact = y == 0 || !std::isfinite(y);
      return isExact ? y : Vendor::worsenLog2(y, x, sign);
    }
    case Function::Reciprocal:
      return worsen(1.0f / x, 0x1p-23);
    case Function::ReciprocalRoot:
      return worsen(float(1.0 / std::sqrt(double(x))), 0x1.125fbfp-23);
    case Function::Root:
      return worsen(std::sqrt(x), 0x1p-23);
    }
    return x;
  }
};
using Amd = Float<AMD>;
using AmdBits = FloatBits<AMD>;
using Nvidia = Float<NVIDIA>;

/// A few units below float32's largest number.
constexpr double endOfRange = 0x1.fffffp127;

struct Errors {
  /// In units of the last place of results from 2^-126, and where.
  double units = 0;
  float where = 0;
  /// Of smaller results.
  double absolute = 0;
  /// Results from here to infinity may be infinite.
  double end = endOfRange;
  /// Inputs for which the result is NaN, infinite or finite and should not be.
  uint64_t wrongKinds = 0;
  float wrongWhere = 0;

  void add(float x, float actual, double expected) {
    auto nearest = float(expected);
    if (std::isnan(nearest) || std::isnan(actual) || std::isinf(expected)) {
      bool same = std::isnan(nearest) ? std::isnan(actual) : actual == nearest;
      return same ? void() : countWrongKind(x);
    }
    double magnitude = std::fabs(expected);
    // At the end of the range both are right.
    if (std::isinf(actual) || std::isinf(nearest)) {
      if (magnitude < end || std::fabs(double(actual)) < end ||
          std::signbit(actual) != std::signbit(nearest))
        countWrongKind(x);
      return;
    }
    double error = std::fabs(double(actual) - expected);
    if (magnitude < smallestNormal) {
      absolute = std::max(absolute, error);
      return;
    }
    uint64_t bits;
    std::memcpy(&bits, &magnitude, sizeof(bits));
    // 2^23 over the power of two below the magnitude.
    bits = (uint64_t(2 * 1023 + 23) << 52) - (bits & 0x7ff0000000000000);
    double perUnit;
    std::memcpy(&perUnit, &bits, sizeof(bits));
    error *= perUnit;
    if (error > units) {
      units = error;
      where = x;
    }
  }
  void countWrongKind(float x) {
    ++wrongKinds;
    wrongWhere = x;
  }
};
} // namespace

template <typename Vendor, typename Function, typename Reference>
static Errors measure(Function function, Reference reference, float low,
                      float high, bool isApproximate = false,
                      double end = endOfRange) {
  static const bool all = std::getenv("LNBWD_ALL_FLOATS") != nullptr;
  Errors errors;
  errors.end = end;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += all ? 1 : 4099) {
    float x = floatOf(uint32_t(bits));
    float magnitude = std::fabs(x);
    if (magnitude < low || magnitude > high)
      continue;
    Float<Vendor> result = function(Float<Vendor>{x, isApproximate});
    errors.add(x, result.value, reference(double(x)));
  }
  return errors;
}

/// Holds what `afn` gives to an error of `relativeTo1` beside the larger of 1
/// and the result.
template <typename Function, typename Reference>
static void checkApproximate(const char *name, Function function,
                             Reference reference, double relativeTo1,
                             float low = 0, float high = infinity) {
  double worst = 0;
  uint64_t wrongKinds = 0;
  auto note = [&](auto x) {
    float actual = function(x).value;
    double expected = reference(double(x.value));
    wrongKinds += std::isnan(actual) != std::isnan(expected);
    if (std::isfinite(float(expected)) && std::isfinite(actual))
      worst = std::max(worst, std::fabs(double(actual) - expected) /
                                  std::max(1.0, std::fabs(expected)));
    return x.with(float(expected));
  };
  measure<AMD>(note, reference, low, high, /*isApproximate=*/true);
  measure<NVIDIA>(note, reference, low, high, /*isApproximate=*/true);
  if (std::getenv("LNBWD_ALL_FLOATS"))
    std::printf("%-12s approximate %.3g\n", name, worst);
  EXPECT_LE(worst, relativeTo1) << name;
  EXPECT_EQ(wrongKinds, 0U) << name;
}

/// Holds `function`, of inputs with magnitudes from `low` to `high` and NaN, to
/// `units` units in the last place, and to `absolute` for results that are
/// subnormal; results from `end` on may be infinite.
template <typename Function, typename Reference>
static void check(const char *name, Function function, Reference reference,
                  double units, double absolute, float low = 0,
                  float high = infinity, double end = endOfRange) {
  const Errors byVendor[] = {
      measure<AMD>(function, reference, low, high, false, end),
      measure<NVIDIA>(function, reference, low, high, false, end),
      measure<Portable>(function, reference, low, high, false, end)};
  const char *vendors[] = {"AMD", "NVIDIA", "all"};
  for (int vendor = 0; vendor < 3; ++vendor) {
    const Errors &errors = byVendor[vendor];
    if (std::getenv("LNBWD_ALL_FLOATS")) {
      std::printf("%-12s %-6s %6.2f at %-14g subnormal results %.3g\n", name,
                  vendors[vendor], errors.units, double(errors.where),
                  errors.absolute);
      std::fflush(stdout);
    }
    EXPECT_LE(errors.units, units)
        << name << ", " << vendors[vendor] << ", at " << errors.where;
    EXPECT_LE(errors.absolute, absolute) << name << ", " << vendors[vendor];
    EXPECT_EQ(errors.wrongKinds, 0U)
        << name << ", " << vendors[vendor] << ", at " << errors.wrongWhere;
  }
}

/// NaN for negative numbers, infinity among them.
static double powerOf(double x, double exponent) {
  return x < 0 ? NAN : std::pow(x, exponent);
}

TEST(MathExpansions, Exp2) {
  check(
      "exp2", [](auto x) { return exp2(x); },
      [](double x) { return std::exp2(x); }, 4, smallestNormal);
}
TEST(MathExpansions, Exp) {
  check(
      "exp", [](auto x) { return exp(x); },
      [](double x) { return std::exp(x); }, 5, smallestNormal);
}
TEST(MathExpansions, Expm1) {
  check(
      "expm1", [](auto x) { return expm1(x); },
      [](double x) { return std::expm1(x); }, 8, 0x1p-149);
}
TEST(MathExpansions, Log) {
  check(
      "log", [](auto x) { return log(x); },
      [](double x) { return std::log(x); }, 3, 0);
}
TEST(MathExpansions, Log2) {
  check(
      "log2", [](auto x) { return log2(x); },
      [](double x) { return std::log2(x); }, 3, 0);
}
TEST(MathExpansions, Log1p) {
  check(
      "log1p", [](auto x) { return log1p(x); },
      [](double x) { return std::log1p(x); }, 5, 0x1p-149);
}
TEST(MathExpansions, Tanh) {
  check(
      "tanh", [](auto x) { return tanh(x); },
      [](double x) { return std::tanh(x); }, 4, 0x1p-149);
}
TEST(MathExpansions, Erf) {
  check(
      "erf", [](auto x) { return erf(x); },
      [](double x) { return std::erf(x); }, 4, 0x1p-149);
}
TEST(MathExpansions, Sin) {
  check(
      "sin", [](auto x) { return sin(x, reduceAngle(x)); },
      [](double x) { return std::sin(x); }, 2, 0);
}
TEST(MathExpansions, Cos) {
  check(
      "cos", [](auto x) { return cos<decltype(x)>(reduceAngle(x)); },
      [](double x) { return std::cos(x); }, 2, 0);
}
TEST(MathExpansions, Sqrt) {
  check(
      "sqrt", [](auto x) { return sqrt(x); },
      [](double x) { return std::sqrt(x); }, 3, 0);
}
TEST(MathExpansions, Rsqrt) {
  check(
      "rsqrt", [](auto x) { return rsqrt(x); },
      [](double x) { return 1 / std::sqrt(x); }, 3.5, 0);
}
TEST(MathExpansions, Sigmoid) {
  check(
      "sigmoid",
      [](auto x) { return quotient(x.like(1), exp(-x) + x.like(1)); },
      [](double x) { return 1 / (1 + std::exp(-x)); }, 10, smallestNormal);
}
TEST(MathExpansions, Reciprocal) {
  check(
      "1/x", [](auto x) { return quotient(x.like(1), x); },
      [](double x) { return 1 / x; }, 3, 0, 0x1p-126f, 0x1.fffffep125f);
}
TEST(MathExpansions, RoundedQuotient) {
  uint32_t step = std::getenv("LNBWD_ALL_FLOATS") ? 1 : 61;
  auto divide = [](float x, float y) {
    return roundedQuotient(Nvidia{x}, Nvidia{y}).value;
  };
  for (float x : {1.0f, 6.0f, 240.0f, 448.0f, 57344.0f}) {
    uint64_t wrong = 0;
    // All fractions but one, for which 1 / y is as the reciprocal is; powers
    // from 2^-100 to 2^125.
    for (uint32_t fraction = 0; fraction < (1 << 23) - 1; fraction += step) {
      float y = floatOf((fraction % 226 + 27) << 23 | fraction);
      wrong += divide(x, y) != x / y;
    }
    EXPECT_EQ(wrong, 0U) << x;
    EXPECT_EQ(divide(x, 0), infinity);
    EXPECT_EQ(bitsOf(divide(x, infinity)), 0U);
    EXPECT_TRUE(std::isnan(divide(x, NAN)));
    EXPECT_EQ(divide(infinity, x), infinity);
  }
}
TEST(MathExpansions, PowerOfRoots) {
  check(
      "x^1.5", [](auto x) { return pow(x, 1.5f); },
      [](double x) { return x * std::sqrt(x); }, 4, 0x1p-148);
  check(
      "x^-1.5", [](auto x) { return pow(x, -1.5f); },
      [](double x) { return 1 / x / std::sqrt(x); }, 11, 0x1p-146);
}
TEST(MathExpansions, Powers) {
  // The logarithm to the base 2 is rounded below 128 as well.
  constexpr double powerEnd = 0x1.ffff8p127;
  check(
      "x^3", [](auto x) { return pow(x, 3.0f); },
      [](double x) { return x * x * x; }, 2, 0x1p-148);
  check(
      "x^-3", [](auto x) { return pow(x, -3.0f); },
      [](double x) { return 1 / (x * x * x); }, 3, 0x1p-148, 0x1p-42f, 0x1p41f);
  check(
      "x^(1/3)", [](auto x) { return pow(x, 0x1.555556p-2f); },
      [](double x) { return powerOf(x, 0x1.555556p-2); }, 5, 0);
  check(
      "x^2.2", [](auto x) { return pow(x, 2.2f); },
      [](double x) { return powerOf(x, double(2.2f)); }, 7, smallestNormal, 0,
      infinity, powerEnd);
  check(
      "x^9", [](auto x) { return pow(x, 9.0f); },
      [](double x) { return std::pow(x, 9); }, 8, 0x1p-146);
  check(
      "x^-12", [](auto x) { return pow(x, -12.0f); },
      [](double x) { return std::pow(x, -12); }, 12, smallestNormal, 0x1p-10f,
      0x1p10f);
  check(
      "x^-2.7", [](auto x) { return pow(x, -2.7f); },
      [](double x) { return powerOf(x, double(-2.7f)); }, 7, smallestNormal, 0,
      infinity, powerEnd);
}

// The known answers of Random123, the authors' library.
TEST(MathExpansions, Philox) {
  auto draw = [](std::array<AmdBits, 4> counter, std::array<AmdBits, 2> key) {
    return philox(counter, key).value;
  };
  EXPECT_EQ(draw({}, {}), 0x6627e8d5u);
  constexpr AmdBits ones{~0u};
  EXPECT_EQ(draw({ones, ones, ones, ones}, {ones, ones}), 0x408f276du);
  EXPECT_EQ(draw({{{0x243f6a88}, {0x85a308d3}, {0x13198a2e}, {0x03707344}}},
                 {{{0xa4093822}, {0x299f31d0}}}),
            0xd16cfe09u);
}

TEST(MathExpansions, Approximate) {
  checkApproximate(
      "erf", [](auto x) { return erf(x); },
      [](double x) { return std::erf(x); }, 5e-7);
  checkApproximate(
      "tanh", [](auto x) { return tanh(x); },
      [](double x) { return std::tanh(x); }, 5e-7);
  checkApproximate(
      "exp", [](auto x) { return exp(x); },
      [](double x) { return std::exp(x); }, 1e-6, 0, 10);
  checkApproximate(
      "exp", [](auto x) { return exp(x); },
      [](double x) { return std::exp(x); }, 6e-6);
  checkApproximate(
      "expm1", [](auto x) { return expm1(x); },
      [](double x) { return std::expm1(x); }, 6e-6);
  checkApproximate(
      "log", [](auto x) { return log(x); },
      [](double x) { return std::log(x); }, 5e-7, 0x1p-126f);
  checkApproximate(
      "log1p", [](auto x) { return log1p(x); },
      [](double x) { return std::log1p(x); }, 5e-7);
  checkApproximate(
      "sqrt", [](auto x) { return sqrt(x); },
      [](double x) { return std::sqrt(x); }, 5e-7, 0x1p-126f);
  checkApproximate(
      "rsqrt", [](auto x) { return rsqrt(x); },
      [](double x) { return 1 / std::sqrt(x); }, 5e-7, 0x1p-126f);
}

constexpr Float8 float8Formats[] = {
    {3, 7, 0x7e}, {2, 15, 0x7b}, {3, 8, 0x7f}, {2, 16, 0x7f}};

/// What a magnitude up to the largest is by the definition of the format.
static double valueOf(Float8 format, uint32_t magnitude) {
  int exponent = int(magnitude >> format.fraction);
  uint32_t hidden = 1U << format.fraction, fraction = magnitude % hidden;
  return std::ldexp(exponent ? hidden + fraction : fraction,
                    std::max(exponent, 1) - int(format.bias) -
                        int(format.fraction));
}

TEST(MathExpansions, FromFloat8) {
  for (Float8 format : float8Formats)
    for (uint32_t code = 0; code < 256; ++code) {
      uint32_t magnitude = code & 0x7f;
      float value = fromFloat8(AmdBits{code}, format).value;
      if (format.hasOneZero() ? code == 0x80
                              : magnitude > format.largest &&
                                    !(format.fraction == 2 &&
                                      magnitude == format.largest + 1)) {
        EXPECT_TRUE(std::isnan(value)) << code;
        continue;
      }
      double expected =
          magnitude > format.largest ? infinity : valueOf(format, magnitude);
      EXPECT_EQ(std::fabs(value), expected) << code;
      EXPECT_EQ(std::signbit(value), code >= 0x80) << code;
    }
}

// Against a search for the nearest number.
TEST(MathExpansions, ToFloat8) {
  for (Float8 format : float8Formats) {
    auto check = [&](float x) {
      uint32_t code = toFloat8(Amd{x}, format).value;
      uint32_t sign = std::signbit(x) ? 0x80 : 0;
      if (std::isnan(x)) {
        EXPECT_EQ(code, format.hasOneZero() ? 0x80 : sign | 0x7f);
        return;
      }
      double size = std::fabs(double(x));
      uint32_t low = 0, high = format.largest;
      while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        (valueOf(format, middle) <= size ? low : high) = middle;
      }
      double below = size - valueOf(format, low);
      double above = valueOf(format, high) - size;
      uint32_t nearest =
          below < above || (below == above && low % 2 == 0) ? low : high;
      bool hasSign = nearest != 0 || !format.hasOneZero();
      EXPECT_EQ(code, nearest | (hasSign ? sign : 0)) << x;
    };
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4099)
      check(floatOf(uint32_t(bits)));
    for (uint32_t code = 0; code < format.largest; ++code) {
      auto middle =
          float((valueOf(format, code) + valueOf(format, code + 1)) / 2);
      for (float x :
           {float(valueOf(format, code)), middle, std::nextafter(middle, 0.0F),
            std::nextafter(middle, infinity)}) {
        check(x);
        check(-x);
      }
    }
    for (float x : {0.0F, infinity, float(NAN)}) {
      check(x);
      check(-x);
    }
  }
}

TEST(MathExpansions, Exponents) {
  for (uint32_t code = 0; code < 255; ++code) {
    float power = std::ldexp(1.0F, int(code) - 127);
    EXPECT_EQ(fromExponent(AmdBits{code}).value, power);
    EXPECT_EQ(toExponent(Amd{power}).value, code);
    EXPECT_EQ(toExponent(Amd{-1.99F * power}).value, code);
  }
  EXPECT_TRUE(std::isnan(fromExponent(AmdBits{255}).value));
  EXPECT_EQ(toExponent(Amd{float(NAN)}).value, 255U);
}
