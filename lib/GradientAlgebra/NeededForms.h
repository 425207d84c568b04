//===- NeededForms.h - What outputs need ------------------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has to be computed for the outputs of a program, and what it costs.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_NEEDEDFORMS_H
#define LNBWD_LIB_GRADIENTALGEBRA_NEEDEDFORMS_H

#include "NormalForm.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace lnbwd {

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

#endif // LNBWD_LIB_GRADIENTALGEBRA_NEEDEDFORMS_H
