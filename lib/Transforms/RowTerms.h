//===- RowTerms.h - Even rows, row sums and monomials -----------*- C++ -*===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the algebra of row programs sees in their operations. A scalar that is a
// product is looked at as a monomial: a number times powers of other scalars. A
// row that is a scalar in all places (vector.broadcast, or a splat constant) is
// called *even* here. All rows and scalars are of float32.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWTERMS_H
#define LNBWD_LIB_TRANSFORMS_ROWTERMS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <optional>

namespace lnbwd {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether `value` is a vector of float32.
bool isRow(mlir::Value value);

/// The number that a float32 scalar or row is in all places.
std::optional<double> getConstant(mlir::Value value);

/// Whether `value` is a row that is seen to be a scalar in all places.
bool isEven(mlir::Value value);

/// The scalar that an even row has in all places.
mlir::Value getScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::Value even);

/// The row of type `row` that is `scalar` in all places.
mlir::Value makeSpread(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value scalar, mlir::Type row);

/// Products, sums and quotients that may be contracted.
mlir::Value makeMul(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lhs,
                    mlir::Value rhs);
mlir::Value makeAdd(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lhs,
                    mlir::Value rhs);
mlir::Value makeDiv(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lhs,
                    mlir::Value rhs);

/// `value`, rounded to float32.
mlir::Value makeScalar(mlir::OpBuilder &b, mlir::Location loc, double value);

/// The sum of a row's elements.
mlir::Value makeSum(mlir::OpBuilder &b, mlir::Location loc, mlir::Value row);

/// The row that a row sum adds up; null if `value` is none.
mlir::Value getRowOfSum(mlir::Value value);

/// How many elements a row has.
int64_t getLength(mlir::Value row);

//===----------------------------------------------------------------------===//
// Monomials and products
//===----------------------------------------------------------------------===//

/// coefficient * product of factor^exponent.
struct Monomial {
  double coefficient = 1;
  llvm::SmallMapVector<mlir::Value, int, 4> factors;

  void multiply(const Monomial &other, int exponent) {
    coefficient *= std::pow(other.coefficient, exponent);
    for (auto [factor, power] : other.factors)
      factors[factor] += power * exponent;
    factors.remove_if([](const auto &entry) { return entry.second == 0; });
  }
  /// Whether it divides `other` without turning an exponent around.
  bool divides(const Monomial &other) const {
    return llvm::all_of(factors, [&](const auto &entry) {
      auto known = other.factors.find(entry.first);
      if (known == other.factors.end())
        return false;
      int mine = entry.second, others = known->second;
      return (mine > 0) == (others > 0) && std::abs(mine) <= std::abs(others);
    });
  }
  bool hasSameFactors(const Monomial &other) const {
    return factors.size() == other.factors.size() && divides(other) &&
           other.divides(*this);
  }
};

/// What a scalar is the product of; a scalar that is no product is its own only
/// factor.
Monomial getMonomial(mlir::Value scalar);

/// The monomial of the scalar that an even row has in all places.
Monomial getMonomialOfEven(mlir::Value even);

/// Writes a monomial down: what is known before the row's sums first, with the
/// number, so that sums which share it need one multiplication each.
mlir::Value buildMonomial(mlir::OpBuilder &b, mlir::Location loc,
                          const Monomial &monomial);

/// A row that is a product, taken apart: rows and one scalar.
struct Product {
  llvm::SmallVector<mlir::Value> rows;
  llvm::SmallVector<mlir::Value> scalars;
  double coefficient = 1;
};

/// Multiplies `product` by the factors of `value`. Goes into a factor other
/// than the root only if nothing else uses it: a product that is needed anyway
/// stays whole.
void takeApart(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
               bool isRoot, Product &product);

/// `value` as row * even, where one operand of a multiplication is even.
std::optional<std::pair<mlir::Value, mlir::Value>>
matchScaled(mlir::Value value);

/// A product `row * even` other than `op`, computed before it, whose even
/// factor satisfies `accepts`; null if there is none.
mlir::Value findScaled(mlir::Operation *op, mlir::Value row,
                       llvm::function_ref<bool(const Monomial &)> accepts);

/// Whether `row` is some x - mean(x): then it sums to 0.
bool isCentred(mlir::Value row);

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWTERMS_H
