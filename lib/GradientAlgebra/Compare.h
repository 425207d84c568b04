//===- Compare.h - The order of atoms and forms -----------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What terms and factors are sorted by.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_GRADIENTALGEBRA_COMPARE_H
#define LNBWD_LIB_GRADIENTALGEBRA_COMPARE_H

#include "NormalForm.h"

#include <set>

namespace lnbwd {

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

} // namespace lnbwd

#endif // LNBWD_LIB_GRADIENTALGEBRA_COMPARE_H
