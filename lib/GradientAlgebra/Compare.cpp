//===- Compare.cpp - The order of atoms and forms -------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares what atoms are, part by part, so that a program in another order of
// operations has its terms in the same order. That is done once for an atom, as
// it is put into its place among the others; after that ranks are compared,
// since the parts of two atoms may be as large as the program.
//
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <iterator>
#include <string>

using namespace mlir;
using namespace lnbwd;

int lnbwd::compare(const Monomial &lhs, const Monomial &rhs) {
  for (const auto &[mine, other] : llvm::zip(lhs.factors, rhs.factors)) {
    if (int order = compare(mine.first, other.first))
      return order;
    if (mine.second != other.second)
      return mine.second < other.second ? -1 : 1;
  }
  // The number 1 is the last.
  if (lhs.factors.size() != rhs.factors.size())
    return lhs.factors.size() > rhs.factors.size() ? -1 : 1;
  return 0;
}

static int comparePolynomials(const Polynomial &lhs, const Polynomial &rhs) {
  for (const auto &[mine, other] : llvm::zip(lhs, rhs)) {
    if (int order = compare(mine, other))
      return order;
    if (mine.coefficient != other.coefficient)
      return mine.coefficient < other.coefficient ? -1 : 1;
  }
  return int(lhs.size()) - int(rhs.size());
}

/// What an operation is, beside its operands.
static std::string describe(const Atom *atom) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Operation *op = atom->value.getDefiningOp();
  stream << atom->value.getType() << op->getAttrDictionary()
         << atom->isOnScalars;
  llvm::interleaveComma(op->getOperandTypes(), stream);
  return text;
}

static int compareOperations(const Atom *lhs, const Atom *rhs) {
  StringRef mine = lhs->value.getDefiningOp()->getName().getStringRef(),
            other = rhs->value.getDefiningOp()->getName().getStringRef();
  if (int order = mine.compare(other))
    return order;
  for (const auto &[form, otherForm] : llvm::zip(lhs->operands, rhs->operands))
    if (int order = compare(form, otherForm))
      return order;
  return describe(lhs).compare(describe(rhs));
}

/// Of different atoms, the parts of which have their ranks.
static int compareParts(const Atom *lhs, const Atom *rhs) {
  if (lhs->kind != rhs->kind)
    return lhs->kind < rhs->kind ? -1 : 1;
  int order = 0;
  switch (lhs->kind) {
  case Atom::Kind::Argument:
    order = int(cast<BlockArgument>(lhs->value).getArgNumber()) -
            int(cast<BlockArgument>(rhs->value).getArgNumber());
    break;
  case Atom::Kind::Operation:
    order = compareOperations(lhs, rhs);
    break;
  case Atom::Kind::Scaled:
    order = compare(lhs->lhs, rhs->lhs);
    if (!order)
      order = comparePolynomials({lhs->scale}, {rhs->scale});
    break;
  case Atom::Kind::Product:
    order = int(lhs->factors.size()) - int(rhs->factors.size());
    for (unsigned i = 0; !order && i < lhs->factors.size(); ++i)
      order = compare(lhs->factors[i], rhs->factors[i]);
    break;
  case Atom::Kind::Quotient:
    order = compare(lhs->lhs, rhs->lhs);
    if (!order)
      order = compare(lhs->operands[0], rhs->operands[0]);
    break;
  case Atom::Kind::Sum:
    order = compare(lhs->operands[0], rhs->operands[0]);
    break;
  case Atom::Kind::RowSum:
    order = compare(lhs->lhs, rhs->lhs);
    break;
  }
  return order ? order : lhs->id < rhs->id ? -1 : 1;
}

bool AtomOrder::ComparesParts::operator()(const Atom *lhs,
                                          const Atom *rhs) const {
  return lhs != rhs && compareParts(lhs, rhs) < 0;
}

void AtomOrder::insert(const Atom *atom) {
  // How far the last atoms are from each other.
  constexpr uint64_t step = uint64_t(1) << 32;
  auto place = sorted.insert(atom).first, next = std::next(place);
  uint64_t before = place == sorted.begin() ? 0 : (*std::prev(place))->rank;
  uint64_t after = next == sorted.end() ? before + 2 * step : (*next)->rank;
  atom->rank = before + (after - before) / 2;
  if (atom->rank != before)
    return;
  // No rank is left between these two.
  uint64_t rank = 0;
  for (const Atom *each : sorted)
    each->rank = rank += step;
}

int lnbwd::compare(const Atom *lhs, const Atom *rhs) {
  if (lhs == rhs)
    return 0;
  // Nothing comes before something.
  if (!lhs || !rhs)
    return lhs ? 1 : -1;
  return lhs->rank < rhs->rank ? -1 : 1;
}

int lnbwd::compare(const Form *lhs, const Form *rhs) {
  if (lhs == rhs)
    return 0;
  for (const auto &[mine, other] : llvm::zip(lhs->terms, rhs->terms)) {
    if (int order = compare(mine.row, other.row))
      return order;
    if (int order = comparePolynomials(mine.scale, other.scale))
      return order;
  }
  return int(lhs->terms.size()) - int(rhs->terms.size());
}
