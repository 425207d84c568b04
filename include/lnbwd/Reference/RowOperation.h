//===- RowOperation.h - One operation of a row program ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers, types and operations that row programs consist of, and the table
// of those on single numbers.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_ROWOPERATION_H
#define LNBWD_REFERENCE_ROWOPERATION_H

#include "lnbwd/Operations/Operations.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lnbwd::reference {

/// A number, of integers without a sign, and how far from it float32 arithmetic
/// may end up. Without a bound where it is infinite: a result that is beyond
/// float32, or depends on a condition that a rounding decides.
struct Bounded {
  double value = 0;
  double error = 0;

  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
};

/// The type of a value: of a scalar, a row, or a matrix. A scalar is no row of
/// length 1.
struct ValueType {
  Element element = Element::F32;
  /// None, N, or R and C.
  std::vector<int64_t> shape;

  int64_t size() const;
  bool operator==(const ValueType &other) const {
    return element == other.element && shape == other.shape;
  }
};

/// "f32", "512xbf16", "96x64xf32"; nothing if it is no such text, or of more
/// than 2^40 elements.
std::optional<ValueType> parseValueType(const std::string &text);

/// What an operation's name and type do not say of it.
struct OperationAttributes {
  /// Of a constant.
  double value = 0;
  /// Of a reduction: "add"; of a comparison: "olt"; of an index: the number
  /// that it is made of.
  std::string choice;
  /// Computed less exactly, as the flag `afn` allows.
  bool approximate = false;
  /// Of a product with a matrix.
  bool transposed = false;
  /// Of an index: what that number is divided by, and modulo what, if not 0. Of
  /// blocks how far their elements are apart, and how many they are.
  int64_t divisor = 1, modulus = 0;
};

/// One operation of a program, whose result is a value of `type`.
struct RowOperation {
  std::string name;
  ValueType type;
  /// The values that it takes, by their numbers: the program's inputs first,
  /// then the operations' results.
  std::vector<size_t> operands;
  OperationAttributes attributes;
};

/// The rounding of float32: 2^-24.
constexpr double kRoundoff = 0x1p-24;

/// Computes one element of `operation` from those of its operands.
using Elementwise = Bounded (*)(const Bounded *x,
                                const RowOperation &operation);

/// An elementwise operation.
struct ElementwiseOperation {
  const char *name;
  size_t operands;
  Elementwise compute;
  /// Conditions and bytes, not floats.
  bool takesIntegers = false;
  /// Of those, only integers of 32 bits.
  bool takesNumbers = false;
};

/// The operation of that name, or null.
const ElementwiseOperation *findElementwise(const std::string &name);

/// Whether `operation` compares integers with their signs.
bool isSigned(const RowOperation &operation);

/// An integer of 32 bits, which has no sign here, with its sign.
double toSigned(double value);

/// Whether `operation`, a comparison, has a predicate that is known.
bool hasKnownPredicate(const RowOperation &operation);

/// A result with the bound of its error. Beyond float32 there is no bound,
/// unless one of the `count` operands is infinite or NaN for certain.
Bounded settle(double value, double error, const Bounded *x, size_t count);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_ROWOPERATION_H
