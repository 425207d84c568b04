//===- NormalForm.h - Normal forms of rows and scalars ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra of one row: each float32 value as a sum of monomials, with row
// sums as atoms. docs/math.md says what a normal form is, which laws it
// uses and which not, and why.
//
// Numbers are real ones here. Atoms and forms are made once (MakeForms.h) and
// compared by address.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_NORMALFORM_H
#define LNBWD_LIB_GRADIENTALGEBRA_NORMALFORM_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>

namespace lnbwd {

struct Atom;
struct Form;

/// coefficient * product of scalar atom ^ exponent; exponents are not 0, and
/// factors are in the order of compare().
struct Monomial {
  Monomial(double coefficient = 1) : coefficient(coefficient) {}
  Monomial(const Atom *atom, int exponent = 1) : factors{{atom, exponent}} {}

  double coefficient = 1;
  llvm::SmallVector<std::pair<const Atom *, int>, 4> factors;

  /// 0 where `atom` is no factor.
  int getExponent(const Atom *atom) const;
  /// Whether it divides `other` without turning an exponent around.
  bool divides(const Monomial &other) const;
  /// The largest id of its factors.
  unsigned getNewest() const;
};

/// A scalar: monomials of different factors, in order; none of them is 0.
using Polynomial = llvm::SmallVector<Monomial, 1>;

/// scale * row; without a row, what is the same in all places of a row.
struct Term {
  const Atom *row = nullptr;
  Polynomial scale;
};

/// A row or a scalar as a sum of terms of different rows, in order; none of
/// them is 0. A scalar and the row that has it in all places have one form.
struct Form {
  unsigned id = 0;
  /// The largest id of an atom in it, or in what those are made of.
  unsigned newest = 0;
  /// Where the program computes it first.
  unsigned position = 0;
  llvm::SmallVector<Term, 2> terms;

  bool isEven() const { return terms.empty() || !terms.back().row; }
  /// How many elements a row that is not even has. An even one may be of any
  /// length.
  int64_t getLength() const;
  /// The scalar of an even row.
  Polynomial getScalar() const {
    return terms.empty() ? Polynomial() : terms.front().scale;
  }
};

/// What monomials are made of. The kinds are in the order of compare().
struct Atom {
  enum class Kind {
    Argument,  // A block argument.
    Operation, // An operation that the algebra does not look into.
    Product,   // A product of rows.
    Quotient,  // `lhs / operands[0]`, rows; 1 / operands[0] without lhs.
    Sum,       // A sum that is a factor: operands[0].
    Scaled,    // `lhs * scale`, which is computed once (Share.cpp).
    RowSum,    // The sum of the elements of the row `lhs`.
  };
  Atom(Kind kind, int64_t length) : kind(kind), length(length) {}

  bool isRow() const { return length != 0; }

  Kind kind;
  /// How many elements a row has; 0: it is a scalar. In a program with matrices
  /// rows have lengths of their own.
  int64_t length;
  /// Larger than those of the atoms that it is made of.
  unsigned id = 0;
  /// Grows in the order of compare(); of AtomOrder.
  mutable uint64_t rank = 0;
  /// Where the program computes it: that is the order of what is written.
  unsigned position = 0;
  /// Of Argument the value, of Operation the result of one that is like it.
  mlir::Value value;
  /// Whether an operation on rows is one on scalars, since its operands are
  /// even.
  bool isOnScalars = false;
  llvm::SmallVector<const Form *, 2> operands;
  /// Of Product: all rows, in order, as often as they are factors.
  llvm::SmallVector<const Atom *, 2> factors;
  /// Of Product: how it is written, `lhs * rhs`, as the program groups it.
  const Atom *lhs = nullptr, *rhs = nullptr;
  Monomial scale;
};

inline int64_t Form::getLength() const { return terms.back().row->length; }

/// Whether `scale` is a number other than 0.
bool isNumber(const Polynomial &scale);

/// Whether `scale` is a number by which multiplying does not round.
bool isPowerOfTwo(const Polynomial &scale);

/// Whether a polynomial is the number 1 or -1.
bool isUnit(const Polynomial &scale);

/// Whether `type` is that of a row of float32, of any length.
bool isRow(mlir::Type type);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_NORMALFORM_H
