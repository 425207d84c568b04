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
#include "RowShape.h"

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

  void runOnOperation() override {
    SmallVector<RowwiseOp> programs;
    getOperation()->walk([&](RowwiseOp op) { programs.push_back(op); });
    for (RowwiseOp op : programs) {
      if (failed(simplifyRowProgram(op, /*algebra=*/true))) {
        op.emitOpError("cannot be simplified: the rewrites do not come to an "
                       "end");
        return signalPassFailure();
      }
      if (shape)
        shapeRowProgram(op);
      ++numSimplified;
    }
  }
};
} // namespace
