//===- Write.cpp - From forms to a row program ----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations come in the order of the program that was read. What is a scalar
// in all places is computed as a scalar.
//
//===----------------------------------------------------------------------===//

#include "NeededForms.h"
#include "Steps.h"

#include "lnbwd/Dialect/LNBwd/IR/RowBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lnbwd;

/// Whether `atom` is known only after the row's sums.
static bool isLate(const Atom *atom) {
  if (atom->kind != Atom::Kind::Sum)
    return atom->kind == Atom::Kind::RowSum;
  return llvm::any_of(
      atom->operands[0]->getScalar(), [](const Monomial &monomial) {
        return llvm::any_of(llvm::make_first_range(monomial.factors), isLate);
      });
}

namespace {

/// Writes forms. Equal operations are common subexpressions, which go later.
class Writer {
public:
  Writer(RowForms &forms, RowwiseOp op, ArrayRef<const Form *> outputs)
      : forms(forms), b(op.getLoc(), op.getBody().front().getTerminator()),
        needed(outputs) {}

  void writeAtoms() {
    SmallVector<const Atom *> atoms(needed.getAtoms());
    llvm::stable_sort(atoms, [](const Atom *lhs, const Atom *rhs) {
      return lhs->position < rhs->position;
    });
    for (const Atom *atom : atoms)
      if (atom->kind != Atom::Kind::Product || !needed.isFused(atom))
        write(atom);
  }

  /// `form` as a value of the type that `like` has.
  RowValue write(const Form *form, Type like) {
    if (isRow(like))
      return writeRow(form, cast<VectorType>(like).getNumElements());
    // Of other types there is no algebra: a form is one atom.
    if (!like.isF32()) {
      const Term &term = form->terms.front();
      return write(term.row ? term.row
                            : term.scale.front().factors.front().first);
    }
    // The sum of a row of one element.
    if (!form->isEven()) {
      Value row = writeRow(form, /*length=*/1);
      return {&b, vector::ExtractOp::create(b, row, ArrayRef<int64_t>{0})};
    }
    return writeScalar(form->getScalar());
  }

private:
  RowValue spreadScalar(const Polynomial &scalar, int64_t length) {
    if (!scalar.empty() && !isNumber(scalar))
      return spread(writeScalar(scalar), length);
    auto rowType = VectorType::get({length}, b.getF32Type());
    return {&b, arith::ConstantOp::create(
                    b, DenseElementsAttr::get(
                           rowType, scalar.empty()
                                        ? 0.0f
                                        : float(scalar.front().coefficient)))};
  }

  //===--------------------------------------------------------------------===//
  // Scalars
  //===--------------------------------------------------------------------===//

  /// What is known before the row's sums first, with the number, so that sums
  /// which share it need one multiplication each. Higher powers come after the
  /// sums: rstd^3 may be less than float32 has where its product with the sum
  /// is not.
  RowValue writeMonomial(const Monomial &monomial) {
    SmallVector<const Atom *> early, late, powers, below;
    for (auto [factor, exponent] : monomial.factors) {
      if (exponent < 0) {
        below.append(size_t(-exponent), factor);
      } else {
        (isLate(factor) ? late : early).push_back(factor);
        powers.append(size_t(exponent - 1), factor);
      }
    }
    std::optional<RowValue> result, divisor;
    auto multiplyBy = [&](std::optional<RowValue> &product,
                          ArrayRef<const Atom *> factors) {
      for (const Atom *factor : factors)
        product = product ? *product * write(factor) : write(factor);
    };
    multiplyBy(result, early);
    bool isNegated = monomial.coefficient == -1;
    if ((monomial.coefficient != 1 && !isNegated) ||
        (!result && late.empty())) {
      isNegated = false;
      RowValue factor = constant(b, monomial.coefficient);
      result = result ? *result * factor : factor;
    }
    multiplyBy(result, late);
    multiplyBy(result, powers);
    if (isNegated)
      result = -*result;
    multiplyBy(divisor, below);
    return divisor ? *result / *divisor : *result;
  }

