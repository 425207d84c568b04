//===- MakeForms.h - Forms from smaller ones --------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The laws of the algebra: what the sum, the product, the quotient and the row
// sum of forms are.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_MAKEFORMS_H
#define LNBWD_LIB_GRADIENTALGEBRA_MAKEFORMS_H

#include "Compare.h"
#include "NormalForm.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <map>
#include <vector>

namespace lnbwd {

/// Makes forms of the rows of one program.
class RowForms {
public:
  //===--------------------------------------------------------------------===//
  // Atoms
  //===--------------------------------------------------------------------===//

  /// What atoms that are made from now on have as their position.
  unsigned position = 0;

  const Atom *makeArgument(mlir::Value value);
  const Atom *makeOperation(mlir::Value result,
                            llvm::ArrayRef<const Form *> operands,
                            bool isOnScalars);
  const Atom *makeScaled(const Atom *unscaled, const Monomial &scale);
  const Atom *makeProduct(const Atom *lhs, const Atom *rhs);
  const Atom *makeQuotient(const Atom *lhs, const Form *divisor);
  /// A sum as a factor; what is one atom is that.
  const Atom *makeSum(const Form *form);
  const Atom *makeRowSum(const Atom *row);

  //===--------------------------------------------------------------------===//
  // Forms
  //===--------------------------------------------------------------------===//

  const Form *makeForm(llvm::SmallVector<Term, 2> terms);
  const Form *makeForm(const Atom *atom);
  const Form *makeNumber(double number);
  const Form *makeEven(const Polynomial &scalar);
  const Form *add(const Form *lhs, const Form *rhs);
  const Form *negate(const Form *form);
  const Form *multiply(const Form *lhs, const Form *rhs);
  /// Null if the divisor is 0.
  const Form *divide(const Form *lhs, const Form *rhs);
  /// The scalar that is the sum of the `length` elements of a row. A row of one
  /// element is its sum, so that what is subtracted from itself is exactly 0:
  /// of sums that are computed apart there is a rounding error left, times
  /// rstd, which is large where the variance is 0.
  const Form *sumRow(const Form *form, int64_t length);
  /// A scalar as rows of any length can have it in all places: an even form,
  /// where `form` is a row of one element.
  const Form *makeScalar(const Form *form);

  /// `form` as scale * atom.
  std::pair<Polynomial, const Atom *> split(const Form *form);
  /// `polynomial` as one monomial, with a sum as an atom.
  Monomial toMonomial(const Polynomial &polynomial);

  Polynomial add(const Polynomial &lhs, const Polynomial &rhs);
  /// Of monomials in any order.
  Polynomial add(llvm::ArrayRef<Monomial> monomials);
  Polynomial multiply(const Polynomial &lhs, const Polynomial &rhs);
  /// A monomial as a polynomial: sums that are no factor of anything are sums,
  /// and what is known of a normalised row's squares is made use of.
  Polynomial toPolynomial(const Monomial &monomial);
  static Monomial multiply(const Monomial &lhs, const Monomial &rhs,
                           int exponent = 1);

private:
  using Key = std::vector<uint64_t>;
  /// The atom of this kind and key; `atom`, if there is none yet.
  const Atom *intern(Key key, Atom atom);
  const Form *scaleBy(const Form *form, const Polynomial &scale);
  const Form *makeTerm(const Atom *row, const Polynomial &scale);
  /// The sum of a row's elements, term by term.
  const Form *sumTerms(const Form *form, int64_t length);

  std::deque<Atom> atoms;
  AtomOrder order;
  std::deque<Form> forms;
  std::map<Key, const Atom *> atomsByKey;
  std::map<Key, const Form *> formsByKey;
};

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_MAKEFORMS_H
