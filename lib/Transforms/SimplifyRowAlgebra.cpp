//===- SimplifyRowAlgebra.cpp - The algebra of sums over a row ------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra that derivatives are simplified by, as a pass of its own.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/GradientAlgebra/Simplify.h"
#include "lnbwd/Transforms/Passes.h"

namespace lnbwd {
#define GEN_PASS_DEF_SIMPLIFYROWALGEBRAPASS
#include "lnbwd/Transforms/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
struct SimplifyRowAlgebra
    : lnbwd::impl::SimplifyRowAlgebraPassBase<SimplifyRowAlgebra> {
  void runOnOperation() override {
    RowSimplifier simplifier(&getContext());
    SmallVector<RowwiseOp> programs;
    getOperation()->walk([&](RowwiseOp op) { programs.push_back(op); });
    for (RowwiseOp op : programs) {
      simplifier.normalize(op);
      ++numSimplified;
    }
  }
};
} // namespace