  RowValue writeScalar(const Polynomial &polynomial) {
    if (polynomial.empty())
      return constant(b, 0);
    RowValue result = writeMonomial(polynomial.front());
    for (const Monomial &monomial : llvm::drop_begin(polynomial))
      result = result + writeMonomial(monomial);
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  RowValue writeRow(const Form *form, int64_t length) {
    // An even form may be that of rows of several lengths.
    if (form->isEven())
      return spreadScalar(form->getScalar(), length);
    if (Value known = rows.lookup(form))
      return {&b, known};
    RowValue result{&b, rows.lookup(forms.negate(form))};
    if (result.value)
      result = -result;
    else if (form->terms.size() == 1)
      result = writeTerm(form->terms.front());
    else
      result = writeSum(form);
    rows[form] = result;
    return result;
  }

  RowValue writeTerm(const Term &term) {
    RowValue row = write(term.row);
    if (!isUnit(term.scale))
      return row * spreadScalar(term.scale, term.row->length);
    return term.scale.front().coefficient < 0 ? -row : row;
  }

  /// A chain of fused multiply-adds that begins with the even part and with
  /// what is no product.
  RowValue writeSum(const Form *form) {
    std::optional<RowValue> result;
    SmallVector<Term> products;
    SmallVector<RowValue> others;
    for (const Term &term : form->terms) {
      bool isFused = term.row && term.row->kind == Atom::Kind::Product &&
                     needed.isFused(term.row);
      if (!term.row)
        result = spreadScalar(term.scale, form->getLength());
      else if (isUnit(term.scale) && !isFused)
        others.push_back(writeTerm(term));
      else
        products.push_back(term);
    }
    // x + (-mean) rather than (-mean) + x: what is added is what is spread.
    if (result && !others.empty()) {
      result = others.front() + *result;
      others.erase(others.begin());
    }
    for (RowValue other : others)
      result = result ? *result + other : other;
    // Later products first: what was accumulated first ends outermost.
    for (const Term &term : llvm::reverse(products)) {
      if (!result) {
        result = writeTerm(term);
        continue;
      }
      bool isProduct = isUnit(term.scale);
      RowValue lhs = write(isProduct ? term.row->lhs : term.row);
      RowValue rhs = isProduct ? write(term.row->rhs)
                               : spreadScalar(term.scale, term.row->length);
      if (isProduct && term.scale.front().coefficient < 0)
        lhs = -lhs;
      result = fma(lhs, rhs, *result);
    }
    return *result;
  }

  //===--------------------------------------------------------------------===//
  // Atoms
  //===--------------------------------------------------------------------===//

  RowValue write(const Atom *atom) {
    Value known = atoms.lookup(atom);
    if (!known)
      atoms[atom] = known = writeNew(atom);
    return {&b, known};
  }

  RowValue writeNew(const Atom *atom) {
    switch (atom->kind) {
    case Atom::Kind::Argument:
      return {&b, atom->value};
    case Atom::Kind::Operation:
      return {&b, writeOperation(atom)};
    case Atom::Kind::Scaled: {
      if (!atom->isRow())
        return writeMonomial(multiply(atom->scale, atom->lhs));
      RowValue scale = spreadScalar({atom->scale}, atom->length);
      return write(atom->lhs) * scale;
    }
    case Atom::Kind::Product: {
      RowValue lhs = write(atom->lhs);
      return lhs * write(atom->rhs);
    }
    case Atom::Kind::Quotient: {
      RowValue lhs = atom->lhs ? write(atom->lhs)
                               : spreadScalar({Monomial()}, atom->length);
      return lhs / writeRow(atom->operands[0], atom->length);
    }
    case Atom::Kind::Sum:
      return atom->isRow() ? writeRow(atom->operands[0], atom->length)
                           : writeScalar(atom->operands[0]->getScalar());
    case Atom::Kind::RowSum:
      return rowSum(write(atom->lhs));
    }
    llvm_unreachable("an atom has a kind");
  }

  Value writeOperation(const Atom *atom) {
    Operation *op = atom->value.getDefiningOp();
    Type type =
        atom->isOnScalars ? Type(b.getF32Type()) : atom->value.getType();
    SmallVector<Value> operands;
    for (auto [form, operand] : llvm::zip(atom->operands, op->getOperands()))
      operands.push_back(atom->isOnScalars ? writeScalar(form->getScalar())
                                           : write(form, operand.getType()));
    OperationState state(op->getLoc(), op->getName(), operands, type,
                         op->getAttrDictionary().getValue());
    return b.create(state)->getResult(0);
  }

  RowForms &forms;
  RowBuilder b;
  NeededForms needed;
  llvm::DenseMap<const Atom *, Value> atoms;
  llvm::DenseMap<const Form *, Value> rows;
};

} // namespace

void lnbwd::writeForms(RowForms &forms, RowwiseOp op,
                       ArrayRef<const Form *> outputs) {
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Operation *> old;
  for (Operation &bodyOp : body.without_terminator())
    old.push_back(&bodyOp);
  Writer writer(forms, op, outputs);
  writer.writeAtoms();
  SmallVector<Value> values;
  for (auto [form, operand] : llvm::zip(outputs, yield->getOperands()))
    values.push_back(writer.write(form, operand.getType()));
  yield->setOperands(values);
  for (Operation *bodyOp : llvm::reverse(old))
    bodyOp->erase();
}
