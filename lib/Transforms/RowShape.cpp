//===- RowShape.cpp - How a simplified row program is written down --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fused multiply-adds of rows, and the order of the factors of scalars.
//
//===----------------------------------------------------------------------===//

#include "RowShape.h"
#include "RowAlgebra.h"
#include "RowTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace lnbwd;

/// The terms of a chain of additions, whose inner ones nothing else uses.
static void collectTerms(Value value, bool isRoot,
                         SmallVectorImpl<Value> &terms) {
  auto add = value.getDefiningOp<arith::AddFOp>();
  if (!add || (!isRoot && !value.hasOneUse())) {
    terms.push_back(value);
    return;
  }
  collectTerms(add.getLhs(), false, terms);
  collectTerms(add.getRhs(), false, terms);
}

/// A chain of fused multiply-adds that begins with what is no product; the
/// even terms become one.
static void fuseAdditions(IRRewriter &rewriter, arith::AddFOp add) {
  SmallVector<Value> terms, products, others;
  collectTerms(add.getResult(), /*isRoot=*/true, terms);
  Value scalar;
  Location loc = add.getLoc();
  rewriter.setInsertionPoint(add);
  for (Value term : terms) {
    if (term.getDefiningOp<vector::BroadcastOp>()) {
      Value next = getScalar(rewriter, loc, term);
      scalar = scalar ? makeAdd(rewriter, loc, scalar, next) : next;
    } else if (term.getDefiningOp<arith::MulFOp>() && term.hasOneUse()) {
      products.push_back(term);
    } else {
      others.push_back(term);
    }
  }
  if (products.empty())
    return;
  Value result;
  if (scalar)
    result = makeSpread(rewriter, loc, scalar, add.getType());
  for (Value other : others)
    result = result ? makeAdd(rewriter, loc, result, other) : other;
  // Later products first: what was accumulated first ends outermost.
  for (Value product : llvm::reverse(products)) {
    auto mul = product.getDefiningOp<arith::MulFOp>();
    result = result ? Value(vector::FMAOp::create(rewriter, loc, mul.getLhs(),
                                                  mul.getRhs(), result))
                    : product;
  }
  rewriter.replaceOp(add, result);
}

void lnbwd::shapeRowProgram(RowwiseOp op) {
  IRRewriter rewriter(op.getContext());
  Block &body = op.getBody().front();

  // Products of scalars that end in something else than a product.
  SmallVector<Operation *> roots;
  for (Operation &bodyOp : body)
    if (isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(bodyOp) &&
        bodyOp.getResult(0).getType().isF32() &&
        !llvm::any_of(bodyOp.getUsers(), [](Operation *user) {
          return isa<arith::MulFOp, arith::DivFOp, arith::NegFOp>(user) &&
                 user->getResult(0).getType().isF32();
        }))
      roots.push_back(&bodyOp);
  for (Operation *root : roots) {
    Monomial monomial = getMonomial(root->getResult(0));
    if (monomial.factors.empty())
      continue;
    rewriter.setInsertionPoint(root);
    rewriter.replaceOp(root, buildMonomial(rewriter, root->getLoc(), monomial));
  }

  SmallVector<arith::AddFOp> additions;
  for (Operation &bodyOp : body) {
    auto add = dyn_cast<arith::AddFOp>(bodyOp);
    if (!add || !isRow(add.getResult()))
      continue;
    bool isInner = add->hasOneUse() && isa<arith::AddFOp>(*add->user_begin());
    if (!isInner)
      additions.push_back(add);
  }
  for (arith::AddFOp add : additions)
    fuseAdditions(rewriter, add);
  (void)simplifyRowProgram(op, /*algebra=*/false);
}
