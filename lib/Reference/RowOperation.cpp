//===- RowOperation.cpp - One operation of a row program ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads types as MLIR writes them, without their brackets. Of operations on
// single numbers each is computed in float64, with how far float32 may be off:
// what the operands' errors make of the result, and the operation's own
// rounding. The functions' are the bounds of docs/numerics.md, in units of the
// last place.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/RowProgram.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

namespace lnbwd::reference {

constexpr int64_t kMaxElements = int64_t(1) << 40;

int64_t ValueType::size() const {
  int64_t result = 1;
  for (int64_t length : shape)
    result *= length;
  return result;
}

std::optional<ValueType> parseValueType(const std::string &text) {
  ValueType type;
  size_t begin = 0;
  int64_t elements = 1;
  for (size_t x = text.find('x'); x != std::string::npos;
       begin = x + 1, x = text.find('x', begin)) {
    int64_t length = 0;
    const char *end = text.data() + x;
    if (std::from_chars(text.data() + begin, end, length).ptr != end ||
        length < 1 || length > kMaxElements / elements)
      return std::nullopt;
    elements *= length;
    type.shape.push_back(length);
  }
  std::optional<Element> element = findElement(text.substr(begin));
  if (!element || type.shape.size() > 2)
    return std::nullopt;
  type.element = *element;
  return type;
}

/// A unit in the last place, relative to the number.
constexpr double kUnit = 2 * kRoundoff;
/// Results of functions and quotients that are smaller may be 0.
constexpr double kSmallestNormal = 0x1p-126;
constexpr double kSmallestSubnormal = 0x1p-149;
/// Of functions computed less exactly, beside 1.
constexpr double kApproximateError = 5e-7;

Bounded settle(double value, double error, const Bounded *x, size_t count) {
  if (std::abs(value) <= std::numeric_limits<float>::max())
    return {value, std::isnan(error) ? Bounded::kNoBound : error};
  bool isExact = true, isGiven = false;
  for (size_t i = 0; i < count; ++i)
    isExact = isExact && x[i].error == 0;
  for (size_t i = 0; i < count; ++i)
    isGiven =
        isGiven || (!std::isfinite(x[i].value) && x[i].error == 0 &&
                    (isExact || std::isinf(value) || std::isnan(x[i].value)));
  return {value, isGiven ? 0 : Bounded::kNoBound};
}

/// The rounding of a sum or product.
static double rounding(double value) {
  return value == 0 ? 0 : kRoundoff * std::abs(value) + kSmallestSubnormal;
}

static Bounded negate(const Bounded *x, const RowOperation &) {
  return {-x[0].value, x[0].error};
}

static Bounded keep(const Bounded *x, const RowOperation &) { return x[0]; }

static Bounded add(const Bounded *x, const RowOperation &) {
  double value = x[0].value + x[1].value;
  return settle(value, x[0].error + x[1].error + rounding(value), x, 2);
}

static Bounded subtract(const Bounded *x, const RowOperation &operation) {
  const Bounded terms[] = {x[0], negate(x + 1, operation)};
  return add(terms, operation);
}

static double productError(const Bounded &a, const Bounded &b) {
  return std::abs(a.value) * b.error + std::abs(b.value) * a.error +
         a.error * b.error;
}

static Bounded multiply(const Bounded *x, const RowOperation &) {
  double value = x[0].value * x[1].value;
  return settle(value, productError(x[0], x[1]) + rounding(value), x, 2);
}

/// Rounded once or, as `x * y + z`, twice.
static Bounded multiplyAdd(const Bounded *x, const RowOperation &) {
  double product = x[0].value * x[1].value;
  double value = product + x[2].value;
  return settle(value,
                productError(x[0], x[1]) + x[2].error + rounding(product) +
                    rounding(value),
                x, 3);
}

/// Three units where it is a product with the reciprocal, as a sigmoid's is;
/// two where it is NVIDIA's inexact one.
static Bounded divide(const Bounded *x, const RowOperation &operation) {
  double value = x[0].value / x[1].value;
  double least = std::abs(x[1].value) - x[1].error;
  double most = std::abs(x[1].value) + x[1].error;
  // Where the reciprocal counts as 0 or infinity.
  bool isOutside =
      operation.attributes.approximate && (least < 0x1p-126 || most >= 0x1p126);
  if (!(least > 0) || isOutside)
    return {value, Bounded::kNoBound};
  double error = (x[0].error + std::abs(value) * x[1].error) / least +
                 3 * kUnit * std::abs(value) + kSmallestNormal;
  return settle(value, error, x, 2);
}

/// maxnumf and minnumf take the number beside a NaN, maximumf and minimumf the
/// NaN.
template <double (*Pick)(double, double)>
static Bounded extreme(const Bounded *x, const RowOperation &operation) {
  double a = x[0].value, b = x[1].value;
  bool takesNaN = operation.name.find("imumf") != std::string::npos;
  double value =
      takesNaN && (std::isnan(a) || std::isnan(b)) ? a + b : Pick(a, b);
  return {value, std::max(x[0].error, x[1].error)};
}

static Bounded absolute(const Bounded *x, const RowOperation &) {
  return {std::abs(x[0].value), x[0].error};
}

/// What an error of the operand makes of a function that rises or falls
/// throughout.
template <typename Function>
static double spread(const Bounded &x, Function function) {
  if (x.error == 0)
    return 0;
  double value = function(x.value);
  double below = std::abs(function(x.value - x.error) - value);
  double above = std::abs(function(x.value + x.error) - value);
  return below >= above ? below : above; // NaN if one of them is
}

/// A step function, exact but for the operand's error.
template <double (*Function)(double)>
static Bounded step(const Bounded *x, const RowOperation &) {
  return settle(Function(x[0].value), spread(x[0], Function), x, 1);
}

static Bounded truncate(const Bounded *x, const RowOperation &operation) {
  Element format = operation.type.element;
  auto round = [&](double value) { return roundTo(format, value); };
  return settle(round(x[0].value), spread(x[0], round), x, 1);
}

/// A function with an error of `units`, and what else it is off by.
template <typename Function>
static Bounded evaluate(const Bounded *x, Function function, double units,
                        double more = 0) {
  double value = function(x[0].value);
  return settle(value,
                spread(x[0], function) + units * kUnit * std::abs(value) +
                    kSmallestNormal + more,
                x, 1);
}

/// What an approximate function is off by besides.
static double approximateError(double value, const RowOperation &operation) {
  return operation.attributes.approximate
             ? kApproximateError * std::max(1.0, std::abs(value))
             : 0;
}

/// One of the functions that are off by an absolute error where they are
/// approximate.
template <double (*Function)(double), int Units>
static Bounded function(const Bounded *x, const RowOperation &operation) {
  return evaluate(x, Function, Units,
                  approximateError(Function(x[0].value), operation));
}

/// An approximate exponential has an error that grows with its operand.
template <double (*Function)(double), int Units>
static Bounded exponential(const Bounded *x, const RowOperation &operation) {
  double more = operation.attributes.approximate ? std::abs(x[0].value) / 2 : 0;
  return evaluate(x, Function, Units + more);
}

/// Approximate, it is off as tanh is, and where it is large as exp is.
static Bounded expMinusOne(const Bounded *x, const RowOperation &operation) {
  Bounded result = function<std::expm1, 8>(x, operation);
  if (operation.attributes.approximate)
    result.error += kRoundoff * std::abs(x[0].value * result.value);
  return std::isnan(result.error) ? Bounded{result.value, Bounded::kNoBound}
                                  : result;
}

/// Roots and logarithms that are approximate take subnormal numbers for 0.
template <Elementwise Exact>
static Bounded orSubnormal(const Bounded *x, const RowOperation &operation) {
  Bounded result = Exact(x, operation);
  if (operation.attributes.approximate && x[0].value != 0 &&
      std::abs(x[0].value) - x[0].error < kSmallestNormal)
    result.error = Bounded::kNoBound;
  return result;
}

static double reciprocalRoot(double x) { return 1 / std::sqrt(x); }

static double exp2OfDouble(double x) { return std::exp2(x); }

/// Not monotone; their slope is at most 1.
template <double (*Function)(double)>
static Bounded wave(const Bounded *x, const RowOperation &) {
  double value = Function(x[0].value);
  return settle(value, std::min(x[0].error, 2.0) + kApproximateError, x, 1);
}

/// The exponent is a constant.
static Bounded power(const Bounded *x, const RowOperation &operation) {
  double exponent = x[1].value;
  auto raise = [&](double base) { return std::pow(base, exponent); };
  // Between the ends lies a pole.
  bool hasPole = exponent < 0 && x[0].error >= std::abs(x[0].value);
  if (x[1].error != 0 || hasPole)
    return {raise(x[0].value), Bounded::kNoBound};
  double units = 11;
  if (operation.attributes.approximate && x[0].value != 0)
    units += 2 * std::abs(exponent * std::log2(std::abs(x[0].value)));
  return evaluate(x, raise, units);
}

static Bounded copySign(const Bounded *x, const RowOperation &) {
  bool isSure = x[1].error == 0 || std::abs(x[1].value) > x[1].error;
  double value = std::copysign(x[0].value, x[1].value);
  return {value, x[0].error + (isSure ? 0 : 2 * std::abs(value))};
}

namespace {
/// A predicate of arith.cmpf or arith.cmpi by the four ways in which two
/// numbers may lie to each other.
struct Predicate {
  const char *name;
  bool isLess, isEqual, isGreater, isUnordered;
};
} // namespace

static const Predicate *findPredicate(const RowOperation &operation) {
  static const Predicate ofFloats[] = {
      {"oeq", false, true, false, false}, {"ogt", false, false, true, false},
      {"oge", false, true, true, false},  {"olt", true, false, false, false},
      {"ole", true, true, false, false},  {"one", true, false, true, false},
      {"ord", true, true, true, false},   {"ueq", false, true, false, true},
      {"ugt", false, false, true, true},  {"uge", false, true, true, true},
      {"ult", true, false, false, true},  {"ule", true, true, false, true},
      {"une", true, false, true, true},   {"uno", false, false, false, true}};
  static const Predicate ofIntegers[] = {
      {"eq", false, true, false, false},  {"ne", true, false, true, false},
      {"ugt", false, false, true, false}, {"uge", false, true, true, false},
      {"ult", true, false, false, false}, {"ule", true, true, false, false},
      {"sgt", false, false, true, false}, {"sge", false, true, true, false},
      {"slt", true, false, false, false}, {"sle", true, true, false, false}};
  auto find = [&](const auto &predicates) -> const Predicate * {
    for (const Predicate &predicate : predicates)
      if (operation.attributes.choice == predicate.name)
        return &predicate;
    return nullptr;
  };
  return operation.name == "arith.cmpi" ? find(ofIntegers) : find(ofFloats);
}

bool hasKnownPredicate(const RowOperation &operation) {
  return findPredicate(operation) != nullptr;
}

bool isSigned(const RowOperation &operation) {
  return operation.name == "arith.cmpi" &&
         operation.attributes.choice[0] == 's';
}

double toSigned(double value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}

/// A condition that a rounding decides has the error 1: it may be the other.
static Bounded compare(const Bounded *x, const RowOperation &operation) {
  const Predicate &predicate = *findPredicate(operation);
  double a = x[0].value, b = x[1].value, error = x[0].error + x[1].error;
  if (isSigned(operation)) {
    a = toSigned(a);
    b = toSigned(b);
  }
  bool holds = a < b    ? predicate.isLess
               : a == b ? predicate.isEqual
               : a > b  ? predicate.isGreater
                        : predicate.isUnordered;
  bool isSure = error == 0 || std::abs(a - b) > error;
  return {holds ? 1.0 : 0.0, isSure ? 0.0 : 1.0};
}

static Bounded select(const Bounded *x, const RowOperation &) {
  Bounded result = x[0].value != 0 ? x[1] : x[2];
  if (x[0].error != 0) {
    result.error =
        std::abs(x[1].value - x[2].value) + std::max(x[1].error, x[2].error);
    if (std::isnan(result.error))
      result.error = Bounded::kNoBound;
  }
  return result;
}

/// Bits of conditions and bytes.
template <typename Combine>
static Bounded combineBits(const Bounded *x, const RowOperation &) {
  auto bits = Combine()(static_cast<unsigned>(x[0].value),
                        static_cast<unsigned>(x[1].value));
  return {static_cast<double>(bits), std::max(x[0].error, x[1].error)};
}

/// Integers of 32 bits, modulo 2^32.
template <typename Combine>
static Bounded combineNumbers(const Bounded *x, const RowOperation &) {
  uint32_t result = Combine()(static_cast<uint32_t>(x[0].value),
                              static_cast<uint32_t>(x[1].value));
  bool isSure = x[0].error == 0 && x[1].error == 0;
  return {static_cast<double>(result), isSure ? 0 : Bounded::kNoBound};
}

/// A division by 0 is undefined: it gives 0, as the product does.
template <typename Divide>
static Bounded divideNumbers(const Bounded *x, const RowOperation &operation) {
  return x[1].value != 0 ? combineNumbers<Divide>(x, operation)
                         : combineNumbers<std::multiplies<>>(x, operation);
}

/// The low 32 bits of a number of 64.
static Bounded truncateBits(const Bounded *x, const RowOperation &) {
  return {static_cast<double>(
              static_cast<uint32_t>(static_cast<int64_t>(x[0].value))),
          x[0].error};
}

/// A shift by 32 bits or more is undefined.
struct ShiftRight {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a >> (b & 31); }
};
struct ShiftSignRight {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31));
  }
};

