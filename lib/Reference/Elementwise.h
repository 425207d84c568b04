//===- Elementwise.h - Operations on single numbers -------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of elementwise operations of row programs.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_REFERENCE_ELEMENTWISE_H
#define LNBWD_LIB_REFERENCE_ELEMENTWISE_H

#include "lnbwd/Reference/RowOperation.h"

namespace lnbwd::reference {

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

/// Whether `operation`, a comparison, has a predicate that is known.
bool hasKnownPredicate(const RowOperation &operation);

/// A result with the bound of its error. Beyond float32 there is no bound,
/// unless one of the `count` operands is infinite or NaN for certain.
Bounded settle(double value, double error, const Bounded *x, size_t count);

} // namespace lnbwd::reference

#endif // LNBWD_LIB_REFERENCE_ELEMENTWISE_H
