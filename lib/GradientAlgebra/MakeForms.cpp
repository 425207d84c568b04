//===- MakeForms.cpp - Forms from smaller ones ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function makes a form of smaller ones that are there, and looks into no
// factor: nothing is multiplied out, so that forms grow by addition alone.
//
//===----------------------------------------------------------------------===//

#include "MakeForms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mlir;
using namespace lnbwd;

static bool comesFirst(const Atom *lhs, const Atom *rhs) {
  return compare(lhs, rhs) < 0;
}

/// To 44 bits, so that coefficients which float64 rounded in different ways are
/// equal; float32 has 24.
static double roundCoefficient(double number) {
  int exponent = 0;
  double mantissa = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 44)), exponent - 44);
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

static void append(std::vector<uint64_t> &key, const Monomial &monomial) {
  key.push_back(llvm::bit_cast<uint64_t>(monomial.coefficient));
  key.push_back(monomial.factors.size());
  for (auto [atom, exponent] : monomial.factors) {
    key.push_back(atom->id);
    key.push_back(uint64_t(int64_t(exponent)));
  }
}

static uint64_t addressOf(const void *pointer) {
  return uint64_t(reinterpret_cast<uintptr_t>(pointer));
}

const Atom *RowAtoms::intern(Key key, Atom atom) {
  key.push_back(uint64_t(atom.kind));
  const Atom *&known = atomsByKey[std::move(key)];
  if (!known) {
    atoms.push_back(std::move(atom));
    atoms.back().id = unsigned(atoms.size());
    if (!atoms.back().position)
      atoms.back().position = position;
    known = &atoms.back();
    order.insert(known);
  }
  return known;
}

static int64_t getLength(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 0;
}

const Atom *RowAtoms::makeArgument(Value value) {
  Atom atom{Atom::Kind::Argument, ::getLength(value.getType())};
  atom.value = value;
  return intern({addressOf(value.getAsOpaquePointer())}, std::move(atom));
}

const Atom *RowAtoms::makeOperation(Value result,
                                    ArrayRef<const Form *> operands,
                                    bool isOnScalars) {
  Operation *op = result.getDefiningOp();
  Key key{addressOf(op->getName().getAsOpaquePointer()),
          addressOf(op->getAttrDictionary().getAsOpaquePointer()),
          addressOf(result.getType().getAsOpaquePointer()), isOnScalars};
  for (auto [form, operand] : llvm::zip(operands, op->getOperands())) {
    key.push_back(form->id);
    key.push_back(addressOf(operand.getType().getAsOpaquePointer()));
  }
  Atom atom{Atom::Kind::Operation,
            isOnScalars ? 0 : ::getLength(result.getType())};
  atom.value = result;
  atom.isOnScalars = isOnScalars;
  atom.operands.assign(operands.begin(), operands.end());
  return intern(std::move(key), std::move(atom));
}

const Atom *RowAtoms::makeScaled(const Atom *unscaled, const Monomial &scale) {
  Key key{unscaled->id};
  append(key, scale);
  Atom atom{Atom::Kind::Scaled, unscaled->length};
  atom.lhs = unscaled;
  atom.scale = scale;
  return intern(std::move(key), std::move(atom));
}

const Atom *RowAtoms::makeProduct(const Atom *lhs, const Atom *rhs) {
  Atom product{Atom::Kind::Product, lhs->length};
  product.lhs = lhs;
  product.rhs = rhs;
  for (const Atom *atom : {lhs, rhs})
    if (atom->kind == Atom::Kind::Product)
      llvm::append_range(product.factors, atom->factors);
    else
      product.factors.push_back(atom);
  llvm::sort(product.factors, comesFirst);
  Key key;
  for (const Atom *factor : product.factors)
    key.push_back(factor->id);
  return intern(std::move(key), std::move(product));
}

const Atom *RowAtoms::makeQuotient(const Atom *lhs, const Form *divisor) {
  Atom quotient{Atom::Kind::Quotient, lhs ? lhs->length : divisor->getLength()};
  quotient.lhs = lhs;
  quotient.operands = {divisor};
  return intern({lhs ? lhs->id : 0, divisor->id}, std::move(quotient));
}

const Atom *RowAtoms::makeSum(const Form *form) {
  if (form->terms.size() == 1) {
    const auto &[row, scale] = form->terms.front();
    if (scale.size() == 1 && scale.front().coefficient == 1) {
      const auto &factors = scale.front().factors;
      if (row && factors.empty())
        return row;
      if (!row && factors.size() == 1 && factors.front().second == 1)
        return factors.front().first;
    }
  }
  Atom sum{Atom::Kind::Sum, form->isEven() ? 0 : form->getLength()};
  sum.operands = {form};
  sum.position = form->position;
  return intern({form->id}, std::move(sum));
}

