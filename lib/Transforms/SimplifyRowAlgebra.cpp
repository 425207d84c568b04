//===- SimplifyRowAlgebra.cpp - Pass: the algebra of row sums -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lnbwd-differentiate does to its results, as a pass of its own.
//
//===----------------------------------------------------------------------===//

#include "RowAlgebra.h"

#include "lnbwd/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lnbwd {
#define GEN_PASS_DEF_SIMPLIFYROWALGEBRAPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
class SimplifyRowAlgebra
    : public lnbwd::impl::SimplifyRowAlgebraPassBase<SimplifyRowAlgebra> {
public:
  using SimplifyRowAlgebraPassBase::SimplifyRowAlgebraPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    simplifier = RowSimplifier(context);
    return success();
  }

  void runOnOperation() override {
    SmallVector<RowwiseOp> programs;
    getOperation()->walk([&](RowwiseOp op) { programs.push_back(op); });
    for (RowwiseOp op : programs) {
      simplifier.normalize(op);
      ++numSimplified;
    }
  }

private:
  RowSimplifier simplifier;
};
} // namespace
