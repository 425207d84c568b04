//===- Inputs.cpp - What the kernel is fed with ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "lnbwd/Reference/Parallel.h"

#include <cmath>
#include <limits>

namespace lnbwd::run {

/// A random number by its place in a sequence (the mixing steps of splitmix64),
/// so that threads need not share a generator.
static uint64_t randomBits(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t z = seed * 0xd1342543de82ef95U + stream * 0xaf251af3b0f025b5U +
               (index + 1) * 0x9e3779b97f4a7c15U;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
  }
  return z;
}

/// From [0, 1), in steps of 2^-32.
static double uniform(uint64_t bits) {
  return static_cast<double>(bits & 0xffffffff) * 0x1p-32;
}

/// Standard normal: Box and Muller's transform of the word's two halves.
static double normal(uint64_t bits) {
  constexpr double kTwoPi = 6.283185307179586;
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(bits >> 32)));
  return radius * std::cos(kTwoPi * uniform(bits));
}

/// How far a row lies from the mean of all; how far from that the halves lie
/// that differ in one bit of the column's number, and those that differ in
/// whether two bits are equal; and how much wider the normal numbers of a half
/// of the first kind are.
constexpr double kRowShift = 0.5, kHalfShift = 0.25, kPairShift = 0.08,
                 kHalfScale = 0.0625;

/// The sequence of the rows' numbers whose bits say which halves lie above.
constexpr uint64_t kSigns = 0x5157a11d;

/// A number of a row block, from a standard normal one. Sums over parts of a
/// row differ by more than the error that is allowed, whatever bits of the
/// column's number tell the parts apart, so that a part that is added twice, or
/// not at all, shows. Row blocks have the same halves above, or all the others,
/// so that this holds of products, too, and sums over rows do not grow with
/// their number. All numbers together have about the mean 0 and the deviation
/// 1.
static double ofRow(double random, uint64_t seed, uint64_t stream, int64_t row,
                    int64_t column, int64_t columns) {
  int bits = 0;
  while (columns > int64_t(1) << bits)
    ++bits;
  const auto at = static_cast<uint64_t>(row);
  const uint64_t signs = randomBits(seed, kSigns, at);
  const uint64_t below =
      (static_cast<uint64_t>(column) ^ signs) & ((uint64_t(1) << bits) - 1);
  // The sums of 1 or -1 for each bit, and for each two bits.
  const double ones = bits - 2 * __builtin_popcountll(below),
               pairs = (ones * ones - bits) / 2;
  const double shift = (signs >> 63 ? kRowShift : -kRowShift) +
                       kHalfShift * ones + kPairShift * pairs;
  const bool isOther = randomBits(seed, kSigns + 1 + stream, at) & 1;
  const double variance =
      1 + kRowShift * kRowShift +
      bits * (kHalfShift * kHalfShift + kHalfScale * kHalfScale) +
      bits * (bits - 1) / 2 * (kPairShift * kPairShift);
  return ((isOther ? -shift : shift) + random * (1 + kHalfScale * ones)) /
         std::sqrt(variance);
}

/// A mean that the type still resolves steps well below 1 at.
static double largeMean(Element format) {
  switch (format) {
  case Element::F16:
    return 1e3;
  case Element::BF16:
    return 1e2;
  default:
    return 1e4;
  }
}

static double inputX(Init init, Element format, double random) {
  switch (init) {
  case Init::LargeMean:
    return largeMean(format) + random;
  case Init::TinyVariance:
    // A few of the type's steps around 1.
    return 1.0 + 8.0 * reference::unitRoundoff(format) * random;
  case Init::Huge:
    return (format == Element::F16 ? 1e4 : 1e30) * random;
  case Init::Denormal:
    return (format == Element::F16 ? 1e-6 : 1e-39) * random;
  default:
    return random;
  }
}

static double arange(std::optional<Role> input, int64_t index) {
  if (input == Role::Dy)
    return static_cast<double>(index * 7 % 251 - 125) / 128.0;
  if (input == Role::X)
    return static_cast<double>(index % 509 - 254) / 64.0;
  if (input && input != Role::Gamma && input != Role::Beta)
    return static_cast<double>(index * 5 % 241 - 120) / 128.0;
  return 1.0 + static_cast<double>(index % 17) / 16.0;
}

