//===- NormalForm.cpp - Normal forms of rows and scalars ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of forms and their parts without making others.
//
//===----------------------------------------------------------------------===//

#include "NormalForm.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace lnbwd;

bool lnbwd::isNumber(const Polynomial &scale) {
  return scale.size() == 1 && scale.front().factors.empty();
}

bool lnbwd::isPowerOfTwo(const Polynomial &scale) {
  int exponent = 0;
  return isNumber(scale) &&
         std::abs(std::frexp(scale.front().coefficient, &exponent)) == 0.5;
}

bool lnbwd::isUnit(const Polynomial &scale) {
  return isNumber(scale) && std::abs(scale.front().coefficient) == 1;
}

int Monomial::getExponent(const Atom *atom) const {
  for (auto [factor, exponent] : factors)
    if (factor == atom)
      return exponent;
  return 0;
}

bool Monomial::divides(const Monomial &other) const {
  return llvm::all_of(factors, [&](const auto &factor) {
    int mine = factor.second, others = other.getExponent(factor.first);
    return (mine > 0) == (others > 0) && std::abs(mine) <= std::abs(others);
  });
}

unsigned Monomial::getNewest() const {
  unsigned newest = 0;
  for (auto [atom, exponent] : factors)
    newest = std::max(newest, atom->id);
  return newest;
}

bool lnbwd::isRow(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 1 && vector.getElementType().isF32();
}