const Atom *RowAtoms::makeRowSum(const Atom *row) {
  Atom sum{Atom::Kind::RowSum, /*length=*/0};
  sum.lhs = row;
  return intern({row->id}, std::move(sum));
}

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

Monomial lnbwd::multiply(const Monomial &lhs, const Monomial &rhs,
                         int exponent) {
  Monomial result = lhs;
  result.coefficient = roundCoefficient(result.coefficient *
                                        std::pow(rhs.coefficient, exponent));
  for (auto [atom, power] : rhs.factors) {
    auto *known =
        llvm::find_if(result.factors, [atom = atom](const auto &entry) {
          return entry.first == atom;
        });
    if (known == result.factors.end())
      result.factors.emplace_back(atom, power * exponent);
    else
      known->second += power * exponent;
  }
  llvm::erase_if(result.factors,
                 [](const auto &entry) { return entry.second == 0; });
  llvm::sort(result.factors, [](const auto &mine, const auto &other) {
    return comesFirst(mine.first, other.first);
  });
  return result;
}

static void sortMonomials(Polynomial &polynomial) {
  llvm::stable_sort(polynomial, [](const Monomial &lhs, const Monomial &rhs) {
    return compare(lhs, rhs) < 0;
  });
}

/// A monomial as a polynomial: sums that are no factor of anything are sums,
/// and what is known of a normalised row's squares is made use of.
static Polynomial toPolynomial(RowForms &forms, const Monomial &monomial);

Polynomial lnbwd::add(RowForms &forms, const Polynomial &lhs,
                      const Polynomial &rhs) {
  // What is left of 1 - 1 in float64.
  constexpr double noise = 1e-9;
  Polynomial result;
  SmallVector<Monomial> sums;
  const Monomial *mine = lhs.begin(), *other = rhs.begin();
  while (mine != lhs.end() || other != rhs.end()) {
    int order = mine == lhs.end()    ? 1
                : other == rhs.end() ? -1
                                     : compare(*mine, *other);
    if (order != 0) {
      result.push_back(order < 0 ? *mine++ : *other++);
      continue;
    }
    Monomial both = *mine++;
    double part = (other++)->coefficient;
    double sum = both.coefficient + part;
    double size = std::max(std::abs(both.coefficient), std::abs(part));
    both.coefficient =
        roundCoefficient(std::abs(sum) <= noise * size ? 0 : sum);
    if (both.factors.size() == 1 &&
        both.factors.front().first->kind == Atom::Kind::Sum)
      // It may have become a sum that is no factor of anything.
      sums.push_back(both);
    else if (both.coefficient != 0)
      result.push_back(both);
  }
  for (const Monomial &sum : sums) {
    Polynomial part = toPolynomial(forms, sum);
    if (part.size() == 1) {
      result.push_back(part.front());
      sortMonomials(result);
    } else {
      result = add(forms, result, part);
    }
  }
  return result;
}

Polynomial lnbwd::add(RowForms &forms, ArrayRef<Monomial> monomials) {
  if (monomials.size() < 2)
    return Polynomial(monomials);
  size_t half = monomials.size() / 2;
  Polynomial upper = add(forms, monomials.drop_front(half));
  return add(forms, add(forms, monomials.take_front(half)), upper);
}

/// With r = rsqrt(c * sum + eps), r^2 * sum is (1 - eps * r^2) / c; c is 1/N in
/// a normalisation, and sum that of the squares.
static bool matchNormalised(const Monomial &monomial, const Atom *&root,
                            const Atom *&sum, double &factor, double &epsilon) {
  for (auto [atom, power] : monomial.factors) {
    if (power < 2 || atom->kind != Atom::Kind::Operation ||
        !atom->value.getDefiningOp<math::RsqrtOp>() ||
        !atom->operands[0]->isEven())
      continue;
    Polynomial inner = atom->operands[0]->getScalar();
    // The number is the last.
    if (inner.empty() || inner.size() > 2 || inner[0].factors.size() != 1 ||
        (inner.size() == 2 && !inner[1].factors.empty()))
      continue;
    auto [candidate, exponent] = inner[0].factors.front();
    if (candidate->kind != Atom::Kind::RowSum || exponent != 1)
      continue;
    if (!Monomial(candidate).divides(monomial))
      continue;
    root = atom;
    sum = candidate;
    factor = inner[0].coefficient;
    epsilon = inner.size() == 2 ? inner[1].coefficient : 0;
    return true;
  }
  return false;
}

