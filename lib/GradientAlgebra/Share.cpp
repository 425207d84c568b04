//===- Share.cpp - What a program computes once ---------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ways to write equal forms, each a substitution of parts of forms, and the
// choice among them.
//
//===----------------------------------------------------------------------===//

#include "NeededForms.h"
#include "Steps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Ways to write equal forms: what is put in the place of what
//===----------------------------------------------------------------------===//

namespace {
/// Maps forms to forms, the parts of each before itself.
class Substitution {
public:
  /// What is made of atoms older than `newest` alone stays as it is: that is
  /// the newest atom of what is replaced.
  Substitution(RowForms &forms, unsigned newest)
      : forms(forms), newest(newest) {}
  virtual ~Substitution() = default;

  const Form *map(const Form *form) {
    if (form->newest < newest)
      return form;
    if (const Form *known = mappedForms.lookup(form))
      return known;
    return mappedForms[form] = mapForm(form);
  }

protected:
  const Atom *map(const Atom *atom) {
    if (!atom || atom->id < newest)
      return atom;
    if (const Atom *known = mappedAtoms.lookup(atom))
      return known;
    return mappedAtoms[atom] = mapAtom(atom);
  }
  Polynomial map(const Polynomial &polynomial) {
    bool isOlder = llvm::all_of(polynomial, [&](const Monomial &monomial) {
      return monomial.getNewest() < newest;
    });
    return isOlder ? polynomial : mapPolynomial(polynomial);
  }

  virtual const Form *mapForm(const Form *form) {
    SmallVector<Term, 2> terms;
    for (const Term &term : form->terms)
      append(terms, mapTerm({map(term.row), map(term.scale)}));
    forms.position = form->position;
    return forms.makeForm(terms);
  }
  virtual Polynomial mapPolynomial(const Polynomial &polynomial) {
    SmallVector<Monomial> result;
    for (const Monomial &monomial : polynomial)
      result.push_back(mapMonomial(monomial));
    return add(forms, result);
  }
  virtual Monomial mapMonomial(const Monomial &monomial) {
    Monomial result(monomial.coefficient);
    for (auto [atom, exponent] : monomial.factors)
      result = multiply(result, map(atom), exponent);
    return result;
  }
  /// Of a term whose parts are mapped.
  virtual Term mapTerm(Term term) { return term; }

  /// Takes `monomial` out of `polynomial`; false if it is not there.
  static bool take(Polynomial &polynomial, const Monomial &monomial) {
    auto *known = llvm::find_if(polynomial, [&](const Monomial &other) {
      return other.factors == monomial.factors &&
             other.coefficient == monomial.coefficient;
    });
    if (known == polynomial.end())
      return false;
    polynomial.erase(known);
    return true;
  }
  void append(SmallVectorImpl<Term> &terms, const Term &term) {
    for (Term &known : terms)
      if (known.row == term.row) {
        known.scale = add(forms, known.scale, term.scale);
        return;
      }
    terms.push_back(term);
  }

