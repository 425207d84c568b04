//===- RowSubstitutions.h - One atom for many in forms ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ways to write equal forms: what is put in the place of what. Which of them
// pay is for others to say.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWSUBSTITUTIONS_H
#define LNBWD_LIB_TRANSFORMS_ROWSUBSTITUTIONS_H

#include "NeededForms.h"
#include "RowForms.h"

#include <algorithm>
#include <optional>

namespace lnbwd {

/// Maps forms to forms, the parts of each before itself.
class Substitution {
public:
  /// What is made of atoms older than `newest` alone stays as it is: that is
  /// the newest atom of what is replaced.
  Substitution(RowForms &forms, unsigned newest)
      : forms(forms), newest(newest) {}
  virtual ~Substitution() = default;

  const Form *map(const Form *form);

protected:
  const Atom *map(const Atom *atom);
  Polynomial map(const Polynomial &polynomial);

  virtual const Form *mapForm(const Form *form);
  virtual Polynomial mapPolynomial(const Polynomial &polynomial);
  virtual Monomial mapMonomial(const Monomial &monomial);
  /// Of a term whose parts are mapped.
  virtual Term mapTerm(Term term) { return term; }

  /// Takes `monomial` out of `polynomial`; false if it is not there.
  static bool take(Polynomial &polynomial, const Monomial &monomial);
  static Monomial power(const Atom *atom);
  void append(llvm::SmallVectorImpl<Term> &terms, const Term &term);

  RowForms &forms;
  unsigned newest;

private:
  const Atom *mapAtom(const Atom *atom);

  llvm::DenseMap<const Form *, const Form *> mappedForms;
  llvm::DenseMap<const Atom *, const Atom *> mappedAtoms;
};

/// Puts w / s in the place of the row v, w = v * s, wherever the scale has the
/// factor s; so in s * sum(a * v), which is sum(a * w).
class UseScaledRow : public Substitution {
public:
  UseScaledRow(RowForms &forms, const Atom *row, const Monomial &scale)
      : Substitution(forms, std::max(row->id, scale.getNewest())), row(row),
        scale(scale), scaled(forms.makeScaled(row, scale)) {}

  /// Whether something may be gained, as far as a look at each term tells. w
  /// takes an operation itself, so that a single place gains nothing but lower
  /// powers; `isFree` is whether it is there in any case.
  bool isUseful(const NeededForms &needed, bool isFree) const;

private:
  /// How often v is a factor, as the products are grouped.
  unsigned countRow(const Atom *atom) const;
  /// `atom` with w in the place of one v.
  const Atom *replaceOne(const Atom *atom);

protected:
  Term mapTerm(Term term) override;
  Monomial mapMonomial(const Monomial &monomial) override;

private:
  const Atom *row;
  Monomial scale;
  const Atom *scaled;
};

/// Puts k / c in the place of the scalar a, where k = c * a.
class UseScaledScalar : public Substitution {
public:
  UseScaledScalar(RowForms &forms, const Atom *scalar, const Monomial &scale)
      : Substitution(forms, scalar->id), scalar(scalar), scale(scale),
        scaled(forms.makeScaled(scalar, scale)) {}

protected:
  Monomial mapMonomial(const Monomial &monomial) override;

private:
  const Atom *scalar;
  Monomial scale;
  const Atom *scaled;
};

/// Makes one atom of a sum, where it is a part of other sums.
class UseSum : public Substitution {
public:
  UseSum(RowForms &forms, const Form *sum)
      : Substitution(forms, sum->newest), sum(sum), atom(forms.makeSum(sum)) {}

  /// Whether something may be gained: in a single place, that the sum is there
  /// in any case.
  bool isUseful(const NeededForms &needed) const;

private:
  /// What is left of `form` without the sum, if that is a part of it. Terms are
  /// in one order everywhere.
  std::optional<llvm::SmallVector<Term, 2>> takeSum(const Form *form) const;

protected:
  const Form *mapForm(const Form *form) override;

private:
  const Form *sum;
  const Atom *atom;
};

/// Puts sum(a + b) in the place of sum(a) + sum(b), with any common factor.
class UseRowSum : public Substitution {
public:
  UseRowSum(RowForms &forms, const Form *row);

  /// Whether there may be fewer row sums, as far as numbers of uses and the
  /// first part tell: those that are in the fewest places alone can be parts of
  /// the whole sum in all their places.
  bool isUseful(const NeededForms &needed) const;

protected:
  Polynomial mapPolynomial(const Polynomial &polynomial) override;

private:
  Polynomial parts;
  const Atom *sum;
};

/// c * sum(a) + c * sum(b) is c * sum(a + b), where nothing else needs the two.
class MergeRowSums : public Substitution {
public:
  MergeRowSums(RowForms &forms, const NeededForms &needed)
      : Substitution(forms, 0), needed(needed) {}

private:
  /// `monomial` as rest * row sum, the row of which is put out.
  const Atom *takeRowSum(const Monomial &monomial, Monomial &rest) const;

protected:
  Polynomial mapPolynomial(const Polynomial &polynomial) override;

private:
  const NeededForms &needed;
};

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWSUBSTITUTIONS_H
