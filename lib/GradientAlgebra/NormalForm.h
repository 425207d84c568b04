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
// Numbers are real ones here. Atoms and forms are made once and compared by
// address.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_NORMALFORM_H
#define LNBWD_LIB_GRADIENTALGEBRA_NORMALFORM_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <map>
#include <set>
#include <vector>

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
    Scaled,    // `lhs * scale`, which is computed once (Simplify.cpp).
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

/// A total order that does not depend on the order of a program's operations.
/// Atoms have to be of one AtomOrder.
int compare(const Atom *lhs, const Atom *rhs);
int compare(const Form *lhs, const Form *rhs);
/// Of the factors alone.
int compare(const Monomial &lhs, const Monomial &rhs);

/// The atoms of one program in order.
class AtomOrder {
public:
  /// Gives `atom` its rank; those of others may change, but not their order.
  /// What it is made of has to be here.
  void insert(const Atom *atom);

private:
  struct ComparesParts {
    bool operator()(const Atom *lhs, const Atom *rhs) const;
  };
  std::set<const Atom *, ComparesParts> sorted;
};

/// Whether `scale` is a number other than 0.
bool isNumber(const Polynomial &scale);

/// Whether `scale` is a number by which multiplying does not round.
bool isPowerOfTwo(const Polynomial &scale);

/// Whether a polynomial is the number 1 or -1.
bool isUnit(const Polynomial &scale);

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

/// The forms of all values of a row program's region, in the order in which it
/// computes them. The region's operations have one result and no regions, as
/// canReadForms checks.
llvm::MapVector<mlir::Value, const Form *> readForms(RowForms &forms,
                                                     RowwiseOp op);

/// Whether all operations of the region are of the kind that readForms reads.
bool canReadForms(RowwiseOp op);

/// Whether `type` is that of a row of float32, of any length.
bool isRow(mlir::Type type);

/// The row of float32 that a row sum adds up; null if `op` is none.
mlir::Value getRowOfSum(mlir::Operation *op);

/// Puts what computes `outputs`, a form for each output of `op`, in the place
/// of the region's operations. The atoms are those of the region.
void writeForms(RowForms &forms, RowwiseOp op,
                llvm::ArrayRef<const Form *> outputs);

/// What the outputs of a program need, and what it would cost if they were
/// written as they are: by this the ways to write them are compared.
class NeededForms {
public:
  explicit NeededForms(llvm::ArrayRef<const Form *> outputs);

  /// Of an atom: how many places it is used in.
  unsigned countUses(const Atom *atom) const { return uses.lookup(atom); }
  /// Whether a product is one step of a chain of fused multiply-adds, and
  /// nothing else.
  bool isFused(const Atom *product) const {
    return uses.lookup(product) == 1 && terms.contains(product);
  }
  /// Whether a form is a value of its own, and not only a part of others.
  bool contains(const Form *form) const { return visited.contains(form); }
  llvm::ArrayRef<const Atom *> getAtoms() const { return atoms; }
  llvm::ArrayRef<const Form *> getForms() const {
    return visited.getArrayRef();
  }

  /// How many sums over the row there are.
  unsigned countRowSums() const;
  /// Operations on each element of the row, a division as eight.
  unsigned countRowOperations() const;
  /// By how much exponents are above 1: squares and cubes leave the range of
  /// float32 sooner.
  unsigned countPowers() const { return powers; }

private:
  void visit(const Form *form);
  void visit(const Monomial &monomial);
  void use(const Atom *atom);

  llvm::DenseMap<const Atom *, unsigned> uses;
  /// Products that are terms of a sum, with the scale 1 or -1.
  llvm::DenseSet<const Atom *> terms;
  llvm::SmallVector<const Atom *> atoms;
  llvm::SetVector<const Form *> visited;
  unsigned powers = 0;
};

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_NORMALFORM_H