  RowForms &forms;
  unsigned newest;

private:
  const Atom *mapAtom(const Atom *atom) {
    SmallVector<const Form *> operands;
    for (const Form *operand : atom->operands)
      operands.push_back(map(operand));
    const Atom *lhs = map(atom->lhs), *rhs = map(atom->rhs);
    Monomial scale = mapMonomial(atom->scale);
    forms.position = atom->position;
    switch (atom->kind) {
    case Atom::Kind::Argument:
      return atom;
    case Atom::Kind::Operation:
      return forms.makeOperation(atom->value, operands, atom->isOnScalars);
    case Atom::Kind::Scaled:
      return forms.makeScaled(lhs, scale);
    case Atom::Kind::Product:
      return forms.makeProduct(lhs, rhs);
    case Atom::Kind::Quotient:
      return forms.makeQuotient(lhs, operands[0]);
    case Atom::Kind::Sum:
      return forms.makeSum(operands[0]);
    case Atom::Kind::RowSum:
      return forms.makeRowSum(lhs);
    }
    llvm_unreachable("an atom has a kind");
  }

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
  bool isUseful(const NeededForms &needed, bool isFree) const {
    unsigned places = 0;
    for (const Form *form : needed.getForms()) {
      if (form->newest < newest)
        continue;
      for (const Term &term : form->terms)
        for (const Monomial &monomial : term.scale) {
          if (!scale.divides(monomial))
            continue;
          unsigned found = countRow(term.row);
          for (auto [atom, exponent] : monomial.factors)
            if (atom->kind == Atom::Kind::RowSum)
              found += countRow(atom->lhs);
          places += found;
          bool hasPowers =
              llvm::any_of(monomial.factors, [](const auto &factor) {
                return std::abs(factor.second) > 1;
              });
          if (places > 1 || (found != 0 && (isFree || hasPowers)))
            return true;
        }
    }
    return false;
  }

private:
  /// How often v is a factor, as the products are grouped.
  unsigned countRow(const Atom *atom) const {
    if (atom == row)
      return 1;
    if (atom && atom->kind == Atom::Kind::Product)
      return countRow(atom->lhs) + countRow(atom->rhs);
    if (atom && atom->kind == Atom::Kind::Quotient)
      return countRow(atom->lhs);
    return 0;
  }
  /// `atom` with w in the place of one v.
  const Atom *replaceOne(const Atom *atom) {
    if (atom == row)
      return scaled;
    forms.position = atom->position;
    if (atom->kind == Atom::Kind::Quotient)
      return forms.makeQuotient(replaceOne(atom->lhs), atom->operands[0]);
    const Atom *lhs = atom->lhs, *rhs = atom->rhs;
    (countRow(lhs) ? lhs : rhs) = replaceOne(countRow(lhs) ? lhs : rhs);
    forms.position = atom->position;
    return forms.makeProduct(lhs, rhs);
  }

protected:
  Term mapTerm(Term term) override {
    for (unsigned i = countRow(term.row); i != 0; --i) {
      if (!llvm::all_of(term.scale, [&](const Monomial &monomial) {
            return scale.divides(monomial);
          }))
        break;
      term.row = replaceOne(term.row);
      Polynomial rest;
      for (const Monomial &monomial : term.scale)
        rest = add(forms, rest, {multiply(monomial, scale, -1)});
      term.scale = rest;
    }
    return term;
  }
  Monomial mapMonomial(const Monomial &monomial) override {
    Monomial result = Substitution::mapMonomial(monomial);
    for (auto [atom, exponent] : llvm::to_vector(result.factors)) {
      if (atom->kind != Atom::Kind::RowSum || exponent != 1 ||
          atom->lhs->kind != Atom::Kind::Product)
        continue;
      const Atom *sum = atom;
      for (unsigned i = countRow(sum->lhs); i != 0 && scale.divides(result);
           --i) {
        result = multiply(result, scale, -1);
        result = multiply(result, sum, -1);
        const Atom *terms = replaceOne(sum->lhs);
        forms.position = sum->position;
        sum = forms.makeRowSum(terms);
        result = multiply(result, sum);
      }
    }
    return result;
  }

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
  Monomial mapMonomial(const Monomial &monomial) override {
    Monomial result = Substitution::mapMonomial(monomial);
    for (auto [atom, exponent] : llvm::to_vector(result.factors))
      if (atom == scalar) {
        result = multiply(result, scalar, -exponent);
        result = multiply(result, scaled, exponent);
        result = multiply(result, scale, -exponent);
      }
    return result;
  }

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
  bool isUseful(const NeededForms &needed) const {
    unsigned places = needed.contains(sum);
    for (const Form *form : needed.getForms())
      if (takeSum(form) && ++places > 1)
        return true;
    return false;
  }

private:
  /// What is left of `form` without the sum, if that is a part of it. Terms are
  /// in one order everywhere.
  std::optional<SmallVector<Term, 2>> takeSum(const Form *form) const {
    if (form == sum || form->terms.size() < sum->terms.size() ||
        form->newest < newest)
      return std::nullopt;
    const Term *next = sum->terms.begin();
    for (const Term &term : form->terms)
      if (next != sum->terms.end() && next->row == term.row)
        ++next;
    if (next != sum->terms.end())
      return std::nullopt;
    SmallVector<Term, 2> rest = form->terms;
    Term *whole = rest.begin();
    for (const Term &part : sum->terms) {
      while (whole->row != part.row)
        ++whole;
      for (const Monomial &monomial : part.scale)
        if (!take(whole->scale, monomial))
          return std::nullopt;
    }
    return rest;
  }

protected:
  const Form *mapForm(const Form *form) override {
    std::optional<SmallVector<Term, 2>> rest = takeSum(form);
    if (!rest)
      return Substitution::mapForm(form);
    SmallVector<Term, 2> terms;
    for (const Term &term : *rest)
      if (!term.scale.empty())
        append(terms, {map(term.row), map(term.scale)});
    append(terms, {atom, {Monomial()}});
    forms.position = form->position;
    return forms.makeForm(terms);
  }

private:
  const Form *sum;
  const Atom *atom;
};

/// Puts sum(a + b) in the place of sum(a) + sum(b), with any common factor.
class UseRowSum : public Substitution {
public:
  UseRowSum(RowForms &forms, const Form *row)
      : Substitution(forms, 0),
        parts(forms.sumRow(row, row->getLength())->getScalar()) {
    forms.position = row->position;
    sum = forms.makeRowSum(forms.makeSum(row));
    for (const Monomial &part : parts)
      newest = std::max(newest, part.getNewest());
  }

