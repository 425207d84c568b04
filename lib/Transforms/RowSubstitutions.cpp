//===- RowSubstitutions.cpp - One atom for many in forms ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each substitution is what it does to one kind of part; the base goes through
// forms and atoms, and remembers what it made of each.
//
//===----------------------------------------------------------------------===//

#include "RowSubstitutions.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <limits>

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Forms and their parts
//===----------------------------------------------------------------------===//

const Form *Substitution::map(const Form *form) {
  if (form->newest < newest)
    return form;
  if (const Form *known = mappedForms.lookup(form))
    return known;
  const Form *result = mapForm(form);
  mappedForms[form] = result;
  return result;
}

const Atom *Substitution::map(const Atom *atom) {
  if (!atom || atom->id < newest)
    return atom;
  if (const Atom *known = mappedAtoms.lookup(atom))
    return known;
  const Atom *result = mapAtom(atom);
  mappedAtoms[atom] = result;
  return result;
}

Polynomial Substitution::map(const Polynomial &polynomial) {
  bool isOlder = llvm::all_of(polynomial, [&](const Monomial &monomial) {
    return monomial.getNewest() < newest;
  });
  return isOlder ? polynomial : mapPolynomial(polynomial);
}

const Form *Substitution::mapForm(const Form *form) {
  SmallVector<Term, 2> terms;
  for (const Term &term : form->terms)
    append(terms, mapTerm({map(term.row), map(term.scale)}));
  forms.position = form->position;
  return forms.makeForm(terms);
}

Polynomial Substitution::mapPolynomial(const Polynomial &polynomial) {
  SmallVector<Monomial> result;
  for (const Monomial &monomial : polynomial)
    result.push_back(mapMonomial(monomial));
  return forms.add(result);
}

Monomial Substitution::mapMonomial(const Monomial &monomial) {
  Monomial result;
  result.coefficient = monomial.coefficient;
  for (auto [atom, exponent] : monomial.factors)
    result = RowForms::multiply(result, power(map(atom)), exponent);
  return result;
}

bool Substitution::take(Polynomial &polynomial, const Monomial &monomial) {
  auto *known = llvm::find_if(polynomial, [&](const Monomial &other) {
    return other.factors == monomial.factors &&
           other.coefficient == monomial.coefficient;
  });
  if (known == polynomial.end())
    return false;
  polynomial.erase(known);
  return true;
}

Monomial Substitution::power(const Atom *atom) {
  Monomial result;
  result.factors.emplace_back(atom, 1);
  return result;
}

void Substitution::append(SmallVectorImpl<Term> &terms, const Term &term) {
  for (Term &known : terms)
    if (known.row == term.row) {
      known.scale = forms.add(known.scale, term.scale);
      return;
    }
  terms.push_back(term);
}

const Atom *Substitution::mapAtom(const Atom *atom) {
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

//===----------------------------------------------------------------------===//
// Scaled rows and scalars
//===----------------------------------------------------------------------===//

bool UseScaledRow::isUseful(const NeededForms &needed, bool isFree) const {
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
        bool hasPowers = llvm::any_of(monomial.factors, [](const auto &factor) {
          return std::abs(factor.second) > 1;
        });
        if (places > 1 || (found != 0 && (isFree || hasPowers)))
          return true;
      }
  }
  return false;
}

unsigned UseScaledRow::countRow(const Atom *atom) const {
  if (atom == row)
    return 1;
  if (atom && atom->kind == Atom::Kind::Product)
    return countRow(atom->lhs) + countRow(atom->rhs);
  if (atom && atom->kind == Atom::Kind::Quotient)
    return countRow(atom->lhs);
  return 0;
}

