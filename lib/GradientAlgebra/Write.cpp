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

#include "Write.h"
#include "NeededForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lnbwd;

namespace {

class Writer {
public:
  Writer(RowForms &forms, RowwiseOp op, ArrayRef<const Form *> outputs)
      : forms(forms), b(op.getBody().front().getTerminator()), loc(op.getLoc()),
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
  Value write(const Form *form, Type like) {
    if (isRow(like))
      return writeRow(form, cast<VectorType>(like).getNumElements());
    // Of other types there is no algebra: a form is one atom.
    if (!like.isF32()) {
      const Term &term = form->terms.front();
      return write(term.row ? term.row
                            : term.scale.front().factors.front().first);
    }
    // The sum of a row of one element.
    if (!form->isEven())
      return make<vector::ExtractOp>(writeRow(form, /*length=*/1),
                                     ArrayRef<int64_t>{0});
    return writeScalar(form->getScalar());
  }

private:
  static constexpr arith::FastMathFlags contract =
      arith::FastMathFlags::contract;

  // Equal operations are common subexpressions, which go later.
  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  Value mul(Value lhs, Value rhs) {
    return make<arith::MulFOp>(lhs, rhs, contract);
  }
  Value add(Value lhs, Value rhs) {
    return make<arith::AddFOp>(lhs, rhs, contract);
  }
  Value negate(Value value) { return make<arith::NegFOp>(value); }
  Value number(double value) {
    return make<arith::ConstantOp>(b.getF32FloatAttr(float(value)));
  }
  Value spread(const Polynomial &scalar, int64_t length) {
    auto rowType = VectorType::get({length}, b.getF32Type());
    if (!scalar.empty() && !isNumber(scalar))
      return make<vector::BroadcastOp>(rowType, writeScalar(scalar));
    return make<arith::ConstantOp>(cast<TypedAttr>(DenseElementsAttr::get(
        rowType, scalar.empty() ? 0.0f : float(scalar.front().coefficient))));
  }

  //===--------------------------------------------------------------------===//
  // Scalars
  //===--------------------------------------------------------------------===//

  /// Whether `atom` is known only after the row's sums.
  static bool isLate(const Atom *atom) {
    if (atom->kind != Atom::Kind::Sum)
      return atom->kind == Atom::Kind::RowSum;
    return llvm::any_of(
        atom->operands[0]->getScalar(), [](const Monomial &monomial) {
          return llvm::any_of(llvm::make_first_range(monomial.factors), isLate);
        });
  }

  /// What is known before the row's sums first, with the number, so that sums
  /// which share it need one multiplication each. Higher powers come after the
  /// sums: rstd^3 may be less than float32 has where its product with the sum
  /// is not.
  Value writeMonomial(const Monomial &monomial) {
    SmallVector<const Atom *> early, late, powers, below;
    for (auto [factor, exponent] : monomial.factors) {
      if (exponent < 0) {
        below.append(size_t(-exponent), factor);
      } else {
        (isLate(factor) ? late : early).push_back(factor);
        powers.append(size_t(exponent - 1), factor);
      }
    }
    auto multiply = [&](Value start, ArrayRef<const Atom *> factors) {
      for (const Atom *factor : factors)
        start = start ? mul(start, write(factor)) : write(factor);
      return start;
    };
    Value result = multiply(Value(), early);
    bool isNegated = monomial.coefficient == -1;
    if ((monomial.coefficient != 1 && !isNegated) ||
        (!result && late.empty())) {
      isNegated = false;
      Value factor = number(monomial.coefficient);
      result = result ? mul(result, factor) : factor;
    }
    result = multiply(multiply(result, late), powers);
    if (isNegated)
      result = negate(result);
    if (Value divisor = multiply(Value(), below))
      result = make<arith::DivFOp>(result, divisor, contract);
    return result;
  }

  Value writeScalar(const Polynomial &polynomial) {
    if (polynomial.empty())
      return number(0);
    Value result;
    for (const Monomial &monomial : polynomial) {
      Value part = writeMonomial(monomial);
      result = result ? add(result, part) : part;
    }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  Value writeRow(const Form *form, int64_t length) {
    // An even form may be that of rows of several lengths.
    if (form->isEven())
      return spread(form->getScalar(), length);
    if (Value known = rows.lookup(form))
      return known;
    Value result;
    if (Value opposite = rows.lookup(forms.negate(form)))
      result = negate(opposite);
    else if (form->terms.size() == 1)
      result = writeTerm(form->terms.front());
    else
      result = writeSum(form);
    return rows[form] = result;
  }

  Value writeTerm(const Term &term) {
    Value row = write(term.row);
    if (!isUnit(term.scale))
      return mul(row, spread(term.scale, term.row->length));
    return term.scale.front().coefficient < 0 ? negate(row) : row;
  }

  /// A chain of fused multiply-adds that begins with the even part and with
  /// what is no product.
  Value writeSum(const Form *form) {
    Value result;
    SmallVector<Term> products;
    SmallVector<Value> others;
    for (const Term &term : form->terms) {
      bool isFused = term.row && term.row->kind == Atom::Kind::Product &&
                     needed.isFused(term.row);
      if (!term.row)
        result = spread(term.scale, form->getLength());
      else if (isUnit(term.scale) && !isFused)
        others.push_back(writeTerm(term));
      else
        products.push_back(term);
    }
    // x + (-mean) rather than (-mean) + x: what is added is what is spread.
    if (result && !others.empty()) {
      result = add(others.front(), result);
      others.erase(others.begin());
    }
    for (Value other : others)
      result = result ? add(result, other) : other;
    // Later products first: what was accumulated first ends outermost.
    for (const Term &term : llvm::reverse(products)) {
      if (!result) {
        result = writeTerm(term);
        continue;
      }
      Value lhs, rhs;
      if (isUnit(term.scale)) {
        lhs = write(term.row->lhs);
        rhs = write(term.row->rhs);
        if (term.scale.front().coefficient < 0)
          lhs = negate(lhs);
      } else {
        lhs = write(term.row);
        rhs = spread(term.scale, term.row->length);
      }
      result = make<vector::FMAOp>(lhs, rhs, result);
    }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Atoms
  //===--------------------------------------------------------------------===//

  Value write(const Atom *atom) {
    Value known = atoms.lookup(atom);
    if (!known)
      atoms[atom] = known = writeNew(atom);
    return known;
  }

  Value writeNew(const Atom *atom) {
    switch (atom->kind) {
    case Atom::Kind::Argument:
      return atom->value;
    case Atom::Kind::Operation:
      return writeOperation(atom);
    case Atom::Kind::Scaled: {
      if (atom->isRow()) {
        Value scale = spread({atom->scale}, atom->length);
        return mul(write(atom->lhs), scale);
      }
      return writeMonomial(RowForms::multiply(atom->scale, atom->lhs));
    }
    case Atom::Kind::Product: {
      Value lhs = write(atom->lhs);
      return mul(lhs, write(atom->rhs));
    }
    case Atom::Kind::Quotient: {
      Value lhs =
          atom->lhs ? write(atom->lhs) : spread({Monomial()}, atom->length);
      Value divisor = writeRow(atom->operands[0], atom->length);
      return make<arith::DivFOp>(lhs, divisor, contract);
    }
    case Atom::Kind::Sum:
      return atom->isRow() ? writeRow(atom->operands[0], atom->length)
                           : writeScalar(atom->operands[0]->getScalar());
    case Atom::Kind::RowSum:
      return make<vector::ReductionOp>(vector::CombiningKind::ADD,
                                       write(atom->lhs));
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
  OpBuilder b;
  Location loc;
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