  /// Whether there may be fewer row sums, as far as numbers of uses and the
  /// first part tell: those that are in the fewest places alone can be parts of
  /// the whole sum in all their places.
  bool isUseful(const NeededForms &needed) const {
    llvm::SmallDenseMap<const Atom *, unsigned> usesInSum;
    // Those that a sum of scalars is made of are not looked for.
    bool hasOthers = false;
    for (const Monomial &part : parts)
      for (auto [atom, exponent] : part.factors)
        if (atom->kind == Atom::Kind::RowSum)
          ++usesInSum[atom];
        else if (atom->kind == Atom::Kind::Sum)
          hasOthers = true;
    unsigned places = std::numeric_limits<unsigned>::max(), gone = 0;
    for (auto [atom, uses] : usesInSum)
      places = std::min(places, needed.countUses(atom) / uses);
    for (auto [atom, uses] : usesInSum)
      gone += needed.countUses(atom) == places * uses;
    bool isThere = needed.countUses(sum) != 0;
    return parts.size() > 1 && (hasOthers || gone + isThere > 1) &&
           llvm::any_of(needed.getForms(), [&](const Form *form) {
             return llvm::any_of(form->terms, [&](const Term &term) {
               return llvm::any_of(term.scale, [&](const Monomial &monomial) {
                 return parts.front().divides(monomial);
               });
             });
           });
  }

protected:
  Polynomial mapPolynomial(const Polynomial &polynomial) override {
    Polynomial rest = Substitution::mapPolynomial(polynomial);
    for (const Monomial &first : llvm::to_vector(rest)) {
      if (!parts.front().divides(first))
        continue;
      // What the whole sum is multiplied by, if it is there.
      Monomial factor = multiply(first, parts.front(), -1);
      Polynomial others = rest;
      if (!llvm::all_of(parts, [&](const Monomial &part) {
            return take(others, multiply(part, factor));
          }))
        continue;
      rest = add(forms, others, {multiply(factor, sum)});
    }
    return rest;
  }

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
  const Atom *takeRowSum(const Monomial &monomial, Monomial &rest) const {
    const Atom *sum = nullptr;
    for (auto [atom, exponent] : monomial.factors)
      if (atom->kind == Atom::Kind::RowSum) {
        if (sum || exponent != 1 || needed.countUses(atom) != 1)
          return nullptr;
        sum = atom;
      }
    if (sum)
      rest = multiply(monomial, sum, -1);
    return sum;
  }

protected:
  Polynomial mapPolynomial(const Polynomial &polynomial) override {
    Polynomial result;
    llvm::SmallPtrSet<const Monomial *, 4> done;
    for (const Monomial &monomial : polynomial) {
      if (!done.insert(&monomial).second)
        continue;
      Monomial factor, other;
      const Atom *first = takeRowSum(monomial, factor);
      SmallVector<Term, 2> terms;
      unsigned position = first ? first->position : 0;
      if (first)
        terms.push_back({map(first->lhs), {Monomial()}});
      for (const Monomial &next : polynomial) {
        const Atom *sum =
            first && !done.contains(&next) ? takeRowSum(next, other) : nullptr;
        Monomial ratio(other.coefficient / factor.coefficient);
        if (!sum || sum->lhs->length != first->lhs->length ||
            other.factors != factor.factors || !isPowerOfTwo({ratio}))
          continue;
        done.insert(&next);
        terms.push_back({map(sum->lhs), {ratio}});
        position = std::max(position, sum->position);
      }
      if (terms.size() < 2) {
        result = add(forms, result, {mapMonomial(monomial)});
        continue;
      }
      forms.position = position;
      const Atom *sum = forms.makeRowSum(forms.makeSum(forms.makeForm(terms)));
      result = add(forms, result, {multiply(mapMonomial(factor), sum)});
    }
    return result;
  }

private:
  const NeededForms &needed;
};
} // namespace

namespace {
/// Chooses among equal ways to compute a program's outputs: which scaled rows,
/// sums and row sums are atoms of their own. The form of an output stays equal,
/// and its cost does not grow. Each choice is a substitution in all forms at
/// once. The program itself gives the candidates, each of which is tried once,
/// so that there is an end.
class Sharing {
public:
  Sharing(RowForms &forms, SmallVectorImpl<const Form *> &outputs,
          ArrayRef<const Form *> values, ArrayRef<const Form *> summedRows)
      : forms(forms), outputs(outputs), values(values), rows(summedRows) {}

