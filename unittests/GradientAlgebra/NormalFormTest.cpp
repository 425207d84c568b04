//===- NormalFormTest.cpp - Normal forms of rows and scalars --------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal expressions have one form, by each of the laws that the forms know and
// by no other.
//
//===----------------------------------------------------------------------===//

#include "MakeForms.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace lnbwd;
using namespace mlir;

namespace {

class RowFormsTest : public testing::Test {
protected:
  static constexpr int64_t length = 1000;

  RowFormsTest() {
    Type scalar = builder.getF32Type();
    Type row = VectorType::get({length}, scalar);
    for (const Form **form : {&x, &y, &z})
      *form = argument(row);
    for (const Form **form : {&a, &b})
      *form = argument(scalar);
  }
  const Form *argument(Type type) {
    return forms.makeForm(
        forms.makeArgument(block.addArgument(type, builder.getUnknownLoc())));
  }
  const Form *number(double value) { return forms.makeNumber(value); }
  const Form *add(const Form *lhs, const Form *rhs) {
    return forms.add(lhs, rhs);
  }
  const Form *sub(const Form *lhs, const Form *rhs) {
    return forms.add(lhs, forms.negate(rhs));
  }
  const Form *mul(const Form *lhs, const Form *rhs) {
    return forms.multiply(lhs, rhs);
  }
  const Form *div(const Form *lhs, const Form *rhs) {
    return forms.divide(lhs, rhs);
  }
  const Form *sum(const Form *row) { return forms.sumRow(row, length); }
  const Form *mean(const Form *row) {
    return mul(sum(row), number(1.0 / length));
  }

