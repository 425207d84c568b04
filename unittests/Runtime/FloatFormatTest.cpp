//===- FloatFormatTest.cpp - Conversions of f16 and bf16 ------------------===//
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

static float decode(FloatFormat format, uint16_t bits) {
  return format == FloatFormat::F16 ? f16ToFloat(bits) : bf16ToFloat(bits);
}

static uint16_t encode(FloatFormat format, float value) {
  return format == FloatFormat::F16 ? floatToF16(value) : floatToBF16(value);
}

/// The value of a pattern by the definition of the format.
static double definition(FloatFormat format, uint16_t bits) {
  int mantissaBits = format == FloatFormat::F16 ? 10 : 7;
  int bias = format == FloatFormat::F16 ? 15 : 127;
  int exponent = (bits & 0x7fff) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 2 * bias + 1)
    return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp((1 << mantissaBits) + mantissa,
                           exponent - bias - mantissaBits);
}

namespace {

class SixteenBitTest : public testing::TestWithParam<FloatFormat> {};

TEST_P(SixteenBitTest, EveryPatternDecodesToItsDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
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

TEST_P(SixteenBitTest, EveryPatternSurvivesTheWayBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = decode(GetParam(), bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(decode(GetParam(), encode(GetParam(), value))))
          << bits;
      continue;
    }
    EXPECT_EQ(encode(GetParam(), value), bits);
  }
}

// Between each two neighbours: the middle goes to the even one, and the floats
// next to the middle to the nearer one.
TEST_P(SixteenBitTest, RoundsToNearestTiesToEven) {
  uint16_t infinity = GetParam() == FloatFormat::F16 ? 0x7c00 : 0x7f80;
  for (uint16_t low = 0; low < infinity; ++low) {
    uint16_t high = low + 1;
    uint16_t even = low % 2 == 0 ? low : high;
    // Infinity stands where the next number would be.
    double above = high == infinity ? 2 * definition(GetParam(), low) -
                                          definition(GetParam(), low - 1)
                                    : definition(GetParam(), high);
    auto middle = static_cast<float>((definition(GetParam(), low) + above) / 2);
    float below = std::nextafter(middle, 0.0F);
    float beyond = std::nextafter(middle, INFINITY);
    for (uint16_t sign : {0, 0x8000}) {
      float factor = sign ? -1.0F : 1.0F;
      EXPECT_EQ(encode(GetParam(), factor * middle), even | sign) << low;
      EXPECT_EQ(encode(GetParam(), factor * below), low | sign) << low;
      EXPECT_EQ(encode(GetParam(), factor * beyond), high | sign) << low;
    }
  }
}

TEST_P(SixteenBitTest, NansStayNansWhateverTheirPayload) {
  for (uint32_t payload : {1U, 0x1000U, 0x7fffU, 0x400000U, 0x7fffffU})
    for (uint32_t sign : {0U, 0x80000000U}) {
      float value = floatOf(sign | 0x7f800000 | payload);
      float back = decode(GetParam(), encode(GetParam(), value));
      EXPECT_TRUE(std::isnan(back)) << payload;
      EXPECT_EQ(bitsOf(back) >> 31, sign >> 31);
    }
}

TEST_P(SixteenBitTest, LargeValuesOverflowToInfinity) {
  for (float value : {std::numeric_limits<float>::max(),
                      std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(decode(GetParam(), encode(GetParam(), value)), INFINITY);
    EXPECT_EQ(decode(GetParam(), encode(GetParam(), -value)), -INFINITY);
  }
  double threshold = overflowThreshold(GetParam());
  auto atThreshold = static_cast<float>(threshold);
  EXPECT_EQ(atThreshold, threshold);
  EXPECT_EQ(decode(GetParam(), encode(GetParam(), atThreshold)), INFINITY);
  float below = std::nextafter(atThreshold, 0.0F);
  EXPECT_LT(decode(GetParam(), encode(GetParam(), below)), INFINITY);
}

TEST_P(SixteenBitTest, LimitsAreThoseOfTheFormat) {
  EXPECT_EQ(smallestSubnormal(GetParam()), definition(GetParam(), 1));
  // One rounding of 1 + unit roundoff is the worst case: a tie, back to 1.
  double unit = unitRoundoff(GetParam());
  EXPECT_EQ(decode(GetParam(), encode(GetParam(), float(1 + unit))), 1.0F);
  EXPECT_GT(decode(GetParam(), encode(GetParam(), float(1 + unit * 1.01))),
            1.0F);
}

INSTANTIATE_TEST_SUITE_P(Formats, SixteenBitTest,
                         testing::Values(FloatFormat::F16, FloatFormat::BF16),
                         [](const auto &info) {
                           return std::string(formatName(info.param));
                         });

TEST(FloatFormatTest, ElementsAreStoredSideBySide) {
  for (FloatFormat format :
       {FloatFormat::F16, FloatFormat::BF16, FloatFormat::F32}) {
    char array[32] = {};
    for (size_t i = 0; i < 4; ++i)
      storeElement(format, array, i, static_cast<float>(i) - 1.5F);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(loadElement(format, array, i), static_cast<float>(i) - 1.5F);
    EXPECT_EQ(array[4 * formatSize(format)], 0);
  }
  EXPECT_EQ(smallestSubnormal(FloatFormat::F32),
            std::numeric_limits<float>::denorm_min());
  EXPECT_GT(overflowThreshold(FloatFormat::F32),
            std::numeric_limits<float>::max());
}

} // namespace
