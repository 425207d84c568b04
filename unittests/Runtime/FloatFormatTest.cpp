//===- FloatFormatTest.cpp - Conversions of short floats ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/FloatFormat.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace lnbwd;
using namespace lnbwd::reference;

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
/// What the definition of a format says: bits of the fraction, the bias, and
/// the bits of the largest number.
struct Definition {
  int fraction, bias;
  uint32_t signBit, largest;
};
} // namespace

static Definition define(Element format) {
  switch (format) {
  case Element::F16:
    return {10, 15, 0x8000, 0x7bff};
  case Element::BF16:
    return {7, 127, 0x8000, 0x7f7f};
  case Element::F8E4M3FN:
    return {3, 7, 0x80, 0x7e};
  case Element::F8E5M2:
    return {2, 15, 0x80, 0x7b};
  case Element::F8E4M3FNUZ:
    return {3, 8, 0x80, 0x7f};
  default:
    return {2, 16, 0x80, 0x7f};
  }
}

static bool isShort(Element format) { return define(format).signBit == 0x80; }

/// The value of a pattern by the definition of the format.
static double definition(Element format, uint32_t bits) {
  auto [fractionBits, bias, signBit, largest] = define(format);
  uint32_t magnitude = bits & (signBit - 1);
  int exponent = int(magnitude >> fractionBits);
  int fraction = int(magnitude & ((1U << fractionBits) - 1));
  double sign = bits & signBit ? -1.0 : 1.0;
  bool isInfinity =
      magnitude == largest + 1 && fraction == 0 && largest != 0x7f;
  if (isInfinity)
    return sign * INFINITY;
  if (magnitude > largest || (largest == 0x7f && bits == signBit))
    return std::nan("");
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp((1 << fractionBits) + fraction,
                           exponent - bias - fractionBits);
}

namespace {

class ShortFloatTest : public testing::TestWithParam<Element> {};

TEST_P(ShortFloatTest, EveryPatternDecodesToItsDefinition) {
  for (uint32_t bits = 0; bits < 2 * define(GetParam()).signBit; ++bits) {
    double expected = definition(GetParam(), bits);
    double actual = decode(GetParam(), bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
      continue;
    }
    EXPECT_EQ(actual, expected) << bits;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
  }
}

TEST_P(ShortFloatTest, EveryPatternSurvivesTheWayBack) {
  for (uint32_t bits = 0; bits < 2 * define(GetParam()).signBit; ++bits) {
    float value = decode(GetParam(), bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(decode(GetParam(), encode(GetParam(), value))))
          << bits;
      continue;
    }
    if (isShort(GetParam()) && std::isinf(value))
      continue;
    EXPECT_EQ(encode(GetParam(), value), bits);
  }
}

// Between each two neighbours: the middle goes to the even one, and the floats
// next to the middle to the nearer one.
TEST_P(ShortFloatTest, RoundsToNearestTiesToEven) {
  const uint32_t signBit = define(GetParam()).signBit;
  const uint32_t largest = define(GetParam()).largest;
  // Float8 has nothing beyond the largest number.
  uint32_t end = isShort(GetParam()) ? largest : largest + 1;
  for (uint32_t low = 0; low < end; ++low) {
    uint32_t high = low + 1;
    uint32_t even = low % 2 == 0 ? low : high;
    // Infinity stands where the next number would be.
    double above = high > largest ? 2 * definition(GetParam(), low) -
                                        definition(GetParam(), low - 1)
                                  : definition(GetParam(), high);
    auto middle = static_cast<float>((definition(GetParam(), low) + above) / 2);
    float below = std::nextafter(middle, 0.0F);
    float beyond = std::nextafter(middle, INFINITY);
    for (uint32_t sign : {0U, signBit}) {
      auto expected = [&](uint32_t code) {
        return code == 0 && largest == 0x7f ? 0 : code | sign;
      };
      float factor = sign ? -1.0F : 1.0F;
      EXPECT_EQ(encode(GetParam(), factor * middle), expected(even)) << low;
      EXPECT_EQ(encode(GetParam(), factor * below), expected(low)) << low;
      EXPECT_EQ(encode(GetParam(), factor * beyond), expected(high)) << low;
    }
  }
}

