//===- FloatFormat.cpp - f16, bf16 and f32 on the host --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/FloatFormat.h"

#include <cmath>
#include <cstring>

namespace lnbwd::reference {

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
/// What is asked of a format. Half a unit above the largest number a tie goes
/// to even, here infinity.
struct FormatFacts {
  double unitRoundoff, smallestSubnormal, overflowThreshold;
};
} // namespace

static const FormatFacts &factsOf(FloatFormat format) {
  static constexpr FormatFacts facts[] = {
      {0x1p-11, 0x1p-24, 0x1p16 - 0x1p4},
      {0x1p-8, 0x1p-133, 0x1p128 - 0x1p119},
      {0x1p-24, 0x1p-149, 0x1p128 - 0x1p103}};
  bool isFloat = getInfo(format).isFloat();
  return facts[static_cast<size_t>(isFloat ? format : FloatFormat::F32)];
}

double unitRoundoff(FloatFormat format) { return factsOf(format).unitRoundoff; }

double smallestSubnormal(FloatFormat format) {
  return factsOf(format).smallestSubnormal;
}

double overflowThreshold(FloatFormat format) {
  return factsOf(format).overflowThreshold;
}

uint16_t floatToBF16(float value) {
  uint32_t bits = bitsOf(value);
  // Adding to a NaN could carry it into infinity or zero: make it quiet.
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  uint32_t odd = (bits >> 16) & 1;
  return static_cast<uint16_t>((bits + 0x7fff + odd) >> 16);
}

float bf16ToFloat(uint16_t bits) {
  return floatOf(static_cast<uint32_t>(bits) << 16);
}

uint16_t floatToF16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  // 65520 and more round to infinity.
  if (magnitude >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);
  // Below 2^-14 the result is subnormal, a multiple of 2^-24: adding 0.5 aligns
  // the value so that the float's own last bit is worth 2^-24, and the host's
  // addition rounds it there.
  if (magnitude < 0x38800000) {
    float aligned = floatOf(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (bitsOf(aligned) - 0x3f000000));
  }
  uint32_t odd = (magnitude >> 13) & 1;
  // Re-bias the exponent from 127 to 15 and round the 13 bits that go.
  uint32_t rounded = magnitude - (uint32_t(112) << 23) + 0xfff + odd;
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

float f16ToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return floatOf(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return floatOf(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

template <typename T> static T load(const char *address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

double loadElement(FloatFormat format, const void *array, size_t index) {
  const char *address =
      static_cast<const char *>(array) + index * formatSize(format);
  switch (format) {
  case FloatFormat::F16:
    return f16ToFloat(load<uint16_t>(address));
  case FloatFormat::BF16:
    return bf16ToFloat(load<uint16_t>(address));
  case FloatFormat::F32:
    return load<float>(address);
  case FloatFormat::I32:
    return load<int32_t>(address);
  case FloatFormat::I64:
    return static_cast<double>(load<int64_t>(address));
  default:
    return load<uint8_t>(address);
  }
}

void storeElement(FloatFormat format, void *array, size_t index, double value) {
  char *address = static_cast<char *>(array) + index * formatSize(format);
  auto store = [&](auto element) {
    std::memcpy(address, &element, sizeof(element));
  };
  switch (format) {
  case FloatFormat::F16:
    return store(floatToF16(static_cast<float>(value)));
  case FloatFormat::BF16:
    return store(floatToBF16(static_cast<float>(value)));
  case FloatFormat::F32:
    return store(static_cast<float>(value));
  case FloatFormat::I32:
    return store(static_cast<int32_t>(value));
  case FloatFormat::I64:
    return store(static_cast<int64_t>(value));
  default:
    return store(static_cast<uint8_t>(value > 0));
  }
}

double roundTo(FloatFormat format, double value) {
  uint64_t element = 0;
  storeElement(format, &element, 0, value);
  return loadElement(format, &element, 0);
}

} // namespace lnbwd::reference
