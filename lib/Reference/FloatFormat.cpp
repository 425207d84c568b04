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
  const char *name;
  double unitRoundoff, smallestSubnormal, overflowThreshold;
};
} // namespace

/// In the order of the formats; those of bytes nobody asks for.
static constexpr FormatFacts facts[] = {
    {"f16", 0x1p-11, 0x1p-24, 0x1p16 - 0x1p4},
    {"bf16", 0x1p-8, 0x1p-133, 0x1p128 - 0x1p119},
    {"f32", 0x1p-24, 0x1p-149, 0x1p128 - 0x1p103},
    {"i8", 0x1p-24, 0x1p-149, 0x1p128 - 0x1p103}};

static const FormatFacts &factsOf(FloatFormat format) {
  return facts[static_cast<size_t>(format)];
}

const char *formatName(FloatFormat format) { return factsOf(format).name; }

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

float loadElement(FloatFormat format, const void *array, size_t index) {
  const char *address =
      static_cast<const char *>(array) + index * formatSize(format);
  if (format == FloatFormat::F32) {
    float value;
    std::memcpy(&value, address, sizeof(value));
    return value;
  }
  if (format == FloatFormat::I8)
    return static_cast<float>(static_cast<unsigned char>(*address));
  uint16_t bits;
  std::memcpy(&bits, address, sizeof(bits));
  return format == FloatFormat::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
}

void storeElement(FloatFormat format, void *array, size_t index, float value) {
  char *address = static_cast<char *>(array) + index * formatSize(format);
  if (format == FloatFormat::F32) {
    std::memcpy(address, &value, sizeof(value));
    return;
  }
  if (format == FloatFormat::I8) {
    *address = value > 0 ? 1 : 0;
    return;
  }
  uint16_t bits =
      format == FloatFormat::BF16 ? floatToBF16(value) : floatToF16(value);
  std::memcpy(address, &bits, sizeof(bits));
}

double roundTo(FloatFormat format, double value) {
  uint32_t element = 0;
  storeElement(format, &element, 0, static_cast<float>(value));
  return loadElement(format, &element, 0);
}

} // namespace lnbwd::reference
