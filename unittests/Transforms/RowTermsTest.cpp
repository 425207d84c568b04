//===- RowTermsTest.cpp - Products of scalars as monomials ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal products have equal monomials, and reading what was written changes
// nothing.
//
//===----------------------------------------------------------------------===//

#include "RowTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace lnbwd;
using namespace mlir;

namespace {

class RowTermsTest : public testing::Test {
protected:
  RowTermsTest() {
    context.loadDialect<arith::ArithDialect, vector::VectorDialect,
                        LNBwdDialect>();
    for (Value *scalar : {&a, &b, &c})
      *scalar = block.addArgument(builder.getF32Type(), loc);
    builder.setInsertionPointToEnd(&block);
  }
  Value mul(Value lhs, Value rhs) { return makeMul(builder, loc, lhs, rhs); }
  Value div(Value lhs, Value rhs) { return makeDiv(builder, loc, lhs, rhs); }
  Value neg(Value value) { return arith::NegFOp::create(builder, loc, value); }
  Value number(double value) { return makeScalar(builder, loc, value); }

  MLIRContext context;
  OpBuilder builder{&context};
  Location loc = builder.getUnknownLoc();
  Block block;
  Value a, b, c;
};

void expectEqual(const Monomial &lhs, const Monomial &rhs) {
  EXPECT_TRUE(lhs.hasSameFactors(rhs));
  EXPECT_EQ(lhs.coefficient, rhs.coefficient);
}

TEST_F(RowTermsTest, OrderDoesNotMatter) {
  expectEqual(getMonomial(mul(mul(a, b), number(4))),
              getMonomial(mul(number(2), mul(b, mul(number(2), a)))));
  expectEqual(getMonomial(neg(mul(a, b))), getMonomial(mul(neg(b), a)));
}

TEST_F(RowTermsTest, QuotientsCancel) {
  Monomial monomial = getMonomial(div(mul(a, mul(b, b)), mul(b, number(4))));
  expectEqual(monomial, getMonomial(mul(mul(a, b), number(0.25))));
  EXPECT_TRUE(getMonomial(div(a, a)).factors.empty());
}

TEST_F(RowTermsTest, SumsAreFactors) {
  Value sum = makeAdd(builder, loc, a, b);
  Monomial monomial = getMonomial(mul(mul(sum, c), sum));
  EXPECT_EQ(monomial.factors.size(), 2u);
  EXPECT_EQ(monomial.factors.lookup(sum), 2);
}

TEST_F(RowTermsTest, DividesKeepsSigns) {
  Monomial square = getMonomial(mul(a, a)),
           inverse = getMonomial(div(number(1), a));
  EXPECT_TRUE(getMonomial(a).divides(square));
  EXPECT_FALSE(square.divides(getMonomial(a)));
  EXPECT_FALSE(getMonomial(a).divides(inverse));
}

TEST_F(RowTermsTest, WrittenAndRead) {
  for (Value value : {mul(a, number(-1)), div(mul(a, number(3)), mul(b, b)),
                      div(number(1), c), number(2), mul(mul(a, a), neg(c))}) {
    Monomial monomial = getMonomial(value);
    expectEqual(monomial, getMonomial(buildMonomial(builder, loc, monomial)));
  }
}

} // namespace
