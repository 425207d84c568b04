//===- FixOrder.cpp - The same rounding everywhere ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a code generator may fuse it fuses on one chip and not on another. Here
// it is decided for all of them, before there is a schedule.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/PassOptions.h"
#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace lnbwd {
#define GEN_PASS_DEF_FIXORDERPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

/// The product that `value` is, if only one operation uses it and both may be
/// fused.
static arith::MulFOp getFusible(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  bool isFusible =
      product && product->hasOneUse() &&
      bitEnumContainsAny(product.getFastmath(), arith::FastMathFlags::contract);
  return isFusible ? product : arith::MulFOp();
}

/// Makes `op`, a sum or a difference, a multiply-add if a term is a product:
/// the first term, if both are.
template <typename Op> static bool fuse(Op op) {
  if (!bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::contract))
    return false;
  constexpr bool isDifference = std::is_same_v<Op, arith::SubFOp>;
  OpBuilder b(op);
  Location loc = op.getLoc();
  arith::MulFOp product = getFusible(op.getLhs());
  Value other = op.getRhs();
  bool isSecond = !product;
  if (isSecond) {
    product = getFusible(op.getRhs());
    other = op.getLhs();
  }
  if (!product)
    return false;
  Value factor = product.getLhs();
  if (isDifference) {
    Value &negated = isSecond ? factor : other;
    negated = arith::NegFOp::create(b, loc, negated);
  }
  op.replaceAllUsesWith(
      math::FmaOp::create(b, loc, factor, product.getRhs(), other).getResult());
  op.erase();
  product.erase();
  return true;
}

namespace {
struct FixOrder : lnbwd::impl::FixOrderPassBase<FixOrder> {
  using FixOrderPassBase::FixOrderPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (order != "canonical") {
      emitError(getOptionLoc(&getContext(), "order"))
          << "expected default or canonical, got '" << order << "'";
      return signalPassFailure();
    }
    WalkResult result = module.walk([&](RowwiseOp program) {
      if (program.hasContractions()) {
        program.emitOpError(
            "has a product of matrices, whose sums have no canonical order: "
            "compile it with order=default, or take the product out of the "
            "program");
        return WalkResult::interrupt();
      }
      program.getBody().walk([&](Operation *op) {
        if (auto sum = dyn_cast<arith::AddFOp>(op))
          numFused += fuse(sum);
        else if (auto difference = dyn_cast<arith::SubFOp>(op))
          numFused += fuse(difference);
      });
      program.setCanonical(true);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    dropFastMath(module);
  }
};
} // namespace