/// The first word of Philox4x32-10 of the counter (x[1], 0, 0, 0).
static Bounded drawBits(const Bounded *x, const RowOperation &) {
  auto seed = static_cast<uint64_t>(static_cast<int64_t>(x[0].value));
  uint32_t key[] = {static_cast<uint32_t>(seed),
                    static_cast<uint32_t>(seed >> 32)};
  uint32_t counter[] = {static_cast<uint32_t>(x[1].value), 0, 0, 0};
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter[0] = static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0];
    counter[1] = static_cast<uint32_t>(second);
    counter[2] = static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1];
    counter[3] = static_cast<uint32_t>(first);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  bool isSure = x[0].error == 0 && x[1].error == 0;
  return {static_cast<double>(counter[0]), isSure ? 0 : Bounded::kNoBound};
}

/// An integer as a float: exact up to 24 bits.
static Bounded toFloat(double value, const Bounded *x) {
  double error = std::abs(value) > 0x1p24 ? rounding(value) : 0;
  return settle(value, x[0].error + error, x, 1);
}

static Bounded fromUnsigned(const Bounded *x, const RowOperation &) {
  return toFloat(x[0].value, x);
}

static Bounded fromSigned(const Bounded *x, const RowOperation &) {
  return toFloat(toSigned(x[0].value), x);
}