static Polynomial toPolynomial(RowForms &forms, const Monomial &monomial) {
  if (monomial.coefficient == 0)
    return {};
  const Atom *root = nullptr, *sum = nullptr;
  double factor = 0, epsilon = 0;
  if (matchNormalised(monomial, root, sum, factor, epsilon)) {
    // One factor `sum` less in both parts.
    Monomial without(sum);
    without.coefficient = factor;
    Monomial second = multiply(monomial, without, -1);
    Monomial first = multiply(second, Monomial(root), -2);
    second.coefficient = roundCoefficient(-epsilon * second.coefficient);
    Polynomial other = toPolynomial(forms, second);
    return add(forms, toPolynomial(forms, first), other);
  }
  if (monomial.factors.size() == 1) {
    auto [atom, power] = monomial.factors.front();
    if (atom->kind == Atom::Kind::Sum && power == 1 &&
        isPowerOfTwo({Monomial(monomial.coefficient)})) {
      Polynomial terms = atom->operands[0]->getScalar();
      for (Monomial &term : terms)
        term.coefficient *= monomial.coefficient;
      return terms;
    }
  }
  return {monomial};
}

/// What all monomials have in common, with the sign of `leading`; a number only
/// if it is that of all, since dividing others by it would round.
static Monomial getContent(ArrayRef<Polynomial> scales,
                           const Monomial &leading) {
  Monomial content = leading;
  bool haveOneSize = true;
  for (const Polynomial &scale : scales)
    for (const Monomial &monomial : scale) {
      haveOneSize &=
          std::abs(monomial.coefficient) == std::abs(leading.coefficient);
      for (auto &[atom, power] : content.factors) {
        int other = monomial.getExponent(atom);
        if ((other > 0) != (power > 0))
          power = 0;
        else if (std::abs(other) < std::abs(power))
          power = other;
      }
      llvm::erase_if(content.factors,
                     [](const auto &entry) { return entry.second == 0; });
    }
  if (!haveOneSize)
    content.coefficient = leading.coefficient < 0 ? -1 : 1;
  return content;
}

static Polynomial divide(const Polynomial &polynomial,
                         const Monomial &content) {
  Polynomial result;
  for (const Monomial &monomial : polynomial)
    result.push_back(multiply(monomial, content, -1));
  sortMonomials(result);
  return result;
}

/// `polynomial` as one monomial, with a sum as an atom.
static Monomial toMonomial(RowForms &forms, const Polynomial &polynomial) {
  if (polynomial.size() == 1)
    return polynomial.front();
  if (polynomial.empty())
    return {0.0};
  Monomial content = getContent(polynomial, polynomial.front());
  return multiply(content,
                  forms.makeSum(forms.makeEven(divide(polynomial, content))));
}