  MLIRContext context;
  Builder builder{&context};
  Block block;
  RowForms forms;
  const Form *x, *y, *z, *a, *b;
};

TEST_F(RowFormsTest, OrderDoesNotMatter) {
  EXPECT_EQ(add(x, add(y, z)), add(add(z, x), y));
  EXPECT_EQ(mul(x, mul(y, z)), mul(mul(z, x), y));
  EXPECT_EQ(mul(mul(a, number(3)), b), mul(b, mul(a, number(3))));
}

TEST_F(RowFormsTest, OrderDoesNotDependOnWhatCameFirst) {
  // Atoms that are made in another order are in the same order.
  RowForms others;
  auto take = [&](unsigned i) {
    return others.makeForm(others.makeArgument(block.getArgument(i)));
  };
  const Form *otherZ = take(2), *otherX = take(0);
  const Form *here = add(x, z), *there = others.add(otherZ, otherX);
  ASSERT_EQ(here->terms.size(), there->terms.size());
  for (auto [mine, other] : llvm::zip(here->terms, there->terms))
    EXPECT_EQ(mine.row->value, other.row->value);
}

TEST_F(RowFormsTest, ThereIsRoomForManyAtomsInOnePlace) {
  // Each is made before all others: ranks between two are taken soon.
  constexpr unsigned count = 3000;
  for (unsigned i = 0; i < count; ++i)
    block.addArgument(builder.getF32Type(), builder.getUnknownLoc());
  RowForms others;
  std::vector<const Atom *> atoms;
  for (unsigned i = block.getNumArguments(); i > 0; --i)
    atoms.push_back(others.makeArgument(block.getArgument(i - 1)));
  for (unsigned i = 1; i < atoms.size(); ++i)
    EXPECT_LT(compare(atoms[i], atoms[i - 1]), 0);
}

TEST_F(RowFormsTest, NumbersInFactorsArePositive) {
  // 1 - x^2, not x^2 - 1: a factor of a fused multiply-add is negated for
  // nothing, and what is made of the product need not be.
  const Form *product = mul(sub(number(1), mul(x, x)), y);
  EXPECT_EQ(product->terms.front().scale.front().coefficient, 1);
  EXPECT_EQ(mul(sub(mul(x, x), number(1)), y), forms.negate(product));
}

TEST_F(RowFormsTest, LikeTermsAreOne) {
  EXPECT_EQ(add(x, x), mul(x, number(2)));
  EXPECT_EQ(add(mul(x, a), mul(x, b)), add(mul(b, x), mul(a, x)));
  EXPECT_EQ(add(mul(x, a), mul(x, b))->terms.size(), 1u);
  EXPECT_EQ(sub(add(x, y), x), y);
  EXPECT_EQ(sub(x, x), number(0));
}

TEST_F(RowFormsTest, ScalarsCancel) {
  EXPECT_EQ(div(mul(x, a), a), x);
  EXPECT_EQ(mul(div(a, b), div(b, a)), number(1));
  EXPECT_EQ(div(mul(a, mul(b, b)), mul(b, number(4))),
            mul(mul(a, b), number(0.25)));
}

TEST_F(RowFormsTest, DivisionByZeroHasNoForm) {
  EXPECT_EQ(div(x, sub(a, a)), nullptr);
}

TEST_F(RowFormsTest, ScalarsLeaveSums) {
  EXPECT_EQ(sum(mul(x, a)), mul(a, sum(x)));
  EXPECT_EQ(sum(add(mul(x, a), y)), add(sum(y), mul(sum(x), a)));
  EXPECT_EQ(sum(a), mul(a, number(length)));
}

TEST_F(RowFormsTest, RowsHaveLengthsOfTheirOwn) {
  const Form *others = argument(VectorType::get({3}, builder.getF32Type()));
  EXPECT_EQ(others->getLength(), 3);
  EXPECT_EQ(mul(add(others, a), others)->getLength(), 3);
  EXPECT_EQ(mul(add(x, a), y)->getLength(), length);
  EXPECT_EQ(forms.sumRow(a, 3), mul(a, number(3)));
  EXPECT_EQ(forms.sumRow(add(others, a), 3),
            add(forms.sumRow(others, 3), mul(a, number(3))));
}

TEST_F(RowFormsTest, CentredRowsSumToZero) {
  const Form *centred = sub(x, mean(x));
  EXPECT_EQ(sum(centred), number(0));
  EXPECT_EQ(sum(mul(centred, a)), number(0));
  EXPECT_EQ(sum(add(mul(centred, a), y)), sum(y));
  EXPECT_NE(sum(sub(x, mul(sum(x), number(0.5)))), number(0));
}

TEST_F(RowFormsTest, RowsOfOneElementAreTheirSums) {
  const Form *row = argument(VectorType::get({1}, builder.getF32Type()));
  const Form *squares = mul(row, row);
  EXPECT_EQ(forms.sumRow(squares, 1), squares);
  EXPECT_EQ(sub(row, forms.sumRow(row, 1)), number(0));
}

TEST_F(RowFormsTest, RowsOfOneElementAreScalarsInLongerRows) {
  const Form *row = argument(VectorType::get({1}, builder.getF32Type()));
  const Form *scalar = forms.makeScalar(add(mul(row, a), b));
  EXPECT_TRUE(scalar->isEven());
  EXPECT_EQ(scalar, add(mul(forms.makeScalar(row), a), b));
  EXPECT_EQ(mul(x, scalar)->getLength(), length);
  EXPECT_EQ(sum(mul(x, scalar)), mul(scalar, sum(x)));
}

TEST_F(RowFormsTest, SumsAsFactorsStayWhole) {
  // x - mean(x) is exact where x^2 and mean(x)^2 would cancel.
  const Form *centred = sub(x, mean(x));
  const Form *square = mul(centred, centred);
  ASSERT_EQ(square->terms.size(), 1u);
  const Atom *product = square->terms.front().row;
  ASSERT_EQ(product->kind, Atom::Kind::Product);
  EXPECT_EQ(product->factors[0], product->factors[1]);
  EXPECT_EQ(product->factors[0]->kind, Atom::Kind::Sum);
  EXPECT_EQ(product->factors[0]->operands[0], centred);
}

TEST_F(RowFormsTest, FactorsOfSumsAreTheirContent) {
  EXPECT_EQ(mul(add(mul(x, a), mul(y, a)), z), mul(mul(add(x, y), z), a));
  EXPECT_EQ(mul(sub(y, x), z), forms.negate(mul(sub(x, y), z)));
  EXPECT_EQ(mul(add(div(x, a), div(b, a)), y), mul(add(x, b), div(y, a)));
}

TEST_F(RowFormsTest, NumbersThatWouldRoundStay) {
  // Of 3 x + y only x or y could have the coefficient 1.
  const Form *form = add(mul(x, number(3)), y);
  const Form *product = mul(form, z);
  const Atom *factor = product->terms.front().row->factors.back();
  EXPECT_EQ(factor->operands[0], form);
}

TEST_F(RowFormsTest, SumsThatAreNoFactorsAreOpen) {
  const Form *inner = add(x, y);
  EXPECT_EQ(sub(div(mul(inner, a), a), x), y);
  EXPECT_EQ(add(mul(inner, number(2)), z),
            add(add(mul(x, number(2)), z), mul(y, number(2))));
}

TEST_F(RowFormsTest, CoefficientsAreRoundedAlike) {
  EXPECT_EQ(mul(mul(a, number(1.0 / 3)), number(3)), a);
  EXPECT_EQ(div(mul(a, number(3)), number(3)), a);
}

TEST_F(RowFormsTest, DivisorsOfRowsStayWhole) {
  const Form *quotient = div(mul(x, a), mul(y, b));
  ASSERT_EQ(quotient->terms.size(), 1u);
  const Atom *atom = quotient->terms.front().row;
  ASSERT_EQ(atom->kind, Atom::Kind::Quotient);
  EXPECT_EQ(atom->operands[0], mul(y, b));
  EXPECT_EQ(quotient, mul(a, div(x, mul(b, y))));
}

} // namespace
