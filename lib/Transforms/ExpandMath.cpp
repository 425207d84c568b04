//===- ExpandMath.cpp - Functions without a library -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neither vendor's device library is linked. What the machine has no
// instruction for is written out here with upstream's patterns, the same for
// all chips.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lnbwd {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// Calls the intrinsic by name. Upstream's conversion for NVIDIA would turn
/// both the function and its operation of LLVM's dialect into a call of the
/// library.
template <typename OpTy> struct CallIntrinsic : OpRewritePattern<OpTy> {
  CallIntrinsic(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<OpTy>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        (vector && vector.getRank() != 1))
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr(intrinsic), op->getOperands());
    return success();
  }

  StringRef intrinsic;
};

class ExpandMath : public lnbwd::impl::ExpandMathPassBase<ExpandMath> {
public:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    math::populateExpansionPatterns(patterns, {"rsqrt", "exp2"});
    auto isApproximated = [](StringRef name) {
      return llvm::is_contained<StringRef>(
          {math::ExpOp::getOperationName(), math::ExpM1Op::getOperationName(),
           math::LogOp::getOperationName(), math::Log1pOp::getOperationName(),
           math::Log2Op::getOperationName(), math::TanhOp::getOperationName(),
           math::ErfOp::getOperationName()},
          name);
    };
    populateMathPolynomialApproximationPatterns(patterns, isApproximated);
    patterns.add<CallIntrinsic<math::SqrtOp>>(&getContext(), "llvm.sqrt");
    patterns.add<CallIntrinsic<math::AbsFOp>>(&getContext(), "llvm.fabs");
    patterns.add<CallIntrinsic<math::FloorOp>>(&getContext(), "llvm.floor");
    patterns.add<CallIntrinsic<math::CeilOp>>(&getContext(), "llvm.ceil");
    getOperation()->walk([&](Operation *op) {
      numFunctions += isa_and_nonnull<math::MathDialect>(op->getDialect());
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    WalkResult result = getOperation()->walk([](Operation *op) {
      // What is left of these has an instruction everywhere.
      if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
          isa<math::FmaOp, math::CopySignOp>(op))
        return WalkResult::advance();
      op->emitOpError("has no instruction, and no device library is linked: "
                      "expected exp, exp2, expm1, log, log1p, log2, tanh, erf, "
                      "sqrt, rsqrt, absf, floor, ceil, fma or copysign of "
                      "float32");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
