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

/// Makes atoms of the rows of one program: one for all that are equal.
class RowAtoms {
public:
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

protected:
  using Key = std::vector<uint64_t>;

private:
  /// The atom of this kind and key; `atom`, if there is none yet.
  const Atom *intern(Key key, Atom atom);

  std::deque<Atom> atoms;
  AtomOrder order;
  std::map<Key, const Atom *> atomsByKey;
};

/// Makes forms of the rows of one program: one for all that are equal.
class RowForms : public RowAtoms {
public:
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

private:
  std::deque<Form> forms;
  std::map<Key, const Form *> formsByKey;
};

Monomial multiply(const Monomial &lhs, const Monomial &rhs, int exponent = 1);
Polynomial multiply(RowForms &forms, const Polynomial &lhs,
                    const Polynomial &rhs);
Polynomial add(RowForms &forms, const Polynomial &lhs, const Polynomial &rhs);
/// The sum of monomials in any order.
Polynomial add(RowForms &forms, llvm::ArrayRef<Monomial> monomials);

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_MAKEFORMS_H