TEST_P(ShortFloatTest, NansStayNansWhateverTheirPayload) {
  for (uint32_t payload : {1U, 0x1000U, 0x7fffU, 0x400000U, 0x7fffffU})
    for (uint32_t sign : {0U, 0x80000000U}) {
      float value = floatOf(sign | 0x7f800000 | payload);
      float back = decode(GetParam(), encode(GetParam(), value));
      EXPECT_TRUE(std::isnan(back)) << payload;
      if (!isShort(GetParam()))
        EXPECT_EQ(bitsOf(back) >> 31, sign >> 31);
    }
}

TEST_P(ShortFloatTest, LargeValuesOverflowToInfinityOrTheLargest) {
  uint32_t largest = define(GetParam()).largest;
  double most =
      isShort(GetParam()) ? definition(GetParam(), largest) : INFINITY;
  for (float value : {std::numeric_limits<float>::max(),
                      std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(decode(GetParam(), encode(GetParam(), value)), most);
    EXPECT_EQ(decode(GetParam(), encode(GetParam(), -value)), -most);
  }
  if (isShort(GetParam())) {
    EXPECT_EQ(overflowThreshold(GetParam()), INFINITY);
    return;
  }
  double threshold = overflowThreshold(GetParam());
  auto atThreshold = static_cast<float>(threshold);
  EXPECT_EQ(atThreshold, threshold);
  EXPECT_EQ(decode(GetParam(), encode(GetParam(), atThreshold)), INFINITY);
  float below = std::nextafter(atThreshold, 0.0F);
  EXPECT_LT(decode(GetParam(), encode(GetParam(), below)), INFINITY);
}

TEST_P(ShortFloatTest, LimitsAreThoseOfTheFormat) {
  EXPECT_EQ(smallestSubnormal(GetParam()), definition(GetParam(), 1));
  // One rounding of 1 + unit roundoff is the worst case: a tie, back to 1.
  double unit = unitRoundoff(GetParam());
  EXPECT_EQ(decode(GetParam(), encode(GetParam(), float(1 + unit))), 1.0F);
  EXPECT_GT(decode(GetParam(), encode(GetParam(), float(1 + unit * 1.01))),
            1.0F);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ShortFloatTest,
    testing::Values(Element::F16, Element::BF16, Element::F8E4M3FN,
                    Element::F8E5M2, Element::F8E4M3FNUZ, Element::F8E5M2FNUZ),
    [](const auto &info) { return std::string(getName(info.param)); });

TEST(FloatFormatTest, APowerOfTwoIsAnExponent) {
  constexpr Element format = Element::F8E8M0FNU;
  for (uint32_t code = 0; code < 255; ++code) {
    float power = std::ldexp(1.0F, static_cast<int>(code) - 127);
    EXPECT_EQ(decode(format, code), power);
    EXPECT_EQ(encode(format, power), code);
    EXPECT_EQ(encode(format, -1.99F * power), code);
  }
  EXPECT_TRUE(std::isnan(decode(format, 255)));
  EXPECT_EQ(encode(format, NAN), 255U);
  EXPECT_EQ(encode(format, 0.0F), 0U);
}

TEST(FloatFormatTest, ElementsAreStoredSideBySide) {
  for (Element format : {Element::F16, Element::BF16, Element::F32,
                         Element::F8E4M3FN, Element::F8E5M2FNUZ}) {
    char array[32] = {};
    for (size_t i = 0; i < 4; ++i)
      storeElement(format, array, i, static_cast<float>(i) - 1.5F);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(loadElement(format, array, i), static_cast<float>(i) - 1.5F);
    EXPECT_EQ(array[4 * getInfo(format).bytes], 0);
  }
  EXPECT_EQ(smallestSubnormal(Element::F32),
            std::numeric_limits<float>::denorm_min());
  EXPECT_GT(overflowThreshold(Element::F32), std::numeric_limits<float>::max());
}

} // namespace