  void run() {
    // What is applied replaces elements of the lists, and adds none.
    for (const Form *row : rows)
      shareRowSum(row);
    shareScalars();
    llvm::DenseSet<const Form *> tried;
    for (const Form *value : values)
      if (tried.insert(value).second)
        shareScaledRow(value);
    shareSums();
    NeededForms before(outputs);
    MergeRowSums merge(forms, before);
    apply(merge);
  }

private:
  SmallVector<const Form *> map(Substitution &substitution) {
    return llvm::map_to_vector(
        outputs, [&](const Form *form) { return substitution.map(form); });
  }
  /// What the outputs need as they are now.
  const NeededForms &getNeeded() {
    if (!needed)
      needed.emplace(outputs);
    return *needed;
  }
  void apply(Substitution &substitution) {
    needed.reset();
    for (const Form *&form : outputs)
      form = substitution.map(form);
    for (auto *list : {&values, &rows})
      for (const Form *&form : *list)
        form = substitution.map(form);
  }

  /// Keeps the sum of a row that is a sum itself whole, if that takes fewer.
  void shareRowSum(const Form *row) {
    if (row->terms.size() < 2 || row->getLength() == 1)
      return;
    UseRowSum use(forms, row);
    if (use.isUseful(getNeeded()) &&
        NeededForms(map(use)).countRowSums() < getNeeded().countRowSums())
      apply(use);
  }

  /// An output c * a is computed in any case: what needs a takes it from there.
  /// So a mean that is put out is what the rows' deviations are from.
  void shareScalars() {
    for (const Form *form : outputs) {
      if (!form->isEven() || form->getScalar().size() != 1)
        continue;
      Monomial scale = form->getScalar().front();
      if (scale.factors.size() != 1 || scale.factors.front().second != 1 ||
          std::abs(scale.coefficient) == 1)
        continue;
      const Atom *scalar = scale.factors.front().first;
      scale.factors.clear();
      forms.position = scalar->position;
      UseScaledScalar use(forms, scalar, scale);
      apply(use);
    }
  }

  /// Takes a row with a scale as one thing, if that costs less; or as much, but
  /// exponents get smaller or it has to be computed in any case.
  void shareScaledRow(const Form *form) {
    if (form->isEven())
      return;
    forms.position = form->position;
    auto [scale, row] = forms.split(form);
    if (scale.size() != 1 || scale.front().factors.empty())
      return;
    UseScaledRow use(forms, row, scale.front());
    const NeededForms &before = getNeeded();
    bool isThere = before.contains(form);
    if (!use.isUseful(before, isThere))
      return;
    SmallVector<const Form *> changed = map(use);
    if (ArrayRef(changed) == ArrayRef<const Form *>(outputs))
      return;
    NeededForms after(changed);
    unsigned cost = before.countRowOperations(),
             changedCost = after.countRowOperations();
    bool isBetter = changedCost < cost ||
                    after.countPowers() < before.countPowers() || isThere;
    if (after.countRowSums() <= before.countRowSums() &&
        after.countPowers() <= before.countPowers() && changedCost <= cost &&
        isBetter)
      apply(use);
  }

  /// Takes a sum as one thing, if it is a part of others and that is cheaper;
  /// longer ones first.
  void shareSums() {
    llvm::SetVector<const Form *> sums;
    for (const Form *form : values)
      if (!form->isEven() && form->terms.size() > 1)
        sums.insert(form);
    SmallVector<const Form *> sorted(sums.begin(), sums.end());
    llvm::stable_sort(sorted, [](const Form *lhs, const Form *rhs) {
      return lhs->terms.size() > rhs->terms.size();
    });
    for (const Form *sum : sorted) {
      forms.position = 0;
      for (const Term &term : sum->terms)
        if (term.row)
          forms.position = std::max(forms.position, term.row->position);
      UseSum use(forms, sum);
      if (!use.isUseful(getNeeded()))
        continue;
      SmallVector<const Form *> changed = map(use);
      if (NeededForms(changed).countRowOperations() <
          getNeeded().countRowOperations()) {
        outputs.assign(changed.begin(), changed.end());
        needed.reset();
      }
    }
  }

  RowForms &forms;
  SmallVectorImpl<const Form *> &outputs;
  SmallVector<const Form *> values, rows;
  std::optional<NeededForms> needed;
};
} // namespace

void lnbwd::shareForms(RowForms &forms, SmallVectorImpl<const Form *> &outputs,
                       ArrayRef<const Form *> values,
                       ArrayRef<const Form *> summedRows) {
  Sharing(forms, outputs, values, summedRows).run();
}
