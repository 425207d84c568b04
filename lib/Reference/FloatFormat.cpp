//===- FloatFormat.cpp - The types of elements on the host ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/FloatFormat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

/// What is asked of a format; of no float as of float32.
static const ElementInfo &factsOf(Element format) {
  const ElementInfo &info = getInfo(format);
  return info.isFloat() ? info : getInfo(Element::F32);
}

/// The pattern without its sign, all ones.
static uint32_t magnitudeMask(const ElementInfo &info) {
  return (uint32_t(1) << (8 * info.bytes - 1)) - 1;
}

/// The value of a pattern that is a finite number, without its sign.
static float finiteValue(const ElementInfo &info, uint32_t magnitude) {
  // Exponents are off by the difference of the biases; subnormal numbers are
  // such of float32.
  float factor = floatOf(static_cast<uint32_t>(254 - info.bias) << 23);
  return floatOf(magnitude << (23 - info.fraction)) * factor;
}

double unitRoundoff(Element format) {
  return std::ldexp(1, -1 - factsOf(format).fraction);
}

double smallestSubnormal(Element format) {
  return finiteValue(factsOf(format), 1);
}

double overflowThreshold(Element format) {
  const ElementInfo &info = factsOf(format);
  if (info.saturates())
    return std::numeric_limits<double>::infinity();
  // Half a unit above the largest number a tie goes to even, here infinity.
  double largest = finiteValue(info, info.largest);
  return largest + (largest - finiteValue(info, info.largest - 1)) / 2;
}

uint32_t encode(Element format, float value) {
  const ElementInfo &info = getInfo(format);
  uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffff;
  if (info.isExponent())
    return magnitude >> 23;
  uint32_t sign = (bits >> 31) * (magnitudeMask(info) + 1);
  if (std::isnan(value))
    return info.hasOneZero() ? magnitudeMask(info) + 1
                             : sign | magnitudeMask(info);
  // A subnormal result is a multiple of the smallest one: added to a number
  // whose own last bit is worth that, the host's addition rounds it there.
  int shift = 23 - info.fraction;
  uint32_t code;
  if (magnitude < static_cast<uint32_t>(128 - info.bias) << 23) {
    uint32_t unit = static_cast<uint32_t>(128 - info.bias + shift) << 23;
    code = bitsOf(floatOf(magnitude) + floatOf(unit)) - unit;
  } else {
    uint32_t odd = (magnitude >> shift) & 1;
    uint32_t half = (uint32_t(1) << shift) / 2;
    magnitude -= static_cast<uint32_t>(127 - info.bias) << 23;
    code = std::min((magnitude + half - 1 + odd) >> shift,
                    info.largest + (info.saturates() ? 0 : 1));
  }
  return info.hasOneZero() && code == 0 ? 0 : sign | code;
}

float decode(Element format, uint32_t bits) {
  const ElementInfo &info = getInfo(format);
  if (info.isExponent())
    return bits > info.largest ? std::numeric_limits<float>::quiet_NaN()
                               : floatOf(bits ? bits << 23 : 0x400000);
  uint32_t magnitude = bits & magnitudeMask(info);
  bool isNegative = bits != magnitude;
  if (info.hasOneZero() && isNegative && magnitude == 0)
    return std::numeric_limits<float>::quiet_NaN();
  float value = finiteValue(info, magnitude);
  if (magnitude > info.largest) {
    // An infinity has no fraction.
    uint32_t fraction = magnitude & ((uint32_t(1) << info.fraction) - 1);
    value = fraction ? std::numeric_limits<float>::quiet_NaN()
                     : std::numeric_limits<float>::infinity();
  }
  return isNegative ? -value : value;
}

template <typename T> static T load(const char *address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

double loadElement(Element format, const void *array, size_t index) {
  const char *address =
      static_cast<const char *>(array) + index * getInfo(format).bytes;
  switch (format) {
  case Element::F32:
    return load<float>(address);
  case Element::I32:
    return load<int32_t>(address);
  case Element::I64:
    return static_cast<double>(load<int64_t>(address));
  case Element::I16:
    return load<int16_t>(address);
  case Element::SI8:
    return load<int8_t>(address);
  case Element::I8:
  case Element::UI8:
    return load<uint8_t>(address);
  default:
    return decode(format, getInfo(format).bytes == 2 ? load<uint16_t>(address)
                                                     : load<uint8_t>(address));
  }
}

void storeElement(Element format, void *array, size_t index, double value) {
  char *address = static_cast<char *>(array) + index * getInfo(format).bytes;
  auto store = [&](auto element) {
    std::memcpy(address, &element, sizeof(element));
  };
  switch (format) {
  case Element::F32:
    return store(static_cast<float>(value));
  case Element::I32:
    return store(static_cast<int32_t>(value));
  case Element::I64:
    return store(static_cast<int64_t>(value));
  case Element::I16:
    return store(static_cast<int16_t>(value));
  case Element::SI8:
    return store(static_cast<int8_t>(value));
  case Element::UI8:
    return store(static_cast<uint8_t>(value));
  case Element::I8:
    return store(static_cast<uint8_t>(value > 0));
  default:
    uint32_t bits = encode(format, static_cast<float>(value));
    return getInfo(format).bytes == 2 ? store(static_cast<uint16_t>(bits))
                                      : store(static_cast<uint8_t>(bits));
  }
}

double roundTo(Element format, double value) {
  uint64_t element = 0;
  storeElement(format, &element, 0, value);
  return loadElement(format, &element, 0);
}

} // namespace lnbwd::reference