Polynomial lnbwd::multiply(RowForms &forms, const Polynomial &lhs,
                           const Polynomial &rhs) {
  for (auto [scale, other] : {std::pair(&lhs, &rhs), std::pair(&rhs, &lhs)})
    if (isPowerOfTwo(*scale)) {
      Polynomial result = *other;
      for (Monomial &monomial : result)
        monomial.coefficient *= scale->front().coefficient;
      return result;
    }
  Monomial factor = toMonomial(forms, rhs);
  return toPolynomial(forms, multiply(toMonomial(forms, lhs), factor));
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

const Form *RowForms::makeForm(SmallVector<Term, 2> terms) {
  llvm::erase_if(terms, [](const Term &term) { return term.scale.empty(); });
  llvm::sort(terms, [](const Term &lhs, const Term &rhs) {
    return comesFirst(lhs.row, rhs.row);
  });
  Key key;
  for (const Term &term : terms) {
    key.push_back(term.row ? term.row->id : 0);
    key.push_back(term.scale.size());
    for (const Monomial &monomial : term.scale)
      append(key, monomial);
  }
  const Form *&known = formsByKey[std::move(key)];
  if (!known) {
    Form &form = forms.emplace_back();
    form.id = unsigned(forms.size());
    form.position = position;
    form.terms = std::move(terms);
    for (const Term &term : form.terms) {
      if (term.row)
        form.newest = std::max(form.newest, term.row->id);
      for (const Monomial &monomial : term.scale)
        form.newest = std::max(form.newest, monomial.getNewest());
    }
    known = &form;
  }
  return known;
}

const Form *RowForms::makeEven(const Polynomial &scalar) {
  return makeForm({Term{nullptr, scalar}});
}

const Form *RowForms::makeNumber(double number) {
  return makeEven(toPolynomial(*this, roundCoefficient(number)));
}

const Form *RowForms::makeForm(const Atom *atom) {
  return makeForm({atom->isRow() ? Term{atom, {Monomial()}}
                                 : Term{nullptr, {Monomial(atom)}}});
}

static const Form *scaleBy(RowForms &forms, const Form *form,
                           const Polynomial &scale);

static const Form *makeTerm(RowForms &forms, const Atom *row,
                            const Polynomial &scale) {
  if (row->kind == Atom::Kind::Sum && isPowerOfTwo(scale))
    return scaleBy(forms, row->operands[0], scale);
  return forms.makeForm({Term{row, scale}});
}

static const Form *scaleBy(RowForms &forms, const Form *form,
                           const Polynomial &scale) {
  if (form->isEven())
    return forms.makeEven(multiply(forms, form->getScalar(), scale));
  if (scale.empty())
    return forms.makeEven({});
  if (form->terms.size() > 1 && isPowerOfTwo(scale)) {
    SmallVector<Term, 2> terms = form->terms;
    for (Term &term : terms)
      term.scale = multiply(forms, term.scale, scale);
    return forms.makeForm(terms);
  }
  auto [content, row] = forms.split(form);
  return makeTerm(forms, row, multiply(forms, content, scale));
}

std::pair<Polynomial, const Atom *> RowForms::split(const Form *form) {
  if (form->terms.size() == 1)
    return {form->terms.front().scale, form->terms.front().row};
  auto scales = llvm::map_to_vector(
      form->terms, [](const Term &term) { return term.scale; });
  // A number is positive, as in 1 - tanh(x)^2, which negates a factor of a
  // fused multiply-add; a mean is what is subtracted.
  bool hasNumber = !form->terms.front().row && isNumber(scales.front());
  const Term &leading =
      form->terms[form->terms.front().row || hasNumber ? 0 : 1];
  Monomial content = getContent(scales, leading.scale.front());
  SmallVector<Term, 2> terms;
  for (const Term &term : form->terms)
    terms.push_back({term.row, ::divide(term.scale, content)});
  return {{content}, makeSum(makeForm(terms))};
}

const Form *RowForms::add(const Form *lhs, const Form *rhs) {
  SmallVector<Term, 2> terms = lhs->terms;
  SmallVector<Term> sums;
  for (const Term &term : rhs->terms) {
    auto *known = llvm::find_if(
        terms, [&](const Term &other) { return other.row == term.row; });
    if (known == terms.end()) {
      terms.push_back(term);
      continue;
    }
    known->scale = lnbwd::add(*this, known->scale, term.scale);
    if (known->row && known->row->kind == Atom::Kind::Sum &&
        isPowerOfTwo(known->scale)) {
      sums.push_back(*known);
      known->scale.clear();
    }
  }
  const Form *result = makeForm(terms);
  for (const Term &sum : sums)
    result = add(result, makeTerm(*this, sum.row, sum.scale));
  return result;
}

const Form *RowForms::negate(const Form *form) {
  return scaleBy(*this, form, {Monomial(-1.0)});
}

const Form *RowForms::multiply(const Form *lhs, const Form *rhs) {
  if (lhs->isEven())
    return scaleBy(*this, rhs, lhs->getScalar());
  if (rhs->isEven())
    return scaleBy(*this, lhs, rhs->getScalar());
  auto [scale, row] = split(lhs);
  auto [otherScale, otherRow] = split(rhs);
  Polynomial product = lnbwd::multiply(*this, scale, otherScale);
  return makeTerm(*this, makeProduct(row, otherRow), product);
}

const Form *RowForms::divide(const Form *lhs, const Form *rhs) {
  if (rhs->terms.empty())
    return nullptr;
  if (rhs->isEven()) {
    Polynomial inverse = toPolynomial(
        *this,
        lnbwd::multiply(Monomial(), toMonomial(*this, rhs->getScalar()), -1));
    return scaleBy(*this, lhs, inverse);
  }
  if (lhs->isEven())
    return scaleBy(*this, makeForm(makeQuotient(nullptr, rhs)),
                   lhs->getScalar());
  auto [scale, row] = split(lhs);
  return makeTerm(*this, makeQuotient(row, rhs), scale);
}

/// The sum of a row's elements, term by term.
static const Form *sumTerms(RowForms &forms, const Form *form, int64_t length) {
  Polynomial result;
  for (const Term &term : form->terms) {
    const Form *sum;
    if (!term.row)
      sum = forms.makeNumber(double(length));
    else if (term.row->kind == Atom::Kind::Sum)
      sum = sumTerms(forms, term.row->operands[0], length);
    else
      sum = forms.makeForm(forms.makeRowSum(term.row));
    result = add(forms, result, multiply(forms, term.scale, sum->getScalar()));
  }
  return forms.makeEven(result);
}

const Form *RowForms::sumRow(const Form *form, int64_t length) {
  return length == 1 ? form : sumTerms(*this, form, length);
}

const Form *RowForms::makeScalar(const Form *form) {
  return form->isEven() ? form : sumTerms(*this, form, /*length=*/1);
}