/// The number of an input's random sequence. Arguments that nothing is known of
/// have those behind the roles'.
static uint64_t streamOf(std::optional<Role> input, size_t place) {
  return input ? static_cast<uint64_t>(*input) : kRoleCount + place;
}

static double value(Init init, uint64_t seed, std::optional<Role> input,
                    Element format, int64_t row, int64_t column,
                    int64_t columns, const FillOptions &options) {
  const int64_t index = row * columns + column;
  const uint64_t stream = streamOf(input, options.place);
  uint64_t bits = randomBits(seed, stream, static_cast<uint64_t>(index));
  switch (init) {
  case Init::Uniform:
    return uniform(bits);
  case Init::Integers:
    return static_cast<double>(bits % 11) - 5.0;
  case Init::Zeros:
    return 0.0;
  case Init::Ones:
    return 1.0;
  case Init::Arange:
    return arange(input, index);
  default:
    break;
  }
  // What float64, in which the reference computes, has exactly.
  if (options.tableRows)
    return static_cast<double>(bits % options.tableRows);
  if (getInfo(format).use == ElementUse::Integer)
    return static_cast<double>(bits >> (format == Element::I64 ? 11 : 33));
  if (input == Role::Gamma)
    return options.gammaCentre + 0.25 * normal(bits);
  if (input == Role::Beta)
    return 0.25 * normal(bits);
  const double random = ofRow(normal(bits), seed, stream, row, column, columns);
  return input == Role::X ? inputX(init, format, random) : random;
}

const std::vector<InitDescription> &initDescriptions() {
  static const std::vector<InitDescription> descriptions = {
      {Init::Normal, "normal",
       "dy and x normal, parts of a row around other means; gamma around 1"},
      {Init::Uniform, "uniform", "all uniform from 0 to 1"},
      {Init::Integers, "integers", "all integers from -5 to 5"},
      {Init::Zeros, "zeros", "all 0"},
      {Init::Ones, "ones", "all 1"},
      {Init::Arange, "arange", "rising ramps, the same for every seed"},
      {Init::LargeMean, "large-mean",
       "normal; x around 1e4 (f32), 1e3 (f16), 1e2 (bf16)"},
      {Init::TinyVariance, "tiny-variance",
       "normal; x within a few roundings of 1"},
      {Init::Huge, "huge", "normal; x about 1e30 (f16: 1e4)"},
      {Init::Denormal, "denormal", "normal; x about 1e-39 (f16: 1e-6)"},
      {Init::NonFinite, "non-finite",
       "normal; one NaN and one infinity in dy, or forward in x"},
  };
  return descriptions;
}

const char *initName(Init init) {
  return initDescriptions()[static_cast<size_t>(init)].name;
}

void fillInput(Init init, uint64_t seed, std::optional<Role> input,
               Element format, int64_t rows, int64_t columns, void *array,
               const FillOptions &options) {
  const int64_t stride = options.stride ? options.stride : columns;
  reference::forEachPiece(
      rows, [&](unsigned, int64_t, int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          for (int64_t j = 0; j < columns; ++j)
            reference::storeElement(
                format, array, static_cast<size_t>(row * stride + j),
                value(init, seed, input, format, row, j, columns, options));
      });
  if (init != Init::NonFinite || input != options.nonFinite || rows == 0)
    return;
  reference::storeElement(format, array, static_cast<size_t>(columns / 2),
                          std::numeric_limits<float>::quiet_NaN());
  reference::storeElement(format, array,
                          static_cast<size_t>((rows - 1) * stride),
                          std::numeric_limits<float>::infinity());
}

void fillGaps(Element format, int64_t rowLength, int64_t rowStride,
              std::vector<char> &contents) {
  auto elements = static_cast<int64_t>(contents.size() / getInfo(format).bytes);
  for (int64_t row = 0; row < elements && rowStride > rowLength;
       row += rowStride)
    for (int64_t j = row + rowLength; j < row + rowStride; ++j)
      reference::storeElement(format, contents.data(), static_cast<size_t>(j),
                              std::numeric_limits<float>::quiet_NaN());
}

} // namespace lnbwd::run
