//===- NeededForms.cpp - What outputs need --------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk from the outputs down.
//
//===----------------------------------------------------------------------===//

#include "NeededForms.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>

using namespace mlir;
using namespace lnbwd;

NeededForms::NeededForms(ArrayRef<const Form *> outputs) {
  for (const Form *form : outputs)
    visit(form);
}

void NeededForms::visit(const Form *form) {
  if (!visited.insert(form))
    return;
  for (const Term &term : form->terms) {
    for (const Monomial &monomial : term.scale)
      visit(monomial);
    if (!term.row)
      continue;
    if (term.row->kind == Atom::Kind::Product && form->terms.size() > 1 &&
        isUnit(term.scale))
      terms.insert(term.row);
    use(term.row);
  }
}

void NeededForms::visit(const Monomial &monomial) {
  for (auto [atom, exponent] : monomial.factors) {
    powers += unsigned(std::abs(exponent)) - 1;
    use(atom);
  }
}

void NeededForms::use(const Atom *atom) {
  if (uses[atom]++)
    return;
  for (const Form *operand : atom->operands)
    visit(operand);
  for (const Atom *part : {atom->lhs, atom->rhs})
    if (part)
      use(part);
  visit(atom->scale);
  atoms.push_back(atom);
}

unsigned NeededForms::countRowSums() const {
  return unsigned(llvm::count_if(atoms, [](const Atom *atom) {
    return atom->kind == Atom::Kind::RowSum;
  }));
}

unsigned NeededForms::countRowOperations() const {
  unsigned count = 0;
  for (const Atom *atom : atoms) {
    bool isFree = atom->kind == Atom::Kind::Argument ||
                  atom->kind == Atom::Kind::Sum ||
                  (atom->kind != Atom::Kind::RowSum && !atom->isRow()) ||
                  (atom->kind == Atom::Kind::Product && isFused(atom));
    count += isFree ? 0 : atom->kind == Atom::Kind::Quotient ? 8 : 1;
  }
  for (const Form *form : visited) {
    if (form->isEven())
      continue;
    bool hasStart = false;
    unsigned rows = 0;
    for (const Term &term : form->terms) {
      rows += term.row != nullptr;
      hasStart |= term.row && isUnit(term.scale) &&
                  term.scale.front().coefficient == 1 &&
                  (term.row->kind != Atom::Kind::Product || !isFused(term.row));
    }
    bool isEvenThere = !form->terms.front().row;
    count += rows - (hasStart && !isEvenThere ? 1 : 0);
  }
  return count;
}