const Atom *UseScaledRow::replaceOne(const Atom *atom) {
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

Term UseScaledRow::mapTerm(Term term) {
  for (unsigned i = countRow(term.row); i != 0; --i) {
    if (!llvm::all_of(term.scale, [&](const Monomial &monomial) {
          return scale.divides(monomial);
        }))
      break;
    term.row = replaceOne(term.row);
    Polynomial rest;
    for (const Monomial &monomial : term.scale)
      rest = forms.add(rest, {RowForms::multiply(monomial, scale, -1)});
    term.scale = rest;
  }
  return term;
}

Monomial UseScaledRow::mapMonomial(const Monomial &monomial) {
  Monomial result = Substitution::mapMonomial(monomial);
  for (auto [atom, exponent] : llvm::to_vector(result.factors)) {
    if (atom->kind != Atom::Kind::RowSum || exponent != 1 ||
        atom->lhs->kind != Atom::Kind::Product)
      continue;
    const Atom *sum = atom;
    for (unsigned i = countRow(sum->lhs); i != 0 && scale.divides(result);
         --i) {
      result = RowForms::multiply(result, scale, -1);
      result = RowForms::multiply(result, power(sum), -1);
      const Atom *terms = replaceOne(sum->lhs);
      forms.position = sum->position;
      sum = forms.makeRowSum(terms);
      result = RowForms::multiply(result, power(sum));
    }
  }
  return result;
}

Monomial UseScaledScalar::mapMonomial(const Monomial &monomial) {
  Monomial result = Substitution::mapMonomial(monomial);
  for (auto [atom, exponent] : llvm::to_vector(result.factors))
    if (atom == scalar) {
      result = RowForms::multiply(result, power(scalar), -exponent);
      result = RowForms::multiply(result, power(scaled), exponent);
      result = RowForms::multiply(result, scale, -exponent);
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

bool UseSum::isUseful(const NeededForms &needed) const {
  unsigned places = needed.contains(sum);
  for (const Form *form : needed.getForms())
    if (takeSum(form) && ++places > 1)
      return true;
  return false;
}

std::optional<SmallVector<Term, 2>> UseSum::takeSum(const Form *form) const {
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

const Form *UseSum::mapForm(const Form *form) {
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

UseRowSum::UseRowSum(RowForms &forms, const Form *row)
    : Substitution(forms, 0),
      parts(forms.sumRow(row, row->getLength())->getScalar()) {
  forms.position = row->position;
  sum = forms.makeRowSum(forms.makeSum(row));
  for (const Monomial &part : parts)
    newest = std::max(newest, part.getNewest());
}

bool UseRowSum::isUseful(const NeededForms &needed) const {
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

Polynomial UseRowSum::mapPolynomial(const Polynomial &polynomial) {
  Polynomial rest = Substitution::mapPolynomial(polynomial);
  for (const Monomial &first : llvm::to_vector(rest)) {
    if (!parts.front().divides(first))
      continue;
    // What the whole sum is multiplied by, if it is there.
    Monomial factor = RowForms::multiply(first, parts.front(), -1);
    Polynomial others = rest;
    if (!llvm::all_of(parts, [&](const Monomial &part) {
          return take(others, RowForms::multiply(part, factor));
        }))
      continue;
    rest = forms.add(others, {RowForms::multiply(factor, power(sum))});
  }
  return rest;
}

const Atom *MergeRowSums::takeRowSum(const Monomial &monomial,
                                     Monomial &rest) const {
  const Atom *sum = nullptr;
  for (auto [atom, exponent] : monomial.factors)
    if (atom->kind == Atom::Kind::RowSum) {
      if (sum || exponent != 1 || needed.countUses(atom) != 1)
        return nullptr;
      sum = atom;
    }
  if (sum)
    rest = RowForms::multiply(monomial, power(sum), -1);
  return sum;
}

Polynomial MergeRowSums::mapPolynomial(const Polynomial &polynomial) {
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
      Monomial ratio;
      ratio.coefficient = other.coefficient / factor.coefficient;
      if (!sum || sum->lhs->length != first->lhs->length ||
          other.factors != factor.factors || !isPowerOfTwo({ratio}))
        continue;
      done.insert(&next);
      terms.push_back({map(sum->lhs), {ratio}});
      position = std::max(position, sum->position);
    }
    if (terms.size() < 2) {
      result = forms.add(result, {mapMonomial(monomial)});
      continue;
    }
    forms.position = position;
    const Atom *sum = forms.makeRowSum(forms.makeSum(forms.makeForm(terms)));
    result = forms.add(result,
                       {RowForms::multiply(mapMonomial(factor), power(sum))});
  }
  return result;
}