/// Beyond its type an integer is undefined.
static Bounded toInteger(const Bounded *x, const RowOperation &operation) {
  Bounded whole = step<std::trunc>(x, operation);
  if (!(std::abs(whole.value) < 0x1p32))
    return {0, Bounded::kNoBound};
  if (operation.type.element == Element::I32)
    whole.value = static_cast<uint32_t>(static_cast<int64_t>(whole.value));
  return whole;
}

static Bounded extendSign(const Bounded *x, const RowOperation &) {
  return {toSigned(x[0].value), x[0].error};
}

const ElementwiseOperation *findElementwise(const std::string &name) {
  static const ElementwiseOperation operations[] = {
      {"arith.addf", 2, add},
      {"arith.subf", 2, subtract},
      {"arith.mulf", 2, multiply},
      {"arith.divf", 2, divide},
      {"arith.negf", 1, negate},
      {"arith.maximumf", 2, extreme<std::fmax>},
      {"arith.maxnumf", 2, extreme<std::fmax>},
      {"arith.minimumf", 2, extreme<std::fmin>},
      {"arith.minnumf", 2, extreme<std::fmin>},
      {"arith.cmpf", 2, compare},
      {"arith.cmpi", 2, compare, /*takesIntegers=*/true},
      {"arith.select", 3, select},
      {"arith.andi", 2, combineBits<std::bit_and<>>, /*takesIntegers=*/true},
      {"arith.ori", 2, combineBits<std::bit_or<>>, /*takesIntegers=*/true},
      {"arith.xori", 2, combineBits<std::bit_xor<>>, /*takesIntegers=*/true},
      {"arith.extf", 1, keep},
      {"arith.extui", 1, keep, /*takesIntegers=*/true},
      {"arith.uitofp", 1, fromUnsigned, /*takesIntegers=*/true},
      {"arith.sitofp", 1, fromSigned, true, /*takesNumbers=*/true},
      {"arith.fptosi", 1, toInteger},
      {"arith.fptoui", 1, toInteger},
      {"arith.extsi", 1, extendSign, true, true},
      {"arith.addi", 2, combineNumbers<std::plus<>>, true, true},
      {"arith.subi", 2, combineNumbers<std::minus<>>, true, true},
      {"arith.muli", 2, combineNumbers<std::multiplies<>>, true, true},
      {"arith.divui", 2, divideNumbers<std::divides<>>, true, true},
      {"arith.remui", 2, divideNumbers<std::modulus<>>, true, true},
      {"arith.shrui", 2, combineNumbers<ShiftRight>, true, true},
      {"arith.shrsi", 2, combineNumbers<ShiftSignRight>, true, true},
      {"arith.trunci", 1, truncateBits, true},
      {"lnbwd.philox", 2, drawBits, true},
      {"arith.truncf", 1, truncate},
      {"vector.fma", 3, multiplyAdd},
      {"math.fma", 3, multiplyAdd},
      {"math.absf", 1, absolute},
      {"math.copysign", 2, copySign},
      {"math.floor", 1, step<std::floor>},
      {"math.ceil", 1, step<std::ceil>},
      {"math.round", 1, step<std::round>},
      {"math.roundeven", 1, step<std::nearbyint>},
      {"math.trunc", 1, step<std::trunc>},
      {"math.exp", 1, exponential<std::exp, 5>},
      {"math.exp2", 1, exponential<exp2OfDouble, 4>},
      {"math.expm1", 1, expMinusOne},
      {"math.log", 1, orSubnormal<function<std::log, 3>>},
      {"math.log2", 1, orSubnormal<function<std::log2, 3>>},
      {"math.log1p", 1, function<std::log1p, 5>},
      {"math.tanh", 1, function<std::tanh, 4>},
      {"math.erf", 1, function<std::erf, 4>},
      {"math.sqrt", 1, orSubnormal<function<std::sqrt, 3>>},
      {"math.rsqrt", 1, orSubnormal<function<reciprocalRoot, 4>>},
      {"math.sin", 1, wave<std::sin>},
      {"math.cos", 1, wave<std::cos>},
      {"math.powf", 2, power},
      {"math.fpowi", 2, power},
  };
  for (const ElementwiseOperation &operation : operations)
    if (name == operation.name)
      return &operation;
  return nullptr;
}

} // namespace lnbwd::reference
